"""`.ftz` near the smallest normal number, and the NaN that arithmetic returns, in modules that flush in either way.

If all f32 arithmetic of a module has `.ftz`, the processor flushes subnormals; otherwise the generated code does.
"""

import struct
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from tests.host_compiler import exact_floats as exact
from tests.host_compiler.elements import evaluate
from warploom.engine.host_compiler.analysis import canonical_floats
from warploom.engine.ptx import parse

LEAST = {"f32": Fraction(1, 2**126), "f16": Fraction(1, 2**14)}
EDGES = {
    "f32": [0, 0x80000000, 1, 0x80000001, 0x007FFFFF, 0x807FFFFF, 0x00800000, 0x80800000, 0x00800001, 0x3F7FFFFF,
            0xBF7FFFFF, 0x3F800000, 0x40000000, 0x00FFFFFF, 0x7F7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00001],
    "f16": [0, 0x8000, 1, 0x8001, 0x03FF, 0x83FF, 0x0400, 0x8400, 0x0401, 0x3BFF, 0xBBFF, 0x3C00, 0x4000, 0x07FF,
            0x7BFF, 0x7C00, 0xFC00, 0x7E01],
}  # fmt: skip
SOFTWARE = {"f32": "add.f32 %d, %a, %b;", "f16": "add.f16 %d, %a, %b;"}


@cache
def operands(kind):
    """Return three columns; in two thirds of the rows, a result is near the smallest normal number."""
    form, rng = exact.FORMATS[kind], np.random.default_rng(5)
    rows = [(a, b, c) for a in EDGES[kind] for b in EDGES[kind] for c in EDGES[kind][5:9]]
    for index in range(1800):
        near = LEAST[kind] * (1 + Fraction(int(rng.integers(-9, 10)), 2 ** (form.precision + 2)))
        a = int(rng.integers(1 << form.precision, form.infinity)) | form.sign * int(rng.integers(2))
        value = exact.signed(a, kind)
        b = exact.encode(value / near if index % 3 == 0 else near / value, kind)
        c = EDGES[kind][6 + int(rng.integers(2))]
        if index % 3 == 1:  # the sum is just above or below the smallest normal number
            a, b = (exact.encode(Fraction(int(rng.integers(-99, 99)), 64) * part, kind) for part in _tiny(kind))
        rows.append((a, b, c))
    return [np.ascontiguousarray(column) for column in np.array(rows, f"u{form.bits // 8}").T]


def _tiny(kind):
    """Return two numbers whose product is about a quarter of the smallest subnormal."""
    form = exact.FORMATS[kind]
    first = (form.least - form.precision) // 2
    return Fraction(2) ** first, Fraction(2) ** (form.least - form.precision - 1 - first)


def rule(name, mode, kind):
    """Return the exact result of an operation with .ftz."""

    def minus(raw):
        return raw ^ exact.FORMATS[kind].sign

    one = exact.encode(Fraction(1), kind)
    return {
        "add": lambda a, b, _: exact.add(a, b, kind, mode, ftz=True),
        "sub": lambda a, b, _: exact.add(a, minus(b), kind, mode, ftz=True),
        "mul": lambda a, b, _: exact.multiply(a, b, kind, mode, ftz=True),
        "fma": lambda a, b, c: exact.fuse(a, b, c, kind, mode, ftz=True),
        "div": lambda a, b, _: exact.divide(a, b, kind, mode, ftz=True),
        "rcp": lambda a, *_: exact.divide(one, a, kind, mode, ftz=True),
        "sqrt": lambda a, *_: exact.root(exact.flush(a, kind), kind, mode),
    }[name]


@cache
def results(name, mode, kind):
    """Return the exact result of an operation for every row of the operands."""
    compute = rule(name, mode, kind)
    return [compute(*row) for row in zip(*(column.tolist() for column in operands(kind)), strict=True)]


def check(found, name, mode, kind):
    """Assert that the bits of every element are exact."""
    for given, wanted, *values in zip(found.tolist(), results(name, mode, kind), *operands(kind), strict=True):
        assert exact.same(given, wanted, kind), (name, mode, [hex(value) for value in values], hex(wanted))


COUNTS = {"add": 2, "sub": 2, "mul": 2, "fma": 3, "div": 2, "rcp": 1, "sqrt": 1}


