"""Paints connections: lines in the colour and width for their data, sizes, and the marks of sentinels."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QPainter, QPainterPath, QPen

from warploom.app.canvas.drawing.node_painter import NEAR
from warploom.app.canvas.drawing.sentinel_mark import paint_mark
from warploom.app.canvas.drawing.shapes import on_screen, qcolor
from warploom.app.canvas.drawing.size_label import SIZES_FROM, below, has_room, paint_label
from warploom.app.theme.colours import Colours, mix
from warploom.app.theme.port_style import PORT_STYLES, PortKind
from warploom.app.view_models.activity import Activity
from warploom.engine.patch.changes import Sentinel

#: The distance from a line at which the pointer still hits it.
REACH = 6.0
_PATH_WIDTH = 3.0
#: The radius of a dot.
DOT = 5.0
#: Lines that are not emphasised let those below them shine through, the more the less happens there.
_OPACITY = {Activity.RUNS: 0.85, Activity.STILL: 0.55, Activity.ASLEEP: 0.45, Activity.ERROR: 0.85}
#: Below this zoom, lines are painted without smooth edges.
_SMOOTH_FROM = 0.1


@dataclass(slots=True)
class ConnectionAppearance:
    """A connection's momentary appearance."""

    #: The size of its data as text; "" when nothing is stored.
    size: str = ""
    activity: Activity = Activity.RUNS
    on_path: bool = False
    #: Its sentinel, if any; below, whether that has found a wrong element.
    sentinel: Sentinel | None = None
    has_found: bool = False
    hovered: bool = False


class Line(Protocol):
    """What is painted of a connection."""

    appearance: ConnectionAppearance
    ends: tuple[QPointF, QPointF]
    mark: QPointF
    dots: tuple[QPointF, ...]
    chosen_dot: int

    @property
    def kind(self) -> PortKind:
        """The kind of its data."""

    @property
    def is_dangling(self) -> bool:
        """Whether an end is a port that its block type lacks."""

    @property
    def middle(self) -> QPointF:
        """The middle of its path."""

    def path(self) -> QPainterPath:
        """Return its path."""

    def isSelected(self) -> bool:
        """Return whether it is selected."""


def paint_connections(painter: QPainter, lines: Iterable[Line], theme: Colours, scale: float) -> None:
    """Paint connections at a zoom, those that are emphasised last."""
    plain: dict[tuple[PortKind, Activity], list[Line]] = defaultdict(list)
    others: list[Line] = []
    marked: list[Line] = []
    for line in lines:
        shown = line.appearance
        if shown.hovered or shown.on_path or line.is_dangling or line.isSelected():
            others.append(line)
        else:
            plain[line.kind, shown.activity].append(line)
        if shown.sentinel is not None or (line.dots and scale >= NEAR) or (shown.size and scale >= NEAR):
            marked.append(line)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, scale >= _SMOOTH_FROM)
    for (kind, activity), group in plain.items():
        style = PORT_STYLES[kind]
        colour = theme.error if activity is Activity.ERROR else style.colour(theme)
        _stroke_lines(painter, group, colour, style.width, scale, theme, activity)
    painter.setOpacity(1.0)
    for line in others:
        _paint_other(painter, line, theme, scale)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    for line in marked:
        shown = line.appearance
        if line.dots and scale >= NEAR:
            painter.setPen(QPen(qcolor(theme.canvas), 1.5))
            painter.setBrush(qcolor(theme.accent if line.isSelected() else PORT_STYLES[line.kind].colour(theme)))
            for dot in line.dots:
                painter.drawEllipse(dot, DOT, DOT)
            if line.isSelected():
                painter.setPen(QPen(qcolor(theme.accent), 1.5))
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.drawEllipse(line.dots[line.chosen_dot % len(line.dots)], DOT + 3, DOT + 3)
        if shown.size and scale >= NEAR:
            is_roomy = has_room(shown.size, *line.ends, scale)
            if is_roomy and (line.isSelected() or scale >= SIZES_FROM):
                paint_label(painter, shown.size, line.middle, theme.text, theme, scale)
            elif line.isSelected():
                paint_label(painter, shown.size, below(line.middle, scale), theme.text, theme, scale)
        if shown.sentinel is not None:
            freezes, has_found = shown.sentinel.freezes, shown.has_found
            paint_mark(painter, line.mark, theme, scale, freezes=freezes, has_found=has_found)


def _stroke_lines(
    painter: QPainter,
    lines: Iterable[Line],
    colour: str,
    width: float,
    scale: float,
    theme: Colours,
    activity: Activity,
) -> None:
    """Draw lines of one colour."""
    opacity, style = _OPACITY[activity], _pattern(activity)
    if width * scale > 1.0:
        painter.setOpacity(opacity)
        for line in lines:
            stroke(painter, line.path(), colour, width, scale, style)
        return
    joined = QPainterPath()
    for line in lines:
        joined.addPath(line.path())
    # One path hides nothing of itself, and Qt paints an opaque one in half the time.
    painter.setOpacity(1.0)
    stroke(painter, joined, mix(colour, theme.canvas, 1.0 - opacity), width, scale, style)


def stroke(
    painter: QPainter,
    path: QPainterPath,
    colour: str,
    width: float,
    scale: float,
    style: Qt.PenStyle = Qt.PenStyle.SolidLine,
) -> None:
    """Draw a path with a width in pixels at 100 %; when zoomed out, it is at least one pixel wide."""
    pen = QPen(qcolor(colour), width, style, Qt.PenCapStyle.RoundCap)
    if width * scale <= 1.0:  # Qt draws a line of one pixel in a tenth of the time
        pen.setWidthF(1.0)
        pen = on_screen(pen, painter)
    # Not `drawPath`: it releases Python's lock, and each of a thousand connections would wait for a busy engine.
    painter.strokePath(path, pen)


def _pattern(activity: Activity) -> Qt.PenStyle:
    """Return the pattern of a line; skipped connections are dotted, so that colour is not the only sign."""
    return Qt.PenStyle.DotLine if activity is Activity.ASLEEP else Qt.PenStyle.SolidLine


def _paint_other(painter: QPainter, line: Line, theme: Colours, scale: float) -> None:
    """Paint a connection that is selected, under the pointer, on the critical path, or dangling."""
    style, shown = PORT_STYLES[line.kind], line.appearance
    colour, width = theme.error if shown.activity is Activity.ERROR else style.colour(theme), style.width
    if line.is_dangling:
        colour = theme.warning
    if shown.on_path:
        colour, width = theme.text, max(width, _PATH_WIDTH)
    if line.isSelected():
        colour = theme.accent
    emphasised = line.isSelected() or shown.hovered
    width += 1.0 if emphasised else 0.0
    if shown.on_path:
        width /= min(scale, 1.0)  # visible at any zoom
    painter.setOpacity(1.0 if emphasised or shown.on_path else _OPACITY[shown.activity])
    pattern = Qt.PenStyle.DashLine if line.is_dangling else _pattern(shown.activity)
    stroke(painter, line.path(), colour, width, scale, pattern)
    painter.setOpacity(1.0)
