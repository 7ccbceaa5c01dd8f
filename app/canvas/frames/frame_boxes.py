"""The items of frames: titled boxes behind everything else, one item each."""

from collections.abc import Callable, Iterable

from PySide6.QtCore import QObject, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen, QTextOption
from PySide6.QtWidgets import QGraphicsItem, QGraphicsScene, QStyleOptionGraphicsItem, QWidget

from warploom.app.canvas.drawing.shapes import on_screen, paint_text, qcolor
from warploom.app.theme import colours
from warploom.app.theme.colours import frame_colour, mix
from warploom.app.theme.fonts import BODY, SMALL, ui_font
from warploom.engine.patch.document import Patch
from warploom.engine.patch.organise.annotations import Frame

#: The height of the strip with the title, with which a frame is grasped.
STRIP = 28.0
#: The distance from an edge at which it is grasped, in pixels.
EDGE_REACH = 6.0
_RADIUS = 6.0
_BACK = -5000.0
#: Below this zoom, titles are enlarged to this height on the screen, and comments are hidden.
_NEAR, _FAR_PIXELS, _MOST = 0.65, 12.0, 72
_INSET = 12.0


class FrameView(QGraphicsItem):
    """The box of a frame."""

    def __init__(self, frame: Frame) -> None:
        super().__init__()
        self.setAcceptedMouseButtons(Qt.MouseButton.NoButton)
        self.selected = False
        self.frame = frame
        self.rect = QRectF(*frame.position, *frame.size)

    def place(self, frame: Frame, rect: QRectF) -> None:
        """Show another frame, or a dragged one elsewhere; large frames are behind small ones."""
        self.prepareGeometryChange()
        self.frame, self.rect = frame, rect
        self.setZValue(_BACK - rect.width() * rect.height() * 1e-6)
        self.update()

    @property
    def strip(self) -> QRectF:
        """The strip with the title."""
        return QRectF(self.rect.left(), self.rect.top(), self.rect.width(), STRIP)

    @staticmethod
    def title_above(scale: float) -> float:
        """Return how far the title reaches above the box at a zoom."""
        size = _far_size(scale)
        return 1.35 * size if scale < _NEAR and size > STRIP else 0.0

    def boundingRect(self) -> QRectF:
        """Return the area of the box, and of its title when zoomed out."""
        return self.rect.adjusted(-4, -4 - 1.35 * _MOST, 4, 4)

    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        """Paint ground, strip, outline, title and comment."""
        theme = colours.current()
        scale = option.levelOfDetailFromTransform(painter.worldTransform())
        hue = frame_colour(self.frame.colour, theme)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(_thin(hue, 0.10))
        painter.drawRoundedRect(self.rect, _RADIUS, _RADIUS)
        painter.save()
        painter.setClipRect(self.strip, Qt.ClipOperation.IntersectClip)
        painter.setBrush(_thin(hue, 0.22))
        painter.drawRoundedRect(self.rect, _RADIUS, _RADIUS)
        painter.restore()
        line = theme.accent if self.selected else mix(hue, theme.canvas, 0.35)
        pen = QPen(qcolor(line), 2.0 if self.selected else 1.0)
        painter.setPen(on_screen(pen, painter) if scale < 1 else pen)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(self.rect, _RADIUS, _RADIUS)
        self._paint_texts(painter, scale, theme.text, theme.text_dim)

    def _paint_texts(self, painter: QPainter, scale: float, ink: str, dim: str) -> None:
        title = self.frame.title or "Frame"
        area = self.strip.adjusted(_INSET, 0, -_INSET, 0)
        if scale < _NEAR:
            size = _far_size(scale)
            if above := self.title_above(scale):
                area = QRectF(area.left(), self.rect.top() - above, area.width(), 1.3 * size)
            paint_text(painter, area, title, ink, size, strong=True)
            return
        paint_text(painter, area, title, ink, BODY, strong=True)
        if self.frame.comment:
            painter.setFont(ui_font(SMALL))
            painter.setPen(qcolor(dim))
            option = QTextOption(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
            option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
            inner = self.rect.adjusted(_INSET, STRIP + 6, -_INSET, -6)
            painter.save()
            painter.setClipRect(inner, Qt.ClipOperation.IntersectClip)
            painter.drawText(inner, self.frame.comment, option)
            painter.restore()


class FrameBoxes(QObject):
    """The frames of one group of a patch, or of what is outside all groups. `selection_changed` is called."""

    def __init__(self, scene: QGraphicsScene, selection_changed: Callable[[], object]) -> None:
        super().__init__(scene)
        self._scene, self._selection_changed = scene, selection_changed
        self.views: dict[str, FrameView] = {}
        self.level = ""

    def show(self, patch: Patch, level: str) -> None:
        """Show the frames of a patch as they are now."""
        self.level = level
        wanted = {frame.id: frame for frame in patch.annotations_of(Frame) if frame.group == level}
        gone = [frame_id for frame_id in self.views if frame_id not in wanted]
        was_selected = any(self.views[frame_id].selected for frame_id in gone)
        for frame_id in gone:
            self._scene.removeItem(self.views.pop(frame_id))
        for frame_id, frame in wanted.items():
            view = self.views.get(frame_id)
            if view is None:
                view = self.views[frame_id] = FrameView(frame)
                self._scene.addItem(view)
            view.place(frame, QRectF(*frame.position, *frame.size))
        if was_selected:
            self._selection_changed()

    def clear(self) -> None:
        """Forget all frames; the scene removes their items."""
        self.views.clear()

    def selected(self) -> list[str]:
        """Return the selected frames."""
        return [frame_id for frame_id, view in self.views.items() if view.selected]

    def select(self, chosen: Iterable[str]) -> None:
        """Select these frames and no others."""
        names = set(chosen)
        changed = [view for view in self.views.values() if view.selected is not (view.frame.id in names)]
        for view in changed:
            view.selected = not view.selected
            view.update()
        if changed:
            self._selection_changed()

    def strip_at(self, point: QPointF) -> str | None:
        """Return the smallest frame whose title strip is at a point of the scene."""
        return self._foremost([view for view in self.views.values() if view.strip.contains(point)])

    def edges_at(self, point: QPointF, reach: float) -> tuple[str, tuple[bool, bool, bool, bool]] | None:
        """Return the frame with an edge or corner at a point, and whether it is left, top, right and bottom."""
        found = {}
        for view in self.views.values():
            rect, x, y = view.rect, point.x(), point.y()
            if rect.adjusted(-reach, -reach, reach, reach).contains(point):
                sides = (x - rect.left(), y - rect.top(), rect.right() - x, rect.bottom() - y)
                edges = tuple(abs(side) <= reach for side in sides)
                if any(edges):
                    found[view] = edges
        frame_id = self._foremost(list(found))
        return (frame_id, found[self.views[frame_id]]) if frame_id is not None else None  # type: ignore[return-value]

    def _foremost(self, views: list[FrameView]) -> str | None:
        return max(views, key=lambda view: view.zValue()).frame.id if views else None


def _far_size(scale: float) -> int:
    """Return the size of titles when zoomed out."""
    return min(round(max(_FAR_PIXELS / scale, BODY)), _MOST)


def _thin(colour: str, opacity: float) -> QColor:
    made = QColor(colour)
    made.setAlphaF(opacity)
    return made
