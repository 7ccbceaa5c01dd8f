"""Phase 7, build: a `Plan` becomes a device graph, node by node, with profiling events where they are asked for."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush

from engine.compiler.description import GraphDescription
from engine.compiler.executable.arguments import Resources
from engine.compiler.executable.nodes import CapturedNode, KernelNode, NodeMaker, unexpected
from engine.compiler.operations import Operation, RegionEntry, Scope
from engine.compiler.plan import Plan
from engine.descriptions.entries import CaptureEntry, KernelEntry, RegionKind
from engine.device.device import Device
from engine.device.graph import Graph
from engine.device.protocol import Condition, ConditionalKind, Event, GraphNode, Memory
from engine.diagnostics import WarploomError
from engine.patch.changes import PortRef

#: One step of building: the operations of a child graph, or a single operation.
Unit = tuple[int, ...]


def units(operations: Sequence[Operation], scopes: Sequence[Scope], description: GraphDescription) -> list[Unit]:
    """Return the operations in an order to build them in, those of each child graph together, as indices.

    A composite may ask for its blocks as one child graph. That is one node to those outside, so nothing outside may
    have to run between two of its operations. Where that would be so, or where it holds a region (CUDA allows no
    conditions in a child graph), its operations stay nodes of their own.
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
    """Return the units, each after what it waits for and else by first operation, and the groups on a circle."""
    if not unit_of:
        return [(index,) for index in range(len(operations))], set()
    missing: dict[Unit, int] = {}
    following: dict[Unit, list[Unit]] = {}
    for index, operation in enumerate(operations):
        unit = unit_of.get(index, (index,))
        missing.setdefault(unit, 0)
        before = {unit_of.get(i, (i,)) for i in operation.after} - {unit}
        if operation.scope:  # a body's operations need their region's node first
            before.add((scopes[operation.scope].region,))
        for other in before:
            following.setdefault(other, []).append(unit)
            missing[unit] += 1
    ready = [unit for unit, count in missing.items() if not count]
    heapify(ready)
    ordered = []
    while ready:
        unit = heappop(ready)
        ordered.append(unit)
        for other in following.get(unit, ()):
            missing[other] -= 1
            if not missing[other]:
                heappush(ready, other)
    return ordered, {unit for unit, count in missing.items() if count and len(unit) > 1}


_KINDS = {
    RegionKind.IF: ConditionalKind.IF,
    RegionKind.IF_ELSE: ConditionalKind.IF_ELSE,
    RegionKind.WHILE: ConditionalKind.WHILE,
    RegionKind.FOR: ConditionalKind.WHILE,
}


@dataclass(frozen=True)
class Span:
    """The two events around a block or a kernel; `label` is the node id, or "node#operation" for one kernel."""

    label: str
    start: Event
    stop: Event


@dataclass
class BuiltGraph:
    """The device graph before it is instantiated, with the memory of each buffer by owner.

    `handles` are the nodes by operation, those in a child graph with its node; `events` the nodes in which each span's
    events are recorded, by label. `labels` names the span of each timed operation; `borrowed` are labels of spans that
    belong to another graph.
    """

    graph: Graph
    memory: Mapping[PortRef, Memory]
    kernels: list[KernelNode] = field(default_factory=list)
    captured: list[CapturedNode] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    handles: dict[int, GraphNode] = field(default_factory=dict)
    events: dict[str, tuple[GraphNode, GraphNode]] = field(default_factory=dict)
    borrowed: set[str] = field(default_factory=set)
    #: Labels of the other graph's spans that are borrowed, which may be called otherwise there.
    lent: frozenset[str] = frozenset()
    labels: Mapping[int, str] = field(default_factory=dict)
    #: Operations whose kernel or library call was changed in the executable alone.
    swapped: set[int] = field(default_factory=set)
    #: Nodes that were taken out, whose numbers are not used again.
    removed: int = 0

    def destroy(self) -> None:
        """Give graph and events back."""
        self.graph.destroy()
        for span in self.spans:
            if span.label not in self.borrowed:
                span.start.destroy()
                span.stop.destroy()


def build_graph(
    plan: Plan,
    device: Device,
    resources: Resources,
    spans: Mapping[int, str],
    only: Collection[int] | None = None,
) -> BuiltGraph:
    """Add a node for every operation; `spans` labels the operations to be timed, one span for each label.

    With `only`, some of them are added, by index; a region's bodies go with it.
    GraphValidationError, with the node, when a kernel does not take the arguments its block passes.
    """
    built = BuiltGraph(device.create_graph(), resources.memory, labels=spans)
    builder = _Builder(plan, device, resources, spans, built)
    try:
        builder.build(only)
    except BaseException as problem:
        built.destroy()
        if isinstance(problem, Exception) and not isinstance(problem, WarploomError):
            raise unexpected(problem, plan.operations[builder.at]) from problem
        raise
    return built


