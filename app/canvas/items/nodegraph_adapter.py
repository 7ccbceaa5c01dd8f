"""Turns NodeGraphQt's node, port and connection items into views of the patch.

This is the only file that imports NodeGraphQt. Its `NodeGraph` and `NodeViewer` are not used, since they are a second
document with undo, menus, search and shortcuts. Its items keep track of connections and of what must be redrawn when
something moves; layout and painting are Warploom's own. Ids are the patch's ids.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

from packaging.version import Version
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPainterPath, QPainterPathStroker, QPen
from PySide6.QtWidgets import QGraphicsItem, QGraphicsPathItem, QStyleOptionGraphicsItem, QWidget

from app.canvas.drawing.node_layout import layout
from app.canvas.drawing.node_painter import ABOVE, BELOW, NEAR, NodeAppearance, NodePainter
from app.canvas.drawing.sentinel_mark import AWAY, mark_area, paint_mark
from app.canvas.drawing.shapes import connection_path, on_screen, qcolor
from app.canvas.drawing.size_label import has_room, label_area, paint_label
from app.theme import colours
from app.theme.port_style import PORT_STYLES
from app.view_models.node_view_model import NodeViewModel, PortViewModel
from engine.patch.changes import Connection, PortRef, Sentinel


@contextmanager
def _nodegraph_environment() -> Iterator[None]:
    """Make Qt.py choose PySide6, and allow importing `distutils.version` while NodeGraphQt is imported.

    NodeGraphQt 0.6.44 imports `LooseVersion` from distutils, which Python 3.11 warns about and 3.12 no longer has. It
    compares Qt versions with it when it builds menus, which the canvas does not use.
    """
    os.environ["QT_PREFERRED_BINDING"] = "PySide6"
    package, module = ModuleType("distutils"), ModuleType("distutils.version")
    vars(module)["LooseVersion"] = Version
    names = {"distutils": package, "distutils.version": module}
    before = {name: sys.modules.get(name) for name in names}
    sys.modules.update(names)
    try:
        yield
    finally:
        for name, original in before.items():
            if original is None:
                del sys.modules[name]
            else:
                sys.modules[name] = original


with _nodegraph_environment():
    from NodeGraphQt.constants import PortTypeEnum
    from NodeGraphQt.qgraphics.node_abstract import AbstractNodeItem
    from NodeGraphQt.qgraphics.pipe import PipeItem
    from NodeGraphQt.qgraphics.port import PortItem

_PORT_AREA = QRectF(-9, -9, 18, 18)
#: As wide as the area in which the pointer hits a connection; another pen paints the connection.
_REACH_PEN = QPen(Qt.PenStyle.SolidLine)
_REACH_PEN.setWidthF(12.0)
_OVER_ALL = 1000.0
_PATH_WIDTH = 3.0


class PortView(PortItem):  # type: ignore[misc]  # NodeGraphQt ships no types
    """A port, where connections start and end. Its node paints it together with the other ports."""

    def __init__(self, node: NodeView, model: PortViewModel) -> None:
        QGraphicsItem.__init__(self, node)  # `PortItem` would prepare for painting, which the node does
        self.setFlag(QGraphicsItem.GraphicsItemFlag.ItemHasNoContents)
        self.setAcceptHoverEvents(True)
        self._pipes: list[ConnectionView] = []
        self._port_type = (PortTypeEnum.IN if model.is_input else PortTypeEnum.OUT).value
        self.model = model
        self.owner = node

    @property
    def ref(self) -> PortRef:
        """The port in the patch."""
        return PortRef(self.owner.id, self.model.name)

    @property
    def key(self) -> tuple[str, bool]:
        """The name and side, which are unique in the node."""
        return self.model.name, self.model.is_input

    def boundingRect(self) -> QRectF:
        """Return the area that the pointer hits."""
        return _PORT_AREA

    def hoverEnterEvent(self, event: Any) -> None:
        """Mark the port."""
        self.owner.show_appearance(hovered=self.key)

    def hoverLeaveEvent(self, event: Any) -> None:
        """Remove the mark."""
        self.owner.show_appearance(hovered=None)


@dataclass(frozen=True)
class ConnectionAppearance:
    """A connection's momentary appearance."""

    #: The size of its data as text; "" when nothing is stored.
    size: str = ""
    on_path: bool = False
    #: Its sentinel, if any; below, whether that has found a wrong element.
    sentinel: Sentinel | None = None
    has_found: bool = False
    hovered: bool = False


