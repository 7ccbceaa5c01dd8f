"""The way into this room: a kernel file's path in, a `KernelImage` out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from engine.diagnostics import KernelError
from engine.kernel_sources.compile_cache import CompileCache
from engine.kernel_sources.cuda_file import load_cuda_file
from engine.kernel_sources.files import KERNELS_FOLDER
from engine.kernel_sources.image import KernelImage
from engine.kernel_sources.ptx_file import load_ptx_file

LOADERS: dict[str, Callable[[Path, str, CompileCache], KernelImage]] = {
    ".cu": load_cuda_file,
    ".ptx": load_ptx_file,
}


def load_image(path: Path, architecture: str, cache: CompileCache | None = None) -> KernelImage:
    """Load a kernel file for `architecture` ("compute_75" for the host, "sm_90" for a GPU; `DeviceInfo` has it).

    Raises KernelError, with file and line where known, when the file is missing, does not compile or is of no known
    kind. Compiled sources are kept in `cache`, by default the user's cache folder.
    """
    path = path.resolve()
    load = LOADERS.get(path.suffix)
    if load is None:
        raise KernelError(f"kernel file must end in {' or '.join(LOADERS)}, got {path.name}", file=str(path))
    return load(path, architecture, cache or CompileCache())


def find_kernel(name: str, search: Sequence[Path] = ()) -> Path:
    """Return the file called `name` in the first of the `search` folders that has it, then in Warploom's `kernels/`.

    `name` may hold folders ("image/blur.cu"), be absolute, or leave its suffix out. KernelError lists the folders
    that were searched.
    """
    folders = [*search, KERNELS_FOLDER]
    names = [name] if Path(name).suffix in LOADERS else [name + suffix for suffix in LOADERS]
    for folder in folders:
        for candidate in names:
            path = folder / candidate
            if path.is_file():
                return path.resolve()
    raise KernelError(f"kernel {' or '.join(names)} must be in one of {', '.join(map(str, folders))}, found in none")
