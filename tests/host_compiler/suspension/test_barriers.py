"""Threads that wait for each other at barriers, in warp operations and through shared memory."""

import numpy as np
import pytest

from warploom.engine.diagnostics import DeviceError


@pytest.fixture
def host(either_host):
    """The device of `run`: both ways to translate waiting threads."""
    return either_host


REDUCE = """
extern "C" __global__ void reduce(const float* x, float* out, int n) {
  __shared__ float s[256];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  s[t] = i < n ? x[i] : 0.f;
  __syncthreads();
  for (int k = blockDim.x / 2; k > 0; k >>= 1) { if (t < k) s[t] += s[t + k]; __syncthreads(); }
  if (t == 0) out[blockIdx.x] = s[0];
}"""


def test_block_reduction_with_a_barrier_in_a_loop(run_optimised, dialect):
    """A tree reduction in shared memory with a barrier in its loop gives the sum of each thread block."""
    x = np.arange(1000, dtype=np.float32)
    out = run_optimised(REDUCE, "reduce", 4, 256, x, np.zeros(4, np.float32), 1000, dialect=dialect)[1]
    assert np.array_equal(out, np.pad(x, (0, 24)).reshape(4, 256).sum(1))


MATMUL = """
extern "C" __global__ void matmul(const float* a, const float* b, float* c, int n) {
  __shared__ float sa[16][16], sb[16][17];
  int x = threadIdx.x, y = threadIdx.y, col = blockIdx.x * 16 + x, row = blockIdx.y * 16 + y;
  float sum = 0;
  for (int k = 0; k < n; k += 16) {
    sa[y][x] = row < n && k + x < n ? a[row * n + k + x] : 0.f;
    sb[y][x] = col < n && k + y < n ? b[(k + y) * n + col] : 0.f;
    __syncthreads();
    for (int i = 0; i < 16; i++) sum += sa[y][i] * sb[i][x];
    __syncthreads();
  }
  if (row < n && col < n) c[row * n + col] = sum;
}"""


def test_tiled_matrix_product(run_optimised, dialect):
    """A tiled product in shared memory agrees with numpy for a size that is no multiple of the tile."""
    n = 37
    a, b = (np.random.default_rng(seed).random((n, n), np.float32) for seed in (1, 2))
    c = run_optimised(MATMUL, "matmul", (3, 3), (16, 16), a, b, np.zeros_like(a), n, dialect=dialect)[2]
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)


DYNAMIC = """
extern "C" __global__ void reverse(int* x) {
  extern __shared__ int s[];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}"""


def test_dynamic_shared_memory(run, host):
    """Dynamic shared memory has the launch's size, and an access one byte past it is a fault."""
    x = np.arange(64, dtype=np.int32)
    assert np.array_equal(run(DYNAMIC, "reverse", 1, 64, x, shared_bytes=256)[0], x[::-1])
    with pytest.raises(DeviceError, match=r"kernel reverse.*byte 252 of shared memory"):
        run(DYNAMIC, "reverse", 1, 64, x, shared_bytes=252)


WARP = """
extern "C" __global__ void warp(const int* x, int* sum, int* up, int* rot, unsigned* vote, int* any, unsigned* active) {
  int t = threadIdx.x, v = x[t];
  int s = v;
  for (int k = 16; k > 0; k >>= 1) s += __shfl_xor_sync(~0u, s, k);
  sum[t] = s;
  up[t] = __shfl_up_sync(~0u, v, 3);
  rot[t] = __shfl_sync(~0u, v, t + 1, 8);
  vote[t] = __ballot_sync(~0u, v & 1);
  any[t] = __any_sync(~0u, v == 7) * 2 + __all_sync(~0u, v >= 0);
  active[t] = __activemask();
}"""


