"""Compiles Triton's kernels to PTX, in a worker process and without a GPU."""

import os
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from platformdirs import user_cache_dir

from warploom.engine.diagnostics import CompileError, KernelError
from warploom.engine.kernel_sources.manifest import KernelManifest, ManifestParameter
from warploom.engine.kernel_sources.python.entry_points import (
    MOST_STATIC_SHARED,
    finished,
    with_static_shared,
    without_unused,
)
from warploom.engine.kernel_sources.python.run_file import CompiledPython, PythonText, failure, running
from warploom.engine.kernel_sources.sources import ConstantValue, PythonKernel

#: The newest architecture whose code needs no instruction that the host lacks: for sm_90, Triton uses wgmma.
_OF_HOST = 89
_NUM_WARPS, _NUM_STAGES = 4, 3
#: PTX versions that drivers of CUDA 12.9 and later take; Triton's own assembler would need newer drivers.
_PTX_VERSION, _PTX_VERSION_SINCE_100 = 80, 88
_SHARED = "global_smem"
#: Warploom's element types by Triton's names; other types are known only by size.
_ELEMENTS = {"fp16": "f16", "bf16": "bf16", "fp32": "f32", "fp64": "f64", "u1": "boolean"} | {
    f"{sign}{size}": f"{'s' if sign == 'i' else 'u'}{size}" for sign in "iu" for size in (8, 16, 32, 64)
}


def warm_up() -> None:
    """Import Triton, which takes seconds, while a worker process has nothing else to do."""
    # Triton reads both variables when it is imported or first used.
    os.environ.pop("TRITON_INTERPRET", None)
    os.environ["TRITON_CACHE_DIR"] = str(Path(user_cache_dir("warploom")) / "triton")
    import triton.compiler

    _ = triton.compiler


def compile_triton(source: PythonKernel, file: PythonText, architecture: str) -> CompiledPython:
    """Compile a kernel of a file. Raise KernelError with the line when the file or the kernel is wrong."""
    warm_up()
    with running(file) as module:
        return _compiled(source, file, module, architecture)


def _compiled(source: PythonKernel, file: PythonText, module: ModuleType, architecture: str) -> CompiledPython:
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    function, chosen = _function(getattr(module, source.name))
    options = source.options
    constants = _constants(function, chosen, source)
    types = {p.name: "constexpr" if p.name in constants else _type(p, source) for p in function.params}
    capability = _OF_HOST if architecture.startswith("compute_") else int(architecture.removeprefix("sm_").rstrip("af"))
    num_warps = options.num_warps or chosen.get("num_warps", _NUM_WARPS)
    settings = {
        "num_warps": num_warps,
        "num_stages": options.num_stages or chosen.get("num_stages", _NUM_STAGES),
        "enable_fp_fusion": False,  # matches the interpreter, and Triton from 3.10 on
        "ptx_version": _PTX_VERSION_SINCE_100 if capability >= 100 else _PTX_VERSION,
    }
    try:
        made: Any = triton.compile(
            ASTSource(function, types, constants), target=GPUTarget("cuda", capability, 32), options=settings
        )
    except Exception as problem:  # a kernel can make the compiler raise anything
        raise _compile_error(problem, source, file, module) from problem
    names = [name for name, written in types.items() if written != "constexpr"]
    ptx, left = without_unused(made.asm["ptx"], source.name, range(len(names)))
    if len(left) > len(names):  # hidden parameters, for scratch memory
        size = made.metadata.global_scratch_size or made.metadata.profile_scratch_size
        raise KernelError(f"{source.name} must not need scratch memory, got {size} bytes", file=source.path)
    shared = made.metadata.shared
    if shared <= MOST_STATIC_SHARED:
        ptx, shared = with_static_shared(ptx, _SHARED, shared), 0
    manifest = KernelManifest(
        name=source.name,
        parameters=[_described(index, name, types[name]) for index, name in enumerate(names)],
        block_size=32 * num_warps,
        shared_memory_dynamic=shared or None,
        constants={name: value for name, value in constants.items() if isinstance(value, ConstantValue)},
    )
    return finished(source, ptx, manifest)


