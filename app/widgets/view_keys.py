"""Keys of pictures, plots and points: arrows move, + and - zoom, 0 fits; and the frame around the one that has them."""

from PySide6.QtCore import QEvent, QRectF, Qt
from PySide6.QtGui import QColor, QFocusEvent, QKeyEvent, QPainter, QPen
from PySide6.QtWidgets import QWidget

from warploom.app.theme import colours

ZOOM = 1.2
_BY_KEYS = (
    Qt.FocusReason.TabFocusReason,
    Qt.FocusReason.BacktabFocusReason,
    Qt.FocusReason.ShortcutFocusReason,
)
_ARROWS = {Qt.Key.Key_Left: (-1, 0), Qt.Key.Key_Right: (1, 0), Qt.Key.Key_Up: (0, -1), Qt.Key.Key_Down: (0, 1)}
_ZOOMS = {Qt.Key.Key_Plus: ZOOM, Qt.Key.Key_Equal: ZOOM, Qt.Key.Key_Minus: 1 / ZOOM}


class ViewKeys(QWidget):
    """A view that Tab reaches, and that is moved and zoomed by keys."""

    def __init__(self) -> None:
        super().__init__()
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._shows_focus = False

    def move_by_keys(self, x: int, y: int, *, shift: bool) -> None:
        """Move by a step, or do what Shift and an arrow mean here."""
        raise NotImplementedError

    def zoom_by_keys(self, factor: float) -> None:
        """Zoom in or out."""
        raise NotImplementedError

    def fit(self) -> None:
        """Show everything."""
        raise NotImplementedError

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Move, zoom or fit; other keys are left to the window."""
        key = Qt.Key(event.key())
        if key in _ARROWS:
            self.move_by_keys(*_ARROWS[key], shift=bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier))
        elif key in _ZOOMS:
            self.zoom_by_keys(_ZOOMS[key])
        elif key == Qt.Key.Key_0:
            self.fit()
        else:
            super().keyPressEvent(event)

    def event(self, event: QEvent) -> bool:
        """Take these keys from the commands of the window."""
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.ShortcutOverride:
            plain = not event.modifiers() & Qt.KeyboardModifier.ControlModifier
            if plain and event.key() in (*_ARROWS, *_ZOOMS, Qt.Key.Key_0):
                event.accept()
                return True
        return super().event(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Show the frame, if keys gave the focus."""
        super().focusInEvent(event)
        self._shows_focus = event.reason() in _BY_KEYS
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Remove the frame."""
        super().focusOutEvent(event)
        self._shows_focus = False
        self.update()

    def paint_focus(self, painter: QPainter) -> None:
        """Paint a frame while the view has the keyboard, unless a click gave it."""
        if self._shows_focus:
            painter.setPen(QPen(QColor(colours.current().accent), 1.0))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5))
