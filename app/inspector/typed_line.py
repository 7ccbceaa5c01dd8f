"""A field for one line of text that a person types."""

from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QLineEdit


class TypedLine(QLineEdit):
    """Typed text is entered with Enter or by leaving the field. Escape discards it, and shows the text from before."""

    entered = Signal(str)
    #: The typed text that Escape discarded.
    given_up = Signal(str)

    def __init__(self, **properties: Any) -> None:
        super().__init__(**properties)
        self._shown = ""
        self.editingFinished.connect(self.enter)

    def show_text(self, text: str) -> None:
        """Show a text instead of the previous or typed one."""
        self._shown = text
        self.setText(text)
        self.setModified(False)

    def enter(self) -> None:
        """Enter the typed text, if any."""
        if self.isModified():
            self.setModified(False)
            self.entered.emit(self.text())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self.isModified():
            typed = self.text()
            self.show_text(self._shown)
            self.given_up.emit(typed)
            self.clearFocus()
        else:
            super().keyPressEvent(event)
