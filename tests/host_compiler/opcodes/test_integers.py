"""Integer opcodes of every width against Python's integers, for the edge values of each type."""

import itertools
import operator

import numpy as np
import pytest

from tests.host_compiler.elements import evaluate

EDGES = {
    8: [0, 1, 0x7F, 0x80, 0xFF],
    16: [0, 1, 2, 7, 255, 0x7FFF, 0x8000, 0x8001, 0xFFFF, 12345],
    32: [0, 1, 2, 31, 32, 33, 255, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFF, 123456789],
    64: [0, 1, 2, 63, 64, 65, 1 << 31, (1 << 63) - 1, 1 << 63, (1 << 63) + 1, (1 << 64) - 1, 1234567890123456789],
}
KINDS = ("s16", "u16", "s32", "u32", "s64", "u64")


def pairs(kind):
    """Return every pair of a type's edge values, as two arrays."""
    bits = int(kind[1:])
    values = np.array(list(itertools.product(EDGES[bits], repeat=2)), f"u{bits // 8}")
    return tuple(np.ascontiguousarray(column).view(kind.replace("s", "i")[0] + str(bits // 8)) for column in values.T)


def wrap(value, kind):
    """Return a Python integer as the type stores it."""
    bits = int(kind[1:])
    value &= (1 << bits) - 1
    return value - (1 << bits) if kind[0] == "s" and value >> (bits - 1) else value


def quotient(a, b):
    """Return a quotient rounded towards zero, or all ones for a zero divisor."""
    if b == 0:
        return -1
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


@pytest.mark.parametrize("kind", KINDS)
def test_binary_arithmetic_wraps_and_never_traps(host, kind):
    """Every pair of edge values gives the wrapped result, also for division by zero and of the least value by -1."""
    a, b = pairs(kind)
    rules = {
        f"add.{kind} %d, %a, %b;": operator.add, f"sub.{kind} %d, %a, %b;": operator.sub,
        f"mul.lo.{kind} %d, %a, %b;": operator.mul, f"mul.hi.{kind} %d, %a, %b;": lambda x, y: x * y >> int(kind[1:]),
        f"div.{kind} %d, %a, %b;": quotient, f"rem.{kind} %d, %a, %b;": lambda x, y: x - quotient(x, y) * y if y else x,
        f"min.{kind} %d, %a, %b;": min, f"max.{kind} %d, %a, %b;": max,
        f"mad.lo.{kind} %d, %a, %b, %a;": lambda x, y: x * y + x,
        f"mad.hi.{kind} %d, %a, %b, %b;": lambda x, y: (x * y >> int(kind[1:])) + y,
    }  # fmt: skip
    found = evaluate(host, list(rules), kind, (kind, kind), a, b)
    for form, rule in rules.items():
        assert found[form].tolist() == [wrap(rule(int(x), int(y)), kind) for x, y in zip(a, b, strict=True)], form


@pytest.mark.parametrize("kind", KINDS[:4])
def test_wide_products_keep_all_bits(host, kind):
    """mul.wide and mad.wide return results of twice the width."""
    a, b = pairs(kind)
    wide = f"{kind[0]}{2 * int(kind[1:])}"
    forms = [f"mul.wide.{kind} %d, %a, %b;", f"mul.wide.{kind} %d, %a, %b; mad.wide.{kind} %d, %a, %b, %d;"]
    found = evaluate(host, forms, wide, (kind, kind), a, b)
    products = [int(x) * int(y) for x, y in zip(a, b, strict=True)]
    assert found[forms[0]].tolist() == products
    assert found[forms[1]].tolist() == [wrap(2 * product, wide) for product in products]


@pytest.mark.parametrize("kind", KINDS)
def test_shifts_past_the_width_are_clamped(host, kind):
    """A shift by the width or more returns zeros, or copies of the sign."""
    bits = int(kind[1:])
    a, _ = pairs(kind)
    amounts = np.resize(np.array([0, 1, bits - 1, bits, bits + 1, 255, 0xFFFFFFFF], np.uint32), len(a))
    forms = [f"shl.b{bits} %d, %a, %b;", f"shr.{kind} %d, %a, %b;"]
    left, right = evaluate(host, forms, kind, (kind, "u32"), a, amounts).values()
    steps = [(int(x), min(int(n), bits)) for x, n in zip(a, amounts, strict=True)]
    assert left.tolist() == [wrap(x << n, kind) for x, n in steps]
    assert right.tolist() == [wrap(x >> n, kind) for x, n in steps]


@pytest.mark.parametrize("kind", KINDS)
def test_comparisons(host, kind):
    """setp and selp give the results of Python's comparisons."""
    a, b = pairs(kind)
    tests = ("eq", "ne", "lt", "le", "gt", "ge")
    forms = [f"setp.{test}.{kind} %p, %a, %b; selp.u32 %d, 1, 0, %p;" for test in tests]
    found = evaluate(host, forms, "u32", (kind, kind), a, b)
    for test, values in zip(tests, found.values(), strict=True):
        assert values.tolist() == [getattr(operator, test)(int(x), int(y)) for x, y in zip(a, b, strict=True)], test


def test_comparison_with_two_results_and_a_combination(host):
    """setp p|q combines both the result and its opposite with a third predicate."""
    a, b = pairs("s32")
    lines = """setp.gt.s32 %q, %a, 0; setp.lt.and.s32 %p|%q, %a, %b, %q;
    selp.u32 %t0, 1, 0, %p; selp.u32 %t1, 2, 0, %q; or.b32 %d, %t0, %t1;"""
    found = evaluate(host, [lines], "u32", ("s32", "s32"), a, b)[lines]
    assert np.array_equal(found, (a > 0) * np.where(a < b, 1, 2))


@pytest.mark.parametrize("have", ["s8", "u8", *KINDS])
def test_integer_conversions(host, have):
    """cvt truncates or extends, cvt.sat clamps to the result's range, and wider registers are extended by type."""
    bits = int(have[1:])
    a = np.array(EDGES[bits], f"u{bits // 8}")
    given = [wrap(int(x), have) for x in a]
    wanted = ("s8", "u8", *KINDS)
    forms = {f"cvt{sat}.{kind}.{have} %d, %a;": (sat, kind) for sat in ("", ".sat") for kind in wanted}
    found = evaluate(host, list(forms), "b64", (f"b{bits}",), a)
    for form, (sat, kind) in forms.items():
        size = int(kind[1:])
        low, high = (-(1 << (size - 1)), (1 << (size - 1)) - 1) if kind[0] == "s" else (0, (1 << size) - 1)
        expected = [min(max(x, low), high) if sat else wrap(x, kind) for x in given]
        assert found[form].tolist() == [x & ((1 << 64) - 1) for x in expected], form
