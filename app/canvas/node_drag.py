"""Dragging nodes: they move at once on the screen, and the patch hears of it when they are let go."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QPointF

from app.canvas.graph_scene import GraphScene
from app.canvas.node_layout import snapped
from app.canvas.region_target import Refusal, RegionTarget
from engine.patch.changes import Position


@dataclass(frozen=True)
class NodeDrop:
    """Where dragged nodes were let go; `scope` is what `nodes` are put into, None when they stay in their regions."""

    positions: dict[str, Position]
    nodes: tuple[str, ...] = ()
    scope: str | None = None


class NodeDrag:
    """The nodes while a person drags them, with those that lie in dragged regions; without a drag there are none."""

    def __init__(self, scene: GraphScene, refusal: Refusal) -> None:
        self._scene = scene
        self._refusal = refusal
        self._anchor = ""
        self._grasped_at = QPointF()
        self._before: dict[str, QPointF] = {}
        self._offset = QPointF()
        self._target: RegionTarget | None = None
        #: False as long as the drag may still be a click.
        self.has_moved = False

    @property
    def is_on(self) -> bool:
        """True during a drag."""
        return self._target is not None

    def begin(self, anchor: str, point: QPointF) -> None:
        """Take hold of the selected nodes at a point, by the one that is there or whose box's title strip is there."""
        held = list(dict.fromkeys([anchor, *self._scene.selected_nodes()]))
        carried = dict.fromkeys([*held, *self._scene.regions.contents(held)])
        self._anchor, self._grasped_at = anchor, point
        self._before = {node_id: self._scene.nodes[node_id].pos() for node_id in carried}
        self._offset = QPointF()
        self._target = RegionTarget(self._scene, anchor, held, self._refusal)

    def follow(self, point: QPointF) -> str | None:
        """Let the nodes follow the pointer, and show which region a drop there puts them into.

        The grasped node moves in steps of the canvas grid, and the others keep their places around it. Return why the
        drop would be refused, or None.
        """
        if self._target is None:
            return None
        self.has_moved = True
        before = self._before[self._anchor]
        moved = before + point - self._grasped_at
        offset = QPointF(*snapped(moved.x(), moved.y())) - before
        if offset != self._offset:
            self._offset = offset
            for node_id, place in self._before.items():
                self._scene.nodes[node_id].setPos(place + offset)
        reason = self._target.follow(point)
        self._scene.regions.settle()
        return reason

    def end(self) -> NodeDrop:
        """Let go, and return the new positions of the nodes that moved."""
        before, self._before = self._before, {}
        target, self._target, self.has_moved = self._target, None, False
        places = {node_id: self._scene.nodes[node_id].pos() for node_id in before}
        positions = {node_id: (p.x(), p.y()) for node_id, p in places.items() if p != before[node_id]}
        if target is None:
            return NodeDrop(positions)
        target.end()
        return NodeDrop(positions, target.nodes, target.scope)

    def cancel(self) -> None:
        """Let go with everything where it was."""
        before = self._before
        for node_id in self.end().positions:
            self._scene.nodes[node_id].setPos(before[node_id])
