"""A plan as a drawing: operations in layers from top to bottom, regions as boxes around their bodies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap

from engine.compiler.inspection.labels import names, title, what
from engine.compiler.inspection.svg import (
    FAINT,
    FILLS,
    PAPER,
    arrow,
    document,
    rectangle,
    text,
    text_width,
)
from engine.compiler.operations import Operation, RegionEntry, Scope
from engine.compiler.plan import Plan
from engine.descriptions.entries import KernelEntry

GAP_X, GAP_Y, MARGIN, HEAD, ARROW_WIDTH = 18.0, 34.0, 12.0, 34.0, 6.0


@dataclass(frozen=True)
class Box:
    """A rectangle in pixels; `x` and `y` are its left upper corner."""

    x: float
    y: float
    width: float
    height: float

    def moved(self, x: float, y: float) -> Box:
        """Return the box at another place."""
        return Box(self.x + x, self.y + y, self.width, self.height)


@dataclass(frozen=True)
class Arrangement:
    """A box for every operation, by index, and one for every body, by scope; all in the drawing's coordinates.

    `ways` holds for every arrow, by its two operations, the vertical lines that it follows between other boxes, each as
    (x, top, bottom). An arrow that others imply is left out.
    """

    operations: dict[int, Box]
    bodies: dict[int, Box]
    ways: dict[tuple[int, int], list[tuple[float, float, float]]]
    width: float
    height: float

    def moved(self, x: float, y: float) -> Arrangement:
        """Return all of it at another place."""
        return Arrangement(
            {index: box.moved(x, y) for index, box in self.operations.items()},
            {scope: box.moved(x, y) for scope, box in self.bodies.items()},
            {ends: [(at + x, top + y, low + y) for at, top, low in way] for ends, way in self.ways.items()},
            self.width,
            self.height,
        )


#: An operation's place in a row, or that of an arrow on its way from one operation to another further down.
_Item = tuple[int, int]
_OPERATION = -1


def arrange(
    operations: Sequence[Operation], scopes: Sequence[Scope], sizes: Sequence[tuple[float, float]], scope: int = 0
) -> Arrangement:
    """Return boxes for the operations of a scope and all inside it; `sizes` are those of the operations' texts."""
    arrows = _arrows(operations, scopes[scope].members)
    items = {(i, _OPERATION): _region(operations, scopes, sizes, i) for i in scopes[scope].members}
    rows = _rows(arrows)
    widths = [sum(_width(items, item) for item in row) + GAP_X * (len(row) - 1) for row in rows]
    width = max(widths, default=0.0)
    found: dict[int, Box] = {}
    bodies: dict[int, Box] = {}
    ways: dict[tuple[int, int], list[tuple[float, float, float]]] = {
        (earlier, index): [] for index, before in arrows.items() for earlier in before
    }
    y = 0.0
    for row, row_width in zip(rows, widths, strict=True):
        x = (width - row_width) / 2
        height = max(items[item].height for item in row if item in items)
        for item in row:
            if item in items:
                part = items[item].moved(x, y)
                found |= part.operations
                bodies |= part.bodies
                ways |= part.ways
            else:
                ways[item].append((x + ARROW_WIDTH / 2, y, y + height))
            x += _width(items, item) + GAP_X
        y += height + GAP_Y
    return Arrangement(found, bodies, ways, width, max(y - GAP_Y, 0.0))


def _width(items: dict[_Item, Arrangement], item: _Item) -> float:
    return items[item].width if item in items else ARROW_WIDTH


def _region(
    operations: Sequence[Operation], scopes: Sequence[Scope], sizes: Sequence[tuple[float, float]], index: int
) -> Arrangement:
    """Return the box of one operation; a region's holds its bodies side by side."""
    width, height = sizes[index]
    entry = operations[index].entry
    if not isinstance(entry, RegionEntry):
        return Arrangement({index: Box(0, 0, width, height)}, {}, {}, width, height)
    whole = Arrangement({}, {}, {}, 0, 0)
    x, bottom = MARGIN, height
    for body in entry.scopes:
        inside = arrange(operations, scopes, sizes, body)
        box = Box(x, height, max(inside.width, 60.0) + 2 * MARGIN, inside.height + HEAD + MARGIN)
        placed = inside.moved(x + MARGIN, height + HEAD)
        whole.operations.update(placed.operations)
        whole.bodies.update({body: box} | placed.bodies)
        whole.ways.update(placed.ways)
        x += box.width + MARGIN
        bottom = max(bottom, height + box.height)
    outline = Box(0, 0, max(width, x), bottom + MARGIN)
    whole.operations[index] = outline
    return Arrangement(whole.operations, whole.bodies, whole.ways, outline.width, outline.height)


def _arrows(operations: Sequence[Operation], members: Sequence[int]) -> dict[int, list[int]]:
    """Return what each operation waits for and is not already waited for by something else that it waits for."""
    found: dict[int, list[int]] = {}
    ancestors: dict[int, int] = {}
    for index in members:
        implied = 0
        for earlier in operations[index].after:
            implied |= ancestors[earlier]
        found[index] = [earlier for earlier in operations[index].after if not implied >> earlier & 1]
        ancestors[index] = implied | sum(1 << earlier for earlier in found[index])
    return found


def _rows(arrows: dict[int, list[int]]) -> list[list[_Item]]:
    """Return the operations by how many others they must wait for in a row, each near those it waits for."""
    depth: dict[int, int] = {}
    for index, before in arrows.items():
        depth[index] = 1 + max((depth[earlier] for earlier in before), default=-1)
    rows: list[list[_Item]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    above: dict[_Item, list[_Item]] = {}
    for index, before in arrows.items():
        item = (index, _OPERATION)
        rows[depth[index]].append(item)
        above[item] = []
        for earlier in before:
            last = (earlier, _OPERATION)
            for row in range(depth[earlier] + 1, depth[index]):
                rows[row].append((earlier, index))
                above.setdefault((earlier, index), [last])
                last = (earlier, index)
            above[item].append(last)
    place: dict[_Item, float] = {}
    for row, items in enumerate(rows):
        if row:
            # An arrow that goes on stays where it was in the row above.
            items.sort(key=lambda i: (_middle([place[i]] if i in place else [place[a] for a in above[i]]), i))
        for position, item in enumerate(items):
            place[item] = (position + 0.5) / len(items)
    return rows


def _middle(places: Sequence[float]) -> float:
    return sum(places) / len(places)


_LINE_HEIGHT, _PADDING = 16.0, 8.0
#: Longer titles, of many fused blocks, take several lines of about so many characters.
_LONGEST = 40


def plan_svg(plan: Plan) -> str:
    """Return an SVG file; a pointer over an operation shows what it reads and writes."""
    lines = [_lines(plan, index) for index in range(len(plan.operations))]
    sizes = [
        (max(text_width(line) for line in found) + 2 * _PADDING, _LINE_HEIGHT * len(found) + 2 * _PADDING)
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
    # Regions first, the outer ones before the inner ones, so that what they hold lies on top of them.
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
            yield text(x, baseline, words, anchor=anchor, bold=number == 0)
    for (earlier, later), way in arranged.ways.items():
        source, target = arranged.operations[earlier], arranged.operations[later]
        start = (source.x + source.width / 2, source.y + source.height)
        yield arrow(start, way, (target.x + target.width / 2, target.y))


def _body(box: Box, name: str) -> Iterator[str]:
    yield rectangle(box.x, box.y, box.width, box.height, PAPER, dashed=True)
    yield text(box.x + _PADDING, box.y + 18, f"body {name}", FAINT)
