"""Every dense shape and type of mma.sync against numpy, with fragments as in the manual's figures."""

import numpy as np
import pytest

from tests.host_compiler.fragments import (
    accumulator,
    kernel,
    multiplicand_a,
    multiplicand_b,
    packed,
    per_register,
    spread,
)

RNG = np.random.default_rng(11)


@pytest.fixture
def host(quick_host):
    """Run quick code; `test_matrices` runs optimised kernels."""
    return quick_host


def _product(run, shape, kinds, a, b, c, suffix="", row_col=".row.col"):
    """Return D and the expected fragments of D for matrices of raw elements."""
    rows, columns, depth = shape
    d_kind, a_kind, b_kind, c_kind = kinds
    words = depth // 32 if a_kind == "b1" else depth
    fa = packed(spread(a, rows * words // 32, multiplicand_a(rows, per_register(a_kind))), a_kind)
    fb = packed(spread(b, words * columns // 32, multiplicand_b(per_register(b_kind))), b_kind)
    fc = packed(spread(c, rows * columns // 32, accumulator()), c_kind)
    d_type = {"f64": np.float64, "f32": np.float32, "s32": np.int32, "f16": np.float16}[d_kind]
    held = np.zeros((32, rows * columns // 32), d_type)
    registers = "x" * 4 if d_kind == "f64" else "r" * 4
    counts = (fa.shape[1], fb.shape[1], fc.shape[1], held.shape[1] // (2 if d_kind == "f16" else 1))
    opcode = f"mma.sync.aligned.m{rows}n{columns}k{depth}{row_col}{suffix}.{'.'.join(kinds)}"
    opcode += {"xor": ".xor.popc", "and": ".and.popc"}.get(a_kind, "")
    return run(kernel(opcode, registers, counts), "k", 1, 32, fa, fb, fc, held)[3]


def _laid(d):
    rows, columns = d.shape
    return spread(d, rows * columns // 32, accumulator())


@pytest.mark.parametrize(("rows", "depth"), [(8, 16), (16, 16), (16, 32)])
@pytest.mark.parametrize("kinds", ["s8 s8", "u8 s8", "u8 u8"])
def test_bytes(run, rows, depth, kinds):
    """Sums of products of bytes wrap in 32 bits."""
    types = {"s8": np.int8, "u8": np.uint8}
    ka, kb = kinds.split()
    a = RNG.integers(0, 256, (rows, depth)).astype(np.uint8).view(types[ka])
    b = RNG.integers(0, 256, (depth, 8)).astype(np.uint8).view(types[kb])
    c = RNG.integers(-(2**31), 2**31, (rows, 8)).astype(np.int32)
    d = _product(run, (rows, 8, depth), ("s32", ka, kb, "s32"), a, b, c)
    assert np.array_equal(d, _laid((a.astype(np.int64) @ b.astype(np.int64) + c).astype(np.int32)))


@pytest.mark.parametrize(("rows", "depth"), [(8, 32), (16, 32), (16, 64)])
@pytest.mark.parametrize("kinds", ["s4 s4", "s4 u4", "u4 u4"])
def test_half_bytes_with_saturation(run, rows, depth, kinds):
    """Four-bit integers are packed two to a byte; with .satfinite the sum saturates instead of wrapping."""
    ka, kb = kinds.split()
    low = {"s4": -8, "u4": 0}
    a = RNG.integers(low[ka], low[ka] + 16, (rows, depth)).astype(np.int8)
    b = RNG.integers(low[kb], low[kb] + 16, (depth, 8)).astype(np.int8)
    c = RNG.choice(np.array([2**31 - 3, -(2**31) + 3, 5], np.int32), (rows, 8))
    d = _product(run, (rows, 8, depth), ("s32", ka, kb, "s32"), a, b, c, ".satfinite")
    total = np.clip(a.astype(np.int64) @ b.astype(np.int64) + c, -(2**31), 2**31 - 1)
    assert np.array_equal(d, _laid(total.astype(np.int32)))


@pytest.mark.parametrize(("rows", "depth"), [(8, 128), (16, 128), (16, 256)])
@pytest.mark.parametrize("operation", ["xor", "and"])
def test_single_bits(run, rows, depth, operation):
    """Single bits are combined by exclusive or or by conjunction, and the sum counts the ones."""
    a = RNG.integers(0, 2**32, (rows, depth // 32), dtype=np.uint32)
    b = RNG.integers(0, 2**32, (depth // 32, 8), dtype=np.uint32)
    c = RNG.integers(-100, 100, (rows, 8)).astype(np.int32)
    ufunc = np.bitwise_xor if operation == "xor" else np.bitwise_and
    ones = np.bitwise_count(ufunc(a[:, :, None], b[None])).sum(axis=1)
    held = (
        spread(a, rows * depth // 1024, multiplicand_a(rows, 1)),
        spread(b, depth // 128, multiplicand_b(1)),
        spread(c, rows // 4, accumulator()),
    )
    text = f"mma.sync.aligned.m{rows}n8k{depth}.row.col.s32.b1.b1.s32.{operation}.popc"
    ptx = kernel(text, "rrrr", (*(item.shape[1] for item in held), rows // 4))
    d = run(ptx, "k", 1, 32, *held, np.zeros((32, rows // 4), np.int32))[3]
    assert np.array_equal(d, _laid((ones + c).astype(np.int32)))


@pytest.mark.parametrize(("rows", "depth"), [(8, 4), (16, 4), (16, 8), (16, 16)])
@pytest.mark.parametrize("mode", ["", ".rm"])
def test_doubles(run, rows, depth, mode):
    """f64 products of integers are exact; with `.rm`, subtracting a tiny number rounds some down and none up."""
    a = RNG.integers(-50, 50, (rows, depth)).astype(np.float64)
    b = RNG.integers(-50, 50, (depth, 8)).astype(np.float64)
    c = np.full((rows, 8), -(2.0**-70)) if mode else RNG.integers(-50, 50, (rows, 8)).astype(np.float64)
    d = _product(run, (rows, 8, depth), ("f64",) * 4, a, b, c, mode)
    exact = _laid(a @ b + (0 if mode else c))
    if mode:
        # Each intermediate sum is an integer minus the tiny number. It rounds to the next double below, or is exact if
        # the integer is 0.
        assert (d <= exact).all()
        assert (d >= exact - np.spacing(np.maximum(np.abs(exact), 1)) * depth * 64).all()
        assert (d < exact).any()
    else:
        assert np.array_equal(d, exact)


def _e4m3():
    """Return the value of every e4m3 number: 4 bits of exponent, bias 7, no infinity, NaN as all ones."""
    code = np.arange(256)
    exponent, mantissa = code >> 3 & 15, code & 7
    size = np.where(exponent == 0, mantissa * 2.0**-9, (8 + mantissa) * 2.0 ** (exponent - 10.0))
    value = np.where(code & 128, -size, size)
    value[(code & 127) == 127] = np.nan
    return value


def _e5m2():
    """Return the value of every e5m2 number, which is the upper byte of an f16."""
    return (np.arange(256) << 8).astype(np.uint16).view(np.float16).astype(np.float64)


@pytest.mark.parametrize("depth", [16, 32])
@pytest.mark.parametrize("kinds", ["e4m3 e5m2", "e5m2 e4m3", "e4m3 e4m3"])
def test_floats_of_8_bits(run, depth, kinds):
    """Products of finite e4m3 and moderate e5m2 numbers are exact, with sums that f32 represents exactly."""
    values = {"e4m3": _e4m3(), "e5m2": _e5m2()}
    ka, kb = kinds.split()
    usable = {
        kind: np.flatnonzero(np.isfinite(item) & (np.abs(item) >= 2.0**-4) & (np.abs(item) <= 8))
        for kind, item in values.items()
    }
    a = RNG.choice(usable[ka], (16, depth)).astype(np.uint8)
    b = RNG.choice(usable[kb], (depth, 8)).astype(np.uint8)
    c = RNG.integers(-8, 8, (16, 8)).astype(np.float32)
    d = _product(run, (16, 8, depth), ("f32", ka, kb, "f32"), a, b, c)
    assert np.array_equal(d, _laid((values[ka][a] @ values[kb][b] + c).astype(np.float32)))


@pytest.mark.parametrize("depth", [16, 32])
def test_floats_of_8_bits_with_f16_sums(run, depth):
    """With f16 sums, C and D are pairs of f16."""
    a = RNG.choice(np.array([0x38, 0xB8, 0x40, 0x30], np.uint8), (16, depth))  # 1, -1, 2, 0.5
    b = RNG.choice(np.array([0x38, 0xB8, 0x40, 0x30], np.uint8), (depth, 8))
    c = RNG.integers(-8, 8, (16, 8)).astype(np.float16)
    d = _product(run, (16, 8, depth), ("f16", "e4m3", "e4m3", "f16"), a, b, c)
    value = _e4m3()
    assert np.array_equal(d, _laid((value[a] @ value[b] + c).astype(np.float16)))


@pytest.mark.parametrize("layouts", ["row.row", "row.col", "col.row", "col.col"])
@pytest.mark.parametrize("kinds", ["f16 f16", "f32 f16", "f32 f32"])
def test_quads_of_volta(run, layouts, kinds):
    """m8n8k4 computes four products at once, each by two quads of threads, one in each half of the warp."""
    d_kind, c_kind = kinds.split()
    la, lb = layouts.split(".")
    a, b = (RNG.integers(-8, 9, shape).astype(np.float16) for shape in ((4, 8, 4), (4, 4, 8)))
    c = RNG.integers(-8, 9, (4, 8, 8)).astype(np.float16 if c_kind == "f16" else np.float32)
    exact = a.astype(np.float64) @ b + c

    def number(lane):  # the eight threads of a product are numbered 0 to 7
        return lane % 4 + 4 * (lane // 16)

    def a_at(i, lane):
        return (number(lane), i) if la == "row" else (i % 4 + 4 * (lane // 16), lane % 4)

    def b_at(i, lane):
        return (lane % 4, i + 4 * (lane // 16)) if lb == "row" else (i, number(lane))

    def wide_at(i, lane):
        return (lane & 1) + (i & 2) + 4 * (lane // 16), (i & 4) + (lane & 2) + (i & 1)

    def sum_at(kind):
        return (lambda i, lane: (number(lane), i)) if kind == "f16" else wide_at

    def held(matrices, elements, place):
        return np.array([[matrices[lane % 16 // 4][place(i, lane)] for i in range(elements)] for lane in range(32)])

    fa, fb, fc = held(a, 4, a_at), held(b, 4, b_at), held(c, 8, sum_at(c_kind))
    d_type = np.float16 if d_kind == "f16" else np.float32
    counts = (2, 2, 4 if c_kind == "f16" else 8, 4 if d_kind == "f16" else 8)
    ptx = kernel(f"mma.sync.aligned.m8n8k4.{layouts}.{d_kind}.f16.f16.{c_kind}", "rrrr", counts)
    d = run(ptx, "k", 1, 32, fa, fb, fc, np.zeros((32, 8), d_type))[3]
    assert np.array_equal(d, held(exact, 8, sum_at(d_kind)).astype(d_type))
