// Images read at clamped coordinates, the way filters treat their borders.

__constant__ float gauss[9] = {1 / 16.f, 2 / 16.f, 1 / 16.f, 2 / 16.f, 4 / 16.f, 2 / 16.f, 1 / 16.f, 2 / 16.f, 1 / 16.f};

extern "C" __global__ void blur(const float* in, float* out, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  float sum = 0;
  for (int j = -1; j <= 1; j++)
    for (int i = -1; i <= 1; i++) {
      int row = max(0, min(height - 1, y + j)), column = max(0, min(width - 1, x + i));
      sum += gauss[(j + 1) * 3 + i + 1] * in[row * width + column];
    }
  out[y * width + x] = sum;
}

// x - 1 wraps at 0, where the minimum of it and `last` is `last`.
extern "C" __global__ void left_or_last(const float* in, float* out, unsigned last) {
  unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
  out[x] = in[min(x - 1u, last) + 5u];
}

__device__ void order(float& a, float& b) {
  float least = fminf(a, b);
  b = fmaxf(a, b);
  a = least;
}

// The sorting network of 19 exchanges that leaves the median of nine in the middle.
extern "C" __global__ void median(const float* in, float* out, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  float p[9];
  for (int j = 0; j < 3; j++)
    for (int i = 0; i < 3; i++)
      p[j * 3 + i] = in[min(max(y + j - 1, 0), height - 1) * width + min(max(x + i - 1, 0), width - 1)];
  const int exchanges[19][2] = {{1, 2}, {4, 5}, {7, 8}, {0, 1}, {3, 4}, {6, 7}, {1, 2}, {4, 5}, {7, 8}, {0, 3},
                                {5, 8}, {4, 7}, {3, 6}, {1, 4}, {2, 5}, {4, 7}, {4, 2}, {6, 4}, {4, 2}};
#pragma unroll
  for (int k = 0; k < 19; k++) order(p[exchanges[k][0]], p[exchanges[k][1]]);
  out[y * width + x] = p[4];
}
