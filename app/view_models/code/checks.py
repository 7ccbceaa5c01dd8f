"""Mistakes in code that is being typed, found by its compiler without saving it; any thread may check."""

import json
import symtable
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from warploom.app.view_models.code.places import CodePlace
from warploom.engine.blocktypes.block import Block
from warploom.engine.descriptions.entries import Kernel
from warploom.engine.device.device import HOST_ARCHITECTURE
from warploom.engine.diagnostics import KernelError, Severity
from warploom.engine.kernel_sources.cuda.compiling import compile_source
from warploom.engine.kernel_sources.cuda.errors import warnings_in
from warploom.engine.kernel_sources.cuda.nvrtc import CompileCache, compile_cuda, compile_kernels
from warploom.engine.kernel_sources.sources import CudaFile, CudaText, SpecialisedKernel
from warploom.engine.patch.document import Patch
from warploom.engine.ptx import parse
from warploom.engine.readings import Reading

#: Names that Python defines in every module and class.
_PYTHON_NAMES = {"__name__", "__file__", "__doc__", "__class__", "__annotations__", "__qualname__", "__module__"}


@dataclass(frozen=True, order=True)
class Mistake:
    """A mistake at a line, counted from 1."""

    line: int
    text: str
    severity: Severity = Severity.ERROR


@dataclass(frozen=True)
class Checked:
    """What a check found: mistakes in order of lines, and the PTX of CUDA C++ or PTX without errors."""

    mistakes: tuple[Mistake, ...] = ()
    ptx: str = ""


Check = Callable[[str], Checked]


def check_of(patch: Patch, place: CodePlace) -> Check:
    """Return the check of a text for a place. The check itself needs no patch, so that another thread can make it."""
    language, folder = place.language(patch), patch.folder
    reach = None if patch.trusted else folder
    match language:
        case "cuda":
            source = _cuda_source(patch, place)
            is_header = bool(place.file) and place.path.suffix != ".cu"
            return lambda text: _check_cuda(text, source, reach, is_header=is_header)
        case "python":
            return lambda text: Checked(tuple(_python_mistakes(text, place.path.name)))
        case "ptx":
            return _check_ptx
        case "json":
            return _check_json
        case "expression" if place.node in patch.nodes:
            node = patch.nodes[place.node]
            values, type_id, parameter = dict(node.parameters), node.type, place.parameter
            catalogue, trusted = patch.catalogue, patch.trusted

            def check_value(text: str) -> Checked:
                _, problem = catalogue.resolve(type_id, {**values, parameter: text}, lambda: folder, trusted=trusted)
                return Checked((Mistake(problem.line or 1, problem.message),) if problem is not None else ())

            return check_value
    return lambda text: Checked()


def _cuda_source(patch: Patch, place: CodePlace) -> CudaFile | CudaText:
    """Return the source that a place is compiled as, with the options of the block that launches it."""
    for node in [place.node] if place.node in patch.nodes else patch.nodes:
        block_type = patch.block_type(node)
        for source in _sources(block_type) if block_type is not None else ():
            if isinstance(source, CudaText) and place.node:
                return CudaText("", source.options)
            if isinstance(source, CudaFile) and place.file and Path(source.path) == place.path:
                return CudaFile(place.file, source.options)
    return CudaFile(place.file) if place.file else CudaText("")


def _sources(block_type: type[Block]) -> Iterator[Any]:
    launched = getattr(block_type.content, "kernel", None) if hasattr(block_type, "content") else None
    for kernel in (*vars(block_type).values(), launched):
        if isinstance(kernel, Kernel):
            source = kernel.source
            yield source.source if isinstance(source, SpecialisedKernel) else source


def _check_cuda(text: str, source: CudaFile | CudaText, reach: Path | None, *, is_header: bool) -> Checked:
    if isinstance(source, CudaText):
        source = msgspec.structs.replace(source, text=text, held=None)
    compiler = compile_cuda if is_header else compile_kernels
    try:
        with Reading(reach).under_way():
            compiled = compile_source(source, text, HOST_ARCHITECTURE, CompileCache(), compiler)
    except KernelError as problem:
        found = [_placed(mistake, source, text) for mistake in problem.mistakes]
        return Checked(tuple(sorted(found)) or (Mistake(problem.line or 1, _short(str(problem))),))
    if not is_header and not compiled.signatures:
        return Checked((Mistake(1, 'no kernel: declare one as extern "C" __global__ void name(...)'),), compiled.ptx)
    own = {source.label, str(source.file)}
    warned = [Mistake(line, words, Severity.WARNING) for file, line, words in warnings_in(compiled.log) if file in own]
    return Checked(tuple(sorted(warned)), compiled.ptx)


def _placed(mistake: tuple[str, int, str], source: CudaFile | CudaText, text: str) -> Mistake:
    """Return a mistake of the compiler; one in a header is shown at the line that includes it."""
    file, line, words = mistake
    if file in (source.label, source.file):
        return Mistake(line, words)
    name = Path(file).name
    lines = (number for number, each in enumerate(text.splitlines(), 1) if "include" in each and name in each)
    return Mistake(next(lines, 1), f"{name}, line {line}: {words}")


def _check_ptx(text: str) -> Checked:
    try:
        parse(text)
    except KernelError as problem:
        return Checked((Mistake(problem.line or 1, _short(str(problem))),))
    return Checked((), text)


def _check_json(text: str) -> Checked:
    try:
        json.loads(text)
    except json.JSONDecodeError as problem:
        return Checked((Mistake(problem.lineno, problem.msg),))
    return Checked()


def _python_mistakes(text: str, name: str) -> Iterator[Mistake]:
    """Yield the syntax error of Python code, or the names in it that nothing defines; the code doesn't run."""
    try:
        compile(text, name, "exec", dont_inherit=True)
        table = symtable.symtable(text, name, "exec")
    except SyntaxError as problem:
        yield Mistake(problem.lineno or 1, problem.msg)
        return
    except (ValueError, RecursionError, MemoryError) as problem:
        yield Mistake(1, str(problem))
        return
    if "import *" in text:
        return  # then other modules define names
    yield from sorted(_unknown_names(text, table))


def _unknown_names(text: str, table: symtable.SymbolTable) -> Iterator[Mistake]:
    import ast
    import builtins

    known = {symbol.get_name() for symbol in table.get_symbols() if symbol.is_assigned() or symbol.is_imported()}
    known |= _declared_global(table) | _PYTHON_NAMES | set(dir(builtins))
    unknown = _used_globals(table) - known
    for part in ast.walk(ast.parse(text)):
        if isinstance(part, ast.Name) and part.id in unknown and isinstance(part.ctx, ast.Load):
            yield Mistake(part.lineno, f"name '{part.id}' is not defined", Severity.WARNING)


def _used_globals(table: symtable.SymbolTable) -> set[str]:
    """Return the names that code looks up in its module."""
    is_module = table.get_type() == "module"
    found = {s.get_name() for s in table.get_symbols() if s.is_referenced() and (s.is_global() or is_module)}
    return found.union(*map(_used_globals, table.get_children()))


def _declared_global(table: symtable.SymbolTable) -> set[str]:
    """Return the names that functions define in the module by `global`."""
    found = {s.get_name() for s in table.get_symbols() if s.is_declared_global() and s.is_assigned()}
    return found.union(*map(_declared_global, table.get_children()))


def _short(text: str) -> str:
    return text.splitlines()[0] if text else ""
