"""Cuts connections along a line that a person draws."""

from collections.abc import Callable

from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QPainter, QPainterPath, QPen, QPolygonF
from PySide6.QtWidgets import QGraphicsView

from warploom.app.canvas.drawing.shapes import on_screen, qcolor
from warploom.app.canvas.gestures.gesture import Gesture
from warploom.app.canvas.items.scene import GraphScene
from warploom.app.theme import colours
from warploom.engine.patch.changes import Connection


class Knife(Gesture):
    """The line of a cut; `cut` removes the connections that it crosses."""

    def __init__(
        self, view: QGraphicsView, scene: GraphScene, cut: Callable[[list[Connection]], object], point: QPointF
    ) -> None:
        self._view, self._scene, self._cut = view, scene, cut
        self._line = QPolygonF([point])

    def move(self, point: QPointF, *, moved: bool) -> None:
        self._line.append(point)
        self._view.viewport().update()

    def release(self, point: QPointF, *, moved: bool) -> None:
        self.cancel()
        path = QPainterPath()
        path.addPolygon(self._line)
        crossed = self._scene.connections_across(path) if moved else []
        if crossed:
            self._cut(crossed)

    def cancel(self) -> None:
        self._view.viewport().update()

    def paint(self, painter: QPainter) -> None:
        """Paint the line."""
        pen = on_screen(QPen(qcolor(colours.current().accent), 1.5), painter)
        pen.setStyle(Qt.PenStyle.DashLine)
        painter.setPen(pen)
        painter.drawPolyline(self._line)