def test_warp_operations(run, dialect):
    """Shuffles and votes exchange values within each warp of 32 threads."""
    x = np.random.default_rng(3).integers(-5, 90, 96).astype(np.int32)
    zero = np.zeros_like(x)
    _, total, up, rot, vote, any_, active = run(
        WARP, "warp", 1, 96, x, zero, zero, zero, zero.view(np.uint32), zero, zero.view(np.uint32), dialect=dialect
    )
    warps = x.reshape(3, 32)
    assert np.array_equal(total.reshape(3, 32), np.repeat(warps.sum(1, keepdims=True), 32, 1))
    assert np.array_equal(up.reshape(3, 32), np.concatenate([warps[:, :3], warps[:, :-3]], 1))
    assert np.array_equal(rot.reshape(-1, 8), np.roll(x.reshape(-1, 8), -1, 1))
    ballots = ((warps & 1).astype(np.uint64) << np.arange(32, dtype=np.uint64)).sum(1)
    assert np.array_equal(vote.reshape(3, 32), np.repeat(ballots[:, None], 32, 1))
    expected = (warps == 7).any(1) * 2 + (warps >= 0).all(1)
    assert np.array_equal(any_.reshape(3, 32), np.repeat(expected[:, None], 32, 1))
    assert (active == 0xFFFFFFFF).all()


DIVERGENT = """
extern "C" __global__ void divergent(int* out, int* n) {
  __shared__ int s[64];
  int t = threadIdx.x, sum = 0;
  if (t >= 48) return;
  for (int i = 0; i < n[t / 32]; i++) sum += __shfl_xor_sync(t < 32 ? ~0u : 0xffffu, t + i, 1);
  s[t] = sum;
  if (t < 16) { __syncthreads(); sum = s[t + 16]; } else { __syncthreads(); sum = s[t - 16]; }
  out[t] = sum;
}"""


def test_threads_that_diverge_and_meet_again(run):
    """Sums equal numpy's if warps loop unequally often, threads end early, and two barriers share a number."""
    n = np.array([5, 2], np.int32)
    out = run(DIVERGENT, "divergent", 1, 64, np.full(64, -1, np.int32), n)[0]
    t = np.arange(48)
    trips = n[t // 32]
    sums = trips * (t ^ 1) + trips * (trips - 1) // 2
    assert np.array_equal(out[:48], np.where(t < 16, sums[(t + 16) % 48], sums[t - 16]))
    assert (out[48:] == -1).all()


FUNCTION = """
__noinline__ __device__ float block_sum(float v) {
  __shared__ float s[32];
  for (int k = 16; k; k >>= 1) v += __shfl_down_sync(~0u, v, k);
  if ((threadIdx.x & 31) == 0) s[threadIdx.x >> 5] = v;
  __syncthreads();
  float total = 0;
  for (int i = 0; i < blockDim.x / 32; i++) total += s[i];
  __syncthreads();
  return total;
}
extern "C" __global__ void twice(const float* x, float* out) {
  float a = block_sum(x[threadIdx.x]);
  out[threadIdx.x] = a + block_sum(a * threadIdx.x);
}"""


def test_a_device_function_that_waits(run, dialect):
    """A kernel may call a function with barriers and shuffles several times."""
    x = np.arange(128, dtype=np.float32)
    out = run(FUNCTION, "twice", 1, 128, x, np.zeros_like(x), dialect=dialect)[1]
    total = x.sum()
    assert np.array_equal(out, np.full(128, total + total * np.arange(128).sum(), np.float32))


def test_barrier_reduction(run):
    """bar.red returns the count and the conjunction of a predicate to every thread."""
    source = """extern "C" __global__ void k(const int* x, int* count, int* all) {
      int t = threadIdx.x; count[t] = __syncthreads_count(x[t]);
      all[t] = __syncthreads_and(x[t]) + 2 * __syncthreads_or(x[t]); }"""
    x = (np.arange(70) % 3 == 0).astype(np.int32)
    _, count, all_ = run(source, "k", 1, 70, x, x, x)
    assert (count == x.sum()).all()
    assert (all_ == 2).all()


STUCK = """.version 7.0
.target sm_75
.address_size 64
.visible .entry stuck() {
  .reg .pred %p; .reg .u32 %r;
  mov.u32 %r, %tid.x;
  setp.lt.u32 %p, %r, 8;
  @%p bra first;
  barrier.sync 1, 64;
  ret;
first:
  barrier.sync 2, 64;
  ret;
}
"""


def test_a_barrier_that_can_never_complete_is_an_error(run):
    """Two groups of threads that wait for each other at different barriers are a fault instead of a hang."""
    with pytest.raises(DeviceError, match=r"kernel stuck, PTX line \d+: thread .* waits at a barrier"):
        run(STUCK, "stuck", 1, 32)
