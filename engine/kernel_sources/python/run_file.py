"""Runs a Python file with kernels, in a worker process, from exactly the texts that the engine has read."""

import linecache
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import CodeType, ModuleType

import msgspec

from warploom.engine.diagnostics import CompileError
from warploom.engine.kernel_sources.manifest import KernelManifest
from warploom.engine.ptx import KernelSignature

#: The module name of a running kernel file, so that code for `__main__` in the file does not run.
_MODULE = "warploom_kernel_file"
#: The path and text of each module beside the file, by name.
Modules = Mapping[str, tuple[str, str]]


class CompiledPython(msgspec.Struct, frozen=True):
    """A Python kernel's PTX, the signature of its entry point, and a manifest with facts that PTX can't express."""

    ptx: str
    signature: KernelSignature
    manifest: KernelManifest


class PythonText(msgspec.Struct, frozen=True):
    """A Python file: its path, its text, and the modules beside it that it imports."""

    path: str
    text: str
    modules: dict[str, tuple[str, str]]


@contextmanager
def running(file: PythonText) -> Iterator[ModuleType]:
    """Run a file and yield its module, whose functions can be compiled inside the `with` block.

    Raise a KernelError with the fault and its line. No module of the file stays in `sys.modules`.
    """
    texts = {_MODULE: (file.path, file.text), **file.modules}
    finder = _Texts(texts)
    hidden = {name: sys.modules.pop(name) for name in texts if name in sys.modules}
    for path, text in texts.values():  # for `inspect.getsource`; an entry without a modification time is never reloaded
        linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
    sys.meta_path.insert(0, finder)
    try:
        yield _run(file, finder)
    finally:
        sys.meta_path.remove(finder)
        for name in texts:
            sys.modules.pop(name, None)
        sys.modules.update(hidden)
        for path, _ in texts.values():
            linecache.cache.pop(path, None)


def _run(file: PythonText, finder: "_Texts") -> ModuleType:
    spec = finder.find_spec(_MODULE)
    assert spec is not None
    module = sys.modules[_MODULE] = module_from_spec(spec)
    try:
        finder.exec_module(module)
    except (Exception, SystemExit) as problem:  # the file may raise anything
        raise failure(f"{Path(file.path).name} must run", problem, file) from problem
    return module


def failure(rule: str, problem: BaseException, file: PythonText) -> CompileError:
    """Return the error for an exception in a file's own code, at the innermost line in one of its texts."""
    paths = {file.path, *(path for path, _ in file.modules.values())}
    if isinstance(problem, SyntaxError) and problem.filename in paths:
        return CompileError(f"{rule}, got {problem.msg}", file=problem.filename, line=problem.lineno)
    places = [frame for frame in traceback.extract_tb(problem.__traceback__) if frame.filename in paths]
    place = places[-1] if places else None
    text = f"{rule}, got {type(problem).__name__}: {problem}"
    return CompileError(text, file=place.filename if place else file.path, line=place.lineno if place else None)


class _Texts(MetaPathFinder, Loader):
    """Imports modules from texts."""

    def __init__(self, texts: Modules) -> None:
        self._texts = texts

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name not in self._texts:
            return None
        origin = Path(self._texts[name][0])
        return spec_from_loader(name, self, origin=str(origin), is_package=origin.name == "__init__.py")

    def exec_module(self, module: ModuleType) -> None:
        path, text = self._texts[module.__name__]
        module.__file__ = path
        code: CodeType = compile(text, path, "exec", dont_inherit=True)
        exec(code, vars(module))
