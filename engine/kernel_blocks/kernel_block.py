"""`KernelBlock`: a block type whose nodes have the ports and parameters of a kernel."""

import dataclasses
import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from warploom.engine.arguments import checked
from warploom.engine.blocktypes.adaptive import AdaptiveBlock, Interface
from warploom.engine.blocktypes.block import Block
from warploom.engine.blocktypes.declarations import param
from warploom.engine.blocktypes.parameters import ParameterSpec
from warploom.engine.descriptions.builder import MOST_SHARED_BYTES, BlockBuilder
from warploom.engine.descriptions.entries import Argument, BufferArgument, ExtentArgument, Kernel, ParameterArgument
from warploom.engine.descriptions.handles import BufferHandle, ParameterHandle
from warploom.engine.descriptions.shapes.extents import Extent, ShapeRuleError
from warploom.engine.descriptions.shapes.shape_rules import parse_rule
from warploom.engine.device.device import HOST_ARCHITECTURE
from warploom.engine.diagnostics import Diagnostic, Incomplete, KernelError, warning
from warploom.engine.kernel_blocks.arguments import GENERATED, Arguments, Parameter, arguments
from warploom.engine.kernel_blocks.comments import ParameterComment, kernel_comments
from warploom.engine.kernel_blocks.constants import CONSTANTS_DOC, constant_values, live_parameters
from warploom.engine.kernel_blocks.thread_bounds import launch_rank, thread_bounds
from warploom.engine.kernel_sources.describe import covers, describe_kernels
from warploom.engine.kernel_sources.device_part.templates import entry_name
from warploom.engine.kernel_sources.element_types.declared import declared_types
from warploom.engine.kernel_sources.element_types.names import parameter_texts
from warploom.engine.kernel_sources.image import KernelImage
from warploom.engine.kernel_sources.loader import file_source, find_source, load_image
from warploom.engine.kernel_sources.manifest import KernelManifest, ManifestParameter, code_facts
from warploom.engine.kernel_sources.sources import (
    ConstantValue,
    CudaFile,
    CudaOptions,
    CudaText,
    KernelSource,
    OpGraphSource,
    PtxFile,
    PythonKernel,
    PythonOptions,
    SpecialisedKernel,
)
from warploom.engine.ptx import parse
from warploom.engine.readings import resolved

#: Instructions of PTX that read or write textures and surfaces.
_OF_TEXTURES = frozenset({"tex", "tld4", "txq", "suld", "sust", "sured", "suq"})
_AXES = ("last0", "last1", "last2")
#: The parameter of a block whose kernel uses dynamic shared memory.
_SHARED_BYTES = "shared_bytes"
#: The usual name of the number of elements that a Triton program computes.
_PER_BLOCK = ("BLOCK", "BLOCK_SIZE")
_InFiles = CudaFile | CudaText | PtxFile | PythonKernel
T = TypeVar("T", KernelManifest, ManifestParameter)


@dataclass(frozen=True)
class BlockLaunch:
    """How a block launches its kernel: plain data, in the order of the kernel's parameters."""

    kernel: Kernel
    passed: tuple[Argument, ...]
    #: The port whose elements the threads cover.
    over: str
    num_threads: tuple[Extent, ...]
    thread_block: tuple[int, ...] | None
    #: True for a kernel with dynamic shared memory: its block has the parameter `shared_bytes`.
    uses_shared: bool = False


