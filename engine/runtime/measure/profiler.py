"""The profiler: launches the running graph, measures some of its launches, and reads their times without waiting.

Two kinds of launches are measured, in turn: the graph itself, between two events, and its instrumented copy, which
records the time of every span. The difference is the cost of measuring, and limits how often it may be done.
"""

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from warploom.engine.compiler.executable.clocks import Span, spans
from warploom.engine.compiler.executable.compiled_graph import CompiledGraph
from warploom.engine.compiler.executable.instrument import SPAN_TIME, Instrumented
from warploom.engine.compiler.executable.span_order import spans_before
from warploom.engine.compiler.executable.survey import Survey, statistics
from warploom.engine.compiler.frame import FrameUniforms
from warploom.engine.compiler.inlining.inline import owner
from warploom.engine.compiler.plan import Plan
from warploom.engine.device import optimiser
from warploom.engine.device.device import Device
from warploom.engine.device.protocol import Event, GraphNode, Stream
from warploom.engine.device.releasing import release_all
from warploom.engine.diagnostics import Diagnostic
from warploom.engine.profiling.levels import ProfilingLevel
from warploom.engine.profiling.profile import BufferStatistics, KernelFacts, Profile, SpanProfile
from warploom.engine.profiling.recorder import LATEST_FRAMES
from warploom.engine.profiling.rows import rows
from warploom.engine.profiling.sampling import Sampler
from warploom.engine.profiling.side_work import SideTimes
from warploom.engine.profiling.statistics import WINDOW, Average, RecentRows
from warploom.engine.runtime.measure.instrumented_graph import InstrumentedGraph
from warploom.engine.runtime.measure.kernel_facts import LaunchFacts, SpanFacts, moved_bytes, span_facts

#: The cost of a sample beyond its own clock: on an H200 about 30 us, among frames of 20 us. That makes 1,300 samples a
#: second at most.
_UNSEEN_NS = 30_000
#: Of the last measured frames, times of so many spans in all are kept.
_MOST_TIMES = 1 << 19
#: How many samples may be under way on the device.
_SAMPLES = 3
#: Longest time in which launches pass the profiler by.
_QUIET_NS = 50_000_000
#: The fields of a span that only a full profile has: `after`, `moved_bytes` and `kernel`.
_Rest = tuple[tuple[int, ...], int, KernelFacts | None]
_NO_REST: _Rest = ((), 0, None)


@dataclass
class _Sample:
    """A measured launch: the events at either end, its frame, and the cost of measuring on the engine's thread."""

    start: Event
    stop: Event
    frame: int = 0
    host_ns: int = 0
    launched_ns: int = 0
    #: The copy that was launched; None for the graph itself.
    copied: Instrumented | None = None
    is_current: bool = True
    #: Whether a caller runs single frames and waits for this one.
    is_waited: bool = False


class MeasuredFrame(NamedTuple):
    """A measured frame for the flight recorder: when it was launched, the node of each span, and the span's time.

    Spans that count in another one, which includes them, are left out. `work_ns` is all work outside of regions.
    """

    frame: int
    launched_ns: int
    nodes: tuple[str, ...]
    busy_ns: np.ndarray[Any, Any]
    work_ns: int


