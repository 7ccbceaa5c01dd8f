"""cvt between every pair of types with a float, in every rounding, against exact fractions."""

from fractions import Fraction
from math import ceil, floor, trunc

import numpy as np
import pytest

from tests.host_compiler import exact_floats as exact
from tests.host_compiler.elements import evaluate

FLOATS = ("f16", "bf16", "f32", "f64")
INTEGERS = tuple(f"{sign}{bits}" for bits in (8, 16, 32, 64) for sign in "su")
INTEGRAL = {"rni": round, "rzi": trunc, "rmi": floor, "rpi": ceil}
EDGES = {
    "f16": [0, 0x8000, 1, 0x8001, 0x3FF, 0x3800, 0x3801, 0x3E00, 0x4100, 0xB800, 0xBE00, 0x57F0, 0x5BF8, 0x7BFF, 0xFBFF,
            0x7C00, 0xFC00, 0x7E00],
    "bf16": [0, 0x8000, 1, 0x8001, 0x7F, 0x3F00, 0x3FC0, 0x4020, 0xBF00, 0xBFC0, 0x42FF, 0x437F, 0x477F, 0x4780, 0x4F00,
             0x5F00, 0x7F7F, 0xFF7F, 0x7F80, 0xFF80, 0x7FC0, 0x3300, 0x3380, 0x387F],
    "f32": [0, 0x80000000, 1, 0x80000001, 0x7FFFFF, 0x3F000000, 0xBF000000, 0x3FC00000, 0x40200000, 0xBFC00000,
            0x42FF0000, 0x437F8000, 0x46FFFF00, 0x477FFF00, 0x4B7FFFFF, 0x4B000001, 0x4EFFFFFF, 0x4F000000, 0x4F7FFFFF,
            0x5F000000, 0x5EFFFFFF, 0xDF000001, 0x7F7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0x477FEFFF, 0x477FF000,
            0x38801000, 0x33000000, 0x33000001, 0x3F808000, 0x3F818000, 0x3F801000, 0x3F803000, 0x7F7F8000, 0xB3800000],
    "f64": [0, 1 << 63, 1, 0x3FE0000000000000, 0xBFE0000000000000, 0x3FF8000000000000, 0x4004000000000000,
            0xBFF8000000000000, 0x405FE00000000000, 0x41DFFFFFFFC00000, 0x41E0000000000000, 0x41EFFFFFFFE00000,
            0x43DFFFFFFFFFFFFF, 0x43E0000000000000, 0x7FEFFFFFFFFFFFFF, 0xFFEFFFFFFFFFFFFF, 0x7FF0000000000000,
            0xFFF0000000000000, 0x7FF8000000000000, 0x47EFFFFFE0000000, 0x47EFFFFFF0000000, 0x47EFFFFFEFFFFFFF,
            0x36A0000000000000, 0x3690000000000000, 0x3690000000000001, 0x380FFFFFE0000000, 0x3FF0000010000000,
            0x3FF0000010000001, 0x3FF0020000000000, 0x3FF0020000000001, 0x3FF0010000000001, 0x40EFFDFFFFFFFFFF,
            0x40EFFE0000000000, 0x3E60000000000000, 0x3E60000000000001],
}  # fmt: skip


def source(kind):
    """Return edge cases and random values of a type; floats are returned as bits."""
    rng = np.random.default_rng(13)
    bits = exact.FORMATS[kind].bits if kind in FLOATS else int(kind[1:])
    edges = EDGES.get(kind) or [
        *(0, 1, 2, 3, (1 << (bits - 1)) - 1, 1 << (bits - 1), (1 << (bits - 1)) + 1, (1 << bits) - 1),
        *((1 << n) + delta for n in (8, 11, 12, 24, 25, 33, 53, 54) if n < bits - 1 for delta in (-1, 0, 1, 2, 3)),
        *(((1 << 24) + odd) << (bits - 26) for odd in (1, 3) if bits > 26),
        *((((1 << 24) + odd) << (bits - 26)) + 1 for odd in (1, 3) if bits > 26),
    ]
    random = rng.integers(0, 1 << min(bits, 63), 60, dtype=np.uint64) << np.uint64(bits == 64)
    if kind in ("f32", "f64"):  # also floats of ordinary magnitude
        random = np.concatenate(
            [
                random,
                (rng.standard_normal(60) * 10.0 ** rng.integers(-8, 20, 60))
                .astype(kind.replace("f32", "f4").replace("f64", "f8"))
                .view(f"u{bits // 8}"),
            ]
        )
    return np.concatenate([np.array(edges, np.uint64), random.astype(np.uint64)]).astype(f"u{bits // 8}")


