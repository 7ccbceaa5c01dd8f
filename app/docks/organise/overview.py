"""The map of the canvas, with the bookmarks of the patch below it."""

from PySide6.QtCore import QMargins, QPointF, Qt, QTimer
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QListWidget, QListWidgetItem, QVBoxLayout, QWidget

from warploom.app.docks.dock import Dock, Editor
from warploom.app.docks.organise.map_view import MapView
from warploom.app.edits.organise.bookmarks import bookmark_title, rename_bookmark
from warploom.app.widgets.empty_state import EmptyState
from warploom.engine.diagnostics import PatchError
from warploom.engine.patch.organise.annotations import Bookmark

_REFRESH_MS = 100  # milliseconds; the map follows the view while somebody looks at it
_HINT = "No bookmarks yet.\nOn the canvas, Ctrl+1 to Ctrl+9 set one, and 1 to 9 go there"
#: The height of two rows of the list.
_LEAST_LIST = 48
_NUMBER = Qt.ItemDataRole.UserRole


class Overview(QWidget, Dock):
    """A map, and a list of bookmarks: a double click goes there, F2 renames, Delete removes."""

    name = "overview"
    title = "Overview"
    area = Qt.DockWidgetArea.RightDockWidgetArea

    def __init__(self) -> None:
        super().__init__()
        self._editor: Editor | None = None
        self._listed: list[tuple[int, str]] = []
        self.map = MapView()
        self.list = QListWidget(accessibleName="Bookmarks", objectName="lines")
        self.list.setEditTriggers(QListWidget.EditTrigger.EditKeyPressed)
        self.list.itemActivated.connect(self._go)
        self.list.itemChanged.connect(self._rename)
        self.bookmarks = EmptyState(self.list, _HINT)
        layout = QVBoxLayout(self, contentsMargins=QMargins(), spacing=1)
        layout.addWidget(self.map, 2)
        layout.addWidget(self.bookmarks, 1)
        self.bookmarks.setMinimumHeight(_LEAST_LIST)
        self._timer = QTimer(self, interval=_REFRESH_MS)
        self._timer.timeout.connect(self._refresh)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Leave a low dock to the map."""
        super().resizeEvent(event)
        self.bookmarks.setVisible(self.height() >= 3 * _LEAST_LIST)

    def follow(self, editor: Editor) -> None:
        """Show the editor's canvas."""
        self._editor = editor
        self.map.canvas = editor.canvas
        self.map.moved.connect(lambda point: editor.canvas.view.centerOn(QPointF(point)))

    def set_seen(self, seen: bool) -> None:
        """Follow the view only while somebody sees the map."""
        if seen:
            self._refresh()
            self._timer.start()
        else:
            self._timer.stop()

    def _refresh(self) -> None:
        self.map.update()
        patch = self._editor.session.patch if self._editor is not None else None
        found = sorted(patch.annotations_of(Bookmark), key=lambda each: each.number) if patch is not None else []
        listed = [(each.number, bookmark_title(each)) for each in found]
        if listed == self._listed:
            return
        self._listed = listed
        self.list.blockSignals(True)
        self.list.clear()
        for number, title in listed:
            item = QListWidgetItem(title)
            item.setData(_NUMBER, number)
            item.setFlags(item.flags() | Qt.ItemFlag.ItemIsEditable)
            item.setToolTip(f"Bookmark {number}: double-click to go there, F2 to rename")
            self.list.addItem(item)
        self.list.blockSignals(False)
        self.bookmarks.set_filled(bool(listed))

    def _go(self, item: QListWidgetItem) -> None:
        if self._editor is not None:
            self._editor.kernel.go_to_bookmark(item.data(_NUMBER))

    def _rename(self, item: QListWidgetItem) -> None:
        patch = self._editor.session.patch if self._editor is not None else None
        if patch is None or self._editor is None:
            return
        try:
            rename_bookmark(patch, item.data(_NUMBER), item.text())
        except PatchError as problem:
            self._editor.note(str(problem))
        self._listed = []
        self._refresh()
