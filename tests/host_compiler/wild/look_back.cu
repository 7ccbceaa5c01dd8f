// Scan in one pass: each thread block waits for the sums of those before it (Merrill and Garland, 2016).

struct Tile {
  int flag, sum, sum_up_to_here;
};
constexpr int has_sum = 1, has_all = 2;

extern "C" __global__ void scan(const int* in, int* out, volatile Tile* tiles, unsigned* ticket, int count) {
  __shared__ int s[256];
  __shared__ int tile, before;
  int t = threadIdx.x;
  if (t == 0) tile = atomicAdd(ticket, 1u);
  __syncthreads();
  int i = tile * 256 + t;
  s[t] = i < count ? in[i] : 0;
  __syncthreads();
  for (int d = 1; d < 256; d *= 2) {
    int other = t >= d ? s[t - d] : 0;
    __syncthreads();
    s[t] += other;
    __syncthreads();
  }
  if (t == 0) {
    before = 0;
    tiles[tile].sum = s[255];
    __threadfence();
    tiles[tile].flag = has_sum;
    for (int p = tile - 1; p >= 0;) {
      int flag = tiles[p].flag;
      __threadfence();
      if (flag == has_all) {
        before += tiles[p].sum_up_to_here;
        break;
      }
      if (flag == has_sum) before += tiles[p--].sum;
    }
    tiles[tile].sum_up_to_here = before + s[255];
    __threadfence();
    tiles[tile].flag = has_all;
  }
  __syncthreads();
  if (i < count) out[i] = before + s[t];
}
