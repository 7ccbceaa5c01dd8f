"""The regions' boxes on the canvas, with one item each; they are laid out again when something moves."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from typing import Any

from PySide6.QtCore import QObject, QPointF, QRectF, Qt, QTimer
from PySide6.QtGui import QPainter, QPainterPath
from PySide6.QtWidgets import QGraphicsItem, QGraphicsScene, QStyleOptionGraphicsItem, QWidget

from warploom.app.canvas.drawing.region_layout import RegionLayout, region_layout
from warploom.app.canvas.drawing.region_painter import FAR_LIMIT, RegionAppearance, RegionPainter
from warploom.app.theme import colours
from warploom.app.view_models.node_view_model import RegionViewModel
from warploom.engine.patch.document import Patch
from warploom.engine.patch.regions import TOP, branch_of, region_of, scope_text

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

    def boundingRect(self) -> QRectF:
        """Return the area of the box, its outline, and the title, which grows beyond its top when zoomed out."""
        if self.layout is None:
            return QRectF()
        return self.layout.box.adjusted(-4, -1.35 * FAR_LIMIT, 4, 4)

    def shape(self) -> QPainterPath:
        """Return the area of the box."""
        path = QPainterPath()
        if self.layout is not None:
            path.addRect(self.layout.box)
        return path

    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        """Paint the box."""
        if self.layout is not None:
            scale, theme = option.levelOfDetailFromTransform(painter.worldTransform()), colours.current()
            RegionPainter(
                painter, self.model, self.layout, self.appearance, theme, scale, nested=self._is_nested
            ).paint()


class RegionBoxes(QObject):
    """Lays out the boxes, once for all moves in a turn of the event loop.

    `place_of` returns the rectangle of a node, or None when there is no such node.
    """

    def __init__(
        self,
        scene: QGraphicsScene,
        place_of: Callable[[str], QRectF | None],
        is_selected: Callable[[str], bool],
    ) -> None:
        super().__init__(scene)
        self._scene = scene
        self._place_of, self._is_selected = place_of, is_selected
        self.views: dict[str, RegionView] = {}
        self.patch = Patch()
        #: Called with the former and the present outline of a box that changed.
        self.moved: Callable[[QRectF, QRectF], None] = lambda before, now: None
        #: The group whose inside is shown; "" outside all groups.
        self.level = TOP
        self._leaving: frozenset[str] = frozenset()
        self._timer = QTimer(self, singleShot=True, interval=0)
        self._timer.timeout.connect(self._lay_out)

    # Contents

    def show(self, node_id: str, model: RegionViewModel | None) -> None:
        """Show the box of a block, or change its model; None if the block is not a region."""
        view = self.views.get(node_id)
        if model is None:
            self.remove(node_id)
        elif view is None:
            view = self.views[node_id] = RegionView(node_id, model)
            self._scene.addItem(view)
        elif model != view.model:
            view.set_model(model)

    def remove(self, node_id: str) -> None:
        """Remove the box of a block, if it has one."""
        view = self.views.pop(node_id, None)
        if view is not None:
            self._scene.removeItem(view)

    def clear(self) -> None:
        """Forget all boxes; the scene removes their items."""
        self._timer.stop()
        self.views.clear()
        self._leaving = frozenset()

    def scope_of(self, node_id: str) -> str:
        """Return the scope of a block."""
        return self.patch.nodes[node_id].region if node_id in self.patch.nodes else TOP

    def contents(self, node_ids: Iterable[str]) -> list[str]:
        """Return the blocks in these region blocks, and those in regions inside them, but not those in groups."""
        found: dict[str, None] = {}
        waiting = list(node_ids)
        while waiting:
            node = waiting.pop()
            for member in () if self.patch.is_group(node) else self.patch.members(node):
                if member not in found:
                    found[member] = None
                    waiting.append(member)
        return list(found)

    def regions_around(self, scope: str) -> list[str]:
        """Return the region of a scope and the regions around it, the innermost first."""
        return [region_of(around) for around in reversed(self.patch.scopes.chain(scope))]

    # Layout

    def touch(self) -> None:
        """Lay out the boxes in the next turn of the event loop, since something has moved."""
        if self.views and not self._timer.isActive():
            self._timer.start()

    def leave_out(self, node_ids: Collection[str]) -> None:
        """Lay out the boxes without these blocks, which are being dragged out."""
        if self._leaving != frozenset(node_ids):
            self._leaving = frozenset(node_ids)
            self.touch()

    def settle(self) -> None:
        """Lay out the boxes now if something has moved, inner boxes first."""
        if self._timer.isActive():
            self._timer.stop()
            self._lay_out()

    def _lay_out(self) -> None:
        depths = {region: len(self.regions_around(region)) for region in self.views}
        for region in sorted(depths, key=depths.__getitem__, reverse=True):
            view = self.views[region]
            before = view.layout
            view.set_layout(self._layout(view), depths[region])
            if view.layout != before:
                self.moved(*(layout.box if layout is not None else QRectF() for layout in (before, view.layout)))

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
        return next((view.id for view in views if view.layout and view.layout.strip.contains(point)), None)

    def scope_at(self, point: QPointF) -> str:
        """Return the scope of the innermost box at a point of the scene; that of the shown group outside all boxes."""
        return scope_at(self.layouts(), point) or self.level

    def show_selection(self) -> None:
        """Mark the boxes whose region blocks are selected."""
        for node_id, view in self.views.items():
            view.show_appearance(selected=self._is_selected(node_id))

    def show_target(self, scope: str, *, refused: bool = False) -> None:
        """Mark the scope that dragged blocks would go into; "" marks nothing."""
        for node_id, view in self.views.items():
            target = branch_of(scope) if scope and node_id == region_of(scope) else None
            view.show_appearance(target=target, refused=refused and target is not None)

    def _layout(self, view: RegionView) -> RegionLayout | None:
        block = self._place_of(view.id)
        contents = {branch: QRectF() for branch in self.patch.branches(view.id)}
        for member in self.patch.members(view.id):
            inner = self.views.get(member)
            place = inner.layout.box if inner is not None and inner.layout is not None else self._place_of(member)
            if place is not None and member not in self._leaving:
                branch = branch_of(self.scope_of(member))
                contents[branch] = contents[branch].united(place)
        shown = {b: r for b, r in contents.items() if b in view.model.branches or not r.isEmpty()}
        return region_layout(block, shown) if block is not None and shown else None


def scope_at(layouts: dict[str, RegionLayout], point: QPointF) -> str:
    """Return the scope of a drop at a point of the scene; `layouts` has the innermost first."""
    for region, layout in layouts.items():
        if layout.box.contains(point):
            return scope_text(region, layout.slot_at(point).branch)
    return ""
