"""Tensors: lazy ones, and graphs that are trained."""

from engine.tensor.lazy import Tensor, execute
from engine.tensor.training import Graph, GraphBuilder
from engine.tensor_graphs.errors import (
    ExecutionFailed,
    InvalidOperation,
    MergeFailed,
    ShapeMismatch,
    TensorError,
    TopologicalSortFailed,
)
from engine.tensor_graphs.graph import allow_tf32, no_grad
from engine.tensor_graphs.networks import (
    SGD,
    Accumulate,
    AdamW,
    Instruction,
    RAdam,
    Ranger,
    Set,
    Write,
    losses,
    schedules,
)

__all__ = [
    "SGD",
    "Accumulate",
    "AdamW",
    "ExecutionFailed",
    "Graph",
    "GraphBuilder",
    "Instruction",
    "InvalidOperation",
    "MergeFailed",
    "RAdam",
    "Ranger",
    "Set",
    "ShapeMismatch",
    "Tensor",
    "TensorError",
    "TopologicalSortFailed",
    "Write",
    "allow_tf32",
    "execute",
    "losses",
    "no_grad",
    "schedules",
]
