"""A plan as a drawing: operations in layers from top to bottom, regions as boxes around their bodies."""

from __future__ import annotations

from collections.abc import Iterator

from engine.blocktypes.entries import KernelEntry
from engine.compiler.inspection.arrangement import Arrangement, Box, arrange
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
from engine.compiler.operations import RegionEntry
from engine.compiler.plan import Plan

_LINE_HEIGHT, _PADDING = 16.0, 8.0


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
    head = f"{index}  {title(plan, index)}"
    if isinstance(entry, KernelEntry):
        kernel, _, launch = what(plan, index).partition(", ")
        return [head, kernel, launch]
    return [head, what(plan, index)]


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
