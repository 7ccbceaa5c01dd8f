"""Kernels for tests, compiled by Triton where it is installed."""

import triton
import triton.language as tl
from triton_parts import twice


@triton.jit
def add(x: "*fp32", y: "*fp32", out: "*fp32", n: "i32", BLOCK: tl.constexpr = 256):  # noqa: F722, F821, N803 - Triton's
    """Write 2 x + y."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    tl.store(out + i, twice(tl.load(x + i, mask=inside)) + tl.load(y + i, mask=inside), mask=inside)


@triton.jit
def softmax(x: "*fp32", out: tl.pointer_type(tl.float32), columns: tl.int32, BLOCK: tl.constexpr):  # noqa: F722, N803
    """Write the softmax of a row."""
    i = tl.arange(0, BLOCK)
    x += tl.program_id(0) * columns
    values = tl.load(x + i, mask=i < columns, other=-float("inf"))
    shares = tl.exp(values - tl.max(values, 0))
    tl.store(out + tl.program_id(0) * columns + i, shares / tl.sum(shares, 0), mask=i < columns)


@triton.jit
def matmul(a: "*fp16", b: "*fp16", c: "*fp32", m: "i32", n: "i32", k: "i32", SIZE: tl.constexpr = 32):  # noqa: F722, F821, N803
    """Write the product of two matrices."""
    rows, columns = tl.program_id(0) * SIZE + tl.arange(0, SIZE), tl.program_id(1) * SIZE + tl.arange(0, SIZE)
    total = tl.zeros((SIZE, SIZE), dtype=tl.float32)
    for start in range(0, k, SIZE):
        middle = start + tl.arange(0, SIZE)
        of_a = (rows[:, None] < m) & (middle[None, :] < k)
        of_b = (middle[:, None] < k) & (columns[None, :] < n)
        left = tl.load(a + rows[:, None] * k + middle[None, :], mask=of_a, other=0.0)
        right = tl.load(b + middle[:, None] * n + columns[None, :], mask=of_b, other=0.0)
        total += tl.dot(left, right)
    tl.store(c + rows[:, None] * n + columns[None, :], total, mask=(rows[:, None] < m) & (columns[None, :] < n))


@triton.autotune([triton.Config({"BLOCK": 64}, num_warps=2), triton.Config({"BLOCK": 128})], key=[])
@triton.jit
def histogram(x: "*i32", out: "*i32", n, bins=16, BLOCK: tl.constexpr = 0):  # noqa: F722, N803
    """Count elements by their remainder."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n, other=0)
    tl.atomic_add(out + value % bins, tl.full([BLOCK], 1, tl.int32), mask=i < n)


@triton.jit
def broken(x: "*fp32", n: "i32"):  # noqa: F722, F821
    """Add what can't be added."""
    tl.store(x, tl.arange(0, 4) + tl.arange(0, 8))
