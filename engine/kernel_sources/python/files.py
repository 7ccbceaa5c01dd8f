"""Finds the kernels in the text of Python files, and the files beside them that they import. Nothing is run."""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from warploom.engine.diagnostics import KernelError
from warploom.engine.kernel_sources.texts import read_source
from warploom.engine.readings import is_file

Compiler = Literal["triton", "numba"]
_DECORATORS: dict[str, Compiler] = {"triton.jit": "triton", "numba.cuda.jit": "numba"}
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def kernels_in(text: str, path: Path) -> dict[str, Compiler]:
    """Return the compiler of each kernel of a file, by the kernel's name. Raise KernelError when it isn't Python.

    A function with the same decorator is not a kernel if others of the file call it.
    """
    tree = _parsed(text, path)
    full_names = dict(_imported_names(tree))
    functions: dict[str, Compiler] = {}
    called: set[str] = set()
    for statement in tree.body:
        if isinstance(statement, _Function) and (compiler := _compiler(statement, full_names)) is not None:
            functions[statement.name] = compiler
            calls = (node.func for node in ast.walk(statement) if isinstance(node, ast.Call))
            called |= {call.id for call in calls if isinstance(call, ast.Name)}
    return {name: compiler for name, compiler in functions.items() if name not in called}


def local_modules(text: str, path: Path) -> dict[str, Path]:
    """Return the modules beside a file that it may import, directly or not, by name, without the file itself."""
    found: dict[str, Path] = {}
    pending = [(text, path)]
    while pending:
        source, origin = pending.pop()
        try:
            names = list(_imports(_parsed(source, origin)))
        except KernelError:  # running the module reports the line
            continue
        for name in names:
            place = path.parent.joinpath(*name.split("."))
            for candidate in (place.with_suffix(".py"), place / "__init__.py"):
                if name not in found and candidate != path and is_file(candidate):
                    found[name] = candidate
                    pending.append((read_source(candidate), candidate))
    return found


def _parsed(text: str, path: Path) -> ast.Module:
    try:
        return ast.parse(text)
    except SyntaxError as wrong:
        raise KernelError(f"{path.name} must be Python, got {wrong.msg}", file=str(path), line=wrong.lineno) from None
    except (ValueError, RecursionError, MemoryError) as wrong:
        raise KernelError(f"{path.name} must be Python, got {wrong}", file=str(path)) from None


def _imported_names(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield each name that an import defines, with its full name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield (alias.asname, alias.name) if alias.asname else (2 * (alias.name.partition(".")[0],))
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                yield alias.asname or alias.name, f"{node.module}.{alias.name}"


def _compiler(function: _Function, full_names: Mapping[str, str]) -> Compiler | None:
    for decorator in function.decorator_list:
        call = decorator if isinstance(decorator, ast.Call) else None
        parts = ast.unparse(call.func if call else decorator).split(".")
        name = ".".join([full_names.get(parts[0], parts[0]), *parts[1:]])
        if name in _DECORATORS:
            keywords = {keyword.arg: keyword.value for keyword in call.keywords} if call else {}
            is_device = keywords.get("device")
            return None if isinstance(is_device, ast.Constant) and is_device.value else _DECORATORS[name]
    return None


def _imports(tree: ast.Module) -> Iterator[str]:
    """Yield the modules that may be imported: `from a import b` may import a module `a.b`, or a name in `a`."""
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        for name in names:  # a package is imported before its modules
            parts = name.split(".")
            yield from (".".join(parts[:end]) for end in range(1, len(parts) + 1))
