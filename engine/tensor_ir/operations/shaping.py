"""Operations that only rearrange elements (reshape, transpose, concat, slice, pad), and axes of evaluated arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from warploom.engine.tensor_ir.errors import InvalidOperation, ShapeMismatch
from warploom.engine.tensor_ir.graph import TensorNode, TensorOperation
from warploom.engine.tensor_ir.types import TensorType, require_dense
from warploom.engine.types import Array, Shape

if TYPE_CHECKING:
    from warploom.engine.ops.graph import OpPort
    from warploom.engine.tensor_ir.lowering.elements import Element
    from warploom.engine.tensor_ir.lowering.places import Whole


@dataclass(frozen=True)
class Reshape(TensorOperation):
    """The same elements in another shape."""

    keeps_elements = True
    shape: Shape

    def result(self, *inputs: TensorType) -> TensorType:
        """Return the type with the new shape."""
        (given,) = inputs
        require_dense(given)
        if prod(self.shape) != given.size:
            raise ShapeMismatch(f"shape must have {given.size} elements, got {list(self.shape)}")
        return given.with_shape(self.shape)

    def evaluate(self, *inputs: Array) -> Array:
        """Compute the operation with numpy."""
        return inputs[0].reshape(len(inputs[0]), *self.shape)

    def backward(self, node: TensorNode, gradient: TensorNode) -> Sequence[TensorNode | None]:
        """Reshape the gradient to the operand's shape."""
        return [gradient.reshape(node.inputs[0].type.shape)]


class Moving(TensorOperation):
    """An operation that copies each element from a place in an operand, which its own place determines."""

    moves_elements = True

    def is_elementwise(self, node: TensorNode) -> bool:
        """Return True."""
        return True


@dataclass(frozen=True)
class Transpose(Moving):
    """An example with its axes in another order: axis i of the result is axis permutation[i] of the operand."""

    permutation: tuple[int, ...]

    def result(self, *inputs: TensorType) -> TensorType:
        """Return the type with the permuted sizes."""
        (given,) = inputs
        require_dense(given)
        if sorted(self.permutation) != list(range(len(given.shape))):
            raise ShapeMismatch(
                f"permutation must name each of {len(given.shape)} axes once, got {list(self.permutation)}"
            )
        return given.with_shape([given.shape[axis] for axis in self.permutation])

    def evaluate(self, *inputs: Array) -> Array:
        """Compute the operation with numpy."""
        return inputs[0].transpose(0, *(axis + 1 for axis in self.permutation))

    def backward(self, node: TensorNode, gradient: TensorNode) -> Sequence[TensorNode | None]:
        """Restore the gradient's order of axes."""
        back = sorted(range(len(self.permutation)), key=lambda axis: self.permutation[axis])
        return [gradient._apply(Transpose(tuple(back)), gradient)]

    def element(self, at: Element) -> OpPort:
        """Read the operand's element at the permuted position."""
        axes: list[Whole] = [0] * len(self.permutation)
        for axis, position in zip(self.permutation, at.place.axes, strict=True):
            axes[axis] = position
        return at.input(0, at.place.at(at.node.inputs[0].type.shape, axes))


@dataclass(frozen=True)
class Concat(Moving):
    """Tensors joined along an axis; all other sizes are equal."""

    axis: int

    def result(self, *inputs: TensorType) -> TensorType:
        """Return the type with the sizes along the axis added up."""
        if not inputs:
            raise InvalidOperation("Concat must have an operand, got none")
        require_dense(*inputs)
        first = inputs[0]
        for other in inputs:
            if other.dtype != first.dtype:
                raise InvalidOperation(f"operands must have one element type, got {first.dtype} and {other.dtype}")
            if not 0 <= self.axis < len(first.shape) or _without(other.shape, self.axis) != _without(
                first.shape, self.axis
            ):
                raise ShapeMismatch(
                    f"operands must have equal sizes but along axis {self.axis}, got {list(first.shape)} and "
                    f"{list(other.shape)}"
                )
        shape = list(first.shape)
        shape[self.axis] = sum(other.shape[self.axis] for other in inputs)
        return TensorType(tuple(shape), first.dtype, any(other.batched for other in inputs))

    def evaluate(self, *inputs: Array) -> Array:
        """Compute the operation with numpy."""
        (batch,) = np.broadcast_shapes(*(array.shape[:1] for array in inputs))
        whole = [np.broadcast_to(array, (batch, *array.shape[1:])) for array in inputs]
        return np.concatenate(whole, axis=self.axis + 1)

    def backward(self, node: TensorNode, gradient: TensorNode) -> Sequence[TensorNode | None]:
        """Return each operand's part of the gradient."""
        parts, start = [], 0
        for other in node.inputs:
            size = other.type.shape[self.axis]
            parts.append(slice_of(gradient, self.axis, start, size))
            start += size
        return parts

    def element(self, at: Element) -> OpPort:
        """Choose among the operands' elements by the position along the axis."""
        axes = at.place.axes
        position, start, found = axes[self.axis], 0, None
        for index, other in enumerate(node.type for node in at.node.inputs):
            axes[self.axis] = at.whole.subtract(position, start)
            value = at.input(index, at.place.at(other.shape, axes))
            if found is None:
                found = value
            else:
                found = at.op("select", condition=at.at_least(position, start), a=value, b=found)
            start += other.shape[self.axis]
        assert found is not None
        return found


