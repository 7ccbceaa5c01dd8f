"""The canvas scene: nodes, connections and boxes by the patch's ids, and the items under a point."""

from collections.abc import Iterable

from PySide6.QtCore import QObject, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QPainterPath
from PySide6.QtWidgets import QGraphicsScene

from app.canvas.items.nodegraph_adapter import ConnectionView, NodeView, PortView
from app.canvas.items.region_boxes import RegionBoxes
from app.view_models.node_view_model import NodeViewModel
from engine.patch.changes import Connection, Position, Sentinel

#: Far larger than any patch. A fixed size keeps the view from jumping when nodes are added at the rim.
_EXTENT = 200_000.0


class GraphScene(QGraphicsScene):
    """Views of nodes, connections and regions. The mirror changes it; gestures change the patch."""

    #: The selection changed; one signal for any number of changed items.
    selection_settled = Signal()
    #: True when the scene gets its first node, False when it loses its last one.
    filled = Signal(bool)

    def __init__(self, parent: QObject) -> None:
        super().__init__(-_EXTENT / 2, -_EXTENT / 2, _EXTENT, _EXTENT, parent)
        self.nodes: dict[str, NodeView] = {}
        self.connections: dict[Connection, ConnectionView] = {}
        #: The last reported values of value blocks' outputs, by "node.port".
        self.values: dict[str, float] = {}
        self.regions = RegionBoxes(self, self._place_of)
        self._is_held = self._has_changed = False
        self.selectionChanged.connect(self._pass_on_selection)
        self.selection_settled.connect(self.regions.show_selection)

    # Contents

    def show_node(self, node_id: str, model: NodeViewModel, position: Position) -> None:
        """Show a node, or its new model and position."""
        view = self.nodes.get(node_id)
        if view is None:
            view = self.nodes[node_id] = NodeView(node_id, model)
            view.setPos(*position)
            view.moved = self.regions.touch
            view.values = self.values
            self.addItem(view)
            if len(self.nodes) == 1:
                self.filled.emit(True)
        elif model != view.model:
            view.set_model(model)
        view.move_to(QPointF(*position))

    def remove_node(self, node_id: str) -> None:
        """Remove a node, whose connections are already removed."""
        self.regions.remove(node_id)
        self.removeItem(self.nodes.pop(node_id))
        if not self.nodes:
            self.filled.emit(False)

    def connections_of(self, node_ids: Iterable[str]) -> set[Connection]:
        """Return the shown connections of some nodes."""
        views = [self.nodes[node_id] for node_id in node_ids if node_id in self.nodes]
        return {pipe.connection for view in views for port in view.ports.values() for pipe in port.connected_pipes}

    def show_connection(self, connection: Connection, sentinel: Sentinel | None) -> None:
        """Show a connection whose two ports exist, and its check."""
        view = self.connections.get(connection)
        if view is None:
            view = self.connections[connection] = ConnectionView(connection)
            source, target = connection.source, connection.target
            # Both ends are passed at once: the item reads from the ports which one is the source.
            view.set_connections(
                self.nodes[source.node].ports[source.port, False], self.nodes[target.node].ports[target.port, True]
            )
            self.addItem(view)
            view.draw_path(None)
            self._repaint_ends(connection)
        view.show_appearance(sentinel=sentinel)

    def remove_connection(self, connection: Connection) -> None:
        """Remove a connection."""
        self.connections.pop(connection).delete()
        self._repaint_ends(connection)

    def empty(self) -> None:
        """Remove all nodes, connections and boxes."""
        self.regions.clear()
        self.nodes.clear()
        self.connections.clear()
        self.values.clear()
        self.clear()
        self.filled.emit(False)

    def _repaint_ends(self, connection: Connection) -> None:
        for node_id in {connection.source.node, connection.target.node}:
            self.nodes[node_id].update()

    # Selection

    def selected_nodes(self) -> list[str]:
        """Ids of the selected nodes, in the order of the patch."""
        return [node_id for node_id, view in self.nodes.items() if view.isSelected()]

    def selected_connections(self) -> list[Connection]:
        """The selected connections."""
        return [connection for connection, view in self.connections.items() if view.isSelected()]

    def select(self, node_ids: Iterable[str]) -> None:
        """Select these nodes and nothing else."""
        chosen = set(node_ids)
        self.hold_selection()
        for node_id, node in self.nodes.items():
            node.setSelected(node_id in chosen)
        for connection in self.connections.values():
            connection.setSelected(False)
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

    def _pass_on_selection(self) -> None:
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

    def is_free(self, rect: QRectF) -> bool:
        """Return whether a rectangle covers no node."""
        return not any(isinstance(item, NodeView) for item in self.items(rect))

    def live_nodes(self, area: QRectF) -> list[NodeView]:
        """Return the nodes in a part of the scene that show numbers from the running engine."""
        items = self.items(area, Qt.ItemSelectionMode.IntersectsItemBoundingRect)
        return [item for item in items if isinstance(item, NodeView) and item.is_live]

    def port_at(self, point: QPointF, reach: float) -> PortView | None:
        """Return the nearest port within `reach` of a point."""
        area = QRectF(point.x() - reach, point.y() - reach, 2 * reach, 2 * reach)
        ports = [item for item in self.items(area) if isinstance(item, PortView)]
        return min(ports, key=lambda port: (port.scenePos() - point).manhattanLength(), default=None)

    def node_at(self, point: QPointF) -> NodeView | None:
        """Return the topmost node at a point."""
        return next((item for item in self.items(point) if isinstance(item, NodeView)), None)

    def connection_at(self, point: QPointF) -> ConnectionView | None:
        """Return the topmost connection at a point that no node covers."""
        for item in self.items(point):
            if isinstance(item, NodeView):
                return None
            if isinstance(item, ConnectionView) and item.connection is not None:
                return item
        return None

    def connections_across(self, path: QPainterPath) -> list[Connection]:
        """Return the connections whose line a path crosses."""
        return [
            item.connection
            for item in self.items(path)
            if isinstance(item, ConnectionView) and item.connection is not None
        ]
