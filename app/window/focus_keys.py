"""Decides who gets a key: the canvas while the pointer is over it, otherwise the focused control or the window."""

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSpinBox,
    QComboBox,
    QLineEdit,
    QPlainTextEdit,
    QTextEdit,
    QWidget,
)

from app.canvas.canvas import Canvas
from app.widgets.number_box import NumberBox

_TEXT_FIELDS = (QLineEdit, QAbstractSpinBox, QTextEdit, QPlainTextEdit)


class FocusKeys(QObject):
    """Watches the focused control, and decides who gets a key that both it and the window use.

    Space presses a focused button, opens a focused list or checks a row, where it would otherwise play or pause. Undo
    belongs to a text field only while its typed text is not entered. The canvas takes the keyboard when the pointer
    enters it, except from a field for text, where a person may still be typing; from such a field it takes only Tab.
    """

    def __init__(self, canvas: Canvas) -> None:
        super().__init__(canvas)
        self._canvas = canvas
        canvas.view.entered.connect(self._enter_canvas)

    def watch(self, old: QWidget | None, new: QWidget | None) -> None:
        """Follow the focus; connect this to `QApplication.focusChanged`."""
        if old is not None:
            old.removeEventFilter(self)
        if new is not None and not self._canvas.isAncestorOf(new):
            new.installEventFilter(self)

    def _enter_canvas(self) -> None:
        focused = self._canvas.window().focusWidget()
        if self._canvas.isActiveWindow() and not isinstance(focused, _TEXT_FIELDS):
            self._canvas.setFocus(Qt.FocusReason.MouseFocusReason)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Accept the event for the control, or withhold it from the control so that the window gets it."""
        if not isinstance(event, QKeyEvent):
            return False
        if event.type() == QEvent.Type.KeyPress and event.key() == Qt.Key.Key_Tab:
            if not self._canvas.view.viewport().underMouse():
                return False
            self._canvas.setFocus()  # this enters the typed text
            self._canvas.open_search()
            return True
        if event.type() != QEvent.Type.ShortcutOverride:
            return False
        if event.key() == Qt.Key.Key_Space and _takes_space(watched):
            event.accept()
            return True
        undoes = event.matches(QKeySequence.StandardKey.Undo) or event.matches(QKeySequence.StandardKey.Redo)
        if undoes and isinstance(watched, (QLineEdit, NumberBox)):
            typed = watched.isModified() if isinstance(watched, QLineEdit) else watched.has_typed_text
            event.setAccepted(typed)
            return not typed
        return False


def _takes_space(watched: QObject) -> bool:
    if isinstance(watched, QAbstractItemView):
        return bool(watched.currentIndex().flags() & Qt.ItemFlag.ItemIsUserCheckable)
    return isinstance(watched, (QAbstractButton, QComboBox))
