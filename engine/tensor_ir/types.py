"""`TensorType`: the facts of a tensor before it is computed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from math import prod

import msgspec

from engine.tensor_ir.errors import InvalidOperation, ShapeMismatch
from engine.types import DType, Shape, bf16, f16, f32, f64, s32

#: The element types that can have gradients.
FLOATS: tuple[DType, ...] = (f16, bf16, f32, f64)


class TensorType(msgspec.Struct, frozen=True, gc=False):
    """Shape and element type of a tensor.

    `shape` is that of one example of a batch; a `batched` tensor has one more axis in front, whose size is set when the
    graph is executed. With `nnz`, it is a sparse column [n, 1] of at most so many ones, stored as their row numbers:
    s32[nnz], with -1 where there are fewer.
    """

    shape: Shape
    dtype: DType = f32
    batched: bool = False
    nnz: int | None = None

    def __str__(self) -> str:
        """As in "f32[768, 1], batched, 32 nonzero"."""
        words = [f"{self.dtype}{list(self.shape)}"]
        words += ["batched"] * self.batched
        words += [f"{self.nnz} nonzero"] * (self.nnz is not None)
        return ", ".join(words)

    @property
    def size(self) -> int:
        """Number of elements of one example."""
        return prod(self.shape)

    @property
    def stored_shape(self) -> Shape:
        """The shape in memory, less the batch axis: a column [n, 1] is stored as a vector [n]."""
        if self.nnz is not None:
            return (self.nnz,)
        return self.shape[:1] if len(self.shape) == 2 and self.shape[1] == 1 else self.shape

    @property
    def stored_dtype(self) -> DType:
        """The element type in memory: a sparse column is stored as row numbers."""
        return self.dtype if self.nnz is None else s32

    def with_shape(self, shape: Sequence[int]) -> TensorType:
        """Return the type of another tensor of the same elements and batch."""
        return TensorType(tuple(shape), self.dtype, self.batched)


def broadcast_shapes(*shapes: Shape) -> Shape:
    """Return the shape to which all of these can be broadcast, as numpy does it; ShapeMismatch when there is none."""
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
    """InvalidOperation unless all tensors are dense."""
    for type_ in given:
        if type_.nnz is not None:
            raise InvalidOperation(f"operands must be dense, got {type_}")


def require_floats(*given: TensorType) -> None:
    """InvalidOperation unless all tensors are dense and of one type of floats."""
    require_dense(*given)
    for type_ in given:
        if type_.dtype not in FLOATS:
            raise InvalidOperation(f"operands must be floats, got {type_.dtype}; cast them")
        if type_.dtype != given[0].dtype:
            raise InvalidOperation(
                f"operands must have one element type, got {given[0].dtype} and {type_.dtype}; cast one"
            )
