"""What the edit commands do with the selection of the canvas."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, QPointF, Signal
from PySide6.QtGui import QGuiApplication

from app.canvas import clipboard, editing
from app.canvas.graph_scene import GraphScene
from app.canvas.node_layout import STEP, snapped
from engine.diagnostics import PatchError
from engine.patch.changes import Position
from engine.patch.document import Patch


class SelectionEdits(QObject):
    """Edits of what is selected in `scene`, each one undo step of the patch; `pointer` says where to paste."""

    refused = Signal(str)  # why something is not done

    def __init__(self, scene: GraphScene, pointer: Callable[[], QPointF], parent: QObject) -> None:
        super().__init__(parent)
        self._scene = scene
        self._pointer = pointer
        self.patch: Patch | None = None

    def delete(self) -> None:
        """Remove the selected nodes and connections."""
        nodes, connections = self._scene.selected_nodes(), self._scene.selected_connections()
        if self.patch is not None and (nodes or connections):
            editing.delete(self.patch, nodes, connections)

    def disconnect_all(self) -> None:
        """Take away the selected connections, and all connections of the selected nodes."""
        if self.patch is None:
            return
        nodes, chosen = set(self._scene.selected_nodes()), set(self._scene.selected_connections())
        found = [c for c in self.patch.connections if c in chosen or {c.source.node, c.target.node} & nodes]
        if found:
            editing.cut(self.patch, found, "Disconnect")

    def copy(self) -> None:
        """Put the selected nodes on the clipboard, as text."""
        nodes = self._scene.selected_nodes()
        if self.patch is not None and nodes:
            QGuiApplication.clipboard().setText(clipboard.copied(self.patch, nodes))

    def cut(self) -> None:
        """Put the selected nodes on the clipboard and remove them."""
        self.copy()
        self.delete()

    def paste(self) -> None:
        """Add the nodes on the clipboard where the pointer is, and select them."""
        point = self._pointer()
        self._paste(QGuiApplication.clipboard().text(), snapped(point.x(), point.y()), "Paste")

    def duplicate(self) -> None:
        """Add copies of the selected nodes and of the connections between them, and select the copies."""
        nodes = self._scene.selected_nodes()
        if self.patch is not None and nodes:
            self._paste(clipboard.copied(self.patch, nodes), None, "Duplicate")

    def nudge(self, dx: int, dy: int, gesture: object) -> None:
        """Move the selected nodes by steps of the canvas grid; edits of one `gesture` are one undo step."""
        nodes = self._scene.selected_nodes()
        if self.patch is not None and nodes:
            places = {node: self.patch.nodes[node].position for node in nodes}
            moved = {node: (x + dx * STEP, y + dy * STEP) for node, (x, y) in places.items()}
            editing.move(self.patch, moved, gesture=gesture)

    def _paste(self, text: str, at: Position | None, name: str) -> None:
        if self.patch is None:
            return
        try:
            added = clipboard.paste(self.patch, text, at, name)
        except PatchError as problem:
            self.refused.emit(str(problem))
        else:
            self._scene.select(added)
