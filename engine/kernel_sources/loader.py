"""Loads kernel files: the path of a `.cu` or `.ptx` in, a `KernelImage` out."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.diagnostics import KernelError
from engine.disk_cache import cache_key
from engine.kernel_sources.describe import contradictions, describe_kernels
from engine.kernel_sources.image import (
    KERNELS_FOLDER,
    KernelImage,
    KernelManifest,
    is_file,
    manifest_paths,
    read_manifest,
    read_source,
)
from engine.kernel_sources.nvrtc import (
    OPTIONS,
    CompileCache,
    CompiledSource,
    compile_cuda,
    compile_kernels,
    must_unpack,
    nvrtc_version,
    reader_version,
    toolkit_folders,
)
from engine.processes.pool import run
from engine.ptx import parse
from engine.ptx.tree import KernelSignature

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)', re.MULTILINE)


def load_image(path: Path, architecture: str, cache: CompileCache | None = None) -> KernelImage:
    """Load a kernel file for `architecture` ("compute_75" for the host, "sm_90" for a GPU; `DeviceInfo` has it).

    Raises KernelError, with file and line where known, when the file is missing, does not compile or is of no known
    kind. Compiled sources are kept in `cache`, by default the user's cache folder.
    """
    path = path.resolve()
    load = LOADERS.get(path.suffix)
    if load is None:
        raise KernelError(f"kernel file must end in {' or '.join(LOADERS)}, got {path.name}", file=str(path))
    try:
        return load(path, architecture, cache or CompileCache())
    except KernelError as problem:
        problem.file = problem.file or str(path)
        raise


def source_files(path: Path) -> frozenset[Path]:
    """Return a kernel file and what it includes, as they are now; the file alone when one of them can't be read."""
    try:
        return frozenset({path, *find_includes(read_source(path), path, (path.parent, KERNELS_FOLDER)).files})
    except KernelError:
        return frozenset({path})


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
            if is_file(path):
                return path.resolve()
    raise KernelError(f"kernel {' or '.join(names)} must be in one of {', '.join(map(str, folders))}, found in none")


def load_cuda_file(path: Path, architecture: str, cache: CompileCache) -> KernelImage:
    """Compile `path` for `architecture`; KernelError with file and line when it has mistakes or no kernel."""
    compiled, dependencies = compile_source(read_source(path), path, architecture, cache, compile_kernels)
    if not compiled.signatures:
        raise KernelError(
            f'{path.name} must define a kernel (extern "C" __global__ void name(...)), got none', file=str(path)
        )
    return KernelImage(path, compiled.ptx, compiled.cubin, compiled.signatures, compiled.log, dependencies)


def compile_source(
    source: str,
    path: Path,
    architecture: str,
    cache: CompileCache,
    compiler: Callable[[str, Path, str, Sequence[Path]], CompiledSource] = compile_cuda,
) -> tuple[CompiledSource, tuple[Path, ...]]:
    """Have a worker process compile `source`, the text of the file `path`, unless the cache has the result.

    Also return its dependencies: `path`, then its includes. KernelError, with file and line, when the source is wrong.
    """
    folders: tuple[Path, ...] = (path.parent, KERNELS_FOLDER)
    includes = find_includes(source, path, folders)
    if includes.missing:
        folders += run(toolkit_folders) if must_unpack() else toolkit_folders()
    # The path is part of the key, since messages and line information name it.
    key = cache_key(
        [
            source,
            architecture,
            compiler.__name__,
            *OPTIONS,
            reader_version(),
            *map(str, (*nvrtc_version(), path, *folders)),
            *(part for file, text in includes.files.items() for part in (str(file), text)),
        ]
    )
    compiled = cache.get(key)
    if compiled is None:
        compiled = run(compiler, source, path, architecture, folders)
        cache.put(key, compiled)
    return compiled, (path, *includes.files)


@dataclass(frozen=True)
class Includes:
    """The files that a source includes, with their texts in order of first mention; names that no folder has."""

    files: Mapping[Path, str]
    missing: tuple[str, ...]


def find_includes(source: str, path: Path, folders: Sequence[Path]) -> Includes:
    """Follow the `#include` lines of `source`, whose file is `path`, as the compiler would.

    Lines that `#if` disables count too: a superfluous file only costs a compile, a missing one a stale kernel.
    """
    found: dict[Path, str] = {}
    missing: dict[str, None] = {}
    pending = [(source, path)]
    while pending:
        text, origin = pending.pop(0)
        for quoted, angled in _INCLUDE.findall(text):
            places = [origin.parent, *folders] if quoted else list(folders)
            target = _first_file(quoted or angled, places)
            if target is None:
                missing[quoted or angled] = None
            elif target != path and target not in found:
                found[target] = read_source(target)
                pending.append((found[target], target))
    return Includes(found, tuple(missing))


def _first_file(name: str, folders: Sequence[Path]) -> Path | None:
    for folder in folders:
        target = (folder / name).resolve()
        if is_file(target):
            return target
    return None


def load_ptx_file(path: Path, architecture: str, cache: CompileCache) -> KernelImage:
    """Read PTX and its manifests; KernelError with the place when one is wrong or they disagree.

    Every device takes PTX, so neither the architecture nor the cache matters here.
    """
    text = read_source(path)
    try:
        signatures = parse(text).signatures
    except KernelError as wrong:
        raise KernelError(f"{path.name}: {wrong}", file=str(path), line=wrong.line) from None
    if not signatures:
        raise KernelError(f"{path.name} must define a kernel (.entry), got none", file=str(path))
    # Manifests are dependencies even before they exist: writing one changes the image.
    paths = manifest_paths(path, signatures)
    manifests = {place: read_manifest(place) for place in paths if is_file(place)}
    for place, manifest in manifests.items():
        _check_parameters(manifest, signatures, place)
    image = KernelImage(path, text, None, signatures, "", (path, *paths), {m.name: m for m in manifests.values()})
    found = {manifest.name: manifest for manifest in describe_kernels(image)} if manifests else {}
    for place, manifest in manifests.items():
        if refuted := list(contradictions(manifest, found[manifest.name])):
            raise KernelError(
                f"{place.name} must fit the PTX of {manifest.name}: {'; '.join(refuted)}", file=str(place)
            )
    return image


def _check_parameters(manifest: KernelManifest, signatures: dict[str, KernelSignature], path: Path) -> None:
    signature = signatures.get(manifest.name)
    if signature is None:
        raise KernelError(
            f"name in {path.name} must be an entry point of the PTX ({', '.join(signatures)}), got {manifest.name}",
            file=str(path),
        )
    indices = sorted(parameter.index for parameter in manifest.parameters)
    if indices != list(range(len(signature.parameters))):
        raise KernelError(
            f"parameters in {path.name} must have the indices 0 to {len(signature.parameters) - 1} "
            f"that {manifest.name} takes, got {indices}",
            file=str(path),
        )


#: The kinds of kernel files, by suffix.
LOADERS: dict[str, Callable[[Path, str, CompileCache], KernelImage]] = {
    ".cu": load_cuda_file,
    ".ptx": load_ptx_file,
}
