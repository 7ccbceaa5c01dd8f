"""Loads a `.cu` file: finds what it includes, compiles it or takes the stored result."""

from __future__ import annotations

from pathlib import Path

from engine.diagnostics import KernelError
from engine.kernel_sources.compile_cache import CompileCache, cache_key
from engine.kernel_sources.files import KERNELS_FOLDER, read_source
from engine.kernel_sources.image import KernelImage
from engine.kernel_sources.includes import find_includes
from engine.kernel_sources.nvrtc import OPTIONS, CompiledSource, compile_cuda, nvrtc_version, toolkit_folders
from engine.ptx import read_signatures


def load_cuda_file(path: Path, architecture: str, cache: CompileCache) -> KernelImage:
    """Compile `path` for `architecture`; KernelError with file and line when it has mistakes or no kernel."""
    compiled, dependencies = compile_source(read_source(path), path, architecture, cache)
    signatures = read_signatures(compiled.ptx)
    if not signatures:
        raise KernelError(
            f'{path.name} must define a kernel (extern "C" __global__ void name(...)), got none', file=str(path)
        )
    return KernelImage(path, compiled.ptx, compiled.cubin, signatures, compiled.log, dependencies)


def compile_source(
    source: str, path: Path, architecture: str, cache: CompileCache
) -> tuple[CompiledSource, tuple[Path, ...]]:
    """Return what `source`, the text of the file `path`, becomes, and the files it depends on: `path`, then includes.

    It is compiled unless the cache has it. KernelError with file and line when it has mistakes.
    """
    folders: tuple[Path, ...] = (path.parent, KERNELS_FOLDER)
    includes = find_includes(source, path, folders)
    if includes.missing:
        folders += toolkit_folders()
    # The path counts, since messages and line information name it.
    key = cache_key(
        [
            source,
            architecture,
            *OPTIONS,
            *map(str, (*nvrtc_version(), path, *folders)),
            *(part for file, text in includes.files.items() for part in (str(file), text)),
        ]
    )
    compiled = cache.get(key)
    if compiled is None:
        compiled = compile_cuda(source, path, architecture, folders)
        cache.put(key, compiled)
    return compiled, (path, *includes.files)
