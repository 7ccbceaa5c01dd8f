"""Pieces of patches: some nodes cut out as a patch of their own, and the changes that put one into another patch."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import TYPE_CHECKING

import msgspec

from engine.patch.changes import Change, Connected, Connection, NodeAdded, PortRef, Position
from engine.patch.regions import TOP, branch_of, region_of, scope_text

if TYPE_CHECKING:
    from engine.patch.document import Patch


def excerpt(patch: Patch, node_ids: Collection[str]) -> list[Change]:
    """Return the changes that make some nodes, and the connections between them, from an empty patch.

    A node whose region is left out lies in the next region around it that is not.
    """
    scopes = patch.scopes
    changes: list[Change] = []
    for node in patch.nodes.values():
        if node.id in node_ids:
            around = (scope for scope in reversed(scopes.chain(node.region)) if region_of(scope) in node_ids)
            changes.append(NodeAdded(msgspec.structs.replace(node, region=next(around, TOP))))
    kept = (c for c in patch.connections if c.source.node in node_ids and c.target.node in node_ids)
    return [*changes, *map(Connected, kept)]


def copies(patch: Patch, offset: Position, region: str, taken: Collection[str]) -> tuple[dict[str, str], list[Change]]:
    """Return a new id for each node of `patch`, and the changes that add it elsewhere.

    `taken` are the ids in use there. Nodes outside all regions go to `region`.
    """
    ids: dict[str, str] = {}
    used = set(taken)
    for node in patch.nodes.values():
        ids[node.id] = free_id(re.sub(r"_\d+$", "", node.id), used) if node.id in used else node.id
        used.add(ids[node.id])
    changes: list[Change] = []
    for node in patch.nodes.values():
        inside = scope_text(ids[region_of(node.region)], branch_of(node.region)) if node.region else region
        position = (node.position[0] + offset[0], node.position[1] + offset[1])
        changes.append(NodeAdded(msgspec.structs.replace(node, id=ids[node.id], position=position, region=inside)))
    for connection in patch.connections:
        source, target = connection.source, connection.target
        copied = Connection(PortRef(ids[source.node], source.port), PortRef(ids[target.node], target.port))
        changes.append(Connected(copied))
    return ids, changes


def free_id(stem: str, taken: Collection[str]) -> str:
    """Return an id that no node has yet: the stem itself, or the stem with the next number."""
    if stem not in taken:
        return stem
    pattern = re.compile(rf"{re.escape(stem)}_(\d+)$")
    used = [int(match[1]) for name in taken if (match := pattern.match(name))]
    return f"{stem}_{max(used, default=1) + 1}"
