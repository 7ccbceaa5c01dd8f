"""`Library`: the modules of the shipped library, each imported when one of its block types is first asked for."""

import importlib
import os
import sys
from collections.abc import Iterator
from types import ModuleType

from warploom.engine.diagnostics import WarploomError


class Library:
    """The modules of a package in which a file `name.py` defines the block type `category.name`, or none.

    Most programs need a few of the types, and to import all of them takes longer than anything else in a start.
    """

    def __init__(self, package: ModuleType) -> None:
        self._package = package.__name__
        #: The modules that were not imported by their types yet, by the last part of their names.
        self._waiting: dict[str, list[str]] = {}
        for folder in package.__path__:
            for module in _modules(folder, package.__name__):
                self._waiting.setdefault(module.rpartition(".")[2], []).append(module)

    def is_waiting(self, module: str) -> bool:
        """True for a module that will be imported once it is needed, with the text that its file then has."""
        return module not in sys.modules and module in self._waiting.get(module.rpartition(".")[2], ())

    def load(self, type_id: str) -> None:
        """Import the modules that may define a block type. Raise WarploomError if one can't be imported."""
        name = type_id.rpartition(".")[2]
        for module in self._waiting.get(name, ()):
            try:
                importlib.import_module(module)
            except Exception as problem:  # a block file may fail in any way
                if not (isinstance(problem, ModuleNotFoundError) and problem.name == module):  # its file was deleted
                    raise not_importable(self._package, problem) from problem
        self._waiting.pop(name, None)  # only now: another thread may ask for the same type meanwhile

    def load_all(self) -> None:
        """Import all modules that were not imported yet."""
        for name in tuple(self._waiting):
            self.load(name)


def not_importable(package: str, problem: Exception) -> WarploomError:
    """Return the error for a package of blocks that can't be imported."""
    return WarploomError(f"block package {package} must be importable, got {type(problem).__name__}: {problem}")


def _modules(folder: str, package: str) -> Iterator[str]:
    """Yield the names of the modules in a package's folder and below it."""
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if entry.name.endswith(".py") and entry.name != "__init__.py":
                yield f"{package}.{entry.name.removesuffix('.py')}"
            elif entry.name.isidentifier() and entry.is_dir():
                yield from _modules(entry.path, f"{package}.{entry.name}")