class KernelBlock(AdaptiveBlock, abstract=True):
    """A block type whose nodes launch one kernel of a source over the elements of a port.

    Subclasses define `kernel_source`.
    """

    entry: str = param(
        "", doc="The entry point, if there are several, such as blur or blur<float, 256>; empty for the first."
    )
    over: str = param("", doc="The port whose elements the threads cover; empty for the first output.")
    shapes: str = param("", doc="Shapes of outputs that differ from the first input, such as out: [N, 16]; sum: [1].")
    in_place: str = param(
        "", doc="Pointers whose buffer the kernel changes in place, such as image; each is an input and an output."
    )
    thread_block: str = param("", doc="Size of the thread block, such as 256 or 16, 16; empty for the usual one.")
    constants: str = param("", doc=CONSTANTS_DOC)
    defines: str = param("", doc="Macros, such as TAPS=9; SIGMA=1.5f: constants for the compiler.")
    fast_math: bool = param(False, structural=True, doc="Compile with faster, less accurate functions.")
    standard: str = param("c++17", choices=("c++14", "c++17", "c++20"), doc="C++ standard.")
    include_folders: str = param("", doc="Additional include folders, separated by semicolons.")

    @classmethod
    def kernel_source(cls, values: Mapping[str, Any], options: CudaOptions) -> KernelSource:
        """Return the source named by the node's values, compiled with `options`; raise Incomplete if they name none."""
        raise NotImplementedError(f"block {cls.id} must define kernel_source")

    @classmethod
    def interface(cls, values: Mapping[str, Any]) -> Interface:
        """The ports and parameters of the kernel."""
        source = cls.kernel_source(values, _options(values))
        folder = cls.source_folder()
        image = load_image(find_source(source, [] if folder is None else [folder]), HOST_ARCHITECTURE)
        return _interface(cls, image, values)

    def describe(self, build: BlockBuilder) -> None:
        """Launch the kernel; do nothing while the node has none."""
        launch = self.content
        if launch is None:
            return
        values = constant_values(self)
        constants = {
            index: values[argument.name]
            for index, argument in enumerate(launch.passed)
            if isinstance(argument, ParameterArgument) and argument.name in values
        }
        args = tuple(0 if index in constants else _handle(argument) for index, argument in enumerate(launch.passed))
        kernel = _specialised(launch.kernel, constants) if constants else launch.kernel
        shared_bytes = self.values[_SHARED_BYTES] if launch.uses_shared else 0
        if launch.uses_shared and not shared_bytes:
            raise Incomplete(_SHARED_BYTES, f"be the bytes of shared memory that {launch.kernel.entry} needs")
        if (rank := len(launch.num_threads)) > 1:
            build.cover(BufferHandle(launch.over), rank)
        build.launch(
            kernel,
            num_threads=launch.num_threads,
            args=args,
            thread_block=launch.thread_block,
            shared_bytes=shared_bytes,
        )


def _held(image: KernelImage) -> KernelSource:
    """Return an image's source with its files' contents, so that code and ports come from the same text."""
    # Words and ranges of a manifest are for the block, so another help text must not be another kernel.
    reading = image.reading.altered(_without_words)
    match image.source:
        case OpGraphSource() as source:
            return source
        case SpecialisedKernel(source=general) as source:
            return msgspec.structs.replace(source, source=msgspec.structs.replace(general, held=reading))
        case source:
            return msgspec.structs.replace(source, held=reading)


def _without_words(path: Path, text: bytes) -> bytes:
    """Return a manifest with only what concerns the kernel's code; any other file as it is."""
    if path.suffix != ".json":
        return text
    try:
        return code_facts(text)
    except msgspec.MsgspecError:  # a file of another kind, which happens to have the name
        return text


def _specialised(kernel: Kernel, constants: Mapping[int, float]) -> Kernel:
    source = kernel.source
    assert isinstance(source, _InFiles)
    return Kernel(SpecialisedKernel(source, kernel.entry, constants), kernel.entry)


def _handle(argument: Argument) -> object:
    match argument:
        case BufferArgument(name):
            return BufferHandle(name)
        case ParameterArgument(name):
            return ParameterHandle(name)
        case ExtentArgument(extent):
            return extent
    return argument


