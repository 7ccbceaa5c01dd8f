"""Drags nodes: they move at once on the screen, even into regions; the patch changes when they are dropped."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QPointF
from PySide6.QtGui import QPainterPath

from warploom.app.canvas.gestures.gesture import Gesture
from warploom.app.canvas.items.region_boxes import scope_at
from warploom.app.canvas.items.scene import GraphScene
from warploom.app.edits.nodes import insertion, snapped
from warploom.app.edits.regions import NodeDrop
from warploom.engine.patch.changes import Connection
from warploom.engine.patch.regions import branch_of, region_of

#: Returns why blocks can't be put into a scope; None when they can.
Refusal = Callable[[Sequence[str], str], str | None]


class RegionTarget:
    """The scope that a drag would drop `nodes` into; blocks inside dragged regions stay in these regions."""

    def __init__(self, scene: GraphScene, anchor: str, held: Sequence[str], refusal: Refusal) -> None:
        regions = scene.regions
        self._scene = scene
        self._refusal = refusal
        inside = set(regions.contents(held))
        self.nodes = tuple(node for node in held if node not in inside)
        # The block under the pointer decides for all, or else the dragged region around it.
        around = (anchor, *regions.regions_around(regions.scope_of(anchor)))
        self._deciding = next(node for node in around if node in self.nodes)
        self._home = self._scope = regions.scope_of(self._deciding)
        self._reason: str | None = None
        # The original boxes, since a box that follows its blocks could never be left.
        carried = inside.union(held)
        self._layouts = {region: layout for region, layout in regions.layouts().items() if region not in carried}

    @property
    def scope(self) -> str | None:
        """The scope that the nodes would go to; None when they stay in their scopes."""
        return None if self._scope == self._home else self._scope

    def follow(self, point: QPointF) -> str | None:
        """Show the effect of a drop at a point. Return why it would be refused, or None."""
        scope = self._meant_at(point)
        if scope != self._scope:
            self._scope = scope
            self._reason = self._refusal(self.nodes, scope) if scope != self._home else None
            self._show()
        return self._reason

    def end(self) -> None:
        """Show the boxes of the present patch."""
        self._scene.regions.leave_out(())
        self._scene.regions.show_target("")

    def _show(self) -> None:
        regions = self._scene.regions
        refused = self._reason is not None
        # Show the boxes as they would be after the drop.
        regions.leave_out(self.nodes if self.scope is not None and not refused else ())
        marked = "" if self.scope in (None, regions.level) else self.scope
        if refused and not marked:
            marked = self._home
        regions.show_target(marked, refused=refused)

    def _meant_at(self, point: QPointF) -> str:
        """Return the scope at a point; a node that still overlaps its own box widens the box instead of leaving it."""
        level = self._scene.regions.level
        scope = scope_at(self._layouts, point) or level
        home = self._layouts.get(region_of(self._home))
        if home is None or scope == self._home:
            return scope
        outer = list(self._scene.regions.regions_around(self._home))[1:]
        node = self._scene.nodes.get(self._deciding)
        if node is not None and (scope == level or region_of(scope) in outer):
            slot = next((slot for slot in home.slots if slot.branch == branch_of(self._home)), None)
            if slot is not None and slot.rect.intersects(node.place):
                return self._home
        return scope


class NodeDrag(Gesture):
    """A drag of the selected nodes, including those in dragged regions, from a point.

    The node at that point, or under its box's title strip, is the anchor. `explain` gets the reason why a drop would be
    refused, or "", and True, since it is a refusal.
    """

    def __init__(
        self,
        scene: GraphScene,
        refusal: Refusal,
        explain: Callable[[str, bool], object],
        drop: Callable[[NodeDrop], object],
        anchor: str,
        point: QPointF,
    ) -> None:
        self._scene, self._explain, self._drop = scene, explain, drop
        held = list(dict.fromkeys([anchor, *scene.selected_nodes()]))
        carried = dict.fromkeys([*held, *scene.regions.contents(held)])
        self._anchor, self._grasped_at = anchor, point
        self._before = {node_id: scene.nodes[node_id].pos() for node_id in carried}
        self._offset = QPointF()
        self._target = RegionTarget(scene, anchor, held, refusal)
        self._has_moved = False
        self._onto: Connection | None = None

    def move(self, point: QPointF, *, moved: bool) -> None:
        """Move the nodes with the pointer, and show which region a drop would put them into.

        The grasped node moves in steps of the canvas grid, and the others move with it.
        """
        self._has_moved = self._has_moved or moved
        if not self._has_moved:
            return
        before = self._before[self._anchor]
        wanted = before + point - self._grasped_at
        offset = QPointF(*snapped(wanted.x(), wanted.y())) - before
        if offset != self._offset:
            self._offset = offset
            self._scene.move_nodes({node_id: place + offset for node_id, place in self._before.items()})
        reason = self._target.follow(point)
        self._scene.regions.settle()
        self._aim(self._connection_under(point) if reason is None else None)
        if self._onto is not None:
            self._explain(f"Insert into {self._onto}", False)
        else:
            self._explain(reason or "", True)

    def _connection_under(self, point: QPointF) -> Connection | None:
        """Return the connection that a drop of the only dragged node would put it into: the nearest that fits."""
        if len(self._before) != 1:
            return None
        patch, node = self._scene.regions.patch, self._anchor
        if node not in patch.nodes or patch.connections_of(node):
            return None
        path = QPainterPath()
        path.addRect(self._scene.nodes[node].place)
        found = [each for each in self._scene.connections_across(path) if insertion(patch, node, each) is not None]
        return min(found, key=lambda each: _distance(self._scene.connections[each].path(), point), default=None)

    def _aim(self, onto: Connection | None) -> None:
        """Mark the connection that a drop would go into."""
        if onto != self._onto:
            for connection, is_aim in ((self._onto, False), (onto, True)):
                if connection in self._scene.connections:
                    self._scene.connections[connection].show_appearance(hovered=is_aim)
            self._onto = onto

    def release(self, point: QPointF, *, moved: bool) -> None:
        """Drop the nodes that moved."""
        self._target.end()
        onto = self._onto
        self._aim(None)
        places = {node_id: self._scene.nodes[node_id].pos() for node_id in self._before}
        positions = {node_id: (p.x(), p.y()) for node_id, p in places.items() if p != self._before[node_id]}
        if positions:
            self._explain("", True)
            self._drop(NodeDrop(positions, self._target.nodes, self._target.scope, onto))

    def cancel(self) -> None:
        """Move the nodes back to their places."""
        self._target.end()
        self._aim(None)
        self._scene.move_nodes(self._before)
        self._explain("", True)


def _distance(path: QPainterPath, point: QPointF) -> float:
    """Return roughly how far a line is from a point."""
    return min((path.pointAtPercent(step / 16) - point).manhattanLength() for step in range(17))