def forms(kind, modes):
    """Return the PTX of every operation and rounding."""
    found = {}
    for name, count in COUNTS.items():
        if kind == "f16" and name in ("div", "rcp", "sqrt"):
            continue
        for mode in modes:
            found[f"{name}.{mode}.ftz.{kind} %d, {', '.join(('%a', '%b', '%c')[:count])};"] = name, mode
    return found


@pytest.mark.parametrize("where", ["processor", "code"])
def test_single_precision_next_to_the_least_normal(host, where):
    """An f32 result that is below the smallest normal number after rounding to 24 bits becomes zero."""
    columns = operands("f32")
    chosen = forms("f32", ("rn",) if where == "processor" else ("rn", "rz", "rm", "rp"))
    texts = [*chosen, *([SOFTWARE["f32"]] if where == "code" else [])]
    found = evaluate(host, texts, "b32", ("f32",) * 3, *columns)
    for text, (name, mode) in chosen.items():
        check(found[text], name, mode, "f32")


def test_half_precision_next_to_the_least_normal(host):
    """f16 results are flushed like f32, single or packed."""
    columns = operands("f16")
    chosen = forms("f16", ("rn",))
    found = evaluate(host, list(chosen), "b16", ("b16",) * 3, *columns)
    pairs = {text.replace("f16", "f16x2"): text for text in chosen}
    packed = evaluate(host, list(pairs), "b32", ("b32",) * 3, *(column.view(np.uint32) for column in columns))
    for text, (name, mode) in chosen.items():
        check(found[text], name, mode, "f16")
    for text, one in pairs.items():
        assert packed[text].view(np.uint16).tolist() == found[one].tolist()


# Operands and results of an H200.
SEEN = {
    "mul.rn.ftz.f32": [(0x80800000, 0x3F7FFFFF, 0, 0x80000000), (0x80800000, 0xBF7FFFFF, 0, 0)],
    "mul.rm.ftz.f32": [(0x80800000, 0x3F7FFFFF, 0, 0x80000000)],
    "mul.rp.ftz.sat.f32": [(0x80800000, 0xBF7FFFFF, 0, 0)],
    "div.rp.ftz.f32": [(0x80800000, 0xBF800001, 0, 0)],
    "fma.rn.ftz.f32": [(0x800001, 0x80800000, 0x800000, 0x800000), (0x800001, 0x80800001, 0x800000, 0x800000)],
    "fma.rz.ftz.f32": [(0x800001, 0x80800000, 0x800000, 0)],
    "fma.rn.ftz.f16": [(0x8CE6, 0x8CE6, 0x8401, 0x8000)],
    "fma.rn.ftz.f16x2": [(0x4D878401, 0x4D878400, 0x4D878400, 0x5FFC8400)],
    "mul.ftz.f16x2": [(0x84008002, 0x3BFF7BFF, 0, 0x80008000), (0x3BFF1E92, 0x04008400, 0, 0x8000)],
    "mul.rn.ftz.sat.f16x2": [(0xD52B3BFF, 0x43000400, 0, 0)],
}


@pytest.mark.parametrize("name", SEEN)
def test_results_that_a_gpu_gave(host, name):
    """As on a GPU, tiny products and quotients are flushed, and a sum that rounds up to a normal number is not."""
    a, b, c, wanted = (np.array(column, np.uint32) for column in zip(*SEEN[name], strict=True))
    last = ", %c" if name.startswith("fma") else ""
    half = name.endswith(".f16")
    sources = [x.astype(np.uint16) if half else x for x in (a, b, c)]
    for more in ([], ["add.f32 %t0, 0f3F800000, 0f3F800000; cvt.u16.u32 %d, %t0;" if half else "add.f32 %d, %a, %b;"]):
        kind = "b16" if half else "b32"
        found = evaluate(host, [f"{name} %d, %a, %b{last};", *more], kind, (kind,) * 3, *sources)
        assert next(iter(found.values())).tolist() == wanted.tolist()


