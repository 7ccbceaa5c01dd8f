"""`Layout`: how elements lie in a piece of memory."""

from math import prod

import msgspec

from warploom.engine.types.arrays import Shape
from warploom.engine.types.dtype import DType

#: Every allocation's address is a multiple of this many bytes.
ALLOCATION_ALIGNMENT = 256


def contiguous_strides(shape: Shape) -> tuple[int, ...]:
    """Return the strides, in elements, of a contiguous buffer in row-major order."""
    strides = []
    step = 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


class Layout(msgspec.Struct, frozen=True, gc=False):
    """The element type, shape and strides of an array.

    `strides` are the distances of neighbours along each axis in elements; None means that the elements lie without
    gaps, the last axis densest. The address of the first element is a multiple of `alignment` bytes.
    """

    dtype: DType
    shape: Shape
    strides: tuple[int, ...] | None = None
    alignment: int = ALLOCATION_ALIGNMENT

    def __str__(self) -> str:
        """Return the element type with the shape, "f32[4, 3]", and the strides where there are gaps."""
        strides = "" if self.strides is None else f" with strides {list(self.strides)}"
        return f"{self.dtype}{list(self.shape)}{strides}"

    @property
    def size_bytes(self) -> int:
        """Bytes of all elements."""
        return prod(self.shape) * self.dtype.size_bytes

    @property
    def span_bytes(self) -> int:
        """Bytes from the start of the first element to the end of the last one, gaps included."""
        if self.strides is None:
            return self.size_bytes
        last = sum((size - 1) * stride for size, stride in zip(self.shape, self.strides, strict=True))
        return (last + 1) * self.dtype.size_bytes

    @property
    def element_strides(self) -> tuple[int, ...]:
        """The strides in elements, those of a layout without gaps too."""
        return contiguous_strides(self.shape) if self.strides is None else self.strides


def strided_layout(dtype: DType, shape: Shape, strides: tuple[int, ...], alignment: int) -> Layout:
    """Return a layout with these strides, which become None when they leave no gaps."""
    dense = contiguous_strides(shape)
    # An axis with one position has no neighbours, so its stride means nothing.
    gaps = any(size > 1 and a != b for size, a, b in zip(shape, strides, dense, strict=True))
    return Layout(dtype, shape, strides if gaps else None, alignment)
