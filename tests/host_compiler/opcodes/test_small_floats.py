"""Conversions to tf32 and to floats of 4, 6 and 8 bits round to the nearest value of the format."""

from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from tests.host_compiler import exact_floats as exact
from tests.host_compiler.elements import evaluate

# Bits of exponent and mantissa, and which magnitudes are infinity and NaN.
FORMATS = {
    "e4m3": (4, 3, None, {0x7F}), "e5m2": (5, 2, 0x7C, {0x7D, 0x7E, 0x7F}), "e2m3": (2, 3, None, set()),
    "e3m2": (3, 2, None, set()), "e2m1": (2, 1, None, set()),
}  # fmt: skip


@cache
def table(name):
    """Return a format's finite magnitudes with their bits."""
    exponent_bits, mantissa_bits, infinity, nans = FORMATS[name]
    found = []
    for raw in range(1 << (exponent_bits + mantissa_bits)):
        if raw == infinity or raw in nans:
            continue
        field, mantissa = raw >> mantissa_bits, raw & ((1 << mantissa_bits) - 1)
        scale = Fraction(2) ** (max(field, 1) - (1 << (exponent_bits - 1)) + 1 - mantissa_bits)
        found.append((scale * (mantissa + ((1 << mantissa_bits) if field else 0)), raw))
    return found


def nearest(name, raw):
    """Return the bits of the finite value nearest to an f32, ties to even; NaN is all ones or the largest value."""
    exponent_bits, mantissa_bits, _, nans = FORMATS[name]
    sign_bit = 1 << (exponent_bits + mantissa_bits)
    values = table(name)
    sign, size = exact.decode(int(raw), "f32")
    if size == exact.NAN:
        return sign_bit - 1 if nans else values[-1][1]
    if size == exact.INFINITY:
        return values[-1][1] | sign * sign_bit
    _, code = min(values, key=lambda item: (abs(item[0] - size), item[1] & 1))
    return code | sign * sign_bit


def source():
    """Return f32 bits: edge values of every format, midpoints between its values, and random values."""
    found = [0, 0x80000000, 1, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000]
    for name in FORMATS:
        values = [value for value, _ in table(name)]
        for low, high in zip(values[:-1:3], values[1::3], strict=False):
            middle = exact.encode((low + high) / 2, "f32")
            found += [middle - 1, middle, middle + 1 | 0x80000000, exact.encode(low, "f32") | 0x80000000]
    rng = np.random.default_rng(17)
    random = (rng.standard_normal(100) * 2.0 ** rng.integers(-18, 18, 100)).astype(np.float32).view(np.uint32)
    return np.concatenate([np.array(found, np.uint32), random])


@pytest.mark.parametrize("name", ["e4m3", "e5m2", "e2m3", "e3m2"])
def test_two_singles_to_a_pair(host, name):
    """The first of two singles becomes the upper byte of the pair; .relu replaces negative values by 0."""
    a = source()
    b = a[::-1].copy()
    forms = [f"cvt.rn.satfinite.{name}x2.f32 %d, %a, %b;", f"cvt.rn.satfinite.relu.{name}x2.f32 %d, %a, %b;"]
    found = evaluate(host, forms, "b16", ("b32", "b32"), a, b)
    codes = np.array([nearest(name, raw) for raw in a])
    assert found[forms[0]].tolist() == (codes << 8 | codes[::-1]).tolist()
    sign = 1 << (FORMATS[name][0] + FORMATS[name][1])
    positive = np.where((codes & sign) != 0, 0, codes)
    assert found[forms[1]].tolist() == (positive << 8 | positive[::-1]).tolist()


def test_pairs_of_four_bits(host):
    """A pair of e2m1 numbers is one byte."""
    a = source()
    lines = ".reg .b8 %n; cvt.rn.satfinite.e2m1x2.f32 %n, %a, %b; cvt.u32.u8 %d, %n;"
    found = evaluate(host, [lines], "b32", ("b32", "b32"), a, a[::-1].copy())[lines]
    codes = np.array([nearest("e2m1", raw) for raw in a])
    assert found.tolist() == (codes << 4 | codes[::-1]).tolist()


