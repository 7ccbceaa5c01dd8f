"""The field that finds blocks and frames of the patch, over the canvas."""

from PySide6.QtCore import QEvent, QMargins, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QLabel, QLineEdit, QListWidget, QListWidgetItem, QVBoxLayout, QWidget

from warploom.app.theme import colours
from warploom.app.view_models.lists.find import Found, find
from warploom.engine.patch.document import Patch

_WIDTH, _ROWS, _MOST = 340, 8, 200
_FOUND = Qt.ItemDataRole.UserRole


class FindBar(QFrame):
    """A field and what matches it. Up and down show each on the canvas, Enter stays there, Escape closes."""

    went_to = Signal(str, bool)  # a block, or a frame if the second is true

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, objectName="search")
        self._room = parent
        self._patch = Patch()
        self.field = QLineEdit(placeholderText="Find a block, type, value or frame", clearButtonEnabled=True)
        self.field.setAccessibleName("Find in patch")
        self.field.textChanged.connect(self._fill)
        self.field.installEventFilter(self)
        self.list = QListWidget(focusPolicy=Qt.FocusPolicy.NoFocus, frameShape=QFrame.Shape.NoFrame)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.currentItemChanged.connect(self._go)
        self.list.itemClicked.connect(lambda _: self.close_find())
        self.count = QLabel(objectName="faint")
        layout = QVBoxLayout(self, contentsMargins=QMargins(8, 8, 8, 8), spacing=6)
        for part in (self.field, self.list, self.count):
            layout.addWidget(part)
        self.setFixedWidth(_WIDTH)
        self.hide()

    def open(self, patch: Patch) -> None:
        """Show the field for a patch, with the last text selected."""
        theme = colours.current()
        self.setStyleSheet(
            f"#search {{ background: {theme.dock}; border: 1px solid {theme.border}; border-radius: 4px; }}"
        )
        self._patch = patch
        self._fill(self.field.text())
        self.move(max(self._room.width() - _WIDTH - 12, 0), 12)
        self.stay()
        self.field.selectAll()

    def stay(self) -> None:
        """Keep the field and the focus, which the canvas takes when it shows another level."""
        self.show()
        self.raise_()
        self.field.setFocus()

    def close_find(self) -> None:
        """Hide the field and return the focus."""
        if self.isVisible():
            self.hide()
            self._room.setFocus()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Let the field's keys choose; close when the focus leaves."""
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            key = Qt.Key(event.key())
            if key in (Qt.Key.Key_Down, Qt.Key.Key_Up, Qt.Key.Key_F3):
                back = key == Qt.Key.Key_Up or bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
                self._step(-1 if back else 1)
                return True
            if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Escape):
                if key != Qt.Key.Key_Escape and self.list.currentItem() is None:
                    self._step(1)
                self.close_find()
                return True
        if event.type() == QEvent.Type.FocusOut and not self.isAncestorOf(self.window().focusWidget()):
            self.hide()
        return super().eventFilter(watched, event)

    def _step(self, rows: int) -> None:
        if count := self.list.count():
            self.list.setCurrentRow((self.list.currentRow() + rows) % count)

    def _fill(self, text: str) -> None:
        found = find(self._patch, text)
        self.list.blockSignals(True)
        self.list.clear()
        for hit in found[:_MOST]:
            item = QListWidgetItem(f"{hit.title}   {hit.why}")
            item.setData(_FOUND, hit)
            item.setToolTip(hit.why)
            self.list.addItem(item)
        self.list.setCurrentRow(-1)
        self.list.blockSignals(False)
        row = max(self.list.sizeHintForRow(0), 20)
        self.list.setFixedHeight(row * min(max(len(found), 1), _ROWS) + 4)
        self.list.setVisible(bool(found))
        self.count.setText(f"{len(found):,} found" if text.strip() else "↑ ↓ go through what is found")
        self.adjustSize()

    def _go(self, item: QListWidgetItem | None) -> None:
        if item is not None:
            hit: Found = item.data(_FOUND)
            self.went_to.emit(hit.id, hit.is_frame)
