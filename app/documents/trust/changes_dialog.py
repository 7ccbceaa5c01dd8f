"""`ChangesDialog`: what changed in trusted files, as a diff to read."""

from collections.abc import Iterable, Sequence
from itertools import chain, islice

from PySide6.QtCore import QMargins
from PySide6.QtGui import QColor, QFont, QTextBlockFormat, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QFrame, QLabel, QPlainTextEdit, QVBoxLayout, QWidget

from warploom.app.documents.trust.contents import FileChange
from warploom.app.theme import colours
from warploom.app.theme.fonts import code_font
from warploom.engine.figures import plural

_MOST_LINES = 20_000


class ChangesDialog(QDialog):
    """Shows the diffs of files, one below the other."""

    def __init__(self, parent: QWidget, changed: Sequence[FileChange]) -> None:
        super().__init__(parent, windowTitle="Changes since you trusted the files")
        self.diff = QPlainTextEdit(readOnly=True, lineWrapMode=QPlainTextEdit.LineWrapMode.NoWrap)
        self.diff.setAccessibleName("Changes")
        self.diff.setFrameShape(QFrame.Shape.NoFrame)
        self.diff.setFont(code_font())
        _write(self.diff, islice(chain.from_iterable((*file.lines(), (" ", "")) for file in changed), _MOST_LINES))
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        column = QVBoxLayout(self, contentsMargins=QMargins(12, 12, 12, 12), spacing=8)
        column.addWidget(QLabel(f"{plural(len(changed), 'file')} changed while the patch was closed."))
        column.addWidget(self.diff, 1)
        column.addWidget(buttons)
        self.resize(900, 600)


def _write(diff: QPlainTextEdit, lines: Iterable[tuple[str, str]]) -> None:
    """Write the lines of a diff, each with its kind, in the theme's colours."""
    theme = colours.current()
    marks = {"+": theme.running, "-": theme.error}
    cursor = QTextCursor(diff.document())
    cursor.beginEditBlock()
    for number, (kind, line) in enumerate(lines):
        block, text = QTextBlockFormat(), QTextCharFormat()
        text.setForeground(QColor(theme.text_dim if kind == "@" else theme.text))
        if kind == "head":
            text.setFontWeight(QFont.Weight.Bold)
        elif kind in marks:
            block.setBackground(QColor(colours.mix(theme.dock, marks[kind], 0.2)))
        if number:
            cursor.insertBlock()
        cursor.setBlockFormat(block)
        cursor.insertText(line, text)
    cursor.endEditBlock()
