// Groups smaller than a warp, from CUDA's own header.

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

extern "C" __global__ void tiles(const int* in, int* sums, int* before) {
  auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int sum = cg::reduce(tile, in[i], cg::plus<int>());
  before[i] = cg::exclusive_scan(tile, in[i]);
  if (tile.thread_rank() == 0) sums[i / 16] = sum;
}

extern "C" __global__ void labels(const int* in, int* sizes, int* ranks) {
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  auto same = cg::labeled_partition(warp, in[threadIdx.x] % 3);
  sizes[threadIdx.x] = same.size();
  ranks[threadIdx.x] = same.thread_rank();
}
