"""Texts over the canvas: a short message near the pointer, and what to do while there is no block."""

from PySide6.QtCore import QPoint, QRect, Qt, QTimer
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

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


class EmptyHint(QLabel):
    """Says in the middle of an empty canvas what to do; a widget, since the canvas repaints only in parts."""

    def __init__(self, view: QWidget) -> None:
        super().__init__(alignment=Qt.AlignmentFlag.AlignCenter, objectName="canvasHint")
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setTextFormat(Qt.TextFormat.RichText)
        layout = QVBoxLayout(view)
        layout.addWidget(self)
        self.refresh()

    def refresh(self) -> None:
        """Take the colours of the present theme."""
        theme = colours.current()
        self.setText(
            f"<p style='color: {theme.text_dim}'><b>Press Tab to add a block</b></p>"
            f"<p style='color: {theme.text_dim}'>or double-click the canvas</p>"
        )
