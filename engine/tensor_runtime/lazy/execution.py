"""Executes tensors: finds the nodes that they need, and computes them in segments that are compiled once each."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Container, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from warploom.engine.device.protocol import part_of
from warploom.engine.diagnostics import DeviceError, WarploomError
from warploom.engine.tensor_ir.errors import ExecutionFailed
from warploom.engine.tensor_ir.graph import TensorGraph, TensorNode, no_grad
from warploom.engine.tensor_ir.operations.leaves import Constant, Leaf
from warploom.engine.tensor_ir.ordering import topological_order
from warploom.engine.tensor_ir.passes.pipeline import LAZY_PASSES, optimise
from warploom.engine.tensor_ir.types import TensorType
from warploom.engine.tensor_runtime.lazy.devices import LazyDevice
from warploom.engine.tensor_runtime.lazy.graph import LazyNode
from warploom.engine.tensor_runtime.program import Program
from warploom.engine.tensor_runtime.tensors import Storage, TensorBuffer
from warploom.engine.types import f32, f64, s32, s64, u8, u32, u64

#: The most operations of a program, since the time to compile and plan grows faster than linearly.
SEGMENT = 500
#: Segments of up to this many operations are compiled when they are first met. Longer segments are first computed one
#: operation at a time, which takes less than compiling, and are compiled when they come again.
AT_ONCE = 100
#: The most operations for which one execution compiles programs of several operations.
MOST_COMPILED = 1000
#: The types of numbers that can be passed to a program instead of being constants in its kernels.
NUMBERS = (f32, f64, s32, u32, s64, u64)
NUMBER_BYTES = 16


@dataclass(frozen=True)
class Segment:
    """Nodes that one program computes, each after its inputs; `kept` are the nodes that it stores."""

    nodes: list[LazyNode]
    kept: list[LazyNode]

    @property
    def inputs(self) -> list[LazyNode]:
        """The nodes whose values the segment reads, in order of first use."""
        return list(dict.fromkeys(other for node in self.nodes for other in node.inputs if other.value is not None))


def compute(device: LazyDevice, wanted: Sequence[LazyNode]) -> None:
    """Compute nodes of a graph and all nodes that they need. If this raises ExecutionFailed, earlier results stay."""
    order = topological_order(wanted, _has_value)
    segments = find_segments([node for node in order if not _shares(node)], wanted)
    del order  # drop nodes as soon as nothing needs them
    left = MOST_COMPILED
    with device.lock:
        device.tensors.device.activate()
        while segments:
            segment = segments.popleft()
            count = len(segment.nodes)
            if count == 1 and _shares(segment.nodes[0]):
                continue
            with _told(device, segment.kept):
                program, numbers = _find_program(device, segment)
                if program is None:
                    if count > 1 and (count > left or (count > AT_ONCE and not _was_met(device, segment))):
                        segments.extendleft(Segment([node], [node]) for node in reversed(segment.nodes))
                        continue
                    left -= count if count > 1 else 0
                    program, numbers = _make_program(device, segment)
                try:
                    _launch(device, segment, program, numbers)
                except WarploomError as problem:
                    if not _lacks_memory(problem) or not device.forget_programs():
                        raise
                    _launch(device, segment, *_make_program(device, segment))
        with _told(device, wanted):
            device.tensors.synchronize()


def _shares(node: LazyNode) -> bool:
    """Give a node its input's value in another shape, if possible. Return whether it has a value now."""
    if not node.operation.keeps_elements or node.inputs[0].value is None:
        return False
    node.settle(node.inputs[0].value.viewed(node.type))
    return True


def find_segments(order: Sequence[LazyNode], wanted: Iterable[LazyNode], longest: int = SEGMENT) -> deque[Segment]:
    """Return the segments that compute the nodes, each after its inputs.

    A node is kept if it is wanted, if it has a tensor, or if a node outside its segment needs it, now or later. All
    other nodes exist only inside a kernel. Leaves such as constants are computed wherever they are needed.
    """
    number_of: dict[TensorNode, int] = {}
    segments: deque[Segment] = deque()
    asked = set(wanted)
    for node in order:
        if not node.inputs and node not in asked:
            continue
        if not segments or len(segments[-1].nodes) == longest:
            segments.append(Segment([], []))
        number_of[node] = len(segments) - 1
        segments[-1].nodes.append(node)
    crossing = {
        other for node, number in number_of.items() for other in node.inputs if number_of.get(other, number) != number
    }
    for segment in segments:
        segment.kept.extend(
            node
            for node in segment.nodes
            if node in asked or node in crossing or node.has_tensor or _is_needed_elsewhere(node, number_of)
        )
    return segments


def _has_value(node: LazyNode) -> bool:
    return node.value is not None


def _is_needed_elsewhere(node: LazyNode, computed: Container[TensorNode]) -> bool:
    users = (user() for user in node.users)
    return any(user is not None and user.value is None and user not in computed for user in users)


