"""A page that shows its content, or says what to do while there is none."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QStackedWidget, QWidget


class EmptyState(QStackedWidget):
    """`content`, or a hint in its place."""

    def __init__(self, content: QWidget, hint: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._hint = QLabel(hint, alignment=Qt.AlignmentFlag.AlignCenter, wordWrap=True)
        self._hint.setObjectName("hint")
        self._hint.setMargin(24)
        self.addWidget(self._hint)
        self.addWidget(content)

    @property
    def hint(self) -> str:
        """The text shown while there is no content."""
        return self._hint.text()

    def set_hint(self, hint: str) -> None:
        """Change the text shown while there is no content."""
        self._hint.setText(hint)

    def set_filled(self, filled: bool) -> None:
        """Show the content, or the hint."""
        self.setCurrentIndex(1 if filled else 0)
