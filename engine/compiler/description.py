"""`GraphDescription`: the compiler's input, as plain data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from operator import attrgetter

import msgspec

from warploom.engine.descriptions.description import BlockDescription
from warploom.engine.patch.changes import Connection, PortRef, Sentinel
from warploom.engine.patch.regions import TOP, Scopes, region_of


class BlockNode(msgspec.Struct, frozen=True):
    """One block of the graph: its node id, its description, and its scope.

    A scope is `TOP`, a region block's id, or "id.else" or "id.2" for another branch. The blocks of the composite
    `group` become one child graph; `group` may be empty.
    """

    id: str
    description: BlockDescription
    region: str = TOP
    group: str = ""


class NumberDrive(msgspec.Struct, frozen=True):
    """A value output of a live block that drives a parameter of `type` float, int or bool, from `low` to `high`."""

    source: PortRef
    target: PortRef
    type: str
    low: float
    high: float


class GraphDescription(msgspec.Struct, frozen=True, dict=True):
    """Blocks and the connections between them. A region is a block; the blocks inside it have its id as their region.

    `sentinels` are by output, and `drives` those that kernels may follow in the same frame; phase 0 replaces both.
    `orders` are pairs of blocks: the first ends before the second begins, also without a connection.
    """

    nodes: tuple[BlockNode, ...]
    connections: tuple[Connection, ...]
    sentinels: Mapping[PortRef, Sentinel] = msgspec.field(default_factory=dict)
    drives: tuple[NumberDrive, ...] = ()
    orders: tuple[tuple[str, str], ...] = ()

    @cached_property
    def by_id(self) -> dict[str, BlockNode]:
        """The blocks by node id."""
        return {node.id: node for node in self.nodes}

    @cached_property
    def source_of(self) -> dict[PortRef, PortRef]:
        """The output that feeds each connected input, by input."""
        return {c.target: c.source for c in self.connections}

    @cached_property
    def targets_of(self) -> dict[PortRef, list[PortRef]]:
        """The inputs that each connected output feeds, by output."""
        found: dict[PortRef, list[PortRef]] = {}
        for c in self.connections:
            found.setdefault(c.source, []).append(c.target)
        return found

    @cached_property
    def kinds(self) -> tuple[BlockDescription, ...]:
        """The distinct descriptions of the blocks: most blocks of a type share one object."""
        return tuple({id(node.description): node.description for node in self.nodes}.values())

    @cached_property
    def has_groups(self) -> bool:
        """True when some blocks are to become a child graph."""
        return any(map(attrgetter("group"), self.nodes))

    @cached_property
    def looked_at(self) -> frozenset[PortRef]:
        """Buffers that are read after a frame: displayed or watched ones, and unconnected outputs."""
        feeding = {c.source.node for c in self.connections}
        found = []
        several = []  # blocks with several outputs, some of which may be unconnected
        for node in self.nodes:
            outputs = node.description.rules.outputs
            if node.id not in feeding:
                found += [PortRef(node.id, rule.name) for rule in outputs]
            elif len(outputs) > 1:
                several += [PortRef(node.id, rule.name) for rule in outputs]
        if several:
            found += set(several).difference([c.source for c in self.connections])
        if any(kind.seen_buffers for kind in self.kinds):
            found += [PortRef(n.id, name) for n in self.nodes for name in n.description.seen_buffers]
        return frozenset(found)

    @property
    def outputs(self) -> frozenset[PortRef]:
        """The outputs of all blocks."""
        nodes = ((node.id, node.description.rules.outputs) for node in self.nodes)
        return frozenset([PortRef(node, rule.name) for node, rules in nodes for rule in rules])

    @cached_property
    def kept(self) -> frozenset[PortRef]:
        """Other buffers that last to the end of the frame.

        They are records of which bodies ran, and buffers whose check freezes the frame.
        """
        if not any(kind.keeps or kind.control for kind in self.kinds):
            return frozenset()
        ports = [PortRef(n.id, s.port) for n in self.nodes for s in n.description.statuses if s.keeps]
        found = [self.source_of[port] for port in ports if port in self.source_of]
        controls = [(n.id, n.description.control) for n in self.nodes]
        return frozenset([*found, *[PortRef(node, c.chosen) for node, c in controls if c is not None]])

    @cached_property
    def files(self) -> list[tuple[str, str]]:
        """The files that blocks save: node and path."""
        return [(n.id, display.path) for n in self.nodes for display in n.description.displays if display.path]

    def without(self, removed: Iterable[str]) -> GraphDescription:
        """Return the description without these nodes, the nodes inside them, and all their connections."""
        gone = self._with_members(set(removed))
        if not gone:
            return self
        return GraphDescription(
            tuple(node for node in self.nodes if node.id not in gone),
            tuple(c for c in self.connections if c.source.node not in gone and c.target.node not in gone),
            orders=tuple(pair for pair in self.orders if gone.isdisjoint(pair)),
        )

    def dependents(self, start: Iterable[str]) -> set[str]:
        """Return `start` and every node that depends on one of these nodes, by connections or as part of a region."""
        waiting = list(start)
        if not waiting:
            return set()
        following: dict[str, list[str]] = {}
        for c in self.connections:
            following.setdefault(c.source.node, []).append(c.target.node)
        for node in self.nodes:
            if node.region:
                following.setdefault(region_of(node.region), []).append(node.id)
        found: set[str] = set()
        while waiting:
            node_id = waiting.pop()
            if node_id not in found:
                found.add(node_id)
                waiting += following.get(node_id, ())
        return found

    def _with_members(self, removed: set[str]) -> set[str]:
        gone = set(removed)  # a block that could not be described has connections, but no node here
        inside = [node for node in self.nodes if node.region] if gone else []
        while more := {node.id for node in inside if node.id not in gone and region_of(node.region) in gone}:
            gone |= more
        return gone


class Nesting:
    """The scope of each block that is in a region, and the path from each scope up to the top."""

    def __init__(self, description: GraphDescription) -> None:
        self._scopes = Scopes({node.id: node.region for node in description.nodes if node.region})

    @property
    def is_flat(self) -> bool:
        """True when there is no block in a region."""
        return not self._scopes.scope_of

    def scope_of(self, node: str) -> str:
        """Return the scope of a block."""
        return self._scopes.scope_of.get(node, TOP)

    def chain(self, scope: str) -> tuple[str, ...]:
        """Return the scopes from the top down to `scope`, both included."""
        return (TOP, *self._scopes.chain(scope))

    def lift(self, a: str, b: str) -> tuple[str, str]:
        """Return the representatives of two blocks in their innermost common scope: the block or a region around it."""
        return self._scopes.lift(a, b) if self._scopes.scope_of else (a, b)

    def holds(self, region: str, node: str) -> bool:
        """True when a block lies inside a region block, at any depth."""
        return any(region_of(scope) == region for scope in self._scopes.chain(self.scope_of(node)))

    def regions_between(self, inner: str, outer: str) -> list[str]:
        """Return the region blocks around scope `inner` that do not contain scope `outer`, outermost first."""
        other = self.chain(outer)
        return [region_of(s) for depth, s in enumerate(self.chain(inner)) if depth >= len(other) or other[depth] != s]


def order_edges(description: GraphDescription, nesting: Nesting) -> list[tuple[str, str]]:
    """Return the orders of blocks in the common scope of both.

    An order of a region and a block inside it, or of blocks in different branches of a region, is none.
    """
    pairs = [nesting.lift(*pair) for pair in description.orders if description.by_id.keys() >= set(pair)]
    return [(first, then) for first, then in dict.fromkeys(pairs) if first != then]


def connection_edges(description: GraphDescription, nesting: Nesting) -> list[tuple[str, str]]:
    """Return the order that connections require, in the common scope of both ends.

    A connection into a delayed input orders nothing, unless the delay lies in a region and its source outside: the
    contents kept at the end of each turn must be there before the first turn.
    """
    by_id = description.by_id
    edges = []
    for connection in description.connections:
        target = connection.target
        if target.node not in by_id or connection.source.node not in by_id:
            continue
        edge = nesting.lift(connection.source.node, target.node)
        if edge[1] != target.node or target.port not in by_id[target.node].description.delayed_inputs:
            edges.append(edge)
    return edges
