"""Nodes with their ports, and connections, as the scene shows them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace
from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QPainter, QPainterPath, QPainterPathStroker

from warploom.app.canvas.drawing.connection_painter import REACH, ConnectionAppearance, paint_connections
from warploom.app.canvas.drawing.node_layout import layout
from warploom.app.canvas.drawing.node_painter import ABOVE, BELOW, NEAR, SIDE, NodeAppearance, NodeLook, paint_node
from warploom.app.canvas.drawing.overview_painter import paint_overview
from warploom.app.canvas.drawing.routes import Way, way_path
from warploom.app.canvas.drawing.sentinel_mark import AWAY, mark_area
from warploom.app.canvas.drawing.shapes import connection_path, curve_area, dotted_path
from warploom.app.canvas.drawing.size_label import label_area
from warploom.app.canvas.items.layer import Layer, View
from warploom.app.theme import colours
from warploom.app.theme.port_style import PortKind
from warploom.app.view_models.node_view_model import NodeViewModel, PortViewModel
from warploom.engine.patch.changes import Connection, PortRef
from warploom.engine.protocol.messages import BufferReport, NodeReport

#: Shares of a line with dots at which its size may stand.
_NEAR_MIDDLE = (0.5, 0.35, 0.65, 0.2, 0.8)
#: The distance from a port's centre at which the pointer still hits it.
PORT_REACH = 9.0


#: The fields of a connection's appearance that decide which area it covers.
_LYING = {"sentinel", "size"}


class PortView:
    """A port, where connections start and end. Its node paints it."""

    __slots__ = ("centre", "connections", "model", "owner")

    def __init__(self, owner: NodeView, model: PortViewModel) -> None:
        self.owner = owner
        self.model = model
        #: Its place on the node.
        self.centre = QPointF()
        self.connections: list[ConnectionView] = []

    @property
    def ref(self) -> PortRef:
        """The port in the patch."""
        return PortRef(self.owner.id, self.model.name)

    @property
    def key(self) -> tuple[str, bool]:
        """The name and side, which are unique in the node."""
        return self.model.name, self.model.is_input

    def scenePos(self) -> QPointF:
        """Return its place in the scene."""
        return self.owner.pos() + self.centre


class NodeView(View):
    """A node: one class for all block types, driven by a `NodeViewModel`."""

    def __init__(self, layer: Layer, node_id: str, model: NodeViewModel, position: QPointF) -> None:
        super().__init__(layer)
        self.id = node_id
        self.ports: dict[tuple[str, bool], PortView] = {}
        self.appearance = NodeAppearance()
        #: The report that its time was taken from.
        self.measured: NodeReport | None = None
        #: The last reported values of value blocks' outputs, by "node.port". All nodes share the scene's dict.
        self.values: Mapping[str, float] = {}
        #: True when the node shows numbers from the engine.
        self.is_live = False
        #: Its outline in the scene.
        self.place = QRectF()
        self._position = position
        self._shown_values: dict[tuple[str, bool], str] = {}
        self.set_model(model)

    # Places

    def pos(self) -> QPointF:
        """Return its position in the scene."""
        return self._position

    def scenePos(self) -> QPointF:
        """Return its position in the scene."""
        return self._position

    def x(self) -> float:
        """Return the left edge in the scene."""
        return self._position.x()

    def y(self) -> float:
        """Return the top edge in the scene."""
        return self._position.y()

    def mapFromScene(self, point: QPointF) -> QPointF:
        """Return a point of the scene as a point of the node."""
        return point - self._position

    def mapToScene(self, point: QPointF) -> QPointF:
        """Return a point of the node as a point of the scene."""
        return point + self._position

    def move_to(self, position: QPointF) -> bool:
        """Move the node without its connections. Return whether it was elsewhere."""
        if position == self._position:
            return False
        self._position = position
        self._lie()
        return True

    def leave(self) -> None:
        """Leave the scene, without its connections; memory is freed at once, not by the garbage collection."""
        super().leave()
        self.ports.clear()

    def _lie(self) -> None:
        self.place = self.layout.body.translated(self._position)
        # With the time above and the slack below.
        self.cover(self.place.adjusted(-SIDE, -ABOVE, SIDE, BELOW))

    # Contents

    def has_ports_of(self, model: NodeViewModel) -> bool:
        """Return whether the node has the ports of a model."""
        return self.ports.keys() == {(port.name, port.is_input) for port in (*model.inputs, *model.outputs)}

    def free_end(self) -> PortRef | None:
        """Return the port that a new block would be connected to: an output, or else an input that nothing feeds."""
        ports = sorted(self.ports.values(), key=lambda port: port.model.is_input)
        free = (port for port in ports if not (port.model.is_input and port.connections))
        return next((port.ref for port in free), None)

    def set_model(self, model: NodeViewModel) -> None:
        """Show another model; ports that both models have keep their connections."""
        self.model, self.layout = model, layout(model)
        self._lie()
        before, self.ports = self.ports, {}
        centres = (*self.layout.inputs, *self.layout.outputs)
        for port_model, centre in zip((*model.inputs, *model.outputs), centres, strict=True):
            key = port_model.name, port_model.is_input
            port = self.ports[key] = before.get(key) or PortView(self, port_model)
            port.model, port.centre = port_model, centre
            for connection in port.connections:
                connection.follow()
        self.is_live = any(port.model.live is not None for port in self.ports.values())

    def refresh_values(self) -> None:
        """Repaint the node if one of its numbers changed."""
        texts = self._value_texts()
        if texts != self._shown_values:
            self._shown_values = texts
            self.update()

    def _value_texts(self) -> dict[tuple[str, bool], str]:
        if not self.is_live:
            return {}
        found = ((key, port.model.live) for key, port in self.ports.items())
        return {key: live.text(self.values) for key, live in found if live is not None}

    # Appearance

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

    def paint(self, painter: QPainter, scale: float) -> None:
        """Paint the node and its ports in detail."""
        connected = frozenset(key for key, port in self.ports.items() if port.connections)
        look = NodeLook(self.model, self.appearance, connected)
        painter.translate(self._position)
        paint_node(painter, look, self._value_texts(), colours.current(), scale, selected=self.isSelected())
        painter.translate(-self._position)


class ConnectionView(View):
    """A connection between two ports."""

    def __init__(self, layer: ConnectionLayer, connection: Connection, source: PortView, target: PortView) -> None:
        super().__init__(layer)
        self._lines = layer
        self.connection = connection
        self.output_port, self.input_port = source, target
        self.appearance = ConnectionAppearance()
        #: Its output as "node.port"; below, the buffer and the count that its size was taken from.
        self.source = str(connection.source)
        self.measured: tuple[BufferReport | None, int | None] = (None, None)
        #: The way around blocks, or the points that it passes through; without these it is a curve.
        self._way: Way | None = None
        self.dots: tuple[QPointF, ...] = ()
        #: The number of the dot that keys move while the connection is selected.
        self.chosen_dot = 0
        #: The line, and the area that the pointer hits; made when they are needed.
        self._path: QPainterPath | None = None
        self._shape: QPainterPath | None = None
        #: The places of its two ports, and of the sentinel's mark.
        self.ends, self.mark = (source.scenePos(), target.scenePos()), QPointF()
        for port in (source, target):
            port.connections.append(self)
        layer.loosen([self])
        self._redraw()

    @property
    def kind(self) -> PortKind:
        """The kind of its data."""
        return self.output_port.model.kind

    @property
    def is_dangling(self) -> bool:
        """True when an end is a port that its block type does not have."""
        return self.output_port.model.dangling or self.input_port.model.dangling

    def follow(self) -> None:
        """Draw the line between the present places of the ports."""
        (source, target), ends = self.ends, (self.output_port.scenePos(), self.input_port.scenePos())
        self.ends, offset = ends, ends[0] - source
        if ends[1] - target != offset:
            self._way = None
            if not self.dots:
                self._lines.loosen([self])
            self._redraw()
        elif offset.isNull():
            self.update()  # in the colour for its present data
        elif self.dots:
            self._redraw()
        else:
            self._shift(offset)

    def _shift(self, offset: QPointF) -> None:
        """Move the line as it is."""
        if self._way is not None:
            self._way = tuple((x + offset.x(), y + offset.y()) for x, y in self._way)
        if self._path is not None:
            self._path.translate(offset)
        self._shape = None
        self.mark += offset
        self.cover(self.area.translated(offset))

    def take_way(self, way: Way | None) -> None:
        """Draw the line along a way; None is a curve. A line with dots stays."""
        if way != self._way and not self.dots:
            self._way = way
            self._redraw()

    def show_dots(self, dots: tuple[QPointF, ...]) -> None:
        """Draw the line through these points."""
        if dots != self.dots:
            self.dots, self._way = dots, None
            if not dots:
                self._lines.loosen([self])
            self._redraw()

    def _redraw(self) -> None:
        self._path = self._shape = None
        self._lie()

    def leave(self) -> None:
        """Leave the scene and both ports."""
        for port in (self.output_port, self.input_port):
            port.connections.remove(self)
        super().leave()

    def show_appearance(self, **changes: Any) -> None:
        """Change fields of the appearance, and repaint if anything changed."""
        if changed := _take(self.appearance, changes):
            if changed & _LYING:
                self._lie()
            else:
                self.update()

    def _lie(self) -> None:
        source, target = self.ends
        if self._way is None and not self.dots:
            area = curve_area(source, target, REACH)
        else:
            area = self.path().controlPointRect().adjusted(-REACH, -REACH, REACH, REACH)
        if self.appearance.sentinel is not None:
            away = target - source
            # Beside the output rather than on the line, so that the connections of one output share the mark.
            self.mark = source + QPointF(min(AWAY, max(abs(away.x()), abs(away.y())) / 2), 0.0)
            area |= mark_area(self.mark)
        if self.appearance.size:
            area |= label_area(self.appearance.size, self.middle)
        self.cover(area)

    @property
    def middle(self) -> QPointF:
        """The middle of the line, or a place near it that no dot is at."""
        if self._way is None and not self.dots:
            return QPointF((self.ends[0] + self.ends[1]) / 2)
        if not self.dots:
            return self.path().pointAtPercent(0.5)
        places = [self.path().pointAtPercent(share) for share in _NEAR_MIDDLE]
        return max(places, key=lambda place: min((place - dot).manhattanLength() for dot in (*self.dots, *self.ends)))

    def path(self) -> QPainterPath:
        """Return the line."""
        if self._path is None:
            source, target = self.ends
            if self._way is not None:
                self._path = way_path(self._way)
            else:
                self._path = dotted_path(source, self.dots, target) if self.dots else connection_path(source, target)
        return self._path

    def shape(self) -> QPainterPath:
        """Return the area that the pointer hits."""
        if self._shape is None:
            stroker = QPainterPathStroker()
            stroker.setWidth(2 * REACH)
            self._shape = stroker.createStroke(self.path())
        return self._shape


class NodeLayer(Layer):
    """The layer of nodes."""

    def paint_views(self, painter: QPainter, views: list[NodeView], scale: float) -> None:
        """Paint nodes in detail, or only what can be recognised when zoomed out."""
        if scale < NEAR:
            paint_overview(painter, views, colours.current(), scale)
            return
        for view in views:
            view.paint(painter, scale)


class ConnectionLayer(Layer):
    """The layer of connections. `loosen` gets those that need another way, and `prepare` finds it before painting."""

    loosen: Callable[[Sequence[ConnectionView]], object] = staticmethod(lambda lines: None)

    def paint_views(self, painter: QPainter, views: list[ConnectionView], scale: float) -> None:
        """Paint lines, sizes and marks."""
        paint_connections(painter, views, colours.current(), scale)


def _take(appearance: object, changes: Mapping[str, Any]) -> set[str]:
    """Set fields of an appearance, and return those that had other values."""
    changed = {name for name, value in changes.items() if getattr(appearance, name) != value}
    for name in changed:
        setattr(appearance, name, changes[name])
    return changed
