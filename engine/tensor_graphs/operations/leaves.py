"""Leaves: nodes that are computed from no other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.tensor_graphs.graph import Operation
from engine.tensor_graphs.types import TensorType
from engine.types import DType


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

    @property
    def is_differentiable(self) -> bool:
        """Return False: it has no gradient."""
        return False

    def result(self, *inputs: TensorType) -> TensorType:
        """Return its type."""
        return self.type

    def evaluate(self, *inputs: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return the tensor; it is broadcast along the batch."""
        return np.full((1, *self.type.shape), self.value)


@dataclass(frozen=True)
class BatchSize(Operation):
    """The number of examples, as one number; it is told when the graph is run, as leaves are."""

    dtype: DType

    @property
    def is_differentiable(self) -> bool:
        """Return False: it has no gradient."""
        return False

    def result(self, *inputs: TensorType) -> TensorType:
        """Return the type of one number."""
        return TensorType((), self.dtype)
