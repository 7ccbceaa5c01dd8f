"""Compiles CUDA C++ to PTX and CUBIN with NVRTC; this needs no GPU and no CUDA toolkit."""

import importlib
import importlib.metadata
import os
import posixpath
import re
import shutil
import sys
import tempfile
import time
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import accumulate
from pathlib import Path
from types import MappingProxyType
from typing import Any

from platformdirs import user_cache_dir

from warploom.engine.diagnostics import CompileError, KernelError
from warploom.engine.disk_cache import DiskCache, cache_key
from warploom.engine.kernel_sources import element_names
from warploom.engine.kernel_sources.device_part import take
from warploom.engine.kernel_sources.device_part.leave_out import compiled_without, without
from warploom.engine.kernel_sources.device_part.take import Taken
from warploom.engine.kernel_sources.device_part.templates import entry_name
from warploom.engine.kernel_sources.element_names import named_numbers
from warploom.engine.kernel_sources.standard_headers import DIGEST, HEADERS
from warploom.engine.kernel_sources.texts import SHIPPED_FOLDER
from warploom.engine.platforms.files import can_refuse_files, no_more_files
from warploom.engine.ptx import KernelSignature, PtxSyntaxError, parse, parser, read_signatures
from warploom.engine.ptx.text import check_size, code_of
from warploom.engine.ptx.uses import KernelUses, kernel_uses

_HEAD = re.compile(
    r"^(?P<file>.+?)\((?P<line>\d+)\): (?P<kind>(?:catastrophic )?error|warning|remark)[^:]*: (?P<text>.*)$"
)
#: The error about a file that can't be opened, with and without `_no_files`.
_UNREADABLE = re.compile(r'((?:cannot|could not) open source file "([^"\n]*)")(?:: Too many open files)?')
#: The end of a line that goes on in the next one, and a directive that reads a file: it is found in comments too.
_SPLIT = re.compile(r"(?:\\|\?\?/)[ \t\f\v\r]*\n")
_READING = re.compile(
    r"(?:#|%:|\?\?=)(?:[ \t\f\v\r\0]|/\*.*?\*/)*(?:include|include_next|import|embed)\b(?P<rest>[^\n]*)", re.DOTALL
)
_NAMED = re.compile(r'\s*(?:"([^"]*)"|<([^>]*)>)\s*(?://.*|/\*.*)?')
#: An include of a header beside the one that includes it.
_BESIDE = re.compile(r'^([ \t]*#[ \t]*include[ \t]*)"([^"\n]+)"', re.MULTILINE)
# One mistake causes many later errors; the first few show what to fix.
_SHOWN = 5


class UnreadableHeader(CompileError):
    """A source includes a file that the compiler did not get; `name` is what the source calls it."""

    def __init__(self, message: str, *, name: str = "") -> None:
        super().__init__(message)
        self.name = name


def compile_error(log: str, path: Path, known: Collection[str] | None = None) -> CompileError:
    """Return the error for a failed compile of `path`: the errors with their lines, at the first one's line.

    If `known` has the files that the compiler got, there is no file and line in another one, which a `#line` may name.
    """
    log, unreadable = _UNREADABLE.sub(r"\1", log), _UNREADABLE.search(log)
    errors = [block for block in _blocks(log) if "error" in block[0]["kind"]]
    if not errors:
        # The source has no mistake: an option or the architecture is unknown, and the log explains it.
        lines = [line.strip() for line in log.splitlines() if line.strip()]
        return CompileError(f"{path.name} must compile, got: {'; '.join(lines) or 'no reason'}", file=_in_file(path))
    count = f"{len(errors)} error{'s' if len(errors) > 1 else ''}"
    shown = [
        "\n".join([f"{Path(head['file']).name}({head['line']}): {head['text']}", *excerpt])
        for head, excerpt in errors[:_SHOWN]
    ]
    if len(errors) > _SHOWN:
        shown.append(f"and {len(errors) - _SHOWN} more")
    first = errors[0][0]
    text = "\n".join([f"{path.name} must compile, got {count}:", *shown])
    problem = CompileError(text) if known is None or unreadable is None else UnreadableHeader(text, name=unreadable[2])
    problem.errors = tuple(
        (head["file"], int(head["line"]), "\n".join([head["text"], *excerpt])) for head, excerpt in errors
    )
    problem.mistakes = tuple(
        (head["file"], int(head["line"]), head["text"]) for head, _ in errors if known is None or head["file"] in known
    )
    if known is None or first["file"] in known:
        problem.file, problem.line = _in_file(Path(first["file"])), int(first["line"])
    return problem


