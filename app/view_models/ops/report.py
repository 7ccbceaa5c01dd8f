"""The state of an inner patch as a report, so that canvas and inspector show its problems like a block's."""

from warploom.engine.diagnostics import Diagnostic, Severity
from warploom.engine.patch.inner_patch import InnerPatch
from warploom.engine.protocol.messages import (
    EngineStatistics,
    FrameReport,
    NodeReport,
    NodeState,
    PartReport,
    UpdateLevel,
)

_NONE = EngineStatistics("")


def op_report(patch: InnerPatch, around: NodeReport | None = None, statistics: EngineStatistics = _NONE) -> FrameReport:
    """Return a state and a message for each op, and the numbers that are used while inputs are unconnected.

    An op that no output needs is idle. `around` is the report of the block with this patch; it has the times and shares
    of the block's parts, such as the layers of a network.
    """
    parts = around.parts if around is not None else {}
    whole_ns = around.time_ns if around is not None else None
    problems = tuple(patch.problems)
    by_node: dict[str | None, list[Diagnostic]] = {}
    for problem in problems:
        by_node.setdefault(problem.node, []).append(problem)
    nodes = {}
    live = patch.live
    values: dict[str, float] = {}
    for node in patch.nodes.values():
        found = by_node.get(node.id, [])
        state = _state(found) if found else NodeState.OK if node.id in live else NodeState.IDLE
        part = parts.get(node.id, PartReport())
        nodes[node.id] = NodeReport(
            node.type,
            state,
            "\n".join(problem.message for problem in found),
            part.time_ns,
            part.kernels,
            part.fused_into,
            share=part.time_ns / whole_ns if part.time_ns is not None and whole_ns else None,
        )
        block_type = patch.block_type(node.id)
        for spec in block_type.inputs() if block_type is not None else ():
            if block_type is not None and spec.name in block_type.parameters:
                values[f"{node.id}.{spec.name}"] = patch.value(node.id, spec.name)
    return FrameReport(0, UpdateLevel.NONE, 0, nodes, {}, statistics, problems, values=values)


def _state(problems: list[Diagnostic]) -> NodeState:
    if all(problem.is_incomplete for problem in problems):
        return NodeState.INCOMPLETE
    has_error = any(problem.severity is Severity.ERROR for problem in problems)
    return NodeState.ERROR if has_error else NodeState.WARNING
