// Keep the positive numbers, in three ways.

// One atomic for all active lanes (Adinetz, 2014).
__device__ int next_place(int* counter) {
  unsigned here = __activemask();
  int lane = threadIdx.x & 31, leader = __ffs(here) - 1, first = 0;
  if (lane == leader) first = atomicAdd(counter, __popc(here));
  first = __shfl_sync(here, first, leader);
  return first + __popc(here & ((1u << lane) - 1));
}

extern "C" __global__ void aggregated(const int* in, int* out, int* kept, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count && in[i] > 0) out[next_place(kept)] = in[i];
}

extern "C" __global__ void voted(const int* in, int* out, int* kept, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32, first = 0;
  bool keep = i < count && in[i] > 0;
  unsigned keepers = __ballot_sync(0xffffffff, keep);
  if (lane == 0 && keepers) first = atomicAdd(kept, __popc(keepers));
  first = __shfl_sync(0xffffffff, first, 0);
  if (keep) out[first + __popc(keepers & ~(0xffffffff << lane))] = in[i];
}

// One thread block, in the order of the input.
extern "C" __global__ void in_order(const int* in, int* out, int* kept, int count) {
  __shared__ int in_warp[32];
  __shared__ int first;
  if (threadIdx.x == 0) first = 0;
  __syncthreads();
  for (int start = 0; start < count; start += blockDim.x) {
    int i = start + threadIdx.x, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    bool keep = i < count && in[i] > 0;
    unsigned keepers = __ballot_sync(0xffffffff, keep);
    if (lane == 0) in_warp[warp] = __popc(keepers);
    __syncthreads();
    int place = first + __popc(keepers & ((1u << lane) - 1));
    for (int w = 0; w < warp; w++) place += in_warp[w];
    if (keep) out[place] = in[i];
    int total = __syncthreads_count(keep);
    if (threadIdx.x == 0) first += total;
    __syncthreads();
  }
  if (threadIdx.x == 0) *kept = first;
}
