"""Loads kernels: turns a source, or the path of a kernel file, into a `KernelImage`."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Literal

from msgspec.structs import replace

from warploom.engine.device.protocol import BestCode
from warploom.engine.diagnostics import CompileError, KernelError
from warploom.engine.kernel_sources import op_graphs
from warploom.engine.kernel_sources.cuda.compiling import compile_source
from warploom.engine.kernel_sources.cuda.nvrtc import CompileCache, compile_kernels
from warploom.engine.kernel_sources.cuda.texture_inputs import with_textures
from warploom.engine.kernel_sources.describe import contradictions, describe_kernels, mistakes
from warploom.engine.kernel_sources.element_types.declared import declared_types, typed_parameters
from warploom.engine.kernel_sources.element_types.names import PointerElement
from warploom.engine.kernel_sources.image import KERNELS_FOLDER, KernelImage
from warploom.engine.kernel_sources.manifest import KernelManifest, manifest_paths, read_manifest
from warploom.engine.kernel_sources.python.files import kernels_in
from warploom.engine.kernel_sources.python.load import load_python
from warploom.engine.kernel_sources.sources import (
    CudaFile,
    CudaOptions,
    CudaText,
    DrivenKernel,
    KernelSource,
    OpGraphSource,
    PtxFile,
    PythonKernel,
    SpecialisedKernel,
)
from warploom.engine.kernel_sources.specialise import (
    driven_cuda,
    driven_ptx,
    number_field,
    specialised_cuda,
    specialised_ptx,
)
from warploom.engine.kernel_sources.texts import read_source
from warploom.engine.ops import OpError
from warploom.engine.ops.lowering.places import without_lines
from warploom.engine.ptx import parse, read_signatures
from warploom.engine.ptx.text import check_size
from warploom.engine.ptx.tree import KernelSignature
from warploom.engine.ptx.uses import kernel_uses
from warploom.engine.readings import Reading, is_file, reach, resolved

_OR_SUFFIXES = ".cu, .ptx or .py"
#: The kinds of kernel files, by suffix.
SUFFIXES = (".cu", ".ptx", ".py")


def load_image(source: KernelSource | Path, architecture: str, cache: CompileCache | None = None) -> KernelImage:
    """Load a kernel for `architecture` ("compute_90" for the host, "sm_90" for a GPU; `DeviceInfo` has it).

    A source with a relative path or relative folders goes through `find_source` first. Raise KernelError, with file and
    line where known, if the file is missing, does not compile or has an unknown suffix. Compiled sources are kept in
    `cache`, by default in the user's cache folder. Files are read from the disk, or from the contents that the source
    has `held`.
    """
    if isinstance(source, Path):
        source = file_source(resolved(source))
    reading = source.held or Reading(reach())
    try:
        with reading.under_way():
            image = LOADERS[type(source)](source, architecture, cache or CompileCache())
        return dataclasses.replace(image, reading=reading)
    except KernelError as problem:
        problem.file = problem.file or source.file
        raise


def file_source(path: Path, entry: str = "") -> KernelSource:
    """Return a kernel file as a source. Raise KernelError when its suffix is unknown.

    Each kernel of a `.py` is a source of its own: `entry` names it, and may be left out if the file has only one.
    """
    match path.suffix:
        case ".cu":
            return CudaFile(str(path))
        case ".ptx":
            return PtxFile(str(path))
        case ".py":
            return PythonKernel(str(path), entry or _only_kernel(path))
    raise KernelError(f"kernel file must end in {_OR_SUFFIXES}, got {path.name}", file=str(path))


def _only_kernel(path: Path) -> str:
    kernels = kernels_in(read_source(path), path)
    if len(kernels) != 1:
        raise KernelError(
            f"kernel of {path.name} must be chosen by its name, one of {', '.join(kernels) or 'none'}", file=str(path)
        )
    return next(iter(kernels))


def find_source(source: str | KernelSource, search: Sequence[Path] = (), entry: str = "") -> KernelSource:
    """Return a source, given as a source or by a file's name, with absolute paths that `find_kernel` finds.

    Relative include folders, and the includes of a text, are looked up in the `search` folders. `entry` names a kernel
    of a `.py`. A source that has its files' contents (`held`) is complete.
    """
    if not isinstance(source, str) and source.held is not None:
        return source
    match source:
        case str():
            return file_source(find_kernel(source, search), entry)
        case OpGraphSource():
            return source
        case CudaText(options=options):
            return replace(source, options=_placed(options, search, [str(folder) for folder in search]))
        case CudaFile(path=path, options=options):
            return replace(source, path=str(find_kernel(path, search)), options=_placed(options, search))
        case PtxFile(path=path) | PythonKernel(path=path):
            return replace(source, path=str(find_kernel(path, search)))
        case SpecialisedKernel(source=general) | DrivenKernel(source=general):
            return replace(source, source=find_source(general, search, entry))


def _placed(options: CudaOptions, search: Sequence[Path], more: Sequence[str] = ()) -> CudaOptions:
    """Return options with absolute include folders, followed by `more`. Raise KernelError for a missing folder."""
    folders = []
    for name in options.include_folders:
        places = [folder / name for folder in search] or [Path(name)]
        found = next((resolved(place) for place in places if place.is_dir()), None)
        if found is None:
            raise KernelError(f"include folder {name} must be in one of {', '.join(map(str, search))}, found in none")
        folders.append(str(found))
    return replace(options, include_folders=(*folders, *more)) if folders or more else options


def find_kernel(name: str, search: Sequence[Path] = ()) -> Path:
    """Return the file `name` in the first of the `search` folders that has it, or in Warploom's `kernels/`.

    `name` may hold folders ("image/blur.cu"), be absolute, or leave its suffix out. If there is none, raise a
    KernelError that lists the searched folders.
    """
    folders = [*search, KERNELS_FOLDER]
    names = [name] if Path(name).suffix in SUFFIXES else [name + suffix for suffix in SUFFIXES]
    path = next(filter(is_file, (folder / candidate for folder in folders for candidate in names)), None)
    if path is not None:
        return resolved(path)
    if Path(name).is_absolute():
        raise KernelError(
            f"kernel file must exist, got {name:.300}", file=name, remedy="name another file, or put one there"
        )
    raise KernelError(
        f"kernel {' or '.join(names)} must be in one of {', '.join(map(str, folders))}, found in none",
        remedy="name another file, or put it there",
    )


def load_cuda(source: CudaFile | CudaText, architecture: str, cache: CompileCache) -> KernelImage:
    """Compile CUDA C++ for `architecture`. Raise KernelError with file and line if it has mistakes or no kernel."""
    text = with_textures(read_cuda(source))
    compiled = compile_source(source, text, architecture, cache, compile_kernels)
    if compiled.part is not None:
        text = compiled.part.text
        if not compiled.signatures and compiled.part.missing:
            line, name = compiled.part.missing[0]
            raise KernelError(
                f"template {name} of {source.label}({line}) must have arguments, and no launch in the file shows any",
                file=source.file, line=line, remedy=f"set entry to an instantiation, such as {name}<float>",
            )  # fmt: skip
    if not compiled.signatures:
        raise KernelError(
            f'{source.label} must define a kernel (extern "C" __global__ void name(...)), got none', file=source.file
        )
    found = compiled.ptx, compiled.cubin, compiled.signatures
    return KernelImage(source, *found, text=text, part=compiled.part, uses=compiled.uses)


def read_cuda(source: CudaFile | CudaText) -> str:
    """Return the CUDA C++ of a source. Raise KernelError when its file can't be read."""
    return source.text if isinstance(source, CudaText) else read_source(Path(source.path))


