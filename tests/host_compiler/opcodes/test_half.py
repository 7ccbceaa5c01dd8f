"""f16 and bf16 arithmetic against exact fractions, single and packed."""

import itertools

import numpy as np
import pytest

from tests.host_compiler import exact_floats as exact
from tests.host_compiler.elements import evaluate
from warploom.engine.device.host.device import HostDevice
from warploom.engine.device.host.modules import native

EDGES = {
    "f16": [0x0000, 0x8000, 0x0001, 0x8001, 0x03FF, 0x0400, 0x8400, 0x3C00, 0xBC00, 0x3C01, 0x3BFF, 0x1400, 0x1001,
            0x7BFF, 0xFBFF, 0x7800, 0x7C00, 0xFC00, 0x7E00, 0x6BCD, 0x9234],
    "bf16": [0x0000, 0x8000, 0x0001, 0x8001, 0x007F, 0x0080, 0x8080, 0x3F80, 0xBF80, 0x3F81, 0x3F7F, 0x3B80, 0x3C01,
             0x7F7F, 0xFF7F, 0x7F00, 0x7F80, 0xFF80, 0x7FC0, 0x2012, 0x9FEF, 0x1FFF],
}  # fmt: skip


def values(kind, count):
    """Return combinations of edge cases, and random values."""
    rng = np.random.default_rng(11)
    rows = list(itertools.product(EDGES[kind], repeat=count))
    if len(rows) > 800:
        rows = [rows[index] for index in rng.choice(len(rows), 800, replace=False)]
    table = np.concatenate([np.array(rows), rng.integers(0, 1 << 16, (500, count))])
    return [np.ascontiguousarray(column) for column in table.astype(np.uint16).T]


def check(found, expected, kind, *sources):
    """Assert the same bits, with all NaNs equal."""
    for index, (value, wanted) in enumerate(zip(found, expected, strict=True)):
        given = [hex(int(source[index])) for source in sources]
        assert exact.same(int(value), wanted, kind), (given, hex(int(value)), hex(wanted))


def flushed(raw):
    """Return an f16 array with subnormals replaced by zeros."""
    return raw & 0x8000 if raw & 0x7C00 == 0 else raw


def saturated(raw):
    """Return an f16 array clamped to [0, 1], with NaN replaced by 0."""
    sign, value = exact.decode(raw, "f16")
    if value == exact.NAN or sign:
        return 0
    return 0x3C00 if value == exact.INFINITY or value > 1 else raw


def clamped(raw, kind):
    """Return halves with negative values replaced by 0."""
    sign, value = exact.decode(raw, kind)
    return 0 if sign and value != exact.NAN else raw


@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_arithmetic_is_rounded_once(host, kind):
    """add, sub, mul and fma round the exact result once to a half, including subnormal results."""
    a, b, c = values(kind, 3)
    # These sums are near the midpoint of two halves, where a second rounding would show.
    for index in range(0, len(c), 2):
        product = exact.multiply(int(a[index]), int(b[index]), kind)
        c[index] = (product ^ (0x8000 if index % 4 else 0)) if index % 8 else c[index] & 0x80FF
    rules = {
        f"add.{kind} %d, %a, %b;": lambda x, y, z: exact.add(x, y, kind),
        f"sub.rn.{kind} %d, %a, %b;": lambda x, y, z: exact.add(x, y ^ 0x8000, kind),
        f"mul.{kind} %d, %a, %b;": lambda x, y, z: exact.multiply(x, y, kind),
        f"fma.rn.{kind} %d, %a, %b, %c;": lambda x, y, z: exact.fuse(x, y, z, kind),
        f"fma.rn.relu.{kind} %d, %a, %b, %c;": lambda x, y, z: clamped(exact.fuse(x, y, z, kind), kind),
    }
    if kind == "f16":
        rules |= {
            "add.ftz.f16 %d, %a, %b;": lambda x, y, z: flushed(exact.add(flushed(x), flushed(y), kind)),
            "mul.sat.f16 %d, %a, %b;": lambda x, y, z: saturated(exact.multiply(x, y, kind)),
            "fma.rn.ftz.sat.f16 %d, %a, %b, %c;": lambda x, y, z: flushed(
                saturated(exact.fuse(flushed(x), flushed(y), flushed(z), kind))
            ),
        }
    found = evaluate(host, list(rules), kind if kind == "bf16" else "b16", ("b16",) * 3, a, b, c)
    for form, rule in rules.items():
        expected = [rule(int(x), int(y), int(z)) for x, y, z in zip(a, b, c, strict=True)]
        check(found[form], expected, kind, a, b, c)


