"""The list of edits: those done, and those undone; choosing one goes back or forward to it."""

from PySide6.QtCore import QMargins, Qt
from PySide6.QtGui import QBrush, QColor, QFont
from PySide6.QtWidgets import QListWidget, QListWidgetItem, QVBoxLayout, QWidget

from warploom.app.docks.dock import Dock, Editor
from warploom.app.qt.throttle import Throttle
from warploom.app.theme import colours
from warploom.app.widgets.empty_state import EmptyState

_HINT = "No edits yet.\nEvery edit is listed here; click one to go back or forward to it"
_REFRESH_MS = 100


class EditList(QWidget, Dock):
    """The history as a list, the oldest edit first; the row of the present state is strong, undone edits are faint."""

    name = "history"
    title = "History"
    area = Qt.DockWidgetArea.RightDockWidgetArea

    def __init__(self) -> None:
        super().__init__()
        self._seen = False
        self._editor: Editor | None = None
        self.list = QListWidget(accessibleName="Edits", objectName="lines", uniformItemSizes=True)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.list.itemClicked.connect(self._jump)
        self.list.itemActivated.connect(self._jump)
        self.state = EmptyState(self.list, _HINT)
        layout = QVBoxLayout(self, contentsMargins=QMargins(), spacing=0)
        layout.addWidget(self.state)
        self._throttle = Throttle(self._refresh, _REFRESH_MS, self)

    def follow(self, editor: Editor) -> None:
        """List the edits of the open patch."""
        self._editor = editor
        editor.session.changed.connect(self._throttle.ask)
        editor.session.replaced.connect(lambda _: self._throttle.ask())

    def set_seen(self, seen: bool) -> None:
        """List the edits only while somebody sees them."""
        self._seen = seen
        if seen:
            self._throttle.ask()

    def _refresh(self) -> None:
        if not self._seen or self._editor is None:
            return
        patch = self._editor.session.patch
        done, undone = (patch.history.names, patch.history.undone_names) if patch is not None else ([], [])
        texts = ["Opened", *done, *undone] if done or undone else []
        while self.list.count() > len(texts):
            self.list.takeItem(self.list.count() - 1)
        for row, text in enumerate(texts):
            if row == self.list.count():
                self.list.addItem(QListWidgetItem())
            item = self.list.item(row)
            font = QFont(self.list.font())
            font.setBold(row == len(done))
            item.setText(text)
            item.setFont(font)
            item.setToolTip(text)
            faint = colours.current().text_faint if row > len(done) else colours.current().text
            item.setForeground(QBrush(QColor(faint)))
        if texts:
            self.list.setCurrentRow(len(done))
            self.list.scrollToItem(self.list.item(len(done)))
        self.state.set_filled(bool(texts))

    def _jump(self, item: QListWidgetItem) -> None:
        if self._editor is not None:
            self._editor.session.jump(self.list.row(item))
