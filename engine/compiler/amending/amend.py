"""Amending: a plan from an earlier one after a small edit, phase by phase, each looking only at what changed.

It gives what planning from scratch would, but for the placement of buffers, or None where that can't be had so: for
patches with regions or delays, large edits, and edits that leave something wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.compiler.amending.amendment import Amendment
from engine.compiler.amending.buffers import amend_buffers, blocks_to_place, owners_of
from engine.compiler.amending.order import amend_order, amend_ranks
from engine.compiler.amending.schedule import amend_operations
from engine.compiler.buffers import BufferPlan
from engine.compiler.checking.check import Checked
from engine.compiler.checking.differences import Differences
from engine.compiler.description import GraphDescription
from engine.compiler.operations import Operation
from engine.compiler.ordering import Order, Ranks
from engine.patch.changes import PortRef

if TYPE_CHECKING:
    from engine.compiler.plan import Plan


@dataclass(frozen=True)
class Amended:
    """What a plan is made of, less the placement."""

    buffers: BufferPlan
    ranks: Ranks
    order: Order
    operations: tuple[Operation, ...]
    amendment: Amendment


def amend(checked: Checked, previous: Plan) -> Amended | None:
    """Return what becomes of a plan whose check was the one before `checked`, or None to plan from scratch."""
    if checked.edit is None or previous.ranks is None or len(previous.scopes) > 1:
        return None
    before, now = previous.description, checked.description
    edit = checked.edit.differences
    _carry_tables(before, now, edit)
    blocks = blocks_to_place(checked)
    buffers = amend_buffers(checked, before, previous.buffers, blocks)
    if buffers is None:
        return None
    owners: set[PortRef] = set()
    for node in (*blocks, *edit.gone):
        owners |= owners_of(before.by_id.get(node), previous.buffers.places)
        owners |= owners_of(now.by_id.get(node), buffers.places)
    ranks = amend_ranks(checked, buffers, previous.buffers, previous.ranks, owners)
    if ranks is None:
        return None
    order = amend_order(previous.order, previous.ranks, ranks)
    found = amend_operations(
        now, before, previous.operations, order, buffers, blocks, _reordered(previous, ranks, buffers, blocks)
    )
    if found is None:
        return None
    return Amended(buffers, ranks, order, *found)


def _reordered(previous: Plan, ranks: Ranks, buffers: BufferPlan, blocks: set[str]) -> set[PortRef]:
    """Return the buffers whose users may run in another order though they use the same bytes as before."""
    assert previous.ranks is not None
    found = set()
    if ranks.in_place is not previous.ranks.in_place:
        changed = set(ranks.in_place) ^ set(previous.ranks.in_place)
        for places in (previous.buffers.places, buffers.places):
            found |= {places[order.contents].owner for order in changed if order.contents in places}
    by_id = previous.description.by_id
    for node in blocks:  # a view leads elsewhere, and it has no operation that would tell
        if node in by_id:
            for view in by_id[node].description.views:
                found.add(previous.buffers.places[PortRef(node, view.target)].owner)
    return found


def _carry_tables(before: GraphDescription, now: GraphDescription, edit: Differences) -> None:
    """Let a description have the tables of connections that were made for the one before, less what changed."""
    known = before.__dict__
    if "source_of" in known and "source_of" not in now.__dict__:
        source_of = before.source_of.copy()
        for connection in edit.cut:
            del source_of[connection.target]
        source_of.update({connection.target: connection.source for connection in edit.made})
        now.__dict__["source_of"] = source_of
    if "targets_of" in known and "targets_of" not in now.__dict__:
        targets_of = before.targets_of.copy()
        for source in {connection.source for connection in (*edit.made, *edit.cut)}:
            targets_of[source] = list(targets_of.get(source, ()))
        for connection in edit.cut:
            targets_of[connection.source].remove(connection.target)
        for connection in edit.made:
            targets_of[connection.source].append(connection.target)
        for source in {connection.source for connection in edit.cut}:
            if not targets_of[source]:
                del targets_of[source]
        now.__dict__["targets_of"] = targets_of
