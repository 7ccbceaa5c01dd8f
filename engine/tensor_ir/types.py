"""`TensorType`: the facts about a tensor that are known in advance. Also shapes and indices as people write them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import zip_longest
from math import isfinite, prod
from numbers import Real
from operator import index as whole
from types import EllipsisType
from typing import Any, SupportsIndex

import msgspec

from warploom.engine.descriptions.checks import shown
from warploom.engine.tensor_ir.errors import InvalidOperation, ShapeMismatch
from warploom.engine.types import DType, Shape, bf16, f16, f32, f64, s32

#: The element types that can have gradients.
FLOATS: tuple[DType, ...] = (f16, bf16, f32, f64)


class TensorType(msgspec.Struct, frozen=True, gc=False):
    """Shape and element type of a tensor.

    `shape` is that of one example. A `batched` tensor has one more axis in front, whose size is set when the graph
    runs. With `nnz`, it is a sparse column [n, 1] with at most `nnz` ones. It is stored as their row numbers: s32[nnz],
    which end at -1.
    """

    shape: Shape
    dtype: DType = f32
    batched: bool = False
    nnz: int | None = None

    def __str__(self) -> str:
        """Return text such as "f32[768, 1], batched, 32 nonzero"."""
        words = [f"{self.dtype}{list(self.shape)}"]
        words += ["batched"] * self.batched
        words += [f"{self.nnz} nonzero"] * (self.nnz is not None)
        return ", ".join(words)

    @property
    def size(self) -> int:
        """The number of elements of one example."""
        return prod(self.shape)

    @property
    def stored_shape(self) -> Shape:
        """The shape in memory without the batch axis: a column [n, 1] is stored as a vector [n]."""
        if self.nnz is not None:
            return (self.nnz,)
        return self.shape[:1] if len(self.shape) == 2 and self.shape[1] == 1 else self.shape

    @property
    def stored_dtype(self) -> DType:
        """The element type in memory: a sparse column is stored as row numbers."""
        return self.dtype if self.nnz is None else s32

    def with_shape(self, shape: Sequence[int]) -> TensorType:
        """Return the type with another shape, and the same element type and batch."""
        return TensorType(tuple(shape), self.dtype, self.batched)


def broadcast_shapes(*shapes: Shape) -> Shape:
    """Return the shape that all of these broadcast to, by numpy's rules. Raise ShapeMismatch when there is none."""
    if all(shape == shapes[0] for shape in shapes):
        return shapes[0] if shapes else ()
    sizes = []
    for axis in zip_longest(*(shape[::-1] for shape in shapes), fillvalue=1):
        others = {size for size in axis if size != 1}
        if len(others) > 1:
            raise ShapeMismatch(f"shapes must broadcast to one, got {' and '.join(str(list(s)) for s in shapes)}")
        sizes.append(others.pop() if others else 1)
    return tuple(sizes[::-1])


def require_dense(*given: TensorType) -> None:
    """Raise InvalidOperation unless all tensors are dense."""
    for type_ in given:
        if type_.nnz is not None:
            raise InvalidOperation(f"operands must be dense, got {type_}")


def require_floats(*given: TensorType) -> None:
    """Raise InvalidOperation unless all tensors are dense and have one type of floats."""
    require_dense(*given)
    for type_ in given:
        if type_.dtype not in FLOATS:
            raise InvalidOperation(f"operands must be floats, got {type_.dtype}; cast them")
        if type_.dtype != given[0].dtype:
            raise InvalidOperation(
                f"operands must have one element type, got {given[0].dtype} and {type_.dtype}; cast one"
            )


def whole_number(subject: str, value: SupportsIndex) -> int:
    """Return a whole number of any integer type. For anything else, raise InvalidOperation with the subject."""
    try:
        return whole(value)
    except TypeError:
        raise InvalidOperation(f"{subject} must be a whole number, got {value!r}") from None


def real_number(subject: str, value: object, *, finite: bool = True) -> float:
    """Return a real number, by default a finite one. For anything else, raise InvalidOperation with the subject."""
    if isinstance(value, Real) and (not finite or isfinite(value)):
        return float(value)
    raise InvalidOperation(f"{subject} must be a {'finite ' * finite}number, got {shown(value)}")


def whole_numbers(subject: str, values: Iterable[Any]) -> tuple[int, ...]:
    """Return whole numbers of any integer type. For anything else, raise ShapeMismatch with the subject."""
    try:
        return tuple(map(whole, values))
    except TypeError:
        raise ShapeMismatch(f"{subject} must be a sequence of whole numbers, got {values!r}") from None


def whole_shape(sizes: Sequence[int], count: int) -> Shape:
    """Return a shape; a size of -1 is computed from the number of elements. Raise ShapeMismatch if none fits."""
    if sizes.count(-1) > 1 or any(size < -1 for size in sizes):
        raise ShapeMismatch(f"shape must have sizes of which one may be -1, got {list(sizes)}")
    known = prod(size for size in sizes if size != -1)
    if -1 in sizes and (known == 0 or count % known):
        raise ShapeMismatch(f"shape must share out {count} elements, got {list(sizes)}")
    return tuple(count // known if size == -1 else size for size in sizes)


def indexed(
    index: Sequence[int | slice | EllipsisType], shape: Shape
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], Shape]:
    """Return starts, sizes and steps of a numpy index into a shape, and the shape without the axes of ints."""
    if list(map(type, index)).count(EllipsisType) > 1 or len(index) - (... in index) > len(shape):
        raise ShapeMismatch(f"index must have at most {len(shape)} axes and one ellipsis, got {list(index)}")
    at = index.index(...) if ... in index else len(index)
    missing = [slice(None)] * (len(shape) - len(index) + (... in index))
    starts, sizes, steps, kept = [], [], [], []
    for each, there in zip([*index[:at], *missing, *index[at + 1 :]], shape, strict=True):
        if isinstance(each, slice):
            try:
                start, stop, step = each.indices(there)
            except TypeError:
                raise InvalidOperation(f"slice must have whole numbers, got {each}") from None
            if step < 1:
                raise InvalidOperation(f"step of an index must be above 0, got {step}")
            size = len(range(start, stop, step))
            kept.append(size)
        elif isinstance(each, SupportsIndex) and -there <= int(each) < there:
            start, size, step = int(each) % there, 1, 1
        else:
            raise ShapeMismatch(f"index must be a slice or a number below {there}, got {each!r}")
        starts.append(start if size else 0)
        sizes.append(size)
        steps.append(step)
    return tuple(starts), tuple(sizes), tuple(steps), tuple(kept)