def load_ptx(source: PtxFile, architecture: str, cache: CompileCache) -> KernelImage:
    """Read PTX and its manifests. Raise KernelError with the place if one is wrong or they disagree.

    Every device takes PTX, so the architecture and the cache make no difference.
    """
    path = Path(source.path)
    text = read_source(path)
    check_size(text, path.name)
    try:
        module = parse(text)
    except KernelError as wrong:
        raise KernelError(f"{path.name}: {wrong}", file=str(path), line=wrong.line) from None
    signatures, uses = module.signatures, kernel_uses(module, {})
    if not signatures:
        raise KernelError(f"{path.name} must define a kernel (.entry), got none", file=str(path))
    manifests = {place: read_manifest(place) for place in manifest_paths(path, signatures) if is_file(place)}
    for place, manifest in manifests.items():
        _check_parameters(manifest, signatures, place)
    by_entry = {manifest.name: manifest for manifest in manifests.values()}
    image = KernelImage(source, text, None, signatures, by_entry, uses=uses)
    found = {manifest.name: manifest for manifest in describe_kernels(image)} if manifests else {}
    for place, manifest in manifests.items():
        if refuted := list(contradictions(manifest, found[manifest.name])):
            raise KernelError(
                f"{place.name} must fit the PTX of {manifest.name}: {'; '.join(refuted)}", file=str(place)
            )
    return image


