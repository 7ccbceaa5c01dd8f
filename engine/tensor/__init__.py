"""Tensors: lazy ones, and graphs that are trained."""

from engine.tensor.lazy import Tensor, execute
from engine.tensor_graphs.errors import (
    ExecutionFailed,
    InvalidOperation,
    MergeFailed,
    ShapeMismatch,
    TensorError,
    TopologicalSortFailed,
)
from engine.tensor_graphs.graph import no_grad

__all__ = [
    "ExecutionFailed",
    "InvalidOperation",
    "MergeFailed",
    "ShapeMismatch",
    "Tensor",
    "TensorError",
    "TopologicalSortFailed",
    "execute",
    "no_grad",
]
