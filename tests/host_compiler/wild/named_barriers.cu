// Barriers with numbers and counts, written as PTX.

__device__ void meet(int barrier, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

__device__ void arrive(int barrier, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

// Each half reverses its own numbers. Then the second half waits for the first, which only arrives.
extern "C" __global__ void halves(int* out) {
  __shared__ int s[128];
  int t = threadIdx.x, half = t / 64;
  s[t] = t;
  meet(half + 1, 64);
  out[t] = s[half * 64 + 63 - t % 64];
  meet(half + 1, 64);
  if (half == 0) {
    s[t] = t * 2;
    arrive(5, 128);
  } else {
    meet(5, 128);
    out[t] += s[t - 64];
  }
}

// The first warp fills two stages in turn, the other three sum them up: barriers 1 and 2 mean full, 3 and 4 empty.
extern "C" __global__ void pipeline(const float* in, float* out, int tiles) {
  __shared__ float stages[2][96];
  int t = threadIdx.x;
  if (t < 32) {
    for (int tile = 0; tile < tiles; tile++) {
      int stage = tile & 1;
      if (tile >= 2) meet(3 + stage, 128);
      for (int i = t; i < 96; i += 32) stages[stage][i] = in[tile * 96 + i];
      arrive(1 + stage, 128);
    }
  } else {
    float sum = 0;
    for (int tile = 0; tile < tiles; tile++) {
      int stage = tile & 1;
      meet(1 + stage, 128);
      sum += stages[stage][95 - (t - 32)];
      if (tile + 2 < tiles) arrive(3 + stage, 128);
    }
    out[t - 32] = sum;
  }
}
