"""The regions' boxes on the canvas, with one item each; a box is laid out again when something in it moves."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from typing import Any

from PySide6.QtCore import QObject, QPointF, QRectF, Qt, QTimer
from PySide6.QtGui import QPainter, QPainterPath
from PySide6.QtWidgets import QGraphicsItem, QGraphicsScene, QStyleOptionGraphicsItem, QWidget

from app.canvas.drawing.region_layout import RegionLayout, region_layout
from app.canvas.drawing.region_painter import FAR_LIMIT, RegionAppearance, paint_region
from app.theme import colours
from app.view_models.node_view_model import RegionViewModel
from engine.patch.document import Patch
from engine.patch.regions import OTHERWISE, TOP, branch_of, region_of, scope_text

#: Boxes are behind connections and blocks; a nested box is in front of the box around it.
_BACK = -1000.0


class RegionView(QGraphicsItem):
    """The box of the region block `id`; hidden until it has a layout."""

    def __init__(self, node_id: str, model: RegionViewModel) -> None:
        super().__init__()
        self.setAcceptedMouseButtons(Qt.MouseButton.NoButton)
        self.setVisible(False)
        self.id = node_id
        self.model = model
        self.appearance = RegionAppearance()
        self.layout: RegionLayout | None = None
        self._is_nested = False

    def set_model(self, model: RegionViewModel) -> None:
        """Show another title."""
        self.model = model
        self.update()

    def set_layout(self, layout: RegionLayout | None, depth: int) -> None:
        """Place the box; `depth` is the number of regions around it plus 1. None hides it."""
        self.setZValue(_BACK + depth)
        self._is_nested = depth > 1
        if layout != self.layout:
            self.prepareGeometryChange()
            self.layout = layout
            self.setVisible(layout is not None)
            self.update()

    def show_appearance(self, **changes: Any) -> None:
        """Change fields of the appearance, and repaint if anything changed."""
        appearance = replace(self.appearance, **changes)
        if appearance != self.appearance:
            self.appearance = appearance
            self.update()

    def is_grasped_at(self, point: QPointF) -> bool:
        """Return whether a point of the scene is on the title strip."""
        return self.layout is not None and self.layout.strip.contains(point)

    def boundingRect(self) -> QRectF:
        """The box, its outline, and the title, which grows beyond its top when zoomed out."""
        if self.layout is None:
            return QRectF()
        return self.layout.box.adjusted(-4, -1.35 * FAR_LIMIT, 4, 4)

    def shape(self) -> QPainterPath:
        """The box."""
        path = QPainterPath()
        if self.layout is not None:
            path.addRect(self.layout.box)
        return path

    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        """Paint the box."""
        if self.layout is not None:
            scale = option.levelOfDetailFromTransform(painter.worldTransform())
            paint_region(
                painter, self.model, self.layout, self.appearance, colours.current(), scale, nested=self._is_nested
            )


class RegionBoxes(QObject):
    """Lays out boxes in which something moved, once for all moves in a turn of the event loop.

    `place_of` returns the rectangle of a node, or None when there is no such node.
    """

    def __init__(self, scene: QGraphicsScene, place_of: Callable[[str], QRectF | None]) -> None:
        super().__init__(scene)
        self._scene = scene
        self._place_of = place_of
        self.views: dict[str, RegionView] = {}
        self.patch: Patch | None = None
        self._leaving: frozenset[str] = frozenset()
        # If a region is in here, so are all regions around it.
        self._moved: dict[str, None] = {}
        self._timer = QTimer(self, singleShot=True, interval=0)
        self._timer.timeout.connect(self.settle)

    # Contents

    def show(self, node_id: str, model: RegionViewModel) -> None:
        """Show the box of a region block, or change its model."""
        view = self.views.get(node_id)
        if view is None:
            view = self.views[node_id] = RegionView(node_id, model)
            self._scene.addItem(view)
        else:
            view.set_model(model)
        self.touch(node_id)

    def remove(self, node_id: str, scope: str) -> None:
        """Remove the box of a block that was in `scope`, if it has one."""
        self._mark(scope)
        view = self.views.pop(node_id, None)
        if view is not None:
            self._scene.removeItem(view)
        self._moved.pop(node_id, None)

    def clear(self) -> None:
        """Forget everything; the items are removed with the scene's others."""
        self._timer.stop()
        self.patch = None
        self.views.clear()
        self._moved.clear()
        self._leaving = frozenset()

    def move(self, node_id: str, previous: str) -> None:
        """Lay out again around a block that moved from scope `previous` to another."""
        self._mark(previous)
        self._mark(self.scope_of(node_id))
        for inner in self.contents([node_id]):  # deeper boxes are further in front
            if inner in self.views:
                self._moved[inner] = None
        self.touch(node_id)

    def scope_of(self, node_id: str) -> str:
        """Return the scope of a block."""
        return self.patch.nodes[node_id].region if self.patch is not None and node_id in self.patch.nodes else TOP

    def contents(self, node_ids: Iterable[str]) -> list[str]:
        """Return the blocks in these region blocks, and those in regions inside them."""
        found: dict[str, None] = {}
        waiting = list(node_ids)
        while waiting and self.patch is not None:
            for member in self.patch.members(waiting.pop()):
                if member not in found:
                    found[member] = None
                    waiting.append(member)
        return list(found)

    def regions_around(self, scope: str) -> list[str]:
        """Return the region of a scope and the regions around it, the innermost first."""
        return (
            [region_of(around) for around in reversed(self.patch.scopes.chain(scope))] if self.patch is not None else []
        )

    # Layout

    def touch(self, node_id: str) -> None:
        """Lay out again around a node whose position or size has changed."""
        if node_id in self.views:
            self._mark(node_id)
        else:
            self._mark(self.scope_of(node_id))

    def leave_out(self, node_ids: Collection[str]) -> None:
        """Lay out the boxes without these blocks, which are being dragged out."""
        leaving = frozenset(node_ids)
        for node_id in leaving ^ self._leaving:
            self._mark(self.scope_of(node_id))
        self._leaving = leaving

    def settle(self) -> None:
        """Lay out the boxes in which something moved, inner boxes first."""
        self._timer.stop()
        moved, self._moved = self._moved, {}
        depths = {region: len(self.regions_around(region)) for region in moved}
        for region in sorted(moved, key=depths.__getitem__, reverse=True):
            view = self.views.get(region)
            if view is not None:
                view.set_layout(self._layout(view), depths[region])

    def layouts(self) -> dict[str, RegionLayout]:
        """Return the layouts of the boxes, the innermost first."""
        self.settle()
        shown = sorted(self.views.values(), key=lambda view: view.zValue(), reverse=True)
        return {view.id: view.layout for view in shown if view.layout is not None}

    def rect_of(self, node_id: str) -> QRectF:
        """Return the box of a region block; an empty rectangle when it has none."""
        self.settle()
        view = self.views.get(node_id)
        return view.layout.box if view is not None and view.layout is not None else QRectF()

    def grasped_at(self, point: QPointF) -> str | None:
        """Return the region block of the foremost box whose title strip is at a point of the scene."""
        self.settle()
        views = (item for item in self._scene.items(point) if isinstance(item, RegionView))
        return next((view.id for view in views if view.is_grasped_at(point)), None)

    def scope_at(self, point: QPointF) -> str:
        """Return the scope of the innermost box at a point of the scene; "" outside all boxes."""
        return scope_at(self.layouts(), point)

    def show_selection(self) -> None:
        """Mark the boxes whose region blocks are selected."""
        selected = {getattr(item, "id", None) for item in self._scene.selectedItems()}
        for node_id, view in self.views.items():
            view.show_appearance(selected=node_id in selected)

    def show_target(self, scope: str, *, refused: bool = False) -> None:
        """Mark the scope that dragged blocks would go into; "" marks nothing."""
        for node_id, view in self.views.items():
            target = branch_of(scope) if scope and node_id == region_of(scope) else None
            view.show_appearance(target=target, refused=refused and target is not None)

    def _mark(self, scope: str) -> None:
        for region in self.regions_around(scope):
            if region in self._moved:
                break
            self._moved[region] = None
        if self._moved and not self._timer.isActive():
            self._timer.start()

    def _layout(self, view: RegionView) -> RegionLayout | None:
        block = self._place_of(view.id)
        contents = {branch: self._content(scope_text(view.id, branch)) for branch in ("", OTHERWISE)}
        shown = {b: r for b, r in contents.items() if b in view.model.branches or not r.isEmpty()}
        if block is None or not shown:
            return None
        return region_layout(block, shown)

    def _content(self, scope: str) -> QRectF:
        rect = QRectF()
        members = self.patch.members(region_of(scope)) if self.patch is not None else ()
        for member in members:
            if self.scope_of(member) == scope and member not in self._leaving:
                inner = self.views.get(member)
                layout = inner.layout if inner is not None else None
                place = layout.box if layout is not None else self._place_of(member)
                if place is not None:
                    rect = rect.united(place)
        return rect


def scope_at(layouts: dict[str, RegionLayout], point: QPointF) -> str:
    """Return the scope of a drop at a point of the scene; `layouts` has the innermost first."""
    for region, layout in layouts.items():
        if layout.box.contains(point):
            return scope_text(region, layout.slot_at(point).branch)
    return ""
