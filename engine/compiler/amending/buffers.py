"""Buffers after a small edit: only blocks that changed are placed anew, and those whose inputs lie elsewhere now.

It is for patches without regions and delays; what it gives is what `plan_buffers` would.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush

from engine.compiler.buffers import BufferPlan, Place, PlannedBuffer, place_outputs
from engine.compiler.checking.check import Checked
from engine.compiler.description import BlockNode, GraphDescription
from engine.patch.changes import PortRef


def blocks_to_place(checked: Checked) -> set[str]:
    """Return the blocks that an edit concerns: described anew, with other layouts, or with other connections."""
    assert checked.edit is not None
    edit, by_id = checked.edit.differences, checked.description.by_id
    found = {node.id for node in edit.changed}
    found.update(checked.edit.renewed)
    found.update(connection.target.node for connection in (*edit.made, *edit.cut) if connection.target.node in by_id)
    return found


def amend_buffers(
    checked: Checked, before: GraphDescription, previous: BufferPlan, blocks: set[str]
) -> BufferPlan | None:
    """Return where everything lies now, or None when all must be looked at; adds to `blocks` those that follow.

    `previous` are the buffers of the description `before`.
    """
    assert checked.edit is not None
    by_id, old_by_id, position = checked.description.by_id, before.by_id, checked.position
    if previous.swaps or any(by_id[node].description.delays for node in blocks):
        return None
    allocations, places = previous.allocations.copy(), previous.places.copy()
    for gone in checked.edit.differences.gone:
        _forget(old_by_id[gone], allocations, places)
    waiting = [(position[node], node) for node in blocks]
    heapify(waiting)
    done: set[str] = set()
    while waiting:
        _, node_id = heappop(waiting)
        if node_id in done:
            continue
        done.add(node_id)
        node, old = by_id[node_id], old_by_id.get(node_id)
        if old is not None and old.description is not node.description:
            _forget(old, allocations, places)
        sources = checked.survey.incoming[node_id]
        for spec in node.description.inputs:
            port, source = PortRef(node_id, spec.name), sources.get(spec.name)
            if source is not None:
                places[port] = places[source]
            else:
                places.pop(port, None)
        place_outputs(node, checked.layouts, checked.view_offsets, allocations, places)
        outputs = [PortRef(node_id, spec.name) for spec in node.description.outputs]
        if any(previous.places.get(port) != places[port] for port in outputs):
            for other in checked.survey.following[node_id]:
                if other not in done:
                    heappush(waiting, (position[other], other))
    if any(by_id[node].description.delays for node in done - blocks):
        return None
    blocks |= done
    return BufferPlan(allocations, places, {})


def owners_of(node: BlockNode | None, places: dict[PortRef, Place]) -> set[PortRef]:
    """Return the allocations that a block's ports and internal buffers lie in."""
    if node is None:
        return set()
    block = node.description
    found = (places.get(PortRef(node.id, item.name)) for items in (block.ports, block.buffers) for item in items)
    return {place.owner for place in found if place is not None}


def _forget(node: BlockNode, allocations: dict[PortRef, PlannedBuffer], places: dict[PortRef, Place]) -> None:
    block = node.description
    for items in (block.ports, block.buffers):
        for item in items:
            port = PortRef(node.id, item.name)
            places.pop(port, None)
            allocations.pop(port, None)
