"""Instrumenting: a second executable of a built graph, in which small kernels take the time around its operations.

It launches the same kernels and library calls over the same memory, and shares the argument blocks, so a frame through
it computes what any other does. The kernels that take the time run in bodies and child graphs as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple

import msgspec
import numpy as np

from engine.compiler.executable.arguments import Resources
from engine.compiler.executable.build import build_graph
from engine.compiler.executable.compiled_graph import Variant, frame_upload
from engine.compiler.executable.nodes import KernelNode, NodeMaker
from engine.compiler.executable.survey import SURVEY, Survey, SurveyKernel, surveys
from engine.compiler.memory.uses import chain
from engine.compiler.plan import Plan
from engine.descriptions.entries import CaptureEntry, ConditionArgument, KernelEntry
from engine.device.arguments import KernelArguments, pack_arguments
from engine.device.device import Device
from engine.device.graph import Graph
from engine.device.protocol import (
    Capture,
    Condition,
    GraphNode,
    LaunchConfig,
    LoadedKernel,
    Memory,
    PinnedArray,
    Stream,
    part_of,
)
from engine.patch.changes import PortRef
from engine.processes.scope import check_cancelled
from engine.profiling.levels import ProfilingLevel

#: What the kernels know of one span: when it began last, its first begin and last end, and the sum of its turns.
_SLOT = np.dtype([("began", "<u8"), ("first", "<u8"), ("last", "<u8"), ("busy_ns", "<u8"), ("turns", "<u8")])
_ONE_THREAD = LaunchConfig((1, 1, 1), (1, 1, 1))

_CALIBRATED = 16
#: `begin` and `end` take the time of a span; its slot begins as zeros. Only ordered launches touch the same slot.
CLOCK_PTX = """\
.version 6.0
.target sm_50
.address_size 64

.visible .entry begin(.param .u64 slot)
{
	.reg .pred %again;
	.reg .b64 %slot, %now, %first;
	ld.param.u64 %slot, [slot];
	cvta.to.global.u64 %slot, %slot;
	mov.u64 %now, %globaltimer;
	st.global.u64 [%slot], %now;
	ld.global.u64 %first, [%slot+8];
	setp.ne.u64 %again, %first, 0;
	@%again bra done;
	st.global.u64 [%slot+8], %now;
done:
	ret;
}

.visible .entry end(.param .u64 slot)
{
	.reg .b64 %slot, %now, %began, %busy, %turns;
	ld.param.u64 %slot, [slot];
	cvta.to.global.u64 %slot, %slot;
	mov.u64 %now, %globaltimer;
	ld.global.u64 %began, [%slot];
	ld.global.u64 %busy, [%slot+24];
	ld.global.u64 %turns, [%slot+32];
	sub.u64 %began, %now, %began;
	add.u64 %busy, %busy, %began;
	add.u64 %turns, %turns, 1;
	st.global.u64 [%slot+16], %now;
	st.global.u64 [%slot+24], %busy;
	st.global.u64 [%slot+32], %turns;
	ret;
}

.visible .entry nothing()
{
	ret;
}
"""


class Span(NamedTuple):
    """What is timed as one: operations of one block in one scope, or a single one; `node` is "" for the graph's own."""

    node: str
    operations: tuple[int, ...]


#: The times of one span in one launch, in nanoseconds: begin of its first turn, end of its last one, sum of all turns.
#: The first two count from the first begin of any span. A span that did not run has 0 turns.
SPAN_TIME = np.dtype([("first_ns", "<i8"), ("last_ns", "<i8"), ("busy_ns", "<i8"), ("turns", "<i8")])


def spans(plan: Plan, level: ProfilingLevel) -> tuple[Span, ...]:
    """Return what is timed at a level: each block in each of its scopes, or each operation."""
    if level >= ProfilingLevel.PER_KERNEL:
        return tuple(Span(operation.node, (index,)) for index, operation in enumerate(plan.operations))
    found: dict[tuple[str, int], list[int]] = {}
    for index, operation in enumerate(plan.operations) if level >= ProfilingLevel.PER_BLOCK else ():
        if operation.node:
            found.setdefault((operation.node, operation.scope), []).append(index)
    return tuple(Span(node, tuple(members)) for (node, _), members in found.items())


