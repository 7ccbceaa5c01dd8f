"""The canvas scene: nodes, connections and boxes by the patch's ids, and the items under a point."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject, QPointF, QRectF, QSizeF, Qt, Signal
from PySide6.QtGui import QPainterPath
from PySide6.QtWidgets import QGraphicsScene

from warploom.app.canvas.frames.frame_boxes import FrameBoxes
from warploom.app.canvas.items.layer import EXTENT
from warploom.app.canvas.items.order_lines import OrderLines
from warploom.app.canvas.items.region_boxes import RegionBoxes
from warploom.app.canvas.items.router import Router
from warploom.app.canvas.items.views import PORT_REACH, ConnectionLayer, ConnectionView, NodeLayer, NodeView, PortView
from warploom.app.view_models.node_view_model import NodeViewModel
from warploom.engine.patch.changes import Connection, Position, Sentinel

#: With more moved nodes, all connections are led anew.
_MANY = 100


class GraphScene(QGraphicsScene):
    """Views of nodes, connections and regions. The mirror changes it; gestures change the patch."""

    #: The selection changed; one signal for any number of changed items.
    selection_settled = Signal()
    #: True when the scene gets its first node, False when it loses its last one.
    filled = Signal(bool)

    def __init__(self, parent: QObject) -> None:
        super().__init__(EXTENT, parent)
        self.setItemIndexMethod(QGraphicsScene.ItemIndexMethod.NoIndex)  # there are few items of Qt's
        self._node_layer = NodeLayer(0.0, self._note_selection)
        self._connection_layer = ConnectionLayer(-1.0, self._note_selection)
        self._layers = self._connection_layer, self._node_layer
        for layer in self._layers:
            self.addItem(layer)
        self.nodes: dict[str, NodeView] = {}
        self.connections: dict[Connection, ConnectionView] = {}
        #: The most that is shown below a node, and repainted when it moves, comes or goes.
        self.below = QSizeF()
        #: The last reported values of value blocks' outputs, by "node.port".
        self.values: dict[str, float] = {}
        self.regions = RegionBoxes(self, self._place_of, self._is_selected)
        self._router = Router(self, self._node_layer.places, self.regions)
        self._connection_layer.loosen, self._connection_layer.prepare = self._router.loosen, self._router.prepare
        self.regions.moved = self._note_box
        #: The former and present outlines of nodes and boxes that moved.
        self._disturbed: list[tuple[QRectF, QRectF]] = []
        self.frames = FrameBoxes(self, self._note_selection)
        self.orders = OrderLines(self._place_of, -2.0)
        self.addItem(self.orders)
        self._is_held = self._has_changed = False
        self._hovered: PortView | ConnectionView | None = None
        self.selection_settled.connect(self.regions.show_selection)

    # Contents

    def show_node(self, node_id: str, model: NodeViewModel, position: Position) -> None:
        """Show a node, or its new model and position."""
        view = self.nodes.get(node_id)
        if view is None:
            view = self.nodes[node_id] = NodeView(self._node_layer, node_id, model, QPointF(*position))
            self._note_move(QRectF(), view.place)
            view.values = self.values
            if len(self.nodes) == 1:
                self.filled.emit(True)
            return
        if model != view.model:
            before = view.place
            view.set_model(model)
            if view.place != before:
                self._note_move(before, view.place)
        self.move_nodes({node_id: QPointF(*position)})

    def move_nodes(self, places: Mapping[str, QPointF]) -> None:
        """Move nodes; their connections follow."""
        lines: dict[ConnectionView, None] = {}
        for node_id, place in places.items():
            view = self.nodes[node_id]
            before = view.place
            if view.move_to(place):
                self._note_move(before, view.place)
                for port in view.ports.values():
                    for line in port.connections:
                        lines[line] = None
        for line in lines:
            line.follow()

    def settle(self) -> None:
        """Lead connections around the present nodes, after an edit."""
        disturbed, self._disturbed = self._disturbed, []
        if len(disturbed) > _MANY:
            offsets = {(now.x() - before.x(), now.y() - before.y()) for before, now in disturbed}
            if len(disturbed) != len(self.nodes) or len(offsets) > 1:  # not the whole patch was moved
                self._router.loosen(self.connections.values())
        else:
            for pair in disturbed:
                areas = [rect for rect in pair if not rect.isEmpty()]
                self._router.loosen(self._connection_layer.places.within(*areas))

    def _note_move(self, before: QRectF, now: QRectF) -> None:
        self._disturbed.append((before, now))
        if not self.below.isEmpty():
            for rect in (rect for rect in (before, now) if not rect.isEmpty()):
                self.update(QRectF(rect.bottomLeft(), self.below))
        self.regions.touch()
        self.orders.follow()

    def _note_box(self, before: QRectF, now: QRectF) -> None:
        areas = [rect for rect in (before, now) if not rect.isEmpty()]
        self._router.loosen(self._connection_layer.places.within(*areas))

    def remove_node(self, node_id: str) -> None:
        """Remove a node, whose connections are already removed."""
        self.regions.remove(node_id)
        view = self.nodes.pop(node_id)
        view.leave()
        self._note_move(view.place, QRectF())
        if not self.nodes:
            self.filled.emit(False)

    def connections_of(self, node_ids: Iterable[str]) -> set[Connection]:
        """Return the shown connections of some nodes."""
        views = [self.nodes[node_id] for node_id in node_ids if node_id in self.nodes]
        return {line.connection for view in views for port in view.ports.values() for line in port.connections}

    def show_connection(self, connection: Connection, sentinel: Sentinel | None, dots: Iterable[Position] = ()) -> None:
        """Show a connection whose two ports exist, its check and its dots."""
        view = self.connections.get(connection)
        if view is None:
            source = self.nodes[connection.source.node].ports[connection.source.port, False]
            target = self.nodes[connection.target.node].ports[connection.target.port, True]
            view = self.connections[connection] = ConnectionView(self._connection_layer, connection, source, target)
            self._repaint_ends(connection)
        view.show_dots(tuple(QPointF(*dot) for dot in dots))
        view.show_appearance(sentinel=sentinel)

    def remove_connection(self, connection: Connection) -> None:
        """Remove a connection."""
        view = self.connections.pop(connection)
        view.leave()
        self._router.forget(view)
        self._repaint_ends(connection)

    def empty(self) -> None:
        """Remove all nodes, connections and boxes."""
        self.regions.clear()
        self.frames.clear()
        self.orders.show_orders(())
        self._router.clear()
        self._disturbed.clear()
        self._hovered = None
        self.nodes.clear()
        self.connections.clear()
        self.values.clear()
        for item in self.items():
            if item not in self._layers and item is not self.orders:
                self.removeItem(item)
        for layer in self._layers:
            layer.places.clear()
            layer.selected.clear()
        self.update()
        self.filled.emit(False)

    def _repaint_ends(self, connection: Connection) -> None:
        for node_id in {connection.source.node, connection.target.node}:
            self.nodes[node_id].update()

    # Selection

    def selected_nodes(self) -> list[str]:
        """Ids of the selected nodes, in the order of the patch."""
        selected = self._node_layer.selected
        return [node_id for node_id, view in self.nodes.items() if view in selected] if selected else []

    def selected_connections(self) -> list[Connection]:
        """The selected connections."""
        selected = self._connection_layer.selected
        return [connection for connection, view in self.connections.items() if view in selected] if selected else []

    def selection_point(self) -> QPointF | None:
        """Return the middle of the selected nodes, else of a selected connection or the title of a frame."""
        if nodes := self.selected_nodes():
            return self.rect_of(nodes).center()
        if lines := self.selected_connections():
            return self.connections[lines[0]].middle
        chosen = self.frames.selected()
        return self.frames.views[chosen[0]].strip.center() if chosen else None

    def chosen_dot(self) -> tuple[Connection, int] | None:
        """Return the dot that keys move: the selected connection and the dot's number; None without one."""
        chosen = [line for line in self.connections.values() if line.isSelected() and line.dots]
        return (chosen[0].connection, chosen[0].chosen_dot % len(chosen[0].dots)) if len(chosen) == 1 else None

    def choose_dot(self, connection: Connection, number: int) -> None:
        """Let keys move another dot of a connection."""
        self.connections[connection].chosen_dot = number
        self.connections[connection].update()

    def select(self, node_ids: Iterable[str]) -> None:
        """Select these nodes and nothing else."""
        chosen = {self.nodes[node_id] for node_id in node_ids if node_id in self.nodes}
        self.hold_selection()
        for layer in self._layers:
            for view in layer.selected - chosen:
                view.setSelected(False)
        for node in chosen:
            node.setSelected(True)
        self.frames.select(())
        self.release_selection()

    def select_connection(self, connection: Connection) -> None:
        """Select this connection and nothing else."""
        self.select([])
        self.connections[connection].setSelected(True)

    def hold_selection(self) -> None:
        """Don't report the selection until `release_selection`, since several items change it."""
        self._is_held = True

    def release_selection(self) -> None:
        """Report the selection if it changed since `hold_selection`."""
        self._is_held = False
        if self._has_changed:
            self._has_changed = False
            self.selection_settled.emit()

    def _note_selection(self) -> None:
        self._has_changed = True
        if not self._is_held:
            self.release_selection()

    # Places

    def rect_of(self, node_ids: Iterable[str]) -> QRectF:
        """Return the rectangle around some nodes, and around the boxes of those that are region blocks."""
        rect = QRectF()
        for node_id in node_ids:
            view = self.nodes[node_id]
            rect = rect.united(view.place).united(self.regions.rect_of(node_id))
        return rect

    def _place_of(self, node_id: str) -> QRectF | None:
        view = self.nodes.get(node_id)
        return view.place if view is not None else None

    def _is_selected(self, node_id: str) -> bool:
        view = self.nodes.get(node_id)
        return view is not None and view.isSelected()

    def is_free(self, rect: QRectF) -> bool:
        """Return whether a rectangle covers no node."""
        return not any(view.place.intersects(rect) for view in self.nodes_in(rect))

    def nodes_in(self, area: QRectF) -> list[NodeView]:
        """Return the nodes that are painted in a part of the scene."""
        return self._node_layer.places.within(area)

    def spans_within(self, *areas: QRectF) -> NDArray[np.float64]:
        """Return the tops, and the bottoms, of the nodes and connections that are painted in parts of the scene."""
        return np.hstack([layer.places.edges_within(*areas)[[1, 3]] for layer in self._layers])

    def port_at(self, point: QPointF, reach: float) -> PortView | None:
        """Return the nearest port within `reach` of a point."""
        reach += PORT_REACH
        found: list[tuple[float, PortView]] = []
        for view in self.nodes_in(_around(point, reach)):
            for port in view.ports.values():
                away = port.scenePos() - point
                if abs(away.x()) <= reach and abs(away.y()) <= reach:
                    found.append((away.manhattanLength(), port))
        return min(found, key=lambda one: one[0])[1] if found else None

    def node_at(self, point: QPointF) -> NodeView | None:
        """Return the topmost node at a point."""
        views = self.nodes_in(_around(point, 0.0))
        return next((view for view in reversed(views) if view.place.contains(point)), None)

    def connection_at(self, point: QPointF) -> ConnectionView | None:
        """Return the topmost connection at a point that no node covers."""
        if self.node_at(point) is not None:
            return None
        lines: list[ConnectionView] = self._connection_layer.places.within(_around(point, 0.0))
        return next((line for line in reversed(lines) if line.isVisible() and line.shape().contains(point)), None)

    def dot_at(self, point: QPointF, reach: float) -> tuple[Connection, int] | None:
        """Return the dot within `reach` of a point: its connection, and its number along that."""
        lines: list[ConnectionView] = self._connection_layer.places.within(_around(point, reach))
        found = [
            ((dot - point).manhattanLength(), line.connection, number)
            for line in lines
            for number, dot in enumerate(line.dots)
        ]
        nearest = min(found, key=lambda each: each[0], default=None)
        return nearest[1:] if nearest is not None and nearest[0] <= reach else None

    def connections_across(self, path: QPainterPath) -> list[Connection]:
        """Return the connections whose line a path crosses."""
        lines: list[ConnectionView] = self._connection_layer.places.within(path.controlPointRect())
        return [line.connection for line in lines if path.intersects(line.shape())]

    @contextmanager
    def painting_only(self, parts: Sequence[QRectF]) -> Iterator[None]:
        """Paint only what lies in some parts of the scene; none means wherever Qt asks for."""
        for layer in self._layers:
            layer.exposed = parts
        try:
            yield
        finally:
            for layer in self._layers:
                layer.exposed = ()

    def hover(self, point: QPointF | None) -> None:
        """Mark the port or connection under the pointer; None when the pointer has left."""
        found = None if point is None else self.port_at(point, 0.0) or self.connection_at(point)
        if found is self._hovered:
            return
        for view, is_hovered in ((self._hovered, False), (found, True)):
            if isinstance(view, PortView):
                view.owner.show_appearance(hovered=view.key if is_hovered else None)
            elif view is not None:
                view.show_appearance(hovered=is_hovered)
        self._hovered = found
        for graph_view in self.views():
            if isinstance(found, PortView):
                graph_view.viewport().setCursor(Qt.CursorShape.CrossCursor)
            else:
                graph_view.viewport().unsetCursor()


def _around(point: QPointF, reach: float) -> QRectF:
    return QRectF(point.x() - reach, point.y() - reach, 2 * reach, 2 * reach)
