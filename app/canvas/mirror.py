"""Keeps the scene equal to the patch, whatever the source of an edit."""

from collections.abc import Callable, Iterable

from PySide6.QtCore import QPointF

from warploom.app.canvas.items.scene import GraphScene
from warploom.app.theme.port_style import PortKind
from warploom.app.view_models.node_view_model import NodeViewModel, node_view_model, region_view_model
from warploom.engine.patch import changes
from warploom.engine.patch.changes import Change
from warploom.engine.patch.document import Patch
from warploom.engine.patch.inner_patch import InnerPatch


class Mirror:
    """Follows one patch until `stop`: the blocks of the group `level`, or those outside all groups.

    It calls `structure_changed` before nodes, ports or connections come or go.
    """

    def __init__(self, patch: Patch, scene: GraphScene, structure_changed: Callable[[], None], level: str = "") -> None:
        self._patch, self._level = patch, level
        self._scene = scene
        self._structure_changed = structure_changed
        self._touched = dict.fromkeys(patch.nodes)  # the nodes that the edit concerns
        self._moved: dict[str, None] = {}  # those that it only moves
        self._edition, self._is_stopped = -1, False
        self._has_other_frames = True
        scene.empty()
        scene.regions.patch, scene.regions.level = patch, level
        self._settle()
        self._unsubscribe = patch.subscribe(self._follow, self._settle)

    def stop(self) -> None:
        """Follow the patch no more, even if other listeners of the same edit call this."""
        self._unsubscribe()
        self._is_stopped = True

    def _follow(self, change: Change) -> None:
        if isinstance(self._patch, InnerPatch):  # an edit may change the types and titles of any node
            self._touch(self._patch.nodes)
        if isinstance(change, changes.AnnotationChanged):
            self._has_other_frames = True
        match change:
            case changes.NodeMoved(node) if node in self._scene.nodes:
                self._moved[node] = None
            case changes.ParameterChanged(node, name) if not self._is_shown(node, name):
                pass
            case changes.BlockTypesChanged(types):
                self._touch(node.id for node in self._patch.nodes.values() if node.type in types)
            case _:
                self._touch(changes.nodes_of(change))

    def _touch(self, nodes: Iterable[str]) -> None:
        self._touched.update(dict.fromkeys(nodes))

    def _is_shown(self, node: str, parameter: str) -> bool:
        """Return whether a node shows the value of a parameter."""
        view = self._scene.nodes.get(node)
        has_slider = view is not None and view.model.slider is not None
        return has_slider or self._patch.decides_interface(node, parameter)

    def _models(self, touched: Iterable[str]) -> dict[str, NodeViewModel]:
        """Return the models of nodes, and of those whose ports look different since their neighbours' ports do."""
        patch, models = self._patch, dict[str, NodeViewModel]()
        waiting = [node for node in touched if self._shows(node)]
        for node in waiting:
            if node not in models:
                models[node] = node_view_model(patch, node)
                shown = self._scene.nodes.get(node)
                if shown is not None and _kinds(shown.model) != _kinds(models[node]):
                    waiting += [end.node for line in patch.connections_of(node) for end in (line.source, line.target)]
        return models

    def _settle(self) -> None:
        """Show the nodes that the edit concerns, and their connections, as they are in the patch."""
        if self._is_stopped:
            return
        patch, scene, touched, moved = self._patch, self._scene, self._touched, self._moved
        self._touched, self._moved = {}, {}
        if patch.groups_edition != self._edition:  # ports of groups follow from blocks elsewhere
            self._edition = patch.groups_edition
            touched.update(dict.fromkeys(n for n in patch.nodes if patch.is_group(n) or patch.is_end(n)))
            # A region takes its blocks along when it comes into a group, or out of the last one.
            touched.update(dict.fromkeys(n for n in patch.nodes if self._shows(n) != (n in scene.nodes)))
        models = self._models(touched)
        used = (line for line in patch.connections if line.source.node in models or line.target.node in models)
        if patch.has_groups:  # a file that a person has edited may connect blocks of different groups
            used = (line for line in used if self._shows(line.source.node) and self._shows(line.target.node))
        wanted = dict.fromkeys(used)  # in the order of the patch
        shown = scene.connections_of(touched)
        gone = [node for node in touched if node in scene.nodes and node not in models]
        ports_stay = all(
            node in scene.nodes and scene.nodes[node].has_ports_of(model) for node, model in models.items()
        )
        if gone or not ports_stay or wanted.keys() != shown:
            self._structure_changed()
        scene.hold_selection()
        for connection in shown - wanted.keys():
            scene.remove_connection(connection)
        for node in gone:
            scene.remove_node(node)
        for node, model in models.items():
            scene.show_node(node, model, patch.nodes[node].position)
            scene.regions.show(node, region_view_model(patch, node))
        scene.move_nodes({node: QPointF(*patch.nodes[node].position) for node in moved if node in scene.nodes})
        for connection in wanted:
            dots = patch.dots(connection.target)
            scene.show_connection(connection, patch.sentinel_of(connection.source), dots)
        if self._has_other_frames:
            self._has_other_frames = False
            scene.frames.show(patch, self._level)
        scene.orders.show_orders(pair for pair in patch.orders if scene.nodes.keys() >= set(pair))
        scene.regions.touch()
        scene.settle()
        scene.release_selection()

    def _shows(self, node: str) -> bool:
        """Return whether a node is in the shown group, or outside all groups if none is shown."""
        return node in self._patch.nodes and self._patch.group_of(node) == self._level


def _kinds(model: NodeViewModel) -> list[PortKind]:
    return [port.kind for port in (*model.inputs, *model.outputs)]
