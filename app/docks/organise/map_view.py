"""A small map of the whole canvas, with the part in view."""

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy

from warploom.app.canvas.canvas import Canvas
from warploom.app.canvas.drawing.shapes import qcolor
from warploom.app.theme import colours
from warploom.app.theme.colours import far_tint, frame_colour, mix
from warploom.app.widgets.view_keys import ViewKeys

_MARGIN = 8.0


class MapView(ViewKeys):
    """Paints blocks, regions and frames as rectangles; a click, a drag or keys show that part of the canvas."""

    moved = Signal(QPointF)  # a point of the scene

    def __init__(self) -> None:
        super().__init__()
        self.setAccessibleName("Map")
        self.canvas: Canvas | None = None
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumHeight(48)
        self.setToolTip("Click or drag to go to a part of the canvas")

    def sizeHint(self) -> QSize:
        """Return a size in which a patch of a hundred blocks is recognisable."""
        return QSize(240, 180)

    def _area(self) -> QRectF:
        """Return the part of the scene on the map: all blocks and frames, and the part in view."""
        assert self.canvas is not None
        scene = self.canvas.scene
        area = QRectF()
        for view in scene.nodes.values():
            area = area.united(view.place)
        for frame in scene.frames.views.values():
            area = area.united(frame.rect)
        seen = self.canvas.view.seen()
        return area.united(seen.intersected(area.adjusted(-400, -400, 400, 400))) if not area.isEmpty() else seen

    def _fit(self) -> tuple[float, QPointF]:
        """Return the scale of the map, and the place of the scene's origin on it."""
        area = self._area()
        room = QRectF(self.rect()).adjusted(_MARGIN, _MARGIN, -_MARGIN, -_MARGIN)
        scale = min(room.width() / max(area.width(), 1.0), room.height() / max(area.height(), 1.0), 0.5)
        return scale, room.center() - area.center() * scale

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the map."""
        painter, theme = QPainter(self), colours.current()
        painter.fillRect(self.rect(), qcolor(theme.canvas))
        if self.canvas is None or not self.canvas.scene.nodes:
            painter.setPen(qcolor(theme.text_dim))
            painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter, "The map of the patch is here")
            return
        scene, (scale, origin) = self.canvas.scene, self._fit()

        def on_map(rect: QRectF) -> QRectF:
            return QRectF(rect.topLeft() * scale + origin, rect.size() * scale)

        painter.setPen(Qt.PenStyle.NoPen)
        for frame in scene.frames.views.values():
            painter.setBrush(qcolor(mix(theme.canvas, frame_colour(frame.frame.colour, theme), 0.3)))
            painter.drawRect(on_map(frame.rect))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(qcolor(theme.node_border), 1.0))
        for layout in scene.regions.layouts().values():
            painter.drawRect(on_map(layout.box))
        painter.setPen(Qt.PenStyle.NoPen)
        for view in scene.nodes.values():
            colour = theme.accent if view.isSelected() else far_tint(view.model.category, theme, view.model.colour)
            painter.setBrush(qcolor(colour))
            rect = on_map(view.place)
            painter.drawRect(rect.adjusted(0, 0, max(2.0 - rect.width(), 0), max(2.0 - rect.height(), 0)))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(qcolor(theme.text), 1.0))
        painter.drawRect(on_map(self.canvas.view.seen()).intersected(QRectF(self.rect()).adjusted(0, 0, -1, -1)))
        self.paint_focus(painter)

    def move_by_keys(self, x: int, y: int, *, shift: bool) -> None:
        """Move the canvas, by more with Shift."""
        if self.canvas is not None:
            seen, share = self.canvas.view.seen(), 0.5 if shift else 0.125
            self.moved.emit(seen.center() + QPointF(x * seen.width(), y * seen.height()) * share)

    def zoom_by_keys(self, factor: float) -> None:
        """Zoom the canvas."""
        if self.canvas is not None:
            self.canvas.view.set_zoom(self.canvas.view.zoom * factor)

    def fit(self) -> None:
        """Bring the whole patch into view."""
        if self.canvas is not None:
            self.canvas.fit()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Go to the part under the pointer."""
        if event.button() == Qt.MouseButton.LeftButton and self.canvas is not None:
            scale, origin = self._fit()
            self.moved.emit((event.position() - origin) / scale)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Go on with the drag."""
        if event.buttons() & Qt.MouseButton.LeftButton and self.canvas is not None:
            scale, origin = self._fit()
            self.moved.emit((event.position() - origin) / scale)
