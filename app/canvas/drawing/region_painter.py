"""Paints a region's box: a tinted background with a title strip, its branches, and the place for a first block."""

from dataclasses import dataclass

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPen

from app.canvas.drawing.region_layout import GAP, INNER_MARGIN, STRIP, RegionLayout, Slot
from app.canvas.drawing.shapes import on_screen, paint_text, qcolor
from app.edits.regions import branch_title
from app.theme.colours import Colours, RegionColours, region_colours
from app.theme.fonts import BODY, SMALL
from app.view_models.node_view_model import RegionViewModel

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


def paint_region(
    painter: QPainter,
    model: RegionViewModel,
    layout: RegionLayout,
    appearance: RegionAppearance,
    theme: Colours,
    scale: float,
    *,
    nested: bool,
) -> None:
    """Paint a box in scene coordinates; `scale` is the zoom, 1 at 100 %; a `nested` box is inside another one."""
    colours = region_colours(model.kind, theme)
    _paint_ground(painter, layout.box, colours)
    _paint_strip(painter, layout.box, colours)
    is_whole = appearance.target is not None and len(layout.slots) == 1
    _paint_outline(painter, layout.box, _pen(painter, colours, appearance, theme, scale, is_target=is_whole))
    if len(layout.slots) > 1:
        for slot in layout.slots:
            is_target = appearance.target == slot.branch
            _paint_ground(painter, slot.rect, colours)
            plain = RegionAppearance(refused=appearance.refused)
            pen = _pen(painter, colours, plain, theme, scale, is_target=is_target)
            if slot.branch and not is_target:
                pen.setStyle(Qt.PenStyle.DashLine)
            _paint_outline(painter, slot.rect, pen)
            if scale >= NEAR:
                _paint_branch_title(painter, slot, theme)
    for slot in layout.slots:
        if slot.is_empty and scale >= NEAR:
            _paint_invitation(painter, slot, colours, theme, framed=len(layout.slots) == 1)
    if scale >= NEAR:
        _paint_title(painter, model, layout, theme)
    elif scale >= (_NO_NESTED_TITLE_BELOW if nested else _NO_TITLE_BELOW):
        _paint_far_title(painter, model, layout, theme, scale)


def _pen(
    painter: QPainter,
    colours: RegionColours,
    appearance: RegionAppearance,
    theme: Colours,
    scale: float,
    *,
    is_target: bool,
) -> QPen:
    if is_target:
        pen = QPen(qcolor(theme.warning if appearance.refused else theme.accent), 2.0)
        pen.setStyle(Qt.PenStyle.DashLine if appearance.refused else Qt.PenStyle.SolidLine)
    else:
        pen = QPen(qcolor(theme.accent if appearance.selected else colours.line), 2.0 if appearance.selected else 1.0)
    return on_screen(pen, painter) if scale < 1 else pen


def _paint_ground(painter: QPainter, rect: QRectF, colours: RegionColours) -> None:
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(_laid_over(colours.fill, colours.fill_opacity))
    painter.drawRoundedRect(rect, _RADIUS, _RADIUS)


def _paint_strip(painter: QPainter, box: QRectF, colours: RegionColours) -> None:
    whole, below = QPainterPath(), QPainterPath()
    whole.addRoundedRect(box, _RADIUS, _RADIUS)
    below.addRect(box.adjusted(0, STRIP, 0, 0))
    painter.fillPath(whole.subtracted(below), _laid_over(colours.fill, colours.strip_opacity))


def _paint_outline(painter: QPainter, rect: QRectF, pen: QPen) -> None:
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(pen)
    painter.drawRoundedRect(rect, _RADIUS, _RADIUS)


def _paint_title(painter: QPainter, model: RegionViewModel, layout: RegionLayout, theme: Colours) -> None:
    area = layout.strip.adjusted(GAP + 4, 0, -GAP - 4, 0)
    left = GAP + paint_text(painter, area, model.title, theme.text, BODY, strong=True)
    if model.kind_title not in ("", model.title):
        paint_text(painter, area.adjusted(left, 0, 0, 0), model.kind_title, theme.text_dim, SMALL)


def _paint_branch_title(painter: QPainter, slot: Slot, theme: Colours) -> None:
    area = QRectF(slot.rect.left() + GAP + 4, slot.rect.top(), slot.rect.width() - 2 * GAP - 8, STRIP)
    paint_text(painter, area, branch_title(slot.branch), theme.text_dim, SMALL, strong=True)


def _paint_invitation(painter: QPainter, slot: Slot, colours: RegionColours, theme: Colours, *, framed: bool) -> None:
    if framed:
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(qcolor(colours.line), 1.0, Qt.PenStyle.DashLine))
        painter.drawRoundedRect(slot.rect, _RADIUS, _RADIUS)
    area = slot.rect if framed else slot.rect.adjusted(0, INNER_MARGIN, 0, 0)
    paint_text(painter, area, "Drop blocks here", theme.text_dim, SMALL, align=Qt.AlignmentFlag.AlignHCenter)


def _paint_far_title(
    painter: QPainter, model: RegionViewModel, layout: RegionLayout, theme: Colours, scale: float
) -> None:
    """Paint the title enlarged, and above the box when it is too large for the strip."""
    size = min(round(max(_FAR_PIXELS / scale, BODY)), FAR_LIMIT)
    area = layout.strip.adjusted(GAP, 0, -GAP, 0)
    if size > STRIP:
        area.translate(0, -STRIP)
        area.setTop(area.bottom() - 1.35 * size)
    paint_text(painter, area, model.title, theme.text, size, strong=True)


def _laid_over(colour: str, opacity: float) -> QColor:
    laid = QColor(colour)
    laid.setAlphaF(opacity)
    return laid