def _options(values: Mapping[str, Any]) -> CudaOptions:
    """Return the compiler options for CUDA C++ from a person's texts. Raise KernelError if one is wrong."""
    pairs = [part.strip().partition("=") for part in values["defines"].split(";") if part.strip()]
    folders = (folder.strip() for folder in values["include_folders"].split(";"))
    return CudaOptions(
        defines={name.strip(): value.strip() or "1" for name, _, value in pairs},
        use_fast_math=values["fast_math"],
        standard=values["standard"],
        include_folders=tuple(filter(None, folders)),
        instances=(values["entry"],) if "<" in values["entry"] else (),
    )


@checked()
def kernel_file(path: Path, entry: str, options: CudaOptions) -> KernelSource:
    """Return a kernel file as a source, compiled with options; a `.py` takes its constants from the macros."""
    match file_source(resolved(path), entry):
        case CudaFile() as source:
            return msgspec.structs.replace(source, options=options)
        case PythonKernel() as source:
            constants = {name: _constant(str(value)) for name, value in dict(options.defines).items()}
            return msgspec.structs.replace(source, options=PythonOptions(constants=constants))
        case source:
            return source


def _constant(text: str) -> ConstantValue:
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text.removesuffix("f"))
    return {"true": True, "false": False}.get(text.lower(), text)


def _interface(block_type: type[Block], image: KernelImage, values: Mapping[str, Any]) -> Interface:
    """Return the interface of a node that launches an entry point of an image. Raise KernelError if it can't."""
    entry = entry_name(values["entry"]) if "<" in values["entry"] else values["entry"]
    entry = entry or next(iter(image.signatures))
    manifest = _manifest(image, entry)
    _refuse_textures(image, manifest.name)
    function, signature = parse(image.ptx).functions[manifest.name], image.signature(manifest.name)
    rank, bounds = launch_rank(function), thread_bounds(function)
    comments, declared = kernel_comments(image.text, manifest.name), parameter_texts(image.text, manifest.name)
    types = declared_types(image, manifest.name)
    in_place = set(filter(None, map(str.strip, values["in_place"].split(","))))
    found = [
        Parameter(
            parameter,
            types[index],
            _commented(_at(comments.parameters, index, len(types)) or ParameterComment(), parameter, in_place),
            bounds.get(function.parameters[index].name),
            _at(declared, index, len(types)) or "",
            signature.parameters[index].size_bytes,
        )
        for index, parameter in enumerate(manifest.parameters)
    ]
    if unknown := in_place - (pointers := {p.manifest.name: p for p in found if p.is_buffer}).keys():
        raise KernelError(
            f"in_place must name pointers ({', '.join(pointers)}), got {', '.join(sorted(unknown))}",
            remedy="name others in in_place",
        )
    shapes = _shapes(values["shapes"])
    taken = {*block_type.ports, *block_type.parameters, _SHARED_BYTES}
    made = arguments(found, rank, shapes=shapes, over=values["over"], taken=taken)
    if unknown := shapes.keys() - {port.name for port in made.ports if not port.is_input}:
        outputs = ", ".join(port.name for port in made.ports if not port.is_input) or "none"
        raise KernelError(
            f"shapes must name outputs ({outputs}), got {', '.join(sorted(unknown))}",
            remedy="change the names in shapes",
        )
    parameters, notes = live_parameters(made.parameters, values["constants"], made.parts)
    parameters += size_parameters([port.shape for port in made.ports])
    uses_shared = bool(manifest.uses_dynamic_shared or manifest.shared_memory_dynamic)
    if uses_shared:
        parameters.append(_shared_parameter(manifest))
    launch = BlockLaunch(
        Kernel(_held(image), entry),
        tuple(made.passed),
        made.over,
        _num_threads(made.over, rank, manifest),
        _thread_block(values["thread_block"], manifest, rank),
        uses_shared,
    )
    doc = comments.doc or manifest.summary or ""
    return Interface(
        tuple(made.ports),
        tuple(parameters),
        launch,
        title=manifest.name.replace("_", " ").capitalize(),
        summary=doc,
        notes=(*_review(image, manifest), *notes, *_ambiguous(made, values["over"])),
    )


