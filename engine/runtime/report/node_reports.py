"""The reports of nodes: their states, their buffers, and the fill of their append buffers."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from warploom.engine.compiler.buffers import Lifetime
from warploom.engine.compiler.executable.compiled_graph import CompiledGraph
from warploom.engine.compiler.inlining.inline import owner
from warploom.engine.compiler.plan import Plan
from warploom.engine.descriptions.entries import ServedParts, StatusKind
from warploom.engine.device.protocol import Memory
from warploom.engine.diagnostics import Diagnostic, Severity
from warploom.engine.patch.changes import Connection, PortRef
from warploom.engine.patch.regions import region_of
from warploom.engine.profiling.profile import Profile, node_times, part_times, skipped_nodes
from warploom.engine.protocol.messages import BufferReport, NodeReport, NodeState, PartReport
from warploom.engine.runtime.model.context import CudaContext
from warploom.engine.types import element_count


class Kernels(NamedTuple):
    """How many kernels a node has in a graph, and the nodes whose kernels do some or all of its work."""

    number: int = 0
    fused_into: tuple[str, ...] = ()
    #: The parameters that its kernels read in the frame that computes them.
    this_frame: tuple[str, ...] = ()
    #: For each part of the node, the number of its timed kernels, and the parts whose kernels do some of its work.
    parts: tuple[tuple[str, int, tuple[str, ...]], ...] = ()


def node_kernels(compiled: CompiledGraph) -> dict[str, Kernels]:
    """Return the kernels of each node of the patch that runs in a graph."""
    described = compiled.plan.description
    counts = Counter([owner(kernel.node) for kernel in compiled.kernels])
    others: dict[str, dict[str, None]] = {}
    for node, found in compiled.plan.fused_into.items():
        others.setdefault(owner(node), {}).update(dict.fromkeys(map(owner, found)))
    numbers: dict[str, list[str]] = {}
    for drive in compiled.plan.inlined.numbers:
        numbers.setdefault(drive.target.node, []).append(drive.target.port)
    kernels: dict[str, Kernels] = {}
    for block in described.nodes:
        node = owner(block.id)
        into = tuple(other for other in others.get(node, ()) if other != node)
        read = tuple(numbers.get(node, ()))
        if node == block.id:
            work = block.description.work
            kernels[node] = Kernels(counts[node], into, read, tuple(_parts(work)) if work else ())
        elif node not in described.by_id:
            kernels[node] = Kernels(counts[node], into, read)
    return kernels


def _parts(work: Iterable[tuple[int, ServedParts]]) -> Iterator[tuple[str, int, tuple[str, ...]]]:
    """Yield each part of a node, the number of its timed entries, and the parts whose entries do some of its work."""
    timed: Counter[str] = Counter()
    others: dict[str, dict[str, None]] = {}
    for _, each in work:
        timed.update(each.timed)
        for part in each.done:
            others.setdefault(part, {}).update(dict.fromkeys(each.timed))
    for part in dict.fromkeys((*timed, *others)):
        yield part, timed[part], tuple(others.get(part, ()))


class NodeReports:
    """The reports of all nodes by id; `reports` is a new object whenever one of them changed."""

    def __init__(self, context: CudaContext) -> None:
        self.reports: dict[str, NodeReport] = {}
        self._context = context
        self._kernels: Mapping[str, Kernels] = {}
        #: The times of nodes and of their parts, from the last profile.
        self._times_ns: dict[str, int] = {}
        self._parts_ns: dict[str, dict[str, int]] = {}
        self._skipped: frozenset[str] = frozenset()
        self._diagnostics: tuple[Diagnostic, ...] = ()
        self._of_node: dict[str, list[Diagnostic]] = {}
        self._wrong: set[str] = set()
        #: The result of `awaited` for the current patch; None until it is requested.
        self._awaited: dict[str, str] | None = None
        self._is_preparing = False

    def follow(
        self, kernels: Mapping[str, Kernels], diagnostics: tuple[Diagnostic, ...], *, preparing: bool = False
    ) -> None:
        """Renew the reports of nodes that were added or removed, or changed in the diagnostics or in the graph.

        `kernels` are those of the nodes that run; `preparing` is true while another graph is prepared.
        """
        changed = self._context.take_changed_blocks()
        self._awaited = None
        if preparing != self._is_preparing:
            self._is_preparing = preparing
            changed |= {node for node, known in self.reports.items() if known.state is NodeState.IDLE}
        if kernels is not self._kernels:
            changed |= {node for node, _ in kernels.items() ^ self._kernels.items()}
            self._kernels = kernels
        if diagnostics is not self._diagnostics:
            before, self._diagnostics, self._of_node = self._of_node, diagnostics, _by_node(diagnostics)
            self._wrong = {item.node for item in diagnostics if item.node and item.severity is Severity.ERROR}
            changed |= {node for node in {*before, *self._of_node} if before.get(node) != self._of_node.get(node)}
            changed |= {node for node, known in self.reports.items() if known.state is NodeState.IDLE}
        if not changed:
            return
        reports, placed = dict(self.reports), self._context.registry.placed
        for node in changed:
            if node in placed:
                reports[node] = self._report(node)
            else:
                reports.pop(node, None)
                self._times_ns.pop(node, None)
        self.reports = reports

    def measure(self, profile: Profile) -> None:
        """Renew all reports with the times of a profile."""
        times_ns = self._times_ns = node_times(profile.spans)
        self._parts_ns, skipped = part_times(profile.spans), skipped_nodes(profile.spans)
        if skipped:  # also those whose kernels are only in others
            of_others = (
                n for n, (number, into, *_) in self._kernels.items() if into and not number and skipped >= {*into}
            )
            skipped = skipped.union(of_others)
        self._skipped = skipped
        before, reports, is_other = self.reports, dict[str, NodeReport](), False
        for node in self._context.registry.placed:
            known, time_ns, is_skipped = before.get(node), times_ns.get(node), node in self._skipped
            if known is None or known.parts or known.state is NodeState.IDLE:
                found = self._report(node)
            elif known.time_ns != time_ns or known.is_skipped is not is_skipped:
                # Most of a thousand nodes have another time. By position, which takes half the time.
                found = NodeReport(
                    *(known.type, known.state, known.message, time_ns, known.kernels, known.fused_into),
                    is_skipped=is_skipped,
                    this_frame=known.this_frame,
                )
            else:
                found = known
            is_other |= found is not known and found != known
            reports[node] = found
        if is_other or len(reports) != len(before):
            self.reports = reports

    def _report(self, node: str) -> NodeReport:
        time_ns, kind = self._times_ns.get(node), self._context.registry.placed[node].type_id
        kernels = self._kernels.get(node, Kernels())
        number, fused_into, this_frame, made_of = kernels
        times = self._parts_ns.get(node, {})
        parts = {part: PartReport(times.get(part), count, into) for part, count, into in made_of}
        own, is_skipped = self._of_node.get(node), node in self._skipped
        state, text = NodeState.OK, ""
        if own is not None:
            errors = [item for item in own if item.severity is Severity.ERROR]
            # A block that keeps running although it lost an input no longer matches the patch, which is an error.
            is_incomplete = errors and node not in self._kernels and all(item.is_incomplete for item in errors)
            state = NodeState.INCOMPLETE if is_incomplete else NodeState.ERROR if errors else NodeState.WARNING
            text = "\n".join(map(_text, own))
        if own is not None or node in self._kernels or node in self._context.value_graph.nodes:
            return NodeReport(
                *(kind, state, text, time_ns, number, fused_into),
                parts=parts,
                is_skipped=is_skipped,
                this_frame=this_frame,
            )
        why, waits_for = self._why_idle(node)
        return NodeReport(kind, NodeState.IDLE, why, None, number, fused_into, waits_for)

    def _why_idle(self, node: str) -> tuple[str, str]:
        """Return why a node doesn't run, and the block before it or around it that keeps it from running, if any."""
        if self._awaited is None:
            scopes = {placed.id: placed.region for placed in self._context.registry.placed.values()}
            self._awaited = awaited(self._wrong, scopes, self._context.connections)
        source = self._awaited.get(node)
        if source is not None:
            lacks = all(item.is_incomplete for item in self._of_node[source] if item.severity is Severity.ERROR)
            which = "is incomplete" if lacks else "has an error"
            return f"not running: it waits for {source}, which {which}", source
        if self._wrong and not self._is_preparing:
            first = min(self._wrong)
            return f"not running: the graph stays as it is until {first} is corrected", first
        return "not running: the graph is being prepared", ""


