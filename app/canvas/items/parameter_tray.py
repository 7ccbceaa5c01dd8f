"""The tray that unfolds at a node while a value is dragged over it, with a drop target for each parameter."""

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPen
from PySide6.QtWidgets import QGraphicsItem, QStyleOptionGraphicsItem, QWidget

from warploom.app.canvas.drawing.node_layout import text_width
from warploom.app.canvas.drawing.shapes import OUTLINES, qcolor
from warploom.app.edits.nodes import parameter_label
from warploom.app.theme import colours
from warploom.app.theme.fonts import SMALL, ui_font
from warploom.app.theme.port_style import PORT_STYLES
from warploom.app.view_models.drive_candidates import DriveCandidate

_ROW = 20.0
#: The rows of a column; a node with more parameters gets more columns.
_ROWS = 12
_MARGIN = 4.0
#: The distances from the tray's left edge to a port and to a name, and between a name and its value.
_PORT, _NAME, _GAP = 12.0, 24.0, 16.0
_WIDEST_STATE = 120.0
_RADIUS = 6.0
#: The distance between the node and the tray.
DISTANCE = 4.0


class ParameterTray(QGraphicsItem):
    """The rows at a node. When zoomed out, the tray keeps its size of 100 %, so that its rows can be read and hit."""

    def __init__(
        self, node: str, candidates: Sequence[DriveCandidate], place: QRectF, seen: QRectF, zoom: float
    ) -> None:
        super().__init__()
        self.node = node
        self._candidates = list(candidates)
        self._hovered: DriveCandidate | None = None
        names = max(text_width(parameter_label(candidate.ref.port), SMALL, False) for candidate in candidates)
        states = max(min(text_width(candidate.state, SMALL, False), _WIDEST_STATE) for candidate in candidates)
        self._column = _NAME + names + _GAP + states + _MARGIN * 2
        columns = -(-len(self._candidates) // _ROWS)
        rows = min(len(self._candidates), _ROWS)
        self._size = QRectF(0, 0, columns * self._column, rows * _ROW + 2 * _MARGIN)
        self.setZValue(100)
        self.setScale(1.0 / min(zoom, 1.0))
        self._hang(place, seen)

    @property
    def area(self) -> QRectF:
        """The tray's area in the scene, with the gap between it and its node."""
        reach = DISTANCE * self.scale()
        return self.mapRectToScene(self._size).adjusted(0, -reach, 0, reach)

    def candidate_at(self, point: QPointF) -> DriveCandidate | None:
        """Return the row at a point of the scene."""
        place = self.mapFromScene(point)
        if not self._size.contains(place):
            return None
        column, row = int(place.x() // self._column), int((place.y() - _MARGIN) // _ROW)
        index = column * _ROWS + min(max(row, 0), _ROWS - 1)
        return self._candidates[index] if index < len(self._candidates) else None

    def port_of(self, candidate: DriveCandidate) -> QPointF:
        """Return the point in the scene where a dragged connection ends on a row."""
        row = self._row(self._candidates.index(candidate))
        return self.mapToScene(QPointF(row.left() + _PORT, row.center().y()))

    def hover(self, candidate: DriveCandidate | None) -> None:
        """Mark the row under the pointer."""
        if candidate != self._hovered:
            self._hovered = candidate
            self.update()

    def boundingRect(self) -> QRectF:
        """Return the area of the panel."""
        return self._size.adjusted(-1, -1, 1, 1)

    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        """Paint the panel and its rows."""
        theme = colours.current()
        painter.setPen(QPen(qcolor(theme.border), 1.0))
        painter.setBrush(qcolor(theme.dock))
        painter.drawRoundedRect(self._size, _RADIUS, _RADIUS)
        painter.setFont(ui_font(SMALL))
        for index, candidate in enumerate(self._candidates):
            self._paint_row(painter, self._row(index), candidate)

    def _paint_row(self, painter: QPainter, row: QRectF, candidate: DriveCandidate) -> None:
        theme = colours.current()
        is_open = candidate.reason is None
        if candidate == self._hovered:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(qcolor(theme.control_hover))
            painter.drawRoundedRect(row.adjusted(_MARGIN, 0, -_MARGIN, 0), 3, 3)
        style = PORT_STYLES[candidate.kind]
        colour = style.colour(theme) if is_open else theme.text_faint
        painter.setPen(QPen(qcolor(colour), 1.4))
        painter.setBrush(
            qcolor(colour if candidate.is_driven or (is_open and candidate == self._hovered) else theme.canvas)
        )
        painter.save()
        painter.translate(row.left() + _PORT, row.center().y())
        if is_open:
            painter.drawPolygon(OUTLINES[candidate.kind])
        else:
            painter.drawLine(QPointF(-3, 0), QPointF(3, 0))
        painter.restore()
        painter.setPen(qcolor(theme.text if is_open else theme.text_faint))
        centred = Qt.AlignmentFlag.AlignVCenter
        painter.drawText(
            row.adjusted(_NAME, 0, 0, 0), centred | Qt.AlignmentFlag.AlignLeft, parameter_label(candidate.ref.port)
        )
        painter.setPen(qcolor(theme.text_dim if is_open else theme.text_faint))
        text = QFontMetricsF(painter.font()).elidedText(candidate.state, Qt.TextElideMode.ElideRight, _WIDEST_STATE)
        painter.drawText(row.adjusted(0, 0, -2 * _MARGIN, 0), centred | Qt.AlignmentFlag.AlignRight, text)

    def _row(self, index: int) -> QRectF:
        column, row = divmod(index, _ROWS)
        return QRectF(column * self._column, _MARGIN + row * _ROW, self._column, _ROW)

    def _hang(self, place: QRectF, seen: QRectF) -> None:
        """Place the tray below the node, or above it if there is more room; never beyond the right of the view."""
        size = self.mapRectToScene(self._size).size()
        reach = DISTANCE * self.scale()
        below = place.bottom() + reach
        above = place.top() - reach - size.height()
        top = above if below + size.height() > seen.bottom() and above >= seen.top() else below
        left = max(min(place.left(), seen.right() - size.width()), seen.left())
        # The tray stays near the node, where the pointer comes from.
        self.setPos(min(max(left, place.left() - size.width() + _NAME), place.right() - _NAME), top)
