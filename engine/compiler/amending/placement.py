"""Placement after a small edit: buffers stay at their offsets as long as that is right.

New buffers have memory of their own, and so has whatever can no longer share, until that is more than a tenth of the
arena: then all are placed anew. It is for patches without regions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from itertools import accumulate

from engine.compiler.buffers import BufferPlan
from engine.compiler.memory.placement import Neighbours, Placement, aligned, room_for, sharable
from engine.compiler.operations import Operation, Scope
from engine.patch.changes import PortRef

#: Bytes beside the arena that are always tolerated.
LITTLE_BYTES = 1 << 18


def amend_placement(
    operations: Sequence[Operation],
    scopes: Sequence[Scope],
    buffers: BufferPlan,
    pinned: frozenset[PortRef],
    previous: Placement,
) -> Placement | None:
    """Return the earlier placement as far as it holds, or None when placing all buffers anew is worth it."""
    found, users, lasting = sharable(operations, scopes, buffers, pinned)
    places, known, offsets = buffers.places, previous.sizes, previous.offsets
    sizes: dict[PortRef, int] = {}
    rounded: dict[int, int] = {}
    beside = 0
    for owner in found:
        size_bytes = places[owner].size_bytes
        size = rounded.get(size_bytes) or rounded.setdefault(size_bytes, aligned(size_bytes))
        if owner in offsets and size <= known[owner] == room_for(size, known[owner]):
            sizes[owner] = known[owner]
        else:
            beside += size
    neighbours = without(previous.neighbours, offsets.keys() - sizes.keys(), previous)
    order = _Order(operations, users)
    refused = [owner for owner, earlier in neighbours.items() if not order.allows(owner, earlier)]
    met: set[PortRef] = set()
    while refused:
        # One of two has to leave. A buffer that is read for longer than before is in the way of all that come after it:
        # the earlier one leaves. One that is written sooner meets the next earlier one then, and leaves itself.
        leaving: set[PortRef] = set()
        for owner in refused:
            in_the_way = [other for other in neighbours[owner] if not order.allows(owner, (other,))]
            leaving.update((owner,) if owner in met else in_the_way)
            met.update((owner, *in_the_way))
        beside += sum(sizes.pop(owner) for owner in leaving)
        before, neighbours = neighbours, without(neighbours, leaving, previous)
        refused = [o for o, earlier in neighbours.items() if earlier is not before[o] and not order.allows(o, earlier)]
    unshared = sum(sizes.values())
    if beside > max(previous.size_bytes // 10, LITTLE_BYTES):
        return None
    if unshared < previous.packed_bytes * 3 // 4 and previous.packed_bytes - unshared > LITTLE_BYTES:
        return None
    made = Placement(
        {owner: offsets[owner] for owner in sizes},
        sizes,
        previous.size_bytes,
        unshared,
        _in_use_at_once(len(operations), users, sizes),
        frozenset(lasting),
        {owner: number for number, owner in enumerate(sizes)},
        packed_bytes=previous.packed_bytes,
    )
    made.__dict__["neighbours"] = neighbours
    return made


class _Order:
    """Which buffers are over before others are first written, whatever order a device runs the operations in."""

    def __init__(self, operations: Sequence[Operation], users: dict[PortRef, list[int]]) -> None:
        self._users = users
        self._bits = bits = [1 << index for index in range(len(operations))]
        #: By operation, a mask of those that may not be done when it starts.
        self._open: list[int] = []
        ancestors: list[int] = []
        for operation in operations:
            mask = 0
            for earlier in operation.after:
                mask |= ancestors[earlier] | bits[earlier]
            ancestors.append(mask)
            self._open.append(~mask)
        self._masks: dict[PortRef, int] = {}

    def allows(self, owner: PortRef, earlier: Iterable[PortRef]) -> bool:
        """True when every user of the `earlier` buffers is done before `owner` is first written.

        It is enough to ask this of who lay last at its bytes: these come after all that lay there earlier.
        """
        open_then = self._open[self._users[owner][0]]
        masks = self._masks
        for other in earlier:
            mask = masks.get(other)
            if mask is None:
                mask = 0
                for index in self._users[other]:
                    mask |= self._bits[index]
                masks[other] = mask
            if mask & open_then:
                return False
        return True


def without(neighbours: Neighbours, gone: AbstractSet[PortRef], placement: Placement) -> Neighbours:
    """Return who lay last at each buffer's bytes when some buffers no longer lie there."""
    if not gone:
        return neighbours
    found = neighbours.copy()
    for owner, earlier in neighbours.items():  # each after those that lay there before
        if earlier and not gone.isdisjoint(earlier):
            reached: dict[PortRef, None] = {}
            for other in earlier:
                reached.update(dict.fromkeys(found[other] if other in gone else (other,)))
            found[owner] = tuple(other for other in reached if placement.overlap(owner, other))
    for owner in gone:
        del found[owner]
    return found


def _in_use_at_once(count: int, users: dict[PortRef, list[int]], sizes: dict[PortRef, int]) -> int:
    """Return the most bytes in use during one of `count` operations when they run one after the other."""
    change = [0] * (count + 1)
    for owner, size in sizes.items():
        used = users[owner]
        change[used[0]] += size
        change[used[-1] + 1] -= size
    return max(accumulate(change), default=0)