def _refuse_textures(image: KernelImage, entry: str) -> None:
    """Raise KernelError for a kernel that reads or writes a texture or a surface."""
    used = next((each for each in parse(image.ptx).functions[entry].instructions if each.opcode in _OF_TEXTURES), None)
    if used is not None:
        raise KernelError(
            f"kernel {entry} must read and write buffers, got a texture or surface",
            file=image.source.file,
            line=_line_of(image.text, entry),
            remedy="take a Texture<float4> of warploom/texture.h instead, or a pointer",
        )


def _line_of(text: str, entry: str) -> int | None:
    """Return the line where a kernel is defined, as messages of the compiler count them."""
    found = re.search(rf"__global__(?:(?!__global__)[^;{{}}()])*?\b{re.escape(entry)}\s*\(", text)
    if found is None:
        return None
    before = text[: found.start()].splitlines()
    stated = next((i for i in range(len(before) - 1, -1, -1) if before[i].startswith("#line ")), None)
    return len(before) if stated is None else int(before[stated].split()[1]) + len(before) - stated - 2


def _commented(comment: ParameterComment, parameter: ManifestParameter, in_place: Collection[str]) -> ParameterComment:
    """Return a comment with the direction set by `in_place`.

    Raise KernelError if the code contradicts the direction.
    """
    direction = "inout" if parameter.name in in_place else comment.direction
    if direction is not None and not covers(direction, parameter.direction):
        raise KernelError(
            f"direction of {parameter.name} must be {parameter.direction}, as the kernel uses it, got {direction}"
        )
    return dataclasses.replace(comment, direction=direction)


def _shared_parameter(manifest: KernelManifest) -> ParameterSpec:
    doc = "Bytes of dynamic shared memory (`extern __shared__`) of each thread block."
    usual = manifest.shared_memory_dynamic or 0
    return ParameterSpec(_SHARED_BYTES, "int", usual, doc, minimum=0, maximum=MOST_SHARED_BYTES, structural=True)


def _ambiguous(made: Arguments, over: str) -> tuple[Diagnostic, ...]:
    """Return a warning when neither a person nor a shape determines the port that threads cover, and an input is as
    likely.
    """
    first = next((port for port in made.ports if port.is_input), None)
    domain = next(port for port in made.ports if port.name == made.over)
    if over or first is None or domain.shape.startswith("same"):
        return ()
    text = (
        f"over must be set, since the shape of {domain.name} follows from no input; "
        "until then there is a thread for each of its elements"
    )
    return (warning(text, port="over", remedy=f"set it to {domain.name}, or to {first.name}"),)


def _review(image: KernelImage, manifest: KernelManifest) -> tuple[Diagnostic, ...]:
    """Return a warning when a PTX file's manifest must be reviewed, or when the PTX leaves a direction unknown.

    `manifest` has the known facts about the kernel.
    """
    source, claim = image.source, image.manifests.get(manifest.name)
    asked = claim.needs_review if claim is not None else None
    unknown = [parameter.name for parameter in manifest.parameters if parameter.direction == "unknown"]
    if not isinstance(source, PtxFile) or asked is False or not (asked or unknown):
        return ()
    names = ", ".join(asked if isinstance(asked, list) else unknown) or "its parameters"
    file = Path(source.path).with_suffix(".json")
    remedy = f"check {file.name}, then set needs_review in it to false"
    if claim is None:
        remedy = f"state it in {file.name}; `warploom kernel {source.label} --write-json` begins one"
    message = f"directions of {names} in {manifest.name} must be reviewed, got a guess"
    return (warning(message, remedy=remedy, file=str(file) if claim is not None else source.path),)


