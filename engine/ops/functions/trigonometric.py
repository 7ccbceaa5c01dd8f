"""sin, cos, tan and their inverses."""

from warploom.engine.ops.functions.coefficients import TWO_OVER_PI_BITS
from warploom.engine.ops.functions.value import (
    F32,
    ScalarValue,
    any_sum,
    nearest,
    polynomial,
    select,
    two_product,
    two_sum,
    unless,
    unordered,
)

# -- reduction by multiples of pi / 2 ----------------------------------------------------------------------------------


def _reduced(x: ScalarValue) -> tuple[ScalarValue, ScalarValue, ScalarValue]:
    """Return the quadrant of x, an integer modulo 4, and the remainder in [-pi/4, pi/4] in two parts."""
    limit = 2.0**16 if x.format is F32 else 2.0**30
    quadrant, high, low = unless(abs(x) < limit, _subtracted(x), lambda: _multiplied(x))
    return quadrant, high, low


def _subtracted(x: ScalarValue) -> tuple[ScalarValue, ScalarValue, ScalarValue]:
    """Subtract a multiple of pi / 2, given in three parts; the first difference is exact."""
    first, second, third = x.parts("HALF_PI", 3)
    whole, quadrant = nearest(x * x.parts("TWO_OVER_PI", 1)[0])
    product, rest = two_product(whole, second)
    high, error = any_sum(whole.fma(-first, x), -product)
    return quadrant, *two_sum(high, whole.fma(-third, error - rest))


# For large x = m 2^e, bits of 2 / pi above 2^(2 - e) contribute multiples of 4 to the product, so they are left out.
# M. Payne and R. Hanek, Radian reduction for trigonometric functions, 1983.


def _multiplied(x: ScalarValue) -> tuple[ScalarValue, ScalarValue, ScalarValue]:
    """Multiply the integer m by three words of 2 / pi, and keep two words of the product: quadrant and fraction."""
    format, width = x.format, x.format.width
    bits = x.bits()
    m = (bits & ((1 << format.fraction) - 1)) | (1 << format.fraction)
    first_bit = ((bits & (format.sign - 1)) >> format.fraction) - (format.bias + format.fraction + 2 - width)
    top, middle, bottom = _bits_of_two_over_pi(first_bit)
    wide = m.widened()
    product = wide * middle.widened() + (wide * bottom.widened()).high_word().widened()
    upper, lower = top * m + product.high_word(), product.low_word()
    quadrant = upper.shifted_right(width - 2)
    upper, lower = (upper << 2) | lower.shifted_right(width - 2), lower << 2
    quadrant = quadrant + upper.shifted_right(width - 1)  # the fraction is signed
    # Split the fraction into three floats; the first two hold as many bits as are exact.
    spare = width - format.fraction - 1
    first_float = (upper >> spare).to_float()
    second_float = (((upper & ((1 << spare) - 1)) << (width - 2 * spare)) | lower.shifted_right(2 * spare)).to_float()
    third_float = (lower & ((1 << (2 * spare)) - 1)).to_float()
    high, low = two_sum(first_float, second_float * 2.0 ** -(width - spare))
    high, low = two_sum(high, third_float.fma(2.0 ** -(width + spare), low))
    first, second = (part * 2.0 ** (spare - width) for part in x.parts("HALF_PI", 2))
    size, error = two_product(high, first)
    high, low = two_sum(size, high.fma(second, low.fma(first, error)))
    negative = bits >> (width - 1)
    sign = bits & -format.sign
    undefined = x - x  # NaN when x is infinite
    return (
        (quadrant ^ negative) - negative,
        (high.bits() ^ sign).from_bits() + undefined,
        (low.bits() ^ sign).from_bits(),
    )


def _bits_of_two_over_pi(first: ScalarValue) -> list[ScalarValue]:
    """Return three words of 2 / pi, preceded by a word of zeros, starting at a variable word."""
    width = first.format.width
    last = (first.format.bias - first.format.fraction - 2 + width) // width
    places = range(1280 - width, 1280 - width * (last + 4), -width)
    words: list[ScalarValue] = [first.like(0), *(first.like((TWO_OVER_PI_BITS >> at) % (1 << width)) for at in places)]
    index = first.shifted_right(width.bit_length() - 1)
    for step in (16, 8, 4, 2, 1):
        if step <= last:
            skip = (index & step).is_unequal(0)
            ahead = [*words[step:], *words[-step:]]  # the last ones are never needed
            words = [select(skip, ahead[i], words[i]) for i in range(min(len(words), 3 + step))]
    count = first & (width - 1)
    return [words[i].shifted_left_with(words[i + 1], count) for i in range(3)]


