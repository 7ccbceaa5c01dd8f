"""Operations: the graph's nodes to be, as one flat list, and the scopes that they lie in.

A region is one operation whose bodies are scopes of their own; the operations of its bodies follow it in the list.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from engine.blocktypes.entries import CopyEntry, FillEntry, KernelEntry, RegionKind
from engine.patch.changes import PortRef

#: The buffer of the frame uniforms, which the first operation of a graph that needs them fills.
FRAME = PortRef("", "frame")
#: The words that are read back after each frame, all in one piece of memory.
STATUS = PortRef("", "status")


@dataclass(frozen=True)
class UploadFrame:
    """The copy that brings the frame uniforms to the device."""


@dataclass(frozen=True)
class ClearStatus:
    """The fill that zeroes the status words at the start of a frame."""


@dataclass(frozen=True)
class DownloadStatus:
    """The copy that brings the status words back at the end of a frame."""


@dataclass(frozen=True)
class RegionEntry:
    """A conditional node; `scopes` are those of its bodies, as indices into the plan's scopes."""

    kind: RegionKind
    scopes: tuple[int, ...]


AnyEntry = KernelEntry | FillEntry | CopyEntry | UploadFrame | ClearStatus | DownloadStatus | RegionEntry


class Operation(msgspec.Struct, frozen=True, gc=False):
    """One graph node to be.

    `reads` and `writes` name buffers by their owners; those of a region are what all its bodies touch. `after` are
    indices of earlier operations of the same scope. `node` is the block it belongs to, empty for the graph's own.
    `place` is its position among the operations of its block, or -1 for one that the compiler added.
    """

    node: str
    entry: AnyEntry
    reads: frozenset[PortRef]
    writes: frozenset[PortRef]
    after: tuple[int, ...]
    scope: int = 0
    place: int = -1


@dataclass(frozen=True)
class Scope:
    """A body: the region operation it belongs to (-1 at the top), its name, the scope around it, its operations."""

    region: int
    name: str
    parent: int
    members: tuple[int, ...]


class Schedule(NamedTuple):
    """All operations, each after what it depends on, and the scopes; scope 0 is the top."""

    operations: tuple[Operation, ...]
    scopes: tuple[Scope, ...]