@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_fused_results_next_to_a_tie(host, kind):
    """In fma, a tiny addend decides the direction of rounding if the product is a tie."""
    one, half_step, tiny = {"f16": (0x3C00, 0x1000, 0x0001), "bf16": (0x3F80, 0x3B80, 0x0001)}[kind]
    a = np.full(4, half_step, np.uint16)
    b = np.array([one, one, one | 0x8000, one + 1], np.uint16)
    c = np.array([one, one + 1, one + 1, one], np.uint16)
    lines = f"fma.rn.{kind} %d, %a, %b, %c;"
    found = evaluate(host, [lines], "b16", ("b16",) * 3, a, b, c)[lines]
    check(found, [exact.fuse(int(x), int(y), int(z), kind) for x, y, z in zip(a, b, c, strict=True)], kind, a, b, c)
    # (1 + 2^-8)(1 + 2^-8) is just above the midpoint of two bf16, even minus the smallest subnormal.
    found = evaluate(host, [lines], "b16", ("b16",) * 3, np.full(2, one + 1, np.uint16), np.full(2, one + 1, np.uint16),
                     np.array([tiny, tiny | 0x8000], np.uint16))[lines]  # fmt: skip
    expected = [exact.fuse(one + 1, one + 1, z, kind) for z in (tiny, tiny | 0x8000)]
    assert found.tolist() == expected


