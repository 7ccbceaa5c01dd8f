"""Which data waiting kernels prefetch."""

import re
from contextlib import closing
from itertools import count

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
ROUNDS = """
extern "C" __global__ void rounds(const int* x, int* out, int n) {
  int t = threadIdx.x, sum = 0;
#pragma unroll 1
  for (int i = t; i < n; i += 512) sum += x[i] + x[i + 256];
  out[t] = sum;
}"""


@pytest.fixture
def prefetched(monkeypatch, tmp_path, cuda_ptx):
    """Run one thread block of a kernel: `prefetched(source, shape, *args)`.

    Return the places in its first argument that it prefetches, in bytes and in the order of time. The first turn of a
    loop has a wrong pointer, which is left out.
    """
    noted, numbers = np.ones(1 << 12, np.int64), count()

    def note(call: re.Match[str]) -> str:
        """Return text that appends an address to `noted`, whose first element is their number plus 1."""
        name, array = f"%noted.{next(numbers)}", f"ptr inttoptr (i64 {noted.ctypes.data} to ptr)"
        return f"""  {name} = atomicrmw add {array}, i64 1 monotonic
  {name}.at = getelementptr i64, {array}, i64 {name}
  {name}.value = ptrtoint {call[1]} to i64
  store i64 {name}.value, ptr {name}.at"""

    def compile_object(text: str, processor: tuple[str, str] | None) -> bytes:
        return native.quick_object(re.sub(r"  call void @llvm.prefetch.p0\((.*?),.*", note, text), processor)

    monkeypatch.setattr(native, "compile_object", compile_object)
    monkeypatch.setattr(build, "run_in_background", lambda function, *given: function(*given))
    monkeypatch.setattr(cache, "folder", lambda: tmp_path)

    def run(source: str, thread_block: tuple[int, ...], *args: int) -> list[int]:
        with closing(HostDevice(cores=1, quick_first=False)) as device:
            module = device.load_module(cuda_ptx(source))
            x, out = (device.upload(np.zeros(1 << 12, np.int32)) for _ in range(2))
            device.launch(module.kernel(module.kernel_names[0]), (1,), thread_block, [x, out, *args])
            places = noted[1 : noted[0]] - x.memory.pointer
            return places[(places >= 0) & (places < x.size_bytes)].tolist()

    return run


def test_each_warp_prefetches_its_own_part_of_the_thread_block_after_the_next(prefetched):
    """Four warps prefetch eight cache lines."""
    assert prefetched(NEIGHBOURS, (128,)) == [2 * 512 + 64 * line for line in range(8)]


def test_rows_that_few_threads_read_are_not_prefetched(prefetched):
    """Each row of a tile prefetches its own line, and the row below the tile is left out."""
    assert prefetched(TILE, (16, 8), 256) == [2 * 64 + 1024 * row for row in range(8)]


def test_in_a_loop_some_threads_prefetch_their_lines_of_both_rows_four_turns_ahead(prefetched):
    """Three of the four turns know how far a turn moves on; 64 threads read four lines of each row of 256."""
    four = [64 * line for line in range(4)]
    pieces = [row + 256 * piece + line for piece in range(4) for row in (0, 1024) for line in four]
    assert prefetched(ROUNDS, (256,), 2048) == [2048 * (turn + 4) + at for turn in (1, 2, 3) for at in pieces]
