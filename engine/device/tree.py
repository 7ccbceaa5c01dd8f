"""The nodes of a graph and of every body and child graph in it, with the rules for adding and changing them.

No device is involved, so all devices refuse the same graphs and changes, with the same messages.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from warploom.engine.device.nodes import (
    KINDS,
    ChildWork,
    ConditionalWork,
    KernelWork,
    NodeRecord,
    NoWork,
    Work,
    execution_order,
)
from warploom.engine.device.protocol import Condition, ConditionalKind, GraphNode
from warploom.engine.diagnostics import DeviceError

ROOT = 0
_NO_WORK = NoWork()
#: The number of bodies of each kind of conditional node; a SWITCH may have any number.
_BODIES = {ConditionalKind.IF: 1, ConditionalKind.IF_ELSE: 2, ConditionalKind.WHILE: 1}


class GraphTree:
    """Nodes in the order in which they were added. Graph 0 is the whole graph; bodies and child graphs follow."""

    def __init__(self) -> None:
        self.nodes: list[NodeRecord] = []
        #: For each graph of the tree, the node that contains it; None for the whole graph.
        self.owners: list[GraphNode | None] = [None]
        #: False after the graph was destroyed.
        self.is_live = True
        #: For each graph, whether it is a loop's body or inside one.
        self.repeats: list[bool] = [False]
        #: The graph in which each condition was created, and the conditional nodes that have one.
        self._conditions: dict[Condition, int] = {}
        self._used: dict[Condition, GraphNode] = {}
        self._has_executable = False
        self._is_reordered = False
        self._has_gaps = False  # whether nodes were removed

    def add(self, graph: int, work: Work, after: Sequence[GraphNode]) -> GraphNode:
        """Add a node. Raise DeviceError if the graph doesn't allow it."""
        nodes = self.nodes
        node = GraphNode(len(nodes))
        nodes.append(NodeRecord(work, graph, self._order(graph, after) if after else ()))
        return node

    def add_child(self, graph: int, child: GraphTree, after: Sequence[GraphNode]) -> GraphNode:
        """Add a node for a child graph, followed by copies of that graph's nodes."""
        if child is self:
            raise DeviceError("child graph must be another graph, got the one that it is added to")
        if child._conditions:
            raise DeviceError(
                "child graph must have no conditions, since CUDA refuses conditional nodes there; add its nodes to "
                "the graph itself"
            )
        child.order()
        first = len(self.owners)
        node = self.add(graph, ChildWork(first), after)
        inside = node + 1
        self._add_graph(graph, node)
        for owner in child.owners[1:]:
            assert owner is not None
            self._add_graph(graph, GraphNode(inside + owner))
        for record in child.nodes:
            work = record.work
            if isinstance(work, ChildWork):
                work = ChildWork(first + work.graph)
            order = tuple(GraphNode(inside + other) for other in record.after)
            self.nodes.append(NodeRecord(work, first + record.graph, order))
        self._is_reordered |= child._is_reordered
        self._has_gaps |= child._has_gaps
        return node

    def add_conditional(
        self,
        graph: int,
        kind: ConditionalKind,
        condition: Condition,
        after: Sequence[GraphNode],
        bodies: int | None = None,
    ) -> tuple[GraphNode, range]:
        """Add a conditional node. Return it with the numbers of its bodies."""
        count = _BODIES.get(kind, bodies or 0)
        if count < 1 or bodies not in (None, count):
            rule = f"be {count}" if kind in _BODIES else "be at least 1"
            raise DeviceError(f"number of bodies of a conditional {kind.value} must {rule}, got {bodies}")
        if condition not in self._conditions or self._conditions[condition] not in self._line(graph):
            raise DeviceError("condition must be made in this graph or in one around it, got one of another graph")
        if condition in self._used:
            raise DeviceError(
                f"condition must belong to one conditional node, got it for node {self._used[condition]}"
                " and another one"
            )
        work = ConditionalWork(kind, condition, len(self.owners), count)
        node = self.add(graph, work, after)
        for _ in work.bodies:
            self._add_graph(graph, node, repeats=kind is ConditionalKind.WHILE)
        self._used[condition] = node
        return node, work.bodies

    def add_condition(self, graph: int, condition: Condition) -> None:
        """Register a condition that was created in a graph."""
        self._conditions[condition] = graph

    def clone(self) -> GraphTree:
        """Return an independent copy. Raise DeviceError if CUDA can't clone the graph."""
        if self._conditions:
            raise DeviceError(
                f"graph must have no conditions to be cloned, since CUDA cannot clone conditional nodes, "
                f"got {len(self._conditions)}; build it again"
            )
        twin = GraphTree()
        twin.nodes, twin.owners, twin.repeats = self.nodes.copy(), self.owners.copy(), self.repeats.copy()
        twin._is_reordered, twin._has_gaps = self._is_reordered, self._has_gaps
        return twin

    def remove(self, graph: int, nodes: Sequence[GraphNode]) -> list[dict[GraphNode, Work]]:
        """Remove nodes. Return the work of each and of the nodes inside it.

        Raise DeviceError if one can't be removed.
        """
        if not nodes:
            return []
        for node in nodes:
            record = self._record(graph, node, "removed node")
            if isinstance(record.work, ConditionalWork):
                raise DeviceError(f"removed node must not be conditional, got node {node}; build the graph again")
            if self._has_executable:
                raise DeviceError(
                    f"node {node} must be removed before the graph is instantiated, got it afterwards; "
                    "remove it from a clone of the graph"
                )
        works = [{GraphNode(index): self.nodes[index].work for index in self._inside(node)} for node in nodes]
        removed = set().union(*works)
        for index, record in enumerate(self.nodes):
            if index in removed:
                self.nodes[index] = NodeRecord(_NO_WORK, record.graph, ())
            elif not removed.isdisjoint(record.after):
                after = tuple(other for other in record.after if other not in removed)
                self.nodes[index] = replace(record, after=after)
        self._has_gaps = True
        return works

    def set_after(
        self, graph: int, node: GraphNode, after: Sequence[GraphNode]
    ) -> tuple[list[GraphNode], list[GraphNode]]:
        """Let a node wait for exactly these nodes. Return those that it no longer waits for, and the new ones.

        It may wait for nodes added after it; `take_executable` detects cycles.
        """
        record = self._record(graph, node, "node that waits")
        order = self._order(graph, after)
        if node in order:
            raise DeviceError(f"node {node} must wait for other nodes, got itself")
        old, new = record.after, set(order)
        gone = [other for other in old if other not in new]
        added = [other for other in order if other not in old]
        self.nodes[node] = replace(record, after=order)
        self._is_reordered |= any(other > node for other in added)
        return gone, added

    def kernel(self, graph: int, node: GraphNode) -> KernelWork:
        """Return the launch of a kernel node of a graph. Raise DeviceError for other nodes."""
        work = self._record(graph, node, "changed node").work
        if not isinstance(work, KernelWork):
            raise DeviceError(f"changed node must be a kernel, got node {node}, which is {KINDS[type(work)]}")
        return work

    def set_work(self, node: GraphNode, work: Work) -> None:
        """Replace the work of a node."""
        self.nodes[node] = replace(self.nodes[node], work=work)

    def _inside(self, node: GraphNode) -> range:
        """Return the number of a node and, for a child graph, of the nodes inside it, which follow it."""
        work = self.nodes[node].work
        if not isinstance(work, ChildWork):
            return range(node, node + 1)
        # The first node after these belongs to a graph that was added before the child.
        older = (index for index in range(node + 1, len(self.nodes)) if self.nodes[index].graph < work.graph)
        return range(node, next(older, len(self.nodes)))

    def _record(self, graph: int, node: GraphNode, what: str) -> NodeRecord:
        """Return a node of a graph of the tree. If there is none, raise a DeviceError that begins with `what`."""
        if not 0 <= node < len(self.nodes) or self.nodes[node].graph != graph or self.nodes[node].work is _NO_WORK:
            raise DeviceError(f"{what} must be one of the same graph or body, got {node}")
        return self.nodes[node]

    def order(self) -> Sequence[GraphNode]:
        """Return all nodes, each after those that it waits for. Raise DeviceError when they form a cycle."""
        return execution_order(self.nodes) if self._is_reordered else list(map(GraphNode, range(len(self.nodes))))

    def take_executable(self) -> None:
        """Check the graph and record an executable. Raise DeviceError for a second one of a graph with conditions.

        CUDA allows only one, since a condition's handle belongs to its graph.
        """
        unused = self._conditions.keys() - self._used.keys()
        if unused:  # CUDA may refuse to instantiate such a graph
            raise DeviceError(f"every condition must have a conditional node, got {len(unused)} without one")
        if self._is_reordered:
            self.order()
        if self._conditions and self._has_executable:
            raise DeviceError("graph with conditions must be instantiated once, got a second time; build it again")
        self._has_executable = True

    def forget(self, node: GraphNode) -> None:
        """Drop a node that could not be created, and all nodes added after it."""
        del self.nodes[node:]
        graphs = [index for index, owner in enumerate(self.owners) if owner is not None and owner >= node]
        for index in reversed(graphs):
            del self.owners[index], self.repeats[index]
        self._used = {condition: user for condition, user in self._used.items() if user < node}

    def _order(self, graph: int, after: Sequence[GraphNode]) -> tuple[GraphNode, ...]:
        """Return the distinct nodes to wait for, as the driver requires."""
        nodes, order = self.nodes, tuple(after)
        count = len(nodes)
        # In a single graph without removed nodes, every number up to the last is a node.
        is_plain = len(self.owners) == 1 and not self._has_gaps
        for node in order:
            if not 0 <= node < count or not (
                is_plain or (nodes[node].graph == graph and nodes[node].work is not _NO_WORK)
            ):
                raise DeviceError(f"node to wait for must be one of the same graph or body, got {node}")
        count = len(order)
        if count < 2 or (count == 2 and order[0] != order[1]):
            return order
        return tuple(dict.fromkeys(order))

    def _add_graph(self, parent: int, owner: GraphNode, *, repeats: bool = False) -> None:
        self.owners.append(owner)
        self.repeats.append(repeats or self.repeats[parent])

    def _line(self, graph: int) -> set[int]:
        """Return the numbers of a graph and of all graphs around it."""
        found = {graph}
        while (owner := self.owners[graph]) is not None:
            graph = self.nodes[owner].graph
            found.add(graph)
        return found
