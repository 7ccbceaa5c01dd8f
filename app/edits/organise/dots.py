"""Edits of the dots of connections: the points that a connection passes through."""

from collections.abc import Collection, Sequence
from itertools import pairwise
from math import dist

from warploom.app.edits.nodes import snapped
from warploom.engine.diagnostics import PatchError
from warploom.engine.patch.changes import Connection, Position
from warploom.engine.patch.document import Patch
from warploom.engine.patch.organise.annotations import MOST_DOTS, Dots


def set_dots(
    patch: Patch, connection: Connection, points: Sequence[Position], name: str, *, gesture: object = None
) -> None:
    """Give a connection these dots; none makes it straight. Raise PatchError for too many."""
    target = connection.target
    if points:
        patch.annotate(Dots(node=target.node, port=target.port, points=tuple(points)), name, gesture=gesture)
    elif patch.dots(target):
        patch.remove_annotation(f"dots {target}", name)


def with_dot(patch: Patch, connection: Connection, ends: tuple[Position, Position], at: Position) -> list[Position]:
    """Return the dots of a connection with one more where it makes the shortest detour; `ends` are its ports' places.

    Raise PatchError if there are too many.
    """
    points = list(patch.dots(connection.target))
    if len(points) >= MOST_DOTS:
        raise PatchError(f"dots of a connection must be at most {MOST_DOTS}, got one more")
    way = [ends[0], *points, ends[1]]
    detours = [dist(start, at) + dist(at, end) - dist(start, end) for start, end in pairwise(way)]
    number = detours.index(min(detours))
    points.insert(number, snapped(*at))
    return points


def straighten(patch: Patch, connections: Collection[Connection]) -> None:
    """Remove the dots of connections."""
    with patch.edit("Straighten"):
        for connection in connections:
            set_dots(patch, connection, (), "Straighten")
