"""Draws a plan: operations in layers from top to bottom, regions as boxes around their bodies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap

import msgspec

from warploom.engine.compiler.inspection.labels import names, title, what
from warploom.engine.compiler.operations import Operation, RegionEntry, Scope
from warploom.engine.compiler.plan import Plan
from warploom.engine.descriptions.entries import KernelEntry
from warploom.engine.drawings.layers import Way, arrange_rows, direct
from warploom.engine.drawings.rect import Rect
from warploom.engine.drawings.svg import FAINT, FILLS, PAPER, arrow, document, estimated_width, rectangle, text_line

MARGIN, HEAD = 12.0, 34.0


class Arrangement(msgspec.Struct, frozen=True):
    """A box for every operation, by index, and for every body, by scope, in the drawing's coordinates.

    `ways` holds every arrow's path, by its two operations. An arrow that others imply is left out.
    """

    operations: dict[int, Rect]
    bodies: dict[int, Rect]
    ways: dict[tuple[int, int], Way]
    width: float
    height: float

    def moved(self, x: float, y: float) -> Arrangement:
        """Return the arrangement, moved by a distance."""
        return Arrangement(
            {index: box.moved(x, y) for index, box in self.operations.items()},
            {scope: box.moved(x, y) for scope, box in self.bodies.items()},
            {ends: [(at + x, top + y, low + y) for at, top, low in way] for ends, way in self.ways.items()},
            self.width,
            self.height,
        )


def arrange(
    operations: Sequence[Operation], scopes: Sequence[Scope], sizes: Sequence[tuple[float, float]], scope: int = 0
) -> Arrangement:
    """Return boxes for the operations of a scope and all operations inside; `sizes` are those of their texts."""
    parts = {index: _region(operations, scopes, sizes, index) for index in scopes[scope].members}
    layers = arrange_rows(
        direct({index: operations[index].after for index in parts}),
        {index: (part.width, part.height) for index, part in parts.items()},
    )
    whole = Arrangement({}, {}, dict(layers.ways), layers.width, layers.height)
    for index, part in parts.items():
        placed = part.moved(layers.boxes[index].x, layers.boxes[index].y)
        whole.operations.update(placed.operations)
        whole.bodies.update(placed.bodies)
        whole.ways.update(placed.ways)
    return whole


def _region(
    operations: Sequence[Operation], scopes: Sequence[Scope], sizes: Sequence[tuple[float, float]], index: int
) -> Arrangement:
    """Return the box of one operation; a region's box has its bodies side by side."""
    width, height = sizes[index]
    entry = operations[index].entry
    if not isinstance(entry, RegionEntry):
        return Arrangement({index: Rect(0, 0, width, height)}, {}, {}, width, height)
    whole = Arrangement({}, {}, {}, 0, 0)
    x, bottom = MARGIN, height
    for body in entry.scopes:
        inside = arrange(operations, scopes, sizes, body)
        box = Rect(x, height, max(inside.width, 60.0) + 2 * MARGIN, inside.height + HEAD + MARGIN)
        placed = inside.moved(x + MARGIN, height + HEAD)
        whole.operations.update(placed.operations)
        whole.bodies.update({body: box} | placed.bodies)
        whole.ways.update(placed.ways)
        x += box.width + MARGIN
        bottom = max(bottom, height + box.height)
    outline = Rect(0, 0, max(width, x), bottom + MARGIN)
    whole.operations[index] = outline
    return Arrangement(whole.operations, whole.bodies, whole.ways, outline.width, outline.height)


_LINE_HEIGHT, _PADDING = 16.0, 8.0
#: Titles longer than this many characters, such as those of many fused blocks, take several lines.
_LONGEST = 40


def plan_svg(plan: Plan) -> str:
    """Return an SVG file; the tooltip of an operation shows its reads and writes."""
    lines = [_lines(plan, index) for index in range(len(plan.operations))]
    sizes = [
        (max(estimated_width(line) for line in found) + 2 * _PADDING, _LINE_HEIGHT * len(found) + 2 * _PADDING)
        for found in lines
    ]
    arranged = arrange(plan.operations, plan.scopes, sizes).moved(20, 20)
    return document(arranged.width + 40, arranged.height + 40, _parts(plan, arranged, lines))


def _lines(plan: Plan, index: int) -> list[str]:
    entry = plan.operations[index].entry
    head = wrap(f"{index}  {title(plan, index)}", _LONGEST)
    if isinstance(entry, KernelEntry):
        kernel, _, launch = what(plan, index).partition(", ")
        return [*head, kernel, launch]
    return [*head, what(plan, index)]


def _parts(plan: Plan, arranged: Arrangement, lines: list[list[str]]) -> Iterator[str]:
    nodes = {node.id: number for number, node in enumerate(plan.description.nodes)}
    # Draw outer regions before inner ones, and their contents on top.
    for index, operation in enumerate(plan.operations):
        box = arranged.operations[index]
        is_region = isinstance(operation.entry, RegionEntry)
        fill = "#f4f6f8" if is_region else FILLS[nodes.get(operation.node, -1) % len(FILLS)]
        tip = f"reads {names(operation.reads) or 'nothing'}\nwrites {names(operation.writes) or 'nothing'}"
        yield rectangle(box.x, box.y, box.width, box.height, fill, tip=tip)
        if isinstance(operation.entry, RegionEntry):
            for body in operation.entry.scopes:
                yield from _body(arranged.bodies[body], plan.scopes[body].name)
        for number, words in enumerate(lines[index]):
            baseline = box.y + _PADDING + 12 + _LINE_HEIGHT * number
            x, anchor = (box.x + _PADDING, "start") if is_region else (box.x + box.width / 2, "middle")
            yield text_line(x, baseline, words, anchor=anchor, bold=number == 0)
    for (earlier, later), way in arranged.ways.items():
        source, target = arranged.operations[earlier], arranged.operations[later]
        start = (source.x + source.width / 2, source.y + source.height)
        yield arrow(start, way, (target.x + target.width / 2, target.y))


def _body(box: Rect, name: str) -> Iterator[str]:
    yield rectangle(box.x, box.y, box.width, box.height, PAPER, dashed=True)
    yield text_line(box.x + _PADDING, box.y + 18, f"body {name}", FAINT)