def test_which_nan_a_selection_passes_on(host):
    """A selection of a NaN stays as it is in memory and for integers, and arithmetic makes it the GPU's NaN."""
    edges = np.array([0x7F800000, 0xFF800000, 0x7FC12345, 0xFFC00000, 0x3F800000, 0xC0000000, 0], np.uint32)
    a, b = (each.ravel() for each in np.meshgrid(edges, edges))
    x, y = a.view(np.float32), b.view(np.float32)
    with np.errstate(invalid="ignore"):
        added, is_nan = x + y, np.isnan(x) | np.isnan(y)
    total = np.where(np.isnan(added), 0x7FFFFFFF, added.view(np.uint32))
    chosen = np.where(is_nan, 0x7FC00000, total)
    doubled = np.where(np.isnan(added), 0x7FFFFFFF, (added * 2).view(np.uint32))
    select = "add.f32 %t0, %a, %b; setp.nan.f32 %p, %a, %b; selp.f32 %t1, 0f7FC00000, %t0, %p;"
    wanted = {
        f"{select} mul.f32 %d, %t1, 0f40000000;": doubled,
        f"{select} mov.b32 %t2, %t1; max.f32 %t3, %t2, %t1; add.f32 %d, %t3, %t2;": doubled,
        f"{select} mov.b32 %d, %t1;": chosen,
        f"{select} mul.f32 %t2, %t1, 0f40000000; xor.b32 %t3, %t1, %t2; xor.b32 %d, %t3, %t2;": chosen,
        f"{select} selp.f32 %t2, %t1, %t0, %p; mov.b32 %t3, %t2; mul.f32 %t4, %t3, %t3; mov.b32 %d, %t3;": chosen,
    }
    found = evaluate(host, list(wanted), "b32", ("b32", "b32"), a, b)
    for text, bits in wanted.items():
        assert found[text].tolist() == bits.tolist(), text


def test_conversion_of_doubles_next_to_the_least_normal(host):
    """cvt.ftz.f32.f64 flushes numbers that are subnormal after rounding to 24 bits."""
    rng = np.random.default_rng(1)
    near = 2.0**-126 * (1 + rng.integers(-40, 9, 300) * 2.0**-29) * rng.choice([1, -1], 300)
    values = np.concatenate([near, np.nextafter(near, 0), [0.0, -0.0, 1e-40, 1e-320, 1.5, 1e39]])
    texts = [f"cvt.{mode}.ftz.f32.f64 %d, %a;" for mode in ("rn", "rz", "rm", "rp")]
    found = evaluate(host, texts, "b32", ("f64",), values)
    for text in texts:
        for value, raw in zip(values, found[text], strict=True):
            wanted = exact.encode(Fraction(value), "f32", text[4:6], zero_sign=int(np.signbit(value)), ftz=True)
            assert int(raw) == wanted, (text, value.hex(), hex(raw))


def module(lines):
    """Return a module whose kernel has the lines and f32, f64 and f16 registers."""
    registers = ".reg .f32 %f<9>; .reg .f64 %d<9>; .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .b64 %a<9>; .reg .pred %p;"
    return f".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() {{ {registers}\n{lines}\nret; }}"


@pytest.mark.parametrize(
    ("lines", "flushes"),
    [
        ("fma.rn.ftz.f32 %f1, %f2, %f3, %f4;", True),
        ("mul.ftz.f32 %f1, %f2, %f3; cvt.rn.f32.s32 %f1, %r1; fma.rn.f16 %h1, %h2, %h3, %h4;", True),
        ("mul.ftz.f32 %f1, %f2, %f3; cvt.rn.bf16x2.f32 %r1, %f1, %f2; tanh.approx.f32 %f1, %f2;", True),
        ("mul.ftz.f32 %f1, %f2, %f3; ld.global.f64 %d1, [%a1]; st.global.f64 [%a1], %d1;", True),
        ("mul.ftz.f32 %f1, %f2, %f3; atom.global.add.f32 %f1, [%a1], %f2;", True),
        ("mul.f32 %f1, %f2, %f3;", False),
        ("mul.ftz.f32 %f1, %f2, %f3; mul.f32 %f1, %f2, %f3;", False),
        ("mul.ftz.f32 %f1, %f2, %f3; mul.f64 %d1, %d2, %d3;", False),
        ("mul.ftz.f32 %f1, %f2, %f3; cvt.f64.f32 %d1, %f3;", False),
        ("mul.ftz.f32 %f1, %f2, %f3; setp.lt.f32 %p, %f1, %f2;", False),
        ("mul.ftz.f32 %f1, %f2, %f3; abs.f32 %f1, %f2;", False),
        ("mul.ftz.f32 %f1, %f2, %f3; fma.rn.bf16 %h1, %h2, %h3, %h4;", False),
        ("mul.ftz.f32 %f1, %f2, %f3; cvt.rpi.s32.f32 %r1, %f3;", False),
        ("mul.ftz.f32 %f1, %f2, 0f00000001;", False),
        ("mul.rz.ftz.f32 %f1, %f2, %f3;", False),
        ("mul.ftz.f32 %f1, %f2, %f3; atom.shared.add.f32 %f1, [%a1], %f2;", False),
    ],
)
def test_when_the_processor_flushes(lines, flushes):
    """x86 processors flush if all f32 arithmetic of a module has `.ftz` and nothing else needs subnormals."""
    functions = parse(module(lines)).functions.values()
    assert canonical_floats.flushes_in_hardware(functions, "x86_64-unknown-linux-gnu") == flushes
    assert not canonical_floats.flushes_in_hardware(functions, "aarch64-unknown-linux-gnu")


