"""Phase 6, placement: finds the buffers that share memory, and their offsets in the arena.

A buffer keeps separate memory if it outlives a frame, is read after the frame, or is used before its block has written
it, or if its contents could not be computed again (see `recomputation.py`). So all results of a frame can be read
after it. All other buffers may reuse the memory of buffers that are no longer used.
"""

from functools import cached_property

import msgspec

from warploom.engine.compiler.buffers import BufferPlan, Lifetime
from warploom.engine.compiler.memory.packing import BESIDE, Arena, pack_buffers, repack
from warploom.engine.compiler.memory.recomputation import once_only
from warploom.engine.compiler.memory.reuse_order import reuse_order, sharing_groups
from warploom.engine.compiler.memory.uses import buffer_uses, lifetimes, may_miss_a_turn
from warploom.engine.compiler.operations import OperationSchedule
from warploom.engine.patch.changes import PortRef
from warploom.engine.types.layout import ALLOCATION_ALIGNMENT

#: A growing buffer gets room to double up to this size. A larger one gets a quarter more, or this much more.
MOST_DOUBLED_BYTES = 16 << 20
#: The largest ratio of held to needed memory; the spare memory is kept in case sizes grow again.
MOST_SPARE = 4
_NONE: frozenset[PortRef] = frozenset()


class Placement(msgspec.Struct, frozen=True, dict=True):
    """Offsets in the arena, in bytes, in the order of first writers. Buffers without an offset have separate memory.

    `sizes` are the bytes in the arena that each buffer may grow to. `unshared_bytes` and `peak_bytes` are about all
    buffers that may share memory, including the few that may lie beside the arena. `unshared_bytes` is their size
    without sharing. No placement can be smaller than `peak_bytes`, the sum over groups of the most bytes in use at
    once. `lasting` buffers hold data from before the frame: state, the user's arrays, and buffers that are read before
    they are written.
    """

    offsets: dict[PortRef, int]
    sizes: dict[PortRef, int]
    size_bytes: int
    unshared_bytes: int
    peak_bytes: int
    lasting: frozenset[PortRef]
    #: Buffers whose last writer may be an earlier turn of a loop.
    older: frozenset[PortRef] = frozenset()

    @cached_property
    def numbers(self) -> dict[PortRef, int]:
        """Numbers of the buffers in the arena, in the order of their first writes.

        If two buffers share bytes, one is no longer used when the other is first written. So the higher number is the
        later.
        """
        return {owner: number for number, owner in enumerate(self.offsets)}

    def sharers(self, owner: PortRef) -> tuple[PortRef, ...]:
        """Return the buffers that share some bytes with this one, in the order of their first writes."""
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
        """True when another buffer may have overwritten its bytes by the end of the frame."""
        if owner not in self.offsets:
            return False
        own = -1 if owner in self.older else self.numbers[owner]
        return any(self.numbers[other] > own for other in self.sharers(owner))


def place_buffers(
    schedule: OperationSchedule,
    buffers: BufferPlan,
    pinned: frozenset[PortRef],
    keep: Placement | None = None,
) -> Placement:
    """Return the places of the buffers that may share memory; `pinned` buffers may not.

    With `keep`, an earlier placement, buffers keep their places where that is valid and wastes little.
    """
    operations, scopes = schedule.operations, schedule.scopes
    found, users, lasting = sharable(schedule, buffers, pinned)
    touched = [users[owner] for owner in found]
    allocations = buffers.allocations
    needed = [allocations[owner].size_bytes for owner in found]
    rounded = {size: aligned(size) for size in set(needed)}
    sizes = exact = [rounded[size] for size in needed]
    held = list(map(keep.sizes.get, found)) if keep is not None else []
    if keep is not None and exact != held:
        sizes = [size if size == known else room_for(size, known) for size, known in zip(exact, held, strict=True)]
        if wastes(sum(sizes), sum(needed)):
            sizes = exact
    reuse = reuse_order(operations, scopes, touched)
    groups = sharing_groups(reuse, sizes, lifetimes(operations, scopes, touched))
    peak = sum(group.peak_bytes for group in groups)
    packing = None
    if keep is not None:
        known = enumerate(zip(sizes, held, map(keep.offsets.get, found), strict=True))
        kept = {number: offset for number, (size, old, offset) in known if old == size and offset is not None}
        grown = len(kept) < len(found) and any(old and old < size for size, old in zip(sizes, held, strict=True))
        slack = max(keep.size_bytes / keep.peak_bytes, 1.0) if keep.peak_bytes else 1.0
        packing = repack(sizes, reuse, groups, Arena(kept, keep.size_bytes, grows=grown), enough=1.1 * slack * peak)
    if packing is None:
        packing = pack_buffers(sizes, reuse, groups)
    shared = {o: at for o, at in zip(found, packing.offsets, strict=True) if at != BESIDE}
    room = dict(zip(found, sizes, strict=True))
    made = Placement(
        shared,
        room if len(shared) == len(found) else {owner: room[owner] for owner in shared},
        packing.size_bytes,
        sum(sizes),
        peak,
        frozenset(lasting),
        frozenset(o for o in found if may_miss_a_turn(users[o][0], operations, scopes)) if len(scopes) > 1 else _NONE,
    )
    return keep if keep is not None and made == keep else made


def sharable(
    schedule: OperationSchedule, buffers: BufferPlan, pinned: frozenset[PortRef]
) -> tuple[list[PortRef], dict[PortRef, list[int]], set[PortRef]]:
    """Return the buffers that may share memory, in the order of first writers, all users, and the lasting buffers."""
    allocations = buffers.allocations
    uses = buffer_uses(schedule, allocations)
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
    once = once_only(schedule.operations, lasting)
    if once:
        found = [owner for owner in found if owner not in once]
    return found, users, lasting


def aligned(size_bytes: int) -> int:
    """Return the bytes that a buffer takes in the arena."""
    return -(-max(size_bytes, 1) // ALLOCATION_ALIGNMENT) * ALLOCATION_ALIGNMENT


def room_for(size_bytes: int, known_bytes: int | None) -> int:
    """Return the bytes of the arena for a buffer that had `known_bytes` of it before, or None if it is new.

    A size changes repeatedly while a person drags it. So a buffer that grows gets more than it needs, and one that
    shrinks keeps its memory, within limits (`wastes`). Then the next change needs no other placement.
    """
    if known_bytes is None or size_bytes == known_bytes:
        return size_bytes
    if size_bytes < known_bytes:
        return size_bytes if wastes(known_bytes, size_bytes) else known_bytes
    return aligned(size_bytes + max(size_bytes // 4, min(size_bytes, MOST_DOUBLED_BYTES)))


def wastes(held_bytes: int, needed_bytes: int) -> bool:
    """True when so much memory is held without need that it is worth placing all buffers again."""
    return held_bytes > max(MOST_SPARE * needed_bytes, 4 * MOST_DOUBLED_BYTES)
