// Code from before Volta: the threads of a warp communicate through volatile shared memory without a barrier.

template <unsigned size>
__device__ void reduce_warp(volatile int* s, unsigned t) {
  if (size >= 64) s[t] += s[t + 32];
  s[t] += s[t + 16];
  s[t] += s[t + 8];
  s[t] += s[t + 4];
  s[t] += s[t + 2];
  s[t] += s[t + 1];
}

extern "C" __global__ void reduce(const int* in, int* out, int count) {
  constexpr unsigned size = 256;
  __shared__ int s[size];
  unsigned t = threadIdx.x;
  int sum = 0;
  for (unsigned i = blockIdx.x * size * 2 + t; i < count; i += size * 2 * gridDim.x)
    sum += in[i] + (i + size < count ? in[i + size] : 0);
  s[t] = sum;
  __syncthreads();
  if (t < 128) s[t] += s[t + 128];
  __syncthreads();
  if (t < 64) s[t] += s[t + 64];
  __syncthreads();
  if (t < 32) reduce_warp<size>(s, t);
  if (t == 0) out[blockIdx.x] = s[0];
}

// Each warp has 16 zeros before its 32 numbers, which makes the steps free of branches.
extern "C" __global__ void scan_warps(const int* in, int* out) {
  __shared__ int s[8 * 48];
  int lane = threadIdx.x & 31;
  volatile int* padding = s + threadIdx.x / 32 * 48;
  volatile int* number = padding + 16;
  padding[lane] = 0;
  number[lane] = in[threadIdx.x];
  number[lane] += number[lane - 1];
  number[lane] += number[lane - 2];
  number[lane] += number[lane - 4];
  number[lane] += number[lane - 8];
  number[lane] += number[lane - 16];
  out[threadIdx.x] = number[lane];
}
