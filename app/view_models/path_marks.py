"""The critical path on the canvas: which nodes and connections lie on it, and what the other branches have to spare."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from app.view_models.profile_texts import LEVELS
from engine.figures import budget_text, format_time
from engine.patch.changes import Connection
from engine.patch.document import Patch
from engine.patch.inner_patch import InnerPatch
from engine.profiling.critical_path import critical_path
from engine.profiling.levels import ProfilingLevel
from engine.profiling.profile import Profile
from engine.protocol.messages import FrameReport


@dataclass(frozen=True)
class PathMarks:
    """What the canvas marks; `slack` is said of nodes that are not on the path, and `text` of the frame."""

    nodes: frozenset[str] = frozenset()
    connections: frozenset[Connection] = frozenset()
    slack: Mapping[str, str] = field(default_factory=dict)
    text: str = ""


def path_marks(patch: Patch, profile: Profile | None, report: FrameReport | None, budget_ns: int) -> PathMarks:
    """Return what to mark for the means of the frames that were measured lately.

    A node whose work is done by the kernel of another one is marked like that one. Inside a block nothing is marked.
    """
    if report is None or isinstance(patch, InnerPatch):
        return PathMarks()
    if report.statistics.profiling < ProfilingLevel.PER_BLOCK:
        return PathMarks(text=f"Critical path not measured: Run > Profiling > {LEVELS[ProfilingLevel.PER_BLOCK][0]}")
    if profile is None or not profile.spans:
        return PathMarks(text="Critical path: no frame has been measured yet")
    path = critical_path(profile.spans, lately=True)
    place: dict[str, int] = {}  # of each node on the path
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
    nodes = frozenset(node for node in place if node in patch.nodes)
    return PathMarks(
        nodes,
        _along(patch, {node: place[node] for node in nodes}),
        {node: f"slack {format_time(spare_ns)}" for node, spare_ns in slack.items() if node not in place},
        _text(path.length_ns, max(profile.launch_ns or path.wall_ns, path.length_ns), budget_ns),
    )


def _along(patch: Patch, place: Mapping[str, int]) -> frozenset[Connection]:
    """Return for each node on the path its connections from that one before it which ends last."""
    found: dict[str, list[Connection]] = {}
    for connection in patch.connections:
        source, target = connection.source.node, connection.target.node
        if source in place and target in place and place[source] <= place[target] and source != target:
            known = found.setdefault(target, [])
            if known and place[known[0].source.node] < place[source]:
                known.clear()
            if not known or place[known[0].source.node] == place[source]:
                known.append(connection)
    return frozenset(connection for each in found.values() for connection in each)


def _text(length_ns: int, frame_ns: int, budget_ns: int) -> str:
    """Return how long the path is, and how the frame keeps to its budget."""
    return f"Critical path {format_time(length_ns)}\nFrame {format_time(frame_ns)}, {budget_text(frame_ns, budget_ns)}"
