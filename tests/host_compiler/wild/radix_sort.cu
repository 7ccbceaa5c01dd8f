// Least significant digit first, four bits a pass; ranks inside a warp come from match.

extern "C" __global__ void count_digits(const unsigned* keys, unsigned* counts, int count, int shift) {
  __shared__ unsigned s[16];
  if (threadIdx.x < 16) s[threadIdx.x] = 0;
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) atomicAdd(&s[keys[i] >> shift & 15], 1u);
  __syncthreads();
  if (threadIdx.x < 16) counts[threadIdx.x * gridDim.x + blockIdx.x] = s[threadIdx.x];
}

extern "C" __global__ void sum_before(unsigned* counts, int count) {
  unsigned sum = 0;
  for (int i = 0; i < count; i++) {
    unsigned here = counts[i];
    counts[i] = sum;
    sum += here;
  }
}

extern "C" __global__ void scatter(const unsigned* keys, unsigned* out, const unsigned* start, int count, int shift) {
  __shared__ unsigned in_warp[8][16];
  int i = blockIdx.x * blockDim.x + threadIdx.x, warp = threadIdx.x / 32;
  if (threadIdx.x < 128) (&in_warp[0][0])[threadIdx.x] = 0;
  __syncthreads();
  unsigned digit = i < count ? keys[i] >> shift & 15 : 16, below;
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(below));
  unsigned same = __match_any_sync(0xffffffff, digit), rank = __popc(same & below);
  if (i < count && rank == 0) in_warp[warp][digit] = __popc(same);
  __syncthreads();
  if (i >= count) return;
  unsigned place = start[digit * gridDim.x + blockIdx.x] + rank;
  for (int w = 0; w < warp; w++) place += in_warp[w][digit];
  out[place] = keys[i];
}