class ConnectionView(PipeItem):  # type: ignore[misc]  # NodeGraphQt ships no types
    """A connection. While it is dragged, it has one port, and its other end follows the pointer."""

    def __init__(self, connection: Connection | None = None) -> None:
        # `PipeItem.__init__` would add an arrow and fixed colours; `paint` uses the theme's colours instead.
        QGraphicsPathItem.__init__(self)
        self._input_port: PortView | None = None
        self._output_port: PortView | None = None
        self._shape: QPainterPath | None = None
        self._ends, self._middle = (QPointF(), QPointF()), QPointF()
        self._area, self._mark = QRectF(), QPointF()
        self.appearance = ConnectionAppearance()
        self.connection = connection
        self.setPen(_REACH_PEN)
        self.setFlag(QGraphicsItem.GraphicsItemFlag.ItemIsSelectable)
        # A loose line lies over all nodes, but the nodes must still get the pointer's events.
        self.setAcceptHoverEvents(connection is not None)
        self.setZValue(_OVER_ALL if connection is None else -1.0)

    @property
    def is_dangling(self) -> bool:
        """True when an end is a port that its block type does not have."""
        return any(port is not None and port.model.dangling for port in (self.input_port, self.output_port))

    def draw_path(self, start_port: Any, end_port: Any = None, cursor_pos: QPointF | None = None) -> None:
        """Draw the curve between the two ports, or between one port and the pointer."""
        source = self.output_port.scenePos() if self.output_port else cursor_pos
        target = self.input_port.scenePos() if self.input_port else cursor_pos
        if source is not None and target is not None:
            self._ends, self._middle = (source, target), (source + target) / 2
            self.setPath(connection_path(source, target))
            self._shape = None
            self._cover()

    def show_appearance(self, **changes: Any) -> None:
        """Change fields of the appearance, and repaint if anything changed."""
        appearance = replace(self.appearance, **changes)
        if appearance != self.appearance:
            self.prepareGeometryChange()
            self.appearance = appearance
            self._cover()
            self.update()

    def _cover(self) -> None:
        self._area = super().boundingRect()
        if self.appearance.sentinel is not None:
            source, target = self._ends
            away = target - source
            # Beside the output rather than on the line, so that the connections of one output share the mark.
            self._mark = source + QPointF(min(AWAY, max(abs(away.x()), abs(away.y())) / 2), 0.0)
            self._area |= mark_area(self._mark)
        if self.appearance.size:
            self._area |= label_area(self.appearance.size, self._middle)

    def boundingRect(self) -> QRectF:
        """Return the area of the line, and of its label at its largest size."""
        return self._area

    def shape(self) -> QPainterPath:
        """Return the line with a margin; Qt paints an item only within its shape."""
        if self._shape is None:
            stroker = QPainterPathStroker()
            stroker.setWidth(_REACH_PEN.widthF())
            self._shape = stroker.createStroke(self.path())
        return self._shape

    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        """Paint the line in the colour and width for its data."""
        theme, shown = colours.current(), self.appearance
        port = self.output_port or self.input_port
        style = PORT_STYLES[port.model.kind]
        colour, width = style.colour(theme), style.width
        if self.is_dangling:
            colour = theme.warning
        if shown.on_path:
            colour, width = theme.text, max(width, _PATH_WIDTH)
        if self.isSelected():
            colour = theme.accent
        scale = option.levelOfDetailFromTransform(painter.worldTransform())
        emphasised = self.isSelected() or shown.hovered
        width += 1.0 if emphasised else 0.0
        if shown.on_path:
            width /= min(scale, 1.0)  # visible at any zoom
        pen = QPen(qcolor(colour), width)
        if width * scale <= 1.0:
            pen.setWidthF(1.0)
            pen = on_screen(pen, painter)  # a line of one pixel, which Qt draws in a tenth of the time
        if self.is_dangling or self.connection is None:
            pen.setStyle(Qt.PenStyle.DashLine)
        pen.setCapStyle(Qt.PenCapStyle.RoundCap)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, scale >= NEAR / 4)
        painter.setOpacity(1.0 if emphasised or shown.on_path or self.connection is None else 0.85)
        # Not `drawPath`: it releases Python's lock, and each of a thousand connections would wait for a busy engine.
        painter.strokePath(self.path(), pen)
        painter.setOpacity(1.0)
        if shown.size and scale >= NEAR and (self.isSelected() or has_room(shown.size, *self._ends, scale)):
            paint_label(painter, shown.size, self._middle, theme.text, theme, scale)
        if shown.sentinel is not None:
            freezes, has_found = shown.sentinel.freezes, shown.has_found
            paint_mark(painter, self._mark, theme, scale, freezes=freezes, has_found=has_found)

    def hoverEnterEvent(self, event: Any) -> None:
        """Mark the connection."""
        self.show_appearance(hovered=True)

    def hoverLeaveEvent(self, event: Any) -> None:
        """Remove the mark."""
        self.show_appearance(hovered=False)