def warnings_in(log: str) -> list[tuple[str, int, str]]:
    """Return the compiler's warnings in the log of a compile: the file, the line from 1 and the text of each."""
    found = (head for head, _ in _blocks(log) if head["kind"] == "warning")
    return [(head["file"], int(head["line"]), head["text"]) for head in found]


def _in_file(path: Path) -> str | None:
    """Return the file to open for a mistake; None for a text without a file, and for a header of NVRTC."""
    return str(path) if path.is_absolute() else None


def _blocks(log: str) -> list[tuple[re.Match[str], list[str]]]:
    """Split a log into messages, each with the source excerpt below it."""
    blocks: list[tuple[re.Match[str], list[str]]] = []
    inside = False
    for line in log.splitlines():
        head = _HEAD.match(line)
        if head:
            blocks.append((head, []))
            inside = True
        elif not line.strip():
            inside = False
        elif inside:
            blocks[-1][1].append(line)
    return blocks


_PACKAGE = "nvidia-cuda-nvrtc"
_BUNDLED_SINCE = (13, 5)
_UNPACKING, _LEFT_S = "unpacking-", 3600
_KEEP_WHAT_IS_THERE = 1  # NVRTC_INSTALL_HEADERS_SKIP_IF_EXISTS


def toolkit_include_folders(nvrtc: Any, version: tuple[int, int]) -> tuple[Path, ...]:
    """Return the folders of the toolkit headers (cuda_fp16.h, cooperative_groups.h, cub); NVRTC unpacks 26 MB once.

    NVRTC before 13.5 has no headers. Then those of an installed toolkit are used, found by CUDA_HOME or CUDA_PATH.
    """
    install = getattr(nvrtc, "nvrtcInstallBundledHeaders", None)
    if install is None or version < _BUNDLED_SINCE:
        homes = [os.environ[name] for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
        return tuple(folder for home in homes for folder in (Path(home) / "include", Path(home) / "include" / "cccl"))
    folder = _bundled_headers(version)
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        for left in folder.parent.glob(f"{_UNPACKING}*"):  # left by a process that was killed
            if left.stat().st_mtime < time.time() - _LEFT_S:
                shutil.rmtree(left, ignore_errors=True)
        # Unpack beside the folder and rename at the end: another process may do the same, and the first one wins.
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=_UNPACKING) as temporary:
            unpacked = Path(temporary) / "headers"
            result, log = install(os.fsencode(unpacked), _KEEP_WHAT_IS_THERE)
            if result != nvrtc.nvrtcResult.NVRTC_SUCCESS:
                detail = log.decode(errors="replace") if isinstance(log, bytes) else result.name
                raise KernelError(f"toolkit headers must be unpacked into {folder}, got {detail}")
            try:
                unpacked.rename(folder)
            except OSError:
                if not folder.is_dir():
                    raise
    return folder, folder / "cccl"


def _bundled_headers(version: tuple[int, int]) -> Path:
    return Path(user_cache_dir("warploom")) / f"toolkit-headers-{version[0]}.{version[1]}"


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


