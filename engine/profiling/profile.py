"""A profile: the times of one measured frame, span by span, with statistics of earlier frames."""

from collections.abc import Iterable

import msgspec

from warploom.engine.drawings.notebook import html_table
from warploom.engine.figures import format_time
from warploom.engine.profiling.levels import ProfilingLevel
from warploom.engine.profiling.side_work import SideWork


class BufferStatistics(msgspec.Struct, frozen=True):
    """The contents of a port's buffer in a measured frame: `numbers` in all, each component of an element one.

    `minimum` and `maximum` are those of the finite numbers, None when there are none; of integers they are exact. Only
    the elements of an append buffer that are in use count. In a loop, these are the contents after the last turn.
    """

    numbers: int
    minimum: float | None
    maximum: float | None
    nans: int
    infinities: int


class KernelFacts(msgspec.Struct, frozen=True):
    """The launch of a kernel, and its use of a multiprocessor; facts that a device can't report are None.

    Each thread has `registers`, and `local_bytes` of memory for values that don't fit into registers; a thread block
    has `shared_bytes`, static and dynamic. `occupancy` is the share of a multiprocessor's threads, from 0 to 1, that
    can run at once; `limited_by` is the resource that limits the number of threads ("registers").
    """

    grid: tuple[int, int, int]
    thread_block: tuple[int, int, int]
    registers: int | None = None
    shared_bytes: int | None = None
    local_bytes: int | None = None
    occupancy: float | None = None
    limited_by: str = ""


class SpanProfile(msgspec.Struct, frozen=True):
    """A block in one of its scopes, or one operation of it, in a measured frame. All times are nanoseconds.

    `node` is the block's id, with those of the composites around it ("mix/blur"), or "" for the graph's own work.
    `name` is the kernel's, or describes the operation; "" for a whole block. `region` is the node of the region that it
    is inside of, or ""; in another branch than the first, `branch` has its name, such as "else". `operation` is its
    index in the plan; -1 for a whole block. With `is_region` it is a region, with the work of its bodies.

    `first_ns` and `last_ns` are the begin of its first turn and the end of its last one, after the begin of the frame's
    first span. `busy_ns` is the sum over all `turns`; outside of loops there is one. `mean_ns` and `p99_ns` are those
    of the sum over the frames that were measured lately.

    `after` are the spans that end before this one may begin, as indices into the profile's; all are in the same body.

    `moved_bytes` is the size of all buffers that it declares to read and to write in one turn; a kernel that skips
    parts of them moves less. A region's own span moves nothing: the spans inside it do. `kernel` describes a single
    kernel.

    `parts` are those parts of the node, such as layers of a network, for which a single operation's time counts in
    equal shares.
    """

    node: str
    name: str
    region: str
    operation: int
    first_ns: int
    last_ns: int
    busy_ns: int
    turns: int
    mean_ns: int
    p99_ns: int
    is_region: bool = False
    branch: str = ""
    after: tuple[int, ...] = ()
    moved_bytes: int = 0
    kernel: KernelFacts | None = None
    parts: tuple[str, ...] = ()

    @property
    def bytes_per_s(self) -> float | None:
        """Bytes read and written per second of the span's time; None when the span did not run.

        `DeviceInfo.peak_bytes_per_s` is the memory's peak; reads from a cache can exceed it.
        """
        return self.moved_bytes * self.turns / self.busy_ns * 1e9 if self.busy_ns and self.moved_bytes else None


def is_outside(span: SpanProfile) -> bool:
    """Whether a span is outside of all regions: the times of such spans make up the work of a frame."""
    return not span.region


def node_times(spans: Iterable[SpanProfile]) -> dict[str, int]:
    """Return the mean time of each node of the patch in nanoseconds; a region's time includes the blocks inside."""
    times: dict[str, int] = {}
    for span in spans:
        node = span.node.partition("/")[0]
        if node and span.region.partition("/")[0] != node:  # otherwise the region's own span has its time
            times[node] = times.get(node, 0) + span.mean_ns
    return times


def skipped_nodes(spans: Iterable[SpanProfile]) -> frozenset[str]:
    """Return the nodes of the patch in regions that skipped them in the measured frame.

    Outside of its region, a node may still fill what others read of it with its default.
    """
    turns: dict[str, int] = {}
    for span in spans:
        node, region = span.node.partition("/")[0], span.region.partition("/")[0]
        if region and region != node:
            turns[node] = turns.get(node, 0) + span.turns
    return frozenset(node for node, count in turns.items() if not count)


def part_times(spans: Iterable[SpanProfile]) -> dict[str, dict[str, int]]:
    """Return for each node with parts their mean times in nanoseconds, if single operations are measured."""
    times: dict[str, dict[str, int]] = {}
    for span in spans:
        for part in span.parts:
            of_node = times.setdefault(span.node, {})
            of_node[part] = of_node.get(part, 0) + span.mean_ns // len(span.parts)
    return times


def work_share(time_ns: float, work_ns: float | None) -> float | None:
    """Return the share of a time in the work of the same frames, from 0 to 1; None while that is not measured.

    The shares of all work outside of regions add up to 1, also where some of it runs side by side.
    """
    return time_ns / work_ns if work_ns else None


class Profile(msgspec.Struct, frozen=True, tag=True):
    """The last frame that was measured. All times are nanoseconds.

    Means and percentiles are of `measured_frames` frames, the last ones that were measured of the graph and the code
    that run now; the first was `first_frame`, the last `frame`. The first measured frame of a graph counts only until
    there is another one, since it does work that later ones don't.

    `launch_ns` is how long a launch of the graph takes without measuring, `measured_ns` with it, both means of the last
    samples: of `launches` frames between those that are measured, and of these. `cost_ns` is the cost of one sample, on
    the device and off it; `every_ns` the time between two samples.

    `buffers` has the contents of buffers at deep levels, by "node.port". `sums_p99_ns` has the p99 of the summed times
    of several spans, by the key of their row (`engine.profiling.rows`): the percentile of the sums, not a sum of
    percentiles. `side_work` is the work beside the frames since the engine was started, such as compiles, at any level.
    """

    frame: int
    level: ProfilingLevel
    launch_ns: int | None
    measured_ns: int | None
    cost_ns: int
    every_ns: int
    spans: tuple[SpanProfile, ...] = ()
    buffers: dict[str, BufferStatistics] = {}
    sums_p99_ns: dict[str, int] = {}
    side_work: tuple[SideWork, ...] = ()
    measured_frames: int = 0
    first_frame: int = 0
    launches: int = 0

    @property
    def work_ns(self) -> int:
        """The denominator of shares: the mean time of all work outside regions, in the measured frames."""
        return sum(span.mean_ns for span in self.spans if is_outside(span))

    def _repr_html_(self) -> str:
        """Return the table that a notebook shows: the mean time and share of each node, the longest first."""
        times, work_ns = node_times(self.spans), self.work_ns
        rows = [
            (node, format_time(mean_ns), f"{mean_ns / work_ns:.1%}" if work_ns else "")
            for node, mean_ns in sorted(times.items(), key=lambda item: -item[1])
        ]
        launch = f", a launch takes {format_time(self.launch_ns)}" if self.launch_ns is not None else ""
        return html_table(("node", "mean", "share"), rows, f"{self.measured_frames} measured frames{launch}")

    @property
    def overhead(self) -> float | None:
        """The share of the time that measuring takes; None while it is not known, or every frame is measured."""
        return self.cost_ns / self.every_ns if self.every_ns else None
