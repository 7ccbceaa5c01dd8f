"""Decides who gets a key: the canvas while the pointer is over it, otherwise the focused control or the window."""

from PySide6.QtCore import QEvent, QObject, QPoint, Qt
from PySide6.QtGui import QCursor, QKeyEvent, QKeySequence
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSpinBox,
    QComboBox,
    QDockWidget,
    QLineEdit,
    QPlainTextEdit,
    QTextEdit,
    QWidget,
)

from warploom.app.canvas.canvas import Canvas
from warploom.app.widgets.number_box import NumberBox

_TEXT_FIELDS = (QLineEdit, QAbstractSpinBox, QTextEdit, QPlainTextEdit)


class FocusKeys(QObject):
    """Watches the focused control, and decides who gets a key that both it and the window use.

    Space presses a focused button, opens a focused list or checks a row, where it would otherwise play or pause. Undo
    belongs to a text field only while its typed text is not entered, and so does Space in a number field. The canvas
    takes the keyboard when the pointer enters it, except from a field for text, where a person may still be typing;
    from such a field it takes only Tab. It does not take Tab while the pointer rests where it was when keys moved the
    focus (`go_to_part`).
    """

    def __init__(self, canvas: Canvas) -> None:
        super().__init__(canvas)
        self._canvas = canvas
        self._resting: QPoint | None = None  # the pointer's place then
        canvas.view.entered.connect(self._enter_canvas)

    def watch(self, old: QWidget | None, new: QWidget | None) -> None:
        """Follow the focus; connect this to `QApplication.focusChanged`."""
        if old is not None:
            old.removeEventFilter(self)
        if new is not None and not self._canvas.isAncestorOf(new):
            new.installEventFilter(self)

    def go_to_part(self, step: int) -> None:
        """Move the focus to the next part, or with -1 to the one before: the canvas, or a dock in front."""
        window = self._canvas.window()
        docks = [dock for dock in window.findChildren(QDockWidget) if not dock.visibleRegion().isEmpty()]
        controls = [control for dock in docks if (control := _first_control(dock)) is not None]
        parts: list[QWidget] = [self._canvas.view, *controls]
        focused = window.focusWidget()
        inside = (dock for dock in docks if focused is not None and dock.isAncestorOf(focused))
        dock = next(inside, None)
        at = next((n for n, part in enumerate(parts) if dock is not None and dock.isAncestorOf(part)), 0)
        self._resting = QCursor.pos()
        parts[(at + step) % len(parts)].setFocus(Qt.FocusReason.ShortcutFocusReason)

    def _enter_canvas(self) -> None:
        focused = self._canvas.window().focusWidget()
        if self._canvas.isActiveWindow() and not isinstance(focused, _TEXT_FIELDS):
            self._canvas.setFocus(Qt.FocusReason.MouseFocusReason)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Accept the event for the control, or withhold it from the control so that the window gets it."""
        if not isinstance(event, QKeyEvent):
            return False
        if event.type() == QEvent.Type.KeyPress and event.key() == Qt.Key.Key_Tab:
            if not self._canvas.view.viewport().underMouse() or QCursor.pos() == self._resting:
                return False
            self._canvas.setFocus()  # this enters the typed text
            self._canvas.open_search()
            return True
        if event.type() != QEvent.Type.ShortcutOverride:
            return False
        if event.key() == Qt.Key.Key_Space and _takes_space(watched):
            event.accept()
            return True
        if event.key() == Qt.Key.Key_Space and isinstance(watched, NumberBox):
            event.setAccepted(watched.lineEdit().isModified())
            return not event.isAccepted()
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


def _first_control(dock: QDockWidget) -> QWidget | None:
    """Return the first control in a dock that can be reached by Tab."""

    def is_reached(part: QWidget) -> bool:
        policy = part.focusPolicy()
        return bool(policy & Qt.FocusPolicy.TabFocus) and part.isEnabled() and not part.visibleRegion().isEmpty()

    return next(filter(is_reached, dock.widget().findChildren(QWidget)), None)
