"""Paints a node. What is shown depends on the zoom: everything, a large title, or a block of its category's colour."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPen, QPolygonF

from app.canvas.faces import NodeFace, PortFace
from app.canvas.node_layout import HEADER, PADDING, PORT_TEXT, ROW, NodeLayout
from app.canvas.painting import CIRCLE_RADIUS, OUTLINES, qcolor
from app.theme.colours import Colours, category_tint, mix
from app.theme.fonts import BODY, FAR, SMALL, ui_font
from app.theme.type_colours import FLOWS, Shape
from engine.runtime.messages import NodeState

#: Below this zoom port names and badges are hidden and titles are large; below the next, titles are hidden as well.
NEAR, MIDDLE = 0.65, 0.28
_RADIUS = 4.0


@dataclass(frozen=True)
class NodeLook:
    """What changes about a node while its face stays."""

    state: NodeState = NodeState.OK
    badge: str = ""
    selected: bool = False
    #: (name, is_input) of the ports that something is connected to, and of the one under the pointer.
    connected: frozenset[tuple[str, bool]] = frozenset()
    hovered: tuple[str, bool] | None = None
    #: While a connection is dragged: the ports it may end at. None at other times.
    fitting: Set[tuple[str, bool]] | None = None


def paint_node(
    painter: QPainter, face: NodeFace, layout: NodeLayout, look: NodeLook, theme: Colours, scale: float
) -> None:
    """Paint a node at the origin; `scale` is the zoom, 1 at 100 %."""
    is_out = look.fitting is not None and not look.fitting
    fade = 0.65 if is_out else 0.45 if look.state is NodeState.IDLE else 0.0
    _paint_body(painter, face, layout, theme, scale, fade)
    _paint_border(painter, face, layout, look, theme, scale)
    if scale >= MIDDLE:
        ink = mix(theme.text, theme.canvas, fade)
        if scale < NEAR:
            _paint_far_title(painter, face, layout, ink)
        else:
            _paint_header(painter, face, layout, look, theme, ink)
        _paint_ports(painter, face, layout, look, theme, scale)
        _paint_state_mark(painter, QPointF(layout.width - 1, 1), look.state, theme, max(1.0, 0.8 / scale))


def _paint_body(
    painter: QPainter, face: NodeFace, layout: NodeLayout, theme: Colours, scale: float, fade: float
) -> None:
    tint = theme.control if face.missing else category_tint(face.category, theme)
    tint, body = mix(tint, theme.canvas, fade), mix(theme.node, theme.canvas, fade)
    painter.setPen(Qt.PenStyle.NoPen)
    if scale < NEAR:
        painter.setBrush(qcolor(mix(tint, theme.text, 0.06)))
        painter.drawRoundedRect(layout.body, _RADIUS, _RADIUS)
        return
    painter.setBrush(qcolor(body))
    painter.drawRoundedRect(layout.body, _RADIUS, _RADIUS)
    painter.setBrush(qcolor(tint))
    painter.drawRoundedRect(QRectF(0, 0, layout.width, HEADER), _RADIUS, _RADIUS)
    painter.drawRect(QRectF(0, HEADER - _RADIUS, layout.width, _RADIUS))


def _paint_border(
    painter: QPainter, face: NodeFace, layout: NodeLayout, look: NodeLook, theme: Colours, scale: float
) -> None:
    colour = {NodeState.ERROR: theme.error, NodeState.WARNING: theme.warning}.get(look.state)
    pen = QPen(qcolor(colour or theme.node_border), 1.6 if colour else 1.0)
    if face.missing:
        pen = QPen(qcolor(colour or theme.warning), 1.4, Qt.PenStyle.DashLine)
    # A state stays visible however far away the node is.
    pen.setCosmetic(scale < NEAR)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(pen)
    painter.drawRoundedRect(layout.body, _RADIUS, _RADIUS)
    if look.selected:
        pen = QPen(qcolor(theme.accent), 2.0)
        pen.setCosmetic(scale < 1)
        distance = 2.5 / min(scale, 1.0)
        painter.setPen(pen)
        painter.drawRoundedRect(
            layout.body.adjusted(-distance, -distance, distance, distance), _RADIUS + distance, _RADIUS + distance
        )


def _paint_header(
    painter: QPainter, face: NodeFace, layout: NodeLayout, look: NodeLook, theme: Colours, ink: str
) -> None:
    right = layout.width - PADDING
    if look.badge:
        font = ui_font(SMALL)
        width = QFontMetricsF(font).horizontalAdvance(look.badge)
        painter.setFont(font)
        painter.setPen(qcolor(mix(ink, category_tint(face.category, theme), 0.25)))
        painter.drawText(QRectF(right - width, 0, width + 1, HEADER), Qt.AlignmentFlag.AlignVCenter, look.badge)
        right -= width + PADDING
    font = ui_font(BODY, strong=True)
    painter.setFont(font)
    painter.setPen(qcolor(ink))
    title = QFontMetricsF(font).elidedText(face.title, Qt.TextElideMode.ElideRight, right - PADDING)
    painter.drawText(QRectF(PADDING, 0, layout.width, HEADER), Qt.AlignmentFlag.AlignVCenter, title)


def _paint_state_mark(painter: QPainter, corner: QPointF, state: NodeState, theme: Colours, size: float) -> None:
    """Paint a disc for an error and a triangle for a warning on the node's corner, where it covers no text."""
    if state not in (NodeState.ERROR, NodeState.WARNING):
        return
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


