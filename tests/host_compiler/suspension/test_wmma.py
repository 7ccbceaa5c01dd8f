"""wmma in every type but plain f16 against numpy: loads with strides in both layouts, products and stores."""

import numpy as np
import pytest

from tests.host_compiler.fragments import HEAD

RNG = np.random.default_rng(12)
#: Registers of A, B and C, by shape and type.
COUNTS = {
    ("m16n16k16", "bf16"): (4, 4, 8),
    ("m8n32k16", "bf16"): (2, 8, 8),
    ("m32n8k16", "bf16"): (8, 2, 8),
    ("m16n16k16", "s8"): (2, 2, 8),
    ("m8n32k16", "s8"): (1, 4, 8),
    ("m32n8k16", "s8"): (4, 1, 8),
    ("m16n16k8", "tf32"): (4, 4, 8),
    ("m8n8k4", "f64"): (1, 1, 2),
    ("m8n8k32", "s4"): (1, 1, 2),
    ("m8n8k128", "b1"): (1, 1, 2),
}


@pytest.fixture
def host(quick_host):
    """Run quick code; `test_matrices` runs optimised kernels."""
    return quick_host


def _kernel(shape, kind, counts, sums, layouts, strides, operation=""):
    """Return a kernel that loads A, B and C, multiplies and stores D; every matrix starts 16 bytes into its buffer."""
    la, lb, lc = layouts
    width = "b64" if kind == "f64" else "b32"
    names = {}
    text = [HEAD, ".visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pd, .param .u32 ld) {"]
    text += [".reg .b64 %p; .reg .b32 %ld;"]
    for name, count in zip("abcd", (*counts, counts[2]), strict=True):
        text.append(f".reg .{width} %{name}<{count}>;")
        names[name] = "{" + ", ".join(f"%{name}{index}" for index in range(count)) + "}"
    for name, layout, stride in zip("abc", layouts, strides, strict=True):
        load = f"wmma.load.{name}.sync.aligned.{layout}.{shape}.global.{sums if name == 'c' else kind}"
        text.append(f"ld.param.u64 %p, [p{name}]; {load} {names[name]}, [%p+16], {stride};")
    product = f"wmma.mma{operation}.sync.aligned.{la}.{lb}.{shape}.{sums}.{kind}.{kind}.{sums}"
    text.append(f"{product} {names['d']}, {names['a']}, {names['b']}, {names['c']};")
    text.append("ld.param.u64 %p, [pd]; ld.param.u32 %ld, [ld];")
    text.append(f"wmma.store.d.sync.aligned.{lc}.{shape}.global.{sums} [%p], {names['d']}, %ld; ret; }}")
    return "\n".join(text)


def _memory(matrix, layout, stride, pack=lambda lines: lines):
    """Return 16 bytes, then a matrix in lines of `stride` elements: rows, or columns for the layout "col"."""
    lines = matrix if layout == "row" else matrix.T
    wide = np.zeros((lines.shape[0], stride), matrix.dtype)
    wide[:, : lines.shape[1]] = lines
    return np.concatenate([np.zeros(16, np.uint8), np.ascontiguousarray(pack(wide)).view(np.uint8).ravel()])


def _strides(matrices, layouts, granule):
    """Return strides longer than the lines, in steps that keep lines aligned."""
    return [
        (matrix.shape[1] if layout == "row" else matrix.shape[0]) + granule
        for matrix, layout in zip(matrices, layouts, strict=True)
    ]


def _run(run, shape, kind, sums, layouts, matrices, d_type, granule, pack=lambda lines: lines, operation=""):
    a, b, c = matrices
    strides = _strides(matrices, layouts, granule)
    strides[2] = (c.shape[1] if layouts[2] == "row" else c.shape[0]) + 16 // c.itemsize
    ptx = _kernel(shape, kind, COUNTS[shape, kind.replace("u", "s")], sums, layouts, strides, operation)
    out = np.zeros(c.shape if layouts[2] == "row" else c.T.shape, d_type)
    given = [_memory(m, la, st, pack) for m, la, st in zip((a, b), layouts, strides, strict=False)]
    given.append(_memory(c, layouts[2], strides[2]))
    d = run(ptx, "k", 1, 32, *given, out, np.int32(out.shape[1]))[3]
    return d if layouts[2] == "row" else d.T


def _shape(text):
    m, _, rest = text[1:].partition("n")
    n, _, k = rest.partition("k")
    return int(m), int(n), int(k)


