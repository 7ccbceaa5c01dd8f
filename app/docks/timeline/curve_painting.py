"""Draws curves, their keys and tangents, the ruler of frames and the playhead."""

from collections.abc import Collection
from itertools import pairwise

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPen, QPolygonF

from warploom.app.docks.timeline.scale import Scale
from warploom.app.edits.keyframes import Chosen, Curves
from warploom.app.theme import colours
from warploom.app.theme.fonts import SMALL, ui_font
from warploom.engine.patch.animation.curves import Course
from warploom.engine.patch.animation.keys import Ease
from warploom.engine.patch.animation.timeline import Timeline
from warploom.engine.patch.changes import PortRef

#: The height of the ruler, the size of a key, and the length of a tangent, in pixels.
RULER, KEY, TANGENT = 22, 5.0, 44.0
#: Colours of curves, in an order in which neighbours differ.
_COLOURS = ("blue", "orange", "green", "pink", "yellow", "purple", "teal", "grey")


def colour_name(index: int) -> str:
    """Return the name of a curve's colour by its place in the list."""
    return _COLOURS[index % len(_COLOURS)]


def curve_colour(index: int) -> QColor:
    """Return the present colour of a curve by its place in the list."""
    return QColor(colours.frame_colour(colour_name(index), colours.current()))


def tangent_ends(scale: Scale, x: float, y: float, slope: float) -> tuple[QPointF, QPointF]:
    """Return the ends of a key's tangent, before and after it."""
    across, up = scale.width / scale.span_s, -slope * scale.height / scale.range
    length = (across * across + up * up) ** 0.5
    step = QPointF(across / length * TANGENT, up / length * TANGENT)
    return QPointF(x, y) - step, QPointF(x, y) + step


def paint_ground(painter: QPainter, scale: Scale, timeline: Timeline, has_timeline: bool) -> None:
    """Draw the grid, the part between in and out, and the values at the left."""
    theme, height = colours.current(), scale.height
    painter.fillRect(QRectF(0, 0, scale.width, height + RULER), QColor(theme.canvas))
    painter.setFont(ui_font(SMALL))
    if has_timeline:
        first, last = scale.x(timeline.time_s(timeline.first)), scale.x(timeline.time_s(timeline.end + 1))
        shade = QColor(theme.text)
        shade.setAlpha(14)
        painter.fillRect(QRectF(first, RULER, last - first, height), shade)
    painter.fillRect(QRectF(0, 0, scale.width, RULER), QColor(theme.dock))
    for frame in scale.frames(timeline.rate):
        x = scale.x(timeline.time_s(frame))
        painter.setPen(QColor(theme.canvas_grid))
        painter.drawLine(QPointF(x, RULER), QPointF(x, RULER + height))
        painter.setPen(QColor(theme.text_dim))
        painter.drawLine(QPointF(x, RULER - 5), QPointF(x, RULER))
        painter.drawText(QRectF(x + 3, 0, 80, RULER - 2), Qt.AlignmentFlag.AlignVCenter, f"{frame:,}")
    for value in scale.values():
        y = RULER + scale.y(value)
        painter.setPen(QColor(theme.canvas_grid))
        painter.drawLine(QPointF(0, y), QPointF(scale.width, y))
    if has_timeline:
        painter.setPen(QPen(QColor(theme.accent), 2))
        for x, turn in ((first, 6), (last, -6)):
            painter.drawPolyline(QPolygonF([QPointF(x + turn, 2), QPointF(x, 2), QPointF(x, RULER)]))


def paint_values(painter: QPainter, scale: Scale) -> None:
    """Draw the numbers of the values over the curves, at the left."""
    painter.setPen(QColor(colours.current().text_dim))
    for value in scale.values():
        y = RULER + scale.y(value)
        painter.drawText(QRectF(4, y - 14, 90, 14), Qt.AlignmentFlag.AlignBottom, f"{value:.6g}")


def paint_hint(painter: QPainter, scale: Scale, hint: str) -> None:
    """Write a hint over the grid and the playhead; only its first line where there is no room for all of it."""
    theme, flags = colours.current(), Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
    room = QRectF(24, RULER + 4, scale.width - 48, scale.height - 8)
    painter.setPen(QColor(theme.text_dim))
    for text in (hint, hint.partition("\n")[0]):
        needed = painter.boundingRect(room, flags, text)
        if room.contains(needed):
            painter.fillRect(needed.adjusted(-8, -4, 8, 4), QColor(theme.canvas))
            painter.drawText(room, flags, text)
            return


def paint_curves(
    painter: QPainter, scale: Scale, curves: Curves, order: Collection[PortRef], chosen: Chosen, waiting: set[PortRef]
) -> None:
    """Draw curves with their keys; the keys of those that a connection drives instead are dashed."""
    theme = colours.current()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    for index, target in enumerate(order):
        curve = curves.get(target)
        if not curve:
            continue
        colour, course = curve_colour(index), Course(curve)
        path = QPainterPath(QPointF(0, RULER + scale.y(course.at(scale.time_s(0)))))
        stops = sorted({*range(0, int(scale.width) + 1, 2), *(scale.x(key.time) for key in curve)})
        held = {scale.x(two.time) for one, two in pairwise(curve) if one.ease is Ease.HOLD}
        before = path.currentPosition().y()
        for x in stops:
            if 0 <= x <= scale.width:
                y = RULER + scale.y(course.at(scale.time_s(x)))
                if x in held:
                    path.lineTo(x, before)
                path.lineTo(x, y)
                before = y
        painter.setPen(QPen(colour, 1.6, Qt.PenStyle.DashLine if target in waiting else Qt.PenStyle.SolidLine))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawPath(path)
        for key in curve:
            centre = QPointF(scale.x(key.time), RULER + scale.y(key.value))
            is_chosen = (target, key.time) in chosen
            painter.setPen(QPen(QColor(theme.text if is_chosen else theme.canvas), 1.4))
            painter.setBrush(QColor(theme.accent) if is_chosen else colour)
            painter.drawPolygon(_shape(centre, key.ease))


def paint_tangent(painter: QPainter, centre: QPointF, end: QPointF) -> None:
    """Draw one side of a tangent with its handle."""
    painter.setPen(QPen(QColor(colours.current().accent), 1.2))
    painter.setBrush(QColor(colours.current().accent))
    painter.drawLine(centre, end)
    painter.drawEllipse(end, 3.4, 3.4)


def paint_playhead(painter: QPainter, scale: Scale, time_s: float) -> None:
    """Draw the line of the present frame."""
    theme, x = colours.current(), scale.x(time_s)
    painter.setPen(QPen(QColor(theme.text), 1.2))
    painter.drawLine(QPointF(x, RULER), QPointF(x, RULER + scale.height))
    painter.setBrush(QColor(theme.text))
    painter.setPen(Qt.PenStyle.NoPen)
    painter.drawPolygon(QPolygonF([QPointF(x - 5, RULER - 9), QPointF(x + 5, RULER - 9), QPointF(x, RULER)]))


def _shape(centre: QPointF, ease: Ease) -> QPolygonF:
    """Return the outline of a key: a diamond, or a square for hold."""
    if ease is Ease.HOLD:
        corners = [(-4.0, -4.0), (4.0, -4.0), (4.0, 4.0), (-4.0, 4.0)]
    else:
        corners = [(0.0, -KEY - 0.5), (KEY + 0.5, 0.0), (0.0, KEY + 0.5), (-KEY - 0.5, 0.0)]
    return QPolygonF([centre + QPointF(*corner) for corner in corners])
