"""The list of commands with their keys, which can be changed, and of gestures."""

from collections.abc import Callable

from PySide6.QtCore import QMargins, Qt
from PySide6.QtGui import QIcon, QKeySequence
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QHBoxLayout,
    QHeaderView,
    QKeySequenceEdit,
    QLabel,
    QLineEdit,
    QPushButton,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from warploom.app.commands.help_dialogs import GESTURES
from warploom.app.commands.keys import Keys, shown_keys

_COMMAND = Qt.ItemDataRole.UserRole
_CHANGED = "\N{BULLET}"


class ShortcutDialog(QDialog):
    """Lists commands and gestures. Keys typed into the field below are given to the chosen command."""

    def __init__(self, keys: Keys, parent: QWidget) -> None:
        super().__init__(parent, windowTitle="Shortcuts and gestures")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(720, 640)
        self._keys = keys
        self.filter = QLineEdit(placeholderText="Find a command, a gesture or keys", clearButtonEnabled=True)
        self.filter.textChanged.connect(self._filter)
        self.rows = QTreeWidget(rootIsDecorated=False, uniformRowHeights=True, indentation=0)
        self.rows.setHeaderLabels(["Command", "Keys"])
        # Names are short. A gesture's text may be longer than the dialog is wide.
        self.rows.header().setSectionResizeMode(0, QHeaderView.ResizeMode.ResizeToContents)
        self.rows.currentItemChanged.connect(lambda *_: self._show())
        self.typed = QKeySequenceEdit(maximumSequenceLength=1, clearButtonEnabled=True, enabled=False)
        self.typed.setAccessibleName("New keys")
        self.typed.keySequenceChanged.connect(lambda _: self._show())
        self.give = _button("Add", self._give)
        self.take = _button("Remove", self._take)
        self.reset = _button("Reset", self._reset)
        self.reset_all = _button("Reset all", self._reset_all)
        self.note = QLabel(wordWrap=True, objectName="message")
        row = QHBoxLayout(spacing=8)
        row.addWidget(self.typed, 1)
        for button in (self.give, self.take, self.reset):
            row.addWidget(button)
        close = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        close.button(QDialogButtonBox.StandardButton.Close).setIcon(QIcon())
        close.addButton(self.reset_all, QDialogButtonBox.ButtonRole.ResetRole)
        close.rejected.connect(self.reject)
        column = QVBoxLayout(self, contentsMargins=QMargins(16, 16, 16, 16), spacing=8)
        column.addWidget(self.filter)
        column.addWidget(self.rows, 1)
        column.addLayout(row)
        column.addWidget(self.note)
        column.addWidget(close)
        self._fill()
        self.filter.setFocus()

    def choose(self, command: str) -> None:
        """Choose the row of a command."""
        for item in self._items():
            if item.data(0, _COMMAND) == command:
                self.rows.setCurrentItem(item)

    def _fill(self) -> None:
        chosen = self._chosen()
        self.rows.clear()
        for command in self._keys.commands.values():
            mark = f"  {_CHANGED}" if self._keys.is_changed(command.id) else ""
            item = QTreeWidgetItem([command.name + mark, shown_keys(self._keys.of(command.id))])
            item.setData(0, _COMMAND, command.id)
            item.setToolTip(0, command.help)
            self.rows.addTopLevelItem(item)
        heading = QTreeWidgetItem(["On the canvas"])
        heading.setFlags(Qt.ItemFlag.ItemIsEnabled)
        font = heading.font(0)
        font.setBold(True)
        heading.setFont(0, font)
        self.rows.addTopLevelItem(heading)
        for gesture in GESTURES:
            item = QTreeWidgetItem(list(gesture))
            item.setToolTip(1, gesture[1])
            self.rows.addTopLevelItem(item)
        self._filter(self.filter.text())
        self.choose(chosen)
        self._show()

    def _filter(self, text: str) -> None:
        words = text.lower().split()
        for item in self._items():
            shown = f"{item.text(0)} {item.text(1)}".lower()
            item.setHidden(not all(word in shown for word in words))

    def _items(self) -> list[QTreeWidgetItem]:
        items = (self.rows.topLevelItem(at) for at in range(self.rows.topLevelItemCount()))
        return [item for item in items if item is not None]

    def _chosen(self) -> str:
        item = self.rows.currentItem()
        return str(item.data(0, _COMMAND) or "") if item is not None else ""

    def _typed_key(self) -> str:
        return self.typed.keySequence().toString(QKeySequence.SequenceFormat.PortableText)

    def _show(self) -> None:
        """Show what can be done for the chosen command, and whether the typed keys belong to another one."""
        command, key = self._chosen(), self._typed_key()
        self.typed.setEnabled(bool(command))
        refusal = self._keys.refusal(command, key) if command and key else ""
        other = self._keys.user(key) if refusal else None
        self.give.setEnabled(bool(command and key) and (not refusal or other is not None))
        self.give.setText("Take over" if other is not None else "Add")
        self.take.setEnabled(bool(command) and bool(self._keys.of(command)))
        self.reset.setEnabled(bool(command) and self._keys.is_changed(command))
        self.note.setText(refusal or ("" if command else "Choose a command to change its keys"))
        self.note.setProperty("state", "warning" if refusal else "")
        self.note.style().polish(self.note)

    def _give(self) -> None:
        self._keys.give(self._chosen(), self._typed_key())
        self.typed.clear()
        self._fill()

    def _take(self) -> None:
        self._keys.set(self._chosen(), ())
        self._fill()

    def _reset(self) -> None:
        self._keys.reset([self._chosen()])
        self._fill()

    def _reset_all(self) -> None:
        self._keys.reset(self._keys.commands)
        self._fill()


def _button(text: str, run: Callable[[], None]) -> QPushButton:
    button = QPushButton(text, autoDefault=False)
    button.clicked.connect(lambda: run())
    return button
