"""Parts of a patch as changes: those that make an excerpt, and those that add another patch's contents."""

from __future__ import annotations

import re
from collections.abc import Collection

from msgspec.structs import replace

from warploom.engine.patch import changes
from warploom.engine.patch.changes import Change, Connection, Mode, PortRef, Position
from warploom.engine.patch.groups.contents import GroupedContents
from warploom.engine.patch.groups.functions import function_of
from warploom.engine.patch.naming import Names
from warploom.engine.patch.organise.annotations import Dots, Frame, RunOrder, moved
from warploom.engine.patch.organise.pins import Pin
from warploom.engine.patch.positions import checked_position
from warploom.engine.patch.regions import TOP, branch_of, region_of, scope_text


def excerpt(patch: GroupedContents, chosen: frozenset[str], frames: frozenset[str]) -> list[Change]:
    """Return the changes that make a patch of the `chosen` nodes, and of what belongs to them, from an empty one.

    That is connections, sentinels, dots, pins and orders between them, and the frames with the ids `frames`. A node
    whose region is not chosen lies in the innermost region around it that is.
    """
    made: list[Change] = []
    for node in patch.nodes.values():
        if node.id in chosen:
            around = (scope for scope in reversed(patch.scopes.chain(node.region)) if region_of(scope) in chosen)
            made.append(changes.NodeAdded(replace(node, region=next(around, TOP))))
    inside = [c for c in patch.connections if c.source.node in chosen and c.target.node in chosen]
    made += [changes.Connected(c) for c in inside]
    feeding, fed = {c.source for c in inside}, {c.target for c in inside}
    made += [changes.SentinelChanged(port, s, None) for port, s in patch.sentinels.items() if port in feeding]
    for key, note in patch.annotations.items():
        is_whole = isinstance(note, Frame) and (note.id in frames or note.group in chosen)
        is_whole = is_whole or (isinstance(note, Pin) and note.node in chosen)
        is_whole = is_whole or (isinstance(note, RunOrder) and {note.first, note.then} <= chosen)
        if is_whole or (isinstance(note, Dots) and PortRef(note.node, note.port) in fed):
            made.append(changes.AnnotationChanged(key, note, None))
    return made


def insertion(
    patch: GroupedContents, other: GroupedContents, offset: Position, region: str
) -> tuple[dict[str, str], list[Change]]:
    """Return a new id for each node of another patch, and the changes that add its contents to `patch`.

    What lies outside all regions goes to `region`, and moves by `offset`.
    """
    ids, made = _copies(other, offset, region, patch.nodes, with_sentinels=patch.takes_sentinels)
    if not patch.takes_modes:
        made = [_active(change) for change in made]
    frames, level = Names(note.id for note in patch.annotations_of(Frame)), patch.group_at(region)
    for frame in other.annotations_of(Frame):
        new_id, group = frames.free(_stem(frame.id)), ids.get(frame.group, level)
        copy = replace(moved(frame, offset), id=new_id, group=group)
        frames.add(copy.id)
        made.append(changes.AnnotationChanged(copy.key, copy, None))
    for dots in other.annotations_of(Dots):
        if dots.node in ids:
            moved_dots = replace(moved(dots, offset), node=ids[dots.node])
            made.append(changes.AnnotationChanged(moved_dots.key, moved_dots, None))
    for pin in other.annotations_of(Pin) if patch.takes_sentinels else ():
        if pin.node in ids:
            copied = replace(pin, node=ids[pin.node])
            made.append(changes.AnnotationChanged(copied.key, copied, None))
    for order in other.annotations_of(RunOrder):
        if {order.first, order.then} <= ids.keys():
            between = replace(order, first=ids[order.first], then=ids[order.then])
            made.append(changes.AnnotationChanged(between.key, between, None))
    return ids, made


def _copies(
    patch: GroupedContents, offset: Position, region: str, taken: Collection[str], *, with_sentinels: bool
) -> tuple[dict[str, str], list[Change]]:
    """Return a new id for each node of `patch`, and the changes that add copies to another patch.

    `taken` are ids in use in that patch. Nodes outside all regions go to `region`.
    """
    ids: dict[str, str] = {}
    used = Names(taken)
    for node in patch.nodes.values():
        ids[node.id] = used.free(_stem(node.id)) if node.id in used else node.id
        used.add(ids[node.id])
    made: list[Change] = []
    scopes = patch.scopes
    for node in sorted(patch.nodes.values(), key=lambda node: len(scopes.chain(node.region))):
        inside = scope_text(ids[region_of(node.region)], branch_of(node.region)) if node.region else region
        groups = patch.groups_around(node.id)
        dx, dy = (0.0, 0.0) if groups else offset  # the inside of a group stays as it is
        position = checked_position((node.position[0] + dx, node.position[1] + dy))
        is_linked = any(function_of(patch.nodes[group]) for group in groups)
        key = (node.key or node.id) if is_linked else ""
        key = "" if key == ids[node.id] else key
        made.append(changes.NodeAdded(replace(node, id=ids[node.id], position=position, region=inside, key=key)))
    for connection in patch.connections:
        source, target = connection.source, connection.target
        copied = Connection(PortRef(ids[source.node], source.port), PortRef(ids[target.node], target.port))
        made.append(changes.Connected(copied))
    for port, sentinel in patch.sentinels.items() if with_sentinels else ():
        made.append(changes.SentinelChanged(PortRef(ids[port.node], port.port), sentinel, None))
    return ids, made


def _stem(name: str) -> str:
    """Return a name without its number; one that is only a number, such as "_7", is a stem itself."""
    return re.sub(r"(?<=.)_\d+$", "", name)


def _active(change: Change) -> Change:
    """Return a change that adds a node, without the node's mode."""
    if isinstance(change, changes.NodeAdded) and change.node.mode:
        return changes.NodeAdded(replace(change.node, mode=Mode.ACTIVE))
    return change
