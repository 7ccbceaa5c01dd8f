"""The error function and its complement."""

from engine.ops.functions.exponential import exponential
from engine.ops.functions.value import ScalarValue, polynomial, scaled, select, two_product, two_sum


def _near(x: ScalarValue) -> ScalarValue:
    return x.fma(polynomial(x * x, "ERF"), x)


def _complement(size: ScalarValue) -> ScalarValue:
    """Return erfc of size >= 1/2, as exp(-size^2) p(t) / (1 + 2 size) with t = (size - 4) / (size + 4)."""
    last = 10.15 if size.format.fraction == 23 else 27.3
    size = select(size > last, last, size)
    t = (size - 4.0) / (size + 4.0)
    divisor, divisor_low = two_sum(size + size, size.constant(1.0))
    first, first_low = t.parts("ERFC_FIRST", 2)
    top, top_low = two_sum(t.constant(first), (t * polynomial(t, "ERFC_REST")) + first_low)
    ratio = top / divisor
    ratio_low = ratio.fma(-divisor_low, ratio.fma(-divisor, top) + top_low) / divisor
    square, square_low = two_product(size, size)
    less_one, exponent = exponential(-square)
    low = ratio_low - ratio * square_low
    return scaled(ratio + ratio.fma(less_one, low.fma(less_one, low)), exponent)


def erf(x: ScalarValue) -> ScalarValue:
    """The error function."""
    size = abs(x)
    far = (1.0 - _complement(size)).with_sign_of(x)
    return select(size < 1.0, _near(x), far)


def erfc(x: ScalarValue) -> ScalarValue:
    """1 - erf(x), exact for large x too."""
    size = abs(x)
    far = _complement(size)
    far = select(x < 0.0, 2.0 - far, far)
    return select(size < 0.5, 1.0 - _near(x), far)
