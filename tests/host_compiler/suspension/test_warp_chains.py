"""Chains of warp operations, which one warp runs up to its next barrier, also for some warps or one thread only."""

import numpy as np
import pytest

from warploom.engine.device.host.device import HostDevice
from warploom.engine.diagnostics import KernelFault

SOURCE = """
__device__ int scan(int value) {
  for (int step = 1; step < 32; step *= 2) {
    int other = __shfl_up_sync(~0u, value, step), lane = (threadIdx.x + blockDim.x * threadIdx.y) % 32;
    if (lane >= step) value += other;
  }
  return value;
}

extern "C" __global__ void scan_rows(const int* in, int* out) {
  __shared__ int sums[32];
  int t = threadIdx.x + blockDim.x * threadIdx.y, lane = t % 32, warp = t / 32;
  int warps = blockDim.x * blockDim.y / 32, i = blockIdx.x * warps * 32 + t;
  int value = scan(in[i]);
  if (lane == 31) sums[warp] = value;
  __syncthreads();
  if (warp == 0) {
    int sum = scan(lane < warps ? sums[lane] : 0);
    if (lane < warps) sums[lane] = sum;
  }
  __syncthreads();
  out[i] = warp ? value + sums[warp - 1] : value;
}

extern "C" __global__ void sum_rows(const double* in, double* out, int n) {
  __shared__ double sums[32];
  int t = threadIdx.x, lane = t % 32, warp = t / 32, i = blockIdx.x * blockDim.x + t;
  double value = i < n ? in[i] : 0;
  for (int step = 16; step > 0; step /= 2) value += __shfl_down_sync(~0u, value, step);
  if (lane == 0) sums[warp] = value;
  __syncthreads();
  if (warp != 0) return;
  value = lane < blockDim.x / 32 ? sums[lane] : 0;
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(~0u, value, step);
  if (lane == 0) out[blockIdx.x] = value;
}

extern "C" __global__ void chunks(int* out, int* counter, const int* in, int n) {
  __shared__ int chunk, total;
  int t = threadIdx.x;
  if (t == 0) chunk = atomicAdd(counter, 1);
  __syncthreads();
  int i = (chunk * blockDim.x + t) * 2, a = in[i], b = in[i + 1];
  int before = scan(a + b) - a - b;
  __syncthreads();
  int half = a - b;
  if (t == 0) {
    int sum = 0;
    for (int k = 0; k < n % 7 + chunk; k++) sum = sum * 3 + k;
    total = sum;
  }
  __syncthreads();
  out[i] = before + total + half;
  out[i + 1] = before - total + half;
}

extern "C" __global__ void turns(volatile int* turn, int* order, int n) {
  int own = blockIdx.x;
  __shared__ int seen;
  if (threadIdx.x == 0) {
    int found = 0;
    while (*turn != own) found++;
    seen = own * 2;
    __threadfence();
    *turn = own + 1;
  }
  __syncthreads();
  order[own * blockDim.x + threadIdx.x] = seen + threadIdx.x;
}
"""
VOTES = """
extern "C" __global__ void votes(const unsigned* in, unsigned* out) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned key = in[t], peers = ~0u;
  for (int bit = 0; bit < 4; bit++) {
    unsigned set = __ballot_sync(~0u, key >> bit & 1);
    peers &= key >> bit & 1 ? set : ~set;
  }
  int all = __all_sync(~0u, key < 14), any = __any_sync(~0u, key == 15);
  int alike = __popc(__match_any_sync(~0u, key)), most = 0;
#if __CUDA_ARCH__ >= 800
  most = __reduce_max_sync(~0u, key);
#endif
  out[t] = peers ^ (all << 5) ^ (any << 9) ^ (alike << 12) ^ (most << 20);
}
"""
FAULTS = """
extern "C" __global__ void chained_faults(const int* in, int* out, int at) {
  int lane = threadIdx.x % 32, first = __shfl_sync(~0u, in[threadIdx.x], 0);
  int next = __shfl_down_sync(~0u, first + lane, 1);
  int value = in[threadIdx.x == at ? 1 << 20 : threadIdx.x];
  out[threadIdx.x] = __shfl_xor_sync(~0u, next + value, 1);
}
"""


@pytest.fixture
def host(optimised_host: HostDevice) -> HostDevice:
    """Run optimised code, in which values of lanes are vectors."""
    return optimised_host


@pytest.mark.parametrize("block", [32, 64, 256, 1024, (32, 4), (16, 8)])
def test_a_scan_by_shuffles(run, dialect, block):
    """A scan by shuffles equals numpy's, also if one warp loops more often and rows are no multiple of a warp."""
    threads = int(np.prod(block))
    x = np.random.default_rng(1).integers(-99, 99, (5, threads)).astype(np.int32)
    out = run(SOURCE, "scan_rows", 5, block, x, np.zeros_like(x), dialect=dialect)[1]
    assert np.array_equal(out.reshape(x.shape), x.cumsum(1))


