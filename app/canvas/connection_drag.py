"""Dragging a connection: from a port, or with the end of an existing one in hand."""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass

from PySide6.QtCore import QPointF

from app.canvas.graph_scene import GraphScene
from app.canvas.nodegraph_adapter import ConnectionView, PortView
from engine.patch.changes import Connection, PortRef

#: Returns the ports of the patch that a connection from a port may end at.
Fitting = Callable[[PortRef], Set[PortRef]]


@dataclass(frozen=True)
class Drop:
    """Where a dragged connection was let go: at a port, on a node that has no port for it, or on nothing."""

    start: PortRef
    end: PortRef | None
    point: QPointF
    picked_up: Connection | None


class ConnectionDrag:
    """One drag, from press to release: the loose line, and which ports are dimmed meanwhile."""

    def __init__(self, scene: GraphScene, start: PortView, point: QPointF, fitting: Fitting) -> None:
        self._scene = scene
        self._start = start
        self.picked_up: Connection | None = None
        self._line = ConnectionView()
        scene.addItem(self._line)
        self._attach(start)
        self.fitting = fitting(start.ref)
        for node_id, node in scene.nodes.items():
            keys = {key for key in node.ports if PortRef(node_id, key[0]) in self.fitting}
            node.show_look(fitting=keys | ({start.key} if node is start.owner else set()))
        self.move(point)

    def pick_up(self, connection: Connection) -> None:
        """Take an existing connection's other end off its port for as long as the drag lasts."""
        self.picked_up = connection
        self._scene.connections[connection].hide()

    @property
    def start(self) -> PortRef:
        """The port that the drag began at."""
        return self._start.ref

    def move(self, point: QPointF) -> None:
        """Let the loose end follow the pointer."""
        self._line.draw_path(None, cursor_pos=point)

    def target_at(self, point: QPointF, reach: float) -> PortRef | None:
        """Return the port that a drop at a point means: the one there, or the first that fits of the node there."""
        port = self._scene.port_at(point, reach)
        if port is not None and port is not self._start:
            return port.ref
        node = self._scene.node_at(point)
        if port is not None or node is None or node is self._start.owner:
            return None
        found = [port for port in node.ports.values() if port.ref in self.fitting]
        free_first = sorted(found, key=lambda port: bool(port.connected_pipes))
        return free_first[0].ref if free_first else None

    def end(self) -> None:
        """Take the line away and show everything as before."""
        self._scene.removeItem(self._line)
        for node in self._scene.nodes.values():
            node.show_look(fitting=None)
        if self.picked_up in self._scene.connections:
            self._scene.connections[self.picked_up].show()

    def _attach(self, port: PortView) -> None:
        # Set by hand: the port must not count the loose line among its connections.
        if port.face.is_input:
            self._line.input_port = port
        else:
            self._line.output_port = port
