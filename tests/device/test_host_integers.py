"""Integer opcodes against Python's integers, over the edges of each type."""

import itertools

import numpy as np
import pytest

EDGES = {
    16: [0, 1, 2, 7, 255, 0x7FFF, 0x8000, 0x8001, 0xFFFF, 12345],
    32: [0, 1, 2, 31, 32, 33, 255, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFF, 123456789],
    64: [0, 1, 2, 63, 64, 65, 1 << 31, (1 << 63) - 1, 1 << 63, (1 << 63) + 1, (1 << 64) - 1, 1234567890123456789],
}


def pairs(kind):
    """Return every pair of edge values of a type as two arrays."""
    bits = int(kind[1:])
    values = np.array(list(itertools.product(EDGES[bits], repeat=2)), f"u{bits // 8}")
    dtype = f"{'i' if kind[0] == 's' else 'u'}{bits // 8}"
    return tuple(np.ascontiguousarray(column).view(dtype) for column in values.T)


def wrap(value, kind, scale=1):
    """Return a Python integer as the type stores it."""
    bits = int(kind[1:]) * scale
    value &= (1 << bits) - 1
    return value - (1 << bits) if kind[0] == "s" and value >> (bits - 1) else value


def quotient(a, b, kind):
    """Division that rounds to zero; all ones for a zero divisor."""
    if b == 0:
        return -1
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


BINARY = {
    "add.{}": lambda a, b, k: a + b,
    "sub.{}": lambda a, b, k: a - b,
    "mul.lo.{}": lambda a, b, k: a * b,
    "mul.hi.{}": lambda a, b, k: a * b >> int(k[1:]),
    "div.{}": quotient,
    "rem.{}": lambda a, b, k: a - quotient(a, b, k) * b if b else a,
    "min.{}": lambda a, b, k: min(a, b),
    "max.{}": lambda a, b, k: max(a, b),
}


@pytest.mark.parametrize("kind", ["s16", "u16", "s32", "u32", "s64", "u64"])
@pytest.mark.parametrize("form", BINARY)
def test_binary_arithmetic_wraps_and_never_traps(apply, form, kind):
    """Every edge pair gives what wrapped integers give, division by zero and the least value by -1 included."""
    a, b = pairs(kind)
    found = apply(form.format(kind) + " %d, %a, %b;", kind, kind, kind, a, b)
    expected = [wrap(BINARY[form](int(x), int(y), kind), kind) for x, y in zip(a, b, strict=True)]
    assert found.tolist() == expected


@pytest.mark.parametrize("kind", ["s32", "u32", "s16", "u16"])
def test_wide_products_keep_all_bits(apply, kind):
    """mul.wide and mad.wide have twice the width."""
    a, b = pairs(kind)
    wide = f"{kind[0]}{2 * int(kind[1:])}"
    found = apply(f"mul.wide.{kind} %d, %a, %b;", wide, kind, kind, a, b)
    assert found.tolist() == [int(x) * int(y) for x, y in zip(a, b, strict=True)]


@pytest.mark.parametrize("kind", ["s32", "u32", "s64", "u64", "s16", "u16"])
@pytest.mark.parametrize("direction", ["shl", "shr"])
def test_shifts_past_the_width_are_clamped(apply, direction, kind):
    """A shift by the width or more gives zeros, or copies of the sign."""
    bits = int(kind[1:])
    a, _ = pairs(kind)
    amounts = np.resize(np.array([0, 1, bits - 1, bits, bits + 1, 255, 0xFFFFFFFF], np.uint32), len(a))
    name = f"shl.b{bits}" if direction == "shl" else f"shr.{kind}"
    found = apply(name + " %d, %a, %b;", kind, kind, "u32", a, amounts)
    expected = []
    for x, n in zip(a, amounts, strict=True):
        n = min(int(n), bits)
        expected.append(wrap(int(x) << n if direction == "shl" else int(x) >> n, kind))
    assert found.tolist() == expected


@pytest.mark.parametrize(
    ("form", "rule"),
    [
        ("popc.b32", lambda x: x.bit_count()),
        ("clz.b32", lambda x: 32 - x.bit_length()),
        ("brev.b32", lambda x: int(f"{x:032b}"[::-1], 2)),
        ("bfind.u32", lambda x: (x.bit_length() - 1) & 0xFFFFFFFF),
        ("not.b32", lambda x: ~x & 0xFFFFFFFF),
        ("cnot.b32", lambda x: int(x == 0)),
    ],
)
def test_bit_counts(apply, form, rule):
    """Counting and reversing bits agree with Python."""
    a = np.array(EDGES[32], np.uint32)
    assert apply(form + " %d, %a;", "u32", "u32", a).tolist() == [rule(int(x)) for x in a]


def test_funnel_shift_takes_the_middle_of_two_words(apply):
    """shf.l.wrap shifts b:a left and keeps the upper word."""
    a, b = pairs("u32")
    for n in (0, 5, 31, 32, 40):
        found = apply(f"shf.l.wrap.b32 %d, %a, %b, {n};", "u32", "u32", "u32", a, b)
        step = n % 32
        words = [int(y) << 32 | int(x) for x, y in zip(a, b, strict=True)]
        assert found.tolist() == [(word << step >> 32) & 0xFFFFFFFF for word in words]
        found = apply(f"shf.r.clamp.b32 %d, %a, %b, {n};", "u32", "u32", "u32", a, b)
        step = min(n, 32)
        assert found.tolist() == [word >> step & 0xFFFFFFFF for word in words]


