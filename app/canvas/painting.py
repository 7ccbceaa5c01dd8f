"""Small things that every painter of the canvas needs: colours as QColor, port outlines."""

from __future__ import annotations

from functools import cache

from PySide6.QtCore import QPointF
from PySide6.QtGui import QColor, QPolygonF

from app.theme.type_colours import Shape


@cache
def qcolor(colour: str) -> QColor:
    """Return a token of the theme as a QColor."""
    return QColor(colour)


def _polygon(*points: tuple[float, float]) -> QPolygonF:
    return QPolygonF([QPointF(x, y) for x, y in points])


#: Port outlines around the origin, of about the same area; a circle is not a polygon and is drawn as an ellipse.
OUTLINES: dict[Shape, QPolygonF] = {
    Shape.SQUARE: _polygon((-3.5, -3.5), (3.5, -3.5), (3.5, 3.5), (-3.5, 3.5)),
    Shape.DIAMOND: _polygon((0, -5), (5, 0), (0, 5), (-5, 0)),
    Shape.HEXAGON: _polygon((-4.6, 0), (-2.3, -4), (2.3, -4), (4.6, 0), (2.3, 4), (-2.3, 4)),
    Shape.BAR: _polygon((-3, -5.5), (3, -5.5), (3, 5.5), (-3, 5.5)),
    Shape.TRIANGLE: _polygon((-3.5, -4.5), (4.5, 0), (-3.5, 4.5)),
    Shape.CHEVRON: _polygon((-4.5, -4.8), (0, -4.8), (4.8, 0), (0, 4.8), (-4.5, 4.8), (-1, 0)),
    Shape.PLUS: _polygon(
        *((-1.7, -4.6), (1.7, -4.6), (1.7, -1.7), (4.6, -1.7), (4.6, 1.7), (1.7, 1.7)),
        *((1.7, 4.6), (-1.7, 4.6), (-1.7, 1.7), (-4.6, 1.7), (-4.6, -1.7), (-1.7, -1.7)),
    ),
}
CIRCLE_RADIUS = 4.0
