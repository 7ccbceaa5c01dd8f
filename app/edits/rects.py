"""The shortest way to a free place on the canvas."""

from collections.abc import Sequence

from warploom.engine.drawings.rect import Rect

#: The gap to a block that was in the way, and the length of a step.
_GAP, _STEP = 16.0, 8.0
#: The directions in which a free place is looked for; the first of equally short ways is taken.
_WAYS = ((0, 1), (1, 0), (0, -1))


def free_shift(rects: Sequence[Rect], others: Sequence[Rect]) -> tuple[float, float]:
    """Return the shortest shift, in steps of the canvas down, right or up, with which rectangles overlap no others."""
    ways = [shift for way in _WAYS if (shift := _along(rects, others, way)) is not None]
    return min(ways, key=lambda shift: abs(shift[0]) + abs(shift[1]), default=(0.0, 0.0))


def _along(rects: Sequence[Rect], others: Sequence[Rect], way: tuple[int, int]) -> tuple[float, float] | None:
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
        further = -(-max(away) // _STEP) * _STEP
        dx, dy = dx + way[0] * further, dy + way[1] * further
    return None


def _distance(rect: Rect, other: Rect, way: tuple[int, int]) -> float:
    """Return how far a rectangle must go along a way to leave another one, with a gap."""
    if way == (1, 0):
        return other.right - rect.x + _GAP
    return (other.bottom - rect.y if way == (0, 1) else rect.bottom - other.y) + _GAP