class _Builder:
    def __init__(
        self, plan: Plan, device: Device, resources: Resources, spans: Mapping[int, str], built: BuiltGraph
    ) -> None:
        self._plan = plan
        self._device = device
        self._built = built
        #: The operation that is being added.
        self.at = 0
        self._maker = NodeMaker(plan, device, resources)
        self._handles = built.handles
        self._graphs: dict[int, Graph] = {0: built.graph}
        self._conditions: dict[str, Condition] = {}
        self._labels = spans
        self._groups: dict[str, list[int]] = {}
        for index, label in sorted(spans.items()):
            self._groups.setdefault(label, []).append(index)
        self._starts: dict[str, tuple[Span, GraphNode]] = {}
        self._units = units(plan.operations, plan.scopes, plan.description)
        self._left = Counter(spans[unit[0]] for unit in self._units if unit[0] in spans)

    def build(self, only: Collection[int] | None) -> None:
        operations, handles, labels = self._plan.operations, self._handles, self._labels
        if only is None:
            self._maker.read_addresses()
        for unit in self._units if only is None else [(index,) for index in range(len(operations))]:
            first = self.at = unit[0]
            if only is None and not labels and len(unit) == 1:
                operation = operations[first]
                handles[first] = self._add(first, operation, tuple([handles[d] for d in operation.after]))
                continue
            if only is not None and (first not in only if not operations[first].scope else self._is_left_out(first)):
                continue
            after = self._known(unit)
            label = self._labels.get(first)
            if label is not None:
                if label not in self._starts:
                    self._start_span(label)
                after.append(self._starts[label][1])
            if len(unit) == 1:
                self._handles[first] = self._add(first, operations[first], after)
            else:
                self._add_child(unit, after)
            if label is not None:
                self._left[label] -= 1
                if not self._left[label]:
                    ends = sorted({self._handles[i] for i in self._groups[label]})
                    span, start = self._starts[label]
                    self._built.events[label] = start, self._built.graph.add_event_record(span.stop, ends)

    def _is_left_out(self, index: int) -> bool:
        """True for an operation of a body whose region was not added."""
        return self._plan.operations[index].scope not in self._graphs

    def _known(self, unit: Unit) -> list[GraphNode]:
        """Return the nodes that a unit waits for."""
        handles, operations = self._handles, self._plan.operations
        if len(unit) == 1:
            return [handles[d] for d in operations[unit[0]].after if d in handles]
        return sorted({handles[d] for i in unit for d in operations[i].after if d in handles})

    def _start_span(self, label: str) -> None:
        """Add the event at which a span starts: when everything that its operations wait for is done."""
        operations = self._plan.operations
        span = Span(label, self._device.create_event(), self._device.create_event())
        self._built.spans.append(span)
        outside = {d for i in self._groups[label] for d in operations[i].after if self._labels.get(d) != label}
        known = sorted({self._handles[i] for i in outside if i in self._handles})
        self._starts[label] = span, self._built.graph.add_event_record(span.start, known)

    def _add_child(self, unit: Unit, after: Sequence[GraphNode]) -> None:
        """Add operations as one child graph; each is known by the child graph's node to those outside."""
        whole, handles = self._graphs[0], self._handles
        child = self._device.create_graph()
        try:
            inner: dict[int, GraphNode] = {}
            kernels, captured = len(self._built.kernels), len(self._built.captured)
            self._graphs[0], self._handles = child, inner
            for index in unit:
                operation = self._plan.operations[index]
                self.at = index
                inner[index] = self._add(index, operation, [inner[d] for d in operation.after if d in inner])
            node = whole.add_child(child, after)
        finally:
            self._graphs[0], self._handles = whole, handles
            child.destroy()
        for kernel in self._built.kernels[kernels:]:
            kernel.handle = GraphNode(node + 1 + kernel.handle)
        for made in self._built.captured[captured:]:
            made.handle = GraphNode(node + 1 + made.handle)
        handles.update(dict.fromkeys(unit, node))

    def _add(self, index: int, operation: Operation, after: Sequence[GraphNode]) -> GraphNode:
        graph, entry = self._graphs[operation.scope], operation.entry
        if isinstance(entry, KernelEntry):
            condition = self._condition(graph, operation.node) if entry.sets_condition else None
            made = self._maker.kernel(index, entry, condition)
            made.handle = graph.add_kernel(made.kernel.kernel, made.config, made.arguments, after)
            self._built.kernels.append(made)
            return made.handle
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
        node, bodies = graph.add_conditional(_KINDS[region.kind], self._condition(graph, operation.node), after)
        self._graphs.update(zip(region.scopes, bodies, strict=True))
        return node

    def _condition(self, graph: Graph, region: str) -> Condition:
        """Return a region's condition, which is made for the kernel before the region that sets it first."""
        if region not in self._conditions:
            self._conditions[region] = graph.create_condition(0)
        return self._conditions[region]