class FrameProfiler:
    """Launches graphs for the engine's thread; `level` is the profiling level."""

    def __init__(
        self,
        device: Device,
        uniforms: FrameUniforms,
        times: SideTimes,
        level: ProfilingLevel,
        tell: Callable[[Diagnostic | None], None],
    ) -> None:
        """`times` are included in profiles.

        `tell` is called with the reason why a measurement is impossible, and with None when it is possible again.
        """
        self.level = level
        self._uniforms, self._times, self._tell = uniforms, times, tell
        self.sampler = Sampler()
        self._is_asynchronous = device.info.is_asynchronous
        #: The time of a launch without measuring spans, and with it.
        self.launch_ns, self.measured_ns = Average(), Average()
        #: The number of samples; and the numbers for the present graph and code, with spans and without.
        self.samples = 0
        self._copies = self._plain = 0
        #: How many kernels had been optimised when the last sample was taken.
        self._jobs = optimiser.finished_jobs
        #: True while this graph is not measured at this level.
        self._is_new = True
        #: A launch of the copy before the first one of the graph itself: its time, and its cost on this thread.
        self._unpaid: tuple[int, int] | None = None
        #: Operations by node of the copy that was launched last; None when the graph itself was launched.
        self.operations: Mapping[GraphNode, int] | None = None
        #: When the copy was launched last, on the clock of `time.perf_counter_ns`.
        self.launched_ns = 0
        self._graph = InstrumentedGraph(device, uniforms, tell)
        with ExitStack() as failing:
            events = []
            for _ in range(2 * _SAMPLES):
                events.append(device.create_event())
                failing.callback(events[-1].destroy)
            failing.pop_all()
        self._free = [_Sample(*pair) for pair in zip(events[::2], events[1::2], strict=True)]
        #: Samples whose times are still to be read by `collect`.
        self.waiting: deque[_Sample] = deque()
        #: Until then, frames in a row may be launched without the profiler, since none of them would be measured.
        self.quiet_until_ns = 0
        self._plan: Plan | None = None
        self._spans: tuple[Span, ...] = ()
        #: For each span, its constant facts, and the spans before it with the bytes that it moves; and the spans of
        #: each row that has several, by its key. None until they are needed.
        self._facts: list[SpanFacts] | None = None
        #: The last measured frames, and the number of times in them. Below, the spans that count, with their nodes, and
        #: those outside of regions.
        self.measured = deque[MeasuredFrame](maxlen=LATEST_FRAMES)
        self._kept = 0
        self._counted: tuple[np.ndarray[Any, Any], tuple[str, ...], np.ndarray[Any, Any]] | None = None
        self._order: list[tuple[tuple[int, ...], int]] | None = None
        self._sums: dict[str, tuple[int, ...]] | None = None
        #: The graph that was measured last, until it changes; and facts of its kernels, by operation.
        self._measured: CompiledGraph | None = None
        self._launch_facts, self._kernels = LaunchFacts(), dict[int, KernelFacts]()
        self._history = RecentRows(0)
        #: The frames whose spans are in the history.
        self._frames = deque[int](maxlen=WINDOW)
        self._last = np.zeros(0, SPAN_TIME)
        #: Results of surveys of buffers in that frame, at deep levels.
        self._surveyed: tuple[Sequence[Survey], np.ndarray[Any, Any]] = (), np.zeros(0)
        #: The frame that was measured last, with its spans where those are measured; -1 before there is one.
        self.frame = -1
        #: Measure every frame, at any cost; set with the level.
        self.every_frame = level is ProfilingLevel.DEEP_SYNC
        self._was_copy = False
        self._cost_ns = self._every_ns = 0
        self._sampled_ns = time.perf_counter_ns()

    def set_level(self, level: ProfilingLevel) -> None:
        """Measure at another level from now on."""
        if level is not self.level:
            self.level, self.every_frame = level, level is ProfilingLevel.DEEP_SYNC
            self.quiet_until_ns = 0
            self.graph_changed()
            self._begin_again()
            self._tell(None)

    def let_go(self) -> None:
        """Stop reading the running graph, which is about to change above HOT or to be freed."""
        self._graph.let_go()

    def graph_changed(self) -> None:
        """Follow a change of the running graph above HOT: measurements under way are discarded."""
        self._graph.forget()
        self.operations = None
        self._was_copy, self._measured = False, None
        self._code_changed()

    def _code_changed(self) -> None:
        """Measure the graph's new time soon; then discard earlier measurements."""
        self._is_new, self._copies, self._plain = True, 0, 0
        self._jobs = optimiser.finished_jobs
        for sample in self.waiting:
            sample.is_current = False
        self.quiet_until_ns = 0
        self.sampler.begin_again(time.perf_counter_ns())

    def launch(
        self, compiled: CompiledGraph, stream: Stream, frame: int, begun_ns: int, *, advance: bool, wait: bool
    ) -> None:
        """Launch the graph, or its copy, at `begun_ns`.

        With `wait`, the first launch of another graph or level is measured at once, and its copy waited for.
        """
        self.operations = None
        if self._jobs != optimiser.finished_jobs:
            self._code_changed()
        if not (self.level and self._free) or (
            begun_ns < self.sampler.due_ns
            and not (self.every_frame or self._unpaid is not None or (wait and self._is_new))
        ):
            compiled.launch(stream, advance=advance, uniforms=self._uniforms.current)
            if self._free and not self.waiting:
                self.quiet_until_ns = min(self.sampler.due_ns, begun_ns + _QUIET_NS)
            return
        self.quiet_until_ns = 0
        if compiled.plan is not self._plan:
            self._follow(compiled.plan)
        self._measured = compiled
        if advance:
            compiled.advance()
        copied = self._next_copy(compiled, begun_ns, wait)
        if wait:  # then no other frame was slowed while the copy was built
            self._graph.take_cost()
            begun_ns = time.perf_counter_ns()
        sample = self._free[-1]
        sample.frame, sample.copied, sample.is_current, sample.is_waited = frame, copied, True, wait
        stream.record(sample.start)
        sample.launched_ns = launched_ns = time.perf_counter_ns()
        if copied is None:
            compiled.launch(stream, advance=False, uniforms=self._uniforms.current)
        else:
            self.operations, self.launched_ns = copied.operations, launched_ns
            copied.launch(stream, self._uniforms.current)
        if copied is None or not self._is_asynchronous:  # this launch is no cost of measuring
            begun_ns += time.perf_counter_ns() - launched_ns
        stream.record(sample.stop)
        sample.host_ns = time.perf_counter_ns() - begun_ns
        self.waiting.append(self._free.pop())

    def collect(self) -> None:
        """Take the times of launches that are done."""
        while self.waiting and self.waiting[0].stop.is_reached:
            sample = self.waiting.popleft()
            self._free.append(sample)
            if sample.is_current:
                self._take(sample)

    def spend_since(self, begun_ns: int) -> None:
        """Count the time since `begun_ns`, of `time.perf_counter_ns`, as a cost of measuring."""
        now_ns = time.perf_counter_ns()
        self.sampler.spend(now_ns, now_ns - begun_ns)

    def cost_since(self, time_ns: int) -> int:
        """Return the cost of a copy's last sample in nanoseconds, if its times were read after `time_ns`; else 0."""
        return self._cost_ns if self._sampled_ns >= time_ns else 0

    def profile(self, *, times_only: bool = False) -> Profile:
        """Return the profile of the last measured frame.

        `times_only` leaves out the costly parts: spans have no `after`, `moved_bytes` and `kernel`, and there are no
        sums, buffers and side work.
        """
        found: list[SpanProfile] = []
        sums_p99_ns: dict[str, int] = {}
        plan, history = self._plan, self._history
        if plan is not None and not history.is_empty:
            if self._facts is None:
                self._facts = span_facts(plan, self._spans, single=self.level >= ProfilingLevel.PER_KERNEL)
            means, high = np.rint((history.means(), history.percentiles(0.99))).astype(np.int64).tolist()
            rest = [_NO_REST] * len(means) if times_only else self._rest(plan)
            for facts, at, mean_ns, p99_ns, more in zip(
                self._facts, self._last.tolist(), means, high, rest, strict=True
            ):
                (place, body, parts), (first_ns, last_ns, busy_ns, turns) = facts, at
                times, (after, moved, kernel) = (first_ns, last_ns, busy_ns, turns, mean_ns, p99_ns), more
                found.append(SpanProfile(*place, *times, *body, after, moved, kernel, parts))
            if not times_only:
                if self._sums is None:
                    self._sums = {row.key: row.spans for row in rows(found) if len(row.spans) > 1}
                of_sums = history.percentiles_of_sums(tuple(self._sums.values()), 0.99)
                sums_p99_ns = dict(zip(self._sums, np.rint(of_sums).astype(np.int64).tolist(), strict=True))
        return Profile(
            self.frame,
            self.level,
            self.launch_ns.mean,
            self.measured_ns.mean,
            self._cost_ns,
            self._every_ns,
            tuple(found),
            {} if times_only else self._buffer_statistics(),
            sums_p99_ns,
            () if times_only else self._times.summary(),
            len(self._frames),
            self._frames[0] if self._frames else 0,
            len(self.launch_ns),
        )

    def _rest(self, plan: Plan) -> list[_Rest]:
        """Return for each span the fields that only a full profile has."""
        if self._order is None:
            self._order = list(zip(spans_before(plan, self._spans), moved_bytes(plan, self._spans), strict=True))
        is_single = self.level >= ProfilingLevel.PER_KERNEL
        if is_single and self._measured is not None:  # a graph that is gone may have lost its kernels
            self._kernels = self._launch_facts.of(self._measured.kernels)
        kernels = [self._kernels.get(span.operations[0]) if is_single else None for span in self._spans]
        return [(*order, kernel) for order, kernel in zip(self._order, kernels, strict=True)]

    def close(self) -> None:
        """Free all resources."""
        events = (event for sample in (*self._free, *self.waiting) for event in (sample.start, sample.stop))
        release_all(self._graph.close, *(event.destroy for event in events))

    def _buffer_statistics(self) -> dict[str, BufferStatistics]:
        """Return the contents of buffers, by "node.port": also outputs of composites, and copies that leave regions."""
        held = statistics(*self._surveyed)
        ends = self._plan.inlined.outputs if self._plan is not None else {}
        shown = {port: ends.get(port, port) for port in (*held, *ends)}
        return {str(port): held[end] for port, end in shown.items() if end in held}

    def _next_copy(self, compiled: CompiledGraph, now_ns: int, wait: bool) -> Instrumented | None:
        """Return the copy to be launched, None for the graph itself: they alternate, and the copy comes first."""
        is_each = self.every_frame
        if self.level < ProfilingLevel.PER_BLOCK or (self._was_copy and not is_each):
            self._was_copy = False
            return None
        copied = self._graph.copy_of(compiled, self.level, now_ns, wait=wait or is_each)
        if copied is not None and any(sample.copied is copied for sample in self.waiting):
            copied = None  # the copy's results have not been read yet
        self._was_copy = copied is not None
        return copied

    def _take(self, sample: _Sample) -> None:
        begun_ns = time.perf_counter_ns()
        launch_ns, copied = sample.stop.elapsed_ns(sample.start), sample.copied
        if copied is None:
            if self._plain < 2:  # the first sample was of other code, or included work that later frames don't need
                self.launch_ns = Average()
            self._plain += 1
            self.launch_ns.add(launch_ns)
        else:
            if self._copies < 2:
                self.measured_ns, self._history = Average(), RecentRows(len(self._spans))
                self._frames.clear()
            self._copies += 1
            self.measured_ns.add(launch_ns)
            self._last = copied.read()
            self._surveyed = copied.surveys, copied.read_surveys()
            self._history.add(self._last["busy_ns"])
            self._frames.append(sample.frame)
            self._keep(sample)
        is_first = self._is_new or self._unpaid is not None
        if copied is not None or self.level < ProfilingLevel.PER_BLOCK:
            self.frame, self._is_new = sample.frame, False
        self.samples += 1
        now_ns = time.perf_counter_ns()
        self._pay(sample, launch_ns, now_ns, sample.host_ns + now_ns - begun_ns)
        if is_first:  # the first launch takes longer than later ones
            self.sampler.begin_again(now_ns)
            if sample.is_waited:
                self.sampler.forgive(now_ns)

    def _keep(self, sample: _Sample) -> None:
        """Keep the times of the frame that was measured last."""
        if self._counted is None:
            assert self._plan is not None
            if self._facts is None:
                self._facts = span_facts(self._plan, self._spans, single=self.level >= ProfilingLevel.PER_KERNEL)
            ends = [(owner(place[0]), owner(place[2])) for place, _, _ in self._facts]
            counted = [index for index, (node, region) in enumerate(ends) if node and node != region]
            top = [index for index, (_, region) in enumerate(ends) if not region]
            nodes = tuple(ends[index][0] for index in counted)
            self._counted = np.array(counted, np.intp), nodes, np.array(top, np.intp)
        indices, nodes, outside = self._counted
        while self.measured and (len(self.measured) == LATEST_FRAMES or self._kept + len(nodes) > _MOST_TIMES):
            self._kept -= len(self.measured.popleft().nodes)
        self._kept += len(nodes)
        busy_ns = self._last["busy_ns"]
        times = nodes, busy_ns[indices], int(busy_ns[outside].sum())
        self.measured.append(MeasuredFrame(sample.frame, sample.launched_ns, *times))

    def _pay(self, sample: _Sample, launch_ns: int, now_ns: int, host_ns: int) -> None:
        """Charge a sample, which took `host_ns` on this thread, to the time that follows."""
        plain_ns, copied = self.launch_ns.median, sample.copied
        if plain_ns is None:  # the next launch is of the graph itself, and shows the cost of this one
            self._unpaid = launch_ns, host_ns
            return
        cost_ns = host_ns
        if copied is not None:
            cost_ns += max(0, launch_ns - plain_ns)
            self._cost_ns, self._every_ns, self._sampled_ns = cost_ns, now_ns - self._sampled_ns, now_ns
        paid_ns = cost_ns + _UNSEEN_NS
        if self._unpaid is not None:
            (first_ns, before_ns), self._unpaid = self._unpaid, None
            self._cost_ns = before_ns + max(0, first_ns - plain_ns)
            paid_ns += self._cost_ns
        self.sampler.spend(now_ns, paid_ns + self._graph.take_cost())

    def _follow(self, plan: Plan) -> None:
        """Begin with the spans of another plan."""
        is_other = self._plan is None or plan.schedule is not self._plan.schedule
        self._plan = plan
        self._facts = self._order = self._sums = self._counted = None
        if is_other:
            self._begin_again()

    def _begin_again(self) -> None:
        """Forget the times of another graph or level."""
        self.launch_ns, self.measured_ns = Average(), Average()
        self._spans = spans(self._plan, self.level) if self._plan is not None else ()
        self._facts = self._order = self._sums = self._counted = None
        self._launch_facts, self._kernels = LaunchFacts(), {}
        self._history, self._last = RecentRows(len(self._spans)), np.zeros(len(self._spans), SPAN_TIME)
        self._frames.clear()
        self._copies = self._plain = 0
        self._surveyed = (), np.zeros(0)
        self._cost_ns = self._every_ns = 0
        self._unpaid, self.frame = None, -1
