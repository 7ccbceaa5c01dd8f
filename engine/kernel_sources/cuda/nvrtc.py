"""Compiles CUDA C++ to PTX and CUBIN with NVRTC; this needs no GPU and no CUDA toolkit."""

import os
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec
from msgspec.structs import replace
from platformdirs import user_cache_dir

from warploom.engine.diagnostics import CompileError, KernelError
from warploom.engine.disk_cache import DiskCache, cache_key
from warploom.engine.kernel_sources.cuda.closed import no_files
from warploom.engine.kernel_sources.cuda.errors import compile_error
from warploom.engine.kernel_sources.cuda.library import nvrtc_library, nvrtc_version, toolkit_folders, toolkit_texts
from warploom.engine.kernel_sources.cuda.standard_headers import DIGEST, HEADERS
from warploom.engine.kernel_sources.cuda.waiting import waiting_cuda
from warploom.engine.kernel_sources.device_part import take
from warploom.engine.kernel_sources.device_part.leave_out import compiled_without, without
from warploom.engine.kernel_sources.device_part.take import Taken
from warploom.engine.kernel_sources.device_part.templates import entry_name
from warploom.engine.kernel_sources.element_types import names as element_names
from warploom.engine.kernel_sources.element_types.names import named_numbers
from warploom.engine.kernel_sources.texts import SHIPPED_FOLDER
from warploom.engine.ptx import KernelSignature, PtxSyntaxError, parse, parser, read_signatures
from warploom.engine.ptx.text import check_size
from warploom.engine.ptx.uses import KernelUses, kernel_uses

# Helper functions in a kernel file need no __device__, line information costs nothing at run time, and nvcc
# knows __int128 as well. The digest is part of cache keys, so they change with our headers.
OPTIONS = ("-lineinfo", "-default-device", "--device-int128", f"-DWARPLOOM_HEADERS=0x{DIGEST}")


# What nvcc and host compilers define, and NVRTC does not.
_PROGRAM_FLAGS = (
    *("-D__extension__=", "-D__inline=inline", "-D__NVCC__=1", "-D_Bool=bool"),
    # nvcc includes it in every program.
    "--pre-include=cuda_runtime.h",
)


def _macros_of(flags: Sequence[str], architecture: str) -> dict[str, str]:
    """Return the macros that are defined before a program's text."""
    given = (flag.removeprefix("-D").partition("=") for flag in flags if flag.startswith("-D"))
    number = "".join(filter(str.isdigit, architecture))
    major, minor = nvrtc_version()
    known = {"__CUDACC__": "1", "__CUDACC_RTC__": "1", "__CUDA_ARCH__": f"{number}0", "__cplusplus": "201703"}
    known |= {"CUDART_VERSION": f"{major}0{minor}0", "__CUDACC_VER_MAJOR__": f"{major}"}
    return {**known, **{name: value or "1" for name, _, value in given}}


class CompiledSource(msgspec.Struct, frozen=True):
    """The results of one compile; `cubin` is None for a virtual architecture ("compute_90"), `log` holds warnings.

    `signatures` are those of its kernels, and `uses` their accesses through parameters. Both are empty unless
    requested, since reading the PTX may take longer than compiling.
    """

    ptx: str
    cubin: bytes | None
    signatures: dict[str, KernelSignature] = msgspec.field(default_factory=dict)
    uses: dict[str, KernelUses] = msgspec.field(default_factory=dict)
    log: str = ""
    #: What was taken of a program; None for a source that is compiled as it is.
    part: Taken | None = None


@cache
def reader_version() -> str:
    """Return a digest of the code that reads signatures and uses, since another version may read others."""
    folders = (Path(parser.__file__).parent, Path(take.__file__).parent)
    sources = [*(path for folder in folders for path in sorted(folder.glob("*.py"))), Path(element_names.__file__)]
    return cache_key(path.read_bytes() for path in sources)


class CompileCache(DiskCache[CompiledSource]):
    """Compiled sources on disk, by default in the user's cache folder."""

    def __init__(self, folder: Path | None = None, limit_bytes: int = 256 << 20) -> None:
        super().__init__(CompiledSource, folder or Path(user_cache_dir("warploom")) / "nvrtc", limit_bytes)


def warm_up() -> None:
    """Load the library and unpack the headers, while a worker process has nothing else to do."""
    nvrtc_library()
    toolkit_folders()


def compile_kernels(
    source: str,
    path: Path,
    architecture: str,
    include_folders: Sequence[Path],
    flags: Sequence[str],
    headers: Mapping[str, str],
    is_closed: bool = False,
    asked: Sequence[str] = (),
) -> CompiledSource:
    """Compile CUDA C++ as `compile_cuda` does, and read the signatures of its kernels."""
    compiled = compile_cuda(source, path, architecture, include_folders, flags, headers, is_closed, asked)
    check_size(compiled.ptx, path.name)
    source = compiled.part.text if compiled.part is not None else source
    signatures = dict(read_signatures(compiled.ptx))
    numbers = {name: named_numbers(source, each) for name, each in signatures.items()}
    try:
        uses = kernel_uses(parse(compiled.ptx), numbers)
    except PtxSyntaxError:  # a GPU loads the CUBIN anyway, and a device reports PTX that it can't load
        uses = {}
    return replace(compiled, signatures=signatures, uses=uses)


