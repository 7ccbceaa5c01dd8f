"""add, mul, div, fma, sqrt and rcp in all four roundings against exact fractions, for extremes of f32 and f64."""

import itertools

import numpy as np
import pytest

from tests.host_compiler import exact_floats as exact
from tests.host_compiler.elements import evaluate

MODES = ("rn", "rz", "rm", "rp")
EDGES = {
    "f32": [
        0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007FFFFF, 0x00800000, 0x80800000, 0x00800001, 0x3F800000,
        0xBF800000, 0x3F800001, 0x3F7FFFFF, 0x33800000, 0x34000001, 0x40490FDB, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F000000,
        0x7F800000, 0xFF800000, 0x7FC00000, 0x1FFFFFFF, 0x5F123456, 0xDF3504F3,
    ],
    "f64": [
        0x0000000000000000, 0x8000000000000000, 0x0000000000000001, 0x8000000000000001, 0x000FFFFFFFFFFFFF,
        0x0010000000000000, 0x8010000000000000, 0x0010000000000001, 0x3FF0000000000000, 0xBFF0000000000000,
        0x3FF0000000000001, 0x3FEFFFFFFFFFFFFF, 0x3CA0000000000000, 0x3CB0000000000001, 0x400921FB54442D18,
        0x7FEFFFFFFFFFFFFF, 0xFFEFFFFFFFFFFFFF, 0x7FE0000000000000, 0x7FF0000000000000, 0xFFF0000000000000,
        0x7FF8000000000000, 0x1FFFFFFFFFFFFFFF, 0x5F12345678901234, 0xDF3504F333F9DE64,
    ],
}  # fmt: skip


def edges(kind, count):
    """Return combinations of `count` edge values, at most a thousand, and random values of all magnitudes."""
    size = exact.FORMATS[kind].bits
    rng = np.random.default_rng(7)
    rows = list(itertools.product(EDGES[kind], repeat=count))
    if len(rows) > 1000:
        rows = [rows[index] for index in rng.choice(len(rows), 1000, replace=False)]
    table = np.array(rows, f"u{size // 8}")
    random = rng.integers(0, 1 << size, (300, count), dtype=f"u{size // 8}")
    return [np.ascontiguousarray(column) for column in np.concatenate([table, random]).T]


def check(found, expected, kind, *sources):
    """Assert the same bits for every element."""
    for index, (value, wanted) in enumerate(zip(found, expected, strict=True)):
        given = [hex(int(source[index])) for source in sources]
        assert exact.same(int(value), wanted, kind), (given, hex(int(value)), hex(wanted))


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_two_operands_are_rounded_once(host, kind):
    """add, sub, mul and div round the exact result once in the requested mode."""
    a, b = edges(kind, 2)
    minus = exact.FORMATS[kind].sign
    rules = {
        "add": exact.add, "mul": exact.multiply, "div": exact.divide,
        "sub": lambda x, y, *rest: exact.add(x, y ^ minus, *rest),
    }  # fmt: skip
    forms = {f"{name}.{mode}.{kind} %d, %a, %b;": (name, mode) for name in rules for mode in MODES}
    found = evaluate(host, list(forms), f"b{kind[1:]}", (kind, kind), a, b)
    for form, (name, mode) in forms.items():
        expected = [rules[name](int(x), int(y), kind, mode) for x, y in zip(a, b, strict=True)]
        check(found[form], expected, kind, a, b)


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_fused_multiply_add_is_rounded_once(host, kind):
    """fma keeps the product exact in every rounding."""
    a, b, c = edges(kind, 3)
    # In every third row, the sum nearly cancels or the product is near a tie.
    for index in range(0, len(c), 3):
        product = exact.multiply(int(a[index]), int(b[index]), kind)
        c[index] = product ^ (exact.FORMATS[kind].sign if index % 2 else 0)
    found = evaluate(
        host, [f"fma.{mode}.{kind} %d, %a, %b, %c;" for mode in MODES], f"b{kind[1:]}", (kind,) * 3, a, b, c
    )
    for mode, values in zip(MODES, found.values(), strict=True):
        expected = [exact.fuse(int(x), int(y), int(z), kind, mode) for x, y, z in zip(a, b, c, strict=True)]
        check(values, expected, kind, a, b, c)


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_roots_and_reciprocals_are_rounded_once(host, kind):
    """sqrt and rcp round the exact value once in every mode."""
    (a,) = edges(kind, 1)
    one = exact.encode(exact.Fraction(1), kind)
    forms = {f"{name}.{mode}.{kind} %d, %a;": (name, mode) for name in ("sqrt", "rcp") for mode in MODES}
    found = evaluate(host, list(forms), f"b{kind[1:]}", (kind,), a)
    for form, (name, mode) in forms.items():
        rule = (lambda x, m: exact.root(x, kind, m)) if name == "sqrt" else (lambda x, m: exact.divide(one, x, kind, m))
        check(found[form], [rule(int(x), mode) for x in a], kind, a)


def test_rounding_does_not_leak_into_the_next_instruction(host):
    """An operation that rounds to nearest is unaffected by an operation with another mode before it."""
    a, b = edges("f64", 2)
    found = evaluate(
        host, ["add.rp.f64 %x2, %a, %b; add.rn.f64 %d, %a, %b;\nxor.b64 %x2, %x2, %x2; or.b64 %d, %d, %x2;"],
        "b64", ("f64", "f64"), a, b,
    )  # fmt: skip
    check(
        next(iter(found.values())), [exact.add(int(x), int(y), "f64") for x, y in zip(a, b, strict=True)], "f64", a, b
    )


