"""The activity of connections: whether data flows, stands still, or is left out."""

from enum import Enum

from engine.patch.changes import Connection
from engine.protocol.messages import FrameReport, NodeReport, NodeState


class Activity(Enum):
    """What happens to the data of a connection."""

    RUNS = "runs in each frame"
    STILL = "stands still"
    ASLEEP = "left out: its region skips it, or it waits for another block"
    ERROR = "comes from a block with an error"


def activity_of(connection: Connection, report: FrameReport, *, is_launched: bool) -> Activity:
    """Return the activity of a connection; `is_launched` is whether the graph was launched since the last report."""
    source, target = (report.nodes.get(end.node) for end in (connection.source, connection.target))
    if source is not None and source.state is NodeState.ERROR:
        return Activity.ERROR
    if _sleeps(source, report) or _sleeps(target, report):
        return Activity.ASLEEP
    return Activity.RUNS if is_launched else Activity.STILL


def _sleeps(node: NodeReport | None, report: FrameReport) -> bool:
    if node is None or node.is_skipped:
        return node is not None
    # While another graph is prepared, new blocks are idle for a moment.
    return node.state is NodeState.INCOMPLETE or (node.state is NodeState.IDLE and not report.preparing)
