"""`CompareView`: two versions of a text side by side."""

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QMargins, Qt, Signal
from PySide6.QtGui import QColor, QTextBlockFormat, QTextCursor
from PySide6.QtWidgets import (
    QComboBox,
    QFrame,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from warploom.app.docks.code.texts import Version
from warploom.app.theme import colours
from warploom.app.theme.fonts import code_font
from warploom.app.view_models.code.comparison import Row, side_by_side
from warploom.app.widgets.highlighter import Highlighter
from warploom.engine.figures import plural


class CompareView(QWidget):
    """An earlier version on the left, the present text on the right; different lines stand side by side."""

    #: The person wants this text back.
    restore_asked = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.versions = QComboBox(toolTip="The version to compare with")
        self.versions.setAccessibleName("Version")
        self.versions.currentIndexChanged.connect(lambda _: self._show())
        self.count = QLabel(objectName="faint")
        self.restore = QPushButton("Use this version", toolTip="Replace the text by the version on the left")
        self.restore.clicked.connect(lambda: self.restore_asked.emit(self._chosen()))
        self.left, self.right = _side("Earlier version"), _side("Present text")
        self.left.verticalScrollBar().valueChanged.connect(self.right.verticalScrollBar().setValue)
        self.right.verticalScrollBar().valueChanged.connect(self.left.verticalScrollBar().setValue)
        self.left.horizontalScrollBar().valueChanged.connect(self.right.horizontalScrollBar().setValue)
        self.right.horizontalScrollBar().valueChanged.connect(self.left.horizontalScrollBar().setValue)
        bar = QHBoxLayout(contentsMargins=QMargins(8, 4, 8, 4), spacing=8)
        bar.addWidget(self.versions)
        bar.addWidget(self.restore)
        bar.addWidget(self.count)
        bar.addStretch(1)
        sides = QHBoxLayout(contentsMargins=QMargins(), spacing=1)
        sides.addWidget(self.left)
        sides.addWidget(self.right)
        column = QVBoxLayout(self, contentsMargins=QMargins(), spacing=0)
        column.addLayout(bar)
        column.addLayout(sides)
        self._known: list[Version] = []
        self._text, self._language = "", ""
        self._highlighters: list[Highlighter] = []
        self.rows: list[Row] = []

    def show_versions(self, versions: Sequence[Version], text: str, language: str) -> None:
        """Compare a text with one of these versions: the one that was chosen before, if it is still there."""
        if (list(versions), text, language) == (self._known, self._text, self._language):
            return
        if language != self._language:
            for highlighter in self._highlighters:
                highlighter.setDocument(None)
            self._highlighters = [Highlighter(side.document(), language) for side in (self.left, self.right)]
        self._text, self._language = text, language
        if list(versions) != self._known:
            chosen = self.versions.currentText()
            self._known = list(versions)
            self.versions.blockSignals(True)
            self.versions.clear()
            self.versions.addItems([version.name for version in versions])
            self.versions.setCurrentIndex(max(0, self.versions.findText(chosen)))
            self.versions.blockSignals(False)
        self._show()

    def _chosen(self) -> str:
        index = self.versions.currentIndex()
        return self._known[index].text if 0 <= index < len(self._known) else ""

    def _show(self) -> None:
        self.rows = side_by_side(self._chosen(), self._text)
        changed = sum(row.is_changed for row in self.rows)
        self.count.setText(f"{plural(changed, 'different line')}" if changed else "no difference")
        self.restore.setEnabled(bool(changed))
        theme = colours.current()
        for side, name, colour in ((self.left, "left", theme.error), (self.right, "right", theme.running)):
            place = side.verticalScrollBar().value()
            side.setPlainText("\n".join(getattr(row, name) or "" for row in self.rows))
            _paint(side, self.rows, name, colour)
            side.verticalScrollBar().setValue(place)

    def changeEvent(self, event: QEvent) -> None:
        """Update the lines to another theme's colours."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            for highlighter in self._highlighters:
                highlighter.rehighlight()
            self._show()


def _side(name: str) -> QPlainTextEdit:
    side = QPlainTextEdit(readOnly=True, lineWrapMode=QPlainTextEdit.LineWrapMode.NoWrap, objectName="compared")
    side.setFrameShape(QFrame.Shape.NoFrame)
    side.setFont(code_font())
    side.setAccessibleName(name)
    side.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
    return side


def _paint(side: QPlainTextEdit, rows: Sequence[Row], name: str, colour: str) -> None:
    """Colour the lines that differ; a line that only the other side has is grey."""
    theme, cursor = colours.current(), QTextCursor(side.document())
    cursor.beginEditBlock()
    for number, row in enumerate(rows):
        if row.is_changed:
            missing = getattr(row, name) is None
            tint = colours.mix(theme.canvas, theme.text if missing else colour, 0.06 if missing else 0.18)
            format_ = QTextBlockFormat()
            format_.setBackground(QColor(tint))
            cursor.setPosition(side.document().findBlockByNumber(number).position())
            cursor.setBlockFormat(format_)
    cursor.endEditBlock()
