"""Compiles numba-cuda's kernels to PTX, in a worker process and without a GPU."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace
from typing import Any

from warploom.engine.diagnostics import CompileError, KernelError
from warploom.engine.kernel_sources.manifest import KernelManifest, ManifestParameter
from warploom.engine.kernel_sources.python.entry_points import finished, renamed, without_unused
from warploom.engine.kernel_sources.python.numba_functions import with_functions
from warploom.engine.kernel_sources.python.run_file import CompiledPython, PythonText, failure, running
from warploom.engine.kernel_sources.sources import PythonKernel

#: The architecture for the host: the newest whose code needs no instruction that the host lacks.
_OF_HOST = (9, 0)
_ARRAY = re.compile(r"(\w+)\s*\[([\s:,1]*)\]")
_SIGNATURE = "warploom_signature"
#: Colour codes that numba puts into messages where `colorama` is installed.
_COLOUR = re.compile(r"\x1b\[[\d;]*m")
#: The names of the sizes along the last axes.
_SIZES = ("depth", "height", "width")
#: The settings that `cuda.jit` and the compiler both take.
_SETTINGS = ("fastmath", "opt", "launch_bounds")
_ELEMENTS = {"float16": "f16", "float32": "f32", "float64": "f64", "complex64": "c64", "complex128": "c128"} | {
    f"{sign}int{size}": f"{'u' if sign else 's'}{size}" for sign in ("", "u") for size in (8, 16, 32, 64)
}


def warm_up() -> None:
    """Import numba, which takes seconds, while a worker process has nothing else to do."""
    import numba.cuda

    _ = numba.cuda


def compile_numba(source: PythonKernel, file: PythonText, architecture: str) -> CompiledPython:
    """Compile a kernel of a file. Raise KernelError with the line when the file or the kernel is wrong."""
    warm_up()
    number = architecture.removeprefix("sm_").rstrip("af")
    capability = _OF_HOST if architecture.startswith("compute_") else divmod(int(number), 10)
    with _without_gpu(capability), running(file) as module:
        return _compiled(source, file, module, capability)


@contextmanager
def _without_gpu(capability: tuple[int, int]) -> Iterator[None]:
    """Make `cuda.jit` record the signature that it gets; otherwise it would compile for this machine's GPU at once.

    Functions of numba's own, such as `sync` of a grid, are compiled for `capability`, not for this machine's GPU.
    """
    from numba import cuda
    from numba.cuda import dispatcher

    jit, current = cuda.jit, dispatcher.get_current_device

    def noting(signature: Any = None, *arguments: Any, **settings: Any) -> Any:
        if signature is None or (callable(signature) and not hasattr(signature, "args")):
            return jit(signature, *arguments, **settings)

        def decorate(function: Callable[..., Any]) -> Any:
            made = jit(*arguments, **settings)(function)
            setattr(made, _SIGNATURE, signature)
            return made

        return decorate

    cuda.jit, dispatcher.get_current_device = noting, lambda: SimpleNamespace(compute_capability=capability)
    try:
        yield
    finally:
        cuda.jit, dispatcher.get_current_device = jit, current


def _compiled(
    source: PythonKernel, file: PythonText, module: ModuleType, capability: tuple[int, int]
) -> CompiledPython:
    from numba import cuda

    dispatcher = getattr(module, source.name)
    if source.options.constants:
        raise KernelError(f"constants of {source.name} must be those of a Triton kernel, got them for one of numba")
    names = list(dispatcher.py_func.__code__.co_varnames[: dispatcher.py_func.__code__.co_argcount])
    types = _types(dispatcher, names, source)
    settings = {name: dispatcher.targetoptions[name] for name in _SETTINGS if dispatcher.targetoptions.get(name)}
    try:
        ptx, _ = cuda.compile_ptx(dispatcher.py_func, tuple(types), cc=capability, lineinfo=True, **settings)
    except Exception as problem:  # a kernel can make the compiler raise anything
        raise _compile_error(problem, source, file, dispatcher.py_func.__code__.co_firstlineno) from problem
    mangled = re.search(r"\.entry\s+([\w$]+)", ptx)
    assert mangled is not None
    every = [item for name, kind in zip(names, types, strict=True) for item in _passed(name, kind)]
    plain = renamed(with_functions(ptx), mangled[1], source.name)
    plain, left = without_unused(plain, source.name, [i for i, item in enumerate(every) if item.semantic is None])
    parameters = [every[index] for index in left]
    for index, parameter in enumerate(parameters):
        parameter.index = index
    manifest = KernelManifest(name=source.name, parameters=parameters)
    return finished(source, plain, manifest)


def _types(dispatcher: Any, names: list[str], source: PythonKernel) -> list[Any]:
    """Return the types of a kernel's parameters: from the options, the decorator's signature, or annotations."""
    known = dict(source.options.types)
    annotations = dispatcher.py_func.__annotations__
    signature = getattr(dispatcher, _SIGNATURE, None)
    from numba.core import sigutils

    if isinstance(signature, list) and signature:
        signature = signature[0]
    declared: tuple[Any, ...] = ()
    if signature is not None:
        declared, _ = sigutils.normalize_signature(signature)
    if declared and len(declared) != len(names):
        text = f"{source.name} must have a signature with {len(names)} types, got {len(declared)}"
        raise KernelError(text, file=source.path, line=dispatcher.py_func.__code__.co_firstlineno)
    found = []
    for index, name in enumerate(names):
        given = known.get(name) or (declared[index] if declared else annotations.get(name))
        kind = _type(given) if isinstance(given, str) else _contiguous(given)
        if kind is None:
            raise KernelError(
                f'type of {name} in {source.name} must be one such as "float32[:]" or "int32", got {given or "none"}; '
                "write it behind the parameter's name, or in a signature",
                file=source.path,
                line=dispatcher.py_func.__code__.co_firstlineno,
            )
        found.append(kind)
    return found


def _type(text: str) -> Any:
    """Return a type by its name, without evaluating the text; None when there is none."""
    from numba import types

    array = _ARRAY.fullmatch(text.strip())
    scalar = getattr(types, array[1] if array else text.strip(), None)
    if not isinstance(scalar, types.Number | types.Boolean):
        return None
    return _contiguous(types.Array(scalar, array[2].count(",") + 1, "C")) if array else scalar


def _contiguous(kind: Any) -> Any:
    """Return the type of a kernel's parameter as it is passed: buffers have no gaps, and at most three axes.

    Return None for any other type.
    """
    from numba import types

    if isinstance(kind, types.Array):
        return types.Array(kind.dtype, kind.ndim, "C") if kind.ndim <= len(_SIZES) else None
    return kind if isinstance(kind, types.Number | types.Boolean) else None


def _passed(name: str, kind: Any) -> Iterator[ManifestParameter]:
    """Yield the arguments that numba passes for a parameter; an array takes several.

    `semantic` is an argument's relation to the array.
    """
    from numba import types

    if not isinstance(kind, types.Array):
        yield ManifestParameter(index=0, name=name, is_pointer=False)
        return
    size = kind.dtype.bitwidth // 8
    for role, rule in (("parent", "0"), ("memory", "0"), ("size", f"size({name})"), ("itemsize", str(size))):
        yield ManifestParameter(index=0, name=f"{name}_{role}", is_pointer=False, semantic=rule)
    yield ManifestParameter(index=0, name=name, is_pointer=True, element_type=_ELEMENTS.get(str(kind.dtype)))
    for role in _SIZES[-kind.ndim :]:
        yield ManifestParameter(index=0, name=f"{name}_{role}", is_pointer=False, semantic=f"{role}({name})")
    for axis in range(kind.ndim):
        rule = f"{size} * {name}.stride{axis}"
        yield ManifestParameter(index=0, name=f"{name}_stride{axis}", is_pointer=False, semantic=rule)


def _compile_error(problem: Exception, source: PythonKernel, file: PythonText, first_line: int) -> CompileError:
    """Return numba's error for a kernel: its line, and its message without the names of compiler phases."""
    rule, message = f"{source.name} of {source.label} must compile", getattr(problem, "msg", None)
    if not isinstance(message, str):
        return failure(rule, problem, file)
    message = _COLOUR.sub("", message)
    places = [(path, int(line)) for path, line in re.findall(r" at (\S+) \((\d+)\)", _COLOUR.sub("", str(problem)))]
    paths = {file.path, *(path for path, _ in file.modules.values())}
    place, line = next((found for found in reversed(places) if found[0] in paths), (source.path, first_line))
    lines = [text for text in message.splitlines() if not text.startswith(("Failed in ", "During: "))]
    return CompileError(f"{rule}, got: " + "\n".join(lines).strip(), file=place, line=line)
