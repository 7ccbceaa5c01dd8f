"""What the mouse does to connections in the view: dragging them from ports, taking their ends off, selecting them."""

from __future__ import annotations

from PySide6.QtCore import QObject, QPointF, QRectF, Signal
from PySide6.QtGui import QMouseEvent

from app.canvas.connection_drag import ConnectionDrag, Drop, Fitting, Offering
from app.canvas.graph_scene import GraphScene
from app.canvas.nodegraph_adapter import ConnectionView, PortView
from app.canvas.pointer_events import adds_to_selection
from app.canvas.zoomable_view import ZoomableView
from engine.patch.changes import Connection, PortRef

#: Pixels from a port's centre that count as the port.
REACH = 10.0
_END_REACH = 28.0  # pixels from a connection's end in which a drag takes the end off


class ConnectionGestures(QObject):
    """At most one drag of a connection at a time, told where the mouse is by the view."""

    dropped = Signal(Drop)
    #: A connection dragged from the first port is over the second; the third is the one that was picked up, or None.
    hovering = Signal(PortRef, PortRef, object)
    hovering_node = Signal(PortRef, str)  # it is over a node that offers several parameters
    hovering_ended = Signal()

    def __init__(self, view: ZoomableView, scene: GraphScene, fitting: Fitting, offering: Offering) -> None:
        super().__init__(view)
        self._view = view
        self._scene = scene
        self._fitting = fitting
        self._offering = offering
        self._drag: ConnectionDrag | None = None

    @property
    def is_on(self) -> bool:
        """True during a drag."""
        return self._drag is not None

    @property
    def tray_area(self) -> QRectF | None:
        """Where a node's tray is in the scene, if one offers its parameters to the dragged connection."""
        return self._drag.tray_area if self._drag is not None else None

    def press(self, event: QMouseEvent) -> bool:
        """Begin a drag or select a connection; False when the press is about something else."""
        point = self._view.mapToScene(event.position().toPoint())
        port = self._scene.port_at(point, REACH / self._view.zoom)
        if port is not None:
            pipes = port.connected_pipes
            if port.face.is_input and pipes:
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
            connection.select()
        return True

    def follow(self, point: QPointF) -> None:
        """The pointer is at this point of the scene."""
        if self._drag is None:
            return
        aim = self._drag.move(point, REACH / self._view.zoom, self._view.seen(), self._view.zoom)
        if aim.end is not None:
            # Told at every move: what is said follows the pointer.
            self.hovering.emit(self._drag.start, aim.end, self._drag.picked_up)
        elif aim.node is not None:
            self.hovering_node.emit(self._drag.start, aim.node)
        else:
            self.hovering_ended.emit()

    def release(self, point: QPointF, *, moved: bool) -> None:
        """Let go at a point; without a movement it was a click."""
        drag = self._drag
        if drag is None:
            return
        aim = drag.aim(point, REACH / self._view.zoom)
        drop = Drop(drag.start, aim.end, point, drag.picked_up, aim.node)
        self.cancel()
        if moved:
            self.dropped.emit(drop)
        elif drag.picked_up is not None:
            self._scene.select_connection(drag.picked_up)

    def cancel(self) -> None:
        """End a drag as if it had not begun."""
        drag, self._drag = self._drag, None
        if drag is not None:
            drag.end()
            self.hovering_ended.emit()

    def _begin(self, start: PortView, point: QPointF, picked_up: Connection | None) -> None:
        self._drag = ConnectionDrag(self._scene, start, point, self._fitting, self._offering)
        if picked_up is not None:
            self._drag.pick_up(picked_up)

    def _far_end(self, connection: ConnectionView, point: QPointF) -> PortView | None:
        """The end that stays when the nearer one is taken off; None in the middle of the connection."""
        reach = min(_END_REACH / self._view.zoom, connection.path().length() / 3)
        ends: tuple[PortView, PortView] = (connection.input_port, connection.output_port)
        for near, far in (ends, ends[::-1]):
            if (near.scenePos() - point).manhattanLength() <= reach:
                return far
        return None
