"""Paints nodes that are too small for details: in the colour of their category, with a title or a short one."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Protocol

from PySide6.QtCore import QLineF, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPen, QPixmap

from warploom.app.canvas.drawing.node_layout import text_width, wrapped
from warploom.app.canvas.drawing.node_painter import (
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
from warploom.app.canvas.drawing.shapes import on_screen, qcolor
from warploom.app.theme.colours import Colours, category_tint, far_tint, heat_colour, mix
from warploom.app.theme.fonts import FAR, ui_font
from warploom.app.theme.icons import category_icon
from warploom.app.view_models.node_view_model import NodeViewModel
from warploom.app.view_models.profile.heat import DEGREES
from warploom.engine.patch.changes import Mode
from warploom.engine.protocol.messages import NodeState

#: Whole titles are shown from the first zoom on, and short ones from the other; below it, nodes are plain rectangles.
TITLES_FROM, FAR_FROM = 0.28, 0.15
#: The side of an icon, in sizes of letters.
_ICON = 1.6
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
    selected = [node for node in nodes if node.isSelected()]
    covered = selected if scale < FAR_FROM else ()
    _paint_bodies(painter, [node for node in nodes if not node.isSelected()] if covered else nodes, theme, scale)
    _outline(painter, [node for node in nodes if node.appearance.on_path], path_pen(theme))
    if scale >= FAR_FROM:
        _outline(painter, selected, selection_pen(theme), RING / scale)
    else:
        edge = selection_pen(theme).widthF() / 2 / scale
        painter.setPen(Qt.PenStyle.NoPen)  # a pen would take several times as long
        painter.setBrush(qcolor(theme.accent))
        painter.drawRects([node.place.adjusted(-edge, -edge, edge, edge) for node in selected])
    if scale >= TITLES_FROM:
        _paint_titles(painter, nodes, theme, scale)
    elif scale >= FAR_FROM:
        _paint_marks(painter, nodes, theme)
    if scale >= FAR_FROM:
        _paint_modes(painter, nodes, theme)
        for node in nodes:
            paint_state_mark(painter, node.place.topRight(), node.appearance.state, theme, scale)


def _paint_bodies(painter: QPainter, nodes: Iterable[SeenNode], theme: Colours, scale: float) -> None:
    """Paint outlines, those of one colour at once."""
    bodies: dict[str, list[QRectF]] = defaultdict(list)
    rounded: dict[str, list[QRectF]] = defaultdict(list)
    special: list[SeenNode] = []
    for node in nodes:
        model, shown = node.model, node.appearance
        faded, is_far = fade_of(shown, model), scale < TITLES_FROM
        fill = _fill(model.category, model.colour, model.missing, shown.degree, faded, theme, is_far)
        (rounded if model.is_value else bodies)[fill].append(node.place)
        if model.missing or model.mode or shown.state is not NodeState.OK:
            special.append(node)
    pen = QPen(Qt.PenStyle.NoPen)
    if scale >= FAR_FROM:
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
def _fill(category: str, own: str, missing: bool, degree: int | None, fade: float, theme: Colours, far: bool) -> str:
    if degree is not None:
        return mix(heat_colour(degree / DEGREES), theme.canvas, fade)
    tint = theme.control if missing else (far_tint if far else category_tint)(category, theme, own)
    return mix(tint, theme.canvas, fade)


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
        lines = wrapped(node.model.title, size, place.width() - 2 * _BESIDE / scale, rows)
        y = place.center().y() + ascent / 2 - (len(lines) - 1) * leading / 2
        for line in lines:
            painter.drawText(QPointF(place.center().x() - text_width(line, size, False) / 2, y), line)
            y += leading


def _paint_marks(painter: QPainter, nodes: Iterable[SeenNode], theme: Colours) -> None:
    """Paint short titles, or the icons of the categories where not even two letters have room."""
    to_device = painter.deviceTransform()
    unit, dx, dy = to_device.m11(), to_device.dx(), to_device.dy()
    size = round(FAR * painter.device().devicePixelRatio())
    for node in nodes:
        shown, model, place = node.appearance, node.model, node.place
        ink = _ink(shown.degree, fade_of(shown, model), theme)
        drawn = _mark(model.title, model.category, model.is_value, ink, round(place.width() * unit), size)
        width, height, middle = drawn.width(), drawn.height(), place.center()
        # On whole pixels, since letters this small would blur between them.
        left = (round(middle.x() * unit + dx - width / 2) - dx) / unit
        top = (round(middle.y() * unit + dy - height / 2) - dy) / unit
        painter.drawPixmap(QRectF(left, top, width / unit, height / unit), drawn, drawn.rect())


@lru_cache(maxsize=2048)
def _mark(title: str, category: str, is_value: bool, ink: str, width: int, size: int) -> QPixmap:
    """Return a mark for a node of a width, with letters of a size, in pixels of the device."""
    if width < 2 * size:
        side = round(size * _ICON)
        return category_icon(category, is_value, ink).pixmap(QSize(side, side), 1.0)
    font = ui_font(size)
    metrics = QFontMetricsF(font)
    text = short_title(title, lambda text: metrics.horizontalAdvance(text) <= width - size / 4)
    drawn = QPixmap(max(round(metrics.horizontalAdvance(text)), 1), round(metrics.height()))
    drawn.fill(Qt.GlobalColor.transparent)
    painter = QPainter(drawn)
    painter.setFont(font)
    painter.setPen(qcolor(ink))
    painter.drawText(QPointF(0, round((drawn.height() + metrics.capHeight()) / 2)), text)
    painter.end()
    return drawn


def short_title(title: str, fits: Callable[[str], bool]) -> str:
    """Return a title that fits: the whole, or else the same number of letters of each of its words."""
    if fits(title):
        return title
    words = title.split()
    for letters in range(max(map(len, words), default=0), 0, -1):
        short = "".join(word[:1].upper() + word[1:letters] for word in words)
        if fits(short):
            return short
    initials = "".join(word[:1].upper() for word in words)
    return next((initials[:count] for count in range(len(initials), 0, -1) if fits(initials[:count])), "")


def _paint_modes(painter: QPainter, nodes: Iterable[SeenNode], theme: Colours) -> None:
    """Paint a line through each bypassed node, as its data passes, and one across each disabled node."""
    through = [node.place for node in nodes if node.model.mode is Mode.BYPASSED]
    across = [node.place for node in nodes if node.model.mode is Mode.DISABLED]
    lines = [QLineF(place.left(), place.center().y(), place.right(), place.center().y()) for place in through]
    lines += [QLineF(place.bottomLeft(), place.topRight()) for place in across]
    painter.setPen(on_screen(QPen(qcolor(theme.text), 1.4), painter))
    painter.drawLines(lines)


@lru_cache(maxsize=256)
def _ink(degree: int | None, fade: float, theme: Colours) -> str:
    """Return the colour of a title or an icon."""
    if degree is not None:
        return heat_ink(degree)
    return mix(theme.text, theme.canvas, fade)
