"""The heat map: a node's share of the frame as a degree of heat, and the legend's text."""

import math

from warploom.app.view_models.profile.texts import LEVELS, time_share
from warploom.engine.figures import format_time
from warploom.engine.profiling.levels import ProfilingLevel
from warploom.engine.protocol.messages import EngineStatistics, FrameReport, NodeReport

#: Degrees of heat; a node's colour changes only with its degree.
DEGREES = 16
_WAITING = "Not measured yet"
#: The shares in the legend.
TICKS = (0.01, 0.1, 0.25, 0.5, 1.0)


def heat(share: float) -> float:
    """Return the heat, from 0 to 1, of a share of the frame: its square root, so that small shares differ."""
    return math.sqrt(min(max(share, 0.0), 1.0))


def degree_of(report: NodeReport | None, statistics: EngineStatistics) -> int:
    """Return a node's degree of heat, from 0 to DEGREES; 0 while it is not measured."""
    share = time_share(report, statistics) if report is not None else None
    return round(heat(share) * DEGREES) if share is not None else 0


def legend_text(report: FrameReport | None) -> str:
    """Return the present meaning of the colours, or why there are none."""
    if report is None:
        return _WAITING
    times = [node.share is None for node in report.nodes.values() if node.time_ns is not None]
    if times and not any(times):
        return "Share of the block's time"
    if report.statistics.profiling < ProfilingLevel.PER_BLOCK:
        return f"Not measured: Run > Profiling > {LEVELS[ProfilingLevel.PER_BLOCK][0]}"
    if not times or report.statistics.work_ns is None:
        return f"Compiling: {_WAITING.lower()}" if report.preparing else _WAITING
    return f"Share of the frame's work, {format_time(report.statistics.work_ns)}"
