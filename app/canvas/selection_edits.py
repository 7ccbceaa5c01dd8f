"""The edit commands, applied to the selection of the canvas."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from PySide6.QtCore import QObject, QPointF, QRectF, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from warploom.app.canvas.drawing.node_layout import node_size
from warploom.app.canvas.drawing.region_layout import MARGIN
from warploom.app.canvas.frames.frame_gestures import nodes_in
from warploom.app.canvas.items.scene import GraphScene
from warploom.app.canvas.sentinel_form import SentinelForm
from warploom.app.edits import groups, orders, regions
from warploom.app.edits import nodes as node_edits
from warploom.app.edits.nodes import STEP, snapped
from warploom.app.edits.organise import frames
from warploom.engine.blocktypes.block import Block
from warploom.engine.diagnostics import PatchError
from warploom.engine.figures import plural
from warploom.engine.patch.changes import Connection, Position
from warploom.engine.patch.document import Patch
from warploom.engine.patch.groups.functions import instances


class SelectionEdits(QObject):
    """Edits of the selection in `scene`, each one undo step of the patch; `pointer` is the place to paste at."""

    refused = Signal(str)  # why an edit is refused

    def __init__(self, scene: GraphScene, pointer: Callable[[], QPointF], parent: QWidget) -> None:
        super().__init__(parent)
        self._scene, self._widget = scene, parent
        self._pointer = pointer
        self.patch = Patch()
        #: The height of what is shown below a node.
        self.room_below: Callable[[str], float] = lambda _: 0.0

    def delete(self) -> None:
        """Remove the selected nodes, connections and frames."""
        nodes, connections = self._scene.selected_nodes(), self._scene.selected_connections()
        chosen = self._scene.frames.selected()
        if nodes or connections or chosen:
            node_edits.delete(self.patch, nodes, connections, chosen)

    def disconnect_all(self) -> None:
        """Remove the selected connections, and all connections of the selected nodes."""
        nodes, chosen = set(self._scene.selected_nodes()), set(self._scene.selected_connections())
        found = [c for c in self.patch.connections if c in chosen or {c.source.node, c.target.node} & nodes]
        if found:
            node_edits.cut(self.patch, found, "Disconnect")

    @property
    def checkable(self) -> Connection | None:
        """The selected connection, if its elements can be checked; None if several are selected."""
        connections = self._scene.selected_connections()
        if len(connections) != 1:
            return None
        try:
            self.patch.check_sentinel(connections[0])
        except PatchError:
            return None
        return connections[0]

    def check_values(self) -> None:
        """Ask what to check in the elements of the selected connection."""
        if (connection := self.checkable) is not None:
            SentinelForm(self.patch, self.patch.check_sentinel(connection), self._widget).open()

    def remove_check(self) -> None:
        """Stop checking the elements of the selected connection."""
        connection = self.checkable
        if connection is not None and self.patch.sentinel_of(connection.source) is not None:
            self.patch.remove_sentinel(connection)

    def copy(self) -> None:
        """Put the selected nodes on the clipboard, as text."""
        nodes, chosen = self._chosen()
        if nodes:
            QGuiApplication.clipboard().setText(node_edits.copied(self.patch, nodes, chosen))
        else:
            self.refused.emit("Nothing copied: no blocks are in this frame")

    def _chosen(self) -> tuple[list[str], list[str]]:
        """Return the selected nodes, and the selected frames with the nodes in them."""
        chosen = self._scene.frames.selected()
        inside = [node for name in chosen for node in nodes_in(self._scene, self._scene.frames.views[name].rect)]
        return list(dict.fromkeys([*self._scene.selected_nodes(), *inside])), chosen

    def cut(self) -> None:
        """Put the selected nodes, and those in selected frames, on the clipboard and remove them."""
        self.copy()
        nodes, chosen = self._chosen()
        if nodes:
            node_edits.delete(self.patch, nodes, self._scene.selected_connections(), chosen)

    def paste(self) -> None:
        """Paste the nodes on the clipboard at the pointer, and select them."""
        point = self._pointer()
        scope = self._scene.regions.scope_at(point)
        self._paste(QGuiApplication.clipboard().text(), snapped(point.x(), point.y()), "Paste", scope)

    def duplicate(self, *, with_inputs: bool = False) -> None:
        """Add copies of the selected nodes and of the connections between them, and select the copies.

        With `with_inputs`, what feeds the selected nodes feeds the copies, too.
        """
        nodes, chosen = self._chosen()
        if nodes:
            scope = regions.common_scope(self.patch, regions.outermost(self.patch, nodes))
            self._paste(node_edits.copied(self.patch, nodes, chosen), None, "Duplicate", scope, with_inputs=with_inputs)

    def swap_inputs(self) -> None:
        """Swap the inputs of the selected nodes, of all or none."""
        nodes = self._scene.selected_nodes()
        what = self.patch.title(nodes[0]) if len(nodes) == 1 else plural(len(nodes), "block")
        with self._saying_refusals(), self.patch.edit(f"Swap inputs of {what}"):
            for node in nodes:
                node_edits.swap_inputs(self.patch, node)

    def reset_values(self) -> None:
        """Return numbers, switches and choices of the selected nodes to their defaults."""
        with self._saying_refusals():
            node_edits.reset_values(self.patch, self._scene.selected_nodes())

    def nudge(self, dx: int, dy: int, gesture: object) -> None:
        """Move the selected nodes and frames, and what is in selected regions and frames, by steps of the canvas grid.

        Edits of one `gesture` are one undo step.
        """
        nodes, chosen = self._chosen()
        nodes = list(dict.fromkeys([*nodes, *self._scene.regions.contents(nodes)]))
        places = {node: self.patch.nodes[node].position for node in nodes}
        moved = {node: (x + dx * STEP, y + dy * STEP) for node, (x, y) in places.items()}
        if chosen:
            inner = [name for frame in chosen for name in frames.frames_in(self.patch, frame)]
            way = float(dx * STEP), float(dy * STEP)
            frames.move_frames(self.patch, dict.fromkeys([*chosen, *inner]), moved, way, gesture=gesture)
        elif nodes:
            node_edits.move(self.patch, moved, gesture=gesture)

    def region_type(self, kind: str) -> type[Block] | None:
        """Return the block or op that is a region of a kind such as "for"; None when the catalogue has none."""
        get = self.patch.catalogue.get
        return get(f"control.{kind}") or get(f"op.{kind}")

    def wrap(self, kind: str) -> None:
        """Put the selected nodes into a new region of a kind such as "for", and select it."""
        nodes, block_type = self._scene.selected_nodes(), self.region_type(kind)
        if nodes and block_type is not None:
            area = self._scene.rect_of(nodes)
            with self._saying_refusals():
                self._scene.select([regions.wrap(self.patch, nodes, block_type, partial(self._place_beside, area))])

    def group(self) -> None:
        """Put the selected nodes into a new group at a free place, with room for thumbnails, and select it."""
        nodes = self._scene.selected_nodes()
        own = max(map(self.room_below, nodes), default=0.0)

        def size(node: str) -> tuple[float, float]:
            (width, height), is_shown = self._size(node), node in self._scene.nodes
            return width + STEP, height + (self.room_below(node) if is_shown else own) + 2 * STEP

        if nodes:
            with self._saying_refusals():
                self._scene.select([groups.group(self.patch, nodes, size)])

    def ungroup(self) -> None:
        """Dissolve the selected groups, and select what was inside."""
        nodes = self._scene.selected_nodes()
        if any(map(self.patch.is_group, nodes)):
            with self._saying_refusals():
                self._scene.select(groups.ungroup(self.patch, nodes))

    def make_function(self) -> None:
        """Make functions of the selected groups."""
        with self._saying_refusals():
            groups.make_function(self.patch, self._scene.selected_nodes())

    def duplicate_linked(self) -> None:
        """Add copies of the selected groups that change together with them, and select the copies."""
        with self._saying_refusals():
            offset = 3.0 * STEP, 3.0 * STEP
            copies = groups.duplicate_linked(self.patch, self._scene.selected_nodes(), offset, self._size)
            self._scene.select(copies)

    def make_unique(self) -> None:
        """Detach the selected groups from their functions."""
        with self._saying_refusals():
            groups.make_unique(self.patch, self._scene.selected_nodes())

    def functions(self) -> list[str]:
        """Return the functions of the patch."""
        return sorted(instances(self.patch))

    def add_instance(self, name: str) -> None:
        """Add a group of a function at the pointer, and select it."""
        point = self._pointer()
        with self._saying_refusals():
            scope = self._scene.regions.scope_at(point)
            self._scene.select([node_edits.add_instance(self.patch, name, snapped(point.x(), point.y()), scope)])

    def _place_beside(self, area: QRectF, node_id: str) -> Position:
        """Return a place for a node above an area; if another node is in the way, to its left or below it."""
        size = QRectF(0, 0, *node_size(self.patch, node_id))
        above = size.translated(*snapped(area.left(), area.top() - size.height() - MARGIN))
        left = size.translated(*snapped(area.left() - size.width() - MARGIN, area.top()))
        below = size.translated(*snapped(area.left(), area.bottom() + MARGIN))
        place = next((rect for rect in (above, left, below) if self._scene.is_free(rect)), above)
        return place.x(), place.y()

    def move_into(self, scope: str) -> None:
        """Put the selected nodes into a region."""
        nodes = self._scene.selected_nodes()
        if nodes:
            with self._saying_refusals():
                regions.move_into(self.patch, nodes, scope)

    def take_out(self) -> None:
        """Move the selected nodes out of their regions."""
        nodes = self._scene.selected_nodes()
        if self.has_members():
            with self._saying_refusals():
                regions.take_out(self.patch, nodes)

    def run_in_order(self) -> None:
        """Let the selected nodes run one after the other, from left to right."""
        nodes = self._scene.selected_nodes()
        if len(nodes) > 1:
            with self._saying_refusals():
                orders.run_in_order(self.patch, nodes)

    def remove_orders(self) -> None:
        """Remove the orders of the selected nodes."""
        if self.has_orders():
            orders.remove_orders(self.patch, self._scene.selected_nodes())

    def has_orders(self) -> bool:
        """Return whether any of the selected nodes has an order."""
        nodes = self._scene.selected_nodes()
        return bool(nodes and orders.orders_of(self.patch, nodes))

    def has_members(self) -> bool:
        """Return whether any of the selected nodes is in a region or group."""
        return any(self._scene.regions.scope_of(node) for node in self._scene.selected_nodes())

    def scopes_to_enter(self) -> dict[str, str]:
        """Return the scopes that the selected nodes could be put into, with their titles."""
        nodes = self._scene.selected_nodes()
        return regions.scope_titles(self.patch, regions.scopes_to_enter(self.patch, nodes))

    def _paste(self, text: str, at: Position | None, name: str, scope: str, *, with_inputs: bool = False) -> None:
        with self._saying_refusals():
            made = node_edits.paste(self.patch, text, at, name, scope, self._size, with_inputs=with_inputs)
            self._scene.select(made)

    def _size(self, node: str) -> tuple[float, float]:
        """Return the size of a node, which the scene need not show yet."""
        view = self._scene.nodes.get(node)
        return (view.place.width(), view.place.height()) if view is not None else node_size(self.patch, node)

    @contextmanager
    def _saying_refusals(self) -> Iterator[None]:
        try:
            yield
        except PatchError as problem:
            self.refused.emit(str(problem))