def limits(kind):
    """Return the smallest and largest integer of a type."""
    bits = int(kind[1:])
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if kind[0] == "s" else (0, (1 << bits) - 1)


def as_register(value, kind):
    """Return the contents of a 64-bit register after a write of a narrower type."""
    if kind in INTEGERS:
        return value & ((1 << 64) - 1)
    return value


def to_integer(raw, have, wanted, rule):
    """Round a float and clamp it. NaN becomes 0, or only the top bit if the source is f64 or the result has 64 bits."""
    low, high = limits(wanted)
    sign, value = exact.decode(raw, have)
    if value == exact.NAN:
        return (1 << (int(wanted[1:]) - 1)) * (1 if wanted[0] == "u" else -1) if have == "f64" or "64" in wanted else 0
    if value == exact.INFINITY:
        return low if sign else high
    return min(max(rule(-value if sign else value), low), high)


def to_float(raw, have, wanted, mode):
    """Round a float or an integer to a float."""
    if have in INTEGERS:
        low, _ = limits(have)
        value = raw - (1 << int(have[1:])) if low and raw >> (int(have[1:]) - 1) else raw
        return exact.encode(Fraction(value), wanted, mode)
    sign, value = exact.decode(raw, have)
    if isinstance(value, str):
        form = exact.FORMATS[wanted]
        return form.quiet if value == exact.NAN else form.infinity | form.sign * sign
    return exact.encode(-value if sign else value, wanted, mode, zero_sign=sign)


@pytest.mark.parametrize("have", FLOATS)
def test_floats_to_integers(host, have):
    """Floats convert to every integer type in every rounding, in registers wider than the type."""
    a = source(have)
    forms = {f"cvt.{mode}.{wanted}.{have} %d, %a;": (mode, wanted) for wanted in INTEGERS for mode in INTEGRAL}
    found = evaluate(host, list(forms), "b64", (f"b{8 * a.itemsize}",), a)
    for form, (mode, wanted) in forms.items():
        expected = [as_register(to_integer(int(x), have, wanted, INTEGRAL[mode]), wanted) for x in a]
        assert found[form].tolist() == expected, form


@pytest.mark.parametrize("have", (*FLOATS, *INTEGERS))
def test_to_floats(host, have):
    """Conversions from every type to every float type round once, in every mode."""
    a = source(have)
    narrower = {
        wanted
        for wanted in FLOATS
        if have in INTEGERS or exact.FORMATS[wanted].precision < exact.FORMATS[have].precision
    }
    narrower |= {"f16"} if have == "bf16" else set()
    forms = {
        f"cvt.{mode}.{wanted}.{have} %d, %a;": (mode, wanted)
        for wanted in sorted(narrower)
        for mode in ("rn", "rz", "rm", "rp")
    }
    forms |= {
        f"cvt.{wanted}.{have} %d, %a;": ("rn", wanted) for wanted in FLOATS if wanted not in narrower and wanted != have
    }
    found = evaluate(host, list(forms), "b64", (f"b{8 * a.itemsize}",), a)
    for form, (mode, wanted) in forms.items():
        for x, value in zip(a, found[form], strict=True):
            expected = to_float(int(x), have, wanted, mode)
            assert exact.same(int(value), expected, wanted), (form, hex(int(x)), hex(int(value)), hex(expected))


@pytest.mark.parametrize("kind", FLOATS)
def test_rounding_to_integral_values(host, kind):
    """Roundings to an integer, such as cvt.rni, keep the type and the sign of zero."""
    a = source(kind)
    forms = {f"cvt.{mode}.{kind}.{kind} %d, %a;": rule for mode, rule in INTEGRAL.items()}
    found = evaluate(host, list(forms), "b64", (f"b{8 * a.itemsize}",), a)
    for form, rule in forms.items():
        for x, value in zip(a, found[form], strict=True):
            sign, size = exact.decode(int(x), kind)
            expected = (
                int(x)
                if isinstance(size, str)
                else exact.encode(Fraction(rule(-size if sign else size)), kind, zero_sign=sign)
            )
            assert exact.same(int(value), expected, kind), (form, hex(int(x)), hex(int(value)))


