"""The output of `warploom run`: a table of nodes, nested as in the profile, the frame's times, and written files."""

from collections.abc import Iterator, Mapping, Sequence

from warploom.app.cli.run_result import RunResult
from warploom.app.console import make_console, make_table
from warploom.app.view_models.profile.texts import side_work_lines
from warploom.engine.figures import budget_text, format_time, plural
from warploom.engine.patch.regions import branch_note
from warploom.engine.profiling.critical_path import critical_path
from warploom.engine.profiling.levels import ProfilingLevel
from warploom.engine.profiling.profile import Profile, SpanProfile
from warploom.engine.profiling.rows import ProfileRow, RowTimes, row_times, rows
from warploom.engine.protocol.messages import FrameReport, NodeReport

_NO_PROFILE = ("node", "type", "state", "kernels")
_PROFILE = ("node", "type", "state", "now", "mean", "p99", "turns", "share", "kernels")
#: The width of a table in a file or a pipe.
_FILE_WIDTH = 160
#: The most nodes of the critical path that are named, per region.
_NAMED = 8


def print_result(result: RunResult, last: FrameReport, budget_ns: int) -> None:
    """Print the results of a run; `last` is its last report, and `budget_ns` the time that frames may take."""
    console, profile = make_console(), result.profile
    if not console.is_terminal:
        console.width = max(console.width, _FILE_WIDTH)
    spans = profile.spans if profile is not None else ()
    table = make_table(*(_PROFILE if spans else _NO_PROFILE))
    table.collapse_padding = True
    for column in table.columns:
        column.no_wrap = column.header != "type"  # this column is cut off in a narrow terminal
    for column in table.columns[3:]:
        column.justify = "right"
    measured = rows(spans)
    for row, times in zip(measured, row_times(measured, profile) if profile is not None else (), strict=True):
        table.add_row(*_cells(row, times, last.nodes))
    shown = {row.node for row in measured}
    for node_id, node in sorted(last.nodes.items()):
        if node_id not in shown:
            unmeasured = [""] * 5 if spans else []
            table.add_row(node_id, node.type, str(node.state), *unmeasured, _kernels_text(node))
    console.print(table)
    for line in _summary(result, budget_ns):
        console.print(line, soft_wrap=True)


def _cells(row: ProfileRow, times: RowTimes, nodes: Mapping[str, NodeReport]) -> Iterator[str]:
    """Return the cells of a row of the profile."""
    node = nodes.get(row.node) if not row.name else None
    title = row.name or row.node.rpartition("/")[2] or "graph"
    branch = f" ({branch_note(row.branch)})" if row.branch else ""
    yield f"{'  ' * row.depth}{title}{branch}"
    yield node.type if node is not None else "" if row.name else str(row.kind)
    yield str(node.state) if node is not None else ""
    yield format_time(times.busy_ns) if times.turns else "-"
    yield format_time(times.mean_ns)
    yield format_time(times.p99_ns)
    yield f"{times.turns:,}"
    yield f"{times.share:.1%}" if times.share is not None else ""
    yield _kernels_text(node) if node is not None else ""


def _kernels_text(node: NodeReport) -> str:
    return str(node.kernels) if node.kernels or not node.fused_into else f"in {', '.join(node.fused_into)}"


def _summary(result: RunResult, budget_ns: int) -> Iterator[str]:
    summary = result.as_json()
    times, levels = summary["frame_time_ms"], summary["update_levels"]
    counts = ", ".join(f"{name} {count}" for name, count in levels.items())
    first = format_time(summary["first_frame_ms"] * 1e6)
    rest = f", without the first one, which took {first}" if result.frames > 1 else ""
    yield (
        f"{plural(result.frames, 'frame')} on {result.device}: {times['median']:.2f} ms a frame "
        f"(median; p99 {times['p99']:.2f} ms{rest}); updates: {counts}"
    )
    if result.profile is not None:
        yield from profile_lines(result.profile, budget_ns)
    for output in result.outputs:
        if output.path:
            yield f"wrote {output.path}"


def path_text(spans: Sequence[SpanProfile], region: str = "") -> str:
    """Return the nodes of a critical path; a region's are in parentheses: "emit > loop (step > draw) > view"."""
    nodes = list(dict.fromkeys(span.node for span in spans if span.region == region != span.node))
    named = []
    for node in nodes[:_NAMED]:
        inside = path_text(spans, node)
        named.append(f"{node} ({inside})" if inside else node)
    more = [f"{len(nodes) - _NAMED} more"] if len(nodes) > _NAMED else []
    return " > ".join(named + more)


def _frames_text(profile: Profile) -> str:
    """Return a text about which frames a profile's rows are from."""
    first, last, count = profile.first_frame, profile.frame, profile.measured_frames
    if count < 2:
        return f"frame {last} alone"
    return f"mean and p99 of {count} measured frames from {first} to {last}, now of frame {last}"


def profile_lines(profile: Profile, budget_ns: int) -> Iterator[str]:
    """Yield lines about the whole frame of a profile: times, critical path, cost of measuring, work beside frames."""
    if profile.spans:
        yield f"table: {_frames_text(profile)}; shares are of the work of these frames"
    if profile.launch_ns is not None:
        kept, frames = budget_text(profile.launch_ns, budget_ns), plural(profile.launches, "frame")
        yield f"launch: {format_time(profile.launch_ns)} on the device, the mean of {frames} without measuring, {kept}"
    if profile.spans:
        path = critical_path(profile.spans)
        wall, busy = format_time(path.wall_ns), format_time(path.busy_ns)
        looks = ", with buffers inspected" if profile.level >= ProfilingLevel.DEEP_ASYNC else ""
        yield f"frame {profile.frame}: {wall} from first to last{looks}, {busy} of work"
        chain = path_text([profile.spans[number] for number in path.spans])
        yield f"critical path: {format_time(path.length_ns)}, {chain}"
    if profile.overhead is not None:
        cost, every = format_time(profile.cost_ns), format_time(profile.every_ns)
        yield f"measuring: {profile.overhead:.1%} of the time, {cost} every {every}"
    elif profile.measured_ns is not None and profile.cost_ns:
        yield f"measuring: {format_time(profile.cost_ns)}, in one frame"
    elif profile.measured_ns is not None and profile.launch_ns is None:
        yield f"measuring: in every frame, which then takes {format_time(profile.measured_ns)} on the device"
    yield from (line[0].lower() + line[1:] for line in side_work_lines(profile.side_work))
