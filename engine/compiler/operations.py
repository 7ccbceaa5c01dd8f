"""Operations: the nodes of the graph to be built, as one flat list, and their scopes.

A region is one operation. Its bodies are scopes of their own, whose operations follow it in the list.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple

import msgspec

from warploom.engine.descriptions.entries import (
    CaptureEntry,
    CopyEntry,
    FillEntry,
    KernelEntry,
    ParameterArgument,
    RegionKind,
    ValuePlace,
)
from warploom.engine.patch.changes import PortRef

#: The buffer of the frame uniforms. The first operation of a graph fills it, if any kernel needs them.
FRAME = PortRef("", "frame")
#: The words that are read back after each frame; they are contiguous in memory.
STATUS = PortRef("", "status")


class UploadFrame(msgspec.Struct, frozen=True):
    """The copy of the frame uniforms to the device."""


class ClearStatus(msgspec.Struct, frozen=True):
    """The fill that zeroes the status words at the start of a frame."""


class DownloadStatus(msgspec.Struct, frozen=True):
    """The copy of the status words to the host at the end of a frame."""


class RegionEntry(msgspec.Struct, frozen=True):
    """A conditional node; `scopes` are the indices of its bodies in the plan's scopes."""

    kind: RegionKind
    scopes: tuple[int, ...]


class FusedEntry(KernelEntry, frozen=True, dict=True):
    """One kernel that does the work of several operations; the buffers between them are never stored.

    `parts` are those operations in order, by block and place; the last one is this operation's own. `origins` has, for
    each argument, the block of its port or parameter.
    """

    parts: tuple[tuple[str, int], ...] = ()
    origins: tuple[str, ...] = ()

    @cached_property
    def nodes(self) -> tuple[str, ...]:
        """The blocks whose work this kernel does."""
        return tuple(dict.fromkeys(node for node, _ in self.parts))

    @cached_property
    def live_places(self) -> dict[str, dict[str, tuple[ValuePlace, ...]]]:
        """The arguments that take each live parameter's value, by block and parameter."""
        found: dict[str, dict[str, tuple[ValuePlace, ...]]] = {}
        for index, (node, argument) in enumerate(zip(self.origins, self.arguments, strict=True)):
            if isinstance(argument, ParameterArgument):
                known = found.setdefault(node, {})
                known[argument.name] = (*known.get(argument.name, ()), ValuePlace(index))
        return found


AnyEntry = KernelEntry | FillEntry | CopyEntry | CaptureEntry | UploadFrame | ClearStatus | DownloadStatus | RegionEntry


class Place(msgspec.Struct, frozen=True, gc=False):
    """The place of a port: `size_bytes` bytes of its owner's allocation, starting at `offset`."""

    owner: PortRef
    offset: int
    size_bytes: int

    @property
    def end(self) -> int:
        """The offset after its last byte."""
        return self.offset + self.size_bytes

    def overlaps(self, other: Place) -> bool:
        """True when the two places share at least one byte."""
        return (
            self.owner == other.owner
            and self.offset < other.offset + other.size_bytes
            and other.offset < self.offset + self.size_bytes
        )


class Access(msgspec.Struct, frozen=True, gc=False):
    """The places that an operation reads and writes."""

    reads: tuple[Place, ...]
    writes: tuple[Place, ...]


def owners(accesses: Iterable[Access]) -> set[PortRef]:
    """Return the buffers that any of these accesses reads or writes."""
    return {place.owner for access in accesses for place in access.reads + access.writes}


class Operation(msgspec.Struct, frozen=True, gc=False):
    """One node of the graph to be built.

    `access` is the memory that it reads and writes; for a region, that of all its bodies. `after` are the indices of
    earlier operations of the same scope that it waits for. `node` is its block, or "" for the graph's own operations.
    `place` is its position among its block's operations, or -1 for one that the compiler added.
    """

    node: str
    entry: AnyEntry
    access: Access
    after: tuple[int, ...]
    scope: int = 0
    place: int = -1

    @property
    def nodes(self) -> tuple[str, ...]:
        """The blocks whose work this operation does."""
        return self.entry.nodes if isinstance(self.entry, FusedEntry) else (self.node,)

    @property
    def reads(self) -> frozenset[PortRef]:
        """The owners of the buffers that it reads."""
        return frozenset([place.owner for place in self.access.reads])

    @property
    def writes(self) -> frozenset[PortRef]:
        """The owners of the buffers that it writes."""
        return frozenset([place.owner for place in self.access.writes])


class Scope(msgspec.Struct, frozen=True):
    """A body: its region operation (-1 at the top), its name, the scope around it, and its operations."""

    region: int
    name: str
    parent: int
    members: tuple[int, ...]


#: The operations that touch each buffer, in order; buffers are in the order of their first users. A region counts as a
#: user.
Users = dict[PortRef, list[int]]


class OperationSchedule(NamedTuple):
    """All operations, each after those it depends on; the scopes, where 0 is the top; and the users of each buffer."""

    operations: tuple[Operation, ...]
    scopes: tuple[Scope, ...]
    users: Users


def find_users(operations: Iterable[Operation]) -> Users:
    """Return the operations that touch each buffer."""
    users: Users = {}
    for index, operation in enumerate(operations):
        if type(operation.entry) is RegionEntry:
            continue
        access = operation.access
        for places in (access.writes, access.reads):
            for place in places:
                known = users.get(place.owner)
                if known is None:
                    users[place.owner] = [index]
                elif known[-1] != index:
                    known.append(index)
    return users
