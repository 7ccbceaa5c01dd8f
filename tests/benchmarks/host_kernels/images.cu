// Grids of pixels and cells: neighbours, edges, halos, and orders in which one pixel waits for another.
extern "C" __global__ void conv5(const float* in, const float* k, float* out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  float sum = 0;
  for (int dy = 0; dy < 5; dy++)
    for (int dx = 0; dx < 5; dx++)
      sum += k[dy * 5 + dx] * in[min(max(y + dy - 2, 0), h - 1) * w + min(max(x + dx - 2, 0), w - 1)];
  out[y * w + x] = sum;
}

extern "C" __global__ void life(const unsigned char* in, unsigned char* out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  int left = (x + w - 1) % w, right = (x + 1) % w, up = (y + h - 1) % h * w, down = (y + 1) % h * w, own = y * w;
  int count = in[up + left] + in[up + x] + in[up + right] + in[own + left] + in[own + right] +
              in[down + left] + in[down + x] + in[down + right];
  out[own + x] = count == 3 || (count == 2 && in[own + x]);
}

// Diffusion with a halo of one cell in shared memory; nothing lies beyond the edge.
extern "C" __global__ void stencil(const float* in, float* out, int w, int h, float rate) {
  __shared__ float s[18][18];
  int tx = threadIdx.x + 1, ty = threadIdx.y + 1, x = blockIdx.x * 16 + tx - 1, y = blockIdx.y * 16 + ty - 1;
  bool inside = x < w && y < h;
  s[ty][tx] = inside ? in[y * w + x] : 0;
  if (tx == 1) s[ty][0] = x > 0 && y < h ? in[y * w + x - 1] : 0;
  if (tx == 16) s[ty][17] = x + 1 < w && y < h ? in[y * w + x + 1] : 0;
  if (ty == 1) s[0][tx] = y > 0 && x < w ? in[(y - 1) * w + x] : 0;
  if (ty == 16) s[17][tx] = y + 1 < h && x < w ? in[(y + 1) * w + x] : 0;
  __syncthreads();
  if (inside)
    out[y * w + x] = s[ty][tx] + rate * (s[ty - 1][tx] + s[ty + 1][tx] + s[ty][tx - 1] + s[ty][tx + 1] - 4 * s[ty][tx]);
}

// Local alignment of pairs of sequences: a thread block a pair, a thread a column, one diagonal after the other.
extern "C" __global__ void smith_waterman(const unsigned char* a, const unsigned char* b, int* best, int n) {
  __shared__ int diagonal[3][129];
  __shared__ int found[128];
  int t = threadIdx.x, highest = 0;
  unsigned char own = b[blockIdx.x * 128 + t];
  a += blockIdx.x * n;
  for (int k = 0; k < 3; k++) diagonal[k][t + 1] = 0;
  if (t < 3) diagonal[t][0] = 0;
  __syncthreads();
  for (int step = 0; step < n + 127; step++) {
    int row = step - t, now = step % 3, last = (step + 2) % 3, before = (step + 1) % 3;
    if (row >= 0 && row < n) {
      int score = diagonal[before][t] + (a[row] == own ? 2 : -1);
      score = max(max(score, 0), max(diagonal[last][t], diagonal[last][t + 1]) - 1);
      diagonal[now][t + 1] = score;
      highest = max(highest, score);
    }
    __syncthreads();
  }
  found[t] = highest;
  __syncthreads();
  for (int half = 64; half > 0; half >>= 1) {
    if (t < half) found[t] = max(found[t], found[t + half]);
    __syncthreads();
  }
  if (t == 0) best[blockIdx.x] = found[0];
}

// Floyd-Steinberg: a thread block an image, a thread a row, two pixels behind the row above.
extern "C" __global__ void dither(const unsigned char* in, unsigned char* out, int w, int h) {
  __shared__ int error[130][4];
  int y = threadIdx.x, right = 0;
  in += blockIdx.x * w * h;
  out += blockIdx.x * w * h;
  for (int k = 0; k < 4; k++) error[y + 1][k] = 0;
  if (y == 0) for (int k = 0; k < 4; k++) error[0][k] = 0;
  __syncthreads();
  for (int step = 0; step < w + 2 * h; step++) {
    int x = step - 2 * y;
    if (x >= 0 && x < w) {
      int sum = 7 * right + 5 * error[y][x & 3];
      if (x > 0) sum += error[y][(x - 1) & 3];
      if (x + 1 < w) sum += 3 * error[y][(x + 1) & 3];
      int value = in[y * w + x] + (sum >> 4);
      bool white = value > 127;
      right = value - (white ? 255 : 0);
      error[y + 1][x & 3] = right;
      out[y * w + x] = white;
    }
    __syncthreads();
  }
}
