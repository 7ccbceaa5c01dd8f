"""The size of a connection's data, as a label on its middle."""

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter

from warploom.app.canvas.drawing.node_layout import MOST_GROWTH, text_width
from warploom.app.canvas.drawing.node_painter import text_growth
from warploom.app.canvas.drawing.shapes import paint_text, qcolor
from warploom.app.theme.colours import Colours
from warploom.app.theme.fonts import SMALL

#: From this zoom on, every connection with enough room has its label. A selected connection always has its label if
#: text is painted.
SIZES_FROM = 1.25
#: Space at both ends, so that a label covers no port.
_PORTS = 12.0
_PADDING, _HEIGHT = 3.0, 15.0


def label_width(text: str, scale: float) -> float:
    """Return the width of a label at a zoom, in units of the scene.

    When zoomed in, a label keeps its size on the screen, so that shorter connections have room for it.
    """
    return (text_width(text, SMALL, False) + 2 * _PADDING) * _factor(scale)


def has_room(text: str, source: QPointF, target: QPointF, scale: float) -> bool:
    """Return whether a label leaves enough of a connection between two ports in sight at a zoom."""
    away = target - source
    return max(abs(away.x()), abs(away.y())) >= label_width(text, scale) + _PORTS


def label_area(text: str, middle: QPointF) -> QRectF:
    """Return the area that a label around a point, or below it, may cover at any zoom."""
    width, height = label_width(text, 0.0), _HEIGHT * MOST_GROWTH
    return QRectF(middle.x() - width / 2, middle.y() - height / 2, width, 2 * height)


def below(middle: QPointF, scale: float) -> QPointF:
    """Return the middle of a label that is below a line, which it would hide."""
    return middle + QPointF(0.0, _HEIGHT * _factor(scale))


def paint_label(painter: QPainter, text: str, middle: QPointF, ink: str, theme: Colours, scale: float) -> None:
    """Paint a label over a rounded rectangle in the colour of the canvas."""
    factor = _factor(scale)
    width = label_width(text, scale) / factor
    area = QRectF(-width / 2, -_HEIGHT / 2, width, _HEIGHT)
    painter.save()
    painter.translate(middle)
    painter.scale(factor, factor)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(qcolor(theme.canvas))
    painter.drawRoundedRect(area, 3.0, 3.0)
    paint_text(painter, area.adjusted(_PADDING, 0, 1, 0), text, ink, SMALL)
    painter.restore()


def _factor(scale: float) -> float:
    return 1.0 / scale if scale > 1.0 else text_growth(scale) if scale else MOST_GROWTH
