"""Rectangles on the canvas and in drawings."""

from __future__ import annotations

from typing import NamedTuple


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
