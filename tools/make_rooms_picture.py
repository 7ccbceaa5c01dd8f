"""Make design/rooms.svg: the rooms in the order of the import contract, with their contents and imports.

.venv/bin/python tools/make_rooms_picture.py

The rows are those of the table in engine/README.md, with the ground at the bottom. An arrow goes from a room to one
that it imports. Imports of the ground have no arrow, and neither have imports that other arrows imply.
"""

import re
import textwrap
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import NamedTuple

import grimp

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "design" / "rooms.svg"
ABOVE = {
    "app": "the Qt editor and the command line",
    "blocks": "the block library: one block type a file",
    "api": "what a block type's file imports",
}
GROUND_ROWS = 3
#: How far rooms that have a row of their own lie from the middle, so that arrows of others pass them.
ASIDE = {
    "blocks": 260,
    "engine.tensor_runtime": -334,
    "engine.protocol": -30,
    "engine.patch": -30,
}
WIDTH, BOX_WIDTH, BOX_HEIGHT, ROW_HEIGHT, TOP = 1000, 292, 62, 92, 20
CAPTION_LETTERS, CAPTION_LINES = 48, 2
TEXT, FAINT, LINE = "#1c2733", "#3a4a5a", "#7a8a99"


class Box(NamedTuple):
    """A room in the picture, by its top left corner."""

    room: str
    caption: str
    x: float
    y: float

    @property
    def middle(self) -> float:
        """Where the middle of the box is, from the left."""
        return self.x + BOX_WIDTH / 2


def rows() -> list[list[tuple[str, str]]]:
    """Return the rooms of the engine with their captions, the ground last."""
    table = re.findall(r"^\| (`.*) \| (.*) \|$", (ROOT / "engine" / "README.md").read_text(), re.MULTILINE)
    found = []
    for names, captions in reversed(table):
        rooms = [f"engine.{name}" for name in re.findall(r"`(\w+)(?:/|\.py)`", names)]
        found.append(list(zip(rooms, captions.replace("`", "").split("; "), strict=True)))
    return found


def imports(rooms: set[str]) -> dict[str, set[str]]:
    """Return the rooms that each room imports, without those that it also reaches through others."""
    graph = grimp.build_graph("warploom", cache_dir=None)
    direct: dict[str, set[str]] = {room: set() for room in rooms}

    def room_of(module: str) -> str:
        parts = module.split(".")[1:]
        return ".".join(parts[:2] if parts[:1] == ["engine"] else parts[:1])

    for module in graph.modules:
        for imported in graph.find_modules_directly_imported_by(module):
            source, target = room_of(module), room_of(imported)
            if source != target and source in rooms and target in rooms:
                direct[source].add(target)

    def below(room: str) -> set[str]:
        return direct[room].union(*map(below, direct[room]))

    return {
        room: {to for to in found if not any(to in below(other) for other in found)} for room, found in direct.items()
    }


def place(floors: list[list[tuple[str, str]]], arrows: dict[str, set[str]]) -> dict[str, Box]:
    """Return the boxes: each row in the middle, its rooms in the order of those above that import them."""
    boxes: dict[str, Box] = {}
    for index, floor in enumerate(floors):
        above = {
            room: [box.middle for box in boxes.values() if room in arrows[box.room]] or [WIDTH / 2] for room, _ in floor
        }
        ordered = sorted(floor, key=lambda item: sum(above[item[0]]) / len(above[item[0]]))
        gap = 24 if len(floor) > 2 else 96
        left = (WIDTH - len(floor) * BOX_WIDTH - (len(floor) - 1) * gap) / 2
        left += ASIDE.get(floor[0][0], 0)
        for column, (room, caption) in enumerate(ordered):
            boxes[room] = Box(room, caption, left + column * (BOX_WIDTH + gap), TOP + index * ROW_HEIGHT)
    return boxes


def lines(floors: list[list[tuple[str, str]]], ground: list[tuple[str, str]]) -> Iterator[str]:
    """Yield the lines of the SVG."""
    arrows = imports({room for floor in floors for room, _ in floor})
    boxes = place(floors, arrows)
    bottom = TOP + len(floors) * ROW_HEIGHT
    height = bottom + 100
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif">'
    yield '<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    yield f'<path d="M0 0 L8 4 L0 8 z" fill="{LINE}"/></marker>'
    yield f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>'
    for room, box in boxes.items():
        imported = sorted((boxes[each] for each in arrows[room]), key=lambda each: (each.middle, each.y))
        for index, target in enumerate(imported):
            yield arrow(box, target, (index + 1) / (len(imported) + 1))
    for box in boxes.values():
        yield from drawn(box)
    yield rectangle(20, bottom, WIDTH - 40, 84, "#eef1f4")
    yield text(36, bottom + 22, 14, "the ground, which all rooms may use", TEXT, "bold")
    names = " · ".join(room.removeprefix("engine.") for room, _ in ground)
    for index, row in enumerate(textwrap.wrap(names, 120)):
        yield text(36, bottom + 46 + 19 * index, 13, row, TEXT)
    yield "</svg>"


def arrow(source: Box, target: Box, share: float) -> str:
    """Return a curve from the bottom of a box, at a share of its width, to the top of another."""
    x, y = source.x + BOX_WIDTH * share, source.y + BOX_HEIGHT
    bend = max(26, (target.y - y) * 0.45)
    points = f"{x:.0f} {y + bend:.0f} {target.middle:.0f} {target.y - bend:.0f} {target.middle:.0f} {target.y:.0f}"
    line = f'fill="none" stroke="{LINE}" stroke-width="1.4" marker-end="url(#tip)"'
    return f'<path d="M{x:.0f} {y:.0f} C{points}" {line}/>'


def rectangle(x: float, y: float, width: float, height: float, fill: str) -> str:
    """Return a rectangle with round corners."""
    size = f'x="{x:.0f}" y="{y:.0f}" width="{width:.0f}" height="{height:.0f}"'
    return f'<rect {size} rx="6" fill="{fill}" stroke="{LINE}"/>'


def text(x: float, y: float, size: int, words: str, fill: str, weight: str = "normal") -> str:
    """Return a line of text."""
    font = f'font-size="{size}" font-weight="{weight}" fill="{fill}"'
    return f'<text x="{x:.0f}" y="{y:.0f}" {font}>{escape(words)}</text>'


def drawn(box: Box) -> Iterator[str]:
    """Yield a box with its name and caption."""
    is_engine = box.room.startswith("engine.")
    yield rectangle(box.x, box.y, BOX_WIDTH, BOX_HEIGHT, "#e3eefb" if is_engine else "#fdf0d9")
    yield text(box.x + 10, box.y + 20, 14, box.room.removeprefix("engine."), TEXT, "bold")
    shown = textwrap.wrap(box.caption, CAPTION_LETTERS, max_lines=CAPTION_LINES, placeholder=" …")
    for index, row in enumerate(shown):
        yield text(box.x + 10, box.y + 37 + 15 * index, 11, row, FAINT)


def picture() -> str:
    """Return the SVG."""
    engine = rows()
    ground = [item for row in engine[-GROUND_ROWS:] for item in row]
    floors = [[item] for item in ABOVE.items()] + engine[:-GROUND_ROWS]
    return "\n".join(lines(floors, ground)) + "\n"


if __name__ == "__main__":
    PICTURE.write_text(picture())
