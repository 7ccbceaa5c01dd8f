"""What is computed when a tensor is executed: the nodes that it needs, in segments, each compiled once."""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Hashable, Sequence
from dataclasses import dataclass

from engine.diagnostics import WarploomError
from engine.tensor.execution import Program
from engine.tensor.lazy.devices import LazyDevice
from engine.tensor.lazy.graph import LazyNode
from engine.tensor.lazy.storage import Storage
from engine.tensor_graphs.errors import ExecutionFailed
from engine.tensor_graphs.graph import Node
from engine.tensor_graphs.ordering import topological_order

#: The most operations of a program: compiling and planning take longer than linear time.
SEGMENT = 1000


@dataclass(frozen=True)
class Segment:
    """Nodes that one program computes, each after its inputs; `kept` are those that it stores."""

    nodes: list[LazyNode]
    kept: list[LazyNode]


def compute(device: LazyDevice, wanted: Sequence[LazyNode]) -> None:
    """Compute nodes of one graph, with all that they need. ExecutionFailed, and what was computed before stays."""
    segments = find_segments(wanted)
    with device.lock:
        device.tensors.device.activate()
        while segments:
            _run(device, segments.popleft())


def find_segments(wanted: Sequence[LazyNode], longest: int = SEGMENT) -> deque[Segment]:
    """Return what is to be computed, in order.

    A node is kept if it is wanted, if somebody has a tensor of it, or if a node of another segment or one that is not
    computed now needs it. Everything else exists only inside a kernel. Leaves such as constants are computed wherever
    they are needed.
    """
    order = topological_order(wanted, _is_known)
    number_of: dict[Node, int] = {}
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


def _is_known(node: LazyNode) -> bool:
    return node.value is not None


def _is_needed_elsewhere(node: LazyNode, computed: Container[Node]) -> bool:
    users = (user() for user in node.users)
    return any(user is not None and user.value is None and user not in computed for user in users)


def _run(device: LazyDevice, segment: Segment) -> None:
    """Compute a segment, and let its nodes have their values."""
    inputs = list(dict.fromkeys(other for node in segment.nodes for other in node.inputs if other.value is not None))
    try:
        structure = structure_of(segment, inputs)
        program = device.program(structure)
        if program is None:
            program = Program(device.tensors, inputs, segment.kept)
            device.keep(structure, program)
        values = [Storage(device.tensors.buffer(node.type)) for node in segment.kept]
        program.run([_value(node).buffer for node in inputs], [value.buffer for value in values])
        device.tensors.synchronize()  # memory that goes back now must not be in use
    except WarploomError as problem:
        last = segment.kept[-1]
        where = f", made at {last.origin}," if last.origin else ""
        raise ExecutionFailed(f"{last!r}{where} must be computed on {device.name}, got: {problem}") from problem
    for node, value in zip(segment.kept, values, strict=True):
        node.settle(value)


def structure_of(segment: Segment, inputs: Sequence[LazyNode]) -> Hashable:
    """Return what is equal for segments that one program can compute: operations, types and how they are wired."""
    place: dict[Node, int] = {node: number for number, node in enumerate(inputs)}
    rows: list[Hashable] = [tuple(node.type for node in inputs)]
    for node in segment.nodes:
        for other in node.inputs:
            if other not in place:  # a constant
                rows.append(other.operation)
                place[other] = len(place)
        rows.append((node.operation, *[place[other] for other in node.inputs]))
        place[node] = len(place)
    rows.append(tuple(place[node] for node in segment.kept))
    return tuple(rows)


def _value(node: LazyNode) -> Storage:
    assert node.value is not None
    return node.value