class ClockKernels:
    """The kernels of `CLOCK_PTX`, loaded. A span takes `bias_ns` longer than the kernel in it."""

    def __init__(self, device: Device) -> None:
        self._module = device.load_module(CLOCK_PTX)
        self.begin, self.end = self._module.kernel("begin"), self._module.kernel("end")
        self.bias_ns = self._measure_bias(device)

    def add(self, graph: Graph, kernel: LoadedKernel, slot: Memory, after: Sequence[GraphNode]) -> GraphNode:
        """Add the launch of `begin` or `end` for a slot."""
        return graph.add_kernel(kernel, _ONE_THREAD, pack_arguments(kernel.parameters, [slot]), after)

    def _measure_bias(self, device: Device) -> int:
        """Return the shortest span around a kernel that does nothing."""
        nothing, graph, stream = self._module.kernel("nothing"), device.create_graph(), device.create_stream()
        slots = device.allocate(_CALIBRATED * _SLOT.itemsize)
        try:
            last: list[GraphNode] = []
            for number in range(_CALIBRATED):
                slot = _slot(slots, number)
                begun = self.add(graph, self.begin, slot, last)
                done = graph.add_kernel(nothing, _ONE_THREAD, pack_arguments((), []), [begun])
                last = [self.add(graph, self.end, slot, [done])]
            executable, found = graph.instantiate(), np.empty(_CALIBRATED, _SLOT)
            for _ in range(2):  # the first launch takes longer
                device.fill(slots, 0)
                executable.launch(stream)
                stream.synchronize()
            device.read(slots, found)
            executable.destroy()
            return int(found["busy_ns"].min())
        finally:
            graph.destroy()
            stream.destroy()
            slots.free()

    def unload(self) -> None:
        """Unload them, once the executables that use them are destroyed."""
        self._module.unload()


def without_measuring(
    busy_ns: np.ndarray[Any, Any],
    turns: np.ndarray[Any, Any],
    bias_ns: int,
    inside: Sequence[tuple[int, Sequence[int], Sequence[int]]],
) -> np.ndarray[Any, Any]:
    """Return the time of each slot without what measuring took in it, in nanoseconds; at least 1 where it ran.

    `busy_ns` and `turns` are the sums that the clock left in the slots. Each turn of a slot takes `bias_ns` too long.
    `inside` has for each region its slot, those of the spans in its bodies, and those of surveys there, the innermost
    region first. A region leaves out the clocks of these spans, and the surveys; it takes no less than any span in it.
    """
    own = busy_ns - bias_ns * turns
    net = np.where(turns > 0, np.maximum(own, 1), 0)
    for region, members, looks in inside:
        spans = list(members)
        extra = bias_ns * turns[spans].sum() + busy_ns[list(looks)].sum()
        if turns[region]:
            net[region] = max(own[region] - extra, net[spans].max(initial=1))
    return net


