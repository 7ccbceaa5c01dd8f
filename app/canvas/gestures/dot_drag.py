"""Drags a dot of a connection, or makes one where the connection is grasped."""

from collections.abc import Callable

from PySide6.QtCore import QPointF

from warploom.app.canvas.gestures.gesture import Gesture
from warploom.app.canvas.items.scene import GraphScene
from warploom.app.edits.nodes import snapped
from warploom.app.edits.organise.dots import with_dot
from warploom.engine.patch.changes import Connection, Position
from warploom.engine.patch.document import Patch


class DotDrag(Gesture):
    """A drag of a connection's dot; `number` is None for a new dot. `drop` gets the connection and all its dots."""

    def __init__(
        self,
        scene: GraphScene,
        drop: Callable[[Connection, list[Position], str], object],
        connection: Connection,
        number: int | None,
    ) -> None:
        self._scene, self._drop, self._connection, self._number = scene, drop, connection, number
        self._patch: Patch = scene.regions.patch
        self._points: list[Position] | None = None

    def move(self, point: QPointF, *, moved: bool) -> None:
        view = self._scene.connections.get(self._connection)
        if view is None or not (moved or self._points):
            return
        at = snapped(point.x(), point.y())
        if self._number is None:
            (x, y), (u, v) = (end.toTuple() for end in view.ends)
            points = with_dot(self._patch, self._connection, ((x, y), (u, v)), at)
            self._number = points.index(at)
            self._points = points
        elif self._points is None:
            self._points = list(self._patch.dots(self._connection.target))
        self._points[self._number] = at
        view.show_dots(tuple(QPointF(*each) for each in self._points))

    def release(self, point: QPointF, *, moved: bool) -> None:
        """Request the edit, if something has moved."""
        points = self._points
        self.cancel()
        if points is not None:
            before = len(self._patch.dots(self._connection.target))
            self._drop(self._connection, points, "Add dot" if len(points) > before else "Move dot")
            if self._number is not None and self._connection in self._scene.connections:
                self._scene.choose_dot(self._connection, self._number)

    def cancel(self) -> None:
        """Show the dots of the patch."""
        view = self._scene.connections.get(self._connection)
        if view is not None:
            view.show_dots(tuple(QPointF(*dot) for dot in self._patch.dots(self._connection.target)))
