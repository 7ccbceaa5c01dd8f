"""Tensors, the public face: lazy ones, and graphs that are trained."""

from engine.tensor_ir.errors import (
    ExecutionFailed,
    InvalidOperation,
    MergeFailed,
    ShapeMismatch,
    TensorError,
    TopologicalSortFailed,
)
from engine.tensor_ir.graph import allow_tf32, no_grad
from engine.tensor_ir.networks import losses, schedules
from engine.tensor_ir.networks.functions import Accumulate, Set, Write
from engine.tensor_ir.networks.functions import NetworkInstruction as Instruction
from engine.tensor_ir.networks.optimisers import SGD, AdamW, RAdam, Ranger
from engine.tensor_runtime.lazy import Tensor, execute
from engine.tensor_runtime.training import GraphBuilder
from engine.tensor_runtime.training import TrainingGraph as Graph

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
