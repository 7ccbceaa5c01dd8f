"""Floating-point formats in exact arithmetic: values are fractions, and results are rounded once."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import isqrt

INFINITY = "inf"
NAN = "nan"


@dataclass(frozen=True)
class Format:
    """Bits of precision, the exponents of the smallest and largest normal numbers, and bits in total."""

    precision: int
    least: int
    greatest: int
    bits: int

    @property
    def infinity(self) -> int:
        """The bits of +infinity."""
        return (self.greatest - self.least + 2) << (self.precision - 1)

    @property
    def sign(self) -> int:
        """The sign bit."""
        return 1 << (self.bits - 1)

    @property
    def quiet(self) -> int:
        """The bits that represent every NaN."""
        return self.sign - 1


FORMATS = {
    "f16": Format(11, -14, 15, 16),
    "bf16": Format(8, -126, 127, 16),
    "f32": Format(24, -126, 127, 32),
    "f64": Format(53, -1022, 1023, 64),
    "tf32": Format(11, -126, 127, 19),  # stored in the upper bits of an f32
}


@cache
def power(exponent: int) -> Fraction:
    """Return a power of 2."""
    return Fraction(2) ** exponent


@cache
def decode(raw: int, kind: str) -> tuple[int, Fraction | str]:
    """Return the sign bit and the magnitude of a float: a fraction, INFINITY or NAN."""
    form = FORMATS[kind]
    sign, magnitude = int(raw) >> (form.bits - 1), int(raw) & form.quiet
    if magnitude >= form.infinity:
        return sign, INFINITY if magnitude == form.infinity else NAN
    field, mantissa = magnitude >> (form.precision - 1), magnitude & ((1 << (form.precision - 1)) - 1)
    if field:
        mantissa |= 1 << (form.precision - 1)
    return sign, mantissa * power(max(field, 1) - 1 + form.least - form.precision + 1)


def signed(raw: int, kind: str) -> Fraction:
    """Return a finite float as a fraction."""
    sign, magnitude = decode(raw, kind)
    assert isinstance(magnitude, Fraction)
    return -magnitude if sign else magnitude


def is_away(mode: str, sign: int, odd: bool, rest: Fraction) -> bool:
    """Return whether a magnitude with a fractional `rest` rounds away from zero."""
    if mode == "rn":
        return rest > Fraction(1, 2) or (rest == Fraction(1, 2) and odd)
    if mode == "rna":
        return rest >= Fraction(1, 2)
    return rest > 0 and ((mode == "rp" and not sign) or (mode == "rm" and bool(sign)))


def encode(value: Fraction, kind: str, mode: str = "rn", *, zero_sign: int = 0, ftz: bool = False) -> int:
    """Return the bits of an exact value rounded once; with `ftz`, a result that rounds to a subnormal becomes zero.

    The test for subnormals first rounds to full precision, as if exponents had no lower limit.
    x86 processors and GPUs do the same.
    """
    form = FORMATS[kind]
    if value == 0:
        return form.sign * zero_sign
    sign, magnitude = int(value < 0), abs(value)
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    exponent -= magnitude < power(exponent)
    if not ftz:
        exponent = max(exponent, form.least)
    steps = magnitude * power(form.precision - 1 - exponent)
    count = int(steps)
    count += is_away(mode, sign, count & 1 == 1, steps - count)
    if ftz and count * power(exponent - form.precision + 1) < power(form.least):
        return form.sign * sign
    raw = ((exponent - form.least) << (form.precision - 1)) + count
    if raw >= form.infinity:
        to_infinity = mode in ("rn", "rna") or (mode == "rp" and not sign) or (mode == "rm" and sign)
        raw = form.infinity if to_infinity else form.infinity - 1
    return raw | form.sign * sign


def flush(raw: int, kind: str) -> int:
    """Return a float, or a zero of the same sign if it is subnormal."""
    form = FORMATS[kind]
    return raw & form.sign if raw & form.quiet < 1 << (form.precision - 1) else raw


def _quiet(raw: int, kind: str) -> bool:
    return decode(raw, kind)[1] == NAN


def add(a: int, b: int, kind: str, mode: str = "rn", *, ftz: bool = False) -> int:
    """Return a + b."""
    (sa, x), (sb, y) = _operand(a, kind, ftz), _operand(b, kind, ftz)
    return _sum(sa, x, sb, y, kind, mode, ftz)


def _operand(raw: int, kind: str, ftz: bool) -> tuple[int, Fraction | str]:
    return decode(flush(raw, kind) if ftz else raw, kind)


def _sum(sa: int, x: Fraction | str, sb: int, y: Fraction | str, kind: str, mode: str, ftz: bool) -> int:
    form = FORMATS[kind]
    if NAN in (x, y) or (x == y == INFINITY and sa != sb):
        return form.quiet
    if x == INFINITY or y == INFINITY:
        return form.infinity | form.sign * (sa if x == INFINITY else sb)
    assert isinstance(x, Fraction)
    assert isinstance(y, Fraction)
    total = (-x if sa else x) + (-y if sb else y)
    zero = sa if sa == sb else int(mode == "rm")
    return encode(total, kind, mode, zero_sign=zero, ftz=ftz)


def multiply(a: int, b: int, kind: str, mode: str = "rn", *, ftz: bool = False) -> int:
    """Return a * b."""
    form = FORMATS[kind]
    (sa, x), (sb, y) = _operand(a, kind, ftz), _operand(b, kind, ftz)
    if NAN in (x, y) or (INFINITY in (x, y) and 0 in (x, y)):
        return form.quiet
    if INFINITY in (x, y):
        return form.infinity | form.sign * (sa ^ sb)
    assert isinstance(x, Fraction)
    assert isinstance(y, Fraction)
    return encode(x * y * (-1 if sa ^ sb else 1), kind, mode, zero_sign=sa ^ sb, ftz=ftz)


def fuse(a: int, b: int, c: int, kind: str, mode: str = "rn", *, ftz: bool = False) -> int:
    """Return a * b + c."""
    (sa, x), (sb, y), (sc, z) = (_operand(item, kind, ftz) for item in (a, b, c))
    if NAN in (x, y) or (INFINITY in (x, y) and 0 in (x, y)):
        return FORMATS[kind].quiet
    product = INFINITY if INFINITY in (x, y) else x * y  # type: ignore[operator]
    return _sum(sa ^ sb, product, sc, z, kind, mode, ftz)


def divide(a: int, b: int, kind: str, mode: str = "rn", *, ftz: bool = False) -> int:
    """Return a / b."""
    form = FORMATS[kind]
    (sa, x), (sb, y) = _operand(a, kind, ftz), _operand(b, kind, ftz)
    sign = sa ^ sb
    if NAN in (x, y) or x == y == INFINITY or x == y == 0:
        return form.quiet
    if x == INFINITY or y == 0:
        return form.infinity | form.sign * sign
    if y == INFINITY or x == 0:
        return form.sign * sign
    assert isinstance(x, Fraction)
    assert isinstance(y, Fraction)
    return encode(x / y * (-1 if sign else 1), kind, mode, ftz=ftz)


def root(a: int, kind: str, mode: str = "rn") -> int:
    """Return the square root; if the integer root is inexact, a bit below the last needed one is set."""
    form = FORMATS[kind]
    sign, x = decode(a, kind)
    if x == 0:
        return form.sign * sign
    if x == NAN or sign:
        return form.quiet
    if x == INFINITY:
        return form.infinity
    assert isinstance(x, Fraction)
    shift = 2 * (1200 + form.precision)
    scaled = x * 2**shift
    assert scaled.denominator == 1
    whole = isqrt(int(scaled))
    value = Fraction(whole) + (Fraction(1, 4) if whole * whole != scaled else 0)
    return encode(value / 2 ** (shift // 2), kind, mode)


def same(found: int, expected: int, kind: str) -> bool:
    """Return whether two floats have the same bits, with all NaNs equal."""
    return (_quiet(found, kind) and _quiet(expected, kind)) or int(found) == int(expected)
