"""The base class of drags with the left button."""

from PySide6.QtCore import QPointF
from PySide6.QtGui import QPainter


class Gesture:
    """One drag, from press to release. Points are places in the scene."""

    def move(self, point: QPointF, *, moved: bool) -> None:
        """Follow the pointer; `moved` is False while the drag may still be a click."""
        raise NotImplementedError

    def release(self, point: QPointF, *, moved: bool) -> None:
        """End the drag, and request its edit."""
        self.cancel()

    def cancel(self) -> None:
        """End the drag without an edit."""
        raise NotImplementedError

    def paint(self, painter: QPainter) -> None:
        """Paint over the scene."""