@contextmanager
def _told(device: LazyDevice, nodes: Sequence[LazyNode]) -> Iterator[None]:
    """Convert errors to ExecutionFailed, with the last of these nodes and the line that created it."""
    try:
        yield
    except WarploomError as problem:
        last = nodes[-1]
        where = f", made at {last.origin}," if last.origin else ""
        raise ExecutionFailed(f"{last!r}{where} must be computed on {device.name}, got: {problem}") from problem


def _lacks_memory(problem: BaseException | None) -> bool:
    while problem is not None and not isinstance(problem, DeviceError):
        problem = problem.__cause__
    return problem is not None


def _find_program(device: LazyDevice, segment: Segment) -> tuple[Program | None, list[LazyNode]]:
    """Return the program for a segment, and the numbers to pass as further inputs."""
    structure, numbers = structure_of(segment)
    program = device.program(structure)
    if program is not None or not numbers:
        return program, []
    return device.program(structure_of(segment, numbers)[0]), numbers


def _was_met(device: LazyDevice, segment: Segment) -> bool:
    """Return whether a segment was met before, possibly with other numbers."""
    structure, numbers = structure_of(segment)
    return device.meet(structure_of(segment, numbers)[0] if numbers else structure)


def _make_program(device: LazyDevice, segment: Segment) -> tuple[Program, list[LazyNode]]:
    """Create a program for a segment, and return the numbers to pass as further inputs.

    The first program has its numbers in its kernels. A second one that would differ only in numbers takes them as
    inputs.
    """
    structure, numbers = structure_of(segment)
    general, _ = structure_of(segment, numbers)
    if device.has_seen(general):
        structure = general
    else:
        numbers = []
    program = Program(device.tensors, *simplified(segment, numbers))
    device.keep(structure, program, general)
    return program, numbers


def simplified(segment: Segment, numbers: Sequence[LazyNode]) -> tuple[list[TensorNode], list[TensorNode]]:
    """Return the inputs and results of a segment; a segment of several operations is simplified by passes."""
    given: list[TensorNode] = [*segment.inputs, *numbers]
    if len(segment.nodes) == 1:
        return given, list(segment.kept)
    graph = TensorGraph()
    became = {node: graph.add(Leaf(node.type), requires_grad=False) for node in given}
    inputs = list(became.values())
    with no_grad():
        for node in segment.nodes:
            for other in node.inputs:
                if other not in became:  # a constant
                    became[other] = graph.enter(other.operation, (), other.type)
            became[node] = graph.enter(node.operation, tuple([became[other] for other in node.inputs]), node.type)
    return inputs, optimise([became[node] for node in segment.kept], LAZY_PASSES)


def _launch(device: LazyDevice, segment: Segment, program: Program, numbers: Sequence[LazyNode]) -> None:
    """Compute a segment, and give its nodes their values."""
    held = _write_numbers(device, numbers) if numbers else None
    buffers = [_value(node).buffer for node in segment.inputs]
    if held is not None:
        buffers += _parts(held.buffer, numbers)
    values = [device.buffer(node.type) for node in segment.kept]
    program.run(buffers, [value.buffer for value in values])
    if any(buffer.is_adopted for buffer in buffers):
        device.tensors.synchronize()  # another library may reuse its memory as soon as a tensor releases it
    for node, value in zip(segment.kept, values, strict=True):
        node.settle(value)


def structure_of(segment: Segment, given: Collection[LazyNode] = ()) -> tuple[Hashable, list[LazyNode]]:
    """Return a key for segments that one program can compute, and the nodes that are numbers in it.

    The key has the operations, types, connections and numbers. Numbers that are `given` may differ.
    """
    inputs = segment.inputs
    place: dict[TensorNode, int] = {node: number for number, node in enumerate(inputs)}
    rows: list[Hashable] = [tuple(node.type for node in inputs), bool(given)]
    numbers: list[LazyNode] = []
    for node in segment.nodes:
        for other in node.inputs:
            if other not in place:  # a constant
                rows.append(other.type if other in given else other.operation)
                place[other] = len(place)
                if other.type.shape == () and other.type.dtype in NUMBERS:
                    numbers.append(other)
        rows.append((node.operation, *[place[other] for other in node.inputs]))
        place[node] = len(place)
    rows.append(tuple(place[node] for node in segment.kept))
    return tuple(rows), numbers


def _write_numbers(device: LazyDevice, numbers: Sequence[LazyNode]) -> Storage:
    """Return memory with the numbers, each at a multiple of a fixed number of bytes."""
    data = np.zeros((len(numbers), NUMBER_BYTES), np.uint8)
    for row, node in zip(data, numbers, strict=True):
        assert isinstance(node.operation, Constant)
        one = np.array([node.operation.value]).astype(node.type.dtype.numpy)
        row[: one.nbytes] = one.view(np.uint8)
    storage = device.buffer(TensorType(data.shape, u8))
    storage.buffer.write(data)
    return storage


def _parts(whole: TensorBuffer, numbers: Sequence[LazyNode]) -> list[TensorBuffer]:
    return [
        TensorBuffer(whole.tensors, node.type, (), part_of(whole.memory, at * NUMBER_BYTES, node.type.dtype.size_bytes))
        for at, node in enumerate(numbers)
    ]


def _value(node: LazyNode) -> Storage:
    assert node.value is not None
    return node.value
