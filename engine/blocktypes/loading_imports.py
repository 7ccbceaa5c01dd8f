"""Which block files import each other, found in their text: what has to be run again when one of them is saved."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from functools import lru_cache


@lru_cache(maxsize=1024)
def imported_modules(source: bytes, module: str, *, is_package: bool = False) -> frozenset[str]:
    """Return the full names of modules that the text of `module` may import; none when it is no Python.

    `from a import b` may mean a module `a.b` or something in `a`: both are named.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # which running it will tell
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
    """Return what `from ... import` starts from, with the dots resolved as Python does."""
    if not statement.level:
        return statement.module or ""
    parts = module.split(".")
    around = parts[: len(parts) - statement.level + is_package]
    return ".".join([*around, statement.module] if statement.module else around)


def in_order(changed: Iterable[str], imports: Mapping[str, frozenset[str]]) -> list[str]:
    """Return the changed modules and those that import one of them, at any distance; what is imported comes first."""
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
        if module not in entered:  # also in the middle of a circle
            entered.add(module)
            for name in sorted(imports.get(module, frozenset()) & affected):
                add(name)
            ordered[module] = None

    for module in sorted(affected):
        add(module)
    return list(ordered)
