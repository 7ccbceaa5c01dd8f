"""Phase 6, liveness: from when to when each buffer's contents matter.

The ranges run over the operations' order. They tell how many bytes are in use at once, which is what sharing memory
between buffers could save; every buffer still has memory of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.compiler.buffers import BufferPlan, Lifetime
from engine.compiler.scheduling import AnyOperation
from engine.patch.changes import PortRef


@dataclass(frozen=True)
class LiveRange:
    """First and last operation that touch a buffer; pinned buffers live through the whole frame."""

    first: int
    last: int


def live_ranges(
    operations: Sequence[AnyOperation], plan: BufferPlan, pinned: frozenset[PortRef]
) -> dict[PortRef, LiveRange]:
    """Return the live range of every allocation; state, provided and `pinned` buffers are live throughout."""
    end = max(len(operations) - 1, 0)
    ranges: dict[PortRef, LiveRange] = {}
    for index, operation in enumerate(operations):
        for owner in operation.reads | operation.writes:
            if owner in plan.allocations:
                first = ranges[owner].first if owner in ranges else index
                ranges[owner] = LiveRange(first, index)
    for owner, buffer in plan.allocations.items():
        if buffer.lifetime is not Lifetime.GRAPH or owner in pinned or owner not in ranges:
            ranges[owner] = LiveRange(0, end)
    return ranges


def peak_bytes(ranges: dict[PortRef, LiveRange], plan: BufferPlan) -> int:
    """Return the most bytes that are live during any one operation."""
    steps = max((r.last for r in ranges.values()), default=-1) + 1
    change = [0] * (steps + 1)
    for owner, live in ranges.items():
        change[live.first] += plan.allocations[owner].layout.size_bytes
        change[live.last + 1] -= plan.allocations[owner].layout.size_bytes
    peak = now = 0
    for delta in change:
        now += delta
        peak = max(peak, now)
    return peak
