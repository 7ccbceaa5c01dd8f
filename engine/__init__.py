"""Warploom's engine: patches, the compiler that makes them one CUDA graph, and the devices that run it."""

from engine.device.open import open_device
from engine.patch.document import Patch
from engine.profiling.levels import ProfilingLevel
from engine.runtime.messages import UpdateLevel
from engine.runtime.session import Engine

__all__ = ["Engine", "Patch", "ProfilingLevel", "UpdateLevel", "open_device"]
