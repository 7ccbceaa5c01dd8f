"""`KernelManifest`: what a `.json` beside a `.ptx` says of a kernel, in our words or in another program's."""

import math
import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

import msgspec

from warploom.engine.decoding import convert, decode_json
from warploom.engine.diagnostics import KernelError
from warploom.engine.kernel_sources.element_types.names import named_element
from warploom.engine.kernel_sources.texts import read_source
from warploom.engine.ptx.uses import Direction


class ManifestField(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A number or vector of a struct that is passed by value, such as "float" or "float3".

    `offset` is in bytes; without one, C++ decides it from the field before.
    """

    name: str
    type: str
    offset: int | None = None


class ManifestParameter(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One parameter of the kernel; `index` is its position.

    The fields after `direction` are for the kernel's block. `shape_rule` is the shape of an output. `semantic` is
    "size", "width", "height" or "depth" for a number that the block derives from its ports, or from one of them, as in
    "width(image)"; it is "parameter" for a number that a person sets, on a slider with `minimum`, `maximum`, `default`
    and `unit`. A vector that is passed by value has an `element_type` such as "float3", and may have a list as default;
    a struct has `fields`.
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
    default: float | list[float] | None = None
    unit: str | None = None
    fields: list[ManifestField] = []


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


#: Fields with another name elsewhere, after their words are joined by underscores.
_OTHER_NAMES = {
    "entry_point": "name",
    "entry": "name",
    "shared_memory_bytes": "shared_memory_dynamic",
    "description": "summary",
    "max_threads_per_block": "max_threads",
}
_NAME_PARTS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
#: A type as C writes it: `const float*`, `int`.
_C_TYPE = re.compile(r"(?:const\s+)?(\w[\w ]*?)\s*(\*?)")


def in_our_words(data: Any) -> Any:
    """Return the contents of a manifest with the names, and the forms of values, that `KernelManifest` has.

    Other programs write `entryPoint`, `blockSize` and `isPointer`; parameters by their order, with a `type` as C has
    it, such as `float*`; a limit of threads along each axis; types of PTX with their dot. Anything else stays as it
    is, for the check of types that follows.
    """
    if not isinstance(data, dict):
        return data
    found = _renamed(data)
    if isinstance(listed := found.get("max_threads"), list) and listed and all(type(each) is int for each in listed):
        found["max_threads"] = math.prod(listed)
    if isinstance(size := found.get("block_size"), dict):
        found["block_size"] = [size.get(axis, size.get(axis.upper(), 1)) for axis in "xyz"]
    if isinstance(parameters := found.get("parameters"), list):
        found["parameters"] = [_parameter(each, index) for index, each in enumerate(parameters)]
    return found


def _renamed(data: dict[str, Any]) -> dict[str, Any]:
    words = {_NAME_PARTS.sub("_", name).lower(): value for name, value in data.items()}
    others = {_OTHER_NAMES[word]: value for word, value in words.items() if word in _OTHER_NAMES}
    return {word: value for word, value in words.items() if word not in _OTHER_NAMES} | others


def _parameter(data: Any, index: int) -> Any:
    if not isinstance(data, dict):
        return data
    found = {"index": index} | _renamed(data)
    if isinstance(kind := found.pop("type", None), str) and (c_type := _C_TYPE.fullmatch(kind.strip())):
        found.setdefault("is_pointer", bool(c_type[2]))
        element = named_element(c_type[1])
        is_vector = element is not None and element.dtype is not None and element.dtype.kind == "vector"
        if (c_type[2] and element is not None) or is_vector:
            found.setdefault("element_type", c_type[1])
    if isinstance(ptx_type := found.get("ptx_type"), str):
        found["ptx_type"] = ptx_type.removeprefix(".")
    if isinstance(direction := found.get("direction"), str):
        found["direction"] = direction.lower()
    return found


def read_manifest(path: Path) -> KernelManifest:
    """Read a manifest. Raise KernelError with the file and the place if it is not valid JSON or not a manifest."""
    data = read_source(path).encode()
    try:
        return convert(in_our_words(decode_json(data, object)), KernelManifest)
    except msgspec.ValidationError as wrong:
        raise KernelError(f"{path.name} must describe a kernel: {_lower(str(wrong))}", file=str(path)) from None
    except msgspec.DecodeError as wrong:
        line = _line_of(str(wrong), data)
        raise KernelError(
            f"{path.name} must be valid JSON, got a mistake in line {line}: {_lower(str(wrong))}",
            file=str(path),
            line=line,
        ) from None


def code_facts(text: bytes) -> bytes:
    """Return a manifest's text without its words, such as help, and what only the kernel's block uses, such as ranges.

    Raise msgspec.MsgspecError if it is not a manifest.
    """
    found = convert(in_our_words(decode_json(text, object)), KernelManifest)
    bare = [
        msgspec.structs.replace(each, help=None, minimum=None, maximum=None, default=None, unit=None)
        for each in found.parameters
    ]
    words = dict.fromkeys(("version", "category", "summary", "generated", "needs_review"))
    return msgspec.json.encode(msgspec.structs.replace(found, parameters=bare, tags=[], **words))


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
