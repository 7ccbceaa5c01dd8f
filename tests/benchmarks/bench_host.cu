// The kernels that bench_host.py times; reference.c does the same work.
extern "C" __global__ void saxpy(const float* x, const float* y, float* out, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = a * x[i] + y[i];
}

extern "C" __global__ void nbody(const float4* p, float4* acc, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float4 own = p[i];
  float ax = 0, ay = 0, az = 0;
  for (int j = 0; j < n; j++) {
    float4 q = p[j];
    float dx = q.x - own.x, dy = q.y - own.y, dz = q.z - own.z;
    float inv = 1.0f / sqrtf(dx * dx + dy * dy + dz * dz + 1e-3f), s = q.w * inv * inv * inv;
    ax += dx * s; ay += dy * s; az += dz * s;
  }
  acc[i] = make_float4(ax, ay, az, 0);
}

extern "C" __global__ void conv5(const float* in, const float* k, float* out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  float sum = 0;
  for (int dy = 0; dy < 5; dy++)
    for (int dx = 0; dx < 5; dx++)
      sum += k[dy * 5 + dx] * in[min(max(y + dy - 2, 0), h - 1) * w + min(max(x + dx - 2, 0), w - 1)];
  out[y * w + x] = sum;
}

extern "C" __global__ void histogram(const unsigned char* x, unsigned* bins, int n) {
  __shared__ unsigned own[256];
  own[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&own[x[i]], 1u);
  __syncthreads();
  atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}

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

extern "C" __global__ void reduce(const float* x, float* out, int n) {
  __shared__ float s[256];
  int t = threadIdx.x;
  s[t] = x[blockIdx.x * 256 + t];
  __syncthreads();
  for (int half = 128; half > 0; half >>= 1) {
    if (t < half) s[t] += s[t + half];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = s[0];
}