@pytest.mark.parametrize("name", ["e4m3", "e5m2"])
def test_halves_to_a_pair(host, name):
    """Each half of an f16x2 is converted in its place."""
    half = np.random.default_rng(5).integers(0, 1 << 16, 400).astype(np.uint16)
    lines = f"cvt.rn.satfinite.{name}x2.f16x2 %d, %a;"
    found = evaluate(host, [lines], "b16", ("b32",), half.view(np.uint32))[lines]
    wide = half.view(np.float16).astype(np.float32).view(np.uint32)
    assert found.view(np.uint8).tolist() == [nearest(name, raw) for raw in wide]


@pytest.mark.parametrize("name", list(FORMATS))
def test_every_code_to_halves(host, name):
    """All codes of a format convert to their values as f16."""
    width = 4 if name == "e2m1" else 8
    count = 1 << (FORMATS[name][0] + FORMATS[name][1] + 1)
    codes = np.arange(count, dtype=np.uint16)
    packed = codes | (count - 1 - codes) << width
    lines = f"cvt.rn.f16x2.{name}x2 %d, %a;"
    if width == 4:
        lines = ".reg .b8 %n; cvt.u8.u16 %n, %a; " + lines.replace("%a", "%n")
    found = evaluate(host, [lines], "b32", ("b16",), packed)[lines].view(np.uint16).reshape(-1, 2)
    _, _, infinity, nans = FORMATS[name]
    values = {raw: value for value, raw in table(name)}
    for code, (low, high) in zip(codes, found, strict=True):
        for raw, half in ((int(code), low), (count - 1 - int(code), high)):
            size, sign = raw & (count // 2 - 1), raw >= count // 2
            if size in nans:
                expected = 0x7FFF
            elif size == infinity:
                expected = 0x7C00 | sign << 15
            else:
                expected = exact.encode(values[size] * (-1 if sign else 1), "f16", zero_sign=int(sign))
            assert exact.same(int(half), expected, "f16"), (raw, hex(int(half)))


def test_bare_exponents(host):
    """ue8m0 is the power of two below or above the magnitude, or 255 for NaN, and converts back to bf16."""
    a = np.array([0x3F800000, 0x3F800001, 0x3FC00000, 0x40000000, 0x00400000, 0x00400001, 0x00800000, 0x7F7FFFFF,
                  0x7F000000, 0x7FC00000, 0, 0xC0400000], np.uint32)  # fmt: skip
    forms = [f"cvt.{mode}{limit}.ue8m0x2.f32 %d, %a, %a;" for mode in ("rz", "rp") for limit in ("", ".satfinite")]
    found = [values & 0xFF for values in evaluate(host, forms, "b16", ("b32",), a).values()]
    assert found[0].tolist() == [127, 127, 127, 128, 0, 0, 1, 254, 254, 255, 0, 128]
    assert found[2].tolist() == [127, 128, 128, 128, 0, 1, 1, 255, 254, 255, 0, 129]
    assert found[3].tolist() == [127, 128, 128, 128, 0, 1, 1, 254, 254, 255, 0, 129]
    codes = np.arange(256, dtype=np.uint16)
    lines = "cvt.rn.bf16x2.ue8m0x2 %d, %a;"
    back = evaluate(host, [lines], "b32", ("b16",), codes)[lines] & 0xFFFF
    assert back.tolist() == [0x40, *(code << 7 for code in range(1, 255)), 0x7FFF]


def test_tf32(host):
    """tf32 is an f32 with ten bits of mantissa; .rna rounds ties away from zero."""
    a = np.concatenate([source(), np.array([0x3F801000, 0x3F803000, 0x3F800FFF, 0x3F801001, 0x7F7FF000], np.uint32)])
    forms = {f"cvt.{mode}.tf32.f32 %d, %a;": mode for mode in ("rna", "rn", "rz")}
    limited = "cvt.rna.satfinite.tf32.f32 %d, %a;"
    found = evaluate(host, [*forms, limited], "b32", ("b32",), a)
    for form, mode in forms.items():
        for raw, value in zip(a, found[form], strict=True):
            sign, size = exact.decode(int(raw), "f32")
            if size == exact.NAN:
                assert int(value) == 0x7FFFFFFF
            elif size == exact.INFINITY:
                assert value == raw
            else:
                expected = exact.encode(-size if sign else size, "tf32", mode, zero_sign=sign) << 13
                assert int(value) == expected, (hex(int(raw)), hex(int(value)))
    assert not ((found[limited] & 0x7FFFFFFF) == 0x7F800000).any()
