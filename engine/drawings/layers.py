"""A layered layout of boxes that edges connect: sources on the left, few crossings, straight edges where possible.

The steps are those of Sugiyama, Tagawa and Toda, "Methods for visual understanding of hierarchical system structures"
(1981): break cycles, choose layers, order each layer by the barycentres of neighbours, then choose heights. An edge
over several layers gets a place in each, so that boxes leave room for it.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Generic, TypeVar

import msgspec

from warploom.engine.drawings.rect import Rect

#: The gap between layers, and between boxes of one layer; the height that an edge takes in a layer.
GAP_X, GAP_Y, EDGE = 64.0, 32.0, 8.0
#: Sweeps over the layers that improve the order and the heights, and the items that each kind may visit in all.
_SWEEPS, _MOST_VISITS = 8, 400_000
Place = tuple[float, float]
Size = tuple[float, float]
Name = TypeVar("Name", bound=Hashable)
#: The lines that an edge follows through the layers between its ends, each as (y, left, right).
Way = list[tuple[float, float, float]]


class Edge(msgspec.Struct, Generic[Name], frozen=True):
    """An edge from one box to another; the heights are those of its ends, from the tops of the boxes."""

    source: Name
    target: Name
    source_y: float = 0.0
    target_y: float = 0.0


class Layers(msgspec.Struct, Generic[Name], frozen=True):
    """A box for every name, from (0, 0) on, and the way of every edge, by its two ends."""

    boxes: dict[Name, Rect]
    ways: dict[tuple[Name, Name], Way]
    width: float = 0.0
    height: float = 0.0


@dataclass(eq=False)
class _Item:
    """A box, or the place of an edge in a layer."""

    is_box: bool
    width: float
    height: float
    layer: int = 0
    y: float = 0.0
    before: list[tuple[_Item, float, float]] = field(default_factory=list)  # a neighbour, its height, the own height
    after: list[tuple[_Item, float, float]] = field(default_factory=list)

    def wish(self, neighbours: Sequence[tuple[_Item, float, float]]) -> float:
        """Return the top with which edges to these neighbours would be level."""
        return sum(other.y + theirs - own for other, theirs, own in neighbours) / len(neighbours)


def arrange_layers(
    sizes: Mapping[Name, Size], edges: Iterable[Edge[Name]], gap_x: float = GAP_X, gap_y: float = GAP_Y
) -> Layers[Name]:
    """Return the layout of boxes of these sizes; boxes never overlap. The result depends on nothing else."""
    known = [edge for edge in edges if edge.source in sizes and edge.target in sizes and edge.source != edge.target]
    parts = [_part(names, sizes, known, gap_x, gap_y) for names in _components(sizes, known)]
    return _packed(parts, gap_x, gap_y)


def arrange_columns(after: Mapping[int, Sequence[int]], sizes: Mapping[int, Size]) -> Layers[int]:
    """Return a layout from left to right with smaller gaps; `after` has the boxes that each box follows.

    Edges are tied to the middles of boxes.
    """
    pairs = ((earlier, index) for index, before in after.items() for earlier in before)
    edges = [Edge(earlier, index, sizes[earlier][1] / 2, sizes[index][1] / 2) for earlier, index in pairs]
    return arrange_layers(sizes, edges, 34.0, 18.0)


def arrange_rows(after: Mapping[int, Sequence[int]], sizes: Mapping[int, Size]) -> Layers[int]:
    """Return the layout of `arrange_columns` from top to bottom. Lines of ways are (x, top, bottom)."""
    turned = arrange_columns(after, {index: (height, width) for index, (width, height) in sizes.items()})
    boxes = {index: Rect(box.y, box.x, box.height, box.width) for index, box in turned.boxes.items()}
    return Layers(boxes, turned.ways, turned.height, turned.width)


def direct(after: Mapping[int, Sequence[int]]) -> dict[int, list[int]]:
    """Return the boxes that each box follows directly, and not also by way of others, of boxes in a possible order."""
    found: dict[int, list[int]] = {}
    ancestors: dict[int, int] = {}
    for index, before in after.items():
        implied = 0
        for earlier in before:
            implied |= ancestors[earlier]
        found[index] = [earlier for earlier in before if not implied >> earlier & 1]
        ancestors[index] = implied | sum(1 << earlier for earlier in found[index])
    return found


def _components(sizes: Mapping[Name, Size], edges: Sequence[Edge[Name]]) -> list[list[Name]]:
    """Return the connected boxes, in the order of their first ones."""
    root = {name: name for name in sizes}

    def find(name: Name) -> Name:
        while root[name] != name:
            root[name] = name = root[root[name]]
        return name

    for edge in edges:
        root[find(edge.source)] = find(edge.target)
    found: dict[Name, list[Name]] = {}
    for name in sizes:
        found.setdefault(find(name), []).append(name)
    return list(found.values())


def _packed(parts: Sequence[Layers[Name]], gap_x: float, gap_y: float) -> Layers[Name]:
    """Put the parts into rows, large ones first, so that the whole is about as wide as a screen."""
    area = sum((part.width + gap_x) * (part.height + 2 * gap_y) for part in parts)
    most = max([*(part.width for part in parts), (area * 1.6) ** 0.5], default=0.0)
    boxes: dict[Name, Rect] = {}
    ways: dict[tuple[Name, Name], Way] = {}
    x = y = row = width = 0.0
    for part in sorted(parts, key=lambda part: -len(part.boxes)):
        if x and x + part.width > most:
            x, y, row = 0.0, y + row + 2 * gap_y, 0.0
        boxes |= {name: box.moved(x, y) for name, box in part.boxes.items()}
        ways |= {ends: [(at + y, left + x, right + x) for at, left, right in way] for ends, way in part.ways.items()}
        width, row = max(width, x + part.width), max(row, part.height)
        x += part.width + gap_x
    return Layers(boxes, ways, width, y + row)


def _part(
    names: Sequence[Name], sizes: Mapping[Name, Size], edges: Sequence[Edge[Name]], gap_x: float, gap_y: float
) -> Layers[Name]:
    """Return the layout of connected boxes."""
    inside = set(names)
    forward = _without_cycles(names, [edge for edge in edges if edge.source in inside])
    items = {name: _Item(True, *sizes[name]) for name in names}
    layers, passing = _layers(names, forward, items)
    _order(layers)
    _choose_heights(layers, gap_y)
    top = min(item.y for layer in layers for item in layer)
    spans: list[tuple[float, float]] = []  # the left and right ends of the layers
    for layer in layers:
        left = spans[-1][1] + gap_x if spans else 0.0
        spans.append((left, left + max(item.width for item in layer)))
    boxes = {name: Rect(spans[item.layer][0], item.y - top, *sizes[name]) for name, item in items.items()}
    ways = {
        ends: [(item.y - top + EDGE / 2, *spans[item.layer]) for item in between] for ends, between in passing.items()
    }
    bottom = max(item.y + item.height for layer in layers for item in layer)
    return Layers(boxes, ways, spans[-1][1], bottom - top)


def _without_cycles(names: Sequence[Name], edges: Sequence[Edge[Name]]) -> list[Edge[Name]]:
    """Return the edges, with those that lead back on a path turned around."""
    outgoing: dict[Name, list[Edge[Name]]] = {name: [] for name in names}
    fed = set()
    for edge in edges:
        outgoing[edge.source].append(edge)
        fed.add(edge.target)
    state: dict[Name, int] = {}
    found = []
    for start in sorted(names, key=lambda name: name in fed):  # stable: sources first
        if start in state:
            continue
        state[start] = 1
        waiting = [(start, iter(outgoing[start]))]
        while waiting:
            name, rest = waiting[-1]
            step = next(rest, None)
            if step is None:
                state[name] = 2
                waiting.pop()
            elif state.get(step.target) == 1:
                found.append(Edge(step.target, step.source, step.target_y, step.source_y))
            else:
                found.append(step)
                if step.target not in state:
                    state[step.target] = 1
                    waiting.append((step.target, iter(outgoing[step.target])))
    return found


def _layers(
    names: Sequence[Name], edges: Sequence[Edge[Name]], items: Mapping[Name, _Item]
) -> tuple[list[list[_Item]], dict[tuple[Name, Name], list[_Item]]]:
    """Give each box a layer right of all boxes that feed it, and each edge an item in the layers that it passes.

    Return the layers, and the items of edges by their ends.
    """
    following: dict[Name, list[Name]] = {name: [] for name in names}
    missing = dict.fromkeys(names, 0)
    for edge in edges:
        following[edge.source].append(edge.target)
        missing[edge.target] += 1
    sources = [name for name in names if not missing[name]]
    order, first = list(sources), set(sources)
    for name in order:  # which grows
        for target in following[name]:
            items[target].layer = max(items[target].layer, items[name].layer + 1)
            missing[target] -= 1
            if not missing[target]:
                order.append(target)
    for name in reversed(order):  # a source stands directly before what it feeds
        if name in first and following[name]:
            items[name].layer = min(items[target].layer for target in following[name]) - 1
    layers: list[list[_Item]] = [[] for _ in range(1 + max(item.layer for item in items.values()))]
    for name in order:
        layers[items[name].layer].append(items[name])
    between: dict[tuple[Name, Name], list[_Item]] = {(edge.source, edge.target): [] for edge in edges}
    for edge in edges:
        last, end = items[edge.source], edge.source_y
        for layer in range(last.layer + 1, items[edge.target].layer):
            passing = _Item(False, 0.0, EDGE, layer)
            layers[layer].append(passing)
            between[edge.source, edge.target].append(passing)
            _tie(last, end, passing, EDGE / 2)
            last, end = passing, EDGE / 2
        _tie(last, end, items[edge.target], edge.target_y)
    return layers, between


def _tie(one: _Item, one_y: float, other: _Item, other_y: float) -> None:
    one.after.append((other, other_y, one_y))
    other.before.append((one, one_y, other_y))


def _order(layers: list[list[_Item]]) -> None:
    """Order each layer so that few edges cross."""
    best, fewest = [list(layer) for layer in layers], _crossings(layers)
    for sweep in range(_sweeps(layers)):
        if not fewest:
            break
        forward = sweep % 2 == 0
        for layer in layers[1:] if forward else reversed(layers[:-1]):
            _sort(layer, layers, forward=forward)
        count = _crossings(layers)
        if count < fewest:
            best, fewest = [list(layer) for layer in layers], count
    layers[:] = best


def _sweeps(layers: Sequence[Sequence[_Item]]) -> int:
    return max(2, min(_SWEEPS, _MOST_VISITS // sum(map(len, layers))))


def _sort(layer: list[_Item], layers: Sequence[Sequence[_Item]], *, forward: bool) -> None:
    """Sort a layer by the mean places of neighbours in the next one; items without any keep their places."""
    at = layer[0].layer + (-1 if forward else 1)
    rank = {id(item): float(index) for index, item in enumerate(layers[at])}
    own = {id(item): float(index) for index, item in enumerate(layer)}

    def key(item: _Item) -> float:
        ties = item.before if forward else item.after
        # The heights of ports tell edges from the same box apart.
        ranks = [rank[id(other)] + y / (other.height + 1.0) for other, y, _ in ties]
        return sum(ranks) / len(ranks) if ranks else own[id(item)]

    layer.sort(key=key)


def _crossings(layers: Sequence[Sequence[_Item]]) -> int:
    count = 0
    for layer, following in pairwise(layers):
        rank = {id(item): index for index, item in enumerate(following)}
        seen: list[tuple[int, float]] = []
        for item in layer:
            ends = [(own, (rank[id(other)], y)) for other, y, own in item.after]
            for _, end in sorted(ends):
                count += len(seen) - bisect_right(seen, end)
                insort(seen, end)
    return count


def _choose_heights(layers: Sequence[Sequence[_Item]], gap: float) -> None:
    """Choose the tops of all items, so that edges are as level as the gaps between items allow."""
    for layer in layers:
        _settle(layer, [0.0] * len(layer), gap)
    for sweep in range(_sweeps(layers)):
        forward = sweep % 2 == 0
        for layer in layers if forward else reversed(layers):
            wishes = []
            for item in layer:
                ties = item.before if forward else item.after
                wishes.append(
                    item.wish(ties) if ties else item.wish(item.before + item.after) if item.after else item.y
                )
            _settle(layer, wishes, gap)


def _settle(layer: Sequence[_Item], wishes: Sequence[float], gap: float) -> None:
    """Put items as close to their wishes as their order and gaps allow: isotonic regression by pooling neighbours."""
    offsets, offset = [], 0.0
    for item, following in zip(layer, [*layer[1:], None], strict=True):
        offsets.append(offset)
        is_edge = following is None or not (item.is_box or following.is_box)
        offset += item.height + (EDGE if is_edge else gap)
    pools: list[tuple[float, int]] = []  # a mean and its number of items
    for wish, at in zip(wishes, offsets, strict=True):
        mean, number = wish - at, 1
        while pools and pools[-1][0] >= mean:
            other, count = pools.pop()
            mean, number = (mean * number + other * count) / (number + count), number + count
        pools.append((mean, number))
    means = [mean for mean, number in pools for _ in range(number)]
    for item, mean, at in zip(layer, means, offsets, strict=True):
        item.y = mean + at
