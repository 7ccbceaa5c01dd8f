"""The old names of the packages: `engine.compiler` is `warploom.engine.compiler`, the same module.

An installation has this file as the package `engine`. In a checkout, `app`, `blocks` and `engine` call `alias` when
they are imported by these names from the folder of the sources. The old names will go with the release after 0.3.
"""

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType

#: Modules that are elsewhere now, besides the packages.
_MOVED = {"engine.api": "warploom.api", "engine.tensor": "warploom.tensors"}


def _new_name(name: str) -> str:
    return _MOVED.get(name, f"warploom.{name}")


class _OldNames(MetaPathFinder, Loader):
    """Finds the modules of packages that have an old name."""

    def __init__(self) -> None:
        self.packages: set[str] = set()

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        # `python -m` runs a `__main__` as it is found beside the others.
        if name.partition(".")[0] not in self.packages or name.endswith(".__main__"):
            return None
        return ModuleSpec(name, self) if find_spec(_new_name(name)) is not None else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = import_module(_new_name(spec.name))
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Undo what the import system did to the module: it has run already, and keeps its new name."""
        assert module.__spec__ is not None
        module.__spec__ = module.__spec__.loader_state


_OLD_NAMES = _OldNames()


def alias(package: str) -> None:
    """Make `package`, which is being imported by its old name, the same as `warploom.package`, with all its modules."""
    module = import_module(_new_name(package))
    sys.modules[package] = module
    if _OLD_NAMES not in sys.meta_path:
        sys.meta_path.insert(0, _OLD_NAMES)
    _OLD_NAMES.packages.add(package)
    if package == "engine":  # it had the names that `warploom` has now
        module.__getattr__ = lambda name: getattr(import_module("warploom"), name)  # type: ignore[method-assign]


if __name__ == "engine":
    alias(__name__)
