"""The kernels of the library's blocks in numpy, bit for bit.

PTX does not define which NaN an f32 operation gives, and devices differ; `ANY_NAN` stands for all of them. A NaN that
is only moved keeps its bits.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from warploom.blocks.arithmetic.add import Add
from warploom.blocks.arithmetic.compare import OPERATIONS, comparison
from warploom.blocks.arithmetic.multiply import Multiply
from warploom.blocks.arithmetic.scale_offset import ScaleOffset
from warploom.blocks.buffer.constant import constant
from warploom.blocks.buffer.element_types import NUMBERS
from warploom.blocks.reduce.shares import reduction
from warploom.engine.types import Array

#: No source of a test has these bits.
ANY_NAN = np.uint32(0x7FFFFFFF).view(np.float32)


def agrees(found: Array, expected: Array) -> bool:
    """Return whether the arrays have the same bits; `ANY_NAN` in the expected one stands for any NaN."""
    if (found.dtype, found.shape) != (expected.dtype, expected.shape):
        return False
    if found.dtype != np.float32:
        return np.array_equal(found, expected)
    same = _bits(found) == _bits(expected)
    return bool(np.all(same | ((_bits(expected) == _bits(ANY_NAN)) & np.isnan(found))))


def in_order(array: Array) -> Array:
    """Return f32 numbers in the order of their bits, each NaN as `ANY_NAN`."""
    return np.sort(np.where(np.isnan(array), ANY_NAN, array).view(np.uint32)).view(np.float32)


def _bits(array: Any) -> Array:
    return np.ascontiguousarray(array).view(np.uint32).reshape(np.shape(array))


def _result(values: Any) -> Array:
    """Return the result of an operation as f32."""
    rounded = np.asarray(values).astype(np.float32)
    return np.where(np.isnan(rounded), ANY_NAN, rounded)


def _fused(a: Any, b: Any, c: Any) -> Array:
    """Return `a * b + c`, rounded once: in f64 the product is exact, and the sum is rounded to odd before f32."""
    a, b, c = (np.asarray(value, np.float32).astype(np.float64) for value in (a, b, c))
    product = a * b
    total = np.asarray(product + c)
    part = total - product
    rest = (product - (total - part)) + (c - part)
    is_even = total.view(np.int64) % 2 == 0
    inexact = np.isfinite(rest) & (rest != 0) & is_even
    total = np.where(inexact, np.nextafter(total, np.copysign(np.inf, rest)), total)
    return _result(total)


def _add(x: Array, y: Array, out: Array, *_: Any) -> None:
    out[...] = _result(x + y)


def _multiply(x: Array, y: Array, out: Array, *_: Any) -> None:
    out[...] = _result(x * y)


def _scale_offset(x: Array, out: Array, _: int, scale: float, offset: float) -> None:
    out[...] = _fused(scale, x, offset)


def _saxpy(x: Array, y: Array, out: Array, a: float, *_: Any) -> None:
    out[...] = _fused(a, x, y)


def _bump(x: Array, amount: float, *_: Any) -> None:
    x[...] = _result(x + np.float32(amount))


def _copy_strided(x: Array, out: Array, *_: Any) -> None:
    out[...] = x


def _select(condition: Array, _: Any, element: int, a: Array, b: Array, out: Array, *__: Any) -> None:
    out[...] = a if condition.flat[element] else b


def _constant(out: Array, _: int, value: float) -> None:
    out[...] = np.float64(value).astype(out.dtype)


def _compare(name: str) -> Callable[..., None]:
    compare = getattr(np, name.replace(" or ", "_").replace("not ", "not_"))

    def kernel(x: Array, y: Array, out: Array, _: int, __: Any, ___: Any, value: float) -> None:
        out[...] = compare(x.astype(np.float64), y.astype(np.float64) if y.size else value)

    return kernel


def _every(calls: Array, due: Array, period: int) -> None:
    due[...] = calls % np.uint32(period) == 0
    calls[...] = (calls + np.uint32(1)) % np.uint32(period)


def _reduced(both: Callable[[float, float], float], none: float) -> tuple[Callable[..., None], Callable[..., None]]:
    """Return the two kernels of a reduction of few elements: 256 threads, then pairs of their results."""

    def reduce(values: Any) -> float:
        found = [none] * 256
        for position, value in enumerate(values):
            found[position % 256] = both(found[position % 256], float(value))
        while len(found) > 1:
            half = len(found) // 2
            found = [both(a, b) for a, b in zip(found[:half], found[half:], strict=True)]
        return found[0]

    def share(x: Array, parts: Array, *_: Any) -> None:
        assert parts.size == 1
        parts[...] = reduce(x.flat)

    def whole(parts: Array, out: Array, *_: Any) -> None:
        out[...] = _result(reduce(parts))

    return share, whole


def _count_true(x: Array, parts: Array, *_: Any) -> None:
    assert parts.size == 1
    parts[...] = np.count_nonzero(x)


def _total(parts: Array, out: Array, *_: Any) -> None:
    out[...] = parts.sum(dtype=np.uint32)


def _negate(x: Array, out: Array, *_: Any) -> None:
    out[...] = _result(-x)


def _keep(x: Array, least: float, out: Array, counter: Array, *_: Any) -> None:
    found = x.ravel()[~(x.ravel() < np.float32(least))]
    counter[...] += np.uint32(found.size)
    out[: found.size] = found


def _count_appended(counter: Array, count: Array, capacity: int) -> None:
    count[...] = min(int(counter[0]), capacity)


def _digest(x: Array, count: Array, out: Array) -> None:
    found = in_order(x[: count[0]]).view(np.uint32)
    out[...] = np.bitwise_xor.reduce(found), found.sum(dtype=np.uint32)


def _kernels(
    operation: str,
    both: tuple[Callable[..., None], Callable[..., None]],
    reads: str = "number",
    parts: str = "f64",
    out: str = "f32",
) -> dict[str, Callable[..., None]]:
    """Return the two kernels of a reduction by their op graphs."""
    share, whole = reduction(operation, "x", reads, "parts", parts), reduction(operation, "parts", parts, "out", out)
    return {share.graph: both[0], whole.graph: both[1]}


_SUM = _reduced(lambda a, b: a + b, 0.0)
_LARGEST = _reduced(lambda a, b: b if b > a or b != b else a, -np.inf)
_SMALLEST = _reduced(lambda a, b: b if b < a or b != b else a, np.inf)


def _begin_with(first: Array, out: Array, begun: Array, *given: Any) -> None:
    if not begun.any():
        out[...] = first


def _has_begun(begun: Array) -> None:
    begun[...] = 1


#: The interpreter's functions, by kernel.
KERNELS: dict[str, Callable[..., None]] = {
    Add.graph.graph: _add,
    Multiply.graph.graph: _multiply,
    ScaleOffset.graph.graph: _scale_offset,
    "saxpy": _saxpy,
    "bump": _bump,
    "copy_strided": _copy_strided,
    "select": _select,
    **{constant(dtype).graph: _constant for dtype in NUMBERS.values()},
    **{comparison(op).graph: _compare(name) for name, op in OPERATIONS.items()},
    "every": _every,
    **_kernels("add", _SUM),
    **_kernels("maximum", _LARGEST, parts="f32"),
    **_kernels("minimum", _SMALLEST, parts="f32"),
    **_kernels("add", (_count_true, _total), "any", "u32", "u32"),
    "negate": _negate,
    "keep": _keep,
    "count_appended": _count_appended,
    "digest": _digest,
    "begin_with": _begin_with,
    "has_begun": _has_begun,
}
