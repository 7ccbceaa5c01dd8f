"""Paints the numbers beside value outputs and driven parameters, and the slider on a node."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter

from app.canvas.faces import NodeFace, SliderFace
from app.canvas.node_layout import NodeLayout, value_area
from app.canvas.painting import qcolor
from app.theme.colours import Colours, mix
from app.theme.fonts import SMALL, ui_font
from app.theme.type_colours import FLOWS, Flow

_TRACK, _HANDLE = 4.0, 5.0


def paint_values(
    painter: QPainter, face: NodeFace, layout: NodeLayout, texts: Mapping[tuple[str, bool], str], ink: str
) -> None:
    """Paint the numbers, by the name and side of their ports; they end where their area does, so the point stays."""
    painter.setFont(ui_font(SMALL))
    painter.setPen(qcolor(ink))
    flags = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
    for ports, centres in ((face.inputs, layout.inputs), (face.outputs, layout.outputs)):
        for port, centre in zip(ports, centres, strict=True):
            text = texts.get((port.name, port.is_input))
            if text is not None:
                painter.drawText(value_area(port, centre, layout), flags | Qt.TextFlag.TextDontClip, text)


def paint_slider(painter: QPainter, slider: SliderFace, track: QRectF, theme: Colours, *, held: bool) -> None:
    """Paint a node's slider: how full it is, and the handle."""
    colour = FLOWS[Flow.NUMBER].colour(theme)
    middle = track.center().y()
    line = QRectF(track.left(), middle - _TRACK / 2, track.width(), _TRACK)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(qcolor(mix(theme.canvas, theme.text, 0.12)))
    painter.drawRoundedRect(line, _TRACK / 2, _TRACK / 2)
    at = handle_at(slider, track)
    painter.setBrush(qcolor(colour))
    painter.drawRoundedRect(QRectF(line.topLeft(), QPointF(at, line.bottom())), _TRACK / 2, _TRACK / 2)
    painter.setBrush(qcolor(mix(colour, theme.text, 0.35 if held else 0.0)))
    radius = _HANDLE + (1.0 if held else 0.0)
    painter.drawEllipse(QPointF(at, middle), radius, radius)


def handle_at(slider: SliderFace, track: QRectF) -> float:
    """Return where the middle of the slider's handle is; it never leaves the track."""
    return track.left() + _HANDLE + slider.share * (track.width() - 2 * _HANDLE)


def share_at(x: float, track: QRectF) -> float:
    """Return how far along the slider a place is, from 0 to 1."""
    return min(max((x - track.left() - _HANDLE) / (track.width() - 2 * _HANDLE), 0.0), 1.0)
