"""pow and roots."""

from warploom.engine.ops.functions.logarithmic import split
from warploom.engine.ops.functions.value import (
    ScalarValue,
    nearest,
    polynomial,
    scaled,
    select,
    two_product,
    two_sum,
    unordered,
)

_INFINITY = float("inf")


def _log2(x: ScalarValue) -> tuple[ScalarValue, ScalarValue]:
    """Return the logarithm to base 2 in two parts with one and a half times the precision of x, for finite x above 0.

    log(m) = 2 s + 2/3 s^3 + ... with s = (m - 1) / (m + 1); all but the last terms are in two parts.
    """
    exponent, m = split(x)
    top, bottom = m - 1.0, m + 1.0
    bottom_error = m - (bottom - 1.0)
    inverse = 1.0 / bottom
    s = top * inverse
    s_low = s.fma(-bottom_error, s.fma(-bottom, top)) * inverse
    square, square_low = two_product(s, s)
    square_low = (s + s).fma(s_low, square_low)
    third, third_low = x.parts("TWO_THIRDS", 2)
    cubic, cubic_low = two_product(square, third)
    cubic_low = square.fma(third_low, square_low.fma(third, cubic_low))
    tail, tail_low = two_sum(cubic, (square * square).fma(polynomial(square, "LOG_TAIL"), cubic_low))
    factor, factor_low = two_sum(x.constant(2.0), tail)
    log, log_low = two_product(s, factor)
    log_low = log_low + s.fma(factor_low + tail_low, s_low * factor)
    scale, scale_low = x.parts("LOG2_E", 2)
    part, part_low = two_product(log, scale)
    part_low = part_low + log.fma(scale_low, log_low * scale)
    high, low = two_sum(exponent.to_float(), part)
    return two_sum(high, low + part_low)


def pow(x: ScalarValue, y: ScalarValue) -> ScalarValue:
    """x to the power y, with the special cases of IEEE 754."""
    format = x.format
    size = abs(x)
    high, low = _log2(size)
    product, product_low = two_product(y, high)
    product_low = y.fma(low, product_low)
    # Beyond the limit the power is 0 or infinite. `up` below handles infinite and zero operands.
    limit = 2.0 * format.bias - 4.0
    is_within = abs(product) < limit
    product = select(is_within, product, select(product > 0.0, limit, -limit))
    whole, exponent = nearest(product)
    r = (product - whole) + select(is_within, product_low, 0.0)
    power = scaled(polynomial(r, "EXP2").fma(r, 1.0), exponent)

    is_endless = abs(y).is_equal(_INFINITY)
    is_extreme = size.is_equal(0.0) | size.is_equal(_INFINITY) | is_endless
    up = ~((size > 1.0) ^ (y > 0.0))
    power = select(is_extreme, select(up, _INFINITY, 0.0), power)
    is_integer = y.truncate().is_equal(y)
    half = 0.5 * y
    is_odd = is_integer & half.truncate().is_unequal(half)
    sign = x.bits() & -format.sign
    power = (power.bits() | select(is_odd, sign, sign.like(0))).from_bits()
    power = select((x < 0.0) & (size < _INFINITY) & ~is_integer, float("nan"), power)
    power = select(unordered(x, y), x + y, power)
    is_one = x.is_equal(1.0) | y.is_equal(0.0) | (size.is_equal(1.0) & is_endless)
    return select(is_one, 1.0, power)


def sqrt(x: ScalarValue) -> ScalarValue:
    """The square root, rounded to nearest; NaN below 0."""
    return x.root()


def rsqrt(x: ScalarValue) -> ScalarValue:
    """1 / sqrt(x); infinite at 0, NaN below."""
    return 1.0 / x.root()


def cbrt(x: ScalarValue) -> ScalarValue:
    """The cube root, including that of negative numbers."""
    format = x.format
    size = abs(x)
    is_tiny = size < format.least_normal * 64.0
    thirds = format.fraction // 3 + 1
    a = select(is_tiny, size * 2.0 ** (3 * thirds), size)
    # A third of the exponent gives the root within 5 per cent.
    bits = a.bits()
    guess = bits.divided_by(3) + int(format.bits(1.0) * 2 / 3 - 0.0450 * 2.0**format.fraction)
    root, quarter = guess.from_bits(), 0.25 * a  # a quarter of a, so that nothing overflows
    for _ in range(1 if format.fraction == 23 else 2):  # each step of Halley's method triples the digits
        cube = (0.25 * root) * root * root
        root = root * ((cube + (quarter + quarter)) / ((cube + cube) + quarter))
    square, error = two_product(root, root)
    excess = error.fma(root, square.fma(root, -a))
    root = root - excess / (3.0 * square)
    root = root * select(is_tiny, x.constant(2.0**-thirds), x.constant(1.0))
    return select((size > 0.0) & (size < _INFINITY), root.with_sign_of(x), x)


def hypot(x: ScalarValue, y: ScalarValue) -> ScalarValue:
    """sqrt(x^2 + y^2) without intermediate overflow; infinite if x or y is, even if the other is NaN."""
    a, b = abs(x), abs(y)
    large, small = select(a > b, a, b), select(a > b, b, a)
    far = 2.0 ** (x.format.bias // 2 - 4)
    grows, shrinks = large < 1.0 / far, large > far
    # Small numbers need the larger factor: it must lift subnormals above 1 / far.
    up, down = far * 2.0 ** (x.format.fraction + 8), 1.0 / far / 64
    factor = select(grows, up, select(shrinks, down, 1.0))
    back = select(grows, 1.0 / up, select(shrinks, 1.0 / down, 1.0))
    large, small = large * factor, small * factor
    result = large.fma(large, small * small).root() * back
    result = select(unordered(x, y), x + y, result)
    return select(a.is_equal(_INFINITY) | b.is_equal(_INFINITY), _INFINITY, result)
