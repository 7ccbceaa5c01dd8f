"""Which region dragged nodes would be put into, and what is shown of it while they are dragged."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QPointF

from app.canvas.graph_scene import GraphScene
from app.canvas.region_boxes import scope_at
from engine.patch.regions import branch_of, region_of

#: Says why blocks can't be put into a scope, or None when they can.
Refusal = Callable[[Sequence[str], str], str | None]


class RegionTarget:
    """Follows one drag. `nodes` are those that change their region, without what lies in regions among them."""

    def __init__(self, scene: GraphScene, anchor: str, held: Sequence[str], refusal: Refusal) -> None:
        regions = scene.regions
        self._scene = scene
        self._refusal = refusal
        inside = set(regions.contents(held))
        self.nodes = tuple(node for node in held if node not in inside)
        # The block under the pointer decides for all, or the dragged region that it lies in.
        around = (anchor, *regions.regions_around(regions.scope_of(anchor)))
        self._deciding = next(node for node in around if node in self.nodes)
        self._home = self._scope = regions.scope_of(self._deciding)
        self._reason: str | None = None
        # Where the boxes lay at first: one that follows its blocks could not be left.
        carried = inside.union(held)
        self._layouts = {region: layout for region, layout in regions.layouts().items() if region not in carried}

    @property
    def scope(self) -> str | None:
        """The scope that the nodes go to, or None when they stay where they are."""
        return None if self._scope == self._home else self._scope

    def follow(self, point: QPointF) -> str | None:
        """Show what a drop at a point means, and return why it would be refused, or None."""
        scope = self._meant_at(point)
        if scope != self._scope:
            self._scope = scope
            self._reason = self._refusal(self.nodes, scope) if scope != self._home else None
            self._show()
        return self._reason

    def end(self) -> None:
        """Show the boxes as they are in the patch."""
        self._scene.regions.leave_out(())
        self._scene.regions.show_target("")

    def _show(self) -> None:
        regions = self._scene.regions
        refused = self._reason is not None
        # The boxes are shown as they would be after the drop.
        regions.leave_out(self.nodes if self.scope is not None and not refused else ())
        marked = "" if self.scope is None else self.scope
        if refused and not marked:
            marked = self._home
        regions.show_target(marked, refused=refused)

    def _meant_at(self, point: QPointF) -> str:
        """Return the scope at a point; a node that still overlaps its own box widens it instead of leaving it."""
        scope = scope_at(self._layouts, point)
        home = self._layouts.get(region_of(self._home))
        if home is None or scope == self._home:
            return scope
        outer = list(self._scene.regions.regions_around(self._home))[1:]
        node = self._scene.nodes.get(self._deciding)
        if node is not None and (not scope or region_of(scope) in outer):
            slot = next((slot for slot in home.slots if slot.branch == branch_of(self._home)), None)
            if slot is not None and slot.rect.intersects(node.place):
                return self._home
        return scope
