"""`GraphDescription`: the compiler's input, as plain data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from engine.blocktypes.description import BlockDescription
from engine.patch.changes import Connection, PortRef


@dataclass(frozen=True)
class BlockNode:
    """One block of the graph: its node id and what it asks for."""

    id: str
    description: BlockDescription


@dataclass(frozen=True)
class GraphDescription:
    """Blocks and the connections between them. Regions will stand beside them as a third field."""

    nodes: tuple[BlockNode, ...]
    connections: tuple[Connection, ...]

    @cached_property
    def by_id(self) -> dict[str, BlockNode]:
        """The blocks by node id."""
        return {node.id: node for node in self.nodes}

    @cached_property
    def source_of(self) -> dict[PortRef, PortRef]:
        """The output that feeds each connected input."""
        return {c.target: c.source for c in self.connections}

    def without(self, removed: Iterable[str]) -> GraphDescription:
        """Return the description less some nodes and every connection at them."""
        gone = set(removed)
        return GraphDescription(
            tuple(node for node in self.nodes if node.id not in gone),
            tuple(c for c in self.connections if c.source.node not in gone and c.target.node not in gone),
        )

    def dependents(self, start: Iterable[str]) -> set[str]:
        """Return `start` and every node that depends on one of them."""
        following: dict[str, list[str]] = {}
        for c in self.connections:
            following.setdefault(c.source.node, []).append(c.target.node)
        found: set[str] = set()
        waiting = list(start)
        while waiting:
            node = waiting.pop()
            if node not in found:
                found.add(node)
                waiting += following.get(node, ())
        return found
