"""Tooltip texts of measured frames: times of a node and its kernels, contents of buffers, and the engine itself."""

from collections.abc import Iterable, Sequence
from math import prod

from warploom.engine.figures import format_bytes, format_time, plural
from warploom.engine.patch.document import Patch
from warploom.engine.profiling.levels import ProfilingLevel
from warploom.engine.profiling.profile import BufferStatistics, KernelFacts, Profile, SpanProfile, work_share
from warploom.engine.profiling.side_work import SideKind, SideWork
from warploom.engine.protocol.messages import BufferReport, EngineStatistics, FrameReport, NodeReport, UpdateRecord

#: The levels' names in the editor, and what each one measures.
LEVELS = {
    ProfilingLevel.NONE: ("Off", "Show states only: costs nothing"),
    ProfilingLevel.SUMMARY: ("Whole frame", "Measure the graph as a whole"),
    ProfilingLevel.PER_BLOCK: ("Each block", "Measure every block in a few frames, which takes 5% of the time at most"),
    ProfilingLevel.PER_KERNEL: (
        "Each kernel",
        "Measure every kernel, fill and copy in a few frames: 5% of the time at most",
    ),
    ProfilingLevel.DEEP_ASYNC: (
        "Deep",
        "Measure every kernel and inspect buffers in a few frames: 5% of the time at most",
    ),
    ProfilingLevel.DEEP_SYNC: ("Deep, every frame", "Measure every frame in depth and wait until it ends: slow"),
}
#: Kinds of work outside frames, and how many of each are shown, longest first.
_SIDE_WORK = {
    SideKind.COMPILE: "Compiled",
    SideKind.LOAD: "Loaded",
    SideKind.UPDATE: "Updates",
    SideKind.UPLOAD: "Uploaded",
    SideKind.READBACK: "Pictures",
    SideKind.DOWNLOAD: "Read",
    SideKind.SAVE: "Saved",
}
_SIDE_NAMED = 3
#: The most blocks, or kernels, that a tooltip names.
_NAMED = 4
_KERNELS = 6
_MODES = (
    "Latency: each frame ends before the next one begins",
    "Throughput: frames overlap, so input shows later",
)


def percent(share: float) -> str:
    """Return a share of 0 to 1 as "31%", and a small one as "0.6%"."""
    return f"{share:.0%}" if share >= 0.0995 else f"{share:.1%}" if share >= 0.0005 else "under 0.1%"


def time_share(report: NodeReport, statistics: EngineStatistics) -> float | None:
    """Return a node's share of the frame's work, or of its block's inside a block, from 0 to 1; None if unmeasured.

    Time and work are means over the same frames.
    """
    if report.share is not None:
        return report.share
    return work_share(report.time_ns, statistics.work_ns) if report.time_ns is not None else None


def share_text(report: NodeReport, statistics: EngineStatistics) -> str:
    """Return a node's share for the text after its time, such as " (31% of the frame)"; "" if it is unknown."""
    share = time_share(report, statistics)
    whole = "frame" if report.share is None else "block's time"
    return f" ({percent(share)} of the {whole})" if share is not None else ""


def times_text(patch: Patch, node_id: str, profile: Profile, peak_bytes_per_s: float | None = None) -> str:
    """Return a node's cost in the last measured frame, line by line; "" when it was not measured.

    From PER_KERNEL on, there are indented lines for each of its kernels, fills and copies. `peak_bytes_per_s` is the
    memory bandwidth of the device, if that is known.
    """
    of_node = [span for span in profile.spans if _owner(span.node) == node_id]
    if not of_node:
        return ""
    counted = [span for span in of_node if _owner(span.region) != node_id]
    lines = [_now(node_id, counted, profile)]
    if beside := _beside(node_id, counted, profile):
        named = [patch.title(node) if node in patch.nodes else node for node in beside[:_NAMED]]
        more = f" and {len(beside) - _NAMED} more" if len(beside) > _NAMED else ""
        lines.append(f"Ran at the same time as {', '.join(named)}{more}.")
    kernels = [span for span in of_node if span.operation >= 0 and not span.is_region]
    lines += _kernel_lines(kernels, peak_bytes_per_s)
    return "\n".join(lines)