class Instrumented:
    """An executable that leaves the times of `spans`; it is valid until its variant is changed above HOT."""

    def __init__(
        self,
        plan: Plan,
        variant: Variant,
        device: Device,
        frame: PinnedArray,
        status: PinnedArray | None,
        spans: Sequence[Span],
        clock: ClockKernels,
        survey: SurveyKernel | None = None,
    ) -> None:
        """`frame` and `status` are the arrays of the frame uniforms and of the status words.

        With a `survey` it also finds out what the buffers behind output ports hold.
        """
        self.spans, self._bias_ns = tuple(spans), clock.bias_ns
        #: What `statistics` makes of `read_surveys`.
        self.surveys = surveys(plan) if survey is not None else ()
        watched = _survey_places(plan, self.surveys)
        self._inside = _inside(plan, self.spans, watched)
        self._clocked = len(spans) + len(watched)
        times_bytes = self._times_bytes = max(1, self._clocked) * _SLOT.itemsize
        size_bytes = times_bytes + len(self.surveys) * SURVEY.itemsize
        with ExitStack() as failing:
            self._slots = device.allocate(size_bytes)
            failing.callback(self._slots.free)
            self._zeros = device.pinned(np.zeros(size_bytes, np.uint8))
            failing.callback(self._zeros.free)
            self._results = device.pinned(np.zeros(size_bytes, np.uint8))
            failing.callback(self._results.free)
            maker = _SameNodes(plan, variant, device, Resources(variant.memory, {}, {}, frame, status))
            surveyor = None
            if survey is not None:
                found = part_of(self._slots, times_bytes, size_bytes - times_bytes)
                places = {place: _slot(self._slots, len(spans) + number) for number, place in enumerate(watched)}
                surveyor = Surveyor(plan, self.surveys, survey, variant.memory, found, clock, places)
            timer = SpanTimer(plan, self.spans, clock, self._slots, surveyor)
            self._built = build_graph(plan, device, maker.resources, maker=maker, timer=timer)
            failing.callback(self._built.graph.destroy)
            #: The operations of loops and other nodes by their nodes in this graph.
            self.operations: Mapping[GraphNode, int] = timer.operations
            self._copies = maker.copies
            upload = frame_upload(plan)
            self._upload = next((node for node, index in self.operations.items() if index == upload), None)
            self._uniforms = frame
            check_cancelled()
            # Read first: a value that the engine's thread writes from now on is passed on by the first launch.
            self._versions = [kernel.arguments.version for kernel in self._built.kernels]
            self._executable = self._built.graph.instantiate()
            failing.pop_all()

    def launch(self, stream: Stream, uniforms: PinnedArray | None = None) -> None:
        """Launch it with the values that argument blocks hold now; `read` what it leaves before the next launch.

        The frame uniforms are read from `uniforms`, or where the last launch found them.
        """
        if uniforms is not None and uniforms is not self._uniforms and self._upload is not None:
            self._executable.update_copy(self._upload, uniforms)
            self._uniforms = uniforms
        for copied in self._copies:
            copied.follow()
        versions, stale = self._versions, []
        for position, kernel in enumerate(self._built.kernels):
            if kernel.arguments.version != versions[position]:
                versions[position] = kernel.arguments.version
                stale.append(kernel.handle)
        if stale:
            self._executable.refresh(stale)
        stream.copy(self._slots, self._zeros, self._slots.size_bytes)
        self._executable.launch(stream)
        stream.copy(self._results, self._slots, self._slots.size_bytes)

    def read(self) -> np.ndarray[Any, Any]:
        """Return the times of the spans in the last launch, which must be done, as `SPAN_TIME`.

        The sums leave out what measuring takes: the clock itself, and in regions the clocks and surveys inside of them.
        """
        every = self._results.array[: self._clocked * _SLOT.itemsize].view(_SLOT)
        busy_ns, turns = every["busy_ns"].astype(np.int64), every["turns"].astype(np.int64)
        net_ns = without_measuring(busy_ns, turns, self._bias_ns, self._inside)
        slots, turns = every[: len(self.spans)], turns[: len(self.spans)]
        ran = turns > 0
        origin = slots["first"][ran].min() if ran.any() else 0
        found = np.zeros(len(self.spans), SPAN_TIME)
        found["first_ns"], found["last_ns"] = slots["first"] - origin, slots["last"] - origin
        found["busy_ns"] = net_ns[: len(self.spans)]
        found["turns"] = turns
        found[~ran] = 0
        return found

    def read_surveys(self) -> np.ndarray[Any, Any]:
        """Return a copy of the slots of `surveys` in the last launch, which must be done."""
        return self._results.array[self._times_bytes :].view(SURVEY).copy()

    def destroy(self) -> None:
        """Give everything back."""
        self._executable.destroy()
        self._built.graph.destroy()
        self._slots.free()
        self._zeros.free()
        self._results.free()


