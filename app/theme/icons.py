"""Icons by meaning; the drawings are Material Design Icons, from qtawesome."""

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from operator import attrgetter
from pathlib import Path

from PySide6 import QtCore, QtGui, QtWidgets
from PySide6.QtCore import QPoint, QPointF, QRect, QSize, Qt
from PySide6.QtGui import QColor, QIcon, QIconEngine, QPainter, QPen, QPixmap

from warploom.app.theme import colours
from warploom.app.theme.colours import Colours
from warploom.engine.patch.organise.annotations import COLOURS


@contextmanager
def _plain_qt() -> Iterator[None]:
    """Let qtawesome have the modules of PySide6 for those of qtpy, which create every class of Qt and take 130 ms."""
    modules = {"qtpy.QtCore": QtCore, "qtpy.QtGui": QtGui, "qtpy.QtWidgets": QtWidgets}
    missing = {name: module for name, module in modules.items() if name not in sys.modules}
    sys.modules.update(missing)
    try:
        yield
    finally:
        for name in missing:  # other importers get the complete modules
            del sys.modules[name]


with _plain_qt():
    import qtawesome

ACTIONS = {
    "add": "mdi6.plus",
    "ascending": "mdi6.menu-up",
    "check": "mdi6.check-bold",
    "clear": "mdi6.eraser",
    "close": "mdi6.close",
    "code": "mdi6.code-tags",
    "constant": "mdi6.pin",
    "copy": "mdi6.content-copy",
    "delete": "mdi6.delete-outline",
    "descending": "mdi6.menu-down",
    "drive": "mdi6.sine-wave",
    "duplicate": "mdi6.content-duplicate",
    "error": "mdi6.alert-circle",
    "fit": "mdi6.fit-to-page-outline",
    "float": "mdi6.dock-window",
    "freeze": "mdi6.snowflake",
    "folder": "mdi6.folder-outline",
    "folded": "mdi6.chevron-right",
    "help": "mdi6.help-circle-outline",
    "histogram": "mdi6.chart-histogram",
    "incomplete": "mdi6.circle-outline",
    "new": "mdi6.file-plus-outline",
    "open": "mdi6.folder-open-outline",
    "open_list": "mdi6.chevron-down",
    "paste": "mdi6.content-paste",
    "pause": "mdi6.pause",
    "pin": "mdi6.pin-outline",
    "play": "mdi6.play",
    "recent": "mdi6.history",
    "redo": "mdi6.redo",
    "reset": "mdi6.restore",
    "save": "mdi6.content-save-outline",
    "record": "mdi6.record-circle-outline",
    "snapshot": "mdi6.camera-outline",
    "step": "mdi6.skip-next",
    "to_start": "mdi6.skip-backward",
    "step_back": "mdi6.skip-previous",
    "previous_key": "mdi6.chevron-left",
    "partly": "mdi6.minus-thick",
    "next_key": "mdi6.chevron-right",
    "loop": "mdi6.repeat",
    "key": "mdi6.rhombus",
    "no_key": "mdi6.rhombus-outline",
    "undo": "mdi6.undo",
    "variable": "mdi6.pin-outline",
    "unfolded": "mdi6.chevron-down",
    "warning": "mdi6.alert",
}


#: Icons of the shipped categories, which differ in shape as well as in colour.
CATEGORIES = {
    "buffer": "mdi6.database-outline",
    "control": "mdi6.source-branch",
    "data": "mdi6.table",
    "field": "mdi6.grid",
    "fractal": "mdi6.snowflake",
    "geometry": "mdi6.cube-scan",
    "image": "mdi6.image-outline",
    "io": "mdi6.swap-horizontal",
    "linear algebra": "mdi6.matrix",
    "math": "mdi6.function-variant",
    "neural": "mdi6.graph-outline",
    "particles": "mdi6.dots-hexagon",
    "random": "mdi6.dice-5-outline",
    "reduce": "mdi6.sigma",
    "signal": "mdi6.waveform",
    "values": "mdi6.sine-wave",
}
#: Icons of the categories of ops.
OP_CATEGORIES = {
    "arithmetic": "mdi6.plus-minus-variant",
    "bits": "mdi6.numeric",
    "buffers": "mdi6.database-outline",
    "conversion": "mdi6.swap-horizontal-bold",
    "functions": "mdi6.function",
    "images": "mdi6.image-outline",
    "indices": "mdi6.map-marker-outline",
    "kernel": "mdi6.chip",
    "logic": "mdi6.gate-and",
    "noise": "mdi6.grain",
    "shaping": "mdi6.chart-bell-curve",
    "threads": "mdi6.account-group",
    "vectors": "mdi6.axis-arrow",
}


