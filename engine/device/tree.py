"""The nodes of a graph with those of every body and child graph in it, and the rules by which they are put together.

Both devices keep this beside their own graphs: so what can be built, and what an executable can be updated from, is
the same on both.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.device.nodes import ChildWork, ConditionalWork, EventWork, NodeRecord, Work, kind_of
from engine.device.protocol import Condition, ConditionalKind, Node, UpdateResult
from engine.diagnostics import DeviceError

ROOT = 0


class GraphTree:
    """Nodes in the order in which they were added; graph 0 is the whole graph, bodies and child graphs follow."""

    def __init__(self) -> None:
        self.nodes: list[NodeRecord] = []
        #: For each graph of the tree, the node that it belongs to; None for the whole graph.
        self.owners: list[Node | None] = [None]
        self._is_body: list[bool] = [False]  # or inside one
        self._conditions: dict[Condition, int] = {}  # the graph it was made in
        self._has_executable = False
        self._used: dict[Condition, Node] = {}

    def add(self, graph: int, work: Work, after: Sequence[Node]) -> Node:
        """Add a node; DeviceError when it must not be there."""
        if isinstance(work, EventWork) and self._is_body[graph]:
            raise DeviceError(
                "event record must be outside of conditional nodes, got one in a body, where CUDA allows none; "
                "record it before and after the conditional node"
            )
        node = Node(len(self.nodes))
        self.nodes.append(NodeRecord(work, graph, self._order(graph, after)))
        return node

    def add_child(self, graph: int, child: GraphTree, after: Sequence[Node]) -> Node:
        """Add a node for a child graph and, after it, the nodes of that graph."""
        if child is self:
            raise DeviceError("child graph must be another graph, got the one that it is added to")
        if child._conditions:
            raise DeviceError(
                "child graph must have no conditions, since CUDA refuses conditional nodes there; add its nodes to "
                "the graph itself"
            )
        if self._is_body[graph] and any(isinstance(record.work, EventWork) for record in child.nodes):
            raise DeviceError("child graph in a body of a conditional node must record no events, got one that does")
        first = len(self.owners)
        node = self.add(graph, ChildWork(first), after)
        inside = node + 1
        self._add_graph(graph, node)
        for owner in child.owners[1:]:
            assert owner is not None
            self._add_graph(graph, Node(inside + owner))
        for record in child.nodes:
            work = record.work
            if isinstance(work, ChildWork):
                work = ChildWork(first + work.graph)
            order = tuple(Node(inside + other) for other in record.after)
            self.nodes.append(NodeRecord(work, first + record.graph, order))
        return node

    def add_conditional(
        self, graph: int, kind: ConditionalKind, condition: Condition, after: Sequence[Node]
    ) -> tuple[Node, range]:
        """Add a conditional node and return it with the numbers of its bodies."""
        if condition not in self._conditions or self._conditions[condition] not in self._line(graph):
            raise DeviceError("condition must be made in this graph, or in one that this is a body of, got another")
        if condition in self._used:
            raise DeviceError(
                f"condition must be that of one conditional node, got it for node {self._used[condition]}"
                " and another one"
            )
        work = ConditionalWork(kind, condition, len(self.owners))
        node = self.add(graph, work, after)
        for _ in work.bodies:
            self._add_graph(graph, node, is_body=True)
        self._used[condition] = node
        return node, work.bodies

    def add_condition(self, graph: int, condition: Condition) -> None:
        """Take note of a condition that was made in a graph."""
        self._conditions[condition] = graph

    def check_conditions(self) -> None:
        """DeviceError when a condition has no conditional node, which CUDA may refuse to instantiate."""
        unused = self._conditions.keys() - self._used.keys()
        if unused:
            raise DeviceError(f"every condition must have a conditional node, got {len(unused)} without one")

    def take_executable(self) -> None:
        """Say that an executable is made; DeviceError for a second one of a graph with conditions.

        CUDA allows one: the condition's handle is part of the graph.
        """
        self.check_conditions()
        if self._conditions and self._has_executable:
            raise DeviceError("graph with conditions must be instantiated once, got a second time; build it again")
        self._has_executable = True

    def forget(self, node: Node) -> None:
        """Take out a node, which could not be made after all, with everything that was added after it."""
        del self.nodes[node:]
        graphs = [index for index, owner in enumerate(self.owners) if owner is not None and owner >= node]
        for index in reversed(graphs):
            del self.owners[index], self._is_body[index]
        self._used = {condition: user for condition, user in self._used.items() if user < node}

    def _order(self, graph: int, after: Sequence[Node]) -> tuple[Node, ...]:
        """Return what to wait for, each node once, as the driver wants it."""
        for node in after:
            if not 0 <= node < len(self.nodes) or self.nodes[node].graph != graph:
                raise DeviceError(f"node to wait for must be one of the same graph or body, got {node}")
        return tuple(dict.fromkeys(after))

    def _add_graph(self, parent: int, owner: Node, *, is_body: bool = False) -> None:
        self.owners.append(owner)
        self._is_body.append(is_body or self._is_body[parent])

    def _line(self, graph: int) -> set[int]:
        """Return a graph of the tree with all that it lies in."""
        found = {graph}
        while (owner := self.owners[graph]) is not None:
            graph = self.nodes[owner].graph
            found.add(graph)
        return found


def difference(old: Sequence[NodeRecord], new: Sequence[NodeRecord]) -> UpdateResult | None:
    """Return why an executable of nodes `old` cannot be updated from nodes `new`; None when they are built alike."""
    for index, (before, now) in enumerate(zip(old, new, strict=False)):
        node = Node(index)
        if before.graph != now.graph:
            return UpdateResult(False, f"node {node} is in another body", node)
        if kind_of(before.work) != kind_of(now.work):
            return UpdateResult(False, f"node {node} is {kind_of(now.work)}, was {kind_of(before.work)}", node)
        if before.after != now.after:
            return UpdateResult(False, f"node {node} waits for {_named(now)}, did for {_named(before)}", node)
    if len(old) != len(new):
        first = Node(len(old)) if len(new) > len(old) else None
        return UpdateResult(False, f"there are {len(new)} nodes, were {len(old)}", first)
    return None


def _named(record: NodeRecord) -> str:
    return ", ".join(map(str, record.after)) or "none"