def _now(node_id: str, counted: Sequence[SpanProfile], profile: Profile) -> str:
    """Return the last measured time, with the turns of a loop, and its p99."""
    busy_ns, turns = sum(span.busy_ns for span in counted), max((span.turns for span in counted), default=0)
    if not turns:
        return "Last measured: it did not run."
    figures = [f"Last measured: {format_time(busy_ns)}"]
    inside = max((span.turns for span in profile.spans if _owner(span.region) == node_id), default=0)
    rounds = inside if inside > turns else turns  # of the loop itself, or of the loop around it
    if rounds > 1:
        figures.append(f"{rounds:,} turns of {format_time(busy_ns / rounds)}")
    wall_ns = _covered_ns(counted)
    if turns == 1 and wall_ns < 0.95 * busy_ns:
        figures.append(f"in parts that overlap and end after {format_time(wall_ns)}")
    if node_id in profile.sums_p99_ns:
        figures.append(f"p99 {format_time(profile.sums_p99_ns[node_id])}")
    elif len(counted) == 1 and counted[0].operation < 0:  # otherwise its kernel's line shows it
        figures.append(f"p99 {format_time(counted[0].p99_ns)}")
    return ", ".join(figures)


def _covered_ns(spans: Iterable[SpanProfile]) -> int:
    """Return how long at least one of these spans ran."""
    covered, end = 0, 0
    for span in sorted(spans, key=lambda span: span.first_ns):
        covered += max(0, span.last_ns - max(span.first_ns, end))
        end = max(end, span.last_ns)
    return covered


def _beside(node_id: str, counted: Sequence[SpanProfile], profile: Profile) -> list[str]:
    """Return the other nodes whose spans overlap with these, longest overlap first; turns of a loop are ignored."""
    found: dict[str, int] = {}
    once = [span for span in counted if span.turns == 1]
    for other in profile.spans:
        node = _owner(other.node)
        if node in ("", node_id) or other.turns != 1:
            continue
        for span in once:
            if (span.region, span.branch) == (other.region, other.branch):
                overlap_ns = min(span.last_ns, other.last_ns) - max(span.first_ns, other.first_ns)
                # Consecutive spans overlap by the clock's error.
                if overlap_ns > 0.1 * min(span.busy_ns, other.busy_ns):
                    found[node] = found.get(node, 0) + overlap_ns
    return sorted(found, key=found.__getitem__, reverse=True)


def _kernel_lines(spans: Sequence[SpanProfile], peak_bytes_per_s: float | None) -> list[str]:
    """Return a line for each of the longest spans, in execution order, and one for the rest."""
    longest = sorted(range(len(spans)), key=lambda index: spans[index].busy_ns, reverse=True)
    rows = []
    for span in (spans[index] for index in sorted(longest[:_KERNELS])):
        turns = f", {span.turns:,} turns of {format_time(span.busy_ns / span.turns)}" if span.turns > 1 else ""
        facts = [*_facts(span.kernel), *_throughput(span, peak_bytes_per_s)]
        below = f"\n    {', '.join(facts)}" if facts else ""
        rows.append((span.name, format_time(span.busy_ns), f"{turns}, p99 {format_time(span.p99_ns)}{below}"))
    if rest := longest[_KERNELS:]:
        rows.append((f"{len(rest)} more", format_time(sum(spans[index].busy_ns for index in rest)), ""))
    names, times = (max((len(row[column]) for row in rows), default=0) for column in (0, 1))
    return [f"  {name:<{names}}  {time:>{times}}{more}" for name, time, more in rows]


def _facts(kernel: KernelFacts | None) -> list[str]:
    """Return the launch of a kernel, and its use of a multiprocessor if the device reports that."""
    if kernel is None:
        return []
    facts = [f"{prod(kernel.grid):,} × {prod(kernel.thread_block):,} threads"]
    if kernel.registers is None:
        facts.append("registers and occupancy: not on this device")
    else:
        facts.append(plural(kernel.registers, "register"))
    if kernel.shared_bytes:
        facts.append(f"{format_bytes(kernel.shared_bytes)} shared")
    if kernel.local_bytes:
        facts.append(f"{format_bytes(kernel.local_bytes)} spilled")
    if kernel.occupancy is not None:
        facts.append(f"{percent(kernel.occupancy)} occupancy, limited by {kernel.limited_by}")
    return facts


