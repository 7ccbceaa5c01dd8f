"""Reductions over axes and over the batch, their counterpart, which repeats a tensor, and softmax."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import msgspec
import numpy as np

from warploom.engine.tensor_ir.errors import InvalidOperation, ShapeMismatch
from warploom.engine.tensor_ir.graph import TensorNode, TensorOperation
from warploom.engine.tensor_ir.lowering.reducing import (
    Axis,
    is_whole,
    memory_axes,
    write_axes,
    write_softmax,
    write_whole,
)
from warploom.engine.tensor_ir.lowering.step import LoweringStep
from warploom.engine.tensor_ir.operations.shaping import Reshape, with_axes
from warploom.engine.tensor_ir.types import TensorType, broadcast_shapes, require_floats
from warploom.engine.types import Array

if TYPE_CHECKING:
    from warploom.engine.ops.graph import OpPort
    from warploom.engine.tensor_ir.lowering.elements import Element


#: The kinds of reductions.
Reduction = Literal["sum", "max", "min"]
_NUMPY: Mapping[Reduction, Callable[..., Array]] = {
    "sum": np.add.reduce,
    "max": np.maximum.reduce,
    "min": np.minimum.reduce,
}


@dataclass(frozen=True)
class _Reduction(TensorOperation):
    """A reduction. The gradient of a maximum or minimum is shared equally by all elements that attain it."""

    operation: Reduction

    def backward(self, node: TensorNode, gradient: TensorNode) -> Sequence[TensorNode | None]:
        """Repeat the gradient along the reduced axes."""
        (given,) = node.inputs
        if self.operation == "sum":
            return [broadcast_to(gradient, given.type)]
        is_found = given.equal(node).cast(given.type.dtype)
        return [is_found * (gradient / is_found._apply(dataclasses.replace(self, operation="sum"), is_found))]

    def takes_elements(self, node: TensorNode) -> bool:
        """Return whether all elements are reduced to one, or those of each example."""
        return is_whole(node)

    def lower(self, step: LoweringStep) -> None:
        """Write two kernels if everything is reduced, and otherwise one or two for each run of axes."""
        if is_whole(step.node):
            write_whole(step, self.operation)
            return
        given = step.node.inputs[0].type
        write_axes(step, step.input(0), self._memory_axes(step, given), self.operation, given.dtype)

    @abstractmethod
    def _memory_axes(self, step: LoweringStep, given: TensorType) -> list[Axis]: ...


@dataclass(frozen=True)
class Reduce(_Reduction):
    """The sum, the largest or the smallest over some axes of an example, which stay with size 1."""

    axes: tuple[int, ...]

    @property
    def label(self) -> str:
        """The operation's name, such as "ReduceSum"."""
        return f"Reduce{self.operation.capitalize()}"

    def result(self, *inputs: TensorType) -> TensorType:
        """Return the type with size 1 on the reduced axes."""
        (given,) = inputs
        _require_numbers(given)
        for axis in self.axes:
            if not 0 <= axis < len(given.shape):
                raise ShapeMismatch(f"axes must be at least 0 and below {len(given.shape)}, got {axis}")
        return given.with_shape([1 if axis in self.axes else size for axis, size in enumerate(given.shape)])

    def evaluate(self, *inputs: Array) -> Array:
        """Compute the operation with numpy."""
        axes = tuple(axis + 1 for axis in self.axes)
        return _NUMPY[self.operation](inputs[0], axis=axes, keepdims=True, dtype=inputs[0].dtype)

    def _memory_axes(self, step: LoweringStep, given: TensorType) -> list[Axis]:
        return memory_axes(step, given, [axis in self.axes for axis in range(len(given.shape))], batch=False)


@dataclass(frozen=True)
class ReduceAcrossBatch(_Reduction):
    """The sum of all examples, or in each place the largest or the smallest of all."""

    operation: Reduction = "sum"

    def result(self, *inputs: TensorType) -> TensorType:
        """Return the type of one example."""
        (given,) = inputs
        _require_numbers(given)
        if not given.batched:
            raise InvalidOperation(f"node to reduce across the batch must be batched, got {given}")
        return TensorType(given.shape, given.dtype)

    def evaluate(self, *inputs: Array) -> Array:
        """Compute the operation with numpy."""
        return _NUMPY[self.operation](inputs[0], axis=0, keepdims=True, dtype=inputs[0].dtype)

    def _memory_axes(self, step: LoweringStep, given: TensorType) -> list[Axis]:
        return memory_axes(step, given, [False] * len(given.shape), batch=True)