def test_a_flushing_module_keeps_subnormals_outside_arithmetic(host):
    """While the processor flushes, loads, moves, selections, halves and tanh keep subnormals; arithmetic does not."""
    a = np.array([1, 0x80000001, 0x007FFFFF, 0x00800000, 0x33000001, 0x7FC12345], np.uint32)
    flushed = [exact.flush(int(x), "f32") for x in a[:5]]
    texts = {
        "mov.b32 %d, %a;": a.tolist(),
        "setp.lt.ftz.f32 %p, %a, 0f3F000000; selp.f32 %d, %a, 0f40000000, %p;": [*a.tolist()[:5], 0x40000000],
        "mul.ftz.f32 %d, %a, 0f3F800000;": [*flushed, 0x7FFFFFFF],
        "neg.ftz.f32 %t0, %a; neg.ftz.f32 %d, %t0;": [*flushed, 0x7FFFFFFF],
        "max.ftz.f32 %d, %a, 0fFF800000;": [*flushed, 0xFF800000],
        "tanh.approx.f32 %d, %a;": [*a.tolist()[:5], 0x7FFFFFFF],
        "mul.ftz.f32 %t0, %a, 0f3F800000; add.u32 %d, %t0, 1;": [x + 1 for x in (*flushed, 0x7FFFFFFF)],
        "cvt.u16.u32 %h, %a; add.f16 %h, %h, %h; cvt.u32.u16 %d, %h;":
            [exact.add(int(x) & 0xFFFF, int(x) & 0xFFFF, "f16") for x in a],
        "cvt.rn.bf16.f32 %h, %a; cvt.u32.u16 %d, %h;": [0, 0x8000, 0x0080, 0x0080, 0x3300, 0x7FFF],
        "cvt.rn.f16.f32 %h, %a; cvt.u32.u16 %d, %h;": [0, 0x8000, 0, 0, 1, 0x7FFF],
    }  # fmt: skip
    found = evaluate(host, [f".reg .b16 %h; {text}" for text in texts], "b32", ("b32",), a)
    for (text, wanted), values in zip(texts.items(), found.values(), strict=True):
        assert values.tolist()[:5] == wanted[:5], text
        assert values.tolist()[5] == wanted[5] or "f16" in text, text


def test_the_processor_flushes_only_while_a_kernel_runs(host):
    """After a flushing kernel, arithmetic on each thread that ran the kernel keeps subnormals."""
    evaluate(host, ["mul.ftz.f32 %d, %a, %a;"], "b32", ("f32",), np.ones(4096, np.float32))
    assert np.float32(2.0**-126) * np.float32(0.5) == 2.0**-127
    found = evaluate(host, ["mul.f32 %d, %a, 0f3F000000;"], "b32", ("f32",), np.full(4096, 2.0**-126, np.float32))
    assert set(found["mul.f32 %d, %a, 0f3F000000;"].tolist()) == {1 << 22}


