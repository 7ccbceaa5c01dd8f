"""A line above the canvas for what keeps the whole patch from running, with the one thing to do about it."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QWidget


class Banner(QFrame):
    """Hidden until `show_text`; the person answers with the button, or by mending the patch."""

    clicked = Signal()

    def __init__(self, button: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("banner")
        self._label = QLabel(wordWrap=True)
        self._label.setTextFormat(Qt.TextFormat.PlainText)
        self._label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.button = QPushButton(button)
        self.button.clicked.connect(self.clicked)
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 8, 8, 8)
        row.setSpacing(12)
        row.addWidget(self._label, 1)
        row.addWidget(self.button)
        self.hide()

    @property
    def text(self) -> str:
        """The text that is shown; empty while there is none."""
        return "" if self.isHidden() else self._label.text()

    def show_text(self, text: str) -> None:
        """Show a text and the button."""
        self._label.setText(text)
        self.show()