@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_packed_arithmetic_is_that_of_both_halves(host, kind):
    """f16x2 and bf16x2 have the results of two scalar instructions."""
    a, b, c = (x[: len(x) // 2 * 2] for x in values(kind, 3))
    names = ["add.{}", "sub.{}", "mul.{}", "min.{}", "max.NaN.{}"]
    single = evaluate(host, [f"{name.format(kind)} %d, %a, %b;" for name in names]
                      + [f"fma.rn.{kind} %d, %a, %b, %c;", f"neg.{kind} %d, %a;", f"abs.{kind} %d, %a;"],
                      "b16", ("b16",) * 3, a, b, c)  # fmt: skip
    pair = f"{kind}x2"
    double = evaluate(host, [f"{name.format(pair)} %d, %a, %b;" for name in names]
                      + [f"fma.rn.{pair} %d, %a, %b, %c;", f"neg.{pair} %d, %a;", f"abs.{pair} %d, %a;"],
                      "b32", ("b32",) * 3, a.view(np.uint32), b.view(np.uint32), c.view(np.uint32))  # fmt: skip
    for one, two in zip(single.values(), double.values(), strict=True):
        assert one.tolist() == two.view(np.uint16).tolist()


@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_extremes_and_signs(host, kind):
    """min and max drop or keep NaN, order the zeros, and support .xorsign.abs; neg and abs change one bit."""
    a, b = values(kind, 2)
    form = exact.FORMATS[kind]

    def key(raw):
        sign, value = exact.decode(raw, kind)
        size = exact.Fraction(2) ** 200 if value == exact.INFINITY else value
        return (-size if sign else size, -sign)

    def least(x, y, *, keep=False):
        nans = [exact.decode(item, kind)[1] == exact.NAN for item in (x, y)]
        if all(nans) or (keep and any(nans)):
            return form.quiet
        return y if nans[0] else x if nans[1] else min(x, y, key=key)

    def signed(x, y):
        value = least(x & 0x7FFF, y & 0x7FFF)
        return value if exact.decode(value, kind)[1] == exact.NAN else value | (x ^ y) & 0x8000

    rules = {
        f"min.{kind} %d, %a, %b;": least,
        f"min.NaN.{kind} %d, %a, %b;": lambda x, y: least(x, y, keep=True),
        f"min.xorsign.abs.{kind} %d, %a, %b;": signed,
        f"neg.{kind} %d, %a;": lambda x, y: x ^ 0x8000,
        f"abs.{kind} %d, %a;": lambda x, y: x & 0x7FFF,
    }
    found = evaluate(host, list(rules), "b16", ("b16",) * 2, a, b)
    for form_text, rule in rules.items():
        check(found[form_text], [rule(int(x), int(y)) for x, y in zip(a, b, strict=True)], kind, a, b)


def test_sums_of_a_half_and_a_single(host):
    """add.f32.f16 widens the half, adds, and rounds to f32 in the requested mode."""
    a, _ = values("f16", 2)
    c = np.random.default_rng(2).integers(0, 1 << 32, len(a), dtype=np.uint32)
    forms = {
        "add.f32.f16 %d, %a, %b;": ("f16", "rn", 0), "add.rz.f32.bf16 %d, %a, %b;": ("bf16", "rz", 0),
        "sub.rp.f32.f16 %d, %a, %b;": ("f16", "rp", 0x80000000),
    }  # fmt: skip
    found = evaluate(host, [*forms, "fma.rn.f32.f16 %d, %a, %a, %b;"], "b32", ("b16", "b32"), a, c)
    for form, (kind, mode, flip) in forms.items():
        wide = [widened(int(x), kind) for x in a]
        check(
            found[form], [exact.add(x, int(y) ^ flip, "f32", mode) for x, y in zip(wide, c, strict=True)], "f32", a, c
        )
    wide = [widened(int(x), "f16") for x in a]
    expected = [exact.fuse(x, x, int(y), "f32") for x, y in zip(wide, c, strict=True)]
    check(found["fma.rn.f32.f16 %d, %a, %a, %b;"], expected, "f32", a, c)


def widened(raw, kind):
    """Return halves as the bits of f32 numbers."""
    sign, value = exact.decode(raw, kind)
    if isinstance(value, str):
        return exact.FORMATS["f32"].quiet if value == exact.NAN else 0x7F800000 | sign << 31
    return exact.encode(-value if sign else value, "f32", zero_sign=sign)


def test_approximations_of_halves(host):
    """ex2 and tanh of halves are within one step of the exact value."""
    a = np.linspace(-6, 6, 400).astype(np.float16)
    forms = ["ex2.approx.f16 %d, %a;", "tanh.approx.f16 %d, %a;"]
    found = [item.view(np.float16) for item in evaluate(host, forms, "b16", ("b16",), a.view(np.uint16)).values()]
    wide = a.astype(np.float64)
    np.testing.assert_allclose(found[0].astype("f8"), np.exp2(wide), rtol=2.0**-9.9)
    np.testing.assert_allclose(found[1].astype("f8"), np.tanh(wide), atol=2.0**-10.987)
    b = (wide.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    wide = (b.astype(np.uint32) << 16).view(np.float32).astype("f8")
    pairs = evaluate(
        host, ["ex2.approx.ftz.bf16x2 %d, %a;", "tanh.approx.bf16x2 %d, %a;"], "b32", ("b32",), b.view("u4")
    )
    found = [(item.view(np.uint16).astype(np.uint32) << 16).view(np.float32).astype("f8") for item in pairs.values()]
    np.testing.assert_allclose(found[0], np.exp2(wide), rtol=2.0**-7)
    np.testing.assert_allclose(found[1], np.tanh(wide), rtol=2.0**-7)


@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_comparisons(host, kind):
    """setp and set compare halves; packed forms return a predicate or a mask for each half."""
    a, b = (x[: len(x) // 2 * 2] for x in values(kind, 2))

    def number(raw):
        sign, value = exact.decode(int(raw), kind)
        return {exact.INFINITY: np.inf, exact.NAN: np.nan}.get(
            value, value if isinstance(value, str) else float(value)
        ) * (-1 if sign else 1)

    x, y = (np.array([number(raw) for raw in array]) for array in (a, b))
    less, unordered = x < y, np.isnan(x) | np.isnan(y)
    one = exact.encode(exact.Fraction(1), kind)
    rules = {
        f"setp.lt.{kind} %p, %a, %b; selp.b16 %d, 1, 0, %p;": less.astype(int),
        f"setp.ltu.{kind} %p, %a, %b; selp.b16 %d, 1, 0, %p;": (less | unordered).astype(int),
        f"setp.num.{kind} %p|%q, %a, %b; selp.b16 %d, 1, 0, %q;": unordered.astype(int),
        f"set.lt.{kind}.{kind} %d, %a, %b;": less * one,
        f"set.lt.u16.{kind} %d, %a, %b;": less * 0xFFFF,
    }
    found = evaluate(host, list(rules), "b16", ("b16",) * 2, a, b)
    for text, expected in rules.items():
        assert found[text].tolist() == expected.tolist(), text
    pair = f"{kind}x2"
    masks = (less * 0xFFFF).astype(np.uint16).view(np.uint32)
    ones = (less * one).astype(np.uint16).view(np.uint32)
    both = less[::2] * 1 + less[1::2] * 2
    rules = {
        f"set.lt.u32.{pair} %d, %a, %b;": masks,
        f"set.lt.{pair}.{pair} %d, %a, %b;": ones,
        f"setp.lt.{pair} %p|%q, %a, %b; selp.u32 %t0, 1, 0, %p; selp.u32 %t1, 2, 0, %q; or.b32 %d, %t0, %t1;": both,
    }
    found = evaluate(host, list(rules), "b32", ("b32",) * 2, a.view(np.uint32), b.view(np.uint32))
    for text, expected in rules.items():
        assert found[text].tolist() == expected.tolist(), text


@pytest.mark.skipif(not native.triple().startswith("x86_64"), reason="names of x86 processors")
@pytest.mark.parametrize("end", ["", ".ftz"])
def test_processors_that_do_not_convert_halves(monkeypatch, end):
    """Without F16C, conversions of all halves, and of floats near halves and ties, give numpy's results."""
    monkeypatch.setattr(native, "cpu", lambda: ("x86-64-v2", ""))
    rng = np.random.default_rng(4)
    halves = np.arange(1 << 16, dtype=np.uint16)
    with np.errstate(all="ignore"):
        floats = halves.view(np.float16).astype(np.float32)
        near = floats + np.spacing(floats.astype(np.float16)).astype(np.float32) * rng.choice([0.5, 0.25, 0], 1 << 16)
        near = np.concatenate([near, np.nextafter(near, 1), rng.integers(0, 1 << 32, 1 << 16, "u4").view("f4")])
        near = near.astype(np.float32)
        rounded = np.where(abs(near) < 2.0**-126, np.copysign(0, near), near).astype(np.float16)
    device = HostDevice(cores=1)
    (wide,) = evaluate(device, [f"cvt{end}.f32.f16 %d, %a;"], "f32", ("b16",), halves).values()
    (narrow,) = evaluate(device, [f"cvt.rn{end}.f16.f32 %d, %a;"], "b16", ("f32",), near).values()
    device.close()
    np.testing.assert_array_equal(wide, floats)
    nan = np.isnan(rounded)
    assert (narrow[nan] == 0x7FFF).all()
    assert narrow[~nan].tolist() == rounded.view(np.uint16)[~nan].tolist()