@pytest.mark.parametrize("block", [32, 96, 512])
def test_a_sum_by_shuffles_of_doubles(run, dialect, block):
    """A sum of doubles by shuffles is exact if some warps end early and the input ends within the last thread block."""
    n = 3 * block - 5
    x = np.random.default_rng(2).integers(-99, 99, n).astype(np.float64)
    out = run(SOURCE, "sum_rows", 3, block, x, np.zeros(3), n, dialect=dialect)[1]
    assert np.array_equal(out, [x[i * block : (i + 1) * block].sum() for i in range(3)])


@pytest.mark.parametrize("block", [32, 128, 40])
def test_votes_in_a_row(run, block):
    """Consecutive ballots and votes of whole warps match numpy; the last warp of a thread block may be short."""
    key = np.random.default_rng(3).integers(0, 16, 2 * block).astype(np.uint32)
    key[:32] %= 14
    out = run(VOTES, "votes", 2, block, key, np.zeros_like(key), dialect="compute_80")[1]
    for first in [start + at for start in (0, block) for at in range(0, block, 32)]:
        own = key[first : min(first + 32, first // block * block + block)]
        bits = np.uint32(1) << np.arange(len(own), dtype=np.uint32)
        peers = ((own[:, None] == own) * bits).sum(1).astype(np.int64)
        alike = (own[:, None] == own).sum(1)
        votes = int(all(own < 14)) << 5 ^ int(any(own == 15)) << 9 ^ int(own.max()) << 20
        expected = peers ^ (alike << 12) ^ votes
        if len(own) == 32:
            assert np.array_equal(out[first : first + 32], expected.astype(np.uint32))


def test_a_bad_address_between_shuffles(run):
    """A fault between shuffles names the thread that made the access, not one that used its value later."""
    x, out = np.arange(64, dtype=np.int32), np.zeros(64, np.int32)
    with pytest.raises(KernelFault) as caught:
        run(FAULTS, "chained_faults", 1, 64, x, out, 37)
    assert caught.value.thread == (37, 0, 0)
    found = run(FAULTS, "chained_faults", 1, 64, x, out, -1)[1]
    lane, warp = x % 32, x // 32
    given = warp * 32 + np.where(lane < 31, lane + 1, lane) + x
    assert np.array_equal(found, given[x ^ 1])


@pytest.mark.parametrize("block", [32, 128, 256])
def test_addresses_from_shared_memory_and_a_loop_of_one_thread(run, dialect, block):
    """A chunk number that one thread fetched gives the right addresses after several barriers."""
    x = np.random.default_rng(4).integers(-99, 99, (6, block // 32, 32, 2)).astype(np.int32)
    counter = np.zeros(1, np.int32)
    out, counter, *_ = run(SOURCE, "chunks", 6, block, np.zeros_like(x), counter, x, 13, dialect=dialect)
    assert counter == 6
    totals = []
    for chunk in range(6):
        total = 0
        for k in range(13 % 7 + chunk):
            total = total * 3 + k
        totals.append(total)
    before = x.sum(3).cumsum(2) - x.sum(3) + x[..., 0] - x[..., 1]
    total = np.array(totals, np.int32)[:, None, None]
    assert np.array_equal(out.reshape(x.shape), np.stack([before + total, before - total], 3))


def test_one_thread_waits_for_other_thread_blocks(run, dialect):
    """Thread blocks take turns, whatever the order in which workers start them."""
    turn, order = run(SOURCE, "turns", 40, 64, np.zeros(1, np.int32), np.zeros(40 * 64, np.int32), 0, dialect=dialect)
    assert turn == 40
    assert np.array_equal(order.reshape(40, 64), 2 * np.arange(40)[:, None] + np.arange(64))


UNWRITTEN = """.version 8.0
.target sm_75
.address_size 64
.visible .entry rounds(.param .u64 out, .param .u32 n) {
  .reg .pred %p<3>;
  .reg .b32 %r<10>;
  .reg .b64 %rd<4>;
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %tid.x;
  mov.u32 %r3, 0;
  mov.u32 %r4, 0;
LOOP:
  shfl.sync.bfly.b32 %r5, %r2, 1, 31, -1;
  setp.eq.u32 %p1, %r3, 0;
  selp.b32 %r6, %r5, %r7, %p1;
  add.u32 %r4, %r4, %r6;
  mad.lo.u32 %r7, %r3, 3, %r1;
  bar.sync 0;
  add.u32 %r3, %r3, 1;
  setp.lt.u32 %p2, %r3, %r1;
  @%p2 bra LOOP;
  ld.param.u64 %rd1, [out];
  mul.wide.u32 %rd2, %r2, 4;
  add.u64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r4;
  ret;
}"""


def test_a_chain_from_the_start_may_name_a_register_that_is_written_later(run):
    """The first round of a loop may name a register that no thread has written yet, if it selects another value."""
    out = run(UNWRITTEN, "rounds", 1, 64, np.zeros(64, np.int32), 4)[0]
    assert np.array_equal(out, (np.arange(64) ^ 1) + 4 + 7 + 10)
