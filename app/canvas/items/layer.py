"""Items of the scene that each paint many views: all nodes are one item, and all connections are another.

An item of Qt's for each of them would cost several times what its painting costs, in a patch of a thousand blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainter, QPainterPath
from PySide6.QtWidgets import QGraphicsItem, QStyleOptionGraphicsItem, QWidget

from warploom.app.canvas.items.places import Places

#: The scene, far larger than any patch. It is fixed, so that the view doesn't jump when nodes are added at the rim.
EXTENT = QRectF(-100_000.0, -100_000.0, 200_000.0, 200_000.0)
#: With more requests to repaint parts, everything in view is repainted.
_MOST_PARTS = 32


class Layer(QGraphicsItem):
    """Paints the views at `places`. `selection_changed` is called when one of them is selected or deselected."""

    def __init__(self, z: float, selection_changed: Callable[[], None]) -> None:
        super().__init__()
        self.setZValue(z)
        self.setFlag(QGraphicsItem.GraphicsItemFlag.ItemUsesExtendedStyleOption)  # for the part that is to be painted
        self.setAcceptedMouseButtons(Qt.MouseButton.NoButton)
        self.selection_changed = selection_changed
        self.places: Places[Any] = Places()
        #: The parts to paint, if they are known better than as the one rectangle around them.
        self.exposed: Sequence[QRectF] = ()
        #: Called before painting.
        self.prepare: Callable[[], None] = lambda: None
        self.selected: set[View] = set()
        self._requests = 0

    def repaint(self, *areas: QRectF) -> None:
        """Repaint some parts soon."""
        if self._requests > _MOST_PARTS:
            return
        self._requests += len(areas)
        for area in areas:
            self.scene().update(area)  # the item's own `update` would repaint everything between two parts
        if self._requests > _MOST_PARTS:
            self.scene().update()

    def boundingRect(self) -> QRectF:
        """Return the area of the scene."""
        return EXTENT

    def shape(self) -> QPainterPath:
        """Return an empty area, since the scene finds views by their places."""
        return QPainterPath()

    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        """Paint the views in a part of the scene."""
        self._requests = 0
        self.prepare()
        scale = option.levelOfDetailFromTransform(painter.worldTransform())
        views = self.places.within(*(self.exposed or [option.exposedRect]))
        self.paint_views(painter, [view for view in views if view.isVisible()], scale)

    def paint_views(self, painter: QPainter, views: list[Any], scale: float) -> None:
        """Paint some views, in their order; `scale` is the zoom, 1 at 100 %."""
        raise NotImplementedError


class View:
    """A node or connection on a layer. Its methods are named as those of Qt's items."""

    def __init__(self, layer: Layer) -> None:
        self.layer = layer
        #: The area in the scene that is repainted with it.
        self.area = QRectF()
        self._is_visible = True

    def cover(self, area: QRectF) -> None:
        """Take another area, and repaint both."""
        self.layer.repaint(self.area, area)
        self.area = area
        self.layer.places.put(self, area)

    def leave(self) -> None:
        """Leave the layer."""
        self.setSelected(False)
        self.layer.places.take(self)
        self.layer.repaint(self.area)

    def update(self) -> None:
        """Repaint it soon."""
        self.layer.repaint(self.area)

    def isSelected(self) -> bool:
        """Return whether it is selected."""
        return self in self.layer.selected

    def setSelected(self, selected: bool) -> None:
        """Select or deselect it."""
        if selected is not self.isSelected():
            (self.layer.selected.add if selected else self.layer.selected.remove)(self)
            self.update()
            self.layer.selection_changed()

    def isVisible(self) -> bool:
        """Return whether it is shown."""
        return self._is_visible

    def setVisible(self, visible: bool) -> None:
        """Show or hide it."""
        self._is_visible = visible
        self.update()
