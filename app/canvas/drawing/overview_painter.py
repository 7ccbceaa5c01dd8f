"""Paints nodes that are too small for details: in the colour of their category, with a title or an icon."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Protocol

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPen, QPixmap

from app.canvas.drawing.node_painter import (
    RADIUS,
    RING,
    VALUE_RADIUS,
    NodeAppearance,
    border_pen,
    fade_of,
    heat_ink,
    paint_state_mark,
    path_pen,
    selection_pen,
)
from app.canvas.drawing.shapes import on_screen, qcolor
from app.theme.colours import Colours, category_ink, category_tint, heat_colour, mix
from app.theme.fonts import FAR, ui_font
from app.theme.icons import category_icon
from app.view_models.node_view_model import NodeViewModel
from app.view_models.profile.heat import DEGREES
from engine.protocol.messages import NodeState

#: Titles are shown from this zoom on, and icons below it down to the next; below that, nodes are plain rectangles.
TITLES_FROM, _ICONS_FROM = 0.28, 0.15
#: The height of an icon as a share of the node's, and its least and greatest height in pixels.
_ICON_SHARE, _ICON_LEAST, _ICON_MOST = 0.9, 14.0, 18.0
#: How much stronger than a title bar's the colour of a node without a title is.
_STRONGER = 0.4
#: The distance between lines of a title as a share of the text's size, and the space beside it in pixels.
_LEADING, _BESIDE = 1.15, 2.0


class SeenNode(Protocol):
    """What is painted of a node; `place` is its outline in the scene."""

    model: NodeViewModel
    appearance: NodeAppearance
    place: QRectF

    def isSelected(self) -> bool:
        """Return whether it is selected."""


def paint_overview(painter: QPainter, nodes: Sequence[SeenNode], theme: Colours, scale: float) -> None:
    """Paint nodes at a zoom below that for details."""
    _paint_bodies(painter, nodes, theme, scale)
    _outline(painter, [node for node in nodes if node.appearance.on_path], path_pen(theme))
    selected = [node for node in nodes if node.isSelected()]
    if scale >= _ICONS_FROM:
        _outline(painter, selected, selection_pen(theme), RING / scale)
    else:
        painter.setPen(on_screen(selection_pen(theme), painter))
        painter.setBrush(qcolor(theme.accent))
        painter.drawRects([node.place for node in selected])
    if scale >= TITLES_FROM:
        _paint_titles(painter, nodes, theme, scale)
    elif scale >= _ICONS_FROM:
        _paint_icons(painter, nodes, theme, scale)
    if scale >= _ICONS_FROM:
        for node in nodes:
            paint_state_mark(painter, node.place.topRight(), node.appearance.state, theme, scale)


def _paint_bodies(painter: QPainter, nodes: Iterable[SeenNode], theme: Colours, scale: float) -> None:
    """Paint outlines, those of one colour at once."""
    bodies: dict[str, list[QRectF]] = defaultdict(list)
    rounded: dict[str, list[QRectF]] = defaultdict(list)
    special: list[SeenNode] = []
    for node in nodes:
        model, shown = node.model, node.appearance
        fill = _fill(model.category, model.missing, shown.degree, fade_of(shown, model), theme, scale < TITLES_FROM)
        (rounded if model.is_value else bodies)[fill].append(node.place)
        if model.missing or shown.state is not NodeState.OK:
            special.append(node)
    pen = QPen(Qt.PenStyle.NoPen)
    if scale >= _ICONS_FROM:
        pen = on_screen(QPen(qcolor(theme.node_border), 1.0), painter)
    painter.setPen(pen)
    for fill, places in bodies.items():
        painter.setBrush(qcolor(fill))
        if scale < TITLES_FROM:
            painter.drawRects(places)
        else:
            for place in places:
                painter.drawRoundedRect(place, RADIUS, RADIUS)
    for fill, places in rounded.items():
        painter.setBrush(qcolor(fill))
        for place in places:
            painter.drawRoundedRect(place, VALUE_RADIUS, VALUE_RADIUS)
    for node in special:  # a state stays visible at any zoom
        _outline(painter, [node], border_pen(node.model, node.appearance.state, theme))


@lru_cache(maxsize=1024)
def _fill(category: str, missing: bool, degree: int | None, fade: float, theme: Colours, far: bool) -> str:
    if degree is not None:
        return mix(heat_colour(degree / DEGREES), theme.canvas, fade)
    tint = theme.control if missing else category_tint(category, theme)
    if far and not missing:
        tint = mix(tint, category_ink(category, theme), _STRONGER)
    return mix(mix(tint, theme.canvas, fade), theme.text, 0.06)


def _outline(painter: QPainter, nodes: Iterable[SeenNode], pen: QPen, distance: float = 0.0) -> None:
    painter.setPen(on_screen(pen, painter))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    for node in nodes:
        radius = (VALUE_RADIUS if node.model.is_value else RADIUS) + distance
        painter.drawRoundedRect(node.place.adjusted(-distance, -distance, distance, distance), radius, radius)


def _paint_titles(painter: QPainter, nodes: Iterable[SeenNode], theme: Colours, scale: float) -> None:
    """Paint the titles, all in one size, on as many lines as there is room for."""
    size = round(FAR / scale)
    font = ui_font(size)
    ascent, leading = QFontMetricsF(font).capHeight(), size * _LEADING
    painter.setFont(font)
    for node in nodes:
        place = node.place
        painter.setPen(qcolor(_ink(node.appearance.degree, fade_of(node.appearance, node.model), theme)))
        rows = max(int(place.height() // leading), 1)
        lines = _wrapped(node.model.title, place.width() - 2 * _BESIDE / scale, rows, size)
        y = place.center().y() + ascent / 2 - (len(lines) - 1) * leading / 2
        for line, width in lines:
            painter.drawText(QPointF(place.center().x() - width / 2, y), line)
            y += leading


@lru_cache(maxsize=4096)
def _wrapped(title: str, width: float, rows: int, size: int) -> tuple[tuple[str, float], ...]:
    """Return a title as lines that fit a width, each with its own width; the last of them is elided."""
    metrics = QFontMetricsF(ui_font(size))
    lines: list[str] = []
    for word in title.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if not lines or (len(lines) < rows and metrics.horizontalAdvance(longer) > width):
            lines.append(word)
        else:
            lines[-1] = longer
    elided = [metrics.elidedText(line, Qt.TextElideMode.ElideRight, width) for line in lines]
    return tuple((line, metrics.horizontalAdvance(line)) for line in elided)


def _paint_icons(painter: QPainter, nodes: Iterable[SeenNode], theme: Colours, scale: float) -> None:
    """Paint the icons of the categories."""
    painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
    pixels = scale * painter.device().devicePixelRatio()
    for node in nodes:
        place = node.place
        height = place.height()
        ink = _ink(node.appearance.degree, fade_of(node.appearance, node.model), theme)
        drawn, source, side = _icon(node.model.category, node.model.is_value, ink, height, pixels)
        target = QRectF(place.x() + (place.width() - side) / 2, place.y() + (height - side) / 2, side, side)
        painter.drawPixmap(target, drawn, source)


@lru_cache(maxsize=1024)
def _icon(category: str, is_value: bool, ink: str, height: float, pixels: float) -> tuple[QPixmap, QRectF, float]:
    """Return an icon for a node of some height, its area, and its side in the scene; `pixels` are those of a unit."""
    side = round(min(max(height * pixels * _ICON_SHARE, _ICON_LEAST), _ICON_MOST))
    drawn = category_icon(category, is_value, ink).pixmap(QSize(side, side), 1.0)
    return drawn, QRectF(drawn.rect()), side / pixels


@lru_cache(maxsize=256)
def _ink(degree: int | None, fade: float, theme: Colours) -> str:
    """Return the colour of a title or an icon."""
    if degree is not None:
        return heat_ink(degree)
    return mix(theme.text, theme.canvas, fade)
