"""Views of a tensor graph: one node as plain data, and all nodes as text, DOT and SVG."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum

import msgspec

from warploom.engine.drawings import dot
from warploom.engine.drawings.layers import Layers, arrange_rows
from warploom.engine.drawings.svg import FILLS, arrow, document, estimated_width, rectangle, text_line
from warploom.engine.figures import plural
from warploom.engine.tensor_ir.errors import InvalidOperation
from warploom.engine.tensor_ir.graph import Origin, TensorNode, TensorOperation
from warploom.engine.tensor_ir.operations.leaves import Constant
from warploom.engine.tensor_ir.ordering import topological_order
from warploom.engine.tensor_ir.types import TensorType

#: Returns a fact about a node that only its owner knows, such as "computed"; "" for none.
Remark = Callable[[TensorNode], str]


def no_remark(node: TensorNode) -> str:
    """Return no remark."""
    return ""


class NodeRole(Enum):
    """The role of a node in its graph."""

    INPUT = "input"
    WEIGHT = "weight"  #: a leaf whose gradient is wanted
    CONSTANT = "constant"
    OPERATION = "operation"


class NodeInfo(msgspec.Struct, frozen=True):
    """A node as plain data: `inputs` are the labels of its inputs, by slot."""

    number: int
    label: str
    operation: TensorOperation
    role: NodeRole
    type: TensorType
    inputs: tuple[str, ...]
    requires_grad: bool
    origin: Origin | None


def node_info(node: TensorNode) -> NodeInfo:
    """Return the facts of a node."""
    return NodeInfo(
        node.number,
        node.label,
        node.operation,
        role_of(node),
        node.type,
        tuple(other.label for other in node.inputs),
        node.requires_grad,
        node.origin,
    )


def role_of(node: TensorNode) -> NodeRole:
    """Return the role of a node in its graph."""
    if node.inputs:
        return NodeRole.OPERATION
    if isinstance(node.operation, Constant):
        return NodeRole.CONSTANT
    return NodeRole.WEIGHT if node.requires_grad else NodeRole.INPUT


def graph_text(wanted: Iterable[TensorNode], remark: Remark = no_remark) -> str:
    """Return the wanted nodes and all nodes from which they are computed, each after its inputs.

    Raise TopologicalSortFailed for a cycle.
    """
    order = topological_order(wanted)
    leaves = sum(not node.inputs for node in order)
    head = f"graph of {plural(len(order), 'node')}, {leaves} of them {'a leaf' if leaves == 1 else 'leaves'}"
    return "\n".join([head, *(f"  {node_text(node, remark)}" for node in order)]) + "\n"


def node_text(node: TensorNode, remark: Remark = no_remark) -> str:
    """Return a node with its type, its inputs by slot, and its origin: "Add7: f32[3, 4] of a, b; main.py:12"."""
    parts = [f"{node.label}: {node.type}"]
    if node.inputs:
        parts[0] += f" of {', '.join(other.label for other in node.inputs)}"
    if isinstance(node.operation, Constant):
        parts[0] += f" = {node.operation.value:g}"
    if node.name and node.inputs:
        parts.append(node.operation.label)
    if node.requires_grad:
        parts.append("requires grad")
    parts += filter(None, [remark(node), str(node.origin or "")])
    return "; ".join(parts)


FILL_OF = {
    NodeRole.INPUT: FILLS[0],
    NodeRole.WEIGHT: FILLS[2],
    NodeRole.CONSTANT: FILLS[7],
    NodeRole.OPERATION: FILLS[1],
}


def graph_dot(wanted: Iterable[TensorNode], remark: Remark = no_remark) -> str:
    """Return the graph that computes the wanted nodes; arrows into a node with several inputs are numbered by slot."""
    lines = ["digraph tensors {", '  node [shape=box, style="rounded,filled"];']
    lines += (f"  {line}" for node in topological_order(wanted) for line in _node(node, remark))
    return "\n".join([*lines, "}", ""])


def _node(node: TensorNode, remark: Remark) -> Iterator[str]:
    yield dot.box(f"n{node.number}", *box_lines(node, remark), style=f'fillcolor="{FILL_OF[role_of(node)]}"')
    for slot, other in enumerate(node.inputs):
        label = f" [label={slot}]" if len(node.inputs) > 1 else ""
        yield f"n{other.number} -> n{node.number}{label};"


def box_lines(node: TensorNode, remark: Remark) -> list[str]:
    """Return the text of a node's box: its name, the value of a constant, its type, and the remark."""
    lines = [node.label, str(node.type), remark(node)]
    if isinstance(node.operation, Constant):
        lines[0] = f"{node.operation.value:g}"
    elif node.name and node.inputs:
        lines.insert(1, node.operation.label)
    return [line for line in lines if line]


_LINE_HEIGHT, _PADDING, _MARGIN = 16.0, 8.0, 20.0
#: Nodes in the largest drawing. A larger one would be unreadable, with arrows that pass too many boxes.
LARGEST = 2000


def graph_svg(wanted: Iterable[TensorNode], remark: Remark = no_remark) -> str:
    """Return the graph that computes the wanted nodes, from top to bottom; a node's tooltip shows its full text.

    Raise InvalidOperation for more than 2,000 nodes.
    """
    order = topological_order(wanted)
    if len(order) > LARGEST:
        raise InvalidOperation(
            f"drawn graph must have at most {LARGEST:,} nodes, got {len(order):,}; write DOT or text"
        )
    lines = {node.number: box_lines(node, remark) for node in order}
    layers = arrange_rows(
        {node.number: list(dict.fromkeys(other.number for other in node.inputs)) for node in order},
        {number: (max(map(estimated_width, found)) + 2 * _PADDING, _height(found)) for number, found in lines.items()},
    )
    width, height = layers.width + 2 * _MARGIN, layers.height + 2 * _MARGIN
    return document(width, height, _parts(order, layers, lines, remark))


def _height(lines: Sequence[str]) -> float:
    return _LINE_HEIGHT * len(lines) + 2 * _PADDING


def _parts(
    order: Sequence[TensorNode], layers: Layers[int], lines: Mapping[int, list[str]], remark: Remark
) -> Iterator[str]:
    boxes = {number: box.moved(_MARGIN, _MARGIN) for number, box in layers.boxes.items()}
    for (earlier, later), way in layers.ways.items():
        source, target = boxes[earlier], boxes[later]
        start = (source.x + source.width / 2, source.y + source.height)
        moved = [(x + _MARGIN, top + _MARGIN, bottom + _MARGIN) for x, top, bottom in way]
        yield arrow(start, moved, (target.x + target.width / 2, target.y))
    for node in order:
        box = boxes[node.number]
        tip = node_text(node, remark)
        yield rectangle(box.x, box.y, box.width, box.height, FILL_OF[role_of(node)], tip=tip)
        for number, words in enumerate(lines[node.number]):
            baseline = box.y + _PADDING + 12 + _LINE_HEIGHT * number
            yield text_line(box.x + box.width / 2, baseline, words, anchor="middle", bold=number == 0)
