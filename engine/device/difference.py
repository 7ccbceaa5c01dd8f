"""Whether two graphs are built alike, so that an executable of one can do what the other does."""

from __future__ import annotations

from collections.abc import Sequence

from engine.device.nodes import NodeRecord, kind_of
from engine.device.protocol import GraphNode, UpdateResult


def difference(old: Sequence[NodeRecord], new: Sequence[NodeRecord]) -> UpdateResult | None:
    """Return why an executable of nodes `old` cannot be updated from nodes `new`; None when they are built alike."""
    for index, (before, now) in enumerate(zip(old, new, strict=False)):
        node = GraphNode(index)
        if before.graph != now.graph:
            return UpdateResult(False, f"node {node} is in another body", node)
        if kind_of(before.work) != kind_of(now.work):
            return UpdateResult(False, f"node {node} is {kind_of(now.work)}, was {kind_of(before.work)}", node)
        if before.after != now.after:
            return UpdateResult(False, f"node {node} waits for {_named(now)}, did for {_named(before)}", node)
    if len(old) != len(new):
        first = GraphNode(len(old)) if len(new) > len(old) else None
        return UpdateResult(False, f"there are {len(new)} nodes, were {len(old)}", first)
    return None


def _named(record: NodeRecord) -> str:
    return ", ".join(map(str, record.after)) or "none"
