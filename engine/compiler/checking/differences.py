"""What changed between two descriptions, found by identity first: most of an edited patch is the same objects."""

from __future__ import annotations

from dataclasses import dataclass

from engine.compiler.description import BlockNode, GraphDescription
from engine.patch.changes import Connection


@dataclass(frozen=True)
class Differences:
    """Blocks that are new or described anew, ids of those that are gone, and connections made and taken away."""

    changed: list[BlockNode]
    gone: list[str]
    made: list[Connection]
    cut: list[Connection]


def differences(old: GraphDescription, new: GraphDescription) -> Differences:
    """Return what changed from `old` to `new`; a block is the same when its description is the same object."""
    made, cut = _connections(old.connections, new.connections)
    if old.nodes is new.nodes:
        return Differences([], [], made, cut)
    before, after = old.by_id, new.by_id
    changed = [node for node in new.nodes if before.get(node.id) is not node]
    changed = [node for node in changed if (known := before.get(node.id)) is None or _differ(known, node)]
    gone = [node for node in before if node not in after] if before.keys() != after.keys() else []
    return Differences(changed, gone, made, cut)


def _differ(old: BlockNode, new: BlockNode) -> bool:
    return old.description is not new.description or old.region != new.region or old.group != new.group


def _connections(old: tuple[Connection, ...], new: tuple[Connection, ...]) -> tuple[list[Connection], list[Connection]]:
    if old is new:
        return [], []
    before, after = set(map(id, old)), set(map(id, new))
    made = [connection for connection in new if id(connection) not in before]
    cut = [connection for connection in old if id(connection) not in after]
    if made and cut:
        # Equal ones may have been made again.
        same = set(made) & set(cut)
        made = [connection for connection in made if connection not in same]
        cut = [connection for connection in cut if connection not in same]
    return made, cut
