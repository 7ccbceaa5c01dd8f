"""Warploom's engine: patches, the compiler that turns them into one CUDA graph, and the devices that run it.

Names are imported when they are first used, so importing one module of the engine, such as its errors, loads no other.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from warploom.engine.catalogue.catalogue import forget_blocks, trust_blocks
    from warploom.engine.device.open import open_device
    from warploom.engine.patch.document import Patch
    from warploom.engine.patch.files import load_patch, save_patch
    from warploom.engine.profiling.levels import ProfilingLevel
    from warploom.engine.protocol.messages import UpdateLevel
    from warploom.engine.runtime.engine import Engine

__all__ = [
    "Engine",
    "Patch",
    "ProfilingLevel",
    "UpdateLevel",
    "forget_blocks",
    "load_patch",
    "open_device",
    "save_patch",
    "trust_blocks",
]

_MODULES = {
    "Engine": "warploom.engine.runtime.engine",
    "Patch": "warploom.engine.patch.document",
    "ProfilingLevel": "warploom.engine.profiling.levels",
    "UpdateLevel": "warploom.engine.protocol.messages",
    "forget_blocks": "warploom.engine.catalogue.catalogue",
    "load_patch": "warploom.engine.patch.files",
    "open_device": "warploom.engine.device.open",
    "save_patch": "warploom.engine.patch.files",
    "trust_blocks": "warploom.engine.catalogue.catalogue",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module 'engine' has no attribute {name!r}")
    found: object = getattr(import_module(_MODULES[name]), name)
    globals()[name] = found  # later accesses find the name without this function
    return found


def __dir__() -> list[str]:
    return [*globals(), *__all__]
