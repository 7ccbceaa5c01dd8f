"""CUDA C++ that uses the toolkit's headers: cooperative groups, cub, cuda::barrier, pipelines, half precision."""

from pathlib import Path

import numpy as np
import pytest

from tests.fuzzing import FACTOR
from warploom.engine.device.host.device import HostDevice
from warploom.engine.kernel_sources.cuda import library, nvrtc

GROUPS = """#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_radix_sort.cuh>
namespace cg = cooperative_groups;
extern "C" __global__ void groups(const int* x, int* tile, int* scan, int* odd) {
  int t = threadIdx.x;
  cg::thread_block block = cg::this_thread_block();
  auto eight = cg::tiled_partition<8>(block);
  tile[t] = cg::reduce(eight, x[t], cg::plus<int>());
  scan[t] = cg::inclusive_scan(eight, x[t], cg::plus<int>());
  if (x[t] & 1) {
    auto active = cg::coalesced_threads();
    odd[t] = cg::reduce(active, 1, cg::plus<int>()) * 100 + active.thread_rank();
  }
  block.sync();
}
extern "C" __global__ void cubs(const int* x, int* scan, int* sorted) {
  typedef cub::BlockScan<int, 96> Scan;
  typedef cub::BlockRadixSort<unsigned, 96, 2> Sort;
  __shared__ union { Scan::TempStorage scan; Sort::TempStorage sort; } s;
  int sum;
  Scan(s.scan).ExclusiveSum(x[threadIdx.x], sum);
  scan[threadIdx.x] = sum;
  __syncthreads();
  unsigned keys[2] = {(unsigned)x[threadIdx.x], (unsigned)x[threadIdx.x + 96]};
  Sort(s.sort).Sort(keys);
  sorted[threadIdx.x * 2] = keys[0];
  sorted[threadIdx.x * 2 + 1] = keys[1];
}"""

BARRIER = """#include <cuda/barrier>
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda_pipeline.h>
namespace cg = cooperative_groups;
extern "C" __global__ void barrier(const float* x, float* out) {
  __shared__ cuda::barrier<cuda::thread_scope_block> b;
  __shared__ float s[64];
  int t = threadIdx.x;
  if (t == 0) init(&b, blockDim.x);
  __syncthreads();
  for (int round = 0; round < 4; round++) {
    s[t] = x[t] * (round + 1);
    b.arrive_and_wait();
    out[round * 64 + t] = s[63 - t];
    auto token = b.arrive();
    b.wait(std::move(token));
  }
}
extern "C" __global__ void async(const float* x, float* out) {
  __shared__ float s[64], p[64];
  auto block = cg::this_thread_block();
  cg::memcpy_async(block, s, x, sizeof(float) * 64);
  __pipeline_memcpy_async(&p[threadIdx.x], &x[threadIdx.x], 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  cg::wait(block);
  block.sync();
  out[threadIdx.x] = s[63 - threadIdx.x] + 10 * p[threadIdx.x ^ 1];
}"""


@pytest.fixture
def host(quick_host: HostDevice) -> HostDevice:
    """Run quickly compiled code, since these kernels are large."""
    return quick_host


@pytest.fixture(scope="module")
def with_headers():
    """Compile with the toolkit's headers."""

    def build(source, architecture):
        ptx = nvrtc.compile_cuda(source, Path("sample.cu"), architecture, library.toolkit_folders()).ptx
        return ptx[ptx.index(".version") :]

    return build


def test_cooperative_groups_and_cub(run, with_headers):
    """Groups of eight, coalesced groups, and cub's scan and sort of a thread block match numpy."""
    ptx = with_headers(GROUPS, "compute_75")
    x = np.random.default_rng(1).integers(0, 50, 192).astype(np.int32)
    _, tile, scan, odd = run(ptx, "groups", 1, 64, x, *np.zeros((3, 64), np.int32))
    eights = x[:64].reshape(8, 8)
    assert np.array_equal(tile, np.repeat(eights.sum(1), 8))
    assert np.array_equal(scan, eights.cumsum(1).ravel())
    is_odd = (x[:64] & 1).reshape(2, 32)
    expected = is_odd * (is_odd.sum(1, keepdims=True) * 100 + is_odd.cumsum(1) - 1)
    assert np.array_equal(odd, expected.ravel())
    _, scan, ordered = run(ptx, "cubs", 1, 96, x, np.zeros(96, np.int32), np.zeros(192, np.int32))
    assert np.array_equal(scan, x[:96].cumsum() - x[:96])
    assert np.array_equal(ordered, np.sort(x))


@pytest.mark.parametrize("architecture", ["compute_90"] if FACTOR == 1 else ["compute_80", "compute_90"])
def test_barrier_objects_and_asynchronous_copies(run, with_headers, architecture):
    """cuda::barrier, memcpy_async of a group and a pipeline give numpy's results."""
    ptx = with_headers(BARRIER, architecture)
    x = np.arange(64, dtype=np.float32)
    out = run(ptx, "barrier", 1, 64, x, np.zeros(256, np.float32))[1]
    assert np.array_equal(out.reshape(4, 64), x[::-1] * np.arange(1, 5)[:, None])
    out = run(ptx, "async", 1, 64, x, np.zeros(64, np.float32))[1]
    assert np.array_equal(out, x[::-1] + 10 * x[np.arange(64) ^ 1])
