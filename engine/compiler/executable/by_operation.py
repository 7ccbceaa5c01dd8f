"""Launching a graph's operations one by one, each after the one before has ended, to find the one that fails.

Loops and branches are decided here, turn by turn: the kernel that sets a condition runs with a conditional node behind
it, whose bodies leave a mark in memory.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from warploom.engine.compiler.executable.arguments import Resources
from warploom.engine.compiler.executable.build import KINDS
from warploom.engine.compiler.executable.compiled_graph import CompiledGraph
from warploom.engine.compiler.executable.instrument import SameNodes
from warploom.engine.compiler.operations import RegionEntry
from warploom.engine.descriptions.entries import CaptureEntry, KernelEntry
from warploom.engine.device.device import Device
from warploom.engine.device.graph import Graph
from warploom.engine.device.protocol import Condition, ConditionalKind, GraphNode, PinnedArray, Stream

#: The loops around an operation, the outermost first, and the turn that each is in.
Loops = tuple[tuple[str, int], ...]
#: Called before an operation is launched, with its index.
Before = Callable[[int, Loops], None]


def launch_by_operation(
    compiled: CompiledGraph, device: Device, uniforms: PinnedArray, stream: Stream, before: Before
) -> None:
    """Launch the operations of the graph's present variant in order, and wait for each.

    Raise DeviceError from the operation that fails. Parallel operations run one after the other, so a race between
    two of them is not seen.
    """
    _Launches(compiled, device, uniforms, stream, before).run(0, ())


class _Launches:
    def __init__(
        self, compiled: CompiledGraph, device: Device, uniforms: PinnedArray, stream: Stream, before: Before
    ) -> None:
        self._plan, self._device, self._stream, self._before = compiled.plan, device, stream, before
        variant = compiled.variants[compiled.phase]
        resources = Resources(variant.memory, {}, {}, uniforms, compiled.status)
        self._maker = SameNodes(compiled.plan, variant, device, resources)
        #: The body that each region runs next, as far as this launch has set the conditions; None for none.
        self._chosen: dict[str, int | None] = {}

    def run(self, scope: int, loops: Loops) -> None:
        for index in self._plan.scopes[scope].members:
            self._before(index, loops)
            entry = self._plan.operations[index].entry
            if isinstance(entry, RegionEntry):
                self._run_region(self._plan.operations[index].node, entry, loops)
            else:
                self._launch(index)

    def _run_region(self, node: str, region: RegionEntry, loops: Loops) -> None:
        turn = 0
        while (chosen := self._chosen.get(node)) is not None:
            self.run(region.scopes[chosen], (*loops, (node, turn)) if region.kind.is_loop else loops)
            if not region.kind.is_loop:
                break
            turn += 1

    def _launch(self, index: int) -> None:
        operation = self._plan.operations[index]
        entry = operation.entry
        with self._graph() as graph:
            if isinstance(entry, KernelEntry) and entry.sets_condition:
                self._chosen[operation.node] = self._launch_condition(graph, index, entry)
                return
            if isinstance(entry, KernelEntry):
                self._add_kernel(graph, index, entry, None)
            elif isinstance(entry, CaptureEntry):
                self._maker.add_captured(graph, index, entry, ())
            else:
                self._maker.add(graph, index, ())
            self._wait_for(graph)

    def _launch_condition(self, graph: Graph, index: int, entry: KernelEntry) -> int | None:
        """Launch a kernel that sets a condition, and return the index of the body that it chooses, if any."""
        control = self._plan.description.by_id[self._plan.operations[index].node].description.control
        assert control is not None
        kind = ConditionalKind.IF if control.kind.is_loop else KINDS[control.kind]
        mark, found = self._device.allocate(4), np.zeros(4, np.uint8)
        try:
            self._device.fill(mark, 0)
            condition = graph.create_condition(0)
            kernel = self._add_kernel(graph, index, entry, condition)
            _, bodies = graph.add_conditional(kind, condition, (kernel,), bodies=len(control.branches))
            for number, body in enumerate(bodies, 1):
                body.add_memset(mark, number, mark.size_bytes, ())
            self._wait_for(graph)
            self._device.read(mark, found)
        finally:
            mark.free()
        return int(found[0]) - 1 if found[0] else None

    def _add_kernel(self, graph: Graph, index: int, entry: KernelEntry, condition: Condition | None) -> GraphNode:
        made = self._maker.kernel(index, entry, condition)
        return graph.add_kernel(made.kernel.kernel, made.config, made.arguments, ())

    def _wait_for(self, graph: Graph) -> None:
        executable = graph.instantiate()
        try:
            executable.launch(self._stream)
            self._stream.synchronize()
        finally:
            executable.destroy()

    @contextmanager
    def _graph(self) -> Iterator[Graph]:
        graph = self._device.create_graph()
        try:
            yield graph
        finally:
            graph.destroy()
