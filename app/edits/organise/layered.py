"""A layered layout of boxes that edges connect: sources on the left, few crossings, straight edges where possible.

The steps are those of Sugiyama, Tagawa and Toda, "Methods for visual understanding of hierarchical system structures"
(1981): break cycles, choose layers, order each layer by the barycentres of neighbours, then choose heights. An edge
over several layers gets a place in each, so that boxes leave room for it.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

#: The gap between layers, and between boxes of one layer; the height that an edge takes in a layer.
GAP_X, GAP_Y, EDGE = 64.0, 32.0, 8.0
_SWEEPS = 8
Place = tuple[float, float]
Size = tuple[float, float]


@dataclass(frozen=True)
class Edge:
    """An edge from one box to another; the heights are those of its ends, from the tops of the boxes."""

    source: str
    target: str
    source_y: float = 0.0
    target_y: float = 0.0


@dataclass(eq=False)
class _Item:
    """A box, or the place of an edge in a layer."""

    name: str
    width: float
    height: float
    layer: int = 0
    y: float = 0.0
    before: list[tuple[_Item, float, float]] = field(default_factory=list)  # a neighbour, its height, the own height
    after: list[tuple[_Item, float, float]] = field(default_factory=list)

    def wish(self, neighbours: Sequence[tuple[_Item, float, float]]) -> float:
        """Return the top with which edges to these neighbours would be level."""
        return sum(other.y + theirs - own for other, theirs, own in neighbours) / len(neighbours)


def layered(sizes: Mapping[str, Size], edges: Iterable[Edge]) -> dict[str, Place]:
    """Return the top left corners of boxes, from (0, 0) on; boxes never overlap. The result depends on nothing else."""
    known = [edge for edge in edges if edge.source in sizes and edge.target in sizes and edge.source != edge.target]
    parts = [_part(names, sizes, known) for names in _components(sizes, known)]
    return _packed(parts)


def _components(sizes: Mapping[str, Size], edges: Sequence[Edge]) -> list[list[str]]:
    """Return the connected boxes, in the order of their first ones."""
    root = {name: name for name in sizes}

    def find(name: str) -> str:
        while root[name] != name:
            root[name] = name = root[root[name]]
        return name

    for edge in edges:
        root[find(edge.source)] = find(edge.target)
    found: dict[str, list[str]] = {}
    for name in sizes:
        found.setdefault(find(name), []).append(name)
    return list(found.values())


def _packed(parts: Sequence[tuple[dict[str, Place], Size]]) -> dict[str, Place]:
    """Put the parts into rows, large ones first, so that the whole is about as wide as a screen."""
    area = sum((width + GAP_X) * (height + 2 * GAP_Y) for _, (width, height) in parts)
    most = max([*(size[0] for _, size in parts), (area * 1.6) ** 0.5], default=0.0)
    found: dict[str, Place] = {}
    x = y = row = 0.0
    for places, (width, height) in sorted(parts, key=lambda part: -len(part[0])):
        if x and x + width > most:
            x, y, row = 0.0, y + row + 2 * GAP_Y, 0.0
        found |= {name: (x + at[0], y + at[1]) for name, at in places.items()}
        x, row = x + width + GAP_X, max(row, height)
    return found


def _part(names: Sequence[str], sizes: Mapping[str, Size], edges: Sequence[Edge]) -> tuple[dict[str, Place], Size]:
    """Return the places of connected boxes, and the size of the whole."""
    inside = set(names)
    forward = _without_cycles(names, [edge for edge in edges if edge.source in inside])
    layers = _layers(names, forward, {name: _Item(name, *sizes[name]) for name in names})
    _order(layers)
    _choose_heights(layers)
    top = min(item.y for layer in layers for item in layer)
    places: dict[str, Place] = {}
    x = 0.0
    for layer in layers:
        width = max(item.width for item in layer)
        places |= {item.name: (x, item.y - top) for item in layer if item.name}
        x += width + GAP_X
    height = max(places[name][1] + sizes[name][1] for name in names)
    return places, (x - GAP_X, height)


def _without_cycles(names: Sequence[str], edges: Sequence[Edge]) -> list[Edge]:
    """Return the edges, with those that lead back on a path turned around."""
    outgoing: dict[str, list[Edge]] = {name: [] for name in names}
    fed = set()
    for edge in edges:
        outgoing[edge.source].append(edge)
        fed.add(edge.target)
    state: dict[str, int] = {}
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


def _layers(names: Sequence[str], edges: Sequence[Edge], items: Mapping[str, _Item]) -> list[list[_Item]]:
    """Give each box a layer right of all boxes that feed it, and each edge an item in the layers that it passes."""
    following: dict[str, list[str]] = {name: [] for name in names}
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
    for edge in edges:
        last, end = items[edge.source], edge.source_y
        for layer in range(last.layer + 1, items[edge.target].layer):
            passing = _Item("", 0.0, EDGE, layer)
            layers[layer].append(passing)
            _tie(last, end, passing, EDGE / 2)
            last, end = passing, EDGE / 2
        _tie(last, end, items[edge.target], edge.target_y)
    return layers


def _tie(one: _Item, one_y: float, other: _Item, other_y: float) -> None:
    one.after.append((other, other_y, one_y))
    other.before.append((one, one_y, other_y))


def _order(layers: list[list[_Item]]) -> None:
    """Order each layer so that few edges cross."""
    best, fewest = [list(layer) for layer in layers], _crossings(layers)
    for sweep in range(_SWEEPS):
        if not fewest:
            break
        forward = sweep % 2 == 0
        for layer in layers[1:] if forward else reversed(layers[:-1]):
            _sort(layer, layers, forward=forward)
        count = _crossings(layers)
        if count < fewest:
            best, fewest = [list(layer) for layer in layers], count
    layers[:] = best


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


def _choose_heights(layers: Sequence[Sequence[_Item]]) -> None:
    """Choose the tops of all items, so that edges are as level as the gaps between items allow."""
    for layer in layers:
        _settle(layer, [0.0] * len(layer))
    for sweep in range(_SWEEPS):
        forward = sweep % 2 == 0
        for layer in layers if forward else reversed(layers):
            wishes = []
            for item in layer:
                ties = item.before if forward else item.after
                wishes.append(
                    item.wish(ties) if ties else item.wish(item.before + item.after) if item.after else item.y
                )
            _settle(layer, wishes)


def _settle(layer: Sequence[_Item], wishes: Sequence[float]) -> None:
    """Put items as close to their wishes as their order and gaps allow: isotonic regression by pooling neighbours."""
    offsets, offset = [], 0.0
    for item, following in zip(layer, [*layer[1:], None], strict=True):
        offsets.append(offset)
        is_edge = following is None or not (item.name or following.name)
        offset += item.height + (EDGE if is_edge else GAP_Y)
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
