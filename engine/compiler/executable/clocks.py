"""Clocks: the timed spans of a graph, the kernels that measure them, and their nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple

import numpy as np

from warploom.engine.compiler.executable.survey import SURVEY, Survey, SurveyKernel
from warploom.engine.compiler.memory.uses import chain
from warploom.engine.compiler.plan import Plan
from warploom.engine.device.arguments import pack_arguments
from warploom.engine.device.device import Device, DeviceInfo
from warploom.engine.device.graph import Graph
from warploom.engine.device.protocol import (
    GraphNode,
    LaunchConfig,
    LoadedKernel,
    Memory,
    part_of,
)
from warploom.engine.patch.changes import PortRef
from warploom.engine.profiling.levels import ProfilingLevel

#: The kernels' record of one span: when it began last, its first begin and last end, and the sum of its turns.
SLOT = np.dtype([("began", "<u8"), ("first", "<u8"), ("last", "<u8"), ("busy_ns", "<u8"), ("turns", "<u8")])
_ONE_THREAD = LaunchConfig((1, 1, 1), (1, 1, 1))

_CALIBRATED = 16
#: How often the calibrating graph is launched. Another process may have interrupted one of the launches.
_LAUNCHES = 4
#: For each device that was measured in this process, `ClockKernels.bias_ns`.
_biases: dict[DeviceInfo, int] = {}
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
    """A timed span: operations of one block in one scope, or a single operation; `node` is "" for the graph's own."""

    node: str
    operations: tuple[int, ...]


def spans(plan: Plan, level: ProfilingLevel) -> tuple[Span, ...]:
    """Return the timed spans of a level: each block in each of its scopes, or each operation."""
    if level >= ProfilingLevel.PER_KERNEL:
        return tuple(Span(operation.node, (index,)) for index, operation in enumerate(plan.operations))
    found: dict[tuple[str, int], list[int]] = {}
    for index, operation in enumerate(plan.operations) if level >= ProfilingLevel.PER_BLOCK else ():
        if operation.node:
            found.setdefault((operation.node, operation.scope), []).append(index)
    return tuple(Span(node, tuple(members)) for (node, _), members in found.items())


class ClockKernels:
    """The kernels of `CLOCK_PTX`, loaded. A span takes `bias_ns` longer than the kernel in it.

    This is measured once per process, since it takes longer than making the copy of a small graph.
    """

    def __init__(self, device: Device) -> None:
        self._module = device.load_module(CLOCK_PTX)
        try:
            self.begin, self.end = self._module.kernel("begin"), self._module.kernel("end")
            bias_ns = _biases.get(device.info)
            if bias_ns is None:
                bias_ns = _biases[device.info] = self._measure_bias(device)
            self.bias_ns = bias_ns
        except BaseException:
            self._module.unload()
            raise

    def add(self, graph: Graph, kernel: LoadedKernel, slot: Memory, after: Sequence[GraphNode]) -> GraphNode:
        """Add the launch of `begin` or `end` for a slot."""
        return graph.add_kernel(kernel, _ONE_THREAD, pack_arguments(kernel.parameters, [slot]), after)

    def _measure_bias(self, device: Device) -> int:
        """Return the shortest span around a kernel that does nothing."""
        nothing = self._module.kernel("nothing")
        with ExitStack() as made:  # released in reverse order
            stream = device.create_stream()
            made.callback(stream.destroy)
            slots = device.allocate(_CALIBRATED * SLOT.itemsize)
            made.callback(slots.free)
            graph = device.create_graph()
            made.callback(graph.destroy)
            last: list[GraphNode] = []
            for number in range(_CALIBRATED):
                slot = slot_of(slots, number)
                begun = self.add(graph, self.begin, slot, last)
                done = graph.add_kernel(nothing, _ONE_THREAD, pack_arguments((), []), [begun])
                last = [self.add(graph, self.end, slot, [done])]
            executable, found = graph.instantiate(), np.empty((_LAUNCHES, _CALIBRATED), SLOT)
            made.callback(executable.destroy)
            for launch in found:
                device.fill(slots, 0)
                executable.launch(stream)
                stream.synchronize()
                device.read(slots, launch)
            return int(found["busy_ns"].min())

    def unload(self) -> None:
        """Unload the kernels, once the executables that use them are destroyed."""
        self._module.unload()


def without_measuring(
    busy_ns: np.ndarray[Any, Any],
    turns: np.ndarray[Any, Any],
    bias_ns: int,
    inside: Sequence[tuple[int, Sequence[int], Sequence[int]]],
) -> np.ndarray[Any, Any]:
    """Return the time of each slot without the cost of measuring, in nanoseconds; at least 1 if it ran.

    `busy_ns` and `turns` are the sums that the clock left in the slots. Each turn of a slot takes `bias_ns` too long.
    `inside` has for each region its slot, those of the spans in its bodies, and those of surveys there, the innermost
    region first. A region's time leaves out the clocks of these spans and the surveys; it is at least that of any span
    in it.
    """
    own = busy_ns - bias_ns * turns
    net = np.where(turns > 0, np.maximum(own, 1), 0)
    for region, members, looks in inside:
        spans = list(members)
        extra = bias_ns * turns[spans].sum() + busy_ns[list(looks)].sum()
        if turns[region]:
            net[region] = max(own[region] - extra, net[spans].max(initial=1))
    return net


