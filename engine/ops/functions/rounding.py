"""Rounding to integers, and remainders."""

from warploom.engine.ops.functions.logarithmic import split
from warploom.engine.ops.functions.value import ScalarValue, scaled, select, unless

_INFINITY = float("inf")


def floor(x: ScalarValue) -> ScalarValue:
    """The integer at or below x."""
    return x.floor()


def ceil(x: ScalarValue) -> ScalarValue:
    """The integer at or above x."""
    return x.ceil()


def trunc(x: ScalarValue) -> ScalarValue:
    """x without its fraction."""
    return x.truncate()


def round_half_even(x: ScalarValue) -> ScalarValue:
    """The nearest integer; ties go to the even one."""
    return x.round_to_even()


def round_half_away(x: ScalarValue) -> ScalarValue:
    """The nearest integer; ties go away from 0."""
    size = abs(x)
    whole = size.truncate()
    return (whole + select(size - whole >= 0.5, 1.0, 0.0)).with_sign_of(x)


def fract(x: ScalarValue) -> ScalarValue:
    """x - floor(x), always below 1."""
    result = x - x.floor()
    largest = 1.0 - 2.0 ** -(x.format.fraction + 1)
    return select(result > largest, largest, result)


def fmod(x: ScalarValue, y: ScalarValue) -> ScalarValue:
    """The exact remainder of a division that is rounded towards 0; it has the sign of x, as in C."""
    a, b = abs(x), abs(y)
    quotient = (a / b).truncate()
    # If the quotient was rounded up to an integer, the rest is below 0.
    rest = (-quotient).fma(b, a)
    rest = select(rest < 0.0, rest + b, rest)
    is_exact = ~((quotient >= 2.0 ** (x.format.fraction + 1)) & (a < _INFINITY) & (b > 0.0))
    (rest,) = unless(is_exact, (rest,), lambda: (_long_division(a, b),))
    return select(b.is_equal(_INFINITY) & (a < _INFINITY), a, rest).with_sign_of(x)


def _long_division(a: ScalarValue, b: ScalarValue) -> ScalarValue:
    """Return the remainder of a finite a by 0 < b < a, computed a few quotient bits at a time."""
    format, builder = a.format, a.builder
    exponents = split(a)[0] - split(b)[0]
    first = select(exponents > format.fraction, exponents - format.fraction, exponents.like(0))
    before, loop, after = builder.block, builder.append_basic_block("divide"), builder.append_basic_block("divided")
    builder.branch(loop)
    builder.position_at_end(loop)
    rest_phi, shift_phi = builder.phi(format.type), builder.phi(format.word)
    rest, shift = ScalarValue(builder, format, rest_phi), ScalarValue(builder, format, shift_phi)
    multiple = scaled(b, shift)
    left = (-(rest / multiple).truncate()).fma(multiple, rest)
    left = select(left < 0.0, left + multiple, left)
    following = select(shift > format.fraction, shift - format.fraction, shift.like(0))
    rest_phi.add_incoming(a.raw, before)
    rest_phi.add_incoming(left.raw, loop)
    shift_phi.add_incoming(first.raw, before)
    shift_phi.add_incoming(following.raw, loop)
    builder.cbranch((shift > 0).raw, loop, after)
    builder.position_at_end(after)
    return left


def mod(x: ScalarValue, y: ScalarValue) -> ScalarValue:
    """The remainder of a division that is rounded down; it has the sign of y, as in Python."""
    rest = fmod(x, y)
    differs = (rest.bits() ^ y.bits()) < 0
    moved = select(differs, rest + y, rest)
    return select(rest.is_equal(0.0), rest.with_sign_of(y), moved)
