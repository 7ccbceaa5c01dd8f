"""A tensor graph as an SVG file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from engine.drawings.layers import Layers, arrange_layers
from engine.drawings.svg import arrow, document, estimated_width, rectangle, text_line
from engine.tensor_ir.errors import InvalidOperation
from engine.tensor_ir.graph import TensorNode
from engine.tensor_ir.inspection.dot import FILL_OF, box_lines
from engine.tensor_ir.inspection.info import Remark, no_remark, role_of
from engine.tensor_ir.inspection.text import node_text
from engine.tensor_ir.ordering import topological_order

_LINE_HEIGHT, _PADDING, _MARGIN = 16.0, 8.0, 20.0
#: A larger drawing is of no use, and its arrows pass too many boxes.
LARGEST = 2000


def graph_svg(wanted: Iterable[TensorNode], remark: Remark = no_remark) -> str:
    """Return what the wanted nodes are computed from, from top to bottom; a pointer over a node shows all of it.

    InvalidOperation for more than 2,000 nodes.
    """
    order = topological_order(wanted)
    if len(order) > LARGEST:
        raise InvalidOperation(
            f"drawn graph must have at most {LARGEST:,} nodes, got {len(order):,}; write DOT or text"
        )
    lines = {node.number: box_lines(node, remark) for node in order}
    layers = arrange_layers(
        {node.number: list(dict.fromkeys(other.number for other in node.inputs)) for node in order},
        {number: (max(map(estimated_width, found)) + 2 * _PADDING, _height(found)) for number, found in lines.items()},
        is_dataflow=True,
    )
    width, height = layers.width + 2 * _MARGIN, layers.height + 2 * _MARGIN
    return document(width, height, _parts(order, layers, lines, remark))


def _height(lines: Sequence[str]) -> float:
    return _LINE_HEIGHT * len(lines) + 2 * _PADDING


def _parts(
    order: Sequence[TensorNode], layers: Layers, lines: Mapping[int, list[str]], remark: Remark
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
