"""The loose line of a dragged connection, which is a pipe of NodeGraphQt.

This is the only file that imports NodeGraphQt. Its `NodeGraph` and `NodeViewer` are not used, since they are a second
document with undo, menus, search and shortcuts. Its nodes, ports and connected pipes are not used either: in a patch of
a thousand blocks, an item of Qt's for each of them takes several times as long as its painting.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from PySide6 import QtCore, QtGui, QtWidgets
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QGraphicsPathItem, QStyleOptionGraphicsItem, QWidget

from warploom.app.canvas.drawing.connection_painter import stroke
from warploom.app.canvas.drawing.shapes import connection_path
from warploom.app.canvas.items.views import PortView
from warploom.app.theme import colours
from warploom.app.theme.port_style import PORT_STYLES


@contextmanager
def _pipes_alone() -> Iterator[None]:
    """Allow importing modules of NodeGraphQt without the rest of the package, and without Qt.py.

    The package would import its menus, widgets and dialogs, and Qt.py every module of PySide6, which takes 250 ms.
    """
    found = find_spec("NodeGraphQt")
    package, binding = ModuleType("NodeGraphQt"), ModuleType("Qt")
    package.__path__ = list(found.submodule_search_locations or ()) if found is not None else []
    vars(binding).update(QtCore=QtCore, QtGui=QtGui, QtWidgets=QtWidgets)
    before = set(sys.modules)
    sys.modules.update(NodeGraphQt=package, Qt=binding)
    try:
        yield
    finally:
        # Other importers get the complete library.
        for name in set(sys.modules) - before:
            if name.split(".")[0] in ("NodeGraphQt", "Qt"):
                del sys.modules[name]


with _pipes_alone():
    from NodeGraphQt.qgraphics.pipe import PipeItem

_OVER_ALL = 1000.0


class LooseLine(PipeItem):  # type: ignore[misc]  # NodeGraphQt ships no types
    """The line from a port to the pointer."""

    def __init__(self, start: PortView) -> None:
        # `PipeItem.__init__` would add an arrow and fixed colours; `paint` uses the theme's colours instead.
        QGraphicsPathItem.__init__(self)
        self._start = start
        self.setZValue(_OVER_ALL)
        self.setAcceptedMouseButtons(Qt.MouseButton.NoButton)

    def draw_path(self, start_port: Any = None, end_port: Any = None, cursor_pos: QPointF | None = None) -> None:
        """Draw the curve between the port and the pointer."""
        if cursor_pos is not None:
            ends = self._start.scenePos(), cursor_pos
            self.setPath(connection_path(*(ends[::-1] if self._start.model.is_input else ends)))

    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        """Paint the line in the colour and width for its data."""
        theme, style = colours.current(), PORT_STYLES[self._start.model.kind]
        colour = theme.warning if self._start.model.dangling else style.colour(theme)
        scale = option.levelOfDetailFromTransform(painter.worldTransform())
        stroke(painter, self.path(), colour, style.width, scale, Qt.PenStyle.DashLine)
