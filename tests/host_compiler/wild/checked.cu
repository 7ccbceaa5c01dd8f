// Device functions that trap, and bad indices whose source line a fault must name.

__device__ __noinline__ int checked(int value, int limit) {
  if (value >= limit) __trap();
  return value * 2;
}

extern "C" __global__ void twice(const int* in, int* out, int limit) {
  out[threadIdx.x] = checked(in[threadIdx.x], limit);
}

extern "C" __global__ void past_the_end(float* out, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count)
    out[i] = 1;
}
