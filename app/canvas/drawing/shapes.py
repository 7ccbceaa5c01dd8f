"""Helpers for all painters of the canvas: QColors, port outlines, text, and the curve of a connection."""

from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import pairwise

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPainterPath, QPen, QPolygonF, QStaticText

from warploom.app.theme.fonts import ui_font
from warploom.app.theme.port_style import PORT_STYLES

_SHORTEST, _LONGEST = 24.0, 160.0
CIRCLE_RADIUS = 4.0
_LEFT, _RIGHT = Qt.AlignmentFlag.AlignLeft, Qt.AlignmentFlag.AlignRight


def curve_points(source: QPointF, target: QPointF) -> tuple[float, float, float, float]:
    """Return where the four points of a connection's curve are from left to right.

    It leaves `source` to the right and reaches `target` from the left; the first two are as high as `source`.
    """
    sx, tx = source.x(), target.x()
    dx, dy = tx - sx, abs(target.y() - source.y())
    reach = dx / 2 if dx >= 0 else dy / 4 - dx / 2
    # Ends that are close together need no wide curve.
    reach = min(max(reach, min(_SHORTEST, (abs(dx) + dy) / 2)), _LONGEST)
    return sx, sx + reach, tx - reach, tx


def connection_path(source: QPointF, target: QPointF) -> QPainterPath:
    """Return a connection's curve."""
    _, first, last, x = curve_points(source, target)
    y = target.y()
    path = QPainterPath(source)
    path.cubicTo(first, source.y(), last, y, x, y)
    return path


def curve_area(source: QPointF, target: QPointF, margin: float) -> QRectF:
    """Return an area that holds a connection's curve, with a margin."""
    sx, first, last, tx = curve_points(source, target)
    left, right, sy, ty = min(sx, last), max(first, tx), source.y(), target.y()
    return QRectF(left - margin, min(sy, ty) - margin, right - left + 2 * margin, abs(ty - sy) + 2 * margin)


def dotted_path(source: QPointF, dots: Sequence[QPointF], target: QPointF) -> QPainterPath:
    """Return a curve from `source` to `target` through some points."""
    path = QPainterPath(source)
    for start, end in pairwise((source, *dots, target)):
        path.connectPath(connection_path(start, end))
    return path


@cache
def qcolor(colour: str) -> QColor:
    """Return a token of the theme as a QColor."""
    return QColor(colour)


#: Port outlines around the origin; a circle, which has no corners, is drawn as an ellipse.
OUTLINES = {kind: QPolygonF([QPointF(x, y) for x, y in style.outline]) for kind, style in PORT_STYLES.items()}


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
    align: Qt.AlignmentFlag = _LEFT,
) -> float:
    """Paint a line of text centred in an area's height and elided to its width. Return the width of the text."""
    drawn, width, height = _typeset(text, size, strong, area.width())
    left = area.left()
    if align is not _LEFT:
        left += (area.width() - width) * (1.0 if align is _RIGHT else 0.5)
    painter.setFont(ui_font(size, strong=strong))
    painter.setPen(qcolor(colour))
    painter.drawStaticText(QPointF(left, area.center().y() - height / 2), drawn)
    return width


@lru_cache(maxsize=8192)
def _typeset(text: str, size: int, strong: bool, most: float) -> tuple[QStaticText, float, float]:
    """Return a line of text that is elided to a width, with its width and height."""
    font = ui_font(size, strong=strong)
    metrics = QFontMetricsF(font)
    elided = metrics.elidedText(text, Qt.TextElideMode.ElideRight, most)
    drawn = QStaticText(elided)
    drawn.setTextFormat(Qt.TextFormat.PlainText)
    drawn.setPerformanceHint(QStaticText.PerformanceHint.AggressiveCaching)
    drawn.prepare(font=font)
    return drawn, metrics.horizontalAdvance(elided), metrics.height()
