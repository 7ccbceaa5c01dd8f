"""The editor for a parameter whose text has several lines: a formula, or the source of a kernel."""

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QEvent, QSignalBlocker, Qt
from PySide6.QtGui import QFocusEvent, QKeyEvent, QResizeEvent, QTextCursor
from PySide6.QtWidgets import QPlainTextEdit

from warploom.app.inspector.parameter_editors import ParameterEditor
from warploom.app.inspector.typed_line import TypedInput
from warploom.app.theme.fonts import code_font
from warploom.app.widgets.highlighter import Highlighter
from warploom.engine.blocktypes.parameters import ParameterSpec

_FEWEST, _MOST = 2, 18  # the fewest and most visible lines


class CodeEditor(ParameterEditor):
    """A field for code, entered with Control and Enter, or by leaving the field. It grows with its text.

    Escape discards the typed text. A value that arrives while a person types does not change the text.
    """

    def __init__(self, spec: ParameterSpec) -> None:
        super().__init__(spec)
        self._shown: Sequence[Any] = ()
        self.text = _CodeField(self)
        self.text.setAccessibleName(self.name)
        self._highlighter = Highlighter(self.text.document(), spec.language)
        self.text.textChanged.connect(self._fit)
        self.row.addWidget(self.text, 1)
        self._fit()

    def show_values(self, values: Sequence[Any]) -> None:
        self._shown = values
        if self.text.document().isModified():
            return
        same = all(value == values[0] for value in values)
        text = values[0] if same else ""
        self.text.setPlaceholderText("" if same else "various")
        if text != self.text.toPlainText():
            with QSignalBlocker(self):
                self.text.setPlainText(text)
        self.text.document().setModified(False)

    def enter(self) -> None:
        if self.text.document().isModified():
            self.text.document().setModified(False)
            self.edited.emit(self.text.toPlainText())

    def give_up(self) -> bool:
        """Restore the text from before typing. Return False if nothing was typed."""
        if not self.text.document().isModified():
            return False
        text = self.text.toPlainText()
        self.text.document().setModified(False)
        self.show_values(self._shown)
        self.given_up.emit(text)
        return True

    def typed_input(self) -> TypedInput:
        cursor = self.text.textCursor()
        text = self.text.toPlainText() if self.text.document().isModified() else None
        return TypedInput(text, cursor.anchor(), cursor.position())

    def continue_with(self, given: TypedInput) -> None:
        if given.text is not None:
            self.text.setPlainText(given.text)
            self.text.document().setModified(True)
        cursor, end = self.text.textCursor(), self.text.document().characterCount() - 1
        cursor.setPosition(min(given.anchor, end))
        cursor.setPosition(min(given.position, end), QTextCursor.MoveMode.KeepAnchor)
        self.text.setTextCursor(cursor)

    def _fit(self) -> None:
        lines = min(max(self.text.blockCount(), _FEWEST), _MOST)
        frame = 2 * (self.text.frameWidth() + int(self.text.document().documentMargin()))
        widest = max((len(line) for line in self.text.toPlainText().splitlines()), default=0)
        width = widest * self.text.fontMetrics().horizontalAdvance("0") + frame
        is_cut = self.text.blockCount() > _MOST
        policies = Qt.ScrollBarPolicy.ScrollBarAsNeeded, Qt.ScrollBarPolicy.ScrollBarAlwaysOff
        self.text.setVerticalScrollBarPolicy(policies[0 if is_cut else 1])
        bar = self.text.horizontalScrollBar().sizeHint().height() if width > self.text.width() else 0
        self.text.setFixedHeight(lines * self.text.fontMetrics().lineSpacing() + frame + bar + 2)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Leave room for a scroll bar if a line is too long."""
        super().resizeEvent(event)
        self._fit()

    def changeEvent(self, event: QEvent) -> None:
        """Update the colours to another theme."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._highlighter.rehighlight()


class _CodeField(QPlainTextEdit):
    def __init__(self, editor: CodeEditor) -> None:
        super().__init__()
        self._editor = editor
        self.setFont(code_font())
        self.setTabStopDistance(4 * self.fontMetrics().horizontalAdvance(" "))
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setToolTip("Ctrl+Enter runs the code")

    def keyPressEvent(self, event: QKeyEvent) -> None:
        is_enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if is_enter and event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self._editor.enter()
        elif event.key() == Qt.Key.Key_Escape and self._editor.give_up():
            self.clearFocus()
        else:
            super().keyPressEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self._editor.enter()
