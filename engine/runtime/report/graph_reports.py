"""What a graph holds, for a report: the buffers of its ports, and how full append buffers are."""

from __future__ import annotations

from collections.abc import Mapping

from engine.blocktypes.entries import StatusKind
from engine.compiler.buffers import Lifetime
from engine.compiler.executable.compiled_graph import CompiledGraph
from engine.compiler.plan import Plan
from engine.device.protocol import Memory
from engine.patch.changes import PortRef
from engine.protocol.messages import BufferReport
from engine.types import element_count


def buffer_reports(plan: Plan, memory: Mapping[PortRef, Memory]) -> dict[str, BufferReport]:
    """Return what every output port of the patch's nodes in a plan holds, by "node.port"; `memory` is by owner."""
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
    layouts, places, allocations = plan.layouts, plan.buffers.places, plan.buffers.allocations
    known: dict[tuple[int, int, Lifetime], BufferReport] = {}  # most ports hold what many others do
    reports: dict[str, BufferReport] = {}
    for shown, port in ports.items():
        layout, whole = layouts[port], places[port].owner
        allocated, lifetime = memory[whole].size_bytes, allocations[whole].lifetime
        report = known.get(key := (id(layout), allocated, lifetime))
        if report is None:
            report = BufferReport(str(layout.dtype), layout.shape, layout.size_bytes, allocated, str(lifetime))
            known[key] = report
        reports[str(shown)] = report
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