for _view in (PortView, ConnectionView):
    # NodeGraphQt's overrides are not needed here, and Qt would call them a dozen times for each item.
    _view.itemChange = QGraphicsItem.itemChange


class NodeView(AbstractNodeItem):  # type: ignore[misc]  # NodeGraphQt ships no types
    """A node: one class for all block types, driven by a `NodeViewModel`."""

    def __init__(self, node_id: str, model: NodeViewModel) -> None:
        super().__init__(model.title)
        self.setCacheMode(QGraphicsItem.CacheMode.NoCache)
        self.id = node_id
        self.ports: dict[tuple[str, bool], PortView] = {}
        self.appearance = NodeAppearance()
        #: The last reported values of value blocks' outputs, by "node.port". All nodes share the scene's dict.
        self.values: Mapping[str, float] = {}
        #: True when the node shows numbers from the engine.
        self.is_live = False
        self._shown_values: dict[tuple[str, bool], str] = {}
        #: Called when its position or size has changed.
        self.moved: Callable[[], None] = lambda: None
        self.set_model(model)

    @property
    def place(self) -> QRectF:
        """The node's outline on the canvas."""
        return self.layout.body.translated(self.pos())

    def move_to(self, position: QPointF) -> None:
        """Move the node; its connections follow."""
        if position != self.pos():
            self.setPos(position)
            for port in self.ports.values():
                port.redraw_connected_pipes()
            self.moved()

    def has_ports_of(self, model: NodeViewModel) -> bool:
        """Return whether the node has the ports of a model."""
        return self.ports.keys() == {(port.name, port.is_input) for port in (*model.inputs, *model.outputs)}

    def set_model(self, model: NodeViewModel) -> None:
        """Show another model; ports that both models have keep their connections."""
        self.prepareGeometryChange()
        self.model, self.layout = model, layout(model)
        # Including its ports, the ring that marks a selection when zoomed out, the time above and the slack below.
        self._area = self.layout.body.adjusted(-14, -ABOVE, 14, BELOW)
        wanted = {(port.name, port.is_input): port for port in (*model.inputs, *model.outputs)}
        for key in [key for key in self.ports if key not in wanted]:
            port = self.ports.pop(key)
            port.setParentItem(None)
            if port.scene():
                port.scene().removeItem(port)
        centres = (*self.layout.inputs, *self.layout.outputs)
        for (key, port_model), centre in zip(wanted.items(), centres, strict=True):
            view = self.ports.get(key)
            if view is None:
                view = self.ports[key] = PortView(self, port_model)
            view.model = port_model
            if view.pos() != centre:
                view.setPos(centre)
                view.redraw_connected_pipes()
            for pipe in view.connected_pipes:
                pipe.update()  # in the colour for its present data
        self.is_live = any(port.live is not None for port in wanted.values())
        self.update()
        self.moved()

    def refresh_values(self) -> None:
        """Repaint the node if one of its numbers changed."""
        texts = self._value_texts()
        if texts != self._shown_values:
            self._shown_values = texts
            self.update()

    def _value_texts(self) -> dict[tuple[str, bool], str]:
        found = ((key, port.model.live) for key, port in self.ports.items())
        return {key: live.text(self.values) for key, live in found if live is not None}

    def show_appearance(self, **changes: Any) -> None:
        """Change fields of the appearance, and repaint if anything changed."""
        appearance = replace(self.appearance, **changes)
        if appearance != self.appearance:
            self.appearance = appearance
            self.update()

    def show_measured(self, badge: str, degree: int | None, *, seen: bool) -> None:
        """Change the node's time and heat.

        When zoomed out too far, the time is not `seen`; it is painted at the next zoom.
        """
        is_other = degree != self.appearance.degree
        self.appearance = replace(self.appearance, badge=badge, degree=degree)
        if seen or is_other:
            self.update()

    def boundingRect(self) -> QRectF:
        """Return the area of the node with everything that is painted around it."""
        return self._area

    def shape(self) -> QPainterPath:
        """Return the area that the pointer hits."""
        path = QPainterPath()
        path.addRect(self.layout.body)
        return path

    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        """Paint the node and its ports."""
        scale = option.levelOfDetailFromTransform(painter.worldTransform())
        connected = frozenset(key for key, port in self.ports.items() if port.connected_pipes)
        values = self._value_texts() if scale >= NEAR else {}
        appearance = replace(self.appearance, selected=self.isSelected(), connected=connected, values=values)
        NodePainter(painter, self.model, self.layout, appearance, colours.current(), scale).paint()