@pytest.mark.parametrize("table", [0x00, 0x96, 0xE8, 0xCA, 0xFF, 0x1D])
def test_lop3_looks_every_bit_up(apply, table):
    """lop3 applies its table to the bits of three words."""
    a, b = pairs("u32")
    c = np.roll(a, 5)
    found = apply(f"lop3.b32 %d, %a, %b, %c, {table};", "u32", "u32", "u32", "u32", a, b, c)
    expected = np.zeros_like(a)
    for bit in range(32):
        index = (a >> bit & 1) * 4 + (b >> bit & 1) * 2 + (c >> bit & 1)
        expected |= ((table >> index) & 1).astype(np.uint32) << np.uint32(bit)
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("selector", [0x3210, 0x7654, 0x0123, 0xFB73, 0x8888])
def test_prmt_picks_bytes(apply, selector):
    """prmt takes four of eight bytes; the top bit of a selector spreads the byte's sign."""
    a, b = pairs("u32")
    found = apply(f"prmt.b32 %d, %a, %b, {selector};", "u32", "u32", "u32", a, b)
    for x, y, value in zip(a, b, found, strict=True):
        source = (int(y) << 32 | int(x)).to_bytes(8, "little")
        picked = []
        for index in range(4):
            nibble = selector >> 4 * index & 15
            byte = source[nibble & 7]
            picked.append((0xFF if byte & 0x80 else 0) if nibble & 8 else byte)
        assert int(value) == int.from_bytes(bytes(picked), "little")


@pytest.mark.parametrize(
    ("position", "length"), [(0, 0), (0, 8), (4, 12), (24, 16), (31, 1), (32, 4), (0, 32), (255, 255)]
)
def test_bit_fields(apply, position, length):
    """bfe extracts and bfi inserts; fields past the top are cut, or repeat the sign."""
    a, b = pairs("u32")
    found = apply(f"bfe.u32 %d, %a, {position}, {length};", "u32", "u32", a)
    mask = (1 << min(length, 32)) - 1
    assert found.tolist() == [(int(x) >> min(position, 32)) & mask for x in a]
    signed = a.view(np.int32)
    found = apply(f"bfe.s32 %d, %a, {position}, {length};", "s32", "s32", signed)
    expected = []
    for x in signed:
        field = (int(x) >> position) & mask
        top = field >> (length - 1) & 1 if 0 < length <= 32 else (field >> 31 & 1 if length else 0)
        expected.append(field - (1 << min(length, 32)) if top else field)
    assert found.tolist() == expected
    found = apply(f"bfi.b32 %d, %a, %b, {position}, {length};", "u32", "u32", "u32", a, b)
    place = (mask << position) & 0xFFFFFFFF if position < 32 else 0
    assert found.tolist() == [int(y) & ~place | (int(x) << position) & place for x, y in zip(a, b, strict=True)]


@pytest.mark.parametrize("kind", ["s32", "u32", "s64", "u64", "s16", "u16"])
@pytest.mark.parametrize("test", ["eq", "ne", "lt", "le", "gt", "ge"])
def test_comparisons(apply, test, kind):
    """setp and selp agree with Python's comparisons."""
    a, b = pairs(kind)
    found = apply(f"setp.{test}.{kind} %p, %a, %b;\nselp.u32 %d, 1, 0, %p;", "u32", kind, kind, a, b)
    rule = {"eq": "__eq__", "ne": "__ne__", "lt": "__lt__", "le": "__le__", "gt": "__gt__", "ge": "__ge__"}[test]
    assert found.tolist() == [int(getattr(int(x), rule)(int(y))) for x, y in zip(a, b, strict=True)]


def test_comparison_with_two_results_and_a_combination(apply):
    """setp p|q combines both the result and its opposite with a third predicate."""
    a, b = pairs("s32")
    lines = """setp.gt.s32 %q, %a, 0; setp.lt.and.s32 %p|%q, %a, %b, %q;
    selp.u32 %t0, 1, 0, %p; selp.u32 %t1, 2, 0, %q; or.b32 %d, %t0, %t1;"""
    found = apply(lines, "u32", "s32", "s32", a, b)
    assert np.array_equal(found, (a > 0) * np.where(a < b, 1, 2))


def test_carries_join_words(apply):
    """add.cc with addc and sub.cc with subc are 64-bit arithmetic in two words."""
    a, b = pairs("u64")
    for name, rule in (("add", lambda x, y: x + y), ("sub", lambda x, y: x - y)):
        lines = f"""mov.b64 {{%t0, %t1}}, %a; mov.b64 {{%t2, %t3}}, %b;
        {name}.cc.u32 %t0, %t0, %t2; {name}c.u32 %t1, %t1, %t3; mov.b64 %d, {{%t0, %t1}};"""
        found = apply(lines, "u64", "u64", "u64", a, b)
        assert found.tolist() == [wrap(rule(int(x), int(y)), "u64") for x, y in zip(a, b, strict=True)]


@pytest.mark.parametrize("wanted", ["s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64"])
@pytest.mark.parametrize("have", ["s16", "u16", "s32", "u32", "s64", "u64"])
def test_integer_conversions(apply, have, wanted):
    """cvt cuts or extends; cvt.sat clamps to the range of the result."""
    bits = int(have[1:])
    a = np.array(EDGES[bits], f"u{bits // 8}").view(f"{'i' if have[0] == 's' else 'u'}{bits // 8}")
    found = apply(f"cvt.{wanted}.{have} %d, %a;", wanted, have, a)
    assert found.tolist() == [wrap(int(x), wanted) for x in a]
    found = apply(f"cvt.sat.{wanted}.{have} %d, %a;", wanted, have, a)
    low, high = wrap(1 << (int(wanted[1:]) - 1), wanted), (1 << (int(wanted[1:]) - (wanted[0] == "s"))) - 1
    low = min(low, 0)
    assert found.tolist() == [min(max(int(x), low), high) for x in a]
