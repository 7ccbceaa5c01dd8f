"""Paints a node in detail."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from math import ceil

import msgspec
from msgspec.structs import replace
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QPainter, QPen, QPolygonF

from warploom.app.canvas.drawing.calls import Call, Calls, repeat
from warploom.app.canvas.drawing.node_layout import (
    APART,
    COMMENT_LINE,
    MOST_GROWTH,
    PADDING,
    PORT_TEXT,
    ROW,
    VALUE_GAP,
    NodeLayout,
    layout,
    text_width,
    title_size,
    value_area,
    value_width,
    wrapped,
)
from warploom.app.canvas.drawing.shapes import CIRCLE_RADIUS, OUTLINES, on_screen, paint_text, qcolor
from warploom.app.theme.colours import Colours, category_tint, faded_ink, heat_colour, ink_on, mix
from warploom.app.theme.fonts import SMALL, ui_font
from warploom.app.theme.port_style import PORT_STYLES, PortKind
from warploom.app.view_models.node_view_model import NodeViewModel, PortViewModel, SliderViewModel
from warploom.app.view_models.profile.heat import DEGREES
from warploom.engine.patch.changes import Mode
from warploom.engine.protocol.messages import NodeState

_TRACK, _HANDLE = 4.0, 5.0
#: Below this zoom, nodes are painted without details, by `overview_painter.py`.
NEAR = 0.4
#: When zoomed out, text grows until small text has this many pixels, by parts of its size at 100 %.
_LEGIBLE, _STEPS = 8.5, 16
#: Height of the strip above a node: its time, and a selection's ring.
TIME, _RING = 18.0, 8.0
ABOVE = TIME + _RING
#: Height of the strip below a node that holds its slack.
BELOW = 26.0
#: What is repainted left and right of a node: ports, and the ring that marks a selection when zoomed out.
SIDE = 14.0
RADIUS = 4.0
#: How much larger a port is under the pointer.
_HOVERED = 1.35
#: The distance of a selection's ring from the node, in pixels.
RING = 2.5
#: How far nodes that don't run fade into the canvas.
_FADES = {NodeState.IDLE: 0.45, NodeState.INCOMPLETE: 0.25}
#: How far bypassed and disabled nodes do.
_OFF = 0.55
#: The corner radius of value blocks; it makes them recognisable without their colour.
VALUE_RADIUS = 10.0
#: The share of the category's colour in the bodies of value blocks.
_VALUE_TINT = 0.4
#: The share of a node's own colour in its body.
_OWN_TINT = 0.25


class NodeAppearance(msgspec.Struct, frozen=True):
    """A node's momentary appearance, which changes more often than its model."""

    state: NodeState = NodeState.OK
    badge: str = ""
    #: Its share of the frame, from 0 to DEGREES; None while no heat map is shown.
    degree: int | None = None
    #: Whether it lies on the critical path; below, its slack as text, while the path is shown.
    on_path: bool = False
    slack: str = ""
    #: (name, is_input) of the port under the pointer.
    hovered: tuple[str, bool] | None = None
    #: While a connection is dragged, the ports where it may end; None at other times.
    fitting: frozenset[tuple[str, bool]] | None = None
    #: True while the slider on the node is dragged.
    held: bool = False


class NodeLook(msgspec.Struct, frozen=True):
    """All that decides what a node looks like, without what is painted over it and around it."""

    model: NodeViewModel
    appearance: NodeAppearance
    #: (name, is_input) of the connected ports.
    connected: frozenset[tuple[str, bool]]


