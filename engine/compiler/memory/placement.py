"""Phase 6, placement: which buffers share memory, and where each lies in the one arena that holds them.

A buffer keeps memory of its own when it lasts longer than a frame, when somebody looks at it after the frame, when it
is used before its block has written it, or when its contents could not be computed again (see `recomputation.py`): so
whatever a frame computed can be had after it. Everything else may lie where something else lay that is over.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from engine.compiler.amending.occupants import Occupants
from engine.compiler.buffers import BufferPlan, Lifetime
from engine.compiler.layout import ALLOCATION_ALIGNMENT
from engine.compiler.memory.packing import pack, repack
from engine.compiler.memory.recomputation import once_only
from engine.compiler.memory.reuse_order import sharing_groups, succession
from engine.compiler.memory.uses import buffer_uses, may_miss_a_turn, spans
from engine.compiler.operations import Operation, Scope
from engine.patch.changes import PortRef

#: A buffer up to this size that grows gets room to double, a larger one a quarter, or this much.
MOST_DOUBLED_BYTES = 16 << 20
#: How many times what is needed may be held in case that sizes grow again.
MOST_SPARE = 4
_NONE: frozenset[PortRef] = frozenset()
#: By buffer, others that lie at some of its bytes.
Neighbours = dict[PortRef, tuple[PortRef, ...]]


@dataclass(frozen=True)
class Placement:
    """Offsets in the arena, in bytes and by owner; every other buffer has memory of its own.

    `sizes` are in bytes, as the arena counts them: what a buffer may grow to where it lies.
    `unshared_bytes` is what the same buffers need without sharing,
    `peak_bytes` what no placement can undercut: the most that are in use at once, in each group of buffers that share.
    `lasting` buffers hold something from before the frame: state, the user's arrays, what is read before it is written.
    """

    offsets: dict[PortRef, int]
    sizes: dict[PortRef, int]
    size_bytes: int
    unshared_bytes: int
    peak_bytes: int
    lasting: frozenset[PortRef]
    #: Numbers of the buffers in the arena in the order in which they are first written. Of two that lie at the same
    #: bytes, one is over before the other is first written, so this tells which comes later.
    numbers: dict[PortRef, int] = field(default_factory=dict, repr=False)
    #: Buffers that an earlier turn of a loop may have been the last to write.
    older: frozenset[PortRef] = frozenset()
    #: What the buffers needed without sharing when all of them were placed.
    packed_bytes: int = 0

    @cached_property
    def neighbours(self) -> Neighbours:
        """Who lay last at each buffer's bytes before it, for all that lie in the arena, in the order of first writers.

        Outside regions, each of these comes after all that lay at the same bytes earlier.
        """
        occupants, owners, found = Occupants(), list(self.offsets), {}
        for number, (owner, start) in enumerate(self.offsets.items()):
            end = start + self.sizes[owner]
            found[owner] = tuple(owners[other] for other in sorted(occupants.at(start, end)))
            occupants.enter(number, start, end)
        return found

    def overlap(self, one: PortRef, other: PortRef) -> bool:
        """True when two buffers in the arena share at least one byte."""
        a, b = self.offsets[one], self.offsets[other]
        return a < b + self.sizes[other] and b < a + self.sizes[one]

    def sharers(self, owner: PortRef) -> tuple[PortRef, ...]:
        """Return the buffers that lie at some of the same bytes, in the order in which they are first written."""
        start = self.offsets.get(owner)
        if start is None:
            return ()
        end, sizes = start + self.sizes[owner], self.sizes
        return tuple(
            other
            for other, offset in self.offsets.items()
            if offset < end and start < offset + sizes[other] and other != owner
        )

    def overwritten(self, owner: PortRef) -> bool:
        """True when another buffer may lie at its bytes by the end of the frame."""
        if owner not in self.offsets:
            return False
        own = -1 if owner in self.older else self.numbers[owner]
        return any(self.numbers[other] > own for other in self.sharers(owner))


def place_buffers(
    operations: Sequence[Operation],
    scopes: Sequence[Scope],
    buffers: BufferPlan,
    pinned: frozenset[PortRef],
    keep: Placement | None = None,
) -> Placement:
    """Return where the buffers lie that may share memory; `pinned` ones may not.

    With `keep`, an earlier placement, buffers stay where they were as far as that is possible and costs little.
    """
    found, users, lasting = sharable(operations, scopes, buffers, pinned)
    touched = [users[owner] for owner in found]
    plain = [buffers.places[owner].size_bytes for owner in found]
    rounded = {size: aligned(size) for size in set(plain)}
    sizes = [rounded[size] for size in plain]
    if keep is not None:
        sizes = [room_for(size, keep.sizes.get(owner)) for owner, size in zip(found, sizes, strict=True)]
    order = succession(operations, scopes, touched)
    groups = sharing_groups(order, sizes, spans(operations, scopes, touched))
    peak = sum(group.peak_bytes for group in groups)
    numbers = {owner: number for number, owner in enumerate(found)}
    kept = _still_there(numbers, sizes, keep) if keep is not None else None
    if keep is not None and kept:
        slack = max(keep.size_bytes / keep.peak_bytes, 1.0) if keep.peak_bytes else 1.0
        packing = repack(sizes, order, groups, kept, enough=1.1 * slack * peak)
    else:
        packing = pack(sizes, order, groups)
    return Placement(
        dict(zip(found, packing.offsets, strict=True)),
        dict(zip(found, sizes, strict=True)),
        packing.size_bytes,
        sum(sizes),
        peak,
        frozenset(lasting),
        numbers,
        frozenset(o for o in found if may_miss_a_turn(users[o][0], operations, scopes)) if len(scopes) > 1 else _NONE,
        sum(sizes),
    )


def sharable(
    operations: Sequence[Operation], scopes: Sequence[Scope], buffers: BufferPlan, pinned: frozenset[PortRef]
) -> tuple[list[PortRef], dict[PortRef, list[int]], set[PortRef]]:
    """Return the buffers that may share memory in the order of first writers, every buffer's users, who is lasting."""
    allocations = buffers.allocations
    uses = buffer_uses(operations, scopes, allocations)
    users, fresh = uses.users, uses.fresh
    found: list[PortRef] = []
    lasting: set[PortRef] = set()
    graph, region, status = Lifetime.GRAPH, Lifetime.REGION, Lifetime.STATUS
    for owner in users:
        lifetime = allocations[owner].lifetime
        if owner not in fresh:
            lasting.add(owner)
        elif lifetime is graph or lifetime is region:
            if owner not in pinned:
                found.append(owner)
        elif lifetime is not status:
            lasting.add(owner)
    once = once_only(operations, lasting)
    if once:
        found = [owner for owner in found if owner not in once]
    return found, users, lasting


