"""Helpers for all painters of the canvas: QColors, port outlines, text, and the curve of a connection."""

from functools import cache

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPainterPath, QPen, QPolygonF

from app.theme.fonts import ui_font
from app.theme.port_style import PortShape

_SHORTEST, _LONGEST = 24.0, 160.0
CIRCLE_RADIUS = 4.0


def connection_path(source: QPointF, target: QPointF) -> QPainterPath:
    """Return a curve that leaves `source` to the right and reaches `target` from the left."""
    dx, dy = target.x() - source.x(), target.y() - source.y()
    reach = abs(dx) / 2 if dx >= 0 else abs(dx) / 2 + abs(dy) / 4
    # Ends that are close together need no wide curve.
    reach = min(max(reach, min(_SHORTEST, (abs(dx) + abs(dy)) / 2)), _LONGEST)
    path = QPainterPath(source)
    path.cubicTo(QPointF(source.x() + reach, source.y()), QPointF(target.x() - reach, target.y()), target)
    return path


@cache
def qcolor(colour: str) -> QColor:
    """Return a token of the theme as a QColor."""
    return QColor(colour)


def _polygon(*points: tuple[float, float]) -> QPolygonF:
    return QPolygonF([QPointF(x, y) for x, y in points])


#: Port outlines around the origin, with about equal areas; a circle is drawn as an ellipse instead of a polygon.
OUTLINES: dict[PortShape, QPolygonF] = {
    PortShape.SQUARE: _polygon((-3.5, -3.5), (3.5, -3.5), (3.5, 3.5), (-3.5, 3.5)),
    PortShape.DIAMOND: _polygon((0, -5), (5, 0), (0, 5), (-5, 0)),
    PortShape.HEXAGON: _polygon((-4.6, 0), (-2.3, -4), (2.3, -4), (4.6, 0), (2.3, 4), (-2.3, 4)),
    PortShape.BAR: _polygon((-3, -5.5), (3, -5.5), (3, 5.5), (-3, 5.5)),
    PortShape.TRIANGLE: _polygon((-3.5, -4.5), (4.5, 0), (-3.5, 4.5)),
    PortShape.CHEVRON: _polygon((-4.5, -4.8), (0, -4.8), (4.8, 0), (0, 4.8), (-4.5, 4.8), (-1, 0)),
    PortShape.PLUS: _polygon(
        *((-1.7, -4.6), (1.7, -4.6), (1.7, -1.7), (4.6, -1.7), (4.6, 1.7), (1.7, 1.7)),
        *((1.7, 4.6), (-1.7, 4.6), (-1.7, 1.7), (-4.6, 1.7), (-4.6, -1.7), (-1.7, -1.7)),
    ),
}


def on_screen(pen: QPen, painter: QPainter) -> QPen:
    """Return a pen with its width in UI pixels at any zoom; Qt's cosmetic pens ignore the screen's scale."""
    pen.setWidthF(pen.widthF() * painter.device().devicePixelRatio())
    pen.setCosmetic(True)
    return pen


def paint_text(
    painter: QPainter,
    area: QRectF,
    text: str,
    colour: str,
    size: int,
    *,
    strong: bool = False,
    align: Qt.AlignmentFlag = Qt.AlignmentFlag.AlignLeft,
) -> float:
    """Paint a line of text centred in an area's height and elided to its width. Return the width of the text."""
    font = ui_font(size, strong=strong)
    metrics = QFontMetricsF(font)
    elided = metrics.elidedText(text, Qt.TextElideMode.ElideRight, area.width())
    painter.setFont(font)
    painter.setPen(qcolor(colour))
    painter.drawText(area, align | Qt.AlignmentFlag.AlignVCenter, elided)
    return metrics.horizontalAdvance(elided)
