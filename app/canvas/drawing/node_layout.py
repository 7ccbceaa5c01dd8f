"""The layout of a node: sizes and port positions, in scene units (pixels at 100 %)."""

from dataclasses import dataclass
from functools import cached_property, lru_cache

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QFontMetricsF

from warploom.app.edits.nodes import STEP
from warploom.app.theme.fonts import BODY, SMALL, ui_font
from warploom.app.view_models.live_values import WIDEST
from warploom.app.view_models.node_view_model import NodeViewModel, PortViewModel, node_view_model
from warploom.engine.patch.document import Patch

HEADER = 24
#: The header's height for a node without a time.
SLIM_HEADER = 20
ROW = 16
PADDING = 8
#: The distance from a port's centre, on the node's edge, to its name.
PORT_TEXT = 10
#: The least distance between the names on both sides of a row.
APART = 6.0
#: The gap between a port's name and its value.
VALUE_GAP = 6
_MINIMUM_WIDTH = 112
_SLIM_MINIMUM_WIDTH = 96
_MINIMUM_TRACK = 96
_MAXIMUM_TITLE = 240
#: The most lines of a comment, and the distance of two lines in sizes of the text.
_COMMENT_LINES, COMMENT_LINE = 3, 1.3
#: When zoomed out, text grows until small text has enough pixels, at most by this factor, since space is limited.
MOST_GROWTH = 1.5
#: The most space that a node keeps for its title to grow.
_TITLE_GROWTH = 72


@dataclass(frozen=True)
class NodeLayout:
    """A node's size, the centres of its ports in the order of its model, and the areas of slider and comment, if any.

    `names` is the width of the longest name of a driven parameter; the numbers beside these names form one column.
    """

    width: float
    height: float
    inputs: tuple[QPointF, ...]
    outputs: tuple[QPointF, ...]
    header: float = HEADER
    track: QRectF | None = None
    comment: QRectF | None = None
    names: float = 0.0

    @cached_property
    def body(self) -> QRectF:
        """The node's outline."""
        return QRectF(0, 0, self.width, self.height)

    @cached_property
    def port_names(self) -> dict[int, list[tuple[QRectF, int, bool]]]:
        """For each size of text so far: the area and size of each port's name, and if it begins on the left."""
        return {}


@lru_cache(maxsize=4096)
def layout(model: NodeViewModel) -> NodeLayout:
    """Return the layout of a model: inputs on the left edge, outputs on the right, sharing rows.

    A slider takes the first row, to the left of the first output's number. Nodes of equal models share one layout.
    """
    title = min(text_width(model.title, BODY, True), _MAXIMUM_TITLE)
    title = max(title, min(text_width(model.title, round(BODY * MOST_GROWTH), True), title + _TITLE_GROWTH))
    inputs = max((_port_width(port) for port in model.inputs), default=0.0)
    outputs = max((_port_width(port) for port in model.outputs), default=0.0)
    gap = 2 * PADDING if inputs and outputs else PADDING
    header, minimum = HEADER, float(_MINIMUM_WIDTH)
    if model.is_value:
        header, minimum = SLIM_HEADER, float(_SLIM_MINIMUM_WIDTH)
    numbers = PORT_TEXT + value_width()
    if model.slider is not None:
        minimum = PADDING + _MINIMUM_TRACK + PADDING + numbers
    below = 1 if model.slider is not None else 0
    width = _up(max(PADDING + title + PADDING, inputs + gap + outputs, _enlarged(model, below), minimum))
    rows = max(len(model.inputs) + below, len(model.outputs), 1)
    ports = header + PADDING / 2 + rows * ROW + PADDING / 2
    noted = wrapped(model.comment, SMALL, width - 2 * PADDING, _COMMENT_LINES) if model.comment else ()
    height = _up(ports + (len(noted) * COMMENT_LINE * SMALL + PADDING / 2 if noted else 0))
    comment = QRectF(PADDING, ports, width - 2 * PADDING, height - ports) if noted else None
    first = header + PADDING / 2 + ROW / 2
    track = QRectF(PADDING, first - ROW / 2, width - numbers - 2 * PADDING, ROW) if below else None
    return NodeLayout(
        width,
        height,
        tuple(QPointF(0, first + ROW * (row + below)) for row in range(len(model.inputs))),
        tuple(QPointF(width, first + ROW * row) for row in range(len(model.outputs))),
        header,
        track,
        comment,
        _names(model),
    )


def _enlarged(model: NodeViewModel, below: int) -> float:
    """Return the width of the widest row in its largest size; inputs begin `below` the first row.

    A name with a number does not grow, but the number does.
    """
    size, names = round(SMALL * MOST_GROWTH), _names(model)
    number = VALUE_GAP + text_width(WIDEST, size, False)
    rows = [0.0] * max(len(model.inputs) + below, len(model.outputs))
    for first, ports in ((below, model.inputs), (0, model.outputs)):
        for row, port in enumerate(ports, first):
            if port.live is None:
                rows[row] += PORT_TEXT + text_width(port.label, size, False)
            else:
                rows[row] += PORT_TEXT + (names if port.is_input else text_width(port.label, SMALL, False)) + number
    return max(rows, default=0.0) + APART


def _names(model: NodeViewModel) -> float:
    """Return the width of the longest name of a driven parameter."""
    return max((text_width(port.label, SMALL, False) for port in model.inputs if port.live is not None), default=0.0)


def title_size(title: str, room: float, growth: float) -> int:
    """Return the size of a title in a width, enlarged by at most `growth`: small, but readable, rather than cut off."""
    size, least = round(BODY * growth), max(BODY, round(SMALL * growth))
    while size > least and text_width(title, size, True) > room:
        size -= 1
    return size


@lru_cache(maxsize=4096)
def wrapped(text: str, size: int, width: float, most: int) -> tuple[str, ...]:
    """Return a text as lines that fit a width; the last of at most so many is elided."""
    metrics, lines = QFontMetricsF(ui_font(size)), list[str]()
    for paragraph in text.splitlines():
        for number, word in enumerate(paragraph.split()):
            longer = f"{lines[-1]} {word}" if lines else word
            if not lines or (len(lines) < most and (not number or metrics.horizontalAdvance(longer) > width)):
                lines.append(word)
            else:
                lines[-1] = longer
    return tuple(metrics.elidedText(line, Qt.TextElideMode.ElideRight, width) for line in lines)


def value_area(port: PortViewModel, centre: QPointF, placed: NodeLayout) -> QRectF:
    """Return the area of a port's number: right of all parameters' names, or between an output's name and its port."""
    width = value_width()
    left = centre.x() + PORT_TEXT + placed.names + VALUE_GAP if port.is_input else centre.x() - PORT_TEXT - width
    return QRectF(left, centre.y() - ROW / 2, width, ROW)


def value_width() -> float:
    """Return the width reserved for a number."""
    return text_width(WIDEST, SMALL, False)


def node_size(patch: Patch, node_id: str) -> tuple[float, float]:
    """Return the width and height of a node."""
    placed = layout(node_view_model(patch, node_id))
    return placed.width, placed.height


def _port_width(port: PortViewModel) -> float:
    number = VALUE_GAP + value_width() if port.live is not None else 0.0
    return PORT_TEXT + text_width(port.label, SMALL, False) + number


@lru_cache(maxsize=4096)
def text_width(text: str, size: int, strong: bool) -> float:
    """Return the width of a text in the UI font."""
    return QFontMetricsF(ui_font(size, strong=strong)).horizontalAdvance(text)


def _up(value: float) -> float:
    return -(-value // STEP) * STEP