@pytest.mark.parametrize("end", ["", ".ftz"])
def test_single_precision_arithmetic_gives_one_nan(host, end):
    """Every NaN result of f32 arithmetic is the GPU's one NaN, whether or not an operand was NaN."""
    a = np.array([0x7FC00001, 0xFFC00000, 0x7F800001, 0x7F800000, 0x7F800000, 0, 0xBF800000], np.uint32)
    b = np.array([0x3F800000, 0x3F800000, 0x3F800000, 0xFF800000, 0, 0x7F800000, 0x7FABCDEF], np.uint32)
    texts = [
        f"add.rn{end}.f32 %d, %a, %b;", f"mul.rn{end}.f32 %d, %a, %b;", f"fma.rn{end}.f32 %d, %a, %b, %b;",
        f"sub.rn{end}.f32 %t0, %a, %b; neg{end}.f32 %d, %t0;", f"div.rn{end}.f32 %d, %b, %a;",
        f"add.rn{end}.f32 %t0, %a, %b; sqrt.rn{end}.f32 %d, %t0;", f"min.NaN{end}.f32 %d, %a, %b;",
        f"add.rn{end}.f32 %t0, %a, %b; mov.b32 %t1, %t0; mov.b32 %d, %t1;",
        f"mov.b32 %d, %a; @!%p add.rn{end}.f32 %d, %a, %b;",
        f"lg2.approx{end}.f32 %t0, %a; fma.rn{end}.f32 %d, %a, %b, %t0;", f"ex2.approx{end}.f32 %d, %a;",
        f"cos.approx{end}.f32 %d, %a;", f"rsqrt.approx{end}.f32 %d, %b;",
    ]  # fmt: skip
    texts = [f"setp.ne.b32 %p, %a, %a; {text}" for text in texts]
    found = evaluate(host, texts, "b32", ("b32",) * 2, a, b)
    for text, values in found.items():
        for value in values:
            is_nan = int(value) & 0x7FFFFFFF > 0x7F800000
            assert not is_nan or int(value) == 0x7FFFFFFF, (text, hex(value))
    assert found[texts[0]].tolist()[:4] == [0x7FFFFFFF] * 4
    assert found[texts[8]].tolist()[:4] == [0x7FFFFFFF] * 4


def test_moves_keep_the_bits_of_a_nan(host):
    """Loads, moves, selections, copysign and f64 arithmetic keep the bits of a NaN."""
    a = np.array([0x7FC00001, 0xFFC00000, 0x7F800001, 0x7FABCDEF], np.uint32)
    texts = [
        "mov.f32 %d, %a;", "setp.eq.u32 %p, %a, 3; selp.f32 %d, 0f3F800000, %a, %p;",
        "mov.f32 %t0, 0f3F800000; setp.eq.u32 %p, %a, 3; @!%p mov.f32 %t0, %a; mov.b32 %d, %t0;",
    ]  # fmt: skip
    for values in evaluate(host, texts, "b32", ("b32",), a).values():
        assert values.tolist() == a.tolist()
    wide = np.array([0x7FF8000000000001, 0xFFF8000000000002, 0x7FF0000000000003], np.uint64)
    found = evaluate(host, ["sqrt.rn.f64 %d, %a;", "add.f64 %d, %a, 0d3FF0000000000000;"], "b64", ("b64",), wide)
    for values in found.values():
        assert values.tolist() == (wide | np.uint64(1 << 51)).tolist()
    negative = np.array([struct.unpack("<Q", struct.pack("<d", -2.0))[0]], np.uint64)
    (found,) = evaluate(host, ["sqrt.rn.f64 %d, %a;"], "b64", ("b64",), negative).values()
    assert found.tolist() == [0xFFF8 << 48]


@pytest.mark.parametrize("copy", ["mov.f32 %t1, %t0;", "mov.b32 %t1, %t0;", "selp.f32 %t1, %t0, %a, %p;"])
def test_the_sign_of_a_nan_counts_for_xorsign(host, copy):
    """The GPU's NaN has no sign, so min and max with .xorsign.abs pass on that of the other number."""
    a = np.array([np.inf, -np.inf], np.float32).view(np.uint32)
    text = f"setp.eq.f32 %p, %a, %a; sub.f32 %t0, %a, %a; {copy} max.xorsign.abs.f32 %d, %t1, %a;"
    found = evaluate(host, [text], "b32", ("b32",), a)[text]
    assert found.tolist() == a.tolist()