def paint_node(
    painter: QPainter,
    look: NodeLook,
    values: Mapping[tuple[str, bool], str],
    theme: Colours,
    scale: float,
    *,
    selected: bool,
) -> None:
    """Paint a node at the origin; `scale` is the zoom, 1 at 100 %.

    `values` are the numbers beside value outputs and driven parameters, by the port's name and side.
    """
    model, shown, placed, growth = look.model, look.appearance, layout(look.model), text_growth(scale)
    if selected:
        pen, distance = selection_pen(theme), RING / min(scale, 1.0)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(on_screen(pen, painter) if scale < 1.0 else pen)
        radius = (VALUE_RADIUS if model.is_value else RADIUS) + distance
        painter.drawRoundedRect(placed.body.adjusted(-distance, -distance, distance, distance), radius, radius)
    plain = replace(shown, badge="", slack="") if shown.badge or shown.slack else shown
    kept = replace(look, appearance=plain) if plain is not shown else look
    repeat(painter, _painted(kept, theme, growth, scale < 1.0, painter.device().devicePixelRatio()))
    size, badge = round(SMALL * growth), str(model.mode) or shown.badge
    if badge:  # above the node, where it takes no room from the title at any zoom
        area = QRectF(0, -ABOVE, placed.width, TIME)
        paint_text(painter, area, badge, theme.text_dim, size, align=Qt.AlignmentFlag.AlignRight)
    if shown.slack:
        paint_text(painter, QRectF(2, placed.height, placed.width + 12, BELOW), shown.slack, theme.text_dim, size)
    if values:
        _paint_values(painter, look, values, theme, growth)
    paint_state_mark(painter, QPointF(placed.width - 1, 1), shown.state, theme, scale)


@lru_cache(maxsize=4096)
def _painted(look: NodeLook, theme: Colours, growth: float, is_far: bool, ratio: float) -> list[Call]:
    """Return the calls that paint a node on a device with so many pixels in one of the UI."""
    calls = Calls(ratio)
    NodePainter(calls.painter, look, layout(look.model), theme, growth, is_far).paint()
    return calls.made


