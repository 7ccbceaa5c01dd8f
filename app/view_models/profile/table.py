"""A measured frame as a table: titles, texts and order of its rows, and the text of the whole frame."""

from collections.abc import Sequence
from enum import Enum

from warploom.app.view_models.profile.texts import LEVELS, percent
from warploom.engine.figures import format_time
from warploom.engine.patch.document import Patch
from warploom.engine.patch.regions import branch_note
from warploom.engine.profiling.levels import ProfilingLevel
from warploom.engine.profiling.profile import Profile, SpanProfile
from warploom.engine.profiling.rows import ProfileRow, RowKind, RowTimes, row_times, rows
from warploom.engine.protocol.messages import FrameReport

#: Placeholder for the time of a row that did not run.
NOTHING = "–"


class ProfileColumn(Enum):
    """The columns of the table: header and help."""

    NAME = ("Block", "Regions and composites hold blocks; blocks hold kernels, fills and copies")
    NOW = ("Now", "Time in the last measured frame, all turns together")
    MEAN = ("Mean", "Mean over the frames measured recently")
    P99 = ("p99", "99 of 100 measured frames took at most this long")
    TURNS = ("Turns", "Number of runs in the last measured frame; more than one in a loop")
    SHARE = (
        "Share",
        "Share of all measured work of the same frames, which adds up to 100% also where work runs side by side",
    )

    @property
    def title(self) -> str:
        """The header."""
        return self.value[0]

    @property
    def help(self) -> str:
        """The tooltip of the column."""
        return self.value[1]


class ProfileTable:
    """The rows of a profile, by number, with the times of the newest frame. Only visible rows get texts."""

    def __init__(self, patch: Patch | None = None) -> None:
        self._patch = patch or Patch()
        self._mark: list[tuple[object, ...]] = []
        self.rows: tuple[ProfileRow, ...] = ()
        self.times: list[RowTimes] = []
        #: The rows inside each row, in the order of the graph; -1 is the top.
        self.children: dict[int, list[int]] = {-1: []}

    def has_rows_of(self, spans: Sequence[SpanProfile]) -> bool:
        """True when spans have the same rows as shown, so that only times change."""
        return _mark(spans) == self._mark

    def show(self, profile: Profile) -> None:
        """Take the rows and times of another frame."""
        spans, mark = profile.spans, _mark(profile.spans)
        if mark != self._mark:
            self._mark, self.rows = mark, rows(spans)
            self.children = {number: [] for number in range(-1, len(self.rows))}
            for number, row in enumerate(self.rows):
                self.children[row.parent].append(number)
        self.times = row_times(self.rows, profile)

    def node(self, number: int) -> str:
        """Return the node of the patch that a row belongs to; "" for the graph's own work."""
        return self.rows[number].node.partition("/")[0]

    def title(self, number: int) -> str:
        """Return the title of a row."""
        row = self.rows[number]
        node, _, inner = row.node.partition("/")
        title = row.name or inner.rpartition("/")[2]
        if not title:
            title = self._patch.title(node) if node in self._patch.nodes else node or "Graph"
        return f"{title} ({branch_note(row.branch)})" if row.branch else title

    def category(self, number: int) -> str:
        """Return the category of a row's block, "" where there is none."""
        node = self.node(number)
        if node not in self._patch.nodes:
            return ""
        block_type = self._patch.block_type(node)
        return block_type.category if block_type is not None else ""

    def text(self, number: int, column: ProfileColumn) -> str:
        """Return the text of a cell."""
        times = self.times[number]
        match column:
            case ProfileColumn.NAME:
                return self.title(number)
            case ProfileColumn.NOW:
                return format_time(times.busy_ns) if times.turns else NOTHING
            case ProfileColumn.MEAN:
                return format_time(times.mean_ns)
            case ProfileColumn.P99:
                return format_time(times.p99_ns)
            case ProfileColumn.TURNS:
                return f"{times.turns:,}" if times.turns else NOTHING
            case ProfileColumn.SHARE:
                return f"{times.share:.1%}" if times.share is not None else ""

    def tooltip(self, number: int) -> str:
        """Return all details of a row."""
        times, lines = self.times[number], [self.title(number)]
        if times.turns:
            turns = (
                f" in {times.turns:,} turns of {format_time(times.busy_ns / times.turns)}" if times.turns > 1 else ""
            )
            lines.append(f"{format_time(times.busy_ns)}{turns}")
            lines.append(f"From {format_time(times.first_ns)} to {format_time(times.last_ns)} of the measured frame")
        else:
            lines.append("Did not run in the last measured frame")
        share = f", {percent(times.share)} of the frame" if times.share is not None else ""
        lines.append(f"Lately {format_time(times.mean_ns)}, p99 {format_time(times.p99_ns)}{share}")
        return "\n".join(lines)

    def order(self, column: ProfileColumn, *, descending: bool) -> dict[int, list[int]]:
        """Return the rows inside each row, sorted by a column; equal ones keep the order of the graph."""
        keys: list[str] | list[int]
        match column:
            case ProfileColumn.NAME:
                keys = [self.title(number).casefold() for number in range(len(self.rows))]
            case ProfileColumn.NOW:
                keys = [times.busy_ns for times in self.times]
            case ProfileColumn.P99:
                keys = [times.p99_ns for times in self.times]
            case ProfileColumn.TURNS:
                keys = [times.turns for times in self.times]
            case ProfileColumn.MEAN | ProfileColumn.SHARE:
                keys = [times.mean_ns for times in self.times]
        return {
            around: sorted(inside, key=keys.__getitem__, reverse=descending) if len(inside) > 1 else inside
            for around, inside in self.children.items()
        }

    @property
    def work_text(self) -> str:
        """The duration of the measured frame, and its total work if some ran in parallel."""
        top = [self.times[number] for number in self.children[-1] if self.rows[number].kind is not RowKind.GRAPH]
        ran = [times for times in top if times.turns]
        if not ran:
            return ""
        wall_ns = max(times.last_ns for times in ran) - min(times.first_ns for times in ran)
        busy_ns = sum(times.busy_ns for times in ran)
        text = f"From first start to last end {format_time(wall_ns)}"
        return f"{text}, with {format_time(busy_ns)} of work" if busy_ns > wall_ns else text


