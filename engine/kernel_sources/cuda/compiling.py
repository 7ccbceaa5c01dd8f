"""Compiles CUDA C++ with its includes, in a worker process, unless the cache has the result."""

import logging
import re
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from warploom.engine.diagnostics import TRUST_PATCH, CompileError, KernelError, Mend
from warploom.engine.disk_cache import cache_key
from warploom.engine.kernel_sources.cuda.errors import UnreadableHeader
from warploom.engine.kernel_sources.cuda.library import must_unpack, nvrtc_version, toolkit_folders
from warploom.engine.kernel_sources.cuda.nvrtc import (
    OPTIONS,
    CompileCache,
    CompiledSource,
    compile_cuda,
    reader_version,
)
from warploom.engine.kernel_sources.cuda.waiting import WAIT
from warploom.engine.kernel_sources.image import KERNELS_FOLDER
from warploom.engine.kernel_sources.python.trust import is_trusted
from warploom.engine.kernel_sources.sources import CudaFile, CudaText
from warploom.engine.kernel_sources.texts import read_source
from warploom.engine.processes.pool import run
from warploom.engine.readings import is_file, is_pipe, reach, resolved

_log = logging.getLogger(__name__)
_INCLUDE = re.compile(
    r"(?P<head>^[ \t]*#[ \t]*include[ \t]*|\b__has_include[ \t]*\([ \t]*)"
    r'(?:"(?P<quoted>[^"\n]{1,1000})"|<(?P<angled>[^>\n]{1,1000})>)'  # a longer name is that of no file
)


def compile_source(
    source: CudaFile | CudaText,
    text: str,
    architecture: str,
    cache: CompileCache,
    compiler: Callable[..., CompiledSource] = compile_cuda,
) -> CompiledSource:
    """Have a worker process compile `text`, the text of `source` or derived from it, unless the cache has the result.

    Raise KernelError, with file and line, if the text is wrong.
    """
    origin, folders, flags = _origin(source), _folders(source), source.options.flags
    architecture = source.options.architecture or architecture
    around = reach()
    includes = find_includes(text, origin, folders, around)
    if includes.missing:
        folders += run(toolkit_folders) if must_unpack() else toolkit_folders()
    # The path is part of the key, since messages and line information name it.
    key = cache_key(
        [
            includes.text,
            architecture,
            compiler.__name__,
            *OPTIONS,
            WAIT,
            str(len(flags)),
            *flags,
            "" if around is None else "only these files",
            *source.options.instances,
            reader_version(),
            *map(str, (*nvrtc_version(), origin, *folders)),
            *(part for file, included in includes.files.items() for part in (str(file), included)),
        ]
    )
    compiled = cache.get(key)
    if compiled is None:
        begun_ns = time.perf_counter_ns()
        headers = {str(file): included for file, included in includes.files.items()}
        try:
            asked = source.options.instances
            is_closed = around is not None
            compiled = run(compiler, includes.text, origin, architecture, folders, flags, headers, is_closed, asked)
        except UnreadableHeader as problem:
            raise _out_of_reach(problem, includes) from None
        _log.debug(
            "compiled %s for %s in %.0f ms", source.label, architecture, (time.perf_counter_ns() - begun_ns) / 1e6
        )
        cache.put(key, compiled)
    return compiled


def _out_of_reach(problem: UnreadableHeader, includes: "Includes") -> CompileError:
    """Return the error about a header that the compiler did not get: it is missing, or only a trusted patch may."""
    name, path = problem.name, Path(problem.name)
    if name in includes.missing and name not in includes.hidden and not path.is_absolute() and ".." not in path.parts:
        return problem
    refused = CompileError(
        "header must lie in the patch's folder, beside the kernel, in a folder of blocks that is trusted or among "
        f"CUDA's headers, and the #include must name it without a macro, got {name}",
        file=problem.file,
        line=problem.line,
    )
    refused.remedy, refused.mend, refused.found = TRUST_PATCH, Mend.TRUST, name
    return refused


def _origin(source: CudaFile | CudaText) -> Path:
    """Return the path that messages of the compiler use."""
    return Path(source.file or source.label)


def _folders(source: CudaFile | CudaText) -> tuple[Path, ...]:
    """Return the folders where included files are looked up."""
    beside = [Path(source.file).parent] if source.file else []
    return (*beside, *map(Path, source.options.include_folders), KERNELS_FOLDER)


class Includes(msgspec.Struct, frozen=True):
    """A source with its included files, in order of first mention, and the names that no folder has.

    In all of these texts, an `#include` of a file that was found has the file's whole path. The compiler gets the texts
    instead of reading the files, which may have changed since.
    """

    text: str
    files: Mapping[Path, str]
    missing: tuple[str, ...]
    #: Missing names that might mean a file that an untrusted patch must not include.
    hidden: frozenset[str] = frozenset()


def find_includes(source: str, path: Path, folders: Sequence[Path], within: Path | None = None) -> Includes:
    """Follow the `#include` lines of `source`, a text of the file `path`, as the compiler would.

    Lines that `#if` disables count too: an extra file only costs a compile, but a missing one leaves a stale kernel.
    With `within`, the folder of a patch that isn't trusted, only files are found that lie there, beside `path` or in a
    trusted folder; symbolic links are followed.
    """
    around = [] if within is None else [within, *([path.parent] if path.is_absolute() else [])]
    hidden: set[str] = set()
    found: dict[Path, str] = {}
    missing: dict[str, None] = {}

    def placed(text: str, origin: Path) -> str:
        def name_path(line: re.Match[str]) -> str:
            name, is_beside = line["quoted"] or line["angled"], line["quoted"] and origin.is_absolute()
            places = [resolved(folder / name) for folder in ([origin.parent, *folders] if is_beside else folders)]
            if within is not None:
                near = [place for place in places if any(map(place.is_relative_to, around)) or is_trusted(place)]
                hidden.update([name] if near != places else [])
                places = near
            target = next(filter(is_file, places), None)
            if target is None:
                missing[name] = None
                if pipe := next(filter(is_pipe, places), None):  # the compiler would wait for it
                    raise KernelError(f"header must be a file, got {pipe}, which is not one", file=str(origin))
            if target in (None, path) or '"' in str(target):
                return line[0]
            if target not in found:
                found[target] = read_source(target)
            return f'{line["head"]}"{target}"'

        # Most lines include nothing, and are looked at much faster in this way.
        return "\n".join([_INCLUDE.sub(name_path, line) if "include" in line else line for line in text.split("\n")])

    text = placed(source, path)
    done: dict[Path, str] = {}
    while waiting := found.keys() - done.keys():
        for file in [file for file in found if file in waiting]:
            done[file] = placed(found[file], file)
    return Includes(text, {file: done[file] for file in found}, tuple(missing), frozenset(hidden))