@dataclass(slots=True)
class NodePainter:
    """Paints a node at the origin, without what changes with each zoom or report."""

    painter: QPainter
    look: NodeLook
    layout: NodeLayout
    theme: Colours
    #: How much larger texts are than at 100 %.
    growth: float
    is_far: bool

    def paint(self) -> None:
        """Paint the node."""
        model, layout, appearance = self.look.model, self.layout, self.look.appearance
        self._paint_body(fade_of(appearance, model))
        self.painter.setBrush(Qt.BrushStyle.NoBrush)
        self._outline(border_pen(model, appearance.state, self.theme))
        if appearance.on_path:
            pen = path_pen(self.theme)
            self._outline(on_screen(pen, self.painter) if self.is_far else pen)
        self._paint_title()
        if model.mode is Mode.BYPASSED and layout.inputs and layout.outputs:
            self._paint_bypass(layout.inputs[0], layout.outputs[0])
        self._paint_ports(round(SMALL * self.growth))
        if layout.comment is not None:
            self._paint_comment(model.comment, layout.comment)
        if model.slider is not None and layout.track is not None:
            self._paint_slider(model.slider, layout.track)

    @property
    def _radius(self) -> float:
        return VALUE_RADIUS if self.look.model.is_value else RADIUS

    @property
    def _tint(self) -> str:
        if self.look.model.missing or self.look.appearance.degree is not None:
            return self.theme.control  # a category's colour beside the colour of heat would mislead
        return category_tint(self.look.model.category, self.theme, self.look.model.colour)

    def _paint_body(self, fade: float) -> None:
        painter, layout, theme, radius = self.painter, self.layout, self.theme, self._radius
        degree = self.look.appearance.degree
        body = body_colour(self.look.model, theme)
        if degree is not None:
            body = heat_colour(degree / DEGREES)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(qcolor(mix(body, theme.canvas, fade)))
        painter.drawRoundedRect(layout.body, radius, radius)
        painter.setBrush(qcolor(mix(self._tint, theme.canvas, fade)))
        painter.drawRoundedRect(QRectF(0, 0, layout.width, layout.header), radius, radius)
        painter.drawRect(QRectF(0, layout.header - radius, layout.width, radius))

    def _paint_bypass(self, source: QPointF, target: QPointF) -> None:
        """Paint a line through the node, as its data passes."""
        self.painter.setPen(QPen(qcolor(self.theme.text_dim), 2.0, Qt.PenStyle.DotLine))
        self.painter.drawLine(source, target)

    def _outline(self, pen: QPen) -> None:
        self.painter.setPen(pen)
        self.painter.drawRoundedRect(self.layout.body, self._radius, self._radius)

    def _paint_title(self) -> None:
        model, area = self.look.model, QRectF(PADDING, 0, self.layout.width - 2 * PADDING, self.layout.header)
        size = title_size(model.title, area.width(), self.growth)
        fade, theme = fade_of(self.look.appearance, model), self.theme
        ink = faded_ink(theme.text, mix(self._tint, theme.canvas, fade), theme.canvas, fade)
        paint_text(self.painter, area, model.title, ink, size, strong=True)

    def _paint_comment(self, comment: str, area: QRectF) -> None:
        """Paint as many lines as there is room for."""
        size, degree = round(SMALL * self.growth), self.look.appearance.degree
        line = size * COMMENT_LINE
        ink = self.theme.text_dim if degree is None else heat_ink(degree)
        for number, text in enumerate(wrapped(comment, size, area.width(), max(int(area.height() / line + 0.1), 1))):
            at = QRectF(area.left(), area.top() + number * line, area.width(), line)
            paint_text(self.painter, at, text, ink, size)

    def _ports(self) -> Iterator[tuple[PortViewModel, QPointF]]:
        return _ports_of(self.look.model, self.layout)

    def _paint_ports(self, size: int) -> None:
        """Paint the ports, with names of a size."""
        model, theme, painter = self.look.model, self.theme, self.painter
        degree = self.look.appearance.degree
        names = self.layout.port_names.get(size)
        if names is None:
            names = self.layout.port_names[size] = [self._place_name(*each, size) for each in self._ports()]
        for (port, _), (area, fitted, is_left) in zip(self._ports(), names, strict=True):
            if not (model.slider is not None and port is model.outputs[0]):
                painter.setOpacity(self._opacity(port))
                align = Qt.AlignmentFlag.AlignLeft if is_left else Qt.AlignmentFlag.AlignRight
                paint_text(painter, area, port.label, port_ink(port, degree, theme), fitted, align=align)
        for port, centre in self._ports():
            painter.setOpacity(self._opacity(port))
            self._paint_port(port, centre)
        painter.setOpacity(1.0)

    def _opacity(self, port: PortViewModel) -> float:
        fitting = self.look.appearance.fitting
        return 1.0 if fitting is None or (port.name, port.is_input) in fitting else 0.25

    def _place_name(self, port: PortViewModel, centre: QPointF, size: int) -> tuple[QRectF, int, bool]:
        """Return where a port's name is, its size, and if it begins on the left.

        Enlarged text is cut off before the name on the node's other side.
        """
        most = self.layout.width - PORT_TEXT
        if size > SMALL and port.live is None:
            others = (
                each.label for each, at in self._ports() if (each.is_input, at.y()) == (not port.is_input, centre.y())
            )
            room = most - PORT_TEXT - APART
            most = room - min(text_width(next(others, ""), size, False), room / 2)
            while size > SMALL and text_width(port.label, size, False) > most:
                size -= 1  # rather than cut off the name
        area = QRectF(centre.x() + PORT_TEXT, centre.y() - ROW / 2, most, ROW)
        if not port.is_input:
            area.moveRight(centre.x() - PORT_TEXT - (value_width() + VALUE_GAP if port.live is not None else 0.0))
        return area, size, port.is_input

    def _paint_port(self, port: PortViewModel, centre: QPointF) -> None:
        painter, theme, appearance = self.painter, self.theme, self.look.appearance
        key = (port.name, port.is_input)
        style = PORT_STYLES[port.kind]
        colour = theme.warning if port.dangling else style.colour(theme)
        is_filled = key in self.look.connected or key == appearance.hovered
        painter.setPen(_port_pen(colour))
        painter.setBrush(_port_brush(colour if is_filled else theme.canvas))
        growth = _HOVERED if key == appearance.hovered else 1.0
        if not (port.dangling or style.outline):
            painter.drawEllipse(centre, CIRCLE_RADIUS * growth, CIRCLE_RADIUS * growth)
            return
        painter.translate(centre)
        painter.scale(growth, growth)
        if port.dangling:
            painter.drawLine(QPointF(-3.5, -3.5), QPointF(3.5, 3.5))
            painter.drawLine(QPointF(-3.5, 3.5), QPointF(3.5, -3.5))
        else:
            painter.drawPolygon(OUTLINES[port.kind])
        painter.scale(1 / growth, 1 / growth)
        painter.translate(-centre)

    def _paint_slider(self, slider: SliderViewModel, track: QRectF) -> None:
        """Paint a node's slider: the filled part and the handle."""
        painter, theme, held = self.painter, self.theme, self.look.appearance.held
        colour = PORT_STYLES[PortKind.NUMBER].colour(theme)
        middle = track.center().y()
        line = QRectF(track.left(), middle - _TRACK / 2, track.width(), _TRACK)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(qcolor(mix(theme.canvas, theme.text, 0.12)))
        painter.drawRoundedRect(line, _TRACK / 2, _TRACK / 2)
        at = handle_at(slider, track)
        painter.setBrush(qcolor(colour))
        zero = handle_at(replace(slider, value=min(max(0.0, slider.minimum), slider.maximum)), track)
        # A slider whose range includes negative and positive values is filled from 0.
        start = zero if slider.minimum < 0 < slider.maximum else line.left()
        filled = QRectF(QPointF(min(start, at), line.top()), QPointF(max(start, at), line.bottom()))
        painter.drawRoundedRect(filled, _TRACK / 2, _TRACK / 2)
        painter.setBrush(qcolor(mix(colour, theme.text, 0.35 if held else 0.0)))
        radius = _HANDLE + (1.0 if held else 0.0)
        painter.drawEllipse(QPointF(at, middle), radius, radius)


