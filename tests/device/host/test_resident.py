"""Thread blocks that wait for each other."""

import time
from contextlib import closing

import numpy as np
import pytest

from warploom.engine.device.host.device import HostDevice
from warploom.engine.device.host.pool import IDLE_S
from warploom.engine.diagnostics import KernelFault

SYNC = """
__device__ void everyone(unsigned* arrived, unsigned round) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(arrived, 1u);
    while (*(volatile unsigned*)arrived < round * gridDim.x) { }
    __threadfence();
  }
  __syncthreads();
}
extern "C" __global__ void ring(int* x, unsigned* arrived, int rounds) {
  for (int k = 0; k < rounds; k++) {
    int next = x[(blockIdx.x + 1) % gridDim.x * blockDim.x + threadIdx.x];
    everyone(arrived, 2 * k + 1);
    x[blockIdx.x * blockDim.x + threadIdx.x] = next + 1;
    everyone(arrived, 2 * k + 2);
  }
}"""


@pytest.mark.parametrize("blocks", [2, 5, 40])
def test_a_barrier_across_thread_blocks(run, blocks):
    """A barrier across thread blocks works repeatedly, even with more thread blocks than cores."""
    x = np.arange(blocks * 33, dtype=np.int32)
    out = run(SYNC, "ring", blocks, 33, x, np.zeros(1, np.uint32), 3)[0]
    assert np.array_equal(out, np.roll(x.reshape(blocks, 33), -3, 0).ravel() + 3)


def test_launches_in_a_row_and_after_a_pause_get_more_workers(cuda_ptx):
    """Thread blocks that wait for each other all run, whether the device was busy or idle before."""
    with closing(HostDevice(cores=2)) as host:
        kernel = host.load_module(cuda_ptx(SYNC)).kernel("ring")
        for pause_s in (0, 0, 2 * IDLE_S, 0):
            time.sleep(pause_s)
            x = np.arange(5 * 33, dtype=np.int32)
            given = [host.upload(x), host.upload(np.zeros(1, np.uint32)), 3]
            host.launch(kernel, (5,), (33,), given)
            assert np.array_equal(given[0].download(), np.roll(x.reshape(5, 33), -3, 0).ravel() + 3)


FAILING = """
extern "C" __global__ void wait_for_last(int* flag, int* nowhere) {
  if (blockIdx.x == gridDim.x - 1) { nowhere[1 << 28] = 1; atomicExch(flag, 1); }
  else while (*(volatile int*)flag == 0) { }
}"""


def test_waiting_ends_when_another_thread_block_fails(cuda_ptx):
    """A fault in one thread block ends the others, which wait for that block."""
    host = HostDevice(cores=2, kernel_time_limit_s=None)
    kernel = host.load_module(cuda_ptx(FAILING)).kernel("wait_for_last")
    given = [host.upload(np.zeros(4, np.int32)), host.upload(np.zeros(4, np.int32))]
    with pytest.raises(KernelFault, match=r"thread block \(5, 0, 0\)"):
        host.launch(kernel, (6,), (32,), given)
    host.close()
