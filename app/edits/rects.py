"""Rectangles on the canvas, and the shortest way to a free place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

#: The gap to a block that was in the way.
_GAP = 16.0
#: The directions in which a free place is looked for; the first of equally short ways is taken.
_WAYS = ((0, 1), (1, 0), (0, -1))


class Rect(NamedTuple):
    """A rectangle: the top left corner, and the size."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """The right edge."""
        return self.x + self.width

    @property
    def bottom(self) -> float:
        """The lower edge."""
        return self.y + self.height

    def united(self, other: Rect) -> Rect:
        """Return the rectangle around both."""
        x, y = min(self.x, other.x), min(self.y, other.y)
        return Rect(x, y, max(self.right, other.right) - x, max(self.bottom, other.bottom) - y)

    def overlaps(self, other: Rect) -> bool:
        """True when the insides share points."""
        return self.x < other.right and other.x < self.right and self.y < other.bottom and other.y < self.bottom

    def moved(self, dx: float, dy: float) -> Rect:
        """Return it at another place."""
        return Rect(self.x + dx, self.y + dy, self.width, self.height)


def free_shift(rects: Sequence[Rect], others: Sequence[Rect], step: float = 8.0) -> tuple[float, float]:
    """Return the shortest shift, in steps down, right or up, with which rectangles overlap no others."""
    ways = [shift for way in _WAYS if (shift := _along(rects, others, way, step)) is not None]
    return min(ways, key=lambda shift: abs(shift[0]) + abs(shift[1]), default=(0.0, 0.0))


def _along(
    rects: Sequence[Rect], others: Sequence[Rect], way: tuple[int, int], step: float
) -> tuple[float, float] | None:
    dx = dy = 0.0
    for _ in range(len(others) + 1):
        away = [
            _distance(rect.moved(dx, dy), other, way)
            for rect in rects
            for other in others
            if rect.moved(dx, dy).overlaps(other)
        ]
        if not away:
            return dx, dy
        further = -(-max(away) // step) * step
        dx, dy = dx + way[0] * further, dy + way[1] * further
    return None


def _distance(rect: Rect, other: Rect, way: tuple[int, int]) -> float:
    """Return how far a rectangle must go along a way to leave another one, with a gap."""
    if way == (1, 0):
        return other.right - rect.x + _GAP
    return (other.bottom - rect.y if way == (0, 1) else rect.bottom - other.y) + _GAP
