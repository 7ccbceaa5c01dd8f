// Matrix products by tiles in shared memory, and a triangular factorisation.
extern "C" __global__ void matmul(const float* a, const float* b, float* c, int n) {
  __shared__ float s[16][16], t[16][16];
  int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 16 + ty, column = blockIdx.x * 16 + tx;
  float sum = 0;
  for (int k0 = 0; k0 < n; k0 += 16) {
    s[ty][tx] = a[row * n + k0 + tx];
    t[ty][tx] = b[(k0 + ty) * n + column];
    __syncthreads();
    for (int k = 0; k < 16; k++) sum += s[ty][k] * t[k][tx];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

// The next tiles are loaded while the present ones are used.
extern "C" __global__ void matmul_buffered(const float* a, const float* b, float* c, int n) {
  __shared__ float s[2][16][16], t[2][16][16];
  int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 16 + ty, column = blockIdx.x * 16 + tx;
  float sum = 0;
  s[0][ty][tx] = a[row * n + tx];
  t[0][ty][tx] = b[ty * n + column];
  __syncthreads();
  for (int k0 = 0, now = 0; k0 < n; k0 += 16, now ^= 1) {
    if (k0 + 16 < n) {
      s[now ^ 1][ty][tx] = a[row * n + k0 + 16 + tx];
      t[now ^ 1][ty][tx] = b[(k0 + 16 + ty) * n + column];
    }
    for (int k = 0; k < 16; k++) sum += s[now][ty][k] * t[now][k][tx];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

// 64 x 64 elements for a thread block of 256, 4 x 4 in the registers of a thread.
extern "C" __global__ void matmul_tiled(const float* a, const float* b, float* c, int n) {
  __shared__ float s[16][64], t[16][64];
  int tx = threadIdx.x % 16, ty = threadIdx.x / 16, row = blockIdx.y * 64, column = blockIdx.x * 64;
  float sum[4][4] = {};
  for (int k0 = 0; k0 < n; k0 += 16) {
    for (int e = threadIdx.x; e < 1024; e += 256) {
      s[e % 16][e / 16] = a[(row + e / 16) * n + k0 + e % 16];
      t[e / 64][e % 64] = b[(k0 + e / 64) * n + column + e % 64];
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 16; k++) {
      float x[4], y[4];
      for (int i = 0; i < 4; i++) { x[i] = s[k][ty * 4 + i]; y[i] = t[k][tx * 4 + i]; }
      for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) sum[i][j] += x[i] * y[j];
    }
    __syncthreads();
  }
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) c[(row + ty * 4 + i) * n + column + tx * 4 + j] = sum[i][j];
}

// L of A = L L^T: a thread block a matrix of 32 x 32, a thread a row.
extern "C" __global__ void cholesky(const float* in, float* out) {
  __shared__ float m[32][33];
  int t = threadIdx.x;
  in += blockIdx.x * 1024;
  out += blockIdx.x * 1024;
  for (int i = 0; i < 32; i++) m[i][t] = in[i * 32 + t];
  __syncthreads();
  for (int k = 0; k < 32; k++) {
    if (t == k) m[k][k] = sqrtf(m[k][k]);
    __syncthreads();
    if (t > k) m[t][k] /= m[k][k];
    __syncthreads();
    for (int j = k + 1; j <= t; j++) m[t][j] -= m[t][k] * m[j][k];
    __syncthreads();
  }
  for (int i = 0; i < 32; i++) out[i * 32 + t] = t <= i ? m[i][t] : 0;
}
