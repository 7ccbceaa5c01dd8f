"""Results of ops on numbers, in numpy and Python's integers: tables by the op's name, written from the ops' help.

A value is a list of its components, each an array with one number for each element.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.host_compiler.exact_floats import fuse
from warploom.engine.types import Array

Value = list[Array]


def _divide_whole(a: Array, b: Array) -> tuple[Array, Array]:
    """Return quotient and remainder toward zero; by 0 both are 0."""
    quotient, remainder = np.zeros_like(a), np.zeros_like(a)
    bits, is_signed = a.dtype.itemsize * 8, a.dtype.kind == "i"
    for at, (x, y) in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
        if y:
            q = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
            quotient[at] = _wrapped(q, bits, is_signed)
            remainder[at] = _wrapped(x - q * y, bits, is_signed)
    return quotient, remainder


def _wrapped(number: int, bits: int, is_signed: bool) -> int:
    number &= (1 << bits) - 1
    return number - (1 << bits) if is_signed and number >> (bits - 1) else number


def _floor_divide(a: Array, b: Array) -> Array:
    if a.dtype.kind == "f":
        return np.floor(a / b)
    quotient, remainder = _divide_whole(a, b)
    return quotient - ((remainder != 0) & ((remainder < 0) != (b < 0))).astype(a.dtype)


def _modulo(a: Array, b: Array) -> Array:
    _, remainder = _divide_whole(a, b)
    return np.where((remainder != 0) & ((remainder < 0) != (b < 0)), remainder + b, remainder)


def _multiply_add(a: Array, b: Array, c: Array) -> Array:
    if a.dtype.kind != "f":
        return a * b + c
    kind = "f32" if a.dtype == np.float32 else "f64"
    raw = np.dtype(f"u{a.dtype.itemsize}")
    made = [fuse(*map(int, bits), kind) for bits in zip(a.view(raw), b.view(raw), c.view(raw), strict=True)]
    return np.array(made, raw).view(a.dtype)


def _extreme(a: Array, b: Array, *, largest: bool) -> Array:
    if a.dtype.kind != "f":
        return np.maximum(a, b) if largest else np.minimum(a, b)
    made = np.maximum(a, b) if largest else np.minimum(a, b)
    negative = np.signbit(a) & np.signbit(b) if largest else np.signbit(a) | np.signbit(b)
    return np.where((a == 0) & (b == 0), np.where(negative, a.dtype.type(-0.0), a.dtype.type(0.0)), made)


def smaller(a: Array, b: Array) -> Array:
    """Return the smaller numbers, or NaN if one operand is NaN; -0 is smaller than 0."""
    return _extreme(a, b, largest=False)


def larger(a: Array, b: Array) -> Array:
    """Return the larger numbers, by the same rules."""
    return _extreme(a, b, largest=True)


def _saturate(x: Array) -> Array:
    return smaller(larger(x, np.zeros_like(x)), np.ones_like(x))


def _mix(a: Array, b: Array, t: Array) -> Array:
    return a * (t.dtype.type(1) - t) + b * t


def _smoothstep(low: Array, high: Array, x: Array) -> Array:
    t = _saturate((x - low) / (high - low))
    return t * t * (t.dtype.type(3) - t.dtype.type(2) * t)


def _sign(x: Array) -> Array:
    one = x.dtype.type(1)
    if x.dtype.kind == "u":
        return (x > 0).astype(x.dtype)
    return np.where(x > 0, one, np.where(x < 0, -one, x if x.dtype.kind == "f" else np.zeros_like(x)))


def _bits(x: Array) -> list[int]:
    return [int(n) & ((1 << x.dtype.itemsize * 8) - 1) for n in x.tolist()]


def _by_bits(emit: Callable[..., int]) -> Callable[..., Array]:
    def each(x: Array, *others: Array) -> Array:
        width = x.dtype.itemsize * 8
        columns = zip(_bits(x), *(map(int, other.tolist()) for other in others), strict=True)
        made = [emit(width, *column) & ((1 << width) - 1) for column in columns]
        return np.array(made, np.dtype(f"u{x.dtype.itemsize}")).view(x.dtype)

    return each


def _rotated(width: int, x: int, amount: int) -> int:
    amount %= width
    return x << amount | x >> (width - amount)


def _multiply_high(a: Array, b: Array) -> Array:
    width = a.dtype.itemsize * 8
    made = [_wrapped((x * y) >> width, width, a.dtype.kind == "i") for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    return np.array(made, a.dtype)


def _shift(left: bool) -> Callable[[Array, Array], Array]:
    def emit(x: Array, amount: Array) -> Array:
        by = (amount & np.array(x.dtype.itemsize * 8 - 1, x.dtype)).astype(x.dtype)
        return x << by if left else x >> by

    return emit


#: Ops on numbers of one type, component by component, and how their operands are promoted.
NUMERIC: dict[str, Callable[..., Array]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "floor_divide": _floor_divide,
    "negate": lambda x: -x,
    "absolute": lambda x: x if x.dtype.kind == "u" else np.abs(x),
    "minimum": smaller,
    "maximum": larger,
    "multiply_add": _multiply_add,
    "clamp": lambda x, low, high: smaller(larger(x, low), high),
    "sign": _sign,
    "modulo": lambda a, b: np.mod(a, b) if a.dtype.kind == "f" else _modulo(a, b),
    "remainder": lambda a, b: np.fmod(a, b) if a.dtype.kind == "f" else _divide_whole(a, b)[1],
    "floor": lambda x: np.floor(x) if x.dtype.kind == "f" else x,
    "ceil": lambda x: np.ceil(x) if x.dtype.kind == "f" else x,
    "trunc": lambda x: np.trunc(x) if x.dtype.kind == "f" else x,
    "round": lambda x: np.rint(x) if x.dtype.kind == "f" else x,
}
WHOLE: dict[str, Callable[..., Array]] = {
    "bit_not": lambda x: ~x,
    "shift_left": _shift(True),
    "shift_right": _shift(False),
    "rotate_left": _by_bits(_rotated),
    "rotate_right": _by_bits(lambda width, x, amount: _rotated(width, x, -amount)),
    "count_bits": _by_bits(lambda width, x: x.bit_count()),
    "leading_zeros": _by_bits(lambda width, x: width - x.bit_length()),
    "trailing_zeros": _by_bits(lambda width, x: (x & -x).bit_length() - 1 if x else width),
    "reverse_bits": _by_bits(lambda width, x: int(f"{x:0{width}b}"[::-1], 2)),
    "multiply_high": _multiply_high,
}
WHOLE_OR_BOOLEAN: dict[str, Callable[..., Array]] = {
    "bit_and": lambda a, b: a & b,
    "bit_or": lambda a, b: a | b,
    "bit_xor": lambda a, b: a ^ b,
}
FLOATS: dict[str, Callable[..., Array]] = {
    "divide": lambda a, b: a / b,
    "sqrt": np.sqrt,
    "saturate": _saturate,
    "mix": _mix,
    "step": lambda edge, x: np.where(x < edge, x.dtype.type(0), x.dtype.type(1)),
    "smoothstep": _smoothstep,
    "remap": lambda x, low, high, new_low, new_high: _mix(new_low, new_high, (x - low) / (high - low)),
}
COMPARISON: dict[str, Callable[..., Array]] = {
    "equal": lambda a, b: a == b,
    "not_equal": lambda a, b: a != b,
    "less": lambda a, b: a < b,
    "less_equal": lambda a, b: a <= b,
    "greater": lambda a, b: a > b,
    "greater_equal": lambda a, b: a >= b,
    "is_nan": lambda x: np.isnan(x) if x.dtype.kind == "f" else np.zeros(x.shape, bool),
    "is_infinite": lambda x: np.isinf(x) if x.dtype.kind == "f" else np.zeros(x.shape, bool),
    "is_finite": lambda x: np.isfinite(x) if x.dtype.kind == "f" else np.ones(x.shape, bool),
}
BOOLEAN: dict[str, Callable[..., Array]] = {
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "not": lambda x: ~x,
}


def _dot(a: Value, b: Value) -> Array:
    total = a[0] * b[0]
    for x, y in zip(a[1:], b[1:], strict=True):
        total = total + x * y
    return total


def _length(x: Value) -> Array:
    return np.sqrt(_dot(x, x))


def _normalize(x: Value) -> Value:
    length = _length(x)
    return [np.where(length == 0, x[0].dtype.type(0), part / length) for part in x]


def _reflect(x: Value, normal: Value) -> Value:
    twice = x[0].dtype.type(2) * _dot(normal, x)
    return [part - twice * n for part, n in zip(x, normal, strict=True)]


def _cross(a: Value, b: Value) -> Value:
    return [a[i] * b[j] - a[j] * b[i] for i, j in ((1, 2), (2, 0), (0, 1))]


VECTORS: dict[str, Callable[..., Value]] = {
    "dot": lambda a, b: [_dot(a, b)],
    "length": lambda x: [_length(x)],
    "distance": lambda a, b: [_length([x - y for x, y in zip(a, b, strict=True)])],
    "normalize": _normalize,
    "reflect": _reflect,
    "cross": _cross,
}