def _ports_of(model: NodeViewModel, layout: NodeLayout) -> Iterator[tuple[PortViewModel, QPointF]]:
    """Yield each port with its centre."""
    yield from zip(model.inputs, layout.inputs, strict=True)
    yield from zip(model.outputs, layout.outputs, strict=True)


def _paint_values(
    painter: QPainter, look: NodeLook, values: Mapping[tuple[str, bool], str], theme: Colours, growth: float
) -> None:
    """Paint the numbers of ports; they are right-aligned, so the decimal point stays."""
    placed, size, degree = layout(look.model), round(SMALL * growth), look.appearance.degree
    ink = mix(theme.text, theme.canvas, fade_of(look.appearance, look.model)) if degree is None else heat_ink(degree)
    painter.setFont(ui_font(size))
    painter.setPen(qcolor(ink))
    flags = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextDontClip
    for port, centre in _ports_of(look.model, placed):
        text = values.get((port.name, port.is_input))
        if text is not None:
            area = value_area(port, centre, placed)
            if port.is_input:  # an enlarged name may reach the number
                name = PORT_TEXT + placed.names * growth + VALUE_GAP
                area.setRight(max(area.right(), centre.x() + name + text_width(text, size, False)))
            painter.drawText(area, flags, text)


@cache
def _port_pen(colour: str) -> QPen:
    return QPen(qcolor(colour), 1.4)


@cache
def _port_brush(colour: str) -> QBrush:
    return QBrush(qcolor(colour))