def aligned(size_bytes: int) -> int:
    """Return how many bytes of the arena a buffer takes."""
    return -(-max(size_bytes, 1) // ALLOCATION_ALIGNMENT) * ALLOCATION_ALIGNMENT


def room_for(size_bytes: int, known_bytes: int | None) -> int:
    """Return how much of the arena a buffer gets that had `known_bytes` of it before, or None.

    Somebody who drags a size changes it again: a buffer that has grown gets more than it needs, one that has shrunk
    keeps what it has, so that the next change needs no other placement. Both within limits (`wastes`).
    """
    if known_bytes is None or size_bytes == known_bytes:
        return size_bytes
    if size_bytes < known_bytes:
        return size_bytes if wastes(known_bytes, size_bytes) else known_bytes
    return aligned(size_bytes + max(size_bytes // 4, min(size_bytes, MOST_DOUBLED_BYTES)))


def wastes(held_bytes: int, needed_bytes: int) -> bool:
    """True when so much more memory is held than needed that it is worth placing buffers anew."""
    return held_bytes > max(MOST_SPARE * needed_bytes, 4 * MOST_DOUBLED_BYTES)


def _still_there(numbers: dict[PortRef, int], sizes: list[int], keep: Placement) -> dict[int, int]:
    """Return the earlier offsets of buffers that have kept their size, by number."""
    return {number: keep.offsets[owner] for owner, number in numbers.items() if keep.sizes.get(owner) == sizes[number]}