def _function(found: Any) -> tuple[Any, dict[str, Any]]:
    """Return a kernel without its wrappers, and the constants of the first configuration of `autotune`."""
    chosen: dict[str, Any] = {}
    while not hasattr(found, "params"):
        if configurations := getattr(found, "configs", None):
            chosen = {**configurations[0].all_kwargs()}
        found = found.fn
    return found, chosen


def _constants(function: Any, chosen: dict[str, Any], source: PythonKernel) -> dict[str, Any]:
    given = dict(source.options.constants)
    if unknown := sorted(given.keys() - {parameter.name for parameter in function.params}):
        known = ", ".join(parameter.name for parameter in function.params)
        raise KernelError(f"constants of {source.name} must be parameters of it ({known}), got {', '.join(unknown)}")
    found = dict(given)
    for parameter in function.params:
        if not parameter.is_constexpr or parameter.name in found:
            continue
        if parameter.name not in chosen and not parameter.has_default:
            raise KernelError(
                f"constant {parameter.name} of {source.name} must have a value, got none; give it a default",
                file=source.path,
                line=_first_line(function),
            )
        value = chosen.get(parameter.name, parameter.default)
        found[parameter.name] = getattr(value, "value", value)  # a default may be a `tl.constexpr` itself
    return found


def _type(parameter: Any, source: PythonKernel) -> str:
    """Return Triton's name of a parameter's type."""
    from triton.runtime.jit import _normalize_ty

    known = dict(source.options.types)
    text: str = _normalize_ty(known[parameter.name]) if parameter.name in known else parameter.annotation_type
    if not text and parameter.has_default:
        text = {bool: "u1", int: "i32", float: "fp32"}.get(type(parameter.default), "")
    if text.removeprefix("*").removeprefix("k") not in _ELEMENTS and "fp8" not in text:
        got = known.get(parameter.name) or parameter.annotation or "none"
        raise KernelError(
            f'type of {parameter.name} in {source.name} must be one such as "*fp32" or "i32", got {got}; '
            "write it behind the parameter's name",
            file=source.path,
        )
    return text


def _described(index: int, name: str, written: str) -> ManifestParameter:
    element = written.removeprefix("*").removeprefix("k")
    is_pointer = written.startswith("*")
    return ManifestParameter(
        index=index, name=name, is_pointer=is_pointer, element_type=_ELEMENTS.get(element) if is_pointer else None
    )


def _compile_error(problem: Exception, source: PythonKernel, file: PythonText, module: ModuleType) -> CompileError:
    """Return Triton's error for a kernel, located in the function at fault."""
    inner: BaseException = problem
    while inner.__cause__ is not None and hasattr(inner.__cause__, "node"):
        inner = inner.__cause__
    line, text = getattr(getattr(inner, "node", None), "lineno", None), getattr(inner, "error_message", None)
    if line is None or not text:
        return failure(f"{source.name} of {source.label} must compile", problem, file)
    place, start = source.path, 1
    for function in _functions(module):
        if function.src == getattr(inner, "src", None):
            place, start = function.fn.__code__.co_filename, _first_line(function)
    where = f"{Path(place).name}({start + line - 1})"
    return CompileError(
        f"{source.name} of {source.label} must compile, got an error:\n{where}: {text}",
        file=place,
        line=start + line - 1,
    )


def _first_line(function: Any) -> int:
    """Return the line of `def` in the file, below the decorators; Triton's attribute for it has had several names."""
    start: int = function.starting_line_number
    return start + next((at for at, line in enumerate(function.raw_src) if line.lstrip().startswith("def ")), 0)


def _functions(module: ModuleType) -> Iterator[Any]:
    for found in vars(module).values():
        while hasattr(found, "fn") and not hasattr(found, "params"):
            found = found.fn
        if hasattr(found, "params") and hasattr(found, "starting_line_number"):
            yield found
