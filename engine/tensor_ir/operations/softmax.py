"""Softmax and its logarithm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.tensor_ir.errors import ShapeMismatch
from engine.tensor_ir.graph import TensorNode, TensorOperation
from engine.tensor_ir.lowering.reducing import write_softmax
from engine.tensor_ir.lowering.step import LoweringStep
from engine.tensor_ir.types import TensorType, require_floats
from engine.types import Array


@dataclass(frozen=True)
class Softmax(TensorOperation):
    """exp(x) along an axis of an example, divided by its sum."""

    axis: int

    def result(self, *inputs: TensorType) -> TensorType:
        """Return the operand's type."""
        return _result(self.axis, *inputs)

    def evaluate(self, *inputs: Array) -> Array:
        """Compute the operation with numpy; the largest element is subtracted first to prevent overflow."""
        size = np.exp(_below_largest(inputs[0], self.axis))
        found: Array = size / size.sum(axis=self.axis + 1, keepdims=True)
        return found

    def backward(self, node: TensorNode, gradient: TensorNode) -> Sequence[TensorNode | None]:
        """Return y * (g - sum(g * y)) for the result y."""
        return [node * (gradient - (gradient * node).sum(self.axis, keepdims=True))]

    def lower(self, step: LoweringStep) -> None:
        """One kernel."""
        write_softmax(step, self.axis, logarithm=False)


@dataclass(frozen=True)
class LogSoftmax(TensorOperation):
    """The logarithm of softmax, computed without softmax, so that it is finite where that is 0."""

    axis: int

    def result(self, *inputs: TensorType) -> TensorType:
        """Return the operand's type."""
        return _result(self.axis, *inputs)

    def evaluate(self, *inputs: Array) -> Array:
        """Compute the operation with numpy."""
        below = _below_largest(inputs[0], self.axis)
        found: Array = below - np.log(np.exp(below).sum(axis=self.axis + 1, keepdims=True))
        return found

    def backward(self, node: TensorNode, gradient: TensorNode) -> Sequence[TensorNode | None]:
        """Return g - softmax * sum(g)."""
        return [gradient - node.exp() * gradient.sum(self.axis, keepdims=True)]

    def lower(self, step: LoweringStep) -> None:
        """One kernel."""
        write_softmax(step, self.axis, logarithm=True)


def _result(axis: int, given: TensorType) -> TensorType:
    require_floats(given)
    if not 0 <= axis < len(given.shape):
        raise ShapeMismatch(f"axis must be at least 0 and below {len(given.shape)}, got {axis}")
    return given


def _below_largest(array: Array, axis: int) -> Array:
    below: Array = array - array.max(axis=axis + 1, keepdims=True, initial=-np.inf)
    return below
