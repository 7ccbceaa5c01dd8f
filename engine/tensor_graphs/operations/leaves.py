"""Leaves: nodes that are computed from no other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.tensor_graphs.graph import Operation
from engine.tensor_graphs.types import TensorType


@dataclass(frozen=True)
class Leaf(Operation):
    """A tensor that comes from outside, such as an input or a weight."""

    type: TensorType

    def result(self, *inputs: TensorType) -> TensorType:
        """Return its type."""
        return self.type


@dataclass(frozen=True)
class Constant(Operation):
    """A tensor of one value throughout."""

    value: float
    type: TensorType

    is_differentiable = False

    def result(self, *inputs: TensorType) -> TensorType:
        """Return its type."""
        return self.type

    def evaluate(self, *inputs: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return the tensor; it broadcasts along the batch."""
        return np.full(self.type.shape, self.value, self.type.dtype.numpy)
