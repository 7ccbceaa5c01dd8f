"""Boxes in rows from top to bottom: each is below all boxes that it follows, and near them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from warploom.engine.drawings.rect import Rect

GAP_X, GAP_Y, ARROW_WIDTH = 18.0, 34.0, 6.0
#: The vertical lines that an arrow follows between other boxes, each as (x, top, bottom).
Way = list[tuple[float, float, float]]


@dataclass(frozen=True)
class Layers:
    """A box for every node, and the path of every arrow, by its two nodes."""

    boxes: dict[int, Rect]
    ways: dict[tuple[int, int], Way]
    width: float
    height: float


#: A node's place in a row, or that of an arrow on its way from one node to another further down.
_Item = tuple[int, int]
_NODE = -1


def arrange_layers(
    after: Mapping[int, Sequence[int]], sizes: Mapping[int, tuple[float, float]], *, is_dataflow: bool = False
) -> Layers:
    """Return the layout of nodes of these sizes; `after` lists each node after all nodes that it follows.

    An arrow that others imply is left out. With `is_dataflow`, it is kept as another input, and inputs of the whole are
    just above the first node that follows them.
    """
    arrows = after if is_dataflow else _direct(after)
    depth = _depth(arrows)
    if is_dataflow:
        _sink_leaves(depth, arrows)
    rows = _rows(arrows, depth)
    widths = [sum(_width(sizes, item) for item in row) + GAP_X * (len(row) - 1) for row in rows]
    width = max(widths, default=0.0)
    boxes: dict[int, Rect] = {}
    ways: dict[tuple[int, int], Way] = {(earlier, index): [] for index, before in arrows.items() for earlier in before}
    y = 0.0
    for row, row_width in zip(rows, widths, strict=True):
        x = (width - row_width) / 2
        height = max(sizes[index][1] for index, to in row if to == _NODE)
        for item in row:
            index, to = item
            if to == _NODE:
                boxes[index] = Rect(x, y, *sizes[index])
            else:
                ways[item].append((x + ARROW_WIDTH / 2, y, y + height))
            x += _width(sizes, item) + GAP_X
        y += height + GAP_Y
    return Layers(boxes, ways, width, max(y - GAP_Y, 0.0))


def _width(sizes: Mapping[int, tuple[float, float]], item: _Item) -> float:
    index, to = item
    return sizes[index][0] if to == _NODE else ARROW_WIDTH


def _direct(after: Mapping[int, Sequence[int]]) -> dict[int, list[int]]:
    """Return the nodes that each node follows directly, and not also by way of others."""
    found: dict[int, list[int]] = {}
    ancestors: dict[int, int] = {}
    for index, before in after.items():
        implied = 0
        for earlier in before:
            implied |= ancestors[earlier]
        found[index] = [earlier for earlier in before if not implied >> earlier & 1]
        ancestors[index] = implied | sum(1 << earlier for earlier in found[index])
    return found


def _depth(arrows: Mapping[int, Sequence[int]]) -> dict[int, int]:
    """Return the length of the longest chain of nodes before each node."""
    depth: dict[int, int] = {}
    for index, before in arrows.items():
        depth[index] = 1 + max((depth[earlier] for earlier in before), default=-1)
    return depth


def _sink_leaves(depth: dict[int, int], arrows: Mapping[int, Sequence[int]]) -> None:
    first: dict[int, int] = {}
    for index, before in arrows.items():
        for earlier in before:
            first[earlier] = min(first.get(earlier, depth[index]), depth[index])
    depth.update({index: first.get(index, 1) - 1 for index, before in arrows.items() if not before})


def _rows(arrows: Mapping[int, Sequence[int]], depth: Mapping[int, int]) -> list[list[_Item]]:
    """Return the nodes by depth, each near those that it follows."""
    rows: list[list[_Item]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    above: dict[_Item, list[_Item]] = {}
    for index, before in arrows.items():
        item = (index, _NODE)
        rows[depth[index]].append(item)
        above[item] = []
        for earlier in before:
            last = (earlier, _NODE)
            for row in range(depth[earlier] + 1, depth[index]):
                rows[row].append((earlier, index))
                above.setdefault((earlier, index), [last])
                last = (earlier, index)
            above[item].append(last)
    place: dict[_Item, float] = {}
    for row, items in enumerate(rows):
        if row:
            # An arrow that continues to a lower row keeps its place in the row above.
            items.sort(key=lambda i: (_middle([place[i]] if i in place else [place[a] for a in above[i]]), i))
        for position, item in enumerate(items):
            place[item] = (position + 0.5) / len(items)
    return rows


def _middle(places: Sequence[float]) -> float:
    return sum(places) / len(places) if places else 1.0  # a leaf in a lower row lies to the right