def test_saturation_flushing_and_finite_limits(host):
    """.sat clamps to [0, 1], .relu to 0, .satfinite to the largest finite number, and .ftz flushes f32."""
    a = source("f32")
    x = a.view(np.float32)
    with np.errstate(all="ignore"):
        half = x.astype(np.float16)
        clipped = np.clip(x, 0, 1)
    unit = np.where(np.isnan(x), np.float32(0), clipped) + np.float32(0)
    tiny = np.abs(x) < np.float32(2.0**-126)
    forms = {
        "cvt.sat.f32.f32 %d, %a;": unit.view("u4"),
        "cvt.rn.sat.f16.f32 %d, %a;": unit.astype("f2").view("u2"),
        "cvt.ftz.f64.f32 %d, %a;": np.where(tiny, np.copysign(0, x), x).astype("f8").view("u8"),
        "cvt.rpi.ftz.s32.f32 %t0, %a; and.b32 %t0, %t0, 1; cvt.u64.u32 %d, %t0;": None,
        "cvt.rn.relu.f16.f32 %d, %a;": np.where(np.signbit(half) & ~np.isnan(half), np.float16(0), half).view("u2"),
        "cvt.rn.satfinite.f16.f32 %d, %a;": np.clip(half, -65504, 65504).view("u2"),
    }
    found = evaluate(host, list(forms), "b64", ("b32",), a)
    kinds = ("f32", "f16", "f64", "", "f16", "f16")
    for (form, expected), kind in zip(forms.items(), kinds, strict=True):
        if expected is None:
            assert not found[form][tiny].any()
            continue
        wrong = [
            hex(int(raw))
            for raw, value, want in zip(a, found[form], expected, strict=True)
            if not exact.same(int(value), int(want), kind)
        ]
        assert not wrong, (form, wrong)
    rz = evaluate(host, ["cvt.rz.satfinite.bf16.f32 %d, %a;"], "b64", ("b32",), a)
    for raw, value in zip(a, next(iter(rz.values())), strict=True):
        expected = to_float(int(raw), "f32", "bf16", "rz")
        if expected & 0x7FFF == 0x7F80:
            expected -= 1
        assert exact.same(int(value), expected, "bf16"), hex(int(raw))


@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_two_singles_to_a_pair_of_halves(host, kind):
    """In a conversion of two singles to a pair of halves, the first source becomes the upper half."""
    a = source("f32")
    b = a[::-1].copy()
    found = evaluate(host, [f"cvt.{mode}.{kind}x2.f32 %d, %a, %b;" for mode in ("rn", "rz")], "b32", ("b32",) * 2, a, b)
    for mode, values in zip(("rn", "rz"), found.values(), strict=True):
        for x, y, value in zip(a, b, values, strict=True):
            assert exact.same(int(value) >> 16, to_float(int(x), "f32", kind, mode), kind)
            assert exact.same(int(value) & 0xFFFF, to_float(int(y), "f32", kind, mode), kind)


@pytest.mark.parametrize(("kind", "bits"), [("u16", 16), ("s16", 16), ("u8", 8), ("s8", 8), ("u4", 4), ("s2", 2)])
def test_packed_integers(host, kind, bits):
    """cvt.pack clamps two integers and places them below a third one's bits."""
    a = np.array([0, 1, -1, 100, -100, 127, 128, -129, 40000, -40000, 7, 8, -8, -9, 2**31 - 1, -(2**31)], np.int32)
    b, c = np.roll(a, 3), np.arange(16, dtype=np.uint32) * 0x11111111
    third = ".b32 %d, %a, %b, %c;" if bits < 16 else " %d, %a, %b;"
    found = evaluate(host, [f"cvt.pack.sat.{kind}.s32{third}"], "b32", ("b32",) * 3, a, b, c)
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if kind[0] == "s" else (0, (1 << bits) - 1)
    mask = (1 << bits) - 1
    for x, y, z, value in zip(a, b, c, next(iter(found.values())), strict=True):
        first, second = (min(max(int(item), low), high) & mask for item in (x, y))
        rest = int(z) << 2 * bits & 0xFFFFFFFF if bits < 16 else 0
        assert int(value) == second | first << bits | rest


def test_stochastic_rounding_is_refused(host):
    """Stochastic rounding is refused with an error that names the instruction, its line and a replacement."""
    from warploom.engine.diagnostics import KernelError

    with pytest.raises(KernelError, match=r"cvt\.rs\.f16x2\.f32 must not be used on the host device; use \.rn or \.rz"):
        evaluate(host, ["cvt.rs.f16x2.f32 %d, %a, %a, %a;"], "b32", ("b32",), np.zeros(1, np.uint32))
