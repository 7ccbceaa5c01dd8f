"""The critical path on the canvas: its nodes and connections, and the slack of the other branches."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from warploom.app.view_models.profile.texts import LEVELS
from warploom.engine.figures import budget_text, format_time
from warploom.engine.patch.changes import Connection
from warploom.engine.patch.document import Patch
from warploom.engine.patch.inner_patch import InnerPatch
from warploom.engine.profiling.critical_path import critical_path
from warploom.engine.profiling.levels import ProfilingLevel
from warploom.engine.profiling.profile import Profile, SpanProfile
from warploom.engine.protocol.messages import FrameReport


@dataclass(frozen=True)
class PathMarks:
    """The marks on the canvas; `slack` has the texts of nodes outside the path, and `text` that of the frame."""

    nodes: frozenset[str] = frozenset()
    connections: frozenset[Connection] = frozenset()
    slack: Mapping[str, str] = field(default_factory=dict)
    text: str = ""


def path_marks(patch: Patch, profile: Profile | None, report: FrameReport | None, budget_ns: int) -> PathMarks:
    """Return the marks for the means of the recently measured frames.

    If another node's kernel does a node's work, it is marked like that node. Inside a block, nothing is marked.
    """
    if report is None or isinstance(patch, InnerPatch):
        return PathMarks()
    if report.statistics.profiling < ProfilingLevel.PER_BLOCK:
        return PathMarks(text=f"Critical path not measured: Run > Profiling > {LEVELS[ProfilingLevel.PER_BLOCK][0]}")
    if profile is None or not profile.spans:
        return PathMarks(text="Critical path: no frame has been measured yet")
    path = critical_path(profile.spans, lately=True)
    place: dict[str, int] = {}  # the position of each node on the path
    for at, number in enumerate(path.spans):
        place[profile.spans[number].node.partition("/")[0]] = at
    slack: dict[str, int] = {}
    for span, spare_ns in zip(profile.spans, path.slack_ns, strict=True):
        node = span.node.partition("/")[0]
        if span.mean_ns and node not in place:
            slack[node] = min(spare_ns, slack.get(node, spare_ns))
    for node, found in report.nodes.items():
        for other in found.fused_into if node not in place and node not in slack else ():
            if other in place:
                place[node] = place[other]
            elif other in slack:
                slack[node] = slack[other]
    for node in place.keys() - patch.nodes.keys():
        del place[node]
    connections = _along(patch, place, _steps([profile.spans[number] for number in path.spans]), slack)
    return PathMarks(
        frozenset((*place, *(connection.source.node for connection in connections))),
        connections,
        {node: f"slack {format_time(spare_ns)}" for node, spare_ns in slack.items() if node not in place},
        _text(path.length_ns, max(profile.launch_ns or path.wall_ns, path.length_ns), budget_ns),
    )


def _steps(spans: Sequence[SpanProfile]) -> dict[int, set[int]]:
    """Return, for the last position of each node on a path, the positions of the nodes right before it.

    For the first node in a region, these are the region and the nodes before it; for a node after a region, the region
    and its last node.
    """
    nodes = [span.node.partition("/")[0] for span in spans]
    last = {node: at for at, node in enumerate(nodes)}
    steps: dict[int, set[int]] = {at: {at} for at in last.values()}
    for at, node in enumerate(nodes):
        before = at - 1
        while before >= 0:
            for other in (nodes[before], spans[before].region.partition("/")[0]):
                if other != node and other in last and last[other] < last[node]:
                    steps[last[node]].add(last[other])
            if not spans[before].is_region:
                break
            before -= 1
    return steps


def _along(
    patch: Patch, place: Mapping[str, int], steps: Mapping[int, Collection[int]], apart: Collection[str]
) -> frozenset[Connection]:
    """Return the connections by which each node on the path follows the previous one.

    `place` is by node on the path, `steps` lead back along it, and `apart` are the other measured nodes. Nodes without
    work, such as views, only pass on their predecessors.
    """
    before: dict[str, list[Connection]] = {}
    after: dict[str, list[str]] = {}
    for connection in patch.connections:
        before.setdefault(connection.target.node, []).append(connection)
        after.setdefault(connection.source.node, []).append(connection.target.node)
    ends = dict(place)  # for nodes without work: the last position that they pass on
    for node in sorted(place, key=place.__getitem__):
        pending = [node]
        while pending:
            for target in after.get(pending.pop(), ()):
                if target not in place and target not in apart and ends.get(target, -1) < place[node]:
                    ends[target] = place[node]
                    pending.append(target)
    found: set[Connection] = set()
    pending = list(place)
    while pending:
        node = pending.pop()
        wanted = steps[ends[node]] if node in place else {ends[node]}
        for connection in before.get(node, ()):
            source = connection.source.node
            if source != node and ends.get(source) in wanted and connection not in found:
                found.add(connection)
                pending.append(source)
    return frozenset(found)


def _text(length_ns: int, frame_ns: int, budget_ns: int) -> str:
    """Return the length of the path, and how the frame compares with its budget."""
    return f"Critical path {format_time(length_ns)}\nFrame {format_time(frame_ns)}, {budget_text(frame_ns, budget_ns)}"
