"""Ctrl+C in a widget that copies what it shows; otherwise the window would copy the selected blocks."""

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtWidgets import QWidget


class CopyKey(QObject):
    """Calls `copy` when the person presses Ctrl+C in a widget."""

    def __init__(self, widget: QWidget, copy: Callable[[], None]) -> None:
        super().__init__(widget)
        self._copy = copy
        widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Take the keys from the commands of the window."""
        if isinstance(event, QKeyEvent) and event.matches(QKeySequence.StandardKey.Copy):
            if event.type() == QEvent.Type.KeyPress:
                self._copy()
            event.accept()
            return True
        return False
