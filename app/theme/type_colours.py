"""What flows through a port or a connection, and how it looks: one table for colour, shape and width.

The shape says the same as the colour, for people who don't tell the colours apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from app.theme.colours import Colours


class Flow(StrEnum):
    """What flows: the kind of a buffer's elements, and images apart from other vectors; or a single value."""

    FLOAT = "float"
    INTEGER = "integer"
    VECTOR = "vector"
    STRUCT = "struct"
    IMAGE = "image"
    ANY = "any"
    NUMBER = "number"
    FLAG = "flag"


class Shape(StrEnum):
    """Outline of a port."""

    CIRCLE = "circle"
    SQUARE = "square"
    DIAMOND = "diamond"
    HEXAGON = "hexagon"
    BAR = "bar"
    TRIANGLE = "triangle"
    CHEVRON = "chevron"
    PLUS = "plus"


@dataclass(frozen=True)
class FlowStyle:
    """Colours in the dark and light theme, the port's outline, and the connection's width in pixels at 100 %."""

    dark: str
    light: str
    shape: Shape
    width: float

    def colour(self, theme: Colours) -> str:
        """Return the colour in a theme."""
        return self.dark if theme.is_dark else self.light


FLOWS: dict[Flow, FlowStyle] = {
    Flow.FLOAT: FlowStyle("#52bfc4", "#00767d", Shape.CIRCLE, 1.6),
    Flow.INTEGER: FlowStyle("#cfc566", "#6f6500", Shape.SQUARE, 1.6),
    Flow.VECTOR: FlowStyle("#a593f2", "#5d41bd", Shape.DIAMOND, 2.0),
    Flow.STRUCT: FlowStyle("#e080c4", "#a32a80", Shape.HEXAGON, 2.4),
    Flow.IMAGE: FlowStyle("#cccccc", "#3c3c3c", Shape.BAR, 3.0),
    Flow.ANY: FlowStyle("#9a9a9a", "#6a6a6a", Shape.TRIANGLE, 1.6),
    # Values are thin beside buffers: one number flows, not a million.
    Flow.NUMBER: FlowStyle("#e2a6ea", "#87309a", Shape.CHEVRON, 1.2),
    Flow.FLAG: FlowStyle("#a9c8e8", "#3f6d94", Shape.PLUS, 1.2),
}
