"""The `.json` beside a `.ptx`: what a kernel's parameters mean, in names and directions that PTX has no place for."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

import msgspec

from engine.diagnostics import KernelError
from engine.kernel_sources.files import read_source

Direction = Literal["in", "out", "inout", "unknown"]


class ManifestParameter(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One parameter of the kernel, by its position; `shape_rule` and `semantic` are for the block that wraps it."""

    index: int
    name: str
    ptx_type: str | None = None
    is_pointer: bool | None = None
    alignment: int | None = None
    element_type: str | None = None
    direction: Direction = "unknown"
    semantic: str | None = None
    shape_rule: str | None = None


class KernelManifest(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A kernel's description; only `name` (the entry point) and `parameters` must be there, unknown fields are ignored.

    `shared_memory_static` is in bytes, `ptx_version` reads like "7.8" and `target_sm` like "sm_75".
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
    uses_dynamic_shared: bool | None = None
    generated: bool | str | None = None
    needs_review: bool | list[str] | None = None
    ptx_version: str | float | None = None
    target_sm: str | int | None = None


def read_manifest(path: Path) -> KernelManifest:
    """Read a manifest; KernelError with the file and the place when it is not valid JSON or not a manifest."""
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
    """Write a manifest as indented JSON, leaving out what is not known."""
    path.write_bytes(msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n")


def _line_of(message: str, data: bytes) -> int:
    place = re.search(r"(?:byte|position) (\d+)", message)
    offset = int(place[1]) if place else len(data)
    return data.count(b"\n", 0, offset) + 1


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
