"""Which data waiting kernels prefetch."""

from contextlib import closing

import numpy as np
import pytest

from warploom.engine.device.host.device import HostDevice
from warploom.engine.device.host.modules import build, cache, native

NEIGHBOURS = """
extern "C" __global__ void neighbours(const int* x, int* out) {
  int i = blockIdx.x * 128 + threadIdx.x;
  out[i] = __shfl_xor_sync(~0u, x[i], 1);
}"""
TILE = """
extern "C" __global__ void tile(const int* x, int* out, int width) {
  __shared__ int s[9][16];
  int t = threadIdx.x, y = threadIdx.y, column = blockIdx.x * 16 + t, row = blockIdx.y * 8 + y;
  s[y][t] = x[row * width + column];
  if (y == 7) s[8][t] = x[(row + 1) * width + column];
  __syncthreads();
  out[row * width + column] = s[y + 1][t];
}"""


@pytest.fixture
def marked(monkeypatch, tmp_path, cuda_ptx):
    """Run one thread block of a kernel that writes to bytes instead of prefetching: `marked(source, shape, *args)`.

    Return the places of these bytes in its first argument.
    """

    def compile_object(text: str, processor: tuple[str, str] | None) -> bytes:
        call, rest = "call void @llvm.prefetch.p0(", ", i32 0, i32 3, i32 1)"
        return native.quick_object(text.replace(call, "store i8 1, ").replace(rest, ""), processor)

    monkeypatch.setattr(native, "compile_object", compile_object)
    monkeypatch.setattr(build, "run_in_background", lambda function, *given: function(*given))
    monkeypatch.setattr(cache, "folder", lambda: tmp_path)

    def run(source: str, thread_block: tuple[int, ...], *args: int) -> list[int]:
        with closing(HostDevice(cores=1, quick_first=False)) as device:
            module = device.load_module(cuda_ptx(source))
            x, out = (device.upload(np.zeros(1 << 12, np.int32)) for _ in range(2))
            device.launch(module.kernel(module.kernel_names[0]), (1,), thread_block, [x, out, *args])
            return np.flatnonzero(x.download().view(np.uint8)).tolist()

    return run


def test_each_warp_prefetches_its_own_part_of_the_thread_block_after_the_next(marked):
    """Four warps prefetch eight cache lines."""
    assert marked(NEIGHBOURS, (128,)) == [2 * 512 + 64 * line for line in range(8)]


def test_rows_that_few_threads_read_are_not_prefetched(marked):
    """Each row of a tile prefetches its own line, and the row below the tile is left out."""
    assert marked(TILE, (16, 8), 256) == [2 * 64 + 1024 * row for row in range(8)]
