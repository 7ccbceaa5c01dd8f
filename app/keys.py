"""Keys that are commands of the window but mean something to a focused control."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractButton, QComboBox


class ControlKeys(QObject):
    """Lets Space press a focused button or open a focused list, where it would otherwise play or pause."""

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Claim the key for the control; Qt then delivers it as a key press."""
        if (
            event.type() == QEvent.Type.ShortcutOverride
            and isinstance(event, QKeyEvent)
            and event.key() == Qt.Key.Key_Space
            and isinstance(watched, (QAbstractButton, QComboBox))
        ):
            event.accept()
            return True
        return False
