"""Where everything lies in a node: sizes and port positions in scene units (pixels at 100 %)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QFontMetricsF

from app.canvas.faces import NodeFace, PortFace
from app.theme.fonts import BODY, SMALL, ui_font

#: Positions and sizes are multiples of this, so that nodes line up.
STEP = 8
HEADER = 24
ROW = 16
PADDING = 8
#: From a port's centre, which is on the node's edge, to its name.
PORT_TEXT = 10
#: Kept free right of the title, so that a node does not change its size when a time appears.
BADGE = 64
_MINIMUM_WIDTH = 112
_MAXIMUM_TITLE = 240


@dataclass(frozen=True)
class NodeLayout:
    """A node's size, and the centres of its ports in the order of its face."""

    width: float
    height: float
    inputs: tuple[QPointF, ...]
    outputs: tuple[QPointF, ...]

    @property
    def body(self) -> QRectF:
        """The node's outline."""
        return QRectF(0, 0, self.width, self.height)


def layout(face: NodeFace) -> NodeLayout:
    """Return the layout of a face: inputs on the left edge, outputs on the right, sharing rows."""
    title = min(_text_width(face.title, BODY, True), _MAXIMUM_TITLE)
    inputs = max((_port_width(port) for port in face.inputs), default=0.0)
    outputs = max((_port_width(port) for port in face.outputs), default=0.0)
    gap = 2 * PADDING if inputs and outputs else PADDING
    width = _up(max(PADDING + title + BADGE, inputs + gap + outputs, _MINIMUM_WIDTH))
    rows = max(len(face.inputs), len(face.outputs), 1)
    height = _up(HEADER + PADDING / 2 + rows * ROW + PADDING / 2)
    first = HEADER + PADDING / 2 + ROW / 2
    return NodeLayout(
        width,
        height,
        tuple(QPointF(0, first + ROW * row) for row in range(len(face.inputs))),
        tuple(QPointF(width, first + ROW * row) for row in range(len(face.outputs))),
    )


def snapped(x: float, y: float) -> tuple[float, float]:
    """Return the nearest position on the canvas grid."""
    return round(x / STEP) * STEP, round(y / STEP) * STEP


def _port_width(port: PortFace) -> float:
    return PORT_TEXT + _text_width(port.name, SMALL, False)


@lru_cache(maxsize=4096)
def _text_width(text: str, size: int, strong: bool) -> float:
    return QFontMetricsF(ui_font(size, strong=strong)).horizontalAdvance(text)


def _up(value: float) -> float:
    return -(-value // STEP) * STEP
