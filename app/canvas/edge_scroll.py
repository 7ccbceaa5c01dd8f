"""Moves the view while a drag is held at its edge, so that a drag can reach what is out of sight."""

from __future__ import annotations

from PySide6.QtCore import QObject, QPoint, QRect, QTimer, Signal

from app.canvas.zoomable_view import ZoomableView

_REACH = 16  # pixels from the edge in which the view moves
_FASTEST = 24  # pixels a turn
_TURN_MS = 16


class EdgeScroll(QObject):
    """Told where a drag is; `scrolled` says that the same place on the screen is now another one on the canvas."""

    scrolled = Signal()

    def __init__(self, view: ZoomableView) -> None:
        super().__init__(view)
        self._view = view
        self._step = QPoint()
        self._timer = QTimer(self, interval=_TURN_MS)
        self._timer.timeout.connect(self._turn)

    def follow(self, position: QPoint) -> None:
        """The drag is at this position of the viewport."""
        self._step = edge_step(self._view.viewport().rect(), position)
        if self._step.isNull():
            self._timer.stop()
        elif not self._timer.isActive():
            self._timer.start()

    def stop(self) -> None:
        """The drag is over."""
        self._timer.stop()

    def _turn(self) -> None:
        self._view.scroll_by(self._step)
        self.scrolled.emit()


def edge_step(area: QRect, position: QPoint) -> QPoint:
    """Return by how many pixels to scroll for a drag at a position; it grows with how far out the drag is."""
    inner = area.adjusted(_REACH, _REACH, -_REACH, -_REACH)
    return QPoint(
        _step(position.x(), inner.left(), inner.right()),
        _step(position.y(), inner.top(), inner.bottom()),
    )


def _step(at: int, low: int, high: int) -> int:
    beyond = min(at - low, 0) + max(at - high, 0)
    return max(-_FASTEST, min(_FASTEST, beyond))