# -- functions ---------------------------------------------------------------------------------------------------------


def _sine(high: ScalarValue, low: ScalarValue, square: ScalarValue) -> ScalarValue:
    return high + (high * square).fma(polynomial(square, "SIN"), low)


def _cosine(high: ScalarValue, low: ScalarValue, square: ScalarValue) -> ScalarValue:
    return square.fma(-0.5, 1.0) + (square * square).fma(polynomial(square, "COS"), -(high * low))


def _of_quadrant(quadrant: ScalarValue, high: ScalarValue, low: ScalarValue) -> ScalarValue:
    """Return the sine of high + low + quadrant * pi / 2."""
    square = high * high
    is_odd = (quadrant & 1).is_unequal(0)
    value = select(is_odd, _cosine(high, low, square), _sine(high, low, square))
    sign = (quadrant << (quadrant.format.width - 2)) & -quadrant.format.sign
    return (value.bits() ^ sign).from_bits()


def sin(x: ScalarValue) -> ScalarValue:
    """The sine of an angle in radians."""
    return select(x.is_equal(0.0), x, _of_quadrant(*_reduced(x)))


def cos(x: ScalarValue) -> ScalarValue:
    """The cosine of an angle in radians."""
    quadrant, high, low = _reduced(x)
    return _of_quadrant(quadrant + 1, high, low)


def tan(x: ScalarValue) -> ScalarValue:
    """The tangent of an angle in radians."""
    quadrant, high, low = _reduced(x)
    square = high * high
    added = (high * square).fma(polynomial(square, "TAN"), low.fma(square, low))
    value, rest = two_sum(high, added)
    inverse = -1.0 / value
    error = rest.fma(inverse, value.fma(inverse, 1.0))
    turned = inverse.fma(error, inverse)
    result = select((quadrant & 1).is_unequal(0), turned, value)
    return select(x.is_equal(0.0), x, result)


def asin(x: ScalarValue) -> ScalarValue:
    """The angle in [-pi/2, pi/2] with this sine; NaN outside [-1, 1]."""
    size = abs(x)
    is_small = size <= 0.5
    half, rest = x.parts("HALF_PI", 2)
    root = size.fma(-0.5, 0.5).root()
    base = select(is_small, size, root)
    square = base * base
    cubic = (base * square) * polynomial(square, "ASIN")
    high, low = two_sum(x.constant(half), -2.0 * base)
    far = high - (2.0 * cubic - (low + rest))
    return select(is_small, base + cubic, far).with_sign_of(x)


def acos(x: ScalarValue) -> ScalarValue:
    """The angle in [0, pi] with this cosine; NaN outside [-1, 1]."""
    size = abs(x)
    is_small = size <= 0.5
    half, rest = x.parts("HALF_PI", 2)
    base = select(is_small, x, size.fma(-0.5, 0.5).root())
    square = base * base
    cubic = (base * square) * polynomial(square, "ASIN")
    near = half - (base + (cubic - rest))
    double = (base + cubic) * 2.0
    far = select(x < 0.0, 2.0 * half - (double - 2.0 * rest), double)
    return select(is_small, near, far)


def _small_atan(t: ScalarValue) -> ScalarValue:
    square = t * t
    return (t * square).fma(polynomial(square, "ATAN"), t)


def atan(x: ScalarValue) -> ScalarValue:
    """The angle in [-pi/2, pi/2] with this tangent."""
    size = abs(x)
    is_far = size > 1.0
    half, rest = x.parts("HALF_PI", 2)
    angle = _small_atan(select(is_far, 1.0 / size, size))
    return select(is_far, half - (angle - rest), angle).with_sign_of(x)


def atan2(y: ScalarValue, x: ScalarValue) -> ScalarValue:
    """The angle in [-pi, pi] of the point (x, y)."""
    tall, wide = abs(y), abs(x)
    is_steep = tall > wide
    large, small = select(is_steep, tall, wide), select(is_steep, wide, tall)
    # Both zero count as (1, 0), both infinite as (1, 1).
    t = select(large.is_equal(0.0), 0.0, small / large)
    t = select(small.is_equal(float("inf")), 1.0, t)
    angle = _small_atan(t)
    is_left = x.bits() < 0
    half, rest = x.parts("HALF_PI", 2)
    turns = is_steep ^ is_left
    signed = select(turns, -angle, angle)
    base = select(is_steep, half, select(is_left, 2.0 * half, 0.0))
    added = select(is_steep, rest, select(is_left, 2.0 * rest, 0.0))
    result = (base + (signed + added)).with_sign_of(y)
    return select(unordered(x, y), x + y, result)
