"""A view of a scene that can be zoomed and moved freely, and that scrolls when a drag stays at its edge."""

from PySide6.QtCore import QEvent, QObject, QPoint, QPointF, QRect, QRectF, Qt, QTimer, Signal
from PySide6.QtGui import QInputDevice, QNativeGestureEvent, QPainter, QWheelEvent
from PySide6.QtWidgets import QFrame, QGraphicsScene, QGraphicsView, QWidget

_PER_EIGHTH_DEGREE = 1.0015
_RANGE = (0.02, 2.5)
_MARGIN = 24
_REACH = 16  # pixels from the edge within which the view scrolls
_FASTEST = 24  # pixels per step
_TURN_MS = 16


def _is_trackpad(event: QWheelEvent) -> bool:
    """Return whether fingers scroll: only their events have a begin and an end, and a movement in pixels."""
    is_touch = event.device().type() is QInputDevice.DeviceType.TouchPad
    return is_touch or event.phase() is not Qt.ScrollPhase.NoScrollPhase


class ZoomableView(QGraphicsView):
    """A view in which a wheel zooms about the pointer; on a trackpad, two fingers pan, and zoom with Ctrl or a pinch.

    `zoom` is pixels per scene unit, 1 at 100 %.
    """

    def __init__(self, scene: QGraphicsScene, parent: QWidget) -> None:
        super().__init__(scene, parent)
        #: The zoom at which a scene unit has its usual size.
        self.unit = 1.0
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

    def set_zoom(self, zoom: float, about: QPointF | None = None) -> None:
        """Zoom about a point of the scene that is in view, or about the middle of the view."""
        position = self.mapFromScene(about) if about is not None else QPoint(-1, -1)
        middle = self.viewport().rect().center()
        self._zoom_about(position if self.viewport().rect().contains(position) else middle, zoom)

    def show_rect(self, rect: QRectF) -> None:
        """Bring a part of the scene into view, as large as possible up to 100 %."""
        if rect.isEmpty():
            return
        rect = rect.adjusted(-_MARGIN, -_MARGIN, _MARGIN, _MARGIN)
        view = self.viewport().rect()
        self.set_zoom(min(view.width() / rect.width(), view.height() / rect.height(), self.unit))
        self.centerOn(rect.center())

    def scroll_by(self, delta: QPoint) -> None:
        """Move the view over the scene by pixels."""
        self.setInteractive(False)  # Qt would replay the last mouse event at each of the two changes below
        self.horizontalScrollBar().setValue(self.horizontalScrollBar().value() + delta.x())
        self.verticalScrollBar().setValue(self.verticalScrollBar().value() + delta.y())
        self.setInteractive(True)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Zoom about the pointer; pan with a trackpad, a tilted wheel, or Shift."""
        is_zoom = bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
        angle = event.angleDelta()
        if is_zoom or not (_is_trackpad(event) or event.modifiers() & Qt.KeyboardModifier.ShiftModifier or angle.x()):
            self._zoom_about(event.position().toPoint(), self.zoom * _PER_EIGHTH_DEGREE ** angle.y())
            return
        delta = event.pixelDelta() if not event.pixelDelta().isNull() else angle / 2
        if event.modifiers() & Qt.KeyboardModifier.ShiftModifier and not delta.x():
            delta = delta.transposed()
        self.scroll_by(-delta)

    def viewportEvent(self, event: QEvent) -> bool:
        """Zoom by a pinch."""
        if isinstance(event, QNativeGestureEvent) and event.gestureType() is Qt.NativeGestureType.ZoomNativeGesture:
            self._zoom_about(event.position().toPoint(), self.zoom * (1.0 + event.value()))
            return True
        return super().viewportEvent(event)

    def _zoom_about(self, position: QPoint, zoom: float) -> None:
        point = self.mapToScene(position)
        factor = min(max(zoom, _RANGE[0]), _RANGE[1]) / self.zoom
        mode = self.viewportUpdateMode()
        self.setViewportUpdateMode(QGraphicsView.ViewportUpdateMode.NoViewportUpdate)  # Qt would scroll the picture
        self.scale(factor, factor)
        self.scroll_by(self.mapFromScene(point) - position)
        self.setViewportUpdateMode(mode)
        self.viewport().update()


class EdgeScroll(QObject):
    """Scrolls while a drag is at the edge; emits `scrolled` when the pointer is over another part of the scene."""

    scrolled = Signal()

    def __init__(self, view: ZoomableView) -> None:
        super().__init__(view)
        self._view = view
        self._step = QPoint()
        self._timer = QTimer(self, interval=_TURN_MS)
        self._timer.timeout.connect(self._turn)

    def follow(self, position: QPoint) -> None:
        """Follow the drag to this position of the viewport."""
        self._step = edge_step(self._view.viewport().rect(), position)
        if self._step.isNull():
            self._timer.stop()
        elif not self._timer.isActive():
            self._timer.start()

    def stop(self) -> None:
        """Stop scrolling, since the drag is over."""
        self._timer.stop()

    def _turn(self) -> None:
        self._view.scroll_by(self._step)
        self.scrolled.emit()


def edge_step(area: QRect, position: QPoint) -> QPoint:
    """Return the pixels to scroll for a drag at a position; more if it is further out."""
    inner = area.adjusted(_REACH, _REACH, -_REACH, -_REACH)
    return QPoint(
        _step(position.x(), inner.left(), inner.right()),
        _step(position.y(), inner.top(), inner.bottom()),
    )


def _step(at: int, low: int, high: int) -> int:
    beyond = min(at - low, 0) + max(at - high, 0)
    return max(-_FASTEST, min(_FASTEST, beyond))
