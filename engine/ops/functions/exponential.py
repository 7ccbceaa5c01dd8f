"""Powers of e, 2 and 10, the hyperbolic functions, and the error function."""

import math

from warploom.engine.ops.functions.value import (
    ScalarValue,
    clamped,
    nearest,
    polynomial,
    power_of_two,
    scaled,
    select,
    two_product,
    two_sum,
)


def exponential(x: ScalarValue) -> tuple[ScalarValue, ScalarValue]:
    """Return e^r - 1 and an integer n so that e^x = e^r 2^n; |x| is below 2^(fraction - 2)."""
    first, second = x.parts("LN2", 2)
    whole, exponent = nearest(x * x.parts("LOG2_E", 1)[0])
    r = whole.fma(-second, whole.fma(-first, x))
    return (r * r).fma(polynomial(r, "EXP"), r), exponent


def _within_range(x: ScalarValue, unit: float) -> ScalarValue:
    """Limit an exponent of 2^(1 / unit) to slightly more than the range where the power is neither 0 nor infinite."""
    format = x.format
    return clamped(x, -(format.bias + format.fraction + 2) * unit, (format.bias + 3) * unit)


def exp(x: ScalarValue) -> ScalarValue:
    """e to the power x."""
    less_one, exponent = exponential(_within_range(x, math.log(2)))
    return scaled(less_one + 1.0, exponent)


def exp2(x: ScalarValue) -> ScalarValue:
    """2 to the power x."""
    x = _within_range(x, 1.0)
    whole, exponent = nearest(x)
    r = x - whole
    return scaled(polynomial(r, "EXP2").fma(r, 1.0), exponent)


def exp10(x: ScalarValue) -> ScalarValue:
    """10 to the power x."""
    x = _within_range(x, math.log10(2))
    first, second = x.parts("LOG10_2", 2)
    whole, exponent = nearest(x * x.parts("LOG2_10", 1)[0])
    r = whole.fma(-second, whole.fma(-first, x))
    return scaled(polynomial(r, "EXP10").fma(r, 1.0), exponent)


def expm1(x: ScalarValue) -> ScalarValue:
    """e to the power x, minus 1; precise for small x too."""
    limited = _within_range(x, math.log(2))
    limited = select(limited < -2.0 * (x.format.fraction + 1), -2.0 * (x.format.fraction + 1), limited)
    less_one, exponent = exponential(limited)
    is_large = exponent > x.format.bias
    factor = power_of_two(exponent - select(is_large, exponent.like(1), exponent.like(0)))
    result = factor.fma(less_one, factor - 1.0) * select(is_large, x.like(2.0), x.like(1.0))
    result = select(x > (x.format.bias + 1) * math.log(2), float("inf"), result)
    return select(x.is_equal(0.0), x, result)


def _half_power(size: ScalarValue) -> ScalarValue:
    """Return e^size / 2, which overflows at a somewhat larger `size` than e^size."""
    less_one, exponent = exponential(_within_range(size, math.log(2)))
    return scaled(less_one + 1.0, exponent - 1)


def _series(size: ScalarValue, name: str) -> ScalarValue:
    square = size * size
    return (size * square).fma(polynomial(square, name), size)


def sinh(x: ScalarValue) -> ScalarValue:
    """The hyperbolic sine."""
    size = abs(x)
    power = _half_power(size)
    return select(size < 1.0, _series(size, "SINH"), power - 0.25 / power).with_sign_of(x)


def cosh(x: ScalarValue) -> ScalarValue:
    """The hyperbolic cosine."""
    power = _half_power(abs(x))
    return power + 0.25 / power


def tanh(x: ScalarValue) -> ScalarValue:
    """The hyperbolic tangent."""
    size = abs(x)
    limited = select(size > float(x.format.fraction), float(x.format.fraction), size)
    less_one, exponent = exponential(limited + limited)
    far = 1.0 - 2.0 / (scaled(less_one + 1.0, exponent) + 1.0)
    return select(size < 0.55, _series(size, "TANH"), far).with_sign_of(x)


def _near(x: ScalarValue) -> ScalarValue:
    return x.fma(polynomial(x * x, "ERF"), x)


def _complement(size: ScalarValue) -> ScalarValue:
    """Return erfc of size >= 1/2, as exp(-size^2) p(t) / (1 + 2 size) with t = (size - 4) / (size + 4)."""
    last = 10.15 if size.format.fraction == 23 else 27.3
    size = select(size > last, last, size)
    t = (size - 4.0) / (size + 4.0)
    divisor, divisor_low = two_sum(size + size, size.constant(1.0))
    first, first_low = t.parts(f"ERFC_FIRST_{size.format.name}", 2)
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
