"""`KernelImage`, a kernel source ready to load, and `KernelManifest`, a `.json` beside a `.ptx`."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from warploom.engine.device.protocol import BestCode
from warploom.engine.diagnostics import KernelError
from warploom.engine.kernel_sources.element_names import DeclaredType
from warploom.engine.kernel_sources.sources import KernelSource
from warploom.engine.ptx.tree import KernelSignature
from warploom.engine.ptx.uses import Direction, KernelUses
from warploom.engine.readings import Reading, content

#: The kernels that come with Warploom.
KERNELS_FOLDER = Path(__file__).parents[2] / "kernels"
#: The headers that are made for kernels of other people too.
HEADERS_FOLDER = KERNELS_FOLDER / "warploom"


def read_source(path: Path) -> str:
    """Return a kernel file's text. Raise KernelError when it cannot be read."""
    held = content(path)
    if isinstance(held, str):
        raise KernelError(f"kernel file {path} must be readable, got: {held}", file=str(path))
    try:
        return held.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as reason:
        line = held.count(b"\n", 0, reason.start) + 1
        raise KernelError(f"{path.name} must be UTF-8 text, got other bytes", file=str(path), line=line) from None


class ManifestParameter(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One parameter of the kernel; `index` is its position.

    The fields after `direction` are for the kernel's block. `shape_rule` is the shape of an output. `semantic` is
    "size", "width", "height" or "depth" for a number that the block derives from its ports, or from one of them, as in
    "width(image)"; it is "parameter" for a number that a person sets, on a slider with `minimum`, `maximum`, `default`
    and `unit`.
    """

    index: int
    name: str
    ptx_type: str | None = None
    is_pointer: bool | None = None
    alignment: int | None = None
    element_type: str | None = None
    direction: Direction = "unknown"
    semantic: str | None = None
    shape_rule: str | None = None
    help: str | None = None
    minimum: float | None = None
    maximum: float | None = None
    default: float | None = None
    unit: str | None = None


class KernelManifest(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The facts about a kernel that PTX lacks; only `name`, the entry point, and `parameters` are required.

    Unknown fields are ignored.

    `shared_memory_static` is in bytes, as is `shared_memory_dynamic`, which a launch must pass. `constants` are the
    values of parameters known at compile time. `ptx_version` reads like "7.8" and `target_sm` like "sm_75".
    """

    name: str
    parameters: list[ManifestParameter]
    version: str | int | None = None
    category: str | None = None
    summary: str | None = None
    tags: list[str] = []
    max_threads: int | None = None
    req_threads: list[int] | None = None
    block_size: int | list[int] | None = None
    shared_memory_static: int | None = None
    shared_memory_dynamic: int | None = None
    uses_dynamic_shared: bool | None = None
    generated: bool | str | None = None
    needs_review: bool | list[str] | None = None
    constants: dict[str, str | int | float | bool] = {}
    ptx_version: str | float | None = None
    target_sm: str | int | None = None


def read_manifest(path: Path) -> KernelManifest:
    """Read a manifest. Raise KernelError with the file and the place if it is not valid JSON or not a manifest."""
    data = read_source(path).encode()
    try:
        return msgspec.json.decode(data, type=KernelManifest)
    except msgspec.ValidationError as wrong:
        raise KernelError(f"{path.name} must describe a kernel: {_lower(str(wrong))}", file=str(path)) from None
    except msgspec.DecodeError as wrong:
        line = _line_of(str(wrong), data)
        raise KernelError(
            f"{path.name} must be valid JSON, got a mistake in line {line}: {_lower(str(wrong))}",
            file=str(path),
            line=line,
        ) from None


def write_manifest(path: Path, manifest: KernelManifest) -> None:
    """Write a manifest as indented JSON without its unknown fields.

    Raise KernelError if the file can't be written, or is not a generated manifest: it may be a person's work.
    """
    if path.exists() and not read_manifest(path).generated:
        raise KernelError(
            f'{path.name} must be marked "generated" to be overwritten, got one without the mark; move it away first',
            file=str(path),
        )
    try:
        path.write_bytes(msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n")
    except OSError as reason:
        raise KernelError(f"manifest {path} must be writable, got: {reason.strerror}", file=str(path)) from None


def manifest_paths(path: Path, entries: Collection[str]) -> list[Path]:
    """Return the places where a kernel file may have manifests: NAME.json, and NAME.ENTRY.json for each entry.

    A later manifest of an entry point replaces an earlier one.
    """
    several = [path.with_name(f"{path.stem}.{entry}.json") for entry in entries] if len(entries) > 1 else []
    return [path.with_suffix(".json"), *several]


def _line_of(message: str, data: bytes) -> int:
    place = re.search(r"(?:byte|position) (\d+)", message)
    offset = int(place[1]) if place else len(data)
    return data.count(b"\n", 0, offset) + 1


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


@dataclass(frozen=True)
class KernelImage:
    """A kernel source compiled for one architecture.

    `signatures` maps entry points to their parameters. `reading` has the contents of the files that the image was made
    from, such as includes and manifests, and of all files that were looked for. `manifests` are by entry point. `text`
    is the compiled CUDA C++, "" for other kinds of source. The threads of `is_free` kernels don't depend on each other,
    so any thread block works. `uses` has, by entry point, the accesses of CUDA C++ and `.ptx` kernels through their
    parameters.
    """

    source: KernelSource
    ptx: str
    cubin: bytes | None
    signatures: Mapping[str, KernelSignature]
    manifests: Mapping[str, KernelManifest] = field(default_factory=dict)
    text: str = field(default="", repr=False)
    is_free: bool = False
    reading: Reading = field(default_factory=Reading, compare=False, repr=False)
    uses: Mapping[str, KernelUses] = field(default_factory=dict, repr=False)
    #: The code that `Device.load_module` optimises in place of `ptx`; None when there is none.
    best: BestCode | None = field(default=None, compare=False, repr=False)
    #: The results of `elements.declared_types` by entry point.
    declared: dict[str, tuple[DeclaredType, ...]] = field(default_factory=dict, compare=False, repr=False)

    def payload(self, architecture: str) -> str | bytes:
        """Return the argument for `Device.load_module` on a device of this architecture: CUBIN if there is one, else
        PTX.
        """
        if self.cubin is not None and not architecture.startswith("compute_"):
            return self.cubin
        return self.ptx

    def signature(self, entry: str) -> KernelSignature:
        """Return one entry point's signature. For a missing one, raise KernelError with the existing entry points."""
        if entry in self.signatures:
            return self.signatures[entry]
        mangled = any(name.startswith("_Z") for name in self.signatures)
        raise KernelError(
            f"entry point {entry} must be one of {', '.join(self.signatures)} in {self.source.label}"
            + ('; declare it extern "C" __global__ so that it keeps its name' if mangled else ""),
            file=self.source.file,
        )
