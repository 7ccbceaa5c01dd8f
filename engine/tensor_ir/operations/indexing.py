"""Access to elements by index: gather, and its counterpart scatter-add.

An index out of range, such as -1, reads 0 and adds nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from warploom.engine.tensor_ir.errors import InvalidOperation, ShapeMismatch
from warploom.engine.tensor_ir.graph import TensorNode, TensorOperation
from warploom.engine.tensor_ir.lowering.sparse import write_scatter
from warploom.engine.tensor_ir.lowering.step import LoweringStep
from warploom.engine.tensor_ir.operations.reductions import for_each_example
from warploom.engine.tensor_ir.types import TensorType, require_dense
from warploom.engine.types import Array, s32, s64

if TYPE_CHECKING:
    from warploom.engine.ops.graph import OpPort
    from warploom.engine.tensor_ir.lowering.elements import Element


@dataclass(frozen=True)
class Gather(TensorOperation):
    """Elements, or slices, of the first operand along an axis, by the indices in the second.

    The axes of the indices replace the axis. Either operand may be batched: indices that aren't batched apply to every
    example, and a table that isn't batched is shared by all examples.
    """

    moves_elements = True

    axis: int

    def result(self, *inputs: TensorType) -> TensorType:
        """Return the type of the gathered elements."""
        given, indices = inputs
        require_dense(given)
        _require_indices(indices)
        if not 0 <= self.axis < len(given.shape):
            raise ShapeMismatch(f"axis must be at least 0 and below {len(given.shape)}, got {self.axis}")
        shape = (*given.shape[: self.axis], *indices.shape, *given.shape[self.axis + 1 :])
        return TensorType(shape, given.dtype, given.batched or indices.batched)

    def evaluate(self, *inputs: Array) -> Array:
        """Compute the operation with numpy."""
        given, indices = inputs
        size, batch = given.shape[self.axis + 1], _batch(inputs)
        rows = np.moveaxis(given, self.axis + 1, 1)
        rows = np.broadcast_to(rows, (batch, *rows.shape[1:]))
        numbers = np.broadcast_to(indices, (batch, *indices.shape[1:])).reshape(batch, indices[0].size)
        padded = np.concatenate([rows, np.zeros_like(rows, shape=(batch, 1, *rows.shape[2:]))], axis=1)
        inside = (numbers >= 0) & (numbers < size)
        found = padded[np.arange(batch)[:, np.newaxis], np.where(inside, numbers, size)]
        found = found.reshape(batch, *indices.shape[1:], *rows.shape[2:])
        return _moved(found, indices.ndim - 1, self.axis)

    def backward(self, node: TensorNode, gradient: TensorNode) -> Sequence[TensorNode | None]:
        """Add the gradient to the places that the elements came from."""
        given, indices = node.inputs
        summed = node.type.batched and not given.type.batched
        add = ScatterAdd(self.axis, given.type.shape[self.axis], sum_batch=summed)
        return gradient._apply(add, indices, gradient), None

    def is_elementwise(self, node: TensorNode) -> bool:
        """Return True."""
        return True

    def element(self, at: Element) -> OpPort:
        """Read the element at the index."""
        given, indices = (node.type for node in at.node.inputs)
        axes, end = at.place.axes, self.axis + len(indices.shape)
        index = at.input(1, at.place.at(indices.shape, axes[self.axis : end]))
        size = given.shape[self.axis]
        inside = at.op("and", a=at.op("greater_equal", a=index, b=0.0), b=at.op("less", a=index, b=float(size)))
        row = at.op("convert", x=index, type="u32")
        found = at.input(0, at.place.at(given.shape, [*axes[: self.axis], row, *axes[end:]]))
        return at.op("select", condition=inside, a=found, b=at.constant(0.0, given.dtype))


@dataclass(frozen=True)
class ScatterAdd(TensorOperation):
    """Zeros, `size` along an axis, plus slices of the second operand, added at the indices in the first.

    The axes of the indices are those of the updates from `axis` on. With `sum_batch`, the results of all examples are
    added up, and the result is not batched.
    """

    axis: int
    size: int
    sum_batch: bool = False

    def result(self, *inputs: TensorType) -> TensorType:
        """Return the type of the sums."""
        indices, updates = inputs
        require_dense(updates)
        _require_indices(indices)
        there = updates.shape[self.axis : self.axis + len(indices.shape)]
        if self.axis < 0 or self.axis > len(updates.shape) or there != indices.shape:
            raise ShapeMismatch(
                f"updates must have, from axis {self.axis} on, the indices' shape {list(indices.shape)}, got "
                f"{list(updates.shape)}"
            )
        batched = indices.batched or updates.batched
        if self.sum_batch and not batched:
            raise InvalidOperation(f"one operand must be batched to be summed over the batch, got {indices}, {updates}")
        shape = (*updates.shape[: self.axis], self.size, *updates.shape[self.axis + len(indices.shape) :])
        return TensorType(shape, updates.dtype, batched and not self.sum_batch)

    def evaluate(self, *inputs: Array) -> Array:
        """Compute the operation with numpy."""
        indices, updates = inputs
        batch, axes = _batch(inputs), indices.ndim - 1
        rows = np.moveaxis(updates, range(self.axis + 1, self.axis + 1 + axes), range(1, 1 + axes))
        rest = rows.shape[1 + axes :]
        rows = np.broadcast_to(rows, (batch, *rows.shape[1:])).reshape(batch, indices[0].size, *rest)
        numbers = np.broadcast_to(indices, (batch, *indices.shape[1:])).reshape(batch, indices[0].size)
        inside = (numbers >= 0) & (numbers < self.size)
        total = np.zeros((batch, self.size + 1, *rest), updates.dtype)
        np.add.at(total, (np.arange(batch)[:, np.newaxis], np.where(inside, numbers, self.size)), rows)
        total = np.moveaxis(total[:, : self.size], 1, self.axis + 1)
        return total.sum(axis=0, keepdims=True, dtype=total.dtype) if self.sum_batch else total

    def backward(self, node: TensorNode, gradient: TensorNode) -> Sequence[TensorNode | None]:
        """Return the gradient at each index."""
        indices, updates = node.inputs
        found = gradient._apply(Gather(self.axis), gradient, indices)
        return None, for_each_example(found, updates.type)

    def lower(self, step: LoweringStep) -> None:
        """Sort the indices, and add up the slices of each."""
        write_scatter(step, self.axis, self.size, sum_batch=self.sum_batch)


def _require_indices(indices: TensorType) -> None:
    if indices.nnz is not None or indices.dtype not in (s32, s64):
        raise InvalidOperation(f"indices must be dense, of s32 or s64, got {indices}")


def _batch(arrays: Sequence[Array]) -> int:
    """Return the size of the batch axis to which arrays broadcast."""
    return int(np.broadcast_shapes(*(array.shape[:1] for array in arrays))[0])


def _moved(array: Array, axes: int, to: int) -> Array:
    """Return an array in which the first axes after the batch axis are moved behind `to` other axes."""
    return np.moveaxis(array, range(1, 1 + axes), range(1 + to, 1 + to + axes))