class _CopiedArguments:
    """A copy of an argument block with another condition in it: a condition belongs to one graph."""

    def __init__(self, source: KernelArguments, places: Sequence[int], condition: Condition) -> None:
        self._source, self._places, self._condition = source, places, condition
        parameters = source.layout.parameters
        self.arguments = pack_arguments(parameters, [bytes(parameter.size_bytes) for parameter in parameters])
        self._version = -1
        self.follow()

    def follow(self) -> None:
        """Take over what was written into the source."""
        if self._version != self._source.version:
            self._version = self._source.version
            self.arguments.memory[:] = self._source.memory
            for place in self._places:
                self.arguments.set(place, self._condition)  # which counts as a new version


class _SameNodes(NodeMaker):
    """Makes the nodes that a variant has now."""

    def __init__(self, plan: Plan, variant: Variant, device: Device, resources: Resources) -> None:
        super().__init__(plan, device, resources)
        self.resources = resources
        self.copies: list[_CopiedArguments] = []
        self._kernels = {node.operation: node for node in variant.kernels}
        self._captures = {node.operation: node.capture for node in variant.built.captured}

    def kernel(self, index: int, entry: KernelEntry, condition: Condition | None) -> KernelNode:
        """Return the same launch; only a kernel that sets a condition has arguments of its own."""
        known = self._kernels[index]
        arguments = known.arguments
        if condition is not None:
            places = [place for place, given in enumerate(entry.arguments) if isinstance(given, ConditionArgument)]
            copied = _CopiedArguments(arguments, places, condition)
            self.copies.append(copied)
            arguments = copied.arguments
        return msgspec.structs.replace(known, arguments=arguments)

    def capture(self, index: int, entry: CaptureEntry) -> Capture:
        """Return the same library calls."""
        return self._captures[index]


#: Where surveys stand: before an operation, or behind it.
_Place = tuple[int, bool]


def _survey_places(plan: Plan, surveys: Sequence[Survey]) -> tuple[_Place, ...]:
    """Return where surveys stand in regions, whose times they would be in."""
    places = dict.fromkeys((each.operation, each.is_before) for each in surveys)
    # A graph of arrays alone has no operation.
    return tuple(place for place in places if plan.operations and plan.operations[place[0]].scope)


def _inside(
    plan: Plan, spans: Sequence[Span], watched: Sequence[_Place]
) -> tuple[tuple[int, tuple[int, ...], tuple[int, ...]], ...]:
    """Return what is inside of each region, as `without_measuring` takes it; slots of surveys follow those of spans."""
    of = {index: number for number, span in enumerate(spans) for index in span.operations}

    def around(scope: int) -> list[int]:
        """Return the spans of the regions around a scope, the innermost first."""
        found = []
        while scope:
            region = plan.scopes[scope].region
            if region in of:
                found.append(of[region])
            scope = plan.operations[region].scope
        return found

    members: dict[int, tuple[list[int], list[int]]] = {}
    depth: dict[int, int] = {}
    scopes = [plan.operations[span.operations[0]].scope for span in spans]
    for kind, inner in ((0, scopes), (1, [plan.operations[index].scope for index, _ in watched])):
        for number, scope in enumerate(inner, len(spans) if kind else 0):
            regions = around(scope)
            for level, region in enumerate(reversed(regions)):
                members.setdefault(region, ([], []))[kind].append(number)
                depth[region] = level
    order = sorted(members, key=depth.__getitem__, reverse=True)
    return tuple((region, tuple(members[region][0]), tuple(members[region][1])) for region in order)


