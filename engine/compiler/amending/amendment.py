"""`Amendment`: in what a plan is other than the earlier one that it was made from, and what stays the same node."""

from __future__ import annotations

from dataclasses import dataclass

from engine.blocktypes.entries import KernelEntry
from engine.compiler.buffers import BufferPlan
from engine.compiler.operations import AnyEntry, Operation


@dataclass(frozen=True)
class Amendment:
    """What became of the operations of an earlier plan, `base`; `earlier` has the index there of each, or -1.

    `renewed` operations may touch other bytes or be launched otherwise than before, `retied` ones wait for others.
    `blocks` are those that were looked at again.
    """

    base: tuple[Operation, ...]
    earlier: list[int]
    renewed: frozenset[int]
    retied: frozenset[int]
    blocks: frozenset[str]

    @property
    def gone(self) -> list[int]:
        """The operations of the earlier plan that are in this one no more."""
        kept = set(self.earlier)
        return [index for index in range(len(self.base)) if index not in kept]


def is_same_node(now: Operation, then: Operation) -> bool:
    """True when two operations of one index are the same graph node, up to what a kernel is launched with.

    They touch the same buffers, which may have other sizes, and wait for the same others.
    """
    return now is then or (
        (now.node, now.place, now.scope, now.after) == (then.node, then.place, then.scope, then.after)
        and now.reads == then.reads
        and now.writes == then.writes
        and _is_same_kind(now.entry, then.entry)
    )


def _is_same_kind(now: AnyEntry, then: AnyEntry) -> bool:
    if now is then or not (isinstance(now, KernelEntry) and isinstance(then, KernelEntry)):
        return now == then
    # A live parameter goes where it went, so that what is known of its places stays right.
    return (
        now.kernel == then.kernel
        and now.live_parameters == then.live_parameters
        and list(map(type, now.arguments)) == list(map(type, then.arguments))
        and [a.name for a in now.buffers] == [a.name for a in then.buffers]
    )


def are_same_buffers(plan: BufferPlan, before: BufferPlan) -> bool:
    """True when the same buffers are allocated, and the contents of each matter for as long as before."""
    now, then = plan.allocations, before.allocations
    return now is then or (
        now.keys() == then.keys()
        and all(buffer is (old := then[owner]) or buffer.lifetime is old.lifetime for owner, buffer in now.items())
    )
