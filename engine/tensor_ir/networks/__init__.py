"""Networks as tensor graphs: layers, losses, optimisers and functions. Nothing here is on a device."""

from engine.tensor_ir.networks.builder import AffineLayer, NetworkBuilder
from engine.tensor_ir.networks.functions import (
    Accumulate,
    NetworkFunction,
    NetworkInstruction,
    NetworkVariable,
    Role,
    Set,
    Write,
)
from engine.tensor_ir.networks.initialisations import INITIALISATIONS
from engine.tensor_ir.networks.instructions import function_code
from engine.tensor_ir.networks.network import Network, build_network
from engine.tensor_ir.networks.optimisers import SGD, AdamW, Optimiser, RAdam, Ranger
from engine.tensor_ir.networks.schedules import Cosine, Exponential, Schedule, Steps, Warmup

__all__ = [
    "INITIALISATIONS",
    "SGD",
    "Accumulate",
    "AdamW",
    "AffineLayer",
    "Cosine",
    "Exponential",
    "Network",
    "NetworkBuilder",
    "NetworkFunction",
    "NetworkInstruction",
    "NetworkVariable",
    "Optimiser",
    "RAdam",
    "Ranger",
    "Role",
    "Schedule",
    "Set",
    "Steps",
    "Warmup",
    "Write",
    "build_network",
    "function_code",
]