@dataclass(frozen=True)
class BroadcastTo(TensorOperation):
    """The tensor repeated along axes of size 1, along new axes in front, and for each example of the batch."""

    type: TensorType

    def result(self, *inputs: TensorType) -> TensorType:
        """Return the requested type."""
        (given,) = inputs
        if given.batched and not self.type.batched:
            raise InvalidOperation(f"a batched tensor must stay batched, got {self.type}")
        if given.dtype != self.type.dtype or given.nnz is not None:
            raise InvalidOperation(f"operand must be dense and {self.type.dtype}, got {given}")
        if broadcast_shapes(given.shape, self.type.shape) != self.type.shape:
            raise ShapeMismatch(f"{list(given.shape)} must be a part of {list(self.type.shape)} to be broadcast to it")
        return self.type

    def evaluate(self, *inputs: Array) -> Array:
        """Compute the operation with numpy; the caller repeats the result along the batch."""
        (given,) = inputs
        return np.broadcast_to(with_axes(given, len(self.type.shape) + 1), (len(given), *self.type.shape))

    def backward(self, node: TensorNode, gradient: TensorNode) -> Sequence[TensorNode | None]:
        """Return the gradient, which the caller sums."""
        return [gradient]

    def is_elementwise(self, node: TensorNode) -> bool:
        """Return True."""
        return True

    def element(self, at: Element) -> OpPort:
        """Return the operand's element."""
        return at.input(0)


def _require_numbers(given: TensorType) -> None:
    if given.nnz is not None or given.dtype.kind not in ("float", "integer"):
        raise InvalidOperation(f"node to reduce must hold dense numbers, got {given}")


def for_each_example(node: TensorNode, to: TensorType) -> TensorNode:
    """Return a node, repeated for each example if it is the gradient of a batched operand of type `to`."""
    return broadcast_to(node, msgspec.structs.replace(node.type, batched=True)) if to.batched else node


def broadcast_to(node: TensorNode, to: TensorType) -> TensorNode:
    """Return a node repeated to a type, or the node itself if it has the type."""
    return node if node.type == to else node._apply(BroadcastTo(to), node)


def sum_to(node: TensorNode, to: TensorType) -> TensorNode:
    """Return a node's sum over the batch and the axes that a tensor of type `to` was broadcast along."""
    extra = len(node.type.shape) - len(to.shape)
    repeated = [
        axis for axis, size in enumerate(node.type.shape) if axis < extra or (to.shape[axis - extra] == 1 and size != 1)
    ]
    if repeated:
        node = node._apply(Reduce("sum", tuple(repeated)), node)
    if node.type.batched and not to.batched:
        node = node._apply(ReduceAcrossBatch(), node)
    return node._apply(Reshape(to.shape), node) if extra > 0 else node


@dataclass(frozen=True)
class Softmax(TensorOperation):
    """exp(x) along an axis of an example, divided by its sum."""

    axis: int

    def result(self, *inputs: TensorType) -> TensorType:
        """Return the operand's type."""
        (given,) = inputs
        require_floats(given)
        if not 0 <= self.axis < len(given.shape):
            raise ShapeMismatch(f"axis must be at least 0 and below {len(given.shape)}, got {self.axis}")
        return given

    def evaluate(self, *inputs: Array) -> Array:
        """Compute the operation with numpy; the largest element is subtracted first to prevent overflow."""
        size = np.exp(_below_largest(inputs[0], self.axis))
        found: Array = size / size.sum(axis=self.axis + 1, keepdims=True)
        return found

    def backward(self, node: TensorNode, gradient: TensorNode) -> Sequence[TensorNode | None]:
        """Return y * (g - sum(g * y)) for the result y."""
        return [node * (gradient - (gradient * node).sum(self.axis, keepdims=True))]

    def lower(self, step: LoweringStep) -> None:
        """Write one kernel."""
        write_softmax(step, self.axis, logarithm=isinstance(self, LogSoftmax))


@dataclass(frozen=True)
class LogSoftmax(Softmax):
    """The logarithm of softmax, computed directly, so that it is finite where softmax rounds to 0."""

    def evaluate(self, *inputs: Array) -> Array:
        """Compute the operation with numpy."""
        below = _below_largest(inputs[0], self.axis)
        found: Array = below - np.log(np.exp(below).sum(axis=self.axis + 1, keepdims=True))
        return found

    def backward(self, node: TensorNode, gradient: TensorNode) -> Sequence[TensorNode | None]:
        """Return g - softmax * sum(g)."""
        return [gradient - node.exp() * gradient.sum(self.axis, keepdims=True)]


def _below_largest(array: Array, axis: int) -> Array:
    below: Array = array - array.max(axis=axis + 1, keepdims=True, initial=-np.inf)
    return below