@dataclass(frozen=True)
class Slice(Moving):
    """Elements at a step of `steps` from `starts` on, along each axis of an example; `sizes` is the result's shape."""

    starts: tuple[int, ...]
    sizes: tuple[int, ...]
    steps: tuple[int, ...]

    def result(self, *inputs: TensorType) -> TensorType:
        """Return the type with these sizes."""
        (given,) = inputs
        require_dense(given)
        if not len(self.starts) == len(self.sizes) == len(self.steps) == len(given.shape):
            raise ShapeMismatch(f"slice must have {len(given.shape)} axes, got {len(self.starts)}")
        for start, size, step, there in zip(self.starts, self.sizes, self.steps, given.shape, strict=True):
            last = start + (size - 1) * step
            if start < 0 or size < 0 or step < 1 or (size and last >= there):
                raise ShapeMismatch(f"slice must lie inside {there} elements, got {size} from {start} by {step}")
        return given.with_shape(self.sizes)

    def evaluate(self, *inputs: Array) -> Array:
        """Compute the operation with numpy."""
        cut = (
            slice(start, start + size * step, step)
            for start, size, step in zip(self.starts, self.sizes, self.steps, strict=True)
        )
        return inputs[0][(slice(None), *cut)]

    def backward(self, node: TensorNode, gradient: TensorNode) -> Sequence[TensorNode | None]:
        """Pad the gradient with zeros to the operand's shape."""
        given = node.inputs[0].type.shape
        reach = [(size - 1) * step + 1 if size else 0 for size, step in zip(self.sizes, self.steps, strict=True)]
        high = [there - start - far for there, start, far in zip(given, self.starts, reach, strict=True)]
        pad = Pad(self.starts, tuple(high), tuple(step - 1 for step in self.steps))
        return [gradient._apply(pad, gradient)]

    def element(self, at: Element) -> OpPort:
        """Read the operand's element at the position computed from starts and steps."""
        whole = at.whole
        steps = zip(at.place.axes, self.steps, self.starts, strict=True)
        axes = [whole.add(whole.multiply(position, step), start) for position, step, start in steps]
        return at.input(0, at.place.at(at.node.inputs[0].type.shape, axes))


@dataclass(frozen=True)
class Pad(Moving):
    """A tensor with elements of one value added: `low` in front, `high` behind, and `interior` between any two."""

    low: tuple[int, ...]
    high: tuple[int, ...]
    interior: tuple[int, ...]
    value: float = 0.0

    def result(self, *inputs: TensorType) -> TensorType:
        """Return the type with the enlarged sizes."""
        (given,) = inputs
        require_dense(given)
        if not len(self.low) == len(self.high) == len(self.interior) == len(given.shape):
            raise ShapeMismatch(f"padding must have {len(given.shape)} axes, got {len(self.low)}")
        if min((*self.low, *self.high, *self.interior), default=0) < 0:
            raise ShapeMismatch(f"padding must be at least 0, got {self.low}, {self.high}, {self.interior}")
        axes = zip(self.low, given.shape, self.high, self.interior, strict=True)
        return given.with_shape([low + size + max(size - 1, 0) * interior + high for low, size, high, interior in axes])

    def evaluate(self, *inputs: Array) -> Array:
        """Compute the operation with numpy."""
        (given,) = inputs
        axes = list(zip(self.low, given.shape[1:], self.high, self.interior, strict=True))
        shape = [low + size + max(size - 1, 0) * interior + high for low, size, high, interior in axes]
        padded = np.full((len(given), *shape), self.value, given.dtype)
        inside = (
            slice(low, low + size * (interior + 1), interior + 1) if size else slice(0, 0)
            for low, size, _, interior in axes
        )
        padded[(slice(None), *inside)] = given
        return padded

    def backward(self, node: TensorNode, gradient: TensorNode) -> Sequence[TensorNode | None]:
        """Return the gradient of the original elements."""
        back = Slice(self.low, node.inputs[0].type.shape, tuple(between + 1 for between in self.interior))
        return [gradient._apply(back, gradient)]

    def element(self, at: Element) -> OpPort:
        """Read the operand's element, or write the value where there is none."""
        whole, shape, value = at.whole, at.node.inputs[0].type.shape, at.constant(self.value, at.node.type.dtype)
        axes: list[Whole] = []
        conditions: list[OpPort] = []
        for position, low, size, high, between in zip(
            at.place.axes, self.low, shape, self.high, self.interior, strict=True
        ):
            end = low + (size - 1) * (between + 1) + 1
            axes.append(whole.divide(whole.subtract(position, low), between + 1))
            if low:
                conditions.append(at.at_least(position, low))
            if high:
                conditions.append(at.op("not", x=at.at_least(position, end)))
            if between:
                apart = whole.modulo(whole.subtract(position, low), between + 1)
                conditions.append(at.op("not", x=at.at_least(apart, 1)))
        found = at.input(0, at.place.at(shape, axes))
        for condition in conditions:
            found = at.op("select", condition=condition, a=found, b=value)
        return found


def slice_of(node: TensorNode, axis: int, start: int, size: int) -> TensorNode:
    """Return `size` elements along one axis, beginning at `start`."""
    shape = node.type.shape
    starts = tuple(start if at == axis else 0 for at in range(len(shape)))
    sizes = tuple(size if at == axis else there for at, there in enumerate(shape))
    return node._apply(Slice(starts, sizes, (1,) * len(shape)), node)


def _without(shape: Shape, axis: int) -> Shape:
    return shape[:axis] + shape[axis + 1 :]


def with_axes(array: Array, count: int) -> Array:
    """Return an array with `count` axes; axes of size 1 are inserted after the batch axis."""
    return array.reshape(array.shape[:1] + (1,) * (count - array.ndim) + array.shape[1:])


def aligned(arrays: Sequence[Array]) -> list[Array]:
    """Return arrays with equally many axes, so that they broadcast from the last axis on and along the batch."""
    count = max(array.ndim for array in arrays)
    return [with_axes(array, count) for array in arrays]
