"""Drags frames by their title strips, with the blocks in them, and resizes them by their edges."""

from collections.abc import Callable

from PySide6.QtCore import QPointF, QRectF

from warploom.app.canvas.gestures.gesture import Gesture
from warploom.app.canvas.items.scene import GraphScene
from warploom.app.edits.nodes import snapped
from warploom.app.edits.organise import frames as frame_edits
from warploom.engine.drawings.rect import Rect
from warploom.engine.patch.changes import Position
from warploom.engine.patch.organise.annotations import LEAST_SIDE

#: Gets the moved frames, the new positions of nodes, and the way of the frames.
Drop = Callable[[list[str], dict[str, Position], Position], object]


def nodes_in(scene: GraphScene, rect: QRectF) -> list[str]:
    """Return the nodes in a rectangle, with those of regions whose boxes are in it."""
    found = [node for node, view in scene.nodes.items() if rect.contains(scene.rect_of([node]) | view.place)]
    return list(dict.fromkeys([*found, *scene.regions.contents(found)]))


class FrameDrag(Gesture):
    """A drag of a frame with all that is in it."""

    def __init__(self, scene: GraphScene, frame_id: str, drop: Drop, point: QPointF) -> None:
        self._scene, self._drop, self._grasped_at = scene, drop, point
        views = scene.frames.views
        self._anchor = QRectF(views[frame_id].rect)
        inner = frame_edits.frames_in(scene.regions.patch, frame_id)
        self._frames = {name: QRectF(views[name].rect) for name in (frame_id, *inner) if name in views}
        self._nodes = {node: scene.nodes[node].pos() for node in nodes_in(scene, self._anchor) if node in scene.nodes}
        self._way, self._has_moved = QPointF(), False

    def move(self, point: QPointF, *, moved: bool) -> None:
        self._has_moved = self._has_moved or moved
        if self._has_moved:
            at = self._anchor.topLeft() + point - self._grasped_at
            self._show(QPointF(*snapped(at.x(), at.y())) - self._anchor.topLeft())

    def release(self, point: QPointF, *, moved: bool) -> None:
        """Request the edit, if the frame has moved."""
        way = self._way
        self.cancel()
        if not way.isNull():
            nodes = {node: (at + way).toTuple() for node, at in self._nodes.items()}
            self._drop(list(self._frames), nodes, (way.x(), way.y()))

    def cancel(self) -> None:
        """Show everything at its place."""
        self._show(QPointF())

    def _show(self, way: QPointF) -> None:
        if way != self._way:
            self._way = way
            self._scene.move_nodes({node: at + way for node, at in self._nodes.items() if node in self._scene.nodes})
            for name, rect in self._frames.items():
                view = self._scene.frames.views.get(name)
                if view is not None:
                    view.place(view.frame, rect.translated(way))


class FrameResize(Gesture):
    """A drag of a frame's edges; `edges` are left, top, right and bottom. `drop` gets the frame and its rectangle."""

    def __init__(
        self,
        scene: GraphScene,
        frame_id: str,
        edges: tuple[bool, bool, bool, bool],
        drop: Callable[[str, Rect], object],
    ) -> None:
        self._scene, self._frame, self._edges, self._drop = scene, frame_id, edges, drop
        self._before = QRectF(scene.frames.views[frame_id].rect)

    def move(self, point: QPointF, *, moved: bool) -> None:
        view = self._scene.frames.views.get(self._frame)
        if view is None or not moved:
            return
        rect, (x, y) = QRectF(self._before), snapped(point.x(), point.y())
        left, top, right, bottom = self._edges
        if left:
            rect.setLeft(min(x, rect.right() - LEAST_SIDE))
        if top:
            rect.setTop(min(y, rect.bottom() - LEAST_SIDE))
        if right:
            rect.setRight(max(x, rect.left() + LEAST_SIDE))
        if bottom:
            rect.setBottom(max(y, rect.top() + LEAST_SIDE))
        view.place(view.frame, rect)

    def release(self, point: QPointF, *, moved: bool) -> None:
        """Request the edit, if the size has changed."""
        view = self._scene.frames.views.get(self._frame)
        rect = QRectF(view.rect) if view is not None else self._before
        self.cancel()
        if rect != self._before:
            self._drop(self._frame, Rect(*rect.getRect()))

    def cancel(self) -> None:
        """Show the frame as it is in the patch."""
        view = self._scene.frames.views.get(self._frame)
        if view is not None:
            view.place(view.frame, self._before)