def _mark(spans: Sequence[SpanProfile]) -> list[tuple[object, ...]]:
    return [(each.node, each.name, each.region, each.operation, each.branch, each.is_region) for each in spans]


def why_empty(level: ProfilingLevel, report: FrameReport | None) -> str:
    """Return why there is no measured frame to show, and what to do about it."""
    if report is not None and report.failed:
        return "The engine has stopped.\nRestart it to measure again"
    if level < ProfilingLevel.PER_BLOCK:
        what = "Profiling is off" if level is ProfilingLevel.NONE else "Only the whole frame is measured"
        return f"{what}.\nChoose {LEVELS[ProfilingLevel.PER_BLOCK][0]} above to see the time of each block"
    if report is None or not report.running:
        return "No frame has been measured yet.\nPlay or step the patch"
    return "No frame has been measured yet.\nThe first one comes a moment after the last edit"


def cost_text(profile: Profile | None, frames_a_second: float | None) -> str:
    """Return the times of a frame and of measuring: "2.10 ms a frame · measuring takes 1.2%, one frame in 40"."""
    if profile is None:
        return ""
    parts = [f"{format_time(profile.launch_ns)} a frame"] if profile.launch_ns is not None else []
    if profile.level is ProfilingLevel.DEEP_SYNC:
        parts.append("every frame is measured, and the engine waits for it")
    elif profile.overhead is not None:
        every = round(profile.every_ns / 1e9 * frames_a_second) if frames_a_second else None
        often = "" if every is None else f", one frame in {every:,}" if every > 1 else ", every frame"
        parts.append(f"measuring takes {percent(profile.overhead)}{often}")
    return " · ".join(parts)
