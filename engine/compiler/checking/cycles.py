"""Cycles: blocks that would depend on themselves, each named as a way round."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from engine.patch.changes import Connection

#: The most cycles that are reported for one strongly connected part; others are reported after these are fixed.
MOST_NAMED = 16


@dataclass(frozen=True)
class Edge:
    """`after` runs after `before` because of a connection, whose ends may lie in regions that the two stand for."""

    before: str
    after: str
    connection: Connection


@dataclass(frozen=True)
class Cycle:
    """The nodes of a way round, the first also at the end, and the connection from the first to the second."""

    nodes: tuple[str, ...]
    connection: Connection


def find_cycles(edges: Iterable[Edge]) -> list[Cycle]:
    """Return cycles that between them go through every block on a cycle, in the order of the edges."""
    edges = list(edges)
    following: dict[str, list[str]] = {}
    for edge in edges:
        following.setdefault(edge.before, []).append(edge.after)
    knot_of = knots(following)
    named: dict[int, int] = {}
    seen: set[str] = set()
    cycles = []
    for edge in edges:
        knot = knot_of[edge.before]
        if edge.before in seen or knot_of[edge.after] != knot or named.get(knot, 0) >= MOST_NAMED:
            continue
        way = way_round(following, knot_of, (edge.before, edge.after))
        seen.update(way)
        named[knot] = named.get(knot, 0) + 1
        cycles.append(Cycle(way, edge.connection))
    return cycles


def way_round(following: Mapping[str, list[str]], knot_of: Mapping[str, int], edge: tuple[str, str]) -> tuple[str, ...]:
    """Return a shortest way along an edge of a knot and back, its first node also at the end."""
    return (edge[0], *_way(following, knot_of, edge[1], edge[0]))


def _way(following: Mapping[str, list[str]], knot_of: Mapping[str, int], start: str, goal: str) -> list[str]:
    """Return a shortest way within a knot, both ends included."""
    came_from: dict[str, str] = {}
    waiting = [start]
    for node in waiting:  # grows as nodes are reached
        if node == goal:
            break
        for other in following.get(node, ()):
            if other != start and other not in came_from and knot_of[other] == knot_of[start]:
                came_from[other] = node
                waiting.append(other)
    way = [goal]
    while way[-1] != start:
        way.append(came_from[way[-1]])
    return way[::-1]


def knots(following: Mapping[str, list[str]]) -> dict[str, int]:
    """Return the number of each node's strongly connected component (Tarjan's algorithm, without recursion)."""
    index: dict[str, int] = {}
    lowest: dict[str, int] = {}
    open_nodes: list[str] = []
    knot_of: dict[str, int] = {}
    count = 0
    for root in following:
        if root in index:
            continue
        index[root] = lowest[root] = len(index)
        open_nodes.append(root)
        way = [(root, iter(following[root]))]
        while way:
            node, others = way[-1]
            for other in others:
                if other not in index:
                    index[other] = lowest[other] = len(index)
                    open_nodes.append(other)
                    way.append((other, iter(following.get(other, ()))))
                    break
                if other not in knot_of:
                    lowest[node] = min(lowest[node], index[other])
            else:
                way.pop()
                if way:
                    above = way[-1][0]
                    lowest[above] = min(lowest[above], lowest[node])
                if lowest[node] == index[node]:
                    count += 1
                    while True:
                        member = open_nodes.pop()
                        knot_of[member] = count
                        if member == node:
                            break
    return knot_of