class Surveyor:
    """Adds surveys before operations and behind them, one after another, so that all that follows waits for them.

    Before a region in a body, what surveys inside found in earlier turns is forgotten: the last turn counts, also where
    it does not enter the region. Those that stand at `places`, in regions, have a clock with a slot around them.
    """

    def __init__(
        self,
        plan: Plan,
        surveys: Sequence[Survey],
        kernel: SurveyKernel,
        memory: Mapping[PortRef, Memory],
        slots: Memory,
        clock: ClockKernels,
        places: Mapping[_Place, Memory],
    ) -> None:
        self._plan, self._surveys = plan, surveys
        self._kernel, self._memory, self._slots = kernel, memory, slots
        self._clock, self._places = clock, places
        self._at: dict[_Place, list[tuple[int, Survey]]] = {}
        for number, each in enumerate(surveys):
            self._at.setdefault((each.operation, each.is_before), []).append((number, each))

    def add(self, graph: Graph, index: int, after: Sequence[GraphNode], *, is_before: bool) -> Sequence[GraphNode]:
        """Add what belongs next to an operation; return what is to be waited for in place of `after`."""
        place = index, is_before
        clocked = self._places.get(place)
        if clocked is not None:
            after = [self._clock.add(graph, self._clock.begin, clocked, after)]
        for number, each in self._at.get(place, ()):
            slot = part_of(self._slots, number * SURVEY.itemsize, SURVEY.itemsize)
            after = [self._kernel.add(graph, each, self._memory, slot, after)]
        inside = self._inside(index) if is_before and self._plan.operations[index].scope else []
        if inside:  # they are next to each other, as the operations of a region are
            slots = part_of(self._slots, inside[0] * SURVEY.itemsize, len(inside) * SURVEY.itemsize)
            after = [graph.add_memset(slots, 0, slots.size_bytes, after)]
        if clocked is not None:
            after = [self._clock.add(graph, self._clock.end, clocked, after)]
        return after

    def _inside(self, region: int) -> list[int]:
        """Return the numbers of the surveys in the bodies of a region, at any depth."""
        scopes, operations = self._plan.scopes, self._plan.operations
        return [
            number
            for number, each in enumerate(self._surveys)
            if any(scopes[scope].region == region for scope in chain(operations[each.operation].scope, scopes))
        ]


class SpanTimer:
    """Adds a kernel before the operations of each span and one behind them, and there the surveys of buffers."""

    def __init__(
        self,
        plan: Plan,
        spans: Sequence[Span],
        clock: ClockKernels,
        slots: Memory,
        surveyor: Surveyor | None = None,
    ) -> None:
        self._operations, self._spans, self._clock = plan.operations, spans, clock
        self._of = {index: number for number, span in enumerate(spans) for index in span.operations}
        self._left = [len(span.operations) for span in spans]
        self._begins: dict[int, GraphNode] = {}
        self._slots, self._surveyor = slots, surveyor
        self.operations: dict[GraphNode, int] = {}

    def before(
        self, graph: Graph, index: int, after: Sequence[GraphNode], handles: Mapping[int, GraphNode]
    ) -> Sequence[GraphNode]:
        if self._surveyor is not None:
            after = self._surveyor.add(graph, index, after, is_before=True)
        number = self._of.get(index)
        if number is None:
            return after
        begin = self._begins.get(number)
        if begin is None:  # when everything that the span's operations wait for is done
            outside = {i for member in self._spans[number].operations for i in self._operations[member].after}
            outside -= {*self._spans[number].operations}
            known = sorted({*after, *(handles[i] for i in outside if i in handles)})
            slot = _slot(self._slots, number)
            begin = self._begins[number] = self._clock.add(graph, self._clock.begin, slot, known)
        return [*after, begin]

    def behind(self, graph: Graph, index: int, handles: dict[int, GraphNode]) -> None:
        self.operations[handles[index]] = index
        number = self._of.get(index)
        if number is None:
            return
        self._left[number] -= 1
        if not self._left[number]:
            members = self._spans[number].operations
            done = sorted({handles[member] for member in members})
            end = self._clock.add(graph, self._clock.end, _slot(self._slots, number), done)
            if self._surveyor is not None:  # spans are single operations then
                (end,) = self._surveyor.add(graph, index, [end], is_before=False)
            # What follows must not disturb the clock.
            handles.update(dict.fromkeys(members, end))


def _slot(slots: Memory, number: int) -> Memory:
    return part_of(slots, number * _SLOT.itemsize, _SLOT.itemsize)
