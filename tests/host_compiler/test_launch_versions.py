"""Kernel versions for branches that the parameters alone decide."""

import numpy as np
import pytest

from warploom.engine.host_compiler.passes.launch_versions import for_launches
from warploom.engine.ptx import parse

MODES = """
extern "C" __global__ void modes(const void* x, float* out, unsigned int type, int mode, float scale, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float value;
  if ((type & 0xFFFF) == 8) {
    const double2 pair = static_cast<const double2*>(x)[i];
    value = static_cast<float>(pair.x * pair.y + pair.x);
  } else {
    const float2 pair = static_cast<const float2*>(x)[i];
    value = pair.x * pair.y + pair.x;
  }
  if (mode == 1) for (int k = 0; k < 5; k++) value = value * scale + static_cast<float>(k * i);
  if (mode == 2) value = value < 0.0f ? sqrtf(-value) / scale : sqrtf(value) * scale + 1.0f;
  out[i] = value;
}"""
SHUFFLED = """
extern "C" __global__ void shuffled(int* x, int mode) {
  __shared__ int s[64];
  int t = threadIdx.x, value = x[t];
  if (mode == 0) {
    s[t] = value;
    __syncthreads();
    value = s[63 - t] * 3 + 1;
  } else if (mode < 0) {
    for (int k = 16; k; k /= 2) value += __shfl_xor_sync(0xFFFFFFFFu, value, k);
  }
  x[t] = value;
}"""


@pytest.mark.parametrize("n", [1, 31, 33, 1000])
def test_every_mode_of_a_launch(run_optimised, dialect, n):
    """A kernel with a type and a mode equals numpy for all of them, up to the end of buffers of the smaller type."""
    random = np.random.default_rng(n)
    for dtype in (np.float32, np.float64):
        x = random.standard_normal((n, 2)).astype(dtype)
        start = (x[:, 0] * x[:, 1].astype(np.float64) + x[:, 0]).astype(np.float32)
        for mode in (0, 1, 2, 3, -1):
            arguments = [x, np.zeros(n, np.float32), 7 << 16 | x.itemsize, mode, np.float32(0.5), n]
            found = run_optimised(MODES, "modes", -(-n // 64), 64, *arguments, dialect=dialect)[1]
            wanted = start.astype(np.float64)
            for k in range(5 if mode == 1 else 0):
                wanted = wanted * 0.5 + k * np.arange(n)
            if mode == 2:
                wanted = np.where(wanted < 0, np.sqrt(np.abs(wanted)) / 0.5, np.sqrt(np.abs(wanted)) * 0.5 + 1)
            np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_modes_with_barriers_and_shuffles(run_optimised, dialect):
    """Ways in which threads wait, or do not, give the same as numpy."""
    x = np.arange(64, dtype=np.int32) ** 2
    sums = x.reshape(2, 32).sum(axis=1).repeat(32)
    for mode, wanted in ((0, x[::-1] * 3 + 1), (-5, sums), (1, x)):
        assert np.array_equal(run_optimised(SHUFFLED, "shuffled", 1, 64, x, mode, dialect=dialect)[0], wanted)


def test_versions_are_made_only_for_branches_of_the_launch(cuda_ptx):
    """There are versions for the types and the long ways of the modes; none where branches depend on the thread."""

    def versions(source):
        return for_launches(parse(cuda_ptx(source, "compute_80")).functions["modes"])[0]

    assert len(versions(MODES)) > 2
    assert len(versions(MODES.replace("mode ==", "i ==").replace("(type & 0xFFFF)", "i"))) == 1
