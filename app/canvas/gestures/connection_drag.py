"""Drags connections: mouse events on ports and connections, and one drag from press to release."""

from collections import defaultdict

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QMouseEvent

from app.canvas.gestures.connection_edits import ConnectionEdits, DropTarget
from app.canvas.gestures.mouse_events import adds_to_selection
from app.canvas.gestures.zoomable_view import ZoomableView
from app.canvas.items.nodegraph_adapter import ConnectionView, NodeView, PortView
from app.canvas.items.parameter_tray import ParameterTray
from app.canvas.items.scene import GraphScene
from engine.patch.changes import Connection, PortRef

#: The distance in pixels from a port's centre that counts as the port.
REACH = 10.0
_END_REACH = 28.0  # pixels from a connection's end within which a drag takes that end


class ConnectionDrag:
    """One drag from press to release: its loose line, the dimmed ports, and the tray of the node under the pointer."""

    def __init__(
        self,
        view: ZoomableView,
        scene: GraphScene,
        edits: ConnectionEdits,
        start: PortView,
        point: QPointF,
        picked_up: Connection | None,
    ) -> None:
        self._view, self._scene, self._edits, self._start = view, scene, edits, start
        self._tray: ParameterTray | None = None
        self._over: NodeView | None = None
        #: The existing connection whose end is being dragged; it is hidden during the drag.
        self.picked_up = picked_up
        if picked_up is not None:
            scene.connections[picked_up].hide()
        self._line = ConnectionView()
        scene.addItem(self._line)
        # Set by hand, since the port must not count the loose line among its connections.
        if start.model.is_input:
            self._line.input_port = start
        else:
            self._line.output_port = start
        self.fitting = edits.fitting(start.ref)
        keys: dict[str, set[tuple[str, bool]]] = defaultdict(set)
        for ref in self.fitting:
            keys[ref.node].add((ref.port, not start.model.is_input))
        for node_id, node in scene.nodes.items():
            node.show_appearance(fitting=keys[node_id] | ({start.key} if node is start.owner else set()))
        self._line.draw_path(None, cursor_pos=point)

    @property
    def start(self) -> PortRef:
        """The port where the drag began."""
        return self._start.ref

    @property
    def tray_area(self) -> QRectF | None:
        """The tray's area in the scene, if a node shows one."""
        return self._tray.area if self._tray is not None else None

    def move(self, point: QPointF) -> DropTarget:
        """Move the loose end to the pointer, or to the end that a drop would connect. Return the target of a drop."""
        if self._tray is None or not self._tray.area.contains(point):
            self._enter(self._scene.node_at(point))
        target = self.target_at(point)
        self._line.draw_path(None, cursor_pos=point if target.at is None else target.at)
        return target

    def target_at(self, point: QPointF) -> DropTarget:
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
        found = [port for port in node.ports.values() if port.ref in self.fitting]
        free_first = sorted(found, key=lambda port: bool(port.connected_pipes))
        return DropTarget(free_first[0].ref, free_first[0].scenePos()) if free_first else DropTarget()

    def end(self) -> None:
        """Remove the line and show everything as before."""
        self._enter(None)
        self._scene.removeItem(self._line)
        for node in self._scene.nodes.values():
            node.show_appearance(fitting=None)
        if self.picked_up in self._scene.connections:
            self._scene.connections[self.picked_up].show()

    def _enter(self, node: NodeView | None) -> None:
        """Unfold the tray of the node under the pointer, and fold any other tray."""
        if node is self._over:
            return
        self._over = node
        if self._tray is not None:
            self._scene.removeItem(self._tray)
            self._tray = None
        candidates = self._edits.candidates(self.start, node.id) if node is not None else ()
        if node is not None and candidates:
            self._tray = ParameterTray(node.id, candidates, node.place, self._view.seen(), self._view.zoom)
            self._scene.addItem(self._tray)


class ConnectionGestures:
    """Mouse events on ports and connections; at most one drag at a time."""

    def __init__(self, view: ZoomableView, scene: GraphScene, edits: ConnectionEdits) -> None:
        self._view, self._scene, self._edits = view, scene, edits
        self._drag: ConnectionDrag | None = None

    @property
    def is_on(self) -> bool:
        """True during a drag."""
        return self._drag is not None

    @property
    def tray_area(self) -> QRectF | None:
        """The area of a node's tray in the scene, if a node offers its parameters to the dragged connection."""
        return self._drag.tray_area if self._drag is not None else None

    def press(self, event: QMouseEvent) -> bool:
        """Begin a drag or select a connection. Return False when the press hits neither."""
        point = self._view.mapToScene(event.position().toPoint())
        port = self._scene.port_at(point, REACH / self._view.zoom)
        if port is not None:
            pipes = port.connected_pipes
            if port.model.is_input and pipes:
                self._begin(pipes[0].output_port, point, pipes[0].connection)
            else:
                self._begin(port, point, None)
            return True
        connection = self._scene.connection_at(point)
        if connection is None:
            return False
        far_end = self._far_end(connection, point)
        if far_end is not None:
            self._begin(far_end, point, connection.connection)
        else:
            if not adds_to_selection(event):
                self._scene.select([])
            connection.setSelected(True)
        return True

    def follow(self, point: QPointF) -> None:
        """Follow the pointer to this point of the scene."""
        if self._drag is None:
            return
        target = self._drag.move(point)
        if target.end is not None:
            # At every move, because the text follows the pointer.
            self._edits.explain(self._drag.start, target.end, self._drag.picked_up)
        elif target.node is not None:
            self._edits.explain_node(target.node)
        else:
            self._edits.hushed.emit()

    def release(self, point: QPointF, *, moved: bool) -> None:
        """Finish the drag at a point; without a movement, it was a click."""
        drag = self._drag
        if drag is None:
            return
        target = drag.target_at(point)
        self.cancel()
        if moved:
            position = self._view.viewport().mapToGlobal(self._view.mapFromScene(point))
            self._edits.drop(drag.start, target, drag.picked_up, point, position)
        elif drag.picked_up is not None:
            self._scene.select_connection(drag.picked_up)

    def cancel(self) -> None:
        """End a drag as if it had not begun."""
        drag, self._drag = self._drag, None
        if drag is not None:
            drag.end()
            self._edits.hushed.emit()

    def _begin(self, start: PortView, point: QPointF, picked_up: Connection | None) -> None:
        self._drag = ConnectionDrag(self._view, self._scene, self._edits, start, point, picked_up)

    def _far_end(self, connection: ConnectionView, point: QPointF) -> PortView | None:
        """Return the end that stays when a drag takes the nearer end; None in the middle of the connection."""
        reach = min(_END_REACH / self._view.zoom, connection.path().length() / 3)
        ends: tuple[PortView, PortView] = (connection.input_port, connection.output_port)
        for near, far in (ends, ends[::-1]):
            if (near.scenePos() - point).manhattanLength() <= reach:
                return far
        return None
