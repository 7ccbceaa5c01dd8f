"""The canvas's own keys: what they edit, besides the shortcuts of the window."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent, QKeySequence

if TYPE_CHECKING:
    from app.canvas.canvas import Canvas

_ARROWS = {Qt.Key.Key_Left: (-1, 0), Qt.Key.Key_Right: (1, 0), Qt.Key.Key_Up: (0, -1), Qt.Key.Key_Down: (0, 1)}


class CanvasKeys:
    """Does what a key means on one canvas."""

    def __init__(self, canvas: Canvas) -> None:
        self._canvas = canvas
        self._nudges = 0

    def press(self, event: QKeyEvent) -> bool:
        """Do what a key means; False when it means nothing here."""
        canvas = self._canvas
        standard = {
            QKeySequence.StandardKey.Copy: canvas.edits.copy,
            QKeySequence.StandardKey.Cut: canvas.edits.cut,
            QKeySequence.StandardKey.Paste: canvas.edits.paste,
            QKeySequence.StandardKey.SelectAll: canvas.select_all,
        }
        for key, act in standard.items():
            if event.matches(key):
                act()
                return True
        return self._press_plain(event)

    def _press_plain(self, event: QKeyEvent) -> bool:
        canvas, key = self._canvas, event.key()
        has_control = bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
        if key == Qt.Key.Key_Tab:
            canvas.open_search()
        elif key in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            canvas.edits.delete()
        elif key == Qt.Key.Key_D and has_control:
            canvas.edits.duplicate()
        elif key == Qt.Key.Key_F and not has_control:
            canvas.fit_selection()
        elif key in _ARROWS:
            # A held key is one movement, and one undo step.
            self._nudges += not event.isAutoRepeat()
            canvas.edits.nudge(*_ARROWS[Qt.Key(key)], gesture=("nudge", id(canvas), self._nudges))
        else:
            return False
        return True
