"""Instrumenting: a second executable of a built graph, with small kernels that measure the time of its operations.

It launches the same kernels and library calls over the same memory, and shares the argument blocks, so its frames
compute the same results. These kernels run in bodies and child graphs as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import msgspec
import numpy as np

from warploom.engine.compiler.executable.arguments import Resources
from warploom.engine.compiler.executable.build import build_graph
from warploom.engine.compiler.executable.clocks import (
    SLOT,
    ClockKernels,
    Span,
    SpanTimer,
    Surveyor,
    inside_regions,
    slot_of,
    survey_places,
    without_measuring,
)
from warploom.engine.compiler.executable.compiled_graph import Variant, frame_upload
from warploom.engine.compiler.executable.nodes import KernelNode, NodeMaker
from warploom.engine.compiler.executable.survey import SURVEY, SurveyKernel, surveys
from warploom.engine.compiler.plan import Plan
from warploom.engine.descriptions.entries import CaptureEntry, ConditionArgument, KernelEntry
from warploom.engine.device.arguments import KernelArguments, pack_arguments
from warploom.engine.device.device import Device
from warploom.engine.device.protocol import (
    Capture,
    Condition,
    GraphNode,
    PinnedArray,
    Stream,
    part_of,
)
from warploom.engine.device.releasing import release_all
from warploom.engine.processes.scope import check_cancelled

#: The times of one span in one launch, in nanoseconds: begin of its first turn, end of its last one, sum of all turns.
#: The first two count from the first begin of any span. A span that did not run has 0 turns.
SPAN_TIME = np.dtype([("first_ns", "<i8"), ("last_ns", "<i8"), ("busy_ns", "<i8"), ("turns", "<i8")])


class Instrumented:
    """An executable that measures the times of `spans`; it is valid until its variant is changed above HOT."""

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
        *,
        in_turn: bool = False,
    ) -> None:
        """`frame` and `status` are the arrays of the frame uniforms and of the status words.

        With a `survey` it also inspects the buffers of output ports. With `in_turn`, spans run one after the other, so
        each has the time that it takes alone; none may be inside another one.
        """
        self.spans, self._bias_ns = tuple(spans), clock.bias_ns
        #: The surveyed ports, for `statistics` of `read_surveys`.
        self.surveys = surveys(plan) if survey is not None else ()
        watched = survey_places(plan, self.surveys)
        self._inside = inside_regions(plan, self.spans, watched)
        self._clocked = len(spans) + len(watched)
        times_bytes = self._times_bytes = max(1, self._clocked) * SLOT.itemsize
        size_bytes = times_bytes + len(self.surveys) * SURVEY.itemsize
        with ExitStack() as failing:
            self._slots = device.allocate(size_bytes)
            failing.callback(self._slots.free)
            self._zeros = device.pinned(np.zeros(size_bytes, np.uint8))
            failing.callback(self._zeros.free)
            self._results = device.pinned(np.zeros(size_bytes, np.uint8))
            failing.callback(self._results.free)
            maker = SameNodes(plan, variant, device, Resources(variant.memory, {}, {}, frame, status))
            surveyor = None
            if survey is not None:
                found = part_of(self._slots, times_bytes, size_bytes - times_bytes)
                places = {place: slot_of(self._slots, len(spans) + number) for number, place in enumerate(watched)}
                surveyor = Surveyor(plan, self.surveys, survey, variant.memory, found, clock, places)
            timer = SpanTimer(plan, self.spans, clock, self._slots, surveyor, in_turn=in_turn)
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
        """Launch the executable with the values that argument blocks hold now; `read` its results before the next
        launch.

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

        The sums leave out the cost of measuring: the clock itself, and in regions the clocks and surveys inside.
        """
        every = self._results.array[: self._clocked * SLOT.itemsize].view(SLOT)
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
        """Free all resources."""
        built = self._executable.destroy, self._built.graph.destroy
        release_all(*built, self._slots.free, self._zeros.free, self._results.free)


class _CopiedArguments:
    """A copy of an argument block with another condition in it: a condition belongs to one graph."""

    def __init__(self, source: KernelArguments, places: Sequence[int], condition: Condition) -> None:
        self._source, self._places, self._condition = source, places, condition
        parameters = source.layout.parameters
        self.arguments = pack_arguments(parameters, [bytes(parameter.size_bytes) for parameter in parameters])
        self._version = -1
        self.follow()

    def follow(self) -> None:
        """Copy the values that were written into the source."""
        if self._version != self._source.version:
            self._version = self._source.version
            self.arguments.memory[:] = self._source.memory
            for place in self._places:
                self.arguments.set(place, self._condition)  # counts as a new version


class SameNodes(NodeMaker):
    """Makes nodes like those that a variant currently has."""

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
