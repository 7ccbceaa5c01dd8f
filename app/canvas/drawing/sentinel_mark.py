"""The mark of a sentinel on a connection: a shield at the output whose elements are checked.

The shield shows a tick, or two bars if the sentinel freezes the frame. Once an element is wrong, the shield is filled,
and shows a stroke and a dot. So the shape shows as much as the colour.
"""

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPainterPath, QPen

from warploom.app.canvas.drawing.shapes import qcolor
from warploom.app.theme.colours import Colours

#: The distance from the output, where the line begins, to the middle of the mark.
AWAY = 18.0
#: The most that the mark grows when zoomed out, and the zoom below which it would be too small and is hidden.
_MOST_GROWTH, _LEAST_SCALE = 1.75, 0.35
_WIDTH, _HEIGHT = 13.0, 15.0


def _lines(*strokes: tuple[tuple[float, float], ...]) -> QPainterPath:
    path = QPainterPath()
    for first, *others in strokes:
        path.moveTo(*first)
        for x, y in others:
            path.lineTo(x, y)
    return path


_SHIELD = _lines(((0, -7), (5.5, -5), (5.5, 0.5), (3.5, 4), (0, 6.5), (-3.5, 4), (-5.5, 0.5), (-5.5, -5), (0, -7)))
_TICK = _lines(((-2.5, -0.5), (-0.5, 1.8), (2.6, -2.4)))
_BARS = _lines(((-1.6, -2.5), (-1.6, 2)), ((1.6, -2.5), (1.6, 2)))
_WRONG = _lines(((0, -3.6), (0, 0.4)), ((0, 3), (0, 3.1)))


def mark_area(middle: QPointF) -> QRectF:
    """Return the area that a mark around a point may cover at any zoom."""
    width, height = (side * _MOST_GROWTH + 2 for side in (_WIDTH, _HEIGHT))
    return QRectF(middle.x() - width / 2, middle.y() - height / 2, width, height)


def paint_mark(
    painter: QPainter, middle: QPointF, theme: Colours, scale: float, *, freezes: bool, has_found: bool
) -> None:
    """Paint a mark at a point; `scale` is the zoom."""
    if scale < _LEAST_SCALE:
        return
    growth = min(max(1.0, 1.0 / scale), _MOST_GROWTH)
    painter.save()
    painter.translate(middle)
    painter.scale(growth, growth)
    painter.fillPath(_SHIELD, qcolor(theme.warning if has_found else theme.canvas))
    pen = QPen(qcolor(theme.warning if has_found else theme.text_dim), 1.3)
    pen.setJoinStyle(Qt.PenJoinStyle.RoundJoin)
    pen.setCapStyle(Qt.PenCapStyle.RoundCap)
    painter.strokePath(_SHIELD, pen)
    pen.setColor(qcolor(theme.canvas if has_found else theme.text))
    pen.setWidthF(1.6)
    painter.strokePath(_WRONG if has_found else _BARS if freezes else _TICK, pen)
    painter.restore()
