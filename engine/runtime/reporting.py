"""What the engine knows, put into a `FrameReport`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from engine.blocktypes.entries import StatusKind
from engine.compiler.inlining import owner
from engine.compiler.instantiate import CompiledGraph
from engine.diagnostics import Diagnostic, Severity
from engine.patch.changes import PortRef
from engine.runtime.context import CudaContext
from engine.runtime.messages import BufferReport, NodeReport, NodeState
from engine.types import element_count


def node_reports(
    context: CudaContext,
    compiled: CompiledGraph | None,
    diagnostics: Iterable[Diagnostic],
    times_ns: Mapping[str, int],
) -> dict[str, NodeReport]:
    """Return every node's state: an error or warning of its own, else idle when it is not in the running graph."""
    own: dict[str, list[Diagnostic]] = {}
    for item in diagnostics:
        if item.node:
            own.setdefault(item.node, []).append(item)
    running = frozenset(owner(node) for node in compiled.nodes) if compiled else frozenset()
    kernels = Counter(owner(kernel.node) for kernel in compiled.kernels) if compiled else Counter[str]()
    reports = {}
    for node_id, placed in context.registry.placed.items():
        items = own.get(node_id, [])
        if any(item.severity is Severity.ERROR for item in items):
            state = NodeState.ERROR
        elif items:
            state = NodeState.WARNING
        else:
            state = NodeState.OK if node_id in running else NodeState.IDLE
        message = "\n".join(_text(item) for item in items)
        if state is NodeState.IDLE:
            message = "not running: a block before it is not ready"
        reports[node_id] = NodeReport(placed.node.type, state, message, times_ns.get(node_id), kernels.get(node_id, 0))
    return reports


def _text(item: Diagnostic) -> str:
    """Return message and remedy; a compiler's message ends with a line of code, where nothing may be appended."""
    if not item.remedy:
        return item.message
    return f"{item.message}\n({item.remedy})" if "\n" in item.message else f"{item.message} ({item.remedy})"


def buffer_reports(compiled: CompiledGraph | None) -> dict[str, BufferReport]:
    """Return what every output port of the patch's running nodes holds, by "node.port"."""
    if compiled is None:
        return {}
    plan = compiled.plan
    ports = {
        port: port
        for node in plan.description.nodes
        if "/" not in node.id
        for spec in node.description.outputs
        if (port := PortRef(node.id, spec.name)) in plan.layouts
    }
    ports |= {
        outer: inner for outer, inner in plan.inlined.outputs.items() if "/" not in outer.node and inner in plan.layouts
    }
    reports: dict[str, BufferReport] = {}
    for shown, port in ports.items():
        layout, place = plan.layouts[port], plan.buffers.places[port]
        reports[str(shown)] = BufferReport(
            str(layout.dtype),
            layout.shape,
            layout.size_bytes,
            compiled.memory[place.owner].size_bytes,
            str(plan.buffers.allocations[place.owner].lifetime),
        )
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
