"""Selects nodes with a box that a person draws."""

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPen, QRegion
from PySide6.QtWidgets import QGraphicsView

from warploom.app.canvas.drawing.shapes import on_screen, qcolor
from warploom.app.canvas.gestures.gesture import Gesture
from warploom.app.canvas.items.scene import GraphScene
from warploom.app.theme import colours


class BoxSelect(Gesture):
    """A box; nodes selected before stay selected. It repaints only its outline and the nodes that it selects."""

    def __init__(self, view: QGraphicsView, scene: GraphScene, point: QPointF) -> None:
        self._view = view
        self._scene = scene
        self._corner, self._rect = point, QRectF(point, point)
        self._before = frozenset(scene.selected_nodes())
        scene.hold_selection()
        # Qt's usual mode would repaint everything between the selected nodes.
        view.setViewportUpdateMode(QGraphicsView.ViewportUpdateMode.MinimalViewportUpdate)

    def move(self, point: QPointF, *, moved: bool) -> None:
        self._repaint_outline()
        self._rect = rect = QRectF(self._corner, point).normalized()
        self._repaint_outline()
        for node_id, node in self._scene.nodes.items():
            is_chosen = node_id in self._before or rect.intersects(node.place)
            if is_chosen is not node.isSelected():
                node.setSelected(is_chosen)

    def cancel(self) -> None:
        """Remove the box and report the selection."""
        self._repaint_outline()
        self._view.setViewportUpdateMode(QGraphicsView.ViewportUpdateMode.SmartViewportUpdate)
        self._scene.release_selection()

    def paint(self, painter: QPainter) -> None:
        """Paint the outline."""
        painter.setPen(on_screen(QPen(qcolor(colours.current().accent), 1.0), painter))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(self._rect)

    def _repaint_outline(self) -> None:
        box = self._view.mapFromScene(self._rect).boundingRect()
        self._view.viewport().update(QRegion(box.adjusted(-2, -2, 2, 2)) - QRegion(box.adjusted(2, 2, -2, -2)))