def category_icon(category: str, is_value: bool = False, colour: str = "") -> QIcon:
    """Return the icon of a category; a category that Warploom does not ship has the icon of a block.

    Without a colour, it has that of the category.
    """
    tint = colour or colours.category_ink(category, colours.current())
    usual = "mdi6.sine-wave" if is_value else "mdi6.cube-outline"
    drawn: QIcon = qtawesome.icon({**OP_CATEGORIES, **CATEGORIES}.get(category.lower(), usual), color=tint)
    return drawn


def icon(name: str, colour: str = "text") -> QIcon:
    """Return the icon of an action, or of a colour of frames and blocks. Raise KeyError when there is none.

    `colour` names a field of `Colours`. It is looked up whenever the icon is drawn, so the icon follows the theme.
    """
    if name in COLOURS:
        return QIcon(_ThemedIcon("mdi6.square-rounded", partial(colours.frame_colour, name)))
    return QIcon(_ThemedIcon(ACTIONS[name], attrgetter(colour)))


def program_icon() -> QIcon:
    """Return the program's icon: a weft that goes over and under the threads of a warp."""
    made = QIcon()
    for side in (16, 24, 32, 48, 64, 128, 256):
        made.addPixmap(_program_picture(side))
    return made


def _program_picture(side: int) -> QPixmap:
    drawn = QPixmap(side, side)
    drawn.fill(Qt.GlobalColor.transparent)
    painter, theme = QPainter(drawn), colours.DARK
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.scale(side / 64, side / 64)
    painter.setPen(QPen(QColor(theme.border), 2))
    painter.setBrush(QColor(theme.dock))
    painter.drawRoundedRect(1, 1, 62, 62, 12, 12)
    warp, weft = QPen(QColor(theme.text_dim), 5), QPen(QColor(theme.accent), 6)
    for pen in (warp, weft):
        pen.setCapStyle(Qt.PenCapStyle.RoundCap)
    threads = (14, 26, 38, 50)
    painter.setPen(warp)
    for x in threads:
        painter.drawLine(x, 12, x, 52)
    painter.setPen(weft)
    way = [QPointF(x / 2, 32 - 8 * math.cos(math.pi * (x / 2 - 14) / 12)) for x in range(14, 116)]
    painter.drawPolyline(way)
    painter.setPen(warp)
    for x in threads[1::2]:  # these are in front of the weft, which is low there
        painter.drawLine(x, 34, x, 46)
    painter.end()
    return drawn


def save_icon(name: str, colour: str, side: int, growth: float, path: Path) -> None:
    """Save the enlarged icon of an action as a picture, and one of twice its size for fine screens."""
    for factor, file in ((1, path), (2, path.with_stem(f"{path.stem}@2x"))):
        drawn: QIcon = qtawesome.icon(ACTIONS[name], color=colour, scale_factor=growth)
        drawn.pixmap(QSize(side * factor, side * factor), 1.0).save(str(file))


class _ThemedIcon(QIconEngine):
    """Draws an icon in the colours of the current theme."""

    def __init__(self, drawing: str, colour: Callable[[Colours], str]) -> None:
        super().__init__()
        self._drawing, self._colour = drawing, colour

    def paint(self, painter: QPainter, rect: QRect, mode: QIcon.Mode, state: QIcon.State) -> None:
        """Draw the icon into a rectangle."""
        theme = colours.current()
        drawn: QIcon = qtawesome.icon(self._drawing, color=self._colour(theme), color_disabled=theme.text_faint)
        drawn.paint(painter, rect, mode=mode, state=state)

    def pixmap(self, size: QSize, mode: QIcon.Mode, state: QIcon.State) -> QPixmap:
        """Return the icon as a picture with a transparent background."""
        drawn = QPixmap(size)
        drawn.fill(Qt.GlobalColor.transparent)
        painter = QPainter(drawn)
        self.paint(painter, QRect(QPoint(), size), mode, state)
        painter.end()
        return drawn
