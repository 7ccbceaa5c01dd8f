"""A region's box on the canvas: an item behind the blocks, of which only the title strip can be grasped."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPainterPath
from PySide6.QtWidgets import QGraphicsItem, QStyleOptionGraphicsItem, QWidget

from app.canvas.region_faces import RegionFace
from app.canvas.region_layout import RegionLayout
from app.canvas.region_painter import FAR_LIMIT, RegionLook, paint_region
from app.safe_overrides import safe_overrides
from app.theme import colours

#: Boxes lie behind connections and blocks, a nested one over the one around it.
_BACK = -1000.0


@safe_overrides
class RegionView(QGraphicsItem):
    """The box of the region block `id`; hidden until it has a layout."""

    def __init__(self, node_id: str, face: RegionFace) -> None:
        super().__init__()
        self.setAcceptedMouseButtons(Qt.MouseButton.NoButton)
        self.setVisible(False)
        self.id = node_id
        self.face = face
        self.look = RegionLook()
        self.layout: RegionLayout | None = None
        self._is_nested = False

    def set_face(self, face: RegionFace) -> None:
        """Show another title."""
        self.face = face
        self.update()

    def set_layout(self, layout: RegionLayout | None, depth: int) -> None:
        """Lie elsewhere, `depth` regions deep, itself counted; None hides the box."""
        self.setZValue(_BACK + depth)
        self._is_nested = depth > 1
        if layout != self.layout:
            self.prepareGeometryChange()
            self.layout = layout
            self.setVisible(layout is not None)
            self.update()

    def show_look(self, **changes: Any) -> None:
        """Change fields of the look, and repaint when that changes anything."""
        look = replace(self.look, **changes)
        if look != self.look:
            self.look = look
            self.update()

    def is_grasped_at(self, point: QPointF) -> bool:
        """Return whether a point of the scene is on the title strip."""
        return self.layout is not None and self.layout.strip.contains(point)

    def boundingRect(self) -> QRectF:
        """The box, its outline, and the title that grows over its top when it is seen from far away."""
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
            paint_region(painter, self.face, self.layout, self.look, colours.current(), scale, nested=self._is_nested)
