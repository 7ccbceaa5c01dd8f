"""A field for one line of text that a person types, and input that goes on in another field."""

from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QLineEdit


@dataclass(frozen=True)
class TypedInput:
    """Unfinished input in a field: the typed text, if any, and where the selection begins and the cursor stands."""

    text: str | None
    anchor: int
    position: int


def input_of(line: QLineEdit, *, is_typed: bool) -> TypedInput:
    """Return the unfinished input in a line."""
    start, end, cursor = line.selectionStart(), line.selectionEnd(), line.cursorPosition()
    anchor = cursor if start < 0 else start if cursor == end else end
    return TypedInput(line.text() if is_typed else None, anchor, cursor)


def continue_line(line: QLineEdit, given: TypedInput) -> None:
    """Let the person go on with this input."""
    if given.text is not None:
        line.setText(given.text)
        line.setModified(True)
    line.setSelection(given.anchor, given.position - given.anchor)


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
