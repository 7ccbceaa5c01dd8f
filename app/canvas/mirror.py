"""Keeps the scene equal to the patch: shows every change once, whatever its source."""

from collections import defaultdict
from collections.abc import Callable, Set

from PySide6.QtCore import QPointF

from app.canvas.items.scene import GraphScene
from app.view_models.node_view_model import node_view_model, region_view_model
from engine.patch import changes
from engine.patch.changes import Change, Connection, Node, PortRef
from engine.patch.document import Patch
from engine.patch.inner_patch import InnerPatch


class Mirror:
    """Follows one patch until `stop`. It calls `structure_changed` before nodes or connections are added or removed."""

    def __init__(self, patch: Patch, scene: GraphScene, structure_changed: Callable[[], None]) -> None:
        self._patch = patch
        self._scene = scene
        self._structure_changed = structure_changed
        #: In an inner patch: the nodes that the last edit concerns; below, the types before it.
        self._touched: set[str] = set()
        self._types = patch.types if isinstance(patch, InnerPatch) else {}
        self._show_all()
        self.stop = patch.subscribe(self._follow, self._settle)

    def refresh(self, node_id: str) -> None:
        """Show the present state of a node."""
        self._scene.nodes[node_id].set_model(node_view_model(self._patch, node_id))
        self._show_region(node_id)

    def _settle(self) -> None:
        """Update other nodes after an edit. In an inner patch, it may have changed the types and titles of any node."""
        if isinstance(self._patch, InnerPatch):
            for node_id in self._retyped(self._patch):
                model, view = node_view_model(self._patch, node_id), self._scene.nodes[node_id]
                if model != view.model:
                    view.set_model(model)
                    view.redraw_connections()
        self._scene.settle_selection()

    def _retyped(self, patch: InnerPatch) -> Set[str]:
        """Return the nodes that the edit concerns, those whose types it changed, and those that read either."""
        types, before = patch.types, self._types
        found = {node for node in patch.nodes if types.get(node) != before.get(node)} | self._touched
        found |= {connection.target.node for connection in patch.connections if connection.source.node in found}
        self._touched, self._types = set(), types
        return found & self._scene.nodes.keys()

    def _show_all(self) -> None:
        used: dict[str, list[Connection]] = defaultdict(list)
        for connection in self._patch.connections:
            used[connection.source.node].append(connection)
            used[connection.target.node].append(connection)
        self._scene.empty()
        self._scene.regions.patch = self._patch
        for node in self._patch.nodes.values():
            self._add(node, used[node.id])
        for connection in self._patch.connections:
            self._show_connection(connection)

    def _follow(self, change: Change) -> None:
        self._touched.update(changes.nodes_of(change) if isinstance(self._patch, InnerPatch) else ())
        if isinstance(change, changes.NodeAdded | changes.NodeRemoved | changes.Connected | changes.Disconnected):
            self._structure_changed()
        match change:
            case changes.NodeAdded(node):
                self._add(node)
            case changes.NodeRemoved(node):
                self._scene.remove_node(node.id, node.region)
            case changes.Connected(connection):
                self._show_ends(connection)
                self._show_connection(connection)
            case changes.Disconnected(connection):
                self._scene.remove_connection(connection)
                self._hide_ends(connection)
            case changes.NodeMoved(node_id, position):
                self._scene.nodes[node_id].move_to(QPointF(*position))
            case changes.NodeRenamed(node_id):
                self.refresh(node_id)
            case changes.ParameterChanged(node_id, name) if self._patch.decides_interface(node_id, name):
                self._follow_types([node_id])
            case changes.ParameterChanged(node_id) if self._scene.nodes[node_id].model.slider is not None:
                self.refresh(node_id)
            case changes.SentinelChanged(port, sentinel):
                for connection in self._patch.connections_of(port.node):
                    if connection.source == port:
                        self._scene.connections[connection].show_sentinel(sentinel)
            case changes.NodeRegionChanged(node_id, _, previous):
                self._scene.regions.move(node_id, previous)
            case changes.BlockTypesChanged(types):
                self._follow_types([node.id for node in self._patch.nodes.values() if node.type in types])

    def _follow_types(self, nodes: list[str]) -> None:
        """Show nodes with their present types; connections at removed ports dangle."""
        if any(node_view_model(self._patch, node_id) != self._scene.nodes[node_id].model for node_id in nodes):
            self._structure_changed()
        for node_id in nodes:
            self.refresh(node_id)

    def _add(self, node: Node, connections: list[Connection] | None = None) -> None:
        self._scene.add_node(node.id, node_view_model(self._patch, node.id, connections), node.position)
        self._show_region(node.id)
        if node.region:
            self._scene.regions.touch(node.id)

    def _show_connection(self, connection: Connection) -> None:
        self._scene.add_connection(connection)
        self._scene.connections[connection].show_sentinel(self._patch.sentinels.get(connection.source))

    def _show_region(self, node_id: str) -> None:
        model = region_view_model(self._patch, node_id)
        if model is not None:
            self._scene.regions.show(node_id, model)

    def _show_ends(self, connection: Connection) -> None:
        """Add the ports that exist because of a connection: driven parameters, and dangling ports."""
        for ref, is_input in _ends(connection):
            if (ref.port, is_input) not in self._scene.nodes[ref.node].ports:
                self.refresh(ref.node)

    def _hide_ends(self, connection: Connection) -> None:
        for ref, is_input in _ends(connection):
            model = self._scene.nodes[ref.node].ports[ref.port, is_input].model
            if model.dangling or model.is_parameter:
                self.refresh(ref.node)


def _ends(connection: Connection) -> tuple[tuple[PortRef, bool], tuple[PortRef, bool]]:
    return (connection.source, False), (connection.target, True)
