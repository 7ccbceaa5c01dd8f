"""A short message near the pointer that disappears by itself."""

from PySide6.QtCore import QPoint, QRect, Qt, QTimer
from PySide6.QtWidgets import QLabel, QWidget

from app.theme import colours

_SHOWN_MS = 3500
_DISTANCE = 16
_WIDTH = 360


class Notice(QLabel):
    """A message that lets clicks through and stays inside its parent."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._room = parent
        self.setWordWrap(True)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._timer = QTimer(self, singleShot=True, interval=_SHOWN_MS)
        self._timer.timeout.connect(self.hide)
        self.hide()

    def show_at(self, position: QPoint, text: str, keep_free: QRect | None) -> None:
        """Show why something is not done beside a position of the parent, for a moment."""
        self._show(position, text, colours.current().warning, keep_free)
        self._timer.start()

    def tell_at(self, position: QPoint, text: str, keep_free: QRect | None) -> None:
        """Show what something would do, until it is hidden."""
        self._timer.stop()
        self._show(position, text, colours.current().border, keep_free)

    def _show(self, position: QPoint, text: str, border: str, keep_free: QRect | None) -> None:
        theme = colours.current()
        self.setStyleSheet(
            f"background: {theme.control}; color: {theme.text}; border: 1px solid {border};"
            "border-radius: 3px; padding: 4px 8px;"
        )
        self.setText(text)
        widest = max(self.fontMetrics().horizontalAdvance(line) for line in text.split("\n"))
        width = min(widest + 24, _WIDTH)
        self.setFixedSize(width, self.heightForWidth(width))
        x, y = position.x() + _DISTANCE, position.y() + _DISTANCE
        if keep_free is not None:
            y = position.y() - self.height() // 2
            x = keep_free.right() + _DISTANCE
            if x + width > self._room.width() - 8:
                x = keep_free.left() - _DISTANCE - width
        x = min(x, self._room.width() - width - 8)
        y = min(y, self._room.height() - self.height() - 8)
        self.move(max(x, 8), max(y, 8))
        self.show()
        self.raise_()