def compile_cuda(
    source: str,
    path: Path,
    architecture: str,
    include_folders: Sequence[Path],
    flags: Sequence[str] = (),
    headers: Mapping[str, str] = MappingProxyType({}),
    is_closed: bool = False,
    asked: Sequence[str] = (),
) -> CompiledSource:
    """Compile CUDA C++ for "compute_XX" (PTX) or "sm_XX" (CUBIN and PTX); kernels wait at their start where possible.

    `path` names the source in messages and line information; it need not exist. `flags` are those of `CudaOptions`.
    `headers` maps the names in `#include` lines to texts; other headers are looked up in the folders. With `is_closed`,
    the compiler opens no file, however the source names it, and gets the toolkit's headers as texts. Raise KernelError
    with the compiler's errors and the file and line of the first. There is no file if the error is in a source with a
    relative path, which is in no file.

    Of a program with host functions, only the device's part is compiled. `asked` are the instantiations of its
    templates that a person names.
    """
    part: Taken | None = None
    own: Mapping[str, str] = {
        name: text for name, text in headers.items() if not Path(name).is_relative_to(SHIPPED_FOLDER)
    }
    if take.is_program(source) or any(map(take.is_program, own.values())):

        def compiled(text: str, texts: Mapping[str, str]) -> object:
            virtual = f"compute_{architecture.partition('_')[2]}"
            return _compile(text, path, virtual, include_folders, flags, {**headers, **texts}, is_closed=is_closed)

        flags = (*flags, *_PROGRAM_FLAGS, f"-DCUDA_VERSION={nvrtc_version()[0]}000")
        macros = _macros_of(flags, architecture)
        taken = take.take(source, own, asked, macros)
        _, source, own, left = compiled_without(compiled, taken.text, taken.headers, str(path), macros)
        wanted = {entry_name(each) for each in asked}
        if lost := next((each for each in left if entry_name(each.name) in wanted), None):
            raise CompileError(f"{lost.name} must compile, got: {lost.reason}", file=str(path), line=lost.line)
        headers, part = {**headers, **own}, without(taken, source, left, str(path))
    waiting, rest = waiting_cuda(source, architecture), (path, architecture, include_folders, flags, headers)
    try:
        made = _compile(waiting or source, *rest, is_closed=is_closed)
    except KernelError:
        if waiting is None:
            raise
        made = _compile(source, *rest, is_closed=is_closed)  # again, since messages must show the source as it is
    return made if part is None else replace(made, part=part)


def _compile(
    source: str,
    path: Path,
    architecture: str,
    include_folders: Sequence[Path],
    flags: Sequence[str],
    headers: Mapping[str, str],
    *,
    is_closed: bool,
) -> CompiledSource:
    nvrtc = nvrtc_library()
    options = [f"--gpu-architecture={architecture}", *OPTIONS, *flags, *(f"-I{folder}" for folder in include_folders)]
    if architecture.startswith("compute_"):
        options.append("-DWARPLOOM_CPU")
    brought = {name.encode(): text.encode() for name, text in {**HEADERS, **headers}.items()}
    if is_closed and not set(include_folders).isdisjoint(toolkit_folders()):
        brought = {**toolkit_texts(), **brought}
    program = _program(nvrtc, source, path, brought)
    try:
        if is_closed:
            _load_builtins(nvrtc)
        with no_files({str(path): source, **headers}, brought) if is_closed else nullcontext():
            (result,) = nvrtc.nvrtcCompileProgram(program, len(options), [os.fsencode(option) for option in options])
        log = _fetch(nvrtc, program, "ProgramLog").rstrip(b"\0").decode(errors="replace").strip()
        if result != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            raise compile_error(log, path, {str(path), *headers} if is_closed else None)
        ptx = _fetch(nvrtc, program, "PTX").rstrip(b"\0").decode()
        cubin = None if architecture.startswith("compute_") else _fetch(nvrtc, program, "CUBIN")
    finally:
        nvrtc.nvrtcDestroyProgram(program)
    return CompiledSource(ptx, cubin, log=log)


def _program(nvrtc: Any, source: str, path: Path, headers: Mapping[bytes, bytes]) -> Any:
    names, texts = list(headers), list(headers.values())
    created, program = nvrtc.nvrtcCreateProgram(source.encode(), os.fsencode(path), len(names), texts, names)
    _check(nvrtc, created, "nvrtcCreateProgram")
    return program


@cache
def _load_builtins(nvrtc: Any) -> None:
    """Compile an empty source: NVRTC loads a library of its own with the first one."""
    program = _program(nvrtc, "", Path("empty"), {})
    nvrtc.nvrtcCompileProgram(program, 0, [])
    nvrtc.nvrtcDestroyProgram(program)


def _fetch(nvrtc: Any, program: Any, what: str) -> bytes:
    result, size = getattr(nvrtc, f"nvrtcGet{what}Size")(program)
    _check(nvrtc, result, f"nvrtcGet{what}Size")
    data = bytearray(size)
    (result,) = getattr(nvrtc, f"nvrtcGet{what}")(program, data)
    _check(nvrtc, result, f"nvrtcGet{what}")
    return bytes(data)


def _check(nvrtc: Any, result: Any, call: str) -> None:
    if result != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise KernelError(f"{call} must succeed, got {result.name}")