def _paint_far_title(painter: QPainter, face: NodeFace, layout: NodeLayout, ink: str) -> None:
    painter.setFont(ui_font(FAR, strong=True))
    painter.setPen(qcolor(ink))
    area = layout.body.adjusted(PADDING, 2, -PADDING, -2)
    metrics = QFontMetricsF(painter.font())
    flags = Qt.AlignmentFlag.AlignCenter
    lines = face.title.split(" ", 1) if metrics.horizontalAdvance(face.title) > area.width() else [face.title]
    if len(lines) * metrics.height() > area.height():
        lines = [face.title]
    elided = (metrics.elidedText(line, Qt.TextElideMode.ElideRight, area.width()) for line in lines)
    painter.drawText(area, flags, "\n".join(elided))


def _paint_ports(
    painter: QPainter, face: NodeFace, layout: NodeLayout, look: NodeLook, theme: Colours, scale: float
) -> None:
    for ports, centres in ((face.inputs, layout.inputs), (face.outputs, layout.outputs)):
        for port, centre in zip(ports, centres, strict=True):
            fits = look.fitting is None or (port.name, port.is_input) in look.fitting
            painter.setOpacity(1.0 if fits else 0.25)
            if scale >= NEAR:
                _paint_port_name(painter, port, centre, theme)
            _paint_port(painter, port, centre, look, theme)
    painter.setOpacity(1.0)


def _paint_port_name(painter: QPainter, port: PortFace, centre: QPointF, theme: Colours) -> None:
    font = ui_font(SMALL)
    painter.setFont(font)
    painter.setPen(qcolor(theme.warning if port.dangling else theme.text_faint if port.optional else theme.text_dim))
    width = QFontMetricsF(font).horizontalAdvance(port.name) + 1
    left = centre.x() + PORT_TEXT if port.is_input else centre.x() - PORT_TEXT - width + 1
    painter.drawText(QRectF(left, centre.y() - ROW / 2, width, ROW), Qt.AlignmentFlag.AlignVCenter, port.name)


def _paint_port(painter: QPainter, port: PortFace, centre: QPointF, look: NodeLook, theme: Colours) -> None:
    key = (port.name, port.is_input)
    style = FLOWS[port.flow]
    colour = theme.warning if port.dangling else style.colour(theme)
    is_filled = key in look.connected or key == look.hovered
    painter.setPen(QPen(qcolor(colour), 1.4))
    painter.setBrush(qcolor(colour if is_filled else theme.canvas))
    painter.save()
    painter.translate(centre)
    if key == look.hovered:
        painter.scale(1.35, 1.35)
    if port.dangling:
        painter.drawLine(QPointF(-3.5, -3.5), QPointF(3.5, 3.5))
        painter.drawLine(QPointF(-3.5, 3.5), QPointF(3.5, -3.5))
    elif style.shape is Shape.CIRCLE:
        painter.drawEllipse(QPointF(0, 0), CIRCLE_RADIUS, CIRCLE_RADIUS)
    else:
        painter.drawPolygon(OUTLINES[style.shape])
    painter.restore()
