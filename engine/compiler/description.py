"""`GraphDescription`: the compiler's input, as plain data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from engine.blocktypes.description import BlockDescription
from engine.patch.changes import Connection, PortRef
from engine.patch.regions import TOP, region_of


@dataclass(frozen=True)
class BlockNode:
    """One block of the graph: its node id, what it asks for, and the scope that it lies in.

    A scope is `TOP`, a region block's id, or "id.else" for the other branch of an IfElse. `group` names the composite
    whose blocks become one child graph, or is empty.
    """

    id: str
    description: BlockDescription
    region: str = TOP
    group: str = ""


@dataclass(frozen=True)
class GraphDescription:
    """Blocks and the connections between them; a region is a block, and those inside it name it as their region."""

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

    @cached_property
    def targets_of(self) -> dict[PortRef, list[PortRef]]:
        """The inputs that each connected output feeds."""
        found: dict[PortRef, list[PortRef]] = {}
        for c in self.connections:
            found.setdefault(c.source, []).append(c.target)
        return found

    def looked_at_in(self, node: BlockNode) -> list[PortRef]:
        """Return what is read of a block when a frame is done: what it shows, and outputs that feed nothing."""
        fed, ports = self.targets_of, [PortRef(node.id, display.buffer) for display in node.description.displays]
        return ports + [p for spec in node.description.outputs if (p := PortRef(node.id, spec.name)) not in fed]

    def without(self, removed: Iterable[str]) -> GraphDescription:
        """Return the description less some nodes, what lies inside them and every connection at either."""
        gone = self._with_members(set(removed))
        if not gone:
            return self
        return GraphDescription(
            tuple(node for node in self.nodes if node.id not in gone),
            tuple(c for c in self.connections if c.source.node not in gone and c.target.node not in gone),
        )

    def dependents(self, start: Iterable[str]) -> set[str]:
        """Return `start` and every node that depends on one of them, by connections or as part of a region."""
        following: dict[str, list[str]] = {}
        for c in self.connections:
            following.setdefault(c.source.node, []).append(c.target.node)
        for node in self.nodes:
            if node.region:
                following.setdefault(region_of(node.region), []).append(node.id)
        found: set[str] = set()
        waiting = list(start)
        while waiting:
            node_id = waiting.pop()
            if node_id not in found:
                found.add(node_id)
                waiting += following.get(node_id, ())
        return found

    def _with_members(self, removed: set[str]) -> set[str]:
        gone = set(removed)  # a block that could not be described has no node here, but connections
        inside = [node for node in self.nodes if node.region] if gone else []
        while more := {node.id for node in inside if node.id not in gone and region_of(node.region) in gone}:
            gone |= more
        return gone
