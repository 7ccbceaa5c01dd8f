"""Warploom's engine: patches, the compiler that makes them one CUDA graph, and the devices that run it."""

from engine.catalogue.catalogue import forget_blocks, trust_blocks
from engine.device.open import open_device
from engine.patch.document import Patch
from engine.profiling.levels import ProfilingLevel
from engine.protocol.messages import UpdateLevel
from engine.runtime.engine import Engine

__all__ = ["Engine", "Patch", "ProfilingLevel", "UpdateLevel", "forget_blocks", "open_device", "trust_blocks"]
