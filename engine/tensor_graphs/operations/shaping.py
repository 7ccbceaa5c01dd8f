"""Operations that only rearrange elements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from engine.tensor_graphs.errors import ShapeMismatch
from engine.tensor_graphs.graph import Node, Operation
from engine.tensor_graphs.types import TensorType, require_dense
from engine.types import Shape

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Reshape(Operation):
    """The same elements in another shape."""

    shape: Shape

    def result(self, *inputs: TensorType) -> TensorType:
        """Return the type with that shape."""
        (given,) = inputs
        require_dense(given)
        if prod(self.shape) != given.size:
            raise ShapeMismatch(f"shape must have {given.size} elements, got {list(self.shape)}")
        return given.with_shape(self.shape)

    def evaluate(self, *inputs: Array) -> Array:
        """Compute it with numpy."""
        return inputs[0].reshape(len(inputs[0]), *self.shape)

    def backward(self, node: Node, gradient: Node) -> Sequence[Node | None]:
        """Give the gradient the operand's shape."""
        return [gradient._apply(Reshape(node.inputs[0].type.shape), gradient)]


def whole_shape(sizes: Sequence[int], given: TensorType) -> Shape:
    """Return a shape whose one size of -1, if any, is what remains of the elements; ShapeMismatch when none fits."""
    if sizes.count(-1) > 1 or any(size < -1 for size in sizes):
        raise ShapeMismatch(f"shape must have sizes of which one may be -1, got {list(sizes)}")
    known = prod(size for size in sizes if size != -1)
    if -1 in sizes and (known == 0 or given.size % known):
        raise ShapeMismatch(f"shape must share out {given.size} elements of {given}, got {list(sizes)}")
    return tuple(given.size // known if size == -1 else size for size in sizes)
