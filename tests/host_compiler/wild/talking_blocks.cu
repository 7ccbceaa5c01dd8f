// Thread blocks that wait for each other, which works where they are all resident.

extern "C" __global__ void hand_over(volatile int* flag, volatile int* slot, int* out, int count) {
  if (threadIdx.x != 0) return;
  for (int i = 0; i < count; i++) {
    if (blockIdx.x == 0) {
      while (*flag != 0) {
      }
      *slot = i * i;
      __threadfence();
      *flag = 1;
    } else {
      while (*flag != 1) {
      }
      out[i] = *slot;
      __threadfence();
      *flag = 0;
    }
  }
}

// A barrier over the whole grid: the last to arrive opens the next generation.
__device__ void meet_grid(unsigned* arrived, volatile unsigned* generation) {
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned mine = *generation;
    __threadfence();
    if (atomicAdd(arrived, 1u) == gridDim.x - 1) {
      *arrived = 0;
      __threadfence();
      *generation = mine + 1;
    } else {
      while (*generation == mine) {
      }
    }
  }
  __syncthreads();
}

extern "C" __global__ void reverse_all(unsigned* arrived, unsigned* generation, volatile int* numbers, int rounds) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, count = gridDim.x * blockDim.x;
  for (int round = 0; round < rounds; round++) {
    int other = numbers[count - 1 - i];
    meet_grid(arrived, generation);
    numbers[i] = other + 1;
    meet_grid(arrived, generation);
  }
}

// One thread polls for its thread block, and passes the result on through shared memory.
extern "C" __global__ void watch(volatile int* flag, int* out) {
  __shared__ int seen;
  if (blockIdx.x == 0) {
    while (true) {
      if (threadIdx.x == 0) seen = *flag;
      __syncthreads();
      if (seen) break;
      __syncthreads();
    }
    out[threadIdx.x] = seen;
  } else if (threadIdx.x == 0) {
    *flag = 7;
  }
}