def fade_of(appearance: NodeAppearance, model: NodeViewModel) -> float:
    """Return how far a node fades into the canvas, since it does not run or has no port for a dragged connection."""
    is_out = appearance.fitting is not None and not appearance.fitting
    return 0.65 if is_out else max(_FADES.get(appearance.state, 0.0), _OFF if model.mode else 0.0)


def border_pen(model: NodeViewModel, state: NodeState, theme: Colours) -> QPen:
    """Return the pen for a node's outline, which shows its state."""
    colour = {NodeState.ERROR: theme.error, NodeState.WARNING: theme.warning}.get(state)
    if model.missing:
        return QPen(qcolor(colour or theme.warning), 1.4, Qt.PenStyle.DashLine)
    if state is NodeState.INCOMPLETE or model.mode:
        return QPen(qcolor(theme.text_dim), 1.0, Qt.PenStyle.DashLine)
    return QPen(qcolor(colour or theme.node_border), 1.6 if colour else 1.0)


def path_pen(theme: Colours) -> QPen:
    """Return the pen for the outline of a node on the critical path."""
    return QPen(qcolor(theme.text), 2.0)


def selection_pen(theme: Colours) -> QPen:
    """Return the pen for the ring around a selected node."""
    return QPen(qcolor(theme.accent), 2.0)


def paint_state_mark(painter: QPainter, corner: QPointF, state: NodeState, theme: Colours, scale: float) -> None:
    """Paint a disc for an error or a triangle for a warning on a node's upper right corner, where it covers no text."""
    if state not in (NodeState.ERROR, NodeState.WARNING):
        return
    size = max(1.0, 0.8 / scale)
    painter.save()
    painter.translate(corner)
    painter.scale(size, size)
    painter.setPen(QPen(qcolor(theme.canvas), 1.5))
    if state is NodeState.ERROR:
        painter.setBrush(qcolor(theme.error))
        painter.drawEllipse(QPointF(0, 0), 7, 7)
    else:
        painter.setBrush(qcolor(theme.warning))
        painter.drawPolygon(QPolygonF([QPointF(0, -8.5), QPointF(8.5, 6), QPointF(-8.5, 6)]))
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(qcolor(theme.canvas if theme.is_dark else theme.control_hover))
    painter.drawRect(QRectF(-0.9, -3.8, 1.8, 5))
    painter.drawRect(QRectF(-0.9, 2.4, 1.8, 1.8))
    painter.restore()


def body_colour(model: NodeViewModel, theme: Colours) -> str:
    """Return the colour of a node below its title: neutral, or tinted for a value block."""
    amount = _VALUE_TINT if model.is_value else _OWN_TINT if model.colour else 0.0
    return mix(theme.node, category_tint(model.category, theme, model.colour), amount)


def text_growth(scale: float) -> float:
    """Return the factor by which text on nodes is larger than at 100 %, so that it is readable at this zoom.

    It grows in steps, between which nodes are painted alike.
    """
    return min(max(ceil(_LEGIBLE / (SMALL * scale) * _STEPS) / _STEPS, 1.0), MOST_GROWTH)


def heat_ink(degree: int) -> str:
    """Return the colour of text on a node of some heat."""
    return ink_on(heat_colour(degree / DEGREES))


def port_ink(port: PortViewModel, degree: int | None, theme: Colours) -> str:
    """Return the colour of a port's name: less prominent than a title, except in the heat map."""
    if degree is not None:
        return heat_ink(degree)
    if port.dangling:
        return theme.warning
    return mix(theme.text_faint, theme.text_dim, 0.6) if port.optional else theme.text_dim


def handle_at(slider: SliderViewModel, track: QRectF) -> float:
    """Return the position of the middle of the slider's handle, which never leaves the track."""
    return track.left() + _HANDLE + slider.share * (track.width() - 2 * _HANDLE)


def share_at(x: float, track: QRectF) -> float:
    """Return the share of the slider, from 0 to 1, at a position."""
    return min(max((x - track.left() - _HANDLE) / (track.width() - 2 * _HANDLE), 0.0), 1.0)
