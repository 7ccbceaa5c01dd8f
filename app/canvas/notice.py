"""A short message near the pointer that goes away by itself."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt, QTimer
from PySide6.QtWidgets import QLabel, QWidget

from app.theme import colours

_SHOWN_MS = 3500
_DISTANCE = 16
_WIDTH = 360


class Notice(QLabel):
    """The message; it lets clicks through and stays inside its parent."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._room = parent
        self.setWordWrap(True)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._timer = QTimer(self, singleShot=True, interval=_SHOWN_MS)
        self._timer.timeout.connect(self.hide)
        self.hide()

    def show_at(self, position: QPoint, text: str) -> None:
        """Show `text` beside a position of the parent."""
        theme = colours.current()
        self.setStyleSheet(
            f"background: {theme.control}; color: {theme.text}; border: 1px solid {theme.warning};"
            "border-radius: 3px; padding: 4px 8px;"
        )
        self.setText(text)
        self.setFixedWidth(min(self.fontMetrics().horizontalAdvance(text) + 24, _WIDTH))
        self.adjustSize()
        x = min(position.x() + _DISTANCE, self._room.width() - self.width() - 8)
        y = min(position.y() + _DISTANCE, self._room.height() - self.height() - 8)
        self.move(max(x, 8), max(y, 8))
        self.show()
        self.raise_()
        self._timer.start()
