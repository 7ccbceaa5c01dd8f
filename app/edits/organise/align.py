"""Aligns and distributes blocks; a region's box counts as a whole, and its blocks move along."""

from collections.abc import Mapping
from itertools import accumulate
from statistics import fmean

from warploom.app.edits.nodes import snapped
from warploom.engine.drawings.rect import Rect
from warploom.engine.figures import plural
from warploom.engine.patch.changes import Position
from warploom.engine.patch.document import Patch

#: The ways to align, with the share of a rectangle that is brought into line, along x or y.
ALIGNMENTS: dict[str, tuple[int, float]] = {
    "left": (0, 0.0),
    "centre": (0, 0.5),
    "right": (0, 1.0),
    "top": (1, 0.0),
    "middle": (1, 0.5),
    "bottom": (1, 1.0),
}


def align(patch: Patch, rects: Mapping[str, Rect], way: str) -> None:
    """Bring an edge or the middle of rectangles, given by node, into line with the outermost one, or with the mean."""
    axis, share = ALIGNMENTS[way]
    marks = {node: rect[axis] + share * rect[axis + 2] for node, rect in rects.items()}
    line = fmean(marks.values()) if share == 0.5 else min(marks.values()) if share == 0.0 else max(marks.values())
    shifts = {node: line - mark for node, mark in marks.items()}
    _shift(patch, shifts, axis, f"Align {way}")


def distribute(patch: Patch, rects: Mapping[str, Rect], axis: int) -> None:
    """Make the gaps between rectangles equal, along x (axis 0) or y; the first and the last one stay.

    If there is no room for gaps of one step, the rectangles move apart.
    """
    order = sorted(rects, key=lambda node: (rects[node][axis], node))
    extents = [rects[node][axis + 2] for node in order]
    start, end = rects[order[0]][axis], max(rects[node][axis] + rects[node][axis + 2] for node in order)
    gap = max((end - start - sum(extents)) / max(len(order) - 1, 1), 8.0)
    places = accumulate((extent + gap for extent in extents[:-1]), initial=start)
    shifts = {node: place - rects[node][axis] for node, place in zip(order, places, strict=True)}
    _shift(patch, shifts, axis, f"Distribute {'horizontally' if axis == 0 else 'vertically'}")


def _shift(patch: Patch, shifts: Mapping[str, float], axis: int, name: str) -> None:
    with patch.edit(f"{name} ({plural(len(shifts), 'node')})"):
        for node, shift in shifts.items():
            inside = () if patch.is_group(node) else patch.within(node)
            for each in (node, *inside):
                patch.move(each, _moved(patch.nodes[each].position, shift, axis))


def _moved(place: Position, shift: float, axis: int) -> Position:
    dx, dy = snapped(shift if axis == 0 else 0.0, shift if axis == 1 else 0.0)
    return place[0] + dx, place[1] + dy