def test_minimum_and_maximum_of_three_and_with_signs(host):
    """min and max take three sources; with .xorsign.abs they compare magnitudes and multiply the signs."""
    rng = np.random.default_rng(3)
    a, b, c = (rng.standard_normal(200).astype(np.float32) for _ in range(3))
    for array in (a, b, c):
        array[rng.integers(0, 200, 20)] = np.nan
    forms = [
        "min.f32 %d, %a, %b, %c;", "max.NaN.f32 %d, %a, %b, %c;", "max.abs.f32 %d, %a, %b, %c;",
        "min.xorsign.abs.f32 %d, %a, %b;", "max.NaN.xorsign.abs.f32 %d, %a, %b;",
    ]  # fmt: skip
    found = list(evaluate(host, forms, "f32", ("f32",) * 3, a, b, c).values())
    sign = np.where(np.signbit(a) ^ np.signbit(b), -1, 1).astype(np.float32)
    np.testing.assert_array_equal(found[0], np.fmin(np.fmin(a, b), c))
    np.testing.assert_array_equal(found[1], np.maximum(np.maximum(a, b), c))
    np.testing.assert_array_equal(found[2], np.fmax(np.fmax(abs(a), abs(b)), abs(c)))
    both = ~np.isnan(a) & ~np.isnan(b)
    np.testing.assert_array_equal(found[3][both], (np.fmin(abs(a), abs(b)) * sign)[both])
    np.testing.assert_array_equal(abs(found[3]), np.fmin(abs(a), abs(b)))
    np.testing.assert_array_equal(found[4], np.maximum(abs(a), abs(b)) * sign)


def test_packed_singles(host):
    """f32x2 arithmetic computes both halves of a 64-bit register."""
    a, b, c = (np.random.default_rng(seed).standard_normal((100, 2)).astype(np.float32) for seed in (1, 2, 3))
    packed = [np.ascontiguousarray(x).view(np.uint64).ravel() for x in (a, b, c)]
    forms = ["add.rn.f32x2 %d, %a, %b;", "mul.rz.f32x2 %d, %a, %b;", "fma.rn.f32x2 %d, %a, %b, %c;"]
    found = [
        item.view(np.float32).reshape(-1, 2) for item in evaluate(host, forms, "b64", ("b64",) * 3, *packed).values()
    ]
    np.testing.assert_array_equal(found[0], a + b)
    expected = [
        exact.multiply(int(x), int(y), "f32", "rz")
        for x, y in zip(a.ravel().view("u4"), b.ravel().view("u4"), strict=True)
    ]
    assert found[1].view(np.uint32).ravel().tolist() == expected
    np.testing.assert_array_equal(found[2], (a.astype("f8") * b + c).astype(np.float32))


def test_gross_reciprocals_of_doubles(host):
    """rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64 have errors below 2^-18, clear the lower word, flush subnormals."""
    a = np.concatenate([np.logspace(-300, 300, 200), [0.0, -0.0, 5e-324, np.inf, np.nan]])
    found = list(
        evaluate(host, ["rcp.approx.ftz.f64 %d, %a;", "rsqrt.approx.ftz.f64 %d, %a;"], "f64", ("f64",), a).values()
    )
    assert not (found[0].view(np.uint64) & 0xFFFFFFFF).any()
    np.testing.assert_allclose(found[0][:200], 1 / a[:200], rtol=2.0**-18)
    np.testing.assert_allclose(found[1][:200], a[:200] ** -0.5, rtol=2.0**-18)
    np.testing.assert_array_equal(found[0][200:], [np.inf, -np.inf, np.inf, 0, np.nan])
    np.testing.assert_array_equal(found[1][200:], [np.inf, -np.inf, np.inf, 0, np.nan])


def test_properties(host):
    """testp classifies floats into the six classes."""
    a = np.array([0, -0.0, 1e-45, 1, -2, np.inf, -np.inf, np.nan], np.float32)
    names = ("finite", "infinite", "number", "notanumber", "normal", "subnormal")
    found = evaluate(host, [f"testp.{name}.f32 %p, %a; selp.u32 %d, 1, 0, %p;" for name in names], "u32", ("f32",), a)
    rows = ["11111000", "00000110", "11111110", "00000001", "11011000", "00100000"]
    assert ["".join(map(str, values)) for values in found.values()] == rows


def test_division_by_an_immense_number(host):
    """div.approx gives 0 if the reciprocal is too small, div.full gives the quotient, and infinity times 0 is NaN."""
    a, b = np.array([1e38, -1e38, np.inf], np.float32), np.full(3, 2e38, np.float32)
    found = list(
        evaluate(host, ["div.approx.f32 %d, %a, %b;", "div.full.f32 %d, %a, %b;"], "f32", ("f32",) * 2, a, b).values()
    )
    np.testing.assert_array_equal(found[0], [0, 0, np.nan])
    np.testing.assert_array_equal(found[1], [0.5, -0.5, np.inf])


def test_the_root_of_a_negative_number_is_the_nan_of_a_gpu(host):
    """The root of a negative number has every bit but the sign set, like the one NaN of a GPU."""
    a = np.array([-1.0, -np.inf, np.nan, -np.nan, 4.0, -0.0], np.float32)
    (found,) = evaluate(host, ["sqrt.rn.f32 %d, %a;"], "b32", ("f32",), a).values()
    assert found.tolist() == [0x7FFFFFFF] * 4 + [0x40000000, 0x80000000]
