"""Block files as text: the files of a folder, the names of their modules, the ids and imports in them."""

import ast
import hashlib
import os
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path

from warploom.engine.blocktypes.block_types import FOLDER_PACKAGE
from warploom.engine.kernel_sources.python.trust import is_hidden
from warploom.engine.readings import read_bytes

#: The folder beside a patch, and in the configuration folder, that holds blocks of the person's own.
FOLDER_NAME = "blocks"
#: A function that Triton or numba compiles.
_JIT = re.compile(rb"^[ \t]*@[\w.]*\bjit\b", re.MULTILINE)
#: A name of Warploom, the old ones of its packages too.
_OURS = re.compile(rb"\b(warploom|engine)\b")
_ID = re.compile(rb"""\bid\s*=\s*["']([a-z][a-z0-9_.]*)["']""")


def python_files(folder: Path) -> list[Path]:
    """Return the Python files in a folder and below it, in order; hidden files and folders are left out."""
    found = (path for path in folder.rglob("*.py") if not any(is_hidden(p) for p in path.relative_to(folder).parts))
    return sorted(path for path in found if path.is_file())


def is_block_file(path: Path, folder: Path) -> bool:
    """True for a Python file that `python_files` would return for a folder."""
    if path.suffix != ".py" or not path.is_relative_to(folder):
        return False
    return not any(is_hidden(part) for part in path.relative_to(folder).parts)


def folder_package(folder: Path) -> str:
    """Return the name of the package for the modules of a folder; each folder has a different one."""
    return FOLDER_PACKAGE + hashlib.sha256(os.fsencode(folder)).hexdigest()[:12]


def module_name(path: Path, folder: Path, package: str) -> str:
    """Return the name of a file's module; that of `__init__.py` is the name of its folder's package.

    A dot in the name of a file or folder is replaced by a character that looks like one.
    """
    parts = [part.replace(".", "\N{ONE DOT LEADER}") for part in path.relative_to(folder).with_suffix("").parts]
    if parts[-1] == "__init__":
        del parts[-1]
    return ".".join([package, *parts])


def ids_in(source: bytes) -> frozenset[str]:
    """Return the block ids that a file's text seems to define, without running it."""
    return frozenset(match.decode() for match in _ID.findall(source))


def holds_only_kernels(source: bytes) -> bool:
    """True for a file with kernels in Python and no blocks, which would import `warploom`: only a compiler runs it."""
    return not _OURS.search(source) and _JIT.search(source) is not None


def find_definition(type_id: str, folder: Path) -> Path | None:
    """Return the file of a folder whose text seems to define a block type, without running any; None when none does."""
    for path in python_files(folder) if folder.is_dir() else ():
        if type_id in ids_in(read(path)):
            return path
    return None


def read(path: Path) -> bytes:
    """Return a file's bytes; empty when the file is gone or can't be read."""
    try:
        return read_bytes(path)
    except OSError:
        return b""


@lru_cache(maxsize=1024)
def imported_modules(source: bytes, module: str, *, is_package: bool = False) -> frozenset[str]:
    """Return the full names of the modules that the text of `module` may import; none for text that is not Python.

    `from a import b` may import a module `a.b` or a name in `a`, so both are returned.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # running it reports the error
        return frozenset()
    found: set[str] = set()
    for statement in ast.walk(tree):
        if isinstance(statement, ast.Import):
            found.update(alias.name for alias in statement.names)
        elif isinstance(statement, ast.ImportFrom):
            start = _start(statement, module, is_package)
            found.add(start)
            found.update(f"{start}.{alias.name}" for alias in statement.names)
    return frozenset(found)


def _start(statement: ast.ImportFrom, module: str, is_package: bool) -> str:
    """Return the module that `from ... import` names, with leading dots resolved."""
    if not statement.level:
        return statement.module or ""
    parts = module.split(".")
    around = parts[: len(parts) - statement.level + is_package]
    return ".".join([*around, statement.module] if statement.module else around)


def in_order(changed: Iterable[str], imports: Mapping[str, frozenset[str]]) -> list[str]:
    """Return the changed modules and all that import them, directly or indirectly; imported modules come first."""
    importers: dict[str, list[str]] = {}
    for module, used in imports.items():
        for name in used:
            importers.setdefault(name, []).append(module)
    affected: set[str] = set()
    waiting = list(changed)
    while waiting:
        module = waiting.pop()
        if module not in affected:
            affected.add(module)
            waiting += importers.get(module, ())
    ordered: dict[str, None] = {}
    entered: set[str] = set()

    def add(module: str) -> None:
        if module not in entered:  # modules in a cycle are entered once
            entered.add(module)
            for name in sorted(imports.get(module, frozenset()) & affected):
                add(name)
            ordered[module] = None

    for module in sorted(affected):
        add(module)
    return list(ordered)
