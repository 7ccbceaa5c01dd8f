"""The state of an op graph or a chain as a report: canvas and inspector show its problems as they show a block's."""

from engine.diagnostics import Diagnostic, Severity
from engine.patch.inner_patch import InnerPatch
from engine.protocol.messages import EngineStatistics, FrameReport, NodeReport, NodeState, UpdateLevel


def op_report(patch: InnerPatch) -> FrameReport:
    """Return a state and a message for each op, and the numbers that hold while nothing is connected.

    An op that no output needs is idle.
    """
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
        nodes[node.id] = NodeReport(node.type, state, "\n".join(problem.message for problem in found))
        block_type = patch.block_type(node.id)
        for spec in block_type.inputs() if block_type is not None else ():
            if block_type is not None and spec.name in block_type.parameters:
                values[f"{node.id}.{spec.name}"] = patch.value(node.id, spec.name)
    return FrameReport(0, UpdateLevel.NONE, 0, nodes, {}, EngineStatistics(""), problems, values=values)


def _state(problems: list[Diagnostic]) -> NodeState:
    if all(problem.is_incomplete for problem in problems):
        return NodeState.INCOMPLETE
    has_error = any(problem.severity is Severity.ERROR for problem in problems)
    return NodeState.ERROR if has_error else NodeState.WARNING