@dataclass(frozen=True)
class CompiledSource:
    """The results of one compile; `cubin` is None for a virtual architecture ("compute_90"), `log` holds warnings.

    `signatures` are those of its kernels, and `uses` their accesses through parameters. Both are empty unless
    requested, since reading the PTX may take longer than compiling.
    """

    ptx: str
    cubin: bytes | None
    signatures: dict[str, KernelSignature] = field(default_factory=dict)
    uses: dict[str, KernelUses] = field(default_factory=dict)
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


@cache
def nvrtc_library() -> Any:
    """Return the NVRTC bindings with the shared library loaded. Raise KernelError when it is not installed."""
    try:
        library = importlib.import_module("cuda.bindings.nvrtc")
        library.nvrtcVersion()  # the first call loads the shared library
    except (ImportError, RuntimeError) as reason:
        what = "NVRTC, the CUDA C++ compiler, must be installed to use .cu kernels"
        if sys.platform == "darwin":
            raise KernelError(
                f"{what}, got macOS, for which NVIDIA has none; run the engine on a machine with Linux "
                "(--engine 'ssh HOST warploom engine'), or use op graphs and .ptx kernels"
            ) from None
        raise KernelError(f"{what}: pip install cuda-python nvidia-cuda-nvrtc ({reason})") from None
    return library


@cache
def nvrtc_version() -> tuple[int, int]:
    """Return NVRTC's version, such as (13, 5). Raise KernelError when it is not installed.

    The version comes from NVRTC's package. Loading the library takes 40 ms, which a patch whose kernels are all cached
    need not wait for.
    """
    try:
        major, minor, *_ = importlib.metadata.version(_PACKAGE).split(".")
        return int(major), int(minor)
    except (importlib.metadata.PackageNotFoundError, ValueError):  # NVRTC comes from a toolkit
        _, found, part = nvrtc_library().nvrtcVersion()
        return found, part


@cache
def toolkit_folders() -> tuple[Path, ...]:
    """Return the folders of the toolkit headers that belong to this NVRTC."""
    version = nvrtc_version()
    folder = _bundled_headers(version)
    if version >= _BUNDLED_SINCE and folder.is_dir():
        return folder, folder / "cccl"
    return toolkit_include_folders(nvrtc_library(), version)


def must_unpack() -> bool:
    """True when `toolkit_folders` would unpack the headers, which takes seconds."""
    version = nvrtc_version()
    return version >= _BUNDLED_SINCE and not _bundled_headers(version).is_dir()


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
    made = _compile_waiting(source, path, architecture, include_folders, flags, headers, is_closed=is_closed)
    return made if part is None else replace(made, part=part)


def _compile_waiting(
    source: str,
    path: Path,
    architecture: str,
    include_folders: Sequence[Path],
    flags: Sequence[str],
    headers: Mapping[str, str],
    *,
    is_closed: bool,
) -> CompiledSource:
    """Compile CUDA C++ whose kernels wait at their start where possible."""
    waiting = waiting_cuda(source, architecture)
    if waiting is not None:
        try:
            return _compile(waiting, path, architecture, include_folders, flags, headers, is_closed=is_closed)
        except KernelError:
            pass  # compile again, since messages must show the source as it is
    return _compile(source, path, architecture, include_folders, flags, headers, is_closed=is_closed)


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
    brought = {name.encode(): text.encode() for name, text in {**HEADERS, **headers}.items()}
    if is_closed and not set(include_folders).isdisjoint(toolkit_folders()):
        brought = {**_toolkit_texts(), **brought}
    program = _program(nvrtc, source, path, brought)
    try:
        with _no_files(nvrtc, {str(path): source, **headers}, brought) if is_closed else nullcontext():
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


