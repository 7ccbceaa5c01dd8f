"""A view of a scene that can be zoomed and moved freely; it has no scroll bars to show for it."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRectF, Qt
from PySide6.QtGui import QPainter, QWheelEvent
from PySide6.QtWidgets import QFrame, QGraphicsScene, QGraphicsView, QWidget

from app.safe_overrides import safe_overrides

_PER_EIGHTH_DEGREE = 1.0015
_RANGE = (0.05, 2.5)
_MARGIN = 24


@safe_overrides
class ZoomableView(QGraphicsView):
    """The wheel zooms about the pointer; `zoom` is pixels per scene unit, 1 at 100 %."""

    def __init__(self, scene: QGraphicsScene, parent: QWidget) -> None:
        super().__init__(scene, parent)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setRenderHint(QPainter.RenderHint.Antialiasing)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setTransformationAnchor(QGraphicsView.ViewportAnchor.NoAnchor)
        self.setResizeAnchor(QGraphicsView.ViewportAnchor.AnchorViewCenter)
        self.centerOn(0, 0)

    @property
    def zoom(self) -> float:
        """Pixels per scene unit."""
        return self.transform().m11()

    def seen(self) -> QRectF:
        """Return the part of the scene in view."""
        return self.mapToScene(self.viewport().rect()).boundingRect()

    def set_zoom(self, zoom: float) -> None:
        """Zoom about the middle of the view."""
        self._zoom_about(self.viewport().rect().center(), zoom)

    def show_rect(self, rect: QRectF) -> None:
        """Bring a part of the scene into view, as large as it goes up to 100 %."""
        if rect.isEmpty():
            return
        rect = rect.adjusted(-_MARGIN, -_MARGIN, _MARGIN, _MARGIN)
        view = self.viewport().rect()
        self.set_zoom(min(view.width() / rect.width(), view.height() / rect.height(), 1.0))
        self.centerOn(rect.center())

    def scroll_by(self, delta: QPoint) -> None:
        """Move the view over the scene by pixels."""
        self.horizontalScrollBar().setValue(self.horizontalScrollBar().value() + delta.x())
        self.verticalScrollBar().setValue(self.verticalScrollBar().value() + delta.y())

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Zoom about the pointer."""
        self._zoom_about(event.position().toPoint(), self.zoom * _PER_EIGHTH_DEGREE ** event.angleDelta().y())

    def _zoom_about(self, position: QPoint, zoom: float) -> None:
        point = self.mapToScene(position)
        factor = min(max(zoom, _RANGE[0]), _RANGE[1]) / self.zoom
        self.scale(factor, factor)
        self.scroll_by(self.mapFromScene(point) - position)
