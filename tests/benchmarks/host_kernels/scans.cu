// Work that the threads of a thread block do together: sums, counts, orders.
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

extern "C" __global__ void histogram(const unsigned char* x, unsigned* bins, int n) {
  __shared__ unsigned own[256];
  own[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&own[x[i]], 1u);
  __syncthreads();
  atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}

__device__ int warp_scan(int value) {
  for (int step = 1; step < 32; step *= 2) {
    int other = __shfl_up_sync(~0u, value, step);
    if (threadIdx.x % 32 >= step) value += other;
  }
  return value;
}

// The inclusive scan over the 256 threads of a thread block.
__device__ int block_scan(int value, int* sums) {
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  value = warp_scan(value);
  if (lane == 31) sums[warp] = value;
  __syncthreads();
  if (warp == 0) {
    int sum = lane < 8 ? sums[lane] : 0;
    sum = warp_scan(sum);
    if (lane < 8) sums[lane] = sum;
  }
  __syncthreads();
  return warp ? value + sums[warp - 1] : value;
}

// Running sums in each row of 256.
extern "C" __global__ void scan_rows(const int* in, int* out) {
  __shared__ int sums[8];
  int i = blockIdx.x * 256 + threadIdx.x;
  out[i] = block_scan(in[i], sums);
}

// Running sums of all, in one pass: a thread block reads back the states that those before it have written. The states
// (1: the sum of a thread block, 2: of all up to it) and the counter must be 0 at first.
extern "C" __global__ void scan_all(const int* in, int* out, int* counter, volatile long long* states) {
  __shared__ int sums[8], tile, before;
  int t = threadIdx.x;
  if (t == 0) tile = atomicAdd(counter, 1);
  __syncthreads();
  int own = tile, base = own * 1024, v[4], sum = 0;
  for (int k = 0; k < 4; k++) { v[k] = in[base + t * 4 + k]; sum += v[k]; }
  int last = block_scan(sum, sums), total = sums[7];
  if (t == 0) {
    states[own] = (own ? 1ll : 2ll) << 32 | (unsigned)total;
    __threadfence();
    int found = 0;
    for (int i = own - 1; i >= 0;) {
      long long state = states[i];
      if (state >> 32 == 0) continue;
      found += (int)state;
      if (state >> 32 == 2) break;
      i--;
    }
    before = found;
    __threadfence();
    if (own) states[own] = 2ll << 32 | (unsigned)(found + total);
  }
  __syncthreads();
  int running = before + last - sum;
  for (int k = 0; k < 4; k++) { running += v[k]; out[base + t * 4 + k] = running; }
}

// One pass of a radix sort, 4 bits from `shift` on: `places` is where the keys of each thread block with each digit go.
extern "C" __global__ void radix_pass(const unsigned* keys, const int* places, unsigned* out, int shift) {
  __shared__ int counts[8][16];
  int t = threadIdx.x, lane = t % 32, warp = t / 32;
  unsigned key = keys[blockIdx.x * 256 + t], digit = key >> shift & 15, peers = ~0u;
  for (int bit = 0; bit < 4; bit++) {
    unsigned set = __ballot_sync(~0u, digit >> bit & 1);
    peers &= digit >> bit & 1 ? set : ~set;
  }
  int rank = __popc(peers & ((1u << lane) - 1));
  if (lane < 16) counts[warp][lane] = 0;
  __syncwarp();
  if (rank == 0) counts[warp][digit] = __popc(peers);
  __syncthreads();
  if (t < 16) {
    int sum = places[blockIdx.x * 16 + t];
    for (int w = 0; w < 8; w++) { int count = counts[w][t]; counts[w][t] = sum; sum += count; }
  }
  __syncthreads();
  out[counts[warp][digit] + rank] = key;
}

// Sorts each 1024 keys with 512 threads.
extern "C" __global__ void bitonic(const unsigned* in, unsigned* out) {
  __shared__ unsigned s[1024];
  int t = threadIdx.x;
  s[t] = in[blockIdx.x * 1024 + t];
  s[t + 512] = in[blockIdx.x * 1024 + t + 512];
  for (int size = 2; size <= 1024; size *= 2)
    for (int half = size / 2; half > 0; half /= 2) {
      __syncthreads();
      int i = 2 * t - (t & (half - 1)), j = i + half;
      unsigned a = s[i], b = s[j];
      if ((a > b) == !(i & size)) { s[i] = b; s[j] = a; }
    }
  __syncthreads();
  out[blockIdx.x * 1024 + t] = s[t];
  out[blockIdx.x * 1024 + t + 512] = s[t + 512];
}
