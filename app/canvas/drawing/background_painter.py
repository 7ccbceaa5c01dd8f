"""Paints the background with its dots."""

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QPainter, QPen, QPolygonF

from app.canvas.drawing.shapes import on_screen, qcolor
from app.theme.colours import Colours

_DISTANCE = 32
#: Below this zoom, the dots would be too dense.
_DOTS_FROM = 0.5


def paint_background(painter: QPainter, rect: QRectF, theme: Colours, zoom: float) -> None:
    """Paint the background in a rectangle of the scene."""
    painter.fillRect(rect, qcolor(theme.canvas))
    if zoom < _DOTS_FROM:
        return
    left, top = int(rect.left()) // _DISTANCE * _DISTANCE, int(rect.top()) // _DISTANCE * _DISTANCE
    dots = [
        QPointF(x, y)
        for x in range(left, int(rect.right()) + 1, _DISTANCE)
        for y in range(top, int(rect.bottom()) + 1, _DISTANCE)
    ]
    painter.setPen(on_screen(QPen(qcolor(theme.canvas_grid), 2.0), painter))
    painter.drawPoints(QPolygonF(dots))