#: Where surveys stand: before an operation, or behind it.
SurveyPoint = tuple[int, bool]


def survey_places(plan: Plan, surveys: Sequence[Survey]) -> tuple[SurveyPoint, ...]:
    """Return the places of surveys in regions, whose times would include them."""
    places = dict.fromkeys((each.operation, each.is_before) for each in surveys)
    # A graph of arrays alone has no operation.
    return tuple(place for place in places if plan.operations and plan.operations[place[0]].scope)


def inside_regions(
    plan: Plan, spans: Sequence[Span], watched: Sequence[SurveyPoint]
) -> tuple[tuple[int, tuple[int, ...], tuple[int, ...]], ...]:
    """Return the slots inside each region, for `without_measuring`; slots of surveys follow those of spans."""
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
    """Adds surveys before and after operations, one after another, so that all later operations wait for them.

    Before a region in a body, the findings of surveys inside from earlier turns are cleared: the last turn counts, even
    if it does not enter the region. Surveys at `places`, in regions, have a clock with a slot around them.
    """

    def __init__(
        self,
        plan: Plan,
        surveys: Sequence[Survey],
        kernel: SurveyKernel,
        memory: Mapping[PortRef, Memory],
        slots: Memory,
        clock: ClockKernels,
        places: Mapping[SurveyPoint, Memory],
    ) -> None:
        self._plan, self._surveys = plan, surveys
        self._kernel, self._memory, self._slots = kernel, memory, slots
        self._clock, self._places = clock, places
        self._at: dict[SurveyPoint, list[tuple[int, Survey]]] = {}
        for number, each in enumerate(surveys):
            self._at.setdefault((each.operation, each.is_before), []).append((number, each))

    def add(self, graph: Graph, index: int, after: Sequence[GraphNode], *, is_before: bool) -> Sequence[GraphNode]:
        """Add the nodes beside an operation; return its dependencies in place of `after`."""
        place = index, is_before
        clocked = self._places.get(place)
        if clocked is not None:
            after = [self._clock.add(graph, self._clock.begin, clocked, after)]
        for number, each in self._at.get(place, ()):
            slot = part_of(self._slots, number * SURVEY.itemsize, SURVEY.itemsize)
            after = [self._kernel.add(graph, each, self._memory, slot, after)]
        inside = self._inside(index) if is_before and self._plan.operations[index].scope else []
        if inside:  # their slots are adjacent, as the operations of a region are
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
    """Adds a kernel before and one after the operations of each span, and the surveys of buffers there.

    With `in_turn`, a span begins when the one before it has ended; none may be inside another one.
    """

    def __init__(
        self,
        plan: Plan,
        spans: Sequence[Span],
        clock: ClockKernels,
        slots: Memory,
        surveyor: Surveyor | None = None,
        *,
        in_turn: bool = False,
    ) -> None:
        self._operations, self._spans, self._clock = plan.operations, spans, clock
        self._of = {index: number for number, span in enumerate(spans) for index in span.operations}
        self._left = [len(span.operations) for span in spans]
        self._begins: dict[int, GraphNode] = {}
        self._slots, self._surveyor = slots, surveyor
        self.operations: dict[GraphNode, int] = {}
        self._in_turn = in_turn
        self._last: list[GraphNode] = []

    def before(
        self, graph: Graph, index: int, after: Sequence[GraphNode], handles: Mapping[int, GraphNode]
    ) -> Sequence[GraphNode]:
        """Return the nodes that operation `index` must wait for, given those without timing; `handles` are the existing
        nodes.
        """
        if self._surveyor is not None:
            after = self._surveyor.add(graph, index, after, is_before=True)
        number = self._of.get(index)
        if number is None:
            return after
        begin = self._begins.get(number)
        if begin is None:  # the clock begins when all nodes that the span's operations wait for are done
            outside = {i for member in self._spans[number].operations for i in self._operations[member].after}
            outside -= {*self._spans[number].operations}
            known = sorted({*after, *self._last, *(handles[i] for i in outside if i in handles)})
            slot = slot_of(self._slots, number)
            begin = self._begins[number] = self._clock.add(graph, self._clock.begin, slot, known)
        return [*after, begin]

    def behind(self, graph: Graph, index: int, handles: dict[int, GraphNode]) -> None:
        """Let later operations wait for other nodes in place of an operation's own, `handles[index]`."""
        self.operations[handles[index]] = index
        number = self._of.get(index)
        if number is None:
            return
        self._left[number] -= 1
        if not self._left[number]:
            members = self._spans[number].operations
            done = sorted({handles[member] for member in members})
            end = self._clock.add(graph, self._clock.end, slot_of(self._slots, number), done)
            if self._surveyor is not None:  # with surveys, spans are single operations
                (end,) = self._surveyor.add(graph, index, [end], is_before=False)
            self._last = [end] if self._in_turn else []
            # Later operations must not disturb the clock.
            handles.update(dict.fromkeys(members, end))


def slot_of(slots: Memory, number: int) -> Memory:
    return part_of(slots, number * SLOT.itemsize, SLOT.itemsize)
