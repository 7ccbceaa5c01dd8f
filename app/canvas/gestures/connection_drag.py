"""Drags connections from ports, or existing connections by their ends."""

from collections import defaultdict

from PySide6.QtCore import QPointF, QRectF

from warploom.app.canvas.gestures.connection_edits import ConnectionEdits, DropTarget
from warploom.app.canvas.gestures.gesture import Gesture
from warploom.app.canvas.gestures.zoomable_view import ZoomableView
from warploom.app.canvas.items.nodegraph_adapter import LooseLine
from warploom.app.canvas.items.parameter_tray import ParameterTray
from warploom.app.canvas.items.scene import GraphScene
from warploom.app.canvas.items.views import NodeView, PortView
from warploom.app.view_models.connection_preview import preview
from warploom.app.view_models.drive_candidates import drive_candidates
from warploom.engine.patch.changes import Connection, PortRef

#: The distance in pixels from a port's centre that counts as the port.
REACH = 10.0
_END_REACH = 28.0  # pixels from a connection's end within which a drag takes that end


class ConnectionDrag(Gesture):
    """One drag: its loose line, the dimmed ports, and the tray of the node under the pointer."""

    def __init__(
        self,
        view: ZoomableView,
        scene: GraphScene,
        edits: ConnectionEdits,
        start: PortView,
        picked_up: Connection | None,
        point: QPointF,
    ) -> None:
        self._view, self._scene, self._edits, self._start = view, scene, edits, start
        self._tray: ParameterTray | None = None
        self._over: NodeView | None = None
        # The existing connection whose end is being dragged; it is hidden during the drag.
        self._picked_up = picked_up
        if picked_up is not None:
            scene.connections[picked_up].setVisible(False)
        self._line = LooseLine(start)
        scene.addItem(self._line)
        self._fitting = edits.patch.fitting_ends(start.ref)
        self._explained: tuple[PortRef, tuple[str, bool]] | None = None  # the last end, and the text about it
        keys: dict[str, set[tuple[str, bool]]] = defaultdict(set)
        for ref in self._fitting:
            keys[ref.node].add((ref.port, not start.model.is_input))
        for node_id, node in scene.nodes.items():
            node.show_appearance(fitting=frozenset(keys[node_id] | ({start.key} if node is start.owner else set())))
        self._line.draw_path(cursor_pos=point)

    @property
    def tray_area(self) -> QRectF | None:
        """The tray's area in the scene, if a node shows one."""
        return self._tray.area if self._tray is not None else None

    def move(self, point: QPointF, *, moved: bool) -> None:
        """Move the loose end to the pointer, or to the end that a drop would connect, and show what a drop would do."""
        if self._tray is None or not self._tray.area.contains(point):
            self._enter(self._scene.node_at(point))
        target = self._target_at(point)
        self._line.draw_path(cursor_pos=point if target.at is None else target.at)
        # At every move, because the text follows the pointer.
        self._edits.explained.emit(*self._explanation(target))

    def _explanation(self, target: DropTarget) -> tuple[str, bool]:
        """Return the effect and cost of a drop, or why it is refused; and whether it is refused."""
        patch = self._edits.patch
        if target.end is None:
            return (f"Drop on a parameter of {patch.title(target.node)}" if target.node is not None else ""), False
        if self._explained is None or self._explained[0] != target.end:
            text = preview(patch, self._start.ref, target.end, self._picked_up, self._edits.cost)
            self._explained = target.end, text
        return self._explained[1]

    def _target_at(self, point: QPointF) -> DropTarget:
        """Return the target of a drop at a point: a row of the tray, a port there, or the node's first fitting port."""
        if self._tray is not None and self._tray.area.contains(point):
            candidate = self._tray.candidate_at(point)
            self._tray.hover(candidate)
            if candidate is not None:
                return DropTarget(candidate.ref, self._tray.port_of(candidate))
            return DropTarget(node=self._tray.node)
        port = self._scene.port_at(point, REACH / self._view.zoom)
        if port is not None and port is not self._start:
            return DropTarget(port.ref, port.scenePos())
        node = self._scene.node_at(point)
        if port is not None or node is None or node is self._start.owner:
            return DropTarget()
        if self._tray is not None:
            return DropTarget(node=self._tray.node)
        found = [port for port in node.ports.values() if port.ref in self._fitting]
        free_first = sorted(found, key=lambda port: bool(port.connections))
        return DropTarget(free_first[0].ref, free_first[0].scenePos()) if free_first else DropTarget()

    def release(self, point: QPointF, *, moved: bool) -> None:
        """Connect, or disconnect, the loose end; without a movement, it was a click on a connection's end."""
        target = self._target_at(point)
        self.cancel()
        if moved:
            position = self._view.viewport().mapToGlobal(self._view.mapFromScene(point))
            self._edits.drop(self._start.ref, target, self._picked_up, point, position)
        elif self._picked_up is not None:
            self._scene.select_connection(self._picked_up)

    def cancel(self) -> None:
        """Remove the line and show everything as before."""
        self._enter(None)
        self._scene.removeItem(self._line)
        for node in self._scene.nodes.values():
            node.show_appearance(fitting=None)
        if self._picked_up in self._scene.connections:
            self._scene.connections[self._picked_up].setVisible(True)
        self._edits.explained.emit("", False)

    def _enter(self, node: NodeView | None) -> None:
        """Unfold the tray of the node under the pointer, and fold any other tray."""
        if node is self._over:
            return
        self._over = node
        if self._tray is not None:
            self._scene.removeItem(self._tray)
            self._tray = None
        candidates = drive_candidates(self._edits.patch, self._start.ref, node.id) if node is not None else ()
        if node is not None and candidates:
            self._tray = ParameterTray(node.id, candidates, node.place, self._view.seen(), self._view.zoom)
            self._scene.addItem(self._tray)


def grasped_at(view: ZoomableView, scene: GraphScene, point: QPointF) -> tuple[PortView, Connection | None] | None:
    """Return the port where a drag from a point starts, and the connection that it picks up, if any.

    A connection is picked up at its input, or near one of its ends. In its middle, None is returned.
    """
    port = scene.port_at(point, REACH / view.zoom)
    if port is not None:
        lines = port.connections if port.model.is_input else ()
        return (lines[0].output_port, lines[0].connection) if lines else (port, None)
    line = scene.connection_at(point)
    if line is None:
        return None
    reach = min(_END_REACH / view.zoom, line.path().length() / 3)
    ends = (line.input_port, line.output_port)
    for near, far in (ends, ends[::-1]):
        if (near.scenePos() - point).manhattanLength() <= reach:
            return far, line.connection
    return None