def _throughput(span: SpanProfile, peak_bytes_per_s: float | None) -> list[str]:
    """Return how many bytes per second a span moved, and which share of the memory bandwidth that is."""
    rate = span.bytes_per_s
    if rate is None:
        return []
    share = f" ({percent(rate / peak_bytes_per_s)} of the peak)" if peak_bytes_per_s else ""
    return [f"{format_bytes(round(rate))}/s{share}"]


def count_text(count: int, buffer: BufferReport) -> str:
    """Return the fill of an append buffer: "45,231 of 100,000 elements in use"."""
    return f"{count:,} of {prod(buffer.shape):,} elements in use"


def held_text(held: BufferStatistics) -> str:
    """Return a buffer's contents: "-0.25 to 1.5", with the numbers of NaNs and infinities."""
    if not held.numbers:
        return "holds nothing"
    finite = "no finite number" if held.minimum is None else f"{held.minimum:.6g} to {held.maximum:.6g}"
    return ", ".join(
        [
            finite,
            *([f"{held.nans:,} NaN"] if held.nans else []),
            *([f"{held.infinities:,} infinite"] if held.infinities else []),
        ]
    )


def engine_text(report: FrameReport | None, profile: Profile | None, update: UpdateRecord | None = None) -> str:
    """Return the tooltip of the engine's badge: blocks, kernels, times, profiling, memory and mode.

    `update` is the last one. If kernels are measured, the graph's own uploads and downloads are included. From the
    level of whole frames on, work outside frames is included.
    """
    if report is None:
        return "No patch is running"
    figures = report.statistics
    level = LEVELS[figures.profiling][0].lower()
    if profile is not None and profile.level is not figures.profiling:
        profile = None  # measured before, at another level
    overhead = profile.overhead if profile is not None else None
    used, allocated = format_bytes(figures.pool_used_bytes), format_bytes(figures.pool_allocated_bytes)
    lines = [
        f"{plural(figures.blocks, 'block')}, {plural(figures.kernels, 'kernel')} on {figures.device}",
        "Launch: " + ("not measured" if figures.launch_ns is None else format_time(figures.launch_ns)),
        f"Profiling: {level}" + (f", takes {percent(overhead)} of the time" if overhead is not None else ""),
        _own_work(profile) if profile is not None else "",
        _update_text(update) if update is not None else "",
        *(side_work_lines(profile.side_work) if profile is not None else ()),
        f"Memory: {used} in use, {allocated} allocated",
        _MODES[report.in_flight > 1],
        f"Frame {report.frame:,}",
        f"Launches: {report.launches:,}; a frame without changes needs none",
    ]
    return "\n".join(filter(None, lines))


def _own_work(profile: Profile) -> str:
    """Return the time of the graph's own uploads and downloads in the last measured frame."""
    own = [
        f"{span.name} {format_time(span.busy_ns)}" for span in profile.spans if not span.node and span.operation >= 0
    ]
    return f"Besides blocks: {', '.join(own)}" if own else ""


def side_work_lines(found: Sequence[SideWork]) -> list[str]:
    """Return a line for each kind of work outside frames: "Compiled: blur.cu 310 ms, tone.cu 41.0 ms and 3 more"."""
    lines = []
    for kind, title in _SIDE_WORK.items():
        of_kind = sorted((work for work in found if work.kind is kind), key=lambda work: work.last_ns, reverse=True)
        if of_kind:
            more = f" and {len(of_kind) - _SIDE_NAMED} more" if len(of_kind) > _SIDE_NAMED else ""
            lines.append(f"{title}: {', '.join(map(_side_text, of_kind[:_SIDE_NAMED]))}{more}")
    return lines


def _side_text(work: SideWork) -> str:
    size = format_bytes(work.size_bytes) if work.size_bytes else ""
    often = f"{work.count:,} times, mean {format_time(work.mean_ns)}" if work.count > 1 else ""
    about = ", ".join(filter(None, (size, often)))
    return f"{work.name} {format_time(work.last_ns)}" + (f" ({about})" if about else "")


def _update_text(update: UpdateRecord) -> str:
    """Return the time of the last update, and how long a frame had to wait for it."""
    took, waited = format_time(update.cost_ns), format_time(update.swap_ns)
    return f"Last update: {update.level.name.lower()}, {took}; the frame waited {waited}"


def _owner(node: str) -> str:
    """Return the node of the patch that contains a node of its composites."""
    return node.partition("/")[0]
