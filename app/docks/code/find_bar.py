"""`FindBar`: search and replace in the shown code."""

import re

from PySide6.QtCore import QMargins, QSignalBlocker, Qt
from PySide6.QtGui import QKeyEvent, QTextCursor
from PySide6.QtWidgets import QFrame, QGridLayout, QLabel, QLineEdit, QPushButton, QToolButton

from warploom.app.docks.code.code_text import CodeText, units
from warploom.app.theme.icons import icon

_MOST_MARKED = 2000


class FindBar(QFrame):
    """A bar above the code, while somebody searches. Enter goes to the next place, Shift and Enter to the one before.

    Escape closes it.
    """

    def __init__(self, text: CodeText) -> None:
        super().__init__(objectName="findBar")
        self._text = text
        self.what = QLineEdit(placeholderText="Find", clearButtonEnabled=True)
        self.what.setAccessibleName("Find")
        self.by = QLineEdit(placeholderText="Replace by")
        self.by.setAccessibleName("Replace by")
        self.case = QToolButton(text="Aa", checkable=True, toolTip="Match upper and lower case")
        self.word = QToolButton(text="W", checkable=True, toolTip="Match whole words only")
        self.count = QLabel(objectName="faint")
        self.one, self.all = QPushButton("Replace"), QPushButton("Replace all")
        close = QToolButton(icon=icon("close"), autoRaise=True, toolTip="Close (Escape)")
        grid = QGridLayout(self, contentsMargins=QMargins(8, 4, 8, 4), spacing=4)
        for column, part in enumerate((self.what, self.case, self.word, self.count)):
            grid.addWidget(part, 0, column)
        grid.addWidget(close, 0, 5)
        grid.addWidget(self.by, 1, 0)
        grid.addWidget(self.one, 1, 1, 1, 2)
        grid.addWidget(self.all, 1, 3)
        grid.setColumnStretch(0, 1)
        grid.setColumnMinimumWidth(3, 88)
        self.what.textChanged.connect(lambda: self._search(from_here=True))
        for button in (self.case, self.word):
            button.toggled.connect(lambda: self._search(from_here=True))
        self.one.clicked.connect(self.replace)
        self.all.clicked.connect(self.replace_all)
        close.clicked.connect(self.end)
        text.textChanged.connect(self._on_text)
        self.hide()

    def begin(self, *, replaces: bool) -> None:
        """Open the bar, with the selected text as what is searched for."""
        chosen = self._text.textCursor().selectedText()
        if chosen and "\N{PARAGRAPH SEPARATOR}" not in chosen:
            self.what.setText(chosen)
        replaces = replaces and not self._text.isReadOnly()
        for part in (self.by, self.one, self.all):
            part.setVisible(replaces)
        self.show()
        self.what.setFocus()
        self.what.selectAll()
        self._search(from_here=True)

    def end(self) -> None:
        """Close the bar; what was found stays selected."""
        self.hide()
        self._text.show_found(())
        self._text.setFocus()

    def places(self) -> list[tuple[int, int]]:
        """Return the start and end of each place that matches."""
        what = self.what.text()
        if not what:
            return []
        pattern = rf"\b{re.escape(what)}\b" if self.word.isChecked() else re.escape(what)
        flags = 0 if self.case.isChecked() else re.IGNORECASE
        text = self._text.toPlainText()
        found = [found.span() for found in re.finditer(pattern, text, flags)]
        return [(units(text, start), units(text, end)) for start, end in found]

    def go(self, direction: int) -> None:
        """Select the next place, or the one before."""
        places, cursor = self.places(), self._text.textCursor()
        if not places:
            return
        if direction > 0:
            following = [place for place in places if place[0] >= cursor.selectionEnd()] or places
            chosen = following[0]
        else:
            before = [place for place in places if place[1] <= cursor.selectionStart()] or places
            chosen = before[-1]
        self._text.select(*chosen)
        self._show_count(places)

    def replace(self) -> None:
        """Replace the selected place, and go to the next one."""
        cursor = self._text.textCursor()
        if (cursor.selectionStart(), cursor.selectionEnd()) in self.places():
            cursor.insertText(self.by.text())
            self._text.setTextCursor(cursor)
        self.go(1)

    def replace_all(self) -> None:
        """Replace every place, in one undo step."""
        cursor = QTextCursor(self._text.document())
        cursor.beginEditBlock()
        for start, end in reversed(self.places()):
            cursor.setPosition(start)
            cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
            cursor.insertText(self.by.text())
        cursor.endEditBlock()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Close on Escape; go on with Enter, back with Shift and Enter."""
        if event.key() == Qt.Key.Key_Escape:
            self.end()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            if self.by.hasFocus():
                self.replace()
            else:
                self.go(-1 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1)
        else:
            super().keyPressEvent(event)

    def _on_text(self) -> None:
        if self.isVisible():
            self._search(from_here=False)

    def _search(self, *, from_here: bool) -> None:
        """Mark all places, and select the first one from the cursor on while the search is being typed."""
        places = self.places()
        with QSignalBlocker(self._text):
            self._text.show_found(places[:_MOST_MARKED])
            here = self._text.textCursor().selectionStart()
            if from_here and places:
                self._text.select(*next((place for place in places if place[0] >= here), places[0]))
        self._show_count(places)

    def _show_count(self, places: list[tuple[int, int]]) -> None:
        cursor = self._text.textCursor()
        here = (cursor.selectionStart(), cursor.selectionEnd())
        at = f"{places.index(here) + 1:,} of " if here in places else ""
        none = "none" if self.what.text() else ""
        self.count.setText(f"{at}{len(places):,}" if places else none)
