"""Texts over the canvas: a short message near the pointer, and a hint while the patch has no block."""

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import QMargins, QPoint, QRect, Qt, QTimer
from PySide6.QtWidgets import QFrame, QLabel, QVBoxLayout, QWidget

from warploom.app.theme import colours
from warploom.app.widgets.button_row import ButtonRow
from warploom.engine.diagnostics import cut

_SHOWN_MS, _OFFERED_MS = 3500, 12_000
_DISTANCE = 16
_WIDTH = 360
_MOST_CHARACTERS = 600


class CanvasNotice(QFrame):
    """A message that stays inside its parent; without buttons, clicks pass through it."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, objectName="notice")
        self._room = parent
        self._label = QLabel(wordWrap=True)
        self.row = ButtonRow()
        layout = QVBoxLayout(self, contentsMargins=QMargins(8, 4, 8, 4), spacing=4)
        layout.addWidget(self._label)
        layout.addWidget(self.row)
        self._timer = QTimer(self, singleShot=True)
        self._timer.timeout.connect(self.hide)
        self.hide()

    def text(self) -> str:
        """Return the message."""
        return self._label.text()

    def show_at(self, position: QPoint, text: str, keep_free: QRect | None) -> None:
        """Show for a moment, beside a position of the parent, why something is not done."""
        self._show(position, text, (), colours.current().warning, keep_free)
        self._timer.start(_SHOWN_MS)

    def tell_at(self, position: QPoint, text: str, keep_free: QRect | None) -> None:
        """Show what something would do, until it is hidden."""
        self._timer.stop()
        self._show(position, text, (), colours.current().border, keep_free)

    def offer_at(self, position: QPoint, text: str, answers: Sequence[tuple[str, Callable[[], object]]]) -> None:
        """Show why something is not done, with buttons for remedies; it stays long enough to choose one."""
        buttons = [(title, partial(self._choose, act)) for title, act in answers]
        self._show(position, text, buttons, colours.current().warning, None)
        self._timer.start(_OFFERED_MS)

    def _choose(self, act: Callable[[], object]) -> None:
        self.hide()
        act()

    def _show(
        self,
        position: QPoint,
        text: str,
        buttons: Sequence[tuple[str, Callable[[], object]]],
        border: str,
        keep_free: QRect | None,
    ) -> None:
        theme = colours.current()
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents, not buttons)
        self.setStyleSheet(
            f"#notice {{ background: {theme.control}; border: 1px solid {border}; border-radius: 3px; }}"
            f"QLabel {{ color: {theme.text}; }}"
            f"QPushButton {{ background: {theme.control_hover}; border: 1px solid {theme.text_faint}; }}"
        )
        self._label.setText(cut(text, _MOST_CHARACTERS))
        self.row.show_buttons(buttons)
        widest = max(self._label.fontMetrics().horizontalAdvance(line) for line in text.split("\n"))
        width = min(max(widest + 20, self.row.sizeHint().width() + 24 if buttons else 0), _WIDTH)
        height = self._label.heightForWidth(width - 18) + 10
        self.setFixedSize(width, height + (self.row.sizeHint().height() + 8 if buttons else 0))
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
    """A hint in the middle of an empty canvas. It is a widget, since the canvas repaints only in parts."""

    def __init__(self) -> None:
        super().__init__(alignment=Qt.AlignmentFlag.AlignCenter, objectName="canvasHint")
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setTextFormat(Qt.TextFormat.RichText)
        self.refresh()

    def refresh(self) -> None:
        """Take the colours of the present theme."""
        theme = colours.current()
        self.setText(
            f"<p style='color: {theme.text_dim}'><b>Press Tab to add a block</b></p>"
            f"<p style='color: {theme.text_dim}'>or double-click the canvas</p>"
        )