def awaited(wrong: Collection[str], scopes: Mapping[str, str], connections: Iterable[Connection]) -> dict[str, str]:
    """Return, for each node that depends on a `wrong` node, the nearest one; a wrong node has itself.

    `scopes` are those of all nodes. A node depends on its sources, in the order of their connections, and on the region
    around it. Of several wrong nodes that are equally near, it waits for the first in that order.
    """
    if not wrong:
        return {}
    before: dict[str, list[str]] = {}
    for connection in connections:
        before.setdefault(connection.target.node, []).append(connection.source.node)
    for node, scope in scopes.items():
        if scope:
            before.setdefault(node, []).append(region_of(scope))
    after: dict[str, list[str]] = {}
    for node, others in before.items():
        for other in others:
            after.setdefault(other, []).append(node)
    found = {node: node for node in wrong}
    nearest = dict(found)
    while found:  # those that are one step further away
        behind = {node for source in found for node in after.get(source, ()) if node not in nearest}
        found = {node: nearest[next(source for source in before[node] if source in nearest)] for node in behind}
        nearest.update(found)
    return nearest


def _by_node(diagnostics: Iterable[Diagnostic]) -> dict[str, list[Diagnostic]]:
    by_node: dict[str, list[Diagnostic]] = {}
    for item in diagnostics:
        if item.node:
            by_node.setdefault(item.node, []).append(item)
    return by_node


