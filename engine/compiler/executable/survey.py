"""Surveys: kernels in an instrumented copy of a graph that inspect the buffers of output ports.

Each follows the last operation that writes a port, and precedes all operations that depend on it, so the buffer is not
overwritten yet: the survey sees the contents that the port's block left, even if later blocks change them in place. A
port that no operation writes is surveyed before the first operation that touches it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from warploom.engine.compiler.buffers import Lifetime
from warploom.engine.compiler.operations import Place
from warploom.engine.compiler.plan import Plan
from warploom.engine.descriptions.ports import counter_name
from warploom.engine.device.arguments import pack_arguments
from warploom.engine.device.device import Device
from warploom.engine.device.graph import Graph
from warploom.engine.device.protocol import GraphNode, LaunchConfig, Memory, part_of
from warploom.engine.kernel_sources.loader import find_kernel, load_image
from warploom.engine.patch.changes import PortRef
from warploom.engine.profiling.profile import BufferStatistics
from warploom.engine.types.element_numbers import FLOAT, SIGNED, element_number, number_of

#: The results of `survey` in kernels/statistics.cu.
SURVEY = np.dtype([(name, "<u8") for name in ("low", "high", "nans", "infinities", "numbers", "ran")])
_THREADS = 256
#: The numbers per thread where there are few, and the thread blocks per core where there are many.
_NUMBERS, _BLOCKS = 4, 4
_SIGN, _ALL = 1 << 63, (1 << 64) - 1


class Survey(NamedTuple):
    """A port to be surveyed: its place, `numbers` of an `element` type, and its neighbouring operation.

    The survey follows `operation`, or precedes it. `live` is the word that counts the elements of an append buffer.
    """

    port: PortRef
    place: Place
    element: int
    numbers: int
    components: int
    operation: int
    is_before: bool
    live: Place | None


def surveys(plan: Plan) -> tuple[Survey, ...]:
    """Return the output ports with numbers without gaps, in the order of their operations."""
    found = []
    stand = _Stands(plan)
    for node in plan.description.nodes:
        block = plan.buffers.blocks[node.id]
        for port in node.description.rules.output_of:
            layout, place = block.layouts.layouts[port], block.places[port]
            scalar = number_of(layout.dtype)
            is_stored = plan.buffers.allocations[place.owner].lifetime is not Lifetime.FUSED
            if scalar is None or layout.strides is not None or not layout.size_bytes or not is_stored:
                continue
            live = block.places.get(counter_name(port)) if node.description.rules.output_of[port].spec.append else None
            operation, is_before = stand.of(PortRef(node.id, port))
            found.append(
                Survey(
                    PortRef(node.id, port),
                    place,
                    element_number(scalar),
                    layout.size_bytes // scalar.size_bytes,
                    layout.dtype.size_bytes // scalar.size_bytes,
                    operation,
                    is_before,
                    live,
                )
            )
    return tuple(sorted(found, key=lambda each: each.operation))


class _Stands:
    """Finds the operation beside which a port still holds its block's contents."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        #: By block and buffer, the operations by which the block writes it.
        self._writers: dict[tuple[str, PortRef], list[int]] = {}
        #: The first operation outside of regions that touches a buffer.
        self._first: dict[PortRef, int] = {}
        for index, operation in enumerate(plan.operations):
            for place in operation.access.writes:
                for name in operation.nodes:
                    self._writers.setdefault((name, place.owner), []).append(index)
            if not operation.scope:
                for place in (*operation.access.reads, *operation.access.writes):
                    self._first.setdefault(place.owner, index)

    def of(self, port: PortRef) -> tuple[int, bool]:
        """Return the operation beside which a port is surveyed, and whether the survey precedes it.

        A block that only passes on its input, or a part of it, has the contents of the block before it.
        """
        plan, operations = self._plan, self._plan.operations
        source: PortRef | None = port
        while source is not None:
            node, name = source.node, source.port
            block = plan.buffers.blocks[node]
            place = block.places[name]
            writers = self._writers.get((node, place.owner), ())
            own = [i for i in writers if any(place.overlaps(at) for at in operations[i].access.writes)]
            if own:
                return own[-1], False
            description = block.layouts.description
            spec, view = description.rules.output_of[name].spec, description.view_of.get(name)
            source = plan.checked.dataflow.incoming[node].get(spec.inplace or (view.source if view else ""))
        return self._first.get(place.owner, 0), True


class SurveyKernel:
    """The kernel of kernels/statistics.cu, loaded. Raise KernelError if it does not compile or load."""

    def __init__(self, device: Device) -> None:
        self._cores, architecture = device.info.cores, device.info.architecture
        image = load_image(find_kernel("statistics.cu"), architecture)
        self._parameters = image.signature("survey").parameters
        self._module = device.load_module(image.payload(architecture))
        try:
            self._kernel = self._module.kernel("survey")
        except BaseException:
            self._module.unload()
            raise

    def add(
        self, graph: Graph, each: Survey, memory: Mapping[PortRef, Memory], slot: Memory, after: Sequence[GraphNode]
    ) -> GraphNode:
        """Add the nodes that survey a port into a slot."""
        cleared = graph.add_memset(slot, 0, slot.size_bytes, after)
        data = part_of(memory[each.place.owner], each.place.offset, each.place.size_bytes)
        live = 0 if each.live is None else memory[each.live.owner].pointer + each.live.offset
        values = [data, each.element, each.numbers, live, each.components, slot]
        blocks = min(-(-each.numbers // (_THREADS * _NUMBERS)), _BLOCKS * self._cores)
        config = LaunchConfig((blocks, 1, 1), (_THREADS, 1, 1))
        return graph.add_kernel(self._kernel, config, pack_arguments(self._parameters, values), [cleared])

    def unload(self) -> None:
        """Unload the kernel, once the executables that use it are destroyed."""
        self._module.unload()


def statistics(surveys: Sequence[Survey], slots: np.ndarray[Any, Any]) -> dict[PortRef, BufferStatistics]:
    """Return the findings of surveys, from their slots, by port; a survey in a branch that did not run is left out."""
    told = {each.port: _statistics(each, slot) for each, slot in zip(surveys, slots, strict=True)}
    return {port: held for port, held in told.items() if held is not None}


def _statistics(each: Survey, found: np.void) -> BufferStatistics | None:
    low, high, nans, infinities, numbers, ran = (int(value) for value in found.item())
    if not ran:
        return None
    if numbers == nans + infinities:
        return BufferStatistics(numbers, None, None, nans, infinities)
    least, most = (_number(each.element, key) for key in (low ^ _ALL, high))
    return BufferStatistics(numbers, least, most, nans, infinities)


def _number(element: int, key: int) -> float:
    """Return the number that a key encodes; an int if the elements are whole numbers."""
    if element & FLOAT:
        bits = key ^ _SIGN if key & _SIGN else key ^ _ALL
        return float(np.uint64(bits).view(np.float64))
    return key - _SIGN if element & SIGNED else key
