"""Tensors, the public face: lazy ones, and graphs that are trained."""

from warploom.engine.tensor_ir.errors import (
    ExecutionFailed,
    InvalidOperation,
    MergeFailed,
    ShapeMismatch,
    TensorError,
    TopologicalSortFailed,
)
from warploom.engine.tensor_ir.graph import allow_tf32, no_grad
from warploom.engine.tensor_ir.networks import losses, schedules
from warploom.engine.tensor_ir.networks.functions import Accumulate, Set, Write
from warploom.engine.tensor_ir.networks.functions import NetworkInstruction as Instruction
from warploom.engine.tensor_ir.networks.initialisations import Normal
from warploom.engine.tensor_ir.networks.optimiser_options import WeightOptions
from warploom.engine.tensor_ir.networks.optimisers import SGD, AdamW, RAdam, Ranger
from warploom.engine.tensor_runtime.lazy import Tensor, execute
from warploom.engine.tensor_runtime.training import GraphBuilder
from warploom.engine.tensor_runtime.training import TrainingGraph as Graph
from warploom.engine.tensor_runtime.training.files import save_weights
from warploom.engine.tensor_runtime.training.formats import WeightFormat

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
    "Normal",
    "RAdam",
    "Ranger",
    "Set",
    "ShapeMismatch",
    "Tensor",
    "TensorError",
    "TopologicalSortFailed",
    "WeightFormat",
    "WeightOptions",
    "Write",
    "allow_tf32",
    "execute",
    "losses",
    "no_grad",
    "save_weights",
    "schedules",
]
