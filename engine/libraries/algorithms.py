"""Lists in order, running totals and counts: all elements of a buffer without gaps, whatever its shape."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from warploom.engine.libraries.call import LibraryCall, OperandError
from warploom.engine.types import DType, bf16, boolean, f16, f32, f64, s8, s16, s32, s64, u8, u16, u32, u64
from warploom.engine.types.layout import Layout

#: The elements of lists.
NUMBERS: tuple[DType, ...] = (f32, f64, f16, bf16, u8, u16, u32, u64, s8, s16, s32, s64, boolean)
#: The combinations of `Scan`.
SCANS = ("sum", "product", "smallest", "largest")
#: Positions are u32.
MOST = 1 << 32


class _List(LibraryCall):
    """The common part of the calls, whose input is `x`."""

    library = "algorithms"
    inputs = ("x",)
    outputs = ("out",)

    def _size(self, inputs: Mapping[str, Layout], accepted: tuple[DType, ...]) -> int:
        """Return the number of elements. Raise OperandError if they are of another type, or have gaps."""
        x = inputs["x"]
        if x.dtype not in accepted:
            raise OperandError("x", f"elements must be one of {', '.join(map(str, accepted))}, got {x.dtype}")
        if x.strides is not None:
            raise OperandError("x", f"elements must have no gaps, got {x}; put a Copy before it")
        size = prod(x.shape)
        if size >= MOST:
            raise OperandError("x", f"elements must be fewer than {MOST}, got {size}")
        return size


@dataclass(frozen=True)
class Sort(_List):
    """out [n] = the elements of x in ascending or descending order; NaN is last in both, and -0 is below 0."""

    descending: bool = False

    def results(self, inputs: Mapping[str, Layout]) -> dict[str, Layout]:
        """Return the layout of the sorted list."""
        return {"out": Layout(inputs["x"].dtype, (self._size(inputs, NUMBERS),))}


@dataclass(frozen=True)
class Order(_List):
    """out [n] = the positions of the elements of x, u32, in the order of `Sort`.

    Equal elements, with -0 and 0 among them, and all NaN, stay in the order that they have.
    """

    descending: bool = False

    def results(self, inputs: Mapping[str, Layout]) -> dict[str, Layout]:
        """Return the layout of the positions."""
        return {"out": Layout(u32, (self._size(inputs, NUMBERS),))}


@dataclass(frozen=True)
class Scan(_List):
    """out [n] = the sum, product, smallest or largest of each element of x and those before it.

    If `exclusive`, only those before it count, and the first result is that of no elements: 0, 1, the largest number of
    the type, or the smallest. Whole numbers wrap, and booleans count as u32. Sums and products of floats are computed
    in f64, always in the same order; on a GPU, a product that leaves the range of f64 may be NaN. A smallest or largest
    with a NaN is NaN.
    """

    operation: str = "sum"
    exclusive: bool = False

    choices = {"operation": SCANS}  # noqa: RUF012 - never changed

    def results(self, inputs: Mapping[str, Layout]) -> dict[str, Layout]:
        """Return the layout of the running totals."""
        size, dtype = self._size(inputs, NUMBERS), inputs["x"].dtype
        return {"out": Layout(u32 if dtype == boolean else dtype, (size,))}


@dataclass(frozen=True)
class Histogram(_List):
    """out [bins] = how often each of the numbers 0 to bins - 1 is in x, both u32; other numbers are left out."""

    bins: int = 1

    def results(self, inputs: Mapping[str, Layout]) -> dict[str, Layout]:
        """Return the layout of the counts."""
        self._size(inputs, (u32,))
        return {"out": Layout(u32, (self.bins,))}
