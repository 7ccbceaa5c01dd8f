"""Who gets a key that is a command of the window and also means something to the focused control."""

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtWidgets import QAbstractButton, QComboBox, QLineEdit, QWidget

from app.qt.safe_overrides import safe_overrides
from app.widgets.number_box import NumberBox


@safe_overrides
class FocusKeys(QObject):
    """Watches the focused control and decides who gets a key that both it and the window use.

    Space presses a focused button or opens a focused list, where it would otherwise play or pause. Undo belongs to a
    text field only while something typed there has not been entered.
    """

    def watch(self, old: QWidget | None, new: QWidget | None) -> None:
        """Follow the focus; connect this to `QApplication.focusChanged`."""
        if old is not None:
            old.removeEventFilter(self)
        if isinstance(new, (QAbstractButton, QComboBox, QLineEdit, NumberBox)):
            new.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Accept the event for the control, or keep it from the control so that the window gets it."""
        if event.type() != QEvent.Type.ShortcutOverride or not isinstance(event, QKeyEvent):
            return False
        if event.key() == Qt.Key.Key_Space and isinstance(watched, (QAbstractButton, QComboBox)):
            event.accept()
            return True
        undoes = event.matches(QKeySequence.StandardKey.Undo) or event.matches(QKeySequence.StandardKey.Redo)
        if undoes and isinstance(watched, (QLineEdit, NumberBox)):
            typed = watched.isModified() if isinstance(watched, QLineEdit) else watched.has_typed_text
            event.setAccepted(typed)
            return not typed
        return False
