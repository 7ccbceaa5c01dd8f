"""`Completion`: a list of names below the cursor, one of which may complete the typed word."""

from PySide6.QtCore import QPoint, QRect, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QListWidget, QPlainTextEdit

from warploom.app.theme.fonts import code_font
from warploom.app.view_models.code.names import Names

_ROWS, _PADDING = 8, 24


class Completion(QListWidget):
    """Names to choose with the arrows and Tab or Enter, or with the mouse. It never takes the keyboard."""

    #: The name that completes the word which begins at a place.
    chosen = Signal(int, str)

    def __init__(self, text: QPlainTextEdit) -> None:
        super().__init__(text, objectName="completion")
        self.setFont(code_font())
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setUniformItemSizes(True)
        self.setAccessibleName("Names")
        self.itemClicked.connect(lambda _: self._choose())
        self._text = text
        self._start = 0
        self.hide()

    @property
    def is_open(self) -> bool:
        """True while names are offered."""
        return not self.isHidden()

    def names(self) -> list[str]:
        """Return the offered names."""
        return [self.item(row).text() for row in range(self.count())]

    def offer(self, found: Names, cursor: QRect, margin: int) -> None:
        """Offer names below the cursor, or above it where there is no room."""
        self._start = found.start
        self.clear()
        self.addItems(found.names)
        self.setCurrentRow(0)
        height = self.sizeHintForRow(0) * min(_ROWS, len(found.names)) + 2 * self.frameWidth() + 2
        width = max(160, self.sizeHintForColumn(0) + _PADDING)
        typed = self._text.textCursor().position() - found.start
        back = typed * self.fontMetrics().horizontalAdvance("0") + self.frameWidth() + 4
        place = cursor.bottomLeft() + QPoint(margin - back, 2)
        if place.y() + height > self._text.height() and cursor.top() > height:
            place.setY(cursor.top() - height)
        left = max(0, min(place.x(), self._text.width() - width))
        self.setGeometry(left, place.y(), width, height)
        self.show()
        self.raise_()

    def takes(self, event: QKeyEvent) -> bool:
        """Handle a key of the text if it is meant for the list; return whether it was."""
        if not self.is_open:
            return False
        match event.key():
            case Qt.Key.Key_Down | Qt.Key.Key_Up:
                step = 1 if event.key() == Qt.Key.Key_Down else -1
                self.setCurrentRow((self.currentRow() + step) % self.count())
            case Qt.Key.Key_PageDown | Qt.Key.Key_PageUp:
                step = _ROWS if event.key() == Qt.Key.Key_PageDown else -_ROWS
                self.setCurrentRow(min(max(0, self.currentRow() + step), self.count() - 1))
            case Qt.Key.Key_Tab | Qt.Key.Key_Return | Qt.Key.Key_Enter if not event.modifiers():
                self._choose()
            case Qt.Key.Key_Escape:
                self.hide()
            case Qt.Key.Key_Left | Qt.Key.Key_Right | Qt.Key.Key_Home | Qt.Key.Key_End:
                self.hide()
                return False
            case _:
                return False
        return True

    def _choose(self) -> None:
        item = self.currentItem()
        self.hide()
        if item is not None:
            self.chosen.emit(self._start, item.text())