def _num_threads(over: str, rank: int, manifest: KernelManifest) -> tuple[Extent, ...]:
    """Return a thread for each element of a port; for a kernel of Triton, as many as compute `BLOCK` elements each."""
    if not manifest.constants:
        return tuple(Extent(f"{over}.{axis}") for axis in (("size",) if rank == 1 else _AXES[:rank]))
    each = next((manifest.constants[name] for name in _PER_BLOCK if name in manifest.constants), None)
    if rank != 1 or not isinstance(each, int):
        raise KernelError(
            f"{manifest.name} must have one dimension, and a constant {_PER_BLOCK[0]} for how many elements a program "
            "computes, to be launched by this block; write a block for other kernels of Triton"
        )
    return (Extent(f"ceil({over}.size / {each}) * {manifest.block_size}"),)


def _manifest(image: KernelImage, entry: str) -> KernelManifest:
    """Return the known facts about an entry point: those of its PTX, and those that its manifest adds."""
    image.signature(entry)  # raises KernelError when there is no such entry point
    found = next(manifest for manifest in describe_kernels(image) if manifest.name == entry)
    claim = image.manifests.get(entry)
    if claim is None:
        return found
    stated_parameters = sorted(claim.parameters, key=lambda parameter: parameter.index)
    parameters = [_overlaid(*pair) for pair in zip(found.parameters, stated_parameters, strict=True)]
    return _overlaid(found, msgspec.structs.replace(claim, parameters=parameters))


def _overlaid(found: T, claim: T) -> T:
    """Return a struct with the fields of `claim` that are set, and those of `found` for the others."""
    fields = {
        name: value for name in claim.__struct_fields__ if (value := getattr(claim, name)) not in (None, "unknown", [])
    }
    return msgspec.structs.replace(found, **fields)


def _at(items: Sequence[Any], index: int, count: int) -> Any:
    """Return an item of a list that a search found; None when the list doesn't have `count` items."""
    return items[index] if len(items) == count else None


def _shapes(text: str) -> dict[str, str]:
    """Return the shape rules in a text such as "out: [N, 16]; sum: [1]"."""
    rules = {}
    for part in filter(str.strip, text.split(";")):
        name, colon, rule = part.partition(":")
        if not colon or not rule.strip():
            raise KernelError(
                f"shapes must be like 'out: [N, 16]; sum: [1]', got {part.strip()!r}", remedy="write shapes like that"
            )
        try:
            parse_rule(rule.strip())
        except ShapeRuleError as problem:
            raise KernelError(f"shape of {name.strip()}: {problem}", remedy="change it in shapes") from None
        rules[name.strip()] = rule.strip()
    return rules


def size_parameters(rules: Sequence[str]) -> list[ParameterSpec]:
    """Return the parameters that the default shape of a kernel without inputs names."""
    named = next((rule.strip("[]").split(", ")[::-1] for rule in GENERATED if rule in rules), [])
    usual = 65536 if named == ["size"] else 64 if len(named) == 3 else 512
    return [
        ParameterSpec(
            name, "int", usual, f"{name.capitalize()} of the outputs.", minimum=1, maximum=2**31 - 1, structural=True
        )
        for name in named
    ]


def _thread_block(text: str, manifest: KernelManifest, rank: int) -> tuple[int, ...] | None:
    """Return the thread block that a person, the code or the manifest asks for; None for the usual one."""
    if text.strip():
        try:
            sizes = tuple(int(part) for part in text.replace("x", ",").split(","))
        except ValueError:
            sizes = ()
        if not 1 <= len(sizes) <= 3 or min(sizes) < 1:
            raise KernelError(
                f"thread_block must be 1 to 3 numbers such as '16, 16', got {text!r}",
                remedy="give thread_block other numbers, or none",
            )
        return sizes
    asked = manifest.req_threads or manifest.block_size
    if asked:
        return tuple(asked) if isinstance(asked, list) else (asked,)
    limit, usual = manifest.max_threads or 1024, (256, 256, 256)[rank - 1]
    return None if limit >= usual else ((limit,), (limit, 1), (limit, 1, 1))[rank - 1]