def _text(item: Diagnostic) -> str:
    """Return message and remedy; a compiler's message ends with a line of code, to which nothing may be appended."""
    if not item.remedy:
        return item.message
    return f"{item.message}\n({item.remedy})" if "\n" in item.message else f"{item.message} ({item.remedy})"


def buffer_reports(plan: Plan, memory: Mapping[PortRef, Memory]) -> dict[str, BufferReport]:
    """Return the buffers of all output ports of the patch's nodes, by "node.port"; `memory` is by owner."""
    blocks, allocations, columns = plan.buffers.blocks, plan.buffers.allocations, plan.columns
    reports: dict[str, BufferReport] = {}

    def add(port: PortRef, inner: PortRef) -> None:
        block = blocks[inner.node]
        layout, whole = block.layouts.layouts[inner.port], block.places[inner.port].owner
        lifetime = allocations[whole].lifetime
        allocated = memory[whole].size_bytes if lifetime is not Lifetime.FUSED else 0
        facts = str(layout.dtype), layout.shape, layout.size_bytes, allocated, str(lifetime)
        reports[str(port)] = BufferReport(*facts, columns.get(inner, ()))

    for node in plan.description.nodes:
        if "/" not in node.id:
            for name in node.description.rules.output_of:
                if name not in node.description.numbers:
                    add(PortRef(node.id, name), PortRef(node.id, name))
    for outer, inner in plan.inlined.outputs.items():
        if "/" not in outer.node and inner.node in blocks:
            add(outer, inner)
    return reports


def append_counts(compiled: CompiledGraph | None, words: Mapping[PortRef, int]) -> dict[str, int]:
    """Return how many elements each append buffer holds after the last launch, by "node.port"."""
    if compiled is None or compiled.status is None:
        return {}
    inlined = compiled.plan.inlined
    shown = {inner: outer for outer, inner in inlined.outputs.items() if "/" not in outer.node}
    counts = {}
    for node, status in compiled.plan.statuses:
        if status.kind is StatusKind.APPENDED:
            word, port = words.get(PortRef(node, status.buffer), 0), PortRef(node, status.port)
            counts[str(shown.get(port, port))] = min(word, element_count(compiled.plan.layouts[port].shape))
    return counts
