"""Output of printf in kernels, messages of failed assertions, and memory that kernels allocate."""

import numpy as np
import pytest

from warploom.engine.diagnostics import DeviceError

PRINT = r"""
extern "C" __global__ void k(int n, double x, const char* text) {
  if (threadIdx.x < n) printf("%d %5d|%-4u|%#x %lld %c %%\n", threadIdx.x, -3, 7u, 255, -5000000000ll, 'q');
  if (threadIdx.x == 0) printf("%.3f %10.2e %g %s %s %*d %hhu\n", x, x, 0.5f, "word", text, 6, 42, 300);
}
extern "C" __global__ void many(int* out) { out[threadIdx.x] = printf("x"); }
"""


def test_printf(run, capsys):
    """printf prints what C prints, ordered by thread."""
    text = np.frombuffer(b"given\0", np.uint8).copy()
    run(PRINT, "k", 1, 64, np.int32(2), np.float64(1234.5678), text)
    first = [f"{t}    -3|7   |0xff -5000000000 q %\n" for t in range(2)]
    line = "1234.568   1.23e+03 0.5 word given     42 44\n"
    out = capsys.readouterr().out
    assert sorted(out.splitlines(True)) == sorted([*first, line])


def test_what_is_printed_controls_no_terminal(run, capsys):
    """Of all bytes and of the escapes of terminals, only new lines and tabs reach the terminal as they are."""
    every = bytes(range(1, 256)) + "\x9b31m\u202e\u2028\u200b".encode() + b"\x1b]0;title\a\r\x1b[2J\0"
    run(PRINT, "k", 1, 1, np.int32(0), np.float64(1), np.frombuffer(every, np.uint8).copy())
    out = capsys.readouterr().out
    assert all(c.isprintable() or c in "\n\t" for c in out)
    assert r"\x1b]0;title\x07\r\x1b[2J" in out
    assert "\t\n" in out


def test_printf_of_several_thread_blocks_and_its_result(run, capsys):
    """Every thread of all thread blocks prints, and printf without arguments returns 0."""
    out = run(PRINT, "many", 3, 50, np.full(50, -1, np.int32))[0]
    assert not out.any()
    assert capsys.readouterr().out == "x" * 150


ASSERT = r"""
extern "C" __device__ void __assertfail(const char*, const char*, unsigned, const char*, size_t);
extern "C" __global__ void k(int* x) {
  if (x[threadIdx.x] > 4) __assertfail("x <= 4", "file.cu", 12, "k", 1);
  x[threadIdx.x] = 0;
}
"""


def test_a_failed_assertion_names_what_failed(run):
    """The error of a failed assertion states the message, file, line, function and thread."""
    with pytest.raises(DeviceError, match=r"thread \(5, 0, 0\).*'x <= 4' at file.cu:12 in k"):
        run(ASSERT, "k", 1, 8, np.arange(8, dtype=np.int32))


HEAP = """extern "C" __global__ void k(int* out, int n) {
  int* mine = (int*)malloc(n * 4);
  for (int i = 0; i < n; i++) mine[i] = threadIdx.x * i;
  __syncthreads();
  int sum = 0;
  for (int i = 0; i < n; i++) sum += mine[i];
  out[threadIdx.x] = sum;
  free(mine);
  if (threadIdx.x == 0) { void* all = malloc(1 << 30); out[0] += all == nullptr ? 1000 : 0; }
}"""


def test_memory_from_the_device_heap(run):
    """Each thread's malloc returns separate memory, and a null pointer if the heap is exhausted."""
    for _ in range(3):
        out = run(HEAP, "k", 1, 40, np.zeros(40, np.int32), np.int32(9))[0]
        assert np.array_equal(out, np.arange(40) * 36 + (np.arange(40) == 0) * 1000)
