"""Selects nodes with a box that a person draws."""

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QRegion
from PySide6.QtWidgets import QGraphicsView

from app.canvas.items.scene import GraphScene


class BoxSelect:
    """The box that is being drawn, if any. It repaints only its outline and the nodes that it selects."""

    def __init__(self, view: QGraphicsView, scene: GraphScene) -> None:
        self._view = view
        self._scene = scene
        self._corner = QPointF()
        self._before: frozenset[str] = frozenset()
        #: The box in the scene, or None.
        self.rect: QRectF | None = None

    def begin(self, point: QPointF) -> None:
        """Start a box at a point of the scene; nodes selected before stay selected."""
        self._corner, self.rect = point, QRectF(point, point)
        self._before = frozenset(self._scene.selected_nodes())
        self._scene.hold_selection()
        # Qt's usual mode would repaint everything between the selected nodes.
        self._view.setViewportUpdateMode(QGraphicsView.ViewportUpdateMode.MinimalViewportUpdate)

    def follow(self, point: QPointF) -> None:
        """Extend the box to this point of the scene."""
        self._repaint_outline()
        self.rect = rect = QRectF(self._corner, point).normalized()
        self._repaint_outline()
        for node_id, node in self._scene.nodes.items():
            is_chosen = node_id in self._before or rect.intersects(node.place)
            if is_chosen is not node.isSelected():
                node.setSelected(is_chosen)

    def end(self) -> None:
        """Remove the box and report the selection."""
        if self.rect is not None:
            self._repaint_outline()
            self.rect = None
            self._view.setViewportUpdateMode(QGraphicsView.ViewportUpdateMode.SmartViewportUpdate)
            self._scene.release_selection()

    def _repaint_outline(self) -> None:
        if self.rect is not None:
            box = self._view.mapFromScene(self.rect).boundingRect()
            self._view.viewport().update(QRegion(box.adjusted(-2, -2, 2, 2)) - QRegion(box.adjusted(2, 2, -2, -2)))
