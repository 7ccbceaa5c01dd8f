"""The viewer docks: one for each viewer node of the patch, made and removed as the patch changes."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QDockWidget, QMainWindow

from app.docks.viewer import Viewer
from engine.blocktypes.block import Block
from engine.blocktypes.builder import describe
from engine.patch.changes import Change, Connected, Disconnected, NodeAdded, NodeRemoved, NodeRenamed
from engine.patch.document import Patch
from engine.runtime.messages import Preview

_NO_VIEWER = "Add a Viewer block and connect an image"
_NO_IMAGE = "Connect an image to this viewer"
_WAITING = "Waiting for the first picture …"


@cache
def shows_pictures(block_type: Callable[[], Block]) -> bool:
    """True for a block type that shows a picture, as its defaults describe it."""
    try:
        return any(display.path is None for display in describe(block_type()).displays)
    except Exception:  # noqa: BLE001  # a block's describe may fail in any way; the engine says so on the node
        return False


class ViewerDocks(QObject):
    """Keeps one dock a viewer node, tabbed together; without a viewer node one dock says how to get one."""

    #: The viewers that can be seen changed: a frozenset of node ids.
    visible_changed = Signal(frozenset)
    failed = Signal(str)

    def __init__(self, window: QMainWindow) -> None:
        super().__init__(window)
        self._window = window
        self._patch: Patch | None = None
        self._unsubscribe: Callable[[], None] | None = None
        self._visible: frozenset[str] = frozenset()
        self.empty = self._make_dock("viewer", "Viewer", Viewer(_NO_VIEWER))
        window.addDockWidget(Qt.DockWidgetArea.RightDockWidgetArea, self.empty)
        self.docks: dict[str, QDockWidget] = {}

    def viewer(self, node: str) -> Viewer:
        """Return the viewer of a node."""
        widget = self.docks[node].widget()
        assert isinstance(widget, Viewer)
        return widget

    def set_patch(self, patch: Patch | None) -> None:
        """Show the viewers of another patch."""
        if self._unsubscribe is not None:
            self._unsubscribe()
            self._unsubscribe = None
        for node in list(self.docks):
            self._remove(node)
        self._patch = patch
        if patch is not None:
            self._unsubscribe = patch.subscribe(self._on_change)
            for node in patch.nodes:
                self._add(node)
        if self.docks:
            next(iter(self.docks.values())).raise_()

    def show_preview(self, preview: Preview) -> None:
        """Hand a picture to its viewer, if that is still there."""
        if preview.node in self.docks:
            self.viewer(preview.node).show_preview(preview)

    def reveal(self, node: str) -> None:
        """Bring a viewer to the front, also one that was closed."""
        if node in self.docks:
            self.docks[node].show()
            self.docks[node].raise_()

    def refresh_icons(self) -> None:
        """Draw the icons again, in the colours of the present theme."""
        for node in self.docks:
            self.viewer(node).refresh_icons()

    def _add(self, node: str) -> None:
        assert self._patch is not None
        block_type = self._patch.block_type(node)
        if block_type is None or not shows_pictures(block_type):  # type: ignore[arg-type]  # a class is hashable
            return
        dock = self._make_dock(f"viewer:{node}", self._patch.title(node), Viewer(self._hint(node)))
        # Qt counts a tab behind another one as not visible, which is what is meant here.
        dock.visibilityChanged.connect(partial(self._set_seen, node))
        neighbour = next(iter(self.docks.values()), self.empty)
        self._window.tabifyDockWidget(neighbour, dock)
        dock.setVisible(True)
        self.docks[node] = dock
        self.empty.hide()
        dock.raise_()

    def _remove(self, node: str) -> None:
        dock = self.docks.pop(node)
        if not self.docks:
            # Its place is kept by the dock that says how to get a viewer.
            self._window.tabifyDockWidget(dock, self.empty)
            self.empty.show()
        self._window.removeDockWidget(dock)
        dock.deleteLater()
        self._set_seen(node, False)

    def _make_dock(self, name: str, title: str, viewer: Viewer) -> QDockWidget:
        dock = QDockWidget(title, self._window)
        dock.setObjectName(name)
        dock.setWidget(viewer)
        viewer.failed.connect(self.failed)
        return dock

    def _hint(self, node: str) -> str:
        assert self._patch is not None
        fed = any(connection.target.node == node for connection in self._patch.connections)
        return _WAITING if fed else _NO_IMAGE

    def _set_seen(self, node: str, seen: bool) -> None:
        visible = self._visible | {node} if seen else self._visible - {node}
        if visible != self._visible:
            self._visible = visible
            self.visible_changed.emit(visible)

    def _on_change(self, change: Change) -> None:
        match change:
            case NodeAdded(node):
                self._add(node.id)
            case NodeRemoved(node) if node.id in self.docks:
                self._remove(node.id)
            case NodeRenamed(node) if node in self.docks and self._patch is not None:
                self.docks[node].setWindowTitle(self._patch.title(node))
            case Connected(connection) | Disconnected(connection) if connection.target.node in self.docks:
                self.viewer(connection.target.node).set_hint(self._hint(connection.target.node))
