"""The editor for a curve through points: a square on which they are dragged."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from warploom.app.inspector.parameter_editors import ParameterEditor
from warploom.app.theme.colours import current
from warploom.blocks.color.curve_points import MOST_POINTS, Point, along_curve, points_text, read_points
from warploom.engine.blocktypes.parameters import ParameterSpec
from warploom.engine.diagnostics import PatchError

#: How near the pointer must be to a point, the room around the square, and a step of an arrow key.
_NEAR, _ROOM, _STEP = 9.0, 7.0, 0.01
_ARROWS = {
    Qt.Key.Key_Left: (-_STEP, 0.0),
    Qt.Key.Key_Right: (_STEP, 0.0),
    Qt.Key.Key_Up: (0.0, _STEP),
    Qt.Key.Key_Down: (0.0, -_STEP),
}


class CurveEditor(ParameterEditor):
    """A curve: a click adds a point, a drag moves one, and a double click or Delete removes it."""

    def __init__(self, spec: ParameterSpec) -> None:
        super().__init__(spec)
        self.square = CurveSquare()
        self.square.setAccessibleName(self.name)
        self.square.setToolTip("Click to add a point, drag to move it; double-click or press Delete to remove it")
        self.square.changed.connect(lambda: self.edited.emit(points_text(self.square.points)))
        self.square.drag_began.connect(self.drag_began)
        self.square.drag_ended.connect(self.drag_ended)
        self.row.addWidget(self.square, 1)

    def show_values(self, values: Sequence[Any]) -> None:
        """Show the curve of the first node; those of the others may differ."""
        try:
            points = read_points(str(values[0]), self.name)
        except PatchError:
            return  # a text that no curve is shown for; its node has the error
        if points_text(points) != points_text(self.square.points):
            self.square.show_points(points)


class CurveSquare(QWidget):
    """A curve in a square, from 0 to 1 to the right and upwards."""

    changed = Signal()
    drag_began = Signal()
    drag_ended = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.points: list[Point] = [(0.0, 0.0), (1.0, 1.0)]
        self._chosen: int | None = None
        self._drags = False
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setSizePolicy(policy)

    def sizeHint(self) -> QSize:
        """Return a height at which points can be told apart."""
        return QSize(160, 140)

    def show_points(self, points: list[Point]) -> None:
        """Show another curve."""
        self.points = points
        if self._chosen is not None and self._chosen >= len(points):
            self._chosen = None
        self.update()

    def place_of(self, point: Point) -> QPointF:
        """Return where a point is drawn."""
        box = self._box()
        return QPointF(box.left() + point[0] * box.width(), box.bottom() - point[1] * box.height())

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Take the point under the pointer, or add one."""
        if event.button() != Qt.MouseButton.LeftButton:
            return
        self.drag_began.emit()
        self._drags = True
        self._chosen = self._near(event.position())
        if self._chosen is None and len(self.points) < MOST_POINTS:
            self._change([*self.points, self._point_at(event.position())], self._point_at(event.position()))
        self.update()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Move the chosen point."""
        if self._drags:
            self._move(self._point_at(event.position()))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """End the drag."""
        if self._drags:
            self._drags = False
            self.drag_ended.emit()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Remove the point under the pointer."""
        self._chosen = self._near(event.position())
        self._remove()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Move the chosen point by an arrow key, or remove it; Space chooses the next one."""
        step = _ARROWS.get(Qt.Key(event.key()))
        if event.key() == Qt.Key.Key_Space:
            self._chosen = 0 if self._chosen is None else (self._chosen + 1) % len(self.points)
            self.update()
        elif step is not None and self._chosen is not None:
            x, y = self.points[self._chosen]
            self._move((x + step[0], y + step[1]))
        elif event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self._remove()
        else:
            super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint quarters, the curve and its points."""
        painter, colours, box = QPainter(self), current(), self._box()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(colours.border), 1))
        for part in (0.0, 0.25, 0.5, 0.75, 1.0):
            painter.drawLine(self.place_of((part, 0)), self.place_of((part, 1)))
            painter.drawLine(self.place_of((0, part)), self.place_of((1, part)))
        places = np.linspace(0, 1, max(int(box.width()), 2))
        curve = zip(places, along_curve(self.points, places), strict=True)
        painter.setPen(QPen(QColor(colours.text), 1.5))
        painter.drawPolyline(QPolygonF([self.place_of((float(x), float(y))) for x, y in curve]))
        for at, point in enumerate(self.points):
            is_chosen = at == self._chosen and self.hasFocus()
            painter.setBrush(QColor(colours.accent if is_chosen else colours.text))
            painter.drawEllipse(self.place_of(point), 4, 4)

    def _box(self) -> QRectF:
        return QRectF(self.rect()).adjusted(_ROOM, _ROOM, -_ROOM, -_ROOM)

    def _point_at(self, place: QPointF) -> Point:
        box = self._box()
        return (place.x() - box.left()) / box.width(), (box.bottom() - place.y()) / box.height()

    def _near(self, place: QPointF) -> int | None:
        distances = [(place - self.place_of(point)).manhattanLength() for point in self.points]
        nearest = min(range(len(distances)), key=distances.__getitem__)
        return nearest if distances[nearest] < 2 * _NEAR else None

    def _move(self, to: Point) -> None:
        """Move the chosen point, but not past its neighbours."""
        at = self._chosen
        if at is None:
            return
        low = self.points[at - 1][0] + 1e-3 if at > 0 else 0.0
        high = self.points[at + 1][0] - 1e-3 if at + 1 < len(self.points) else 1.0
        moved = (min(max(to[0], low), max(high, low)), to[1])
        self._change([*self.points[:at], moved, *self.points[at + 1 :]], moved)

    def _remove(self) -> None:
        """Remove the chosen point; one is left."""
        if self._chosen is not None and len(self.points) > 1:
            self._change([point for at, point in enumerate(self.points) if at != self._chosen], None)

    def _change(self, points: list[Point], chosen: Point | None) -> None:
        kept = {min(max(x, 0.0), 1.0): min(max(y, 0.0), 1.0) for x, y in points}  # each place once
        self.points = sorted(kept.items())
        at = None if chosen is None else min(max(chosen[0], 0.0), 1.0)
        self._chosen = next((number for number, point in enumerate(self.points) if point[0] == at), None)
        self.update()
        self.changed.emit()
