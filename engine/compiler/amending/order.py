"""Order after a small edit: levels are followed from the blocks whose predecessors changed.

It is for patches without regions and delays; what it gives is what `rank_blocks` and `ordered` would.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush

from engine.compiler.buffers import BufferPlan
from engine.compiler.checking.check import Checked
from engine.compiler.description import Nesting
from engine.compiler.in_place import InPlaceOrder, in_place_order
from engine.compiler.ordering import Order, Ranks
from engine.patch.changes import PortRef
from engine.patch.regions import TOP

#: How many times as many steps as there are blocks may be taken before all levels are computed anew.
_MOST_STEPS = 4


def amend_ranks(
    checked: Checked, buffers: BufferPlan, before: BufferPlan, previous: Ranks, owners: set[PortRef]
) -> Ranks | None:
    """Return the levels and in-place orders now; None when all must be looked at, to find them or what is wrong.

    `owners` are the buffers that an edited block touches, or did; `before` says where everything lay.
    """
    assert checked.edit is not None
    edit, by_id = checked.edit.differences, checked.description.by_id
    in_place = _in_place(checked, buffers, before, previous, owners)
    if in_place is None:
        return None
    ranks = Ranks(previous.levels.copy(), in_place)
    for gone in edit.gone:
        del ranks.levels[gone]
    dirty = {connection.target.node for connection in (*edit.made, *edit.cut)}
    dirty.update(node.id for node in edit.changed if node.id not in previous.levels)
    if in_place != previous.in_place:
        dirty.update(order.after for order in set(in_place) ^ set(previous.in_place))
    return ranks if _follow_levels(checked, ranks, {node for node in dirty if node in by_id}) else None


def _in_place(
    checked: Checked, buffers: BufferPlan, before: BufferPlan, previous: Ranks, owners: set[PortRef]
) -> tuple[InPlaceOrder, ...] | None:
    description = checked.description
    made, problems = in_place_order(description, buffers, Nesting(description), owners)
    if problems:
        return None
    kept = [order for order in previous.in_place if before.places[order.contents].owner not in owners]
    if not made and len(kept) == len(previous.in_place):
        return previous.in_place
    return tuple(sorted((*kept, *made), key=lambda order: (order.contents.node, order.contents.port)))


def _follow_levels(checked: Checked, ranks: Ranks, dirty: set[str]) -> bool:
    """Bring the levels of dirty blocks, and of those behind them, up to date; False when that finds no end."""
    incoming, following, position = checked.survey.incoming, checked.survey.following, checked.position
    levels = ranks.levels
    earlier: dict[str, list[str]] = {}
    later: dict[str, list[str]] = {}
    for order in ranks.in_place:
        earlier.setdefault(order.after, []).append(order.before)
        later.setdefault(order.before, []).append(order.after)
    waiting = [(position[node], node) for node in dirty]
    heapify(waiting)
    steps = _MOST_STEPS * len(position)
    while waiting:
        place, node = heappop(waiting)
        while waiting and waiting[0] == (place, node):
            heappop(waiting)
        steps -= 1
        if not steps:
            return False
        level = 0
        for source in incoming[node].values():
            if levels[source.node] >= level:
                level = levels[source.node] + 1
        for other in earlier.get(node, ()):
            level = max(level, levels.get(other, 0) + 1)
        if levels.get(node) != level:
            levels[node] = level
            if level >= len(position):
                return False  # they wait for each other in a circle
            for other in (*following[node], *later.get(node, ())):
                heappush(waiting, (position[other], other))
    return True


def amend_order(previous: Order, before: Ranks, now: Ranks) -> Order:
    """Return the blocks by level, then by id; `previous` is their order with the levels `before`."""
    levels = now.levels
    if levels == before.levels:
        return previous
    kept = [(levels[node], node) for node in previous.get(TOP, ()) if node in levels]
    new = [(level, node) for node, level in levels.items() if node not in before.levels]
    blocks = tuple(node for _, node in sorted(kept + new))
    return {TOP: blocks} if blocks else {}
