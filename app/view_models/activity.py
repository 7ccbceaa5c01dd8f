"""The activity of connections: whether data flows, stands still, or is left out."""

from collections.abc import Mapping
from enum import Enum

from warploom.engine.patch.changes import Connection
from warploom.engine.protocol.messages import FrameReport, NodeReport, NodeState


class Activity(Enum):
    """What happens to the data of a connection."""

    RUNS = "runs in each frame"
    STILL = "stands still"
    ASLEEP = "left out: its region skips it, or it waits for another block"
    ERROR = "comes from a block with an error"


def stopped_nodes(report: FrameReport) -> dict[str, Activity]:
    """Return the nodes that give or take no new data, each with the activity of the connections from it."""
    found = {}
    for node_id, node in report.nodes.items():
        if node.state is NodeState.ERROR:
            found[node_id] = Activity.ERROR
        elif _sleeps(node, report):
            found[node_id] = Activity.ASLEEP
    return found


def activity_of(connection: Connection, stopped: Mapping[str, Activity], otherwise: Activity) -> Activity:
    """Return the activity of a connection; `otherwise` is that between nodes of which none is stopped."""
    source, target = stopped.get(connection.source.node), stopped.get(connection.target.node)
    return source or (Activity.ASLEEP if target is Activity.ASLEEP else otherwise)


def _sleeps(node: NodeReport, report: FrameReport) -> bool:
    # While another graph is prepared, new blocks are idle for a moment.
    is_left_out = node.state is NodeState.INCOMPLETE or (node.state is NodeState.IDLE and not report.preparing)
    return node.is_skipped or is_left_out
