"""Patch GPU pipelines live: the whole patch compiles into one CUDA graph.

`from warploom import Engine, Patch, open_device` runs a patch. `warploom.tensors` has lazy tensors and graphs to train,
and `warploom.api` what a block file needs. Names are imported when they are first used, so importing one module,
such as the errors, loads no other.
"""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from warploom.engine.catalogue.catalogue import forget_blocks, trust_blocks
    from warploom.engine.device.open import open_device
    from warploom.engine.diagnostics import GraphValidationError, WarploomError
    from warploom.engine.patch.document import Patch
    from warploom.engine.patch.files import load_patch, save_patch
    from warploom.engine.profiling.levels import ProfilingLevel
    from warploom.engine.protocol.messages import UpdateLevel
    from warploom.engine.runtime.engine import Engine
    from warploom.engine.sweeps.sweep import sweep

__all__ = [
    "Engine",
    "GraphValidationError",
    "Patch",
    "ProfilingLevel",
    "UpdateLevel",
    "WarploomError",
    "forget_blocks",
    "load_patch",
    "open_device",
    "save_patch",
    "sweep",
    "trust_blocks",
]

_MODULES = {
    "Engine": "warploom.engine.runtime.engine",
    "GraphValidationError": "warploom.engine.diagnostics",
    "Patch": "warploom.engine.patch.document",
    "ProfilingLevel": "warploom.engine.profiling.levels",
    "UpdateLevel": "warploom.engine.protocol.messages",
    "WarploomError": "warploom.engine.diagnostics",
    "forget_blocks": "warploom.engine.catalogue.catalogue",
    "load_patch": "warploom.engine.patch.files",
    "open_device": "warploom.engine.device.open",
    "save_patch": "warploom.engine.patch.files",
    "sweep": "warploom.engine.sweeps.sweep",
    "trust_blocks": "warploom.engine.catalogue.catalogue",
}
_ROOT = Path(__file__).parents[1]
if (_ROOT / "pyproject.toml").is_file():
    # In a checkout, the packages lie beside this folder. The links in it are for tools that don't run this file.
    __path__.insert(0, str(_ROOT))


def __getattr__(name: str) -> object:
    if name in _MODULES:
        # Collections would take a tenth of a start to find that modules are no garbage.
        with import_module("warploom.engine.garbage").without_collections():
            found: object = getattr(import_module(_MODULES[name]), name)
    elif name in ("api", "tensors"):
        found = import_module(f"warploom.{name}")
    else:
        raise AttributeError(f"module 'warploom' has no attribute {name!r}")
    globals()[name] = found  # later accesses find the name without this function
    return found


def __dir__() -> list[str]:
    return [*globals(), *__all__]
