"""What the engine knows, put into a `FrameReport`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from engine.compiler.instantiate import CompiledGraph
from engine.diagnostics import Diagnostic, Severity
from engine.patch.changes import PortRef
from engine.runtime.context import CudaContext
from engine.runtime.messages import BufferReport, NodeReport, NodeState


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
    running = compiled.nodes if compiled else frozenset()
    kernels = Counter(kernel.node for kernel in compiled.kernels) if compiled else Counter[str]()
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
    """Return what every output port of the running graph holds, by "node.port"."""
    if compiled is None:
        return {}
    reports: dict[str, BufferReport] = {}
    plan = compiled.plan
    for node in plan.description.nodes:
        for spec in node.description.ports:
            if not spec.is_input:
                port = PortRef(node.id, spec.name)
                layout, memory = plan.layouts[port], compiled.memory[plan.buffers.owner_of[port]]
                reports[str(port)] = BufferReport(str(layout.dtype), layout.shape, layout.size_bytes, memory.size_bytes)
    return reports
