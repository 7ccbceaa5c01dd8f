"""Phase 7, build: a `Plan` becomes a device graph, node by node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from warploom.engine.compiler.description import GraphDescription
from warploom.engine.compiler.executable.arguments import Resources
from warploom.engine.compiler.executable.nodes import CapturedNode, KernelNode, NodeMaker, unexpected
from warploom.engine.compiler.operations import Operation, RegionEntry, Scope
from warploom.engine.compiler.plan import Plan
from warploom.engine.descriptions.entries import CaptureEntry, KernelEntry, RegionKind
from warploom.engine.device.device import Device
from warploom.engine.device.graph import Graph
from warploom.engine.device.protocol import Condition, ConditionalKind, GraphNode, Memory
from warploom.engine.diagnostics import WarploomError
from warploom.engine.patch.changes import PortRef
from warploom.engine.processes.scope import check_cancelled

if TYPE_CHECKING:
    from warploom.engine.compiler.executable.clocks import SpanTimer

#: One step of building: the operations of a child graph, or a single operation.
Unit = tuple[int, ...]


def units(operations: Sequence[Operation], scopes: Sequence[Scope], description: GraphDescription) -> list[Unit]:
    """Return the indices of the operations in the order of building, with those of each child graph together.

    A composite may ask for its blocks as one child graph. The child graph is one node to operations outside, so none of
    these may have to run between two operations inside. If one would have to, or if the composite holds a region (CUDA
    allows no conditions in a child graph), its operations stay separate nodes.
    """
    if not description.has_groups:
        return [(index,) for index in range(len(operations))]
    groups: dict[str, list[int]] = {}
    for index, operation in enumerate(operations):
        group = description.by_id[operation.node].group if operation.node else ""
        if group and operation.scope == 0:
            groups.setdefault(group, []).append(index)
    for group in list(groups):
        if len(groups[group]) < 2 or any(isinstance(operations[i].entry, RegionEntry) for i in groups[group]):
            del groups[group]
    while True:
        unit_of = {index: tuple(members) for members in groups.values() for index in members}
        ordered, blocked = _order(operations, scopes, unit_of)
        if not blocked:
            return ordered
        # Break up the first group by name that waits for itself through operations outside, then try again.
        group = min(name for name, members in groups.items() if tuple(members) in blocked)
        del groups[group]


def _order(
    operations: Sequence[Operation], scopes: Sequence[Scope], unit_of: Mapping[int, Unit]
) -> tuple[list[Unit], set[Unit]]:
    """Return the units, each after its dependencies and otherwise by first operation, or the groups on a cycle."""
    sorter: TopologicalSorter[Unit] = TopologicalSorter()
    for index, operation in enumerate(operations):
        unit = unit_of.get(index, (index,))
        before = {unit_of.get(i, (i,)) for i in operation.after} - {unit}
        if operation.scope:  # a body's operations need their region's node first
            before.add((scopes[operation.scope].region,))
        sorter.add(unit, *before)
    try:
        sorter.prepare()
    except CycleError as problem:
        return [], {unit for unit in problem.args[1] if len(unit) > 1}
    ready: list[Unit] = []
    ordered: list[Unit] = []
    while sorter.is_active():
        for unit in sorter.get_ready():
            heappush(ready, unit)
        ordered.append(heappop(ready))
        sorter.done(ordered[-1])
    return ordered, set()


#: The conditional node of each kind of region.
KINDS = {
    RegionKind.IF: ConditionalKind.IF,
    RegionKind.IF_ELSE: ConditionalKind.IF_ELSE,
    RegionKind.WHILE: ConditionalKind.WHILE,
    RegionKind.FOR: ConditionalKind.WHILE,
    RegionKind.SWITCH: ConditionalKind.SWITCH,
}


@dataclass
class BuiltGraph:
    """The device graph before it is instantiated, with the memory of each buffer by owner.

    `handles` are the nodes by operation; for an operation in a child graph, it is the child graph's node.
    """

    graph: Graph
    memory: Mapping[PortRef, Memory]
    kernels: list[KernelNode] = field(default_factory=list)
    captured: list[CapturedNode] = field(default_factory=list)
    handles: dict[int, GraphNode] = field(default_factory=dict)
    #: Operations whose kernel or library call was changed only in the executable.
    swapped: set[int] = field(default_factory=set)
    #: Removed nodes, whose numbers are not used again.
    removed: int = 0


def build_graph(
    plan: Plan,
    device: Device,
    resources: Resources,
    maker: NodeMaker | None = None,
    timer: SpanTimer | None = None,
) -> BuiltGraph:
    """Add a node for every operation, and those of a `timer` around them.

    With a `maker`, nodes may differ from those that the plan and the resources define. Raise GraphValidationError, with
    the node, when a kernel does not take the arguments its block passes.
    """
    built = BuiltGraph(device.create_graph(), resources.memory)
    builder = _Builder(plan, device, built, maker or NodeMaker(plan, device, resources), timer)
    try:
        builder.build()
    except BaseException as problem:
        built.graph.destroy()
        if isinstance(problem, Exception) and not isinstance(problem, WarploomError):
            raise unexpected(problem, plan.operations[builder.at]) from problem
        raise
    return built


class _Builder:
    def __init__(
        self, plan: Plan, device: Device, built: BuiltGraph, maker: NodeMaker, timer: SpanTimer | None
    ) -> None:
        self._plan, self._operations = plan, plan.operations
        self._device = device
        self._built = built
        #: The operation that is being added.
        self.at = 0
        self._maker, self._timer = maker, timer
        self._handles = built.handles
        self._graphs: dict[int, Graph] = {0: built.graph}
        self._conditions: dict[str, Condition] = {}

    def build(self) -> None:
        operations, handles = self._operations, self._handles
        self._maker.read_addresses()
        for unit in units(operations, self._plan.scopes, self._plan.description):
            if len(unit) == 1:
                (index,) = unit
                self._add(index, tuple([handles[d] for d in operations[index].after]))
            else:
                outside = {handles[d] for i in unit for d in operations[i].after if d in handles}
                self._add_child(unit, sorted(outside))

    def _add_child(self, unit: Unit, after: Sequence[GraphNode]) -> None:
        """Add operations as one child graph; for operations outside, its node stands for each of them."""
        whole, handles = self._graphs[0], self._handles
        child = self._device.create_graph()
        try:
            inner: dict[int, GraphNode] = {}
            kernels, captured = len(self._built.kernels), len(self._built.captured)
            self._graphs[0], self._handles = child, inner
            for index in unit:
                self._add(index, [inner[d] for d in self._plan.operations[index].after if d in inner])
            node = whole.add_child(child, after)
        finally:
            self._graphs[0], self._handles = whole, handles
            child.destroy()
        for kernel in self._built.kernels[kernels:]:
            kernel.handle = GraphNode(node + 1 + kernel.handle)
        for made in self._built.captured[captured:]:
            made.handle = GraphNode(node + 1 + made.handle)
        handles.update(dict.fromkeys(unit, node))

    def _add(self, index: int, after: Sequence[GraphNode]) -> None:
        """Add an operation, with a timer's nodes around it. Raise Cancelled if the graph is no longer needed."""
        check_cancelled()
        self.at = index
        operation, timer = self._operations[index], self._timer
        graph = self._graphs[operation.scope]
        if timer is None:
            self._handles[index] = self._add_node(graph, index, operation, after)
            return
        after = timer.before(graph, index, after, self._handles)
        self._handles[index] = self._add_node(graph, index, operation, after)
        timer.behind(graph, index, self._handles)

    def _add_node(self, graph: Graph, index: int, operation: Operation, after: Sequence[GraphNode]) -> GraphNode:
        entry = operation.entry
        if isinstance(entry, KernelEntry):
            condition = self._condition(graph, operation.node) if entry.sets_condition else None
            made = self._maker.kernel(index, entry, condition)
            made.handle = handle = graph.add_kernel(made.kernel.kernel, made.config, made.arguments, after)
            self._built.kernels.append(made)
            return handle
        if isinstance(entry, RegionEntry):
            return self._add_region(graph, operation, entry, after)
        if isinstance(entry, CaptureEntry):
            captured = self._maker.add_captured(graph, index, entry, after)
            self._built.captured.append(captured)
            return captured.handle
        return self._maker.add(graph, index, after)

    def _add_region(
        self, graph: Graph, operation: Operation, region: RegionEntry, after: Sequence[GraphNode]
    ) -> GraphNode:
        condition, count = self._condition(graph, operation.node), len(region.scopes)
        node, bodies = graph.add_conditional(KINDS[region.kind], condition, after, bodies=count)
        self._graphs.update(zip(region.scopes, bodies, strict=True))
        return node

    def _condition(self, graph: Graph, region: str) -> Condition:
        """Return a region's condition. It is created for the kernel before the region, which is the first to set it."""
        if region not in self._conditions:
            self._conditions[region] = graph.create_condition(0)
        return self._conditions[region]
