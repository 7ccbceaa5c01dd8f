"""Reductions over axes and over the batch, and their counterpart, which repeats a tensor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.tensor_graphs.errors import InvalidOperation
from engine.tensor_graphs.graph import Node, Operation
from engine.tensor_graphs.types import TensorType, broadcast_shapes

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class ReduceSum(Operation):
    """The sum over some axes, which stay with size 1."""

    axes: tuple[int, ...]

    def result(self, *inputs: TensorType) -> TensorType:
        """Return the type with those axes of size 1."""
        (given,) = inputs
        return given.with_shape([1 if axis in self.axes else size for axis, size in enumerate(given.shape)])

    def evaluate(self, *inputs: Array) -> Array:
        """Compute it with numpy. Axes count from the last one, as a batch axis may be in front."""
        (given,) = inputs
        raise NotImplementedError

    def backward(self, node: Node, gradient: Node) -> Sequence[Node | None]:
        """Repeat the gradient along the axes."""
        return [_broadcast(gradient, node.inputs[0].type)]


@dataclass(frozen=True)
class ReduceAcrossBatch(Operation):
    """The sum of all examples."""

    def result(self, *inputs: TensorType) -> TensorType:
        """Return the type of one example."""
        (given,) = inputs
        if not given.batched:
            raise InvalidOperation(f"what is reduced across the batch must be batched, got {given}")
        return TensorType(given.shape, given.dtype)

    def evaluate(self, *inputs: Array) -> Array:
        """Compute it with numpy."""
        total: Array = inputs[0].sum(axis=0, dtype=inputs[0].dtype)
        return total

    def backward(self, node: Node, gradient: Node) -> Sequence[Node | None]:
        """Repeat the gradient for each example."""
        return [_broadcast(gradient, node.inputs[0].type)]


@dataclass(frozen=True)
class BroadcastTo(Operation):
    """The tensor repeated along axes of size 1, and for each example of the batch."""

    type: TensorType

    def result(self, *inputs: TensorType) -> TensorType:
        """Return the type that was asked for."""
        (given,) = inputs
        if given.batched and not self.type.batched:
            raise InvalidOperation(f"a batched tensor must stay batched, got {self.type}")
        broadcast_shapes(given.shape, self.type.shape)
        return self.type

    def backward(self, node: Node, gradient: Node) -> Sequence[Node | None]:
        """Sum the gradient, which the caller does."""
        return [gradient]


def _broadcast(node: Node, to: TensorType) -> Node:
    return node if node.type == to else node.graph.add(BroadcastTo(to), (node,))


def sum_to(node: Node, to: TensorType) -> Node:
    """Return the sum of a node over the batch and the axes along which a tensor of type `to` was broadcast to it."""
    if node.type.batched and not to.batched:
        node = node.graph.add(ReduceAcrossBatch(), (node,))
    return node
