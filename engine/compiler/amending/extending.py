"""Placement after connections were added: who shares memory with whom stays, but for buffers that have new readers.

Everything that came before something else still does, and no buffer came or went. So a buffer may stay where it is
unless a new reader of it need not be done when the next one at its bytes is written; then it gets memory of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.compiler.amending.amendment import Amendment
from engine.compiler.amending.placement import LITTLE_BYTES, without
from engine.compiler.buffers import BufferPlan
from engine.compiler.memory.placement import Placement
from engine.compiler.operations import Operation
from engine.patch.changes import PortRef


def extend_placement(
    operations: Sequence[Operation],
    amendment: Amendment,
    buffers: BufferPlan,
    pinned: frozenset[PortRef],
    previous: Placement,
) -> Placement | None:
    """Return the earlier placement less what must leave it, or None unless all that changed is who reads what too."""
    base, lasting = amendment.base, previous.lasting
    if len(operations) != len(base) or amendment.earlier != list(range(len(base))):
        return None
    if not pinned.isdisjoint(previous.offsets) or any(not lasting.isdisjoint(o.writes) for o in operations):
        return None
    readers: list[tuple[PortRef, int]] = []
    for index in amendment.renewed | amendment.retied:
        now, then = operations[index], base[index]
        if now.writes != then.writes or not then.reads <= now.reads or not set(then.after) <= set(now.after):
            return None
        touched = [owner for owner in now.reads | now.writes if owner in previous.offsets]
        if any(previous.sizes[owner] < buffers.places[owner].size_bytes for owner in touched):
            return None
        readers += [(owner, index) for owner in touched if owner not in then.reads and owner in now.reads]
    neighbours = previous.neighbours
    evicted = {
        owner
        for owner, reader in readers
        for other, earlier in neighbours.items()
        if owner in earlier and not _is_done(operations, reader, _first_writer(operations, other))
    }
    if not evicted:
        return previous
    sizes = {owner: size for owner, size in previous.sizes.items() if owner not in evicted}
    unshared = sum(sizes.values())
    if previous.packed_bytes - unshared > max(previous.size_bytes // 10, LITTLE_BYTES):
        return None
    made = Placement(
        {owner: previous.offsets[owner] for owner in sizes},
        sizes,
        previous.size_bytes,
        unshared,
        max(previous.peak_bytes - sum(previous.sizes[owner] for owner in evicted), 0),
        lasting,
        {owner: number for number, owner in enumerate(sizes)},
        packed_bytes=previous.packed_bytes,
    )
    # Whoever lay there before an evicted buffer was over before it, and so before who lies there after it.
    made.__dict__["neighbours"] = without(neighbours, evicted, previous)
    return made


def _first_writer(operations: Sequence[Operation], owner: PortRef) -> int:
    return next(index for index, operation in enumerate(operations) if owner in operation.writes)


def _is_done(operations: Sequence[Operation], reader: int, writer: int) -> bool:
    """True when the writer waits for the reader, by one step or more."""
    seen, waiting = {writer}, [writer]
    while waiting:
        fresh = [i for i in operations[waiting.pop()].after if i >= reader and i not in seen]
        if reader in fresh:
            return True
        seen.update(fresh)
        waiting += fresh
    return False