LAYOUTS = [("row", "col", "row"), ("col", "row", "col"), ("row", "row", "row"), ("col", "col", "row")]


@pytest.mark.parametrize("layouts", LAYOUTS)
@pytest.mark.parametrize("shape", ["m16n16k16", "m8n32k16", "m32n8k16"])
def test_bytes(run, shape, layouts):
    """Products of s8 and of u8 matrices have exact s32 sums."""
    m, n, k = _shape(shape)
    kind, dtype = ("s8", np.int8) if m == 16 else ("u8", np.uint8)
    a, b = (RNG.integers(0, 256, size).astype(np.uint8).view(dtype) for size in ((m, k), (k, n)))
    c = RNG.integers(-1000, 1000, (m, n)).astype(np.int32)
    d = _run(run, shape, kind, "s32", layouts, (a, b, c), np.int32, 16)
    assert np.array_equal(d, a.astype(np.int32) @ b.astype(np.int32) + c)


@pytest.mark.parametrize("layouts", LAYOUTS[:2])
@pytest.mark.parametrize("shape", ["m16n16k16", "m8n32k16", "m32n8k16"])
def test_bf16(run, shape, layouts):
    """Products of small integers as bf16, the upper halves of f32, have exact sums."""
    m, n, k = _shape(shape)
    a, b = (RNG.integers(-8, 9, size).astype(np.float32) for size in ((m, k), (k, n)))
    c = RNG.integers(-8, 9, (m, n)).astype(np.float32)
    upper = [(item.view(np.uint32) >> 16).astype(np.uint16) for item in (a, b)]
    d = _run(run, shape, "bf16", "f32", layouts, (*upper, c), np.float32, 8)
    assert np.array_equal(d, a @ b + c)


@pytest.mark.parametrize("layouts", LAYOUTS[:2])
def test_tf32(run, layouts):
    """Products of tf32 are exact for integers of ten bits."""
    a, b = (RNG.integers(-500, 500, size).astype(np.float32) for size in ((16, 8), (8, 16)))
    c = RNG.integers(-500, 500, (16, 16)).astype(np.float32)
    d = _run(run, "m16n16k8", "tf32", "f32", layouts, (a, b, c), np.float32, 4)
    assert np.array_equal(d, a @ b + c)


@pytest.mark.parametrize("layouts", LAYOUTS)
def test_doubles(run, layouts):
    """Products of f64 have the shape m8n8k4."""
    a, b, c = (RNG.integers(-500, 500, size).astype(np.float64) for size in ((8, 4), (4, 8), (8, 8)))
    d = _run(run, "m8n8k4", "f64", "f64", layouts, (a, b, c), np.float64, 2)
    assert np.array_equal(d, a @ b + c)


@pytest.mark.parametrize("kind", ["s4", "u4"])
def test_half_bytes(run, kind):
    """4-bit integers are packed two to a byte, the first in the lower half, with A in rows and B in columns."""
    low = -8 if kind == "s4" else 0
    a, b = (RNG.integers(low, low + 16, size).astype(np.int8) for size in ((8, 32), (32, 8)))
    c = RNG.integers(-1000, 1000, (8, 8)).astype(np.int32)

    def pack(lines):
        bits = lines.view(np.uint8) & 15
        return bits[:, ::2] | bits[:, 1::2] << 4

    d = _run(run, "m8n8k32", kind, "s32", LAYOUTS[0], (a, b, c), np.int32, 32, pack)
    assert np.array_equal(d, a.astype(np.int32) @ b.astype(np.int32) + c)


@pytest.mark.parametrize("operation", ["xor", "and"])
def test_single_bits(run, operation):
    """Single bits are packed from the lowest up, and the sum counts the products that are 1."""
    a, b = (RNG.integers(0, 2, size).astype(np.uint8) for size in ((8, 128), (128, 8)))
    c = RNG.integers(-1000, 1000, (8, 8)).astype(np.int32)

    def pack(lines):
        return np.packbits(lines, axis=1, bitorder="little")

    d = _run(run, "m8n8k128", "b1", "s32", LAYOUTS[0], (a, b, c), np.int32, 128, pack, f".{operation}.popc")
    both = a.astype(np.int32) @ b.astype(np.int32)
    ones = both if operation == "and" else a.sum(1)[:, None].astype(np.int32) + b.sum(0).astype(np.int32) - 2 * both
    assert np.array_equal(d, ones + c)
