"""Logarithms and the inverse hyperbolic functions."""

from warploom.engine.ops.functions.value import ScalarValue, polynomial, power_of_two, select, two_product, two_sum

_ROOT_HALF = 0.5**0.5
_INFINITY = float("inf")


def split(x: ScalarValue) -> tuple[ScalarValue, ScalarValue]:
    """Return an integer n and m in [sqrt(1/2), sqrt(2)) with x = m 2^n, for finite x above 0."""
    format = x.format
    is_subnormal = x < format.least_normal
    bits = select(is_subnormal, x * 2.0 ** (format.fraction + 1), x).bits()
    exponent = (bits - format.bits(_ROOT_HALF)) >> format.fraction
    m = (bits - (exponent << format.fraction)).from_bits()
    return exponent - select(is_subnormal, bits.like(format.fraction + 1), bits.like(0)), m


def _add_exponent(
    exponent: ScalarValue, first: float, second: float, large: ScalarValue, small: ScalarValue
) -> ScalarValue:
    """Return exponent * (first + second) + large + small, where `large` is below `first`."""
    high = exponent.fma(first, large)
    error = exponent.fma(first, -high) + large
    return high + (error + exponent.fma(second, small))


def _sum(f: ScalarValue, exponent: ScalarValue, added: ScalarValue | None = None) -> ScalarValue:
    """Return log(1 + f) + exponent * log(2) + added."""
    square, series = f * f, polynomial(f, "LOG")
    tail = square * series if added is None else square.fma(series, added)
    first, second = f.parts("LN2", 2)
    return _add_exponent(exponent, first, second, f, tail)


def _outside(x: ScalarValue, result: ScalarValue) -> ScalarValue:
    """Return the result for x that is finite and above 0; for other x, the logarithm's limit or NaN."""
    result = select(x < _INFINITY, result, x)
    result = select(x < 0.0, float("nan"), result)
    return select(x.is_equal(0.0), -_INFINITY, result)


def log(x: ScalarValue) -> ScalarValue:
    """The natural logarithm."""
    exponent, m = split(x)
    return _outside(x, _sum(m - 1.0, exponent.to_float()))


def _of_base(x: ScalarValue, scale: str) -> tuple[ScalarValue, ScalarValue, ScalarValue]:
    """Return n, and log(m) * scale in a large and a small part, for x = m 2^n."""
    first, second = x.parts(scale, 2)
    exponent, m = split(x)
    f = m - 1.0
    large, error = two_product(f, first)
    small = (f * f * polynomial(f, "LOG")).fma(first, f.fma(second, error))
    return exponent.to_float(), large, small


def log2(x: ScalarValue) -> ScalarValue:
    """The logarithm to base 2."""
    exponent, large, small = _of_base(x, "LOG2_E")
    return _outside(x, (exponent + large) + small)


def log10(x: ScalarValue) -> ScalarValue:
    """The logarithm to base 10."""
    exponent, large, small = _of_base(x, "LOG10_E")
    first, second = x.parts("LOG10_2", 2)
    return _outside(x, _add_exponent(exponent, first, second, large, small))


def _log1p(x: ScalarValue, low: ScalarValue | None = None, doublings: ScalarValue | None = None) -> ScalarValue:
    """Return log((1 + x + low) 2^doublings) for finite x above -1."""
    exponent, _ = split(x + 1.0)
    half = exponent >> 1
    factor = power_of_two(-half) * power_of_two(half - exponent)
    f = x.fma(factor, factor - 1.0)
    count = exponent.to_float()
    if doublings is not None:
        count = count + doublings
    return _sum(f, count, None if low is None else low * factor)


def log1p(x: ScalarValue) -> ScalarValue:
    """The natural logarithm of 1 + x, exact for small x too."""
    return select(x.is_equal(0.0), x, _outside(x + 1.0, _log1p(x)))


def _of_large(x: ScalarValue) -> tuple[ScalarValue, ScalarValue]:
    """Return whether 2 x may replace x + sqrt(x^2 +- 1), and that answer as 1.0 or 0.0."""
    is_large = x > 2.0 ** (x.format.fraction + 3)
    return is_large, select(is_large, 1.0, 0.0)


def asinh(x: ScalarValue) -> ScalarValue:
    """The inverse hyperbolic sine."""
    size = abs(x)
    is_large, doublings = _of_large(size)
    square = size * size
    grown, low = two_sum(size, square / (square.fma(1.0, 1.0).root() + 1.0))
    result = _log1p(select(is_large, size, grown), select(is_large, 0.0, low), doublings)
    return select(size < _INFINITY, result, size).with_sign_of(x)


def acosh(x: ScalarValue) -> ScalarValue:
    """The inverse hyperbolic cosine; NaN below 1."""
    is_large, doublings = _of_large(x)
    above = x - 1.0
    inner = above.fma(above, above + above)
    root = inner.root()
    error = select(root > 0.0, root.fma(-root, inner) / (root + root), 0.0)
    # `two_sum` needs the larger operand first: the root is at least as large as `above`.
    grown, low = two_sum(root, above)
    result = _log1p(select(is_large, x, grown), select(is_large, 0.0, low + error), doublings)
    result = select(x < _INFINITY, result, x)
    return select(x < 1.0, float("nan"), result)


def atanh(x: ScalarValue) -> ScalarValue:
    """The inverse hyperbolic tangent; infinite at 1 and -1, NaN beyond."""
    size = abs(x)
    less = 1.0 - size
    less_error = (1.0 - less) - size
    double = size + size
    ratio = double / less
    error = ratio.fma(-less_error, ratio.fma(-less, double)) / less
    result = 0.5 * _log1p(ratio, error)
    result = select(size.is_equal(1.0), _INFINITY, result)
    result = select(size <= 1.0, result, float("nan"))
    return select(x.is_equal(0.0), x, result.with_sign_of(x))
