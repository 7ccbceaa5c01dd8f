"""Holding: the earlier placement once more, when blocks only have other sizes and each buffer fits where it lies."""

from __future__ import annotations

from collections.abc import Sequence

from engine.compiler.amending.amendment import are_same_buffers, is_same_node
from engine.compiler.buffers import BufferPlan
from engine.compiler.memory.placement import Placement, wastes
from engine.compiler.operations import Operation


def hold_placement(
    operations: Sequence[Operation],
    base: Sequence[Operation],
    buffers: BufferPlan,
    before: BufferPlan,
    previous: Placement,
) -> Placement | None:
    """Return the earlier placement, of `base` and the buffers `before`, or None unless it is right as it is.

    It is when the same operations touch the same buffers and wait for the same others: then whoever shared memory may
    go on doing so. A buffer that lay in memory of its own goes on doing so too.
    """
    if len(operations) != len(base) or not all(map(is_same_node, operations, base)):
        return None
    if not are_same_buffers(buffers, before):
        return None
    places, offsets = buffers.places, previous.offsets
    sizes, needed = previous.sizes, 0
    for owner in offsets:
        size = places[owner].size_bytes
        if size > sizes[owner]:
            return None
        needed += size
    return None if wastes(sum(sizes.values()), needed) else previous
