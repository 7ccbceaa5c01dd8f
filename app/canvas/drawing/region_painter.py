"""Paints a region's box: a tinted background with a title strip, its branches, and the place for a first block."""

from dataclasses import dataclass

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPen

from warploom.app.canvas.drawing.region_layout import GAP, INNER_MARGIN, STRIP, RegionLayout, Slot
from warploom.app.canvas.drawing.shapes import on_screen, paint_text, qcolor
from warploom.app.edits.regions import branch_title
from warploom.app.theme.colours import Colours, RegionColours, region_colours
from warploom.app.theme.fonts import BODY, SMALL
from warploom.app.view_models.node_view_model import RegionViewModel

_RADIUS = 6.0
#: Below this zoom, a title is enlarged to stay readable, and branches and invitations have no text.
NEAR = 0.65
#: The height of titles on the screen when the view is zoomed out; at most `FAR_LIMIT` on the canvas.
_FAR_PIXELS = 11.0
FAR_LIMIT = 64
#: Zooms below which titles are hidden; a nested box's title would cover the title around it sooner.
_NO_NESTED_TITLE_BELOW, _NO_TITLE_BELOW = 0.38, 0.15


@dataclass(frozen=True)
class RegionAppearance:
    """A box's momentary appearance; `target` is the branch that blocks are dragged over."""

    selected: bool = False
    target: str | None = None
    refused: bool = False


@dataclass(frozen=True)
class RegionPainter:
    """Paints a box in scene coordinates; `scale` is the zoom, 1 at 100 %; a `nested` box is inside another one."""

    painter: QPainter
    model: RegionViewModel
    layout: RegionLayout
    appearance: RegionAppearance
    theme: Colours
    scale: float
    nested: bool

    @property
    def _colours(self) -> RegionColours:
        return region_colours(self.model.kind, self.theme)

    def paint(self) -> None:
        """Paint the box."""
        box, slots, target = self.layout.box, self.layout.slots, self.appearance.target
        self._paint_ground(box)
        self._paint_strip(box)
        is_whole = target is not None and len(slots) == 1
        branches = [slot.branch for slot in slots]
        self._paint_outline(box, self._pen(is_target=is_whole, is_selected=self.appearance.selected))
        for slot in slots if len(slots) > 1 else ():
            is_target = target == slot.branch
            self._paint_ground(slot.rect)
            pen = self._pen(is_target=is_target)
            if slot.branch and not is_target:
                pen.setStyle(Qt.PenStyle.DashLine)
            self._paint_outline(slot.rect, pen)
            if self.scale >= NEAR:
                area = QRectF(slot.rect.left() + GAP + 4, slot.rect.top(), slot.rect.width() - 2 * GAP - 8, STRIP)
                title = branch_title(slot.branch, branches)
                paint_text(self.painter, area, title, self.theme.text_dim, SMALL, strong=True)
        for slot in slots:
            if slot.is_empty and self.scale >= NEAR:
                self._paint_invitation(slot, framed=len(slots) == 1)
        if self.scale >= NEAR:
            self._paint_title()
        elif self.scale >= (_NO_NESTED_TITLE_BELOW if self.nested else _NO_TITLE_BELOW):
            self._paint_far_title()

    def _pen(self, *, is_target: bool, is_selected: bool = False) -> QPen:
        theme, refused = self.theme, self.appearance.refused
        if is_target:
            pen = QPen(qcolor(theme.warning if refused else theme.accent), 2.0)
            pen.setStyle(Qt.PenStyle.DashLine if refused else Qt.PenStyle.SolidLine)
        else:
            pen = QPen(qcolor(theme.accent if is_selected else self._colours.line), 2.0 if is_selected else 1.0)
        return on_screen(pen, self.painter) if self.scale < 1 else pen

    def _paint_ground(self, rect: QRectF) -> None:
        self.painter.setPen(Qt.PenStyle.NoPen)
        self.painter.setBrush(_laid_over(self._colours.fill, self._colours.fill_opacity))
        self.painter.drawRoundedRect(rect, _RADIUS, _RADIUS)

    def _paint_strip(self, box: QRectF) -> None:
        whole, below = QPainterPath(), QPainterPath()
        whole.addRoundedRect(box, _RADIUS, _RADIUS)
        below.addRect(box.adjusted(0, STRIP, 0, 0))
        self.painter.fillPath(whole.subtracted(below), _laid_over(self._colours.fill, self._colours.strip_opacity))

    def _paint_outline(self, rect: QRectF, pen: QPen) -> None:
        self.painter.setBrush(Qt.BrushStyle.NoBrush)
        self.painter.setPen(pen)
        self.painter.drawRoundedRect(rect, _RADIUS, _RADIUS)

    def _paint_title(self) -> None:
        model, area = self.model, self.layout.strip.adjusted(GAP + 4, 0, -GAP - 4, 0)
        left = GAP + paint_text(self.painter, area, model.title, self.theme.text, BODY, strong=True)
        if model.kind_title not in ("", model.title):
            paint_text(self.painter, area.adjusted(left, 0, 0, 0), model.kind_title, self.theme.text_dim, SMALL)

    def _paint_invitation(self, slot: Slot, *, framed: bool) -> None:
        if framed:
            self._paint_outline(slot.rect, QPen(qcolor(self._colours.line), 1.0, Qt.PenStyle.DashLine))
        area = slot.rect if framed else slot.rect.adjusted(0, INNER_MARGIN, 0, 0)
        align = Qt.AlignmentFlag.AlignHCenter
        paint_text(self.painter, area, "Drop blocks here", self.theme.text_dim, SMALL, align=align)

    def _paint_far_title(self) -> None:
        """Paint the title enlarged, and above the box when it is too large for the strip."""
        size = min(round(max(_FAR_PIXELS / self.scale, BODY)), FAR_LIMIT)
        area = self.layout.strip.adjusted(GAP, 0, -GAP, 0)
        if size > STRIP:
            area.translate(0, -STRIP)
            area.setTop(area.bottom() - 1.35 * size)
        paint_text(self.painter, area, self.model.title, self.theme.text, size, strong=True)


def _laid_over(colour: str, opacity: float) -> QColor:
    laid = QColor(colour)
    laid.setAlphaF(opacity)
    return laid
