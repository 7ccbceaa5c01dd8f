"""A patch as a picture for notebooks: a box for each block in rows from top to bottom, arrows for connections."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from warploom.engine.drawings.layers import arrange_rows
from warploom.engine.drawings.svg import FAINT, FILLS, LINE, arrow, document, estimated_width, rectangle, text_line
from warploom.engine.patch.changes import Connection, Node

_MARGIN, _LINE, _PAD = 10.0, 16.0, 8.0
#: The most characters of a line, and parameters that a box lists.
_LONGEST, _MOST = 36, 4


def patch_svg(placed: Mapping[str, Node], titles: Mapping[str, str], connections: Iterable[Connection]) -> str:
    """Return an SVG drawing of blocks with their titles, and their connections."""
    feeding = _feeding(placed, connections)
    nodes = _ordered(feeding)
    number = {node: index for index, node in enumerate(nodes)}
    lines = {index: _lines(placed[node], titles[node]) for node, index in number.items()}
    sizes = {
        index: (
            max(1.15 * estimated_width(texts[0]), *map(estimated_width, texts)) + 2 * _PAD,
            _LINE * len(texts) + _PAD,
        )
        for index, texts in lines.items()
    }
    after: dict[int, list[int]] = {}
    feedback = []
    for node, target in number.items():
        sources = [number[source] for source in feeding[node]]
        after[target] = [source for source in sources if source < target]
        feedback += [(source, target) for source in sources if source > target]
    layers = arrange_rows(after, sizes)
    boxes = {index: box.moved(_MARGIN, _MARGIN) for index, box in layers.boxes.items()}
    parts = []
    for (source, target), way in layers.ways.items():
        start, end = boxes[source], boxes[target]
        moved = [(x + _MARGIN, top + _MARGIN, bottom + _MARGIN) for x, top, bottom in way]
        to = end.x + end.width / 2, end.y
        parts.append(arrow((start.x + start.width / 2, start.y + start.height), moved, to))
    for source, target in feedback:  # a connection to the next frame leads upwards
        start, end = boxes[source], boxes[target]
        parts.append(
            f'<path d="M{start.x + start.width:.1f} {start.y + start.height / 2:.1f} '
            f'L{end.x + end.width:.1f} {end.y + end.height / 2:.1f}" stroke="{LINE}" stroke-dasharray="4 3"/>'
        )
    categories = sorted({placed[node].type.partition(".")[0] for node in nodes})
    for node, index in number.items():
        box = boxes[index]
        fill = FILLS[categories.index(placed[node].type.partition(".")[0]) % len(FILLS)]
        parts.append(rectangle(box.x, box.y, box.width, box.height, fill, tip=f"{node}: {placed[node].type}"))
        for row, words in enumerate(lines[index]):
            at = box.x + _PAD, box.y + _LINE * (row + 1) - 2
            parts.append(text_line(*at, words, **({"fill": FAINT} if row else {"bold": True})))
    return document(layers.width + 2 * _MARGIN, layers.height + 2 * _MARGIN, parts)


def _feeding(placed: Iterable[str], connections: Iterable[Connection]) -> dict[str, dict[str, None]]:
    """Return the nodes that feed each node, once each."""
    feeding: dict[str, dict[str, None]] = {node: {} for node in sorted(placed)}
    for made in connections:
        if made.source.node in feeding and made.target.node in feeding and made.source.node != made.target.node:
            feeding[made.target.node][made.source.node] = None
    return feeding


def _ordered(feeding: Mapping[str, Mapping[str, None]]) -> list[str]:
    """Return the nodes, each after those that feed it, except for what a delay feeds back."""
    left, placed = dict.fromkeys(feeding), dict[str, None]()
    while left:
        ready = [node for node in left if feeding[node].keys() <= placed.keys()] or [next(iter(left))]
        for node in ready:
            placed[node] = left.pop(node)
    return list(placed)


def _lines(node: Node, title: str) -> list[str]:
    texts = [title]
    if node.region:
        texts.append(f"in {node.region}")
    shown = [f"{name} = {value}" for name, value in node.parameters.items() if isinstance(value, int | float | str)]
    texts += shown[:_MOST]
    if len(shown) > _MOST:
        texts.append("…")
    return [
        line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…" for line in (t.replace("\n", " ") for t in texts)
    ]