def load_op_graph(source: OpGraphSource, architecture: str, cache: CompileCache) -> KernelImage:
    """Compile an op graph. Raise KernelError when it is wrong.

    For a GPU, each thread of the best code computes four elements where possible, with loads and stores of up to 16
    bytes. This gets closer to the bandwidth of the GPU's memory. A CPU processes the elements of many threads as
    vectors.
    """
    try:
        kernel = op_graphs.kernel(source)
    except OpError as problem:
        raise CompileError(str(problem)) from None
    on_gpu = not architecture.startswith("compute_")
    elements: Literal[1, 4] = 4 if on_gpu else 1
    write = partial(_best_ptx, op_graphs.shared(source), elements)
    best = BestCode(write, elements if kernel.takes_several else 1, is_free=kernel.is_free)
    # No GPU reports the line of a fault, and line information takes a tenth of the driver's compile time.
    ptx = without_lines(kernel.ptx) if on_gpu else kernel.ptx
    return KernelImage(source, ptx, None, read_signatures(ptx), is_free=kernel.is_free, best=best)


def _best_ptx(source: OpGraphSource, elements_per_thread: Literal[1, 4]) -> str:
    return op_graphs.told_kernel(source, elements_per_thread).inlined_ptx()


def load_specialised(source: SpecialisedKernel, architecture: str, cache: CompileCache) -> KernelImage:
    """Load a kernel and compile it again for its constants. Raise KernelError if one does not fit its parameter.

    CUDA C++ is compiled with the constants, so that loops over them unroll, if the kernel's definition is written in a
    usual form. Otherwise the constants are put into the PTX, which the device compiles.
    """
    general = source.source
    image = load_image(general, architecture, cache)
    signature = image.signature(source.entry)
    if isinstance(general, CudaFile | CudaText):
        text = specialised_cuda(image.text, signature, source.values)
        if text is not None:
            made = compile_source(general, text, architecture, cache, compile_kernels)
            return dataclasses.replace(image, ptx=made.ptx, cubin=made.cubin)
    return dataclasses.replace(image, ptx=specialised_ptx(image.ptx, signature, source.values), cubin=None)


def load_driven(source: DrivenKernel, architecture: str, cache: CompileCache) -> KernelImage:
    """Load a kernel that reads some numbers from memory. Raise KernelError if it can't read one there.

    The loads are put into CUDA C++ or into PTX, as constants are by `load_specialised`.
    """
    general = source.source
    assert not isinstance(general, str)  # `find_source` has replaced it
    image, entry = load_image(general, architecture, cache), source.entry
    signature = image.signature(entry)
    typed, kinds = typed_parameters(image, entry), dict(source.numbers)
    fields = {index: number_field(typed[index], kind) for index, kind in kinds.items()}
    written = text = None
    if isinstance(general, CudaFile | CudaText) and (text := driven_cuda(image.text, signature, fields)) is not None:
        with suppress(KernelError):
            written = compile_source(general, text, architecture, cache, compile_kernels)
    ptx = written.ptx if written is not None else driven_ptx(image.ptx, signature, fields)
    best = image.best
    if best is not None:
        best = replace(best, ptx=partial(_driven_best, best.ptx, entry, fields))
    # Types and uses are those of the general kernel, except that the numbers are addresses.
    types = [PointerElement(0, "void") if i in kinds else each for i, each in enumerate(declared_types(image, entry))]
    uses = {
        name: replace(each, addresses=(*each.addresses, *kinds)) if name == entry else each
        for name, each in image.uses.items()
    }
    return dataclasses.replace(
        image,
        source=source,
        ptx=ptx,
        cubin=written.cubin if written is not None else None,
        signatures={**image.signatures, entry: read_signatures(ptx)[entry]},
        uses=uses,
        best=best,
        declared={**image.declared, entry: tuple(types)},
    )


def _driven_best(best: Callable[[], str], entry: str, fields: Mapping[int, str]) -> str:
    text = best()
    return driven_ptx(text, read_signatures(text)[entry], fields)


def _check_parameters(manifest: KernelManifest, signatures: dict[str, KernelSignature], path: Path) -> None:
    signature = signatures.get(manifest.name)
    if signature is None:
        raise KernelError(
            f"name in {path.name} must be an entry point of the PTX ({', '.join(signatures)}), got {manifest.name}",
            file=str(path),
        )
    if wrong := next(mistakes(manifest), None):
        raise KernelError(f"{wrong} (in {path.name})", file=str(path))
    indices = sorted(parameter.index for parameter in manifest.parameters)
    if indices != list(range(len(signature.parameters))):
        raise KernelError(
            f"parameters in {path.name} must have the indices 0 to {len(signature.parameters) - 1} "
            f"that {manifest.name} takes, got {indices}",
            file=str(path),
        )


#: The loader for each kind of source.
LOADERS: dict[type, Callable[[Any, str, CompileCache], KernelImage]] = {
    CudaFile: load_cuda,
    CudaText: load_cuda,
    PtxFile: load_ptx,
    OpGraphSource: load_op_graph,
    PythonKernel: load_python,
    SpecialisedKernel: load_specialised,
    DrivenKernel: load_driven,
}
