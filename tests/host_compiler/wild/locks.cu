// Locks that lanes of one warp fight for.

// Not inlined: a waiting loop may call a function that has the atomic.
__device__ __noinline__ bool try_lock(int* lock) { return atomicCAS(lock, 0, 1) == 0; }

extern "C" __global__ void per_bucket(int* locks, volatile int* counts, const int* bucket, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  int b = bucket[i];
  for (bool done = false; !done;) {
    if (try_lock(&locks[b])) {
      counts[b] = counts[b] * 3 + 1;
      counts[b] = (counts[b] - 1) / 3 + 1;
      __threadfence();
      atomicExch(&locks[b], 0);
      done = true;
    }
  }
}

extern "C" __global__ void ticket(unsigned* next, volatile unsigned* serving, volatile int* count) {
  unsigned mine = atomicAdd(next, 1u);
  while (*serving != mine) __nanosleep(20);
  __threadfence();
  *count = *count + 1;
  __threadfence();
  *serving = mine + 1;
}