@contextmanager
def _no_files(nvrtc: Any, texts: Mapping[str, str], brought: Mapping[bytes, bytes]) -> Iterator[None]:
    """Let the compiler of a source open no file.

    A source can name a file in many ways, by macros too, so where the system can, this process opens no file. Windows
    can't, so there each directive of the texts that reads a file must be an `#include` of a header that is `brought`.
    """
    _load_builtins(nvrtc)
    if can_refuse_files():
        with no_more_files():
            yield
        return
    for name, text in texts.items():
        for included, line in included_names(text):
            if included.encode() not in brought:
                message = f'{Path(name).name}({line}): cannot open source file "{included}"'
                problem = UnreadableHeader(message, name=included)
                problem.file, problem.line = _in_file(Path(name)), line
                raise problem
    yield


def included_names(text: str) -> Iterator[tuple[str, int]]:
    """Yield what each directive names that reads a file, and its line: also a macro's name.

    A directive's own name can't come from a macro, but its line may be split.
    """
    parts = _SPLIT.split(text)
    ends, plain = list(accumulate(map(len, parts))), "".join(parts)
    for found in _READING.finditer(plain):
        rest, at = found["rest"], found.start()
        named = _NAMED.fullmatch(rest)
        yield (named[1] or named[2]) if named else rest.strip(), plain.count("\n", 0, at) + bisect_right(ends, at) + 1


@cache
def _load_builtins(nvrtc: Any) -> None:
    """Compile an empty source: NVRTC loads a library of its own with the first one."""
    program = _program(nvrtc, "", Path("empty"), {})
    nvrtc.nvrtcCompileProgram(program, 0, [])
    nvrtc.nvrtcDestroyProgram(program)


@cache
def _toolkit_texts() -> dict[bytes, bytes]:
    """Return the toolkit's headers by the names by which sources and other headers include them.

    A header names one beside it from its own folder, which is rewritten, since the compiler does not look there.
    """
    folders, found = toolkit_folders(), dict[str, str]()
    for folder in reversed(folders):
        inner = [other for other in folders if other != folder and other.is_relative_to(folder)]
        for path in folder.rglob("*"):
            if path.is_file() and not any(map(path.is_relative_to, inner)):
                found[path.relative_to(folder).as_posix()] = path.read_text(encoding="utf-8", errors="replace")

    def placed(name: str, text: str) -> str:
        def beside(line: re.Match[str]) -> str:
            other = posixpath.normpath(posixpath.join(posixpath.dirname(name), line[2]))
            return f'{line[1]}"{other}"' if other in found else line[0]

        return _BESIDE.sub(beside, text)

    return {name.encode(): placed(name, text).encode() for name, text in found.items()}


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


#: The first statement of a kernel that waits for the kernels before it.
WAIT = ' asm volatile("griddepcontrol.wait;" ::: "memory");'
_OLDEST = 90
_DIRECTIVE = re.compile(r"^[ \t]*#(?:\\.|[^\\\n])*", re.MULTILINE | re.DOTALL)
_KERNEL = re.compile(r"\b__global__\b")


def waiting_cuda(text: str, architecture: str) -> str | None:
    """Return CUDA C++ whose kernels first wait until earlier launches are complete.

    Lines keep their numbers. Return None when the architecture ("sm_90") has no such wait, or no kernel is found. A
    kernel from a macro or from another file is not found.
    """
    found = re.match(r"sm_(\d+)", architecture)
    if found is None or int(found[1]) < _OLDEST:
        return None
    places = list(_bodies(_DIRECTIVE.sub(lambda line: re.sub(r"[^\n]", " ", line[0]), code_of(text))))
    for place in reversed(places):
        text = text[:place] + WAIT + text[place:]
    return text if places else None


def _bodies(code: str) -> Iterator[int]:
    """Yield the start of each kernel's body: after the first brace outside parentheses."""
    place = 0
    for head in _KERNEL.finditer(code):
        if head.start() < place:
            continue
        depth = 0
        for place in range(head.end(), len(code)):
            character = code[place]
            depth += (character == "(") - (character == ")")
            if not depth and character in "{;":  # a semicolon ends a declaration
                if character == "{":
                    yield place + 1
                break
