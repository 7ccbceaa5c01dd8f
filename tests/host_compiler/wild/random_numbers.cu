// Philox4x32-10 (Salmon and others, 2011), PCG-XSH-RR (O'Neill, 2014), and pi by throwing darts.

typedef unsigned long long u64;

__device__ uint4 philox(uint4 counter, uint2 key) {
  for (int round = 0; round < 10; round++) {
    unsigned high0 = __umulhi(0xD2511F53u, counter.x), low0 = 0xD2511F53u * counter.x;
    unsigned high1 = __umulhi(0xCD9E8D57u, counter.z), low1 = 0xCD9E8D57u * counter.z;
    counter = make_uint4(high1 ^ counter.y ^ key.x, low1, high0 ^ counter.w ^ key.y, low0);
    key.x += 0x9E3779B9u;
    key.y += 0xBB67AE85u;
  }
  return counter;
}

extern "C" __global__ void fill(uint4* out, unsigned key0, unsigned key1) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = philox(make_uint4(i, 0, 7, 0), make_uint2(key0, key1));
}

extern "C" __global__ void pcg(const u64* states, unsigned* out, int steps) {
  u64 state = states[threadIdx.x];
  unsigned result = 0;
  for (int k = 0; k < steps; k++) {
    unsigned mixed = (unsigned)((state >> 18 ^ state) >> 27);
    result = __funnelshift_r(mixed, mixed, (unsigned)(state >> 59));
    state = state * 6364136223846793005ull + 1442695040888963407ull;
  }
  out[threadIdx.x] = result;
}

extern "C" __global__ void darts(unsigned* hits, int throws) {
  unsigned thread = blockIdx.x * blockDim.x + threadIdx.x, inside = 0;
  for (int k = 0; k < throws; k++) {
    uint4 r = philox(make_uint4(thread, k, 0, 0), make_uint2(1, 2));
    float x = r.x * 2.3283064e-10f, y = r.y * 2.3283064e-10f;
    inside += x * x + y * y < 1;
  }
  for (int d = 16; d > 0; d /= 2) inside += __shfl_xor_sync(0xffffffff, inside, d);
  if (threadIdx.x % 32 == 0) atomicAdd(hits, inside);
}
