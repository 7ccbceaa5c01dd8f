"""Going from block to block, choosing and connecting ports and connections, moving and zooming, by the keyboard."""

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QWidget

from warploom.app.canvas.gestures.connection_edits import ConnectionEdits
from warploom.app.canvas.graph_view import GraphView
from warploom.app.canvas.items.scene import GraphScene
from warploom.app.canvas.organise_edits import OrganiseEdits
from warploom.app.canvas.selection_edits import SelectionEdits
from warploom.app.edits.nodes import parameter_label
from warploom.app.widgets.chooser import Choice, Chooser
from warploom.engine.patch.changes import Connection, PortRef
from warploom.engine.patch.document import Patch
from warploom.engine.patch.rules import is_drivable, is_target

#: How much a sideways distance counts when the next block in a direction is searched.
_SIDEWAYS = 2.0
#: How far an arrow key pans, in pixels, and the factor of a zoom.
_PAN, _ZOOM = 64, 1.2


class CanvasKeyboard:
    """Acts on the selection of `scene`. `search` opens the search for a block to connect to a port."""

    def __init__(
        self,
        view: GraphView,
        scene: GraphScene,
        edits: tuple[ConnectionEdits, SelectionEdits, OrganiseEdits],
        search: Callable[[PortRef], object],
        refuse: Callable[[str], object],
        parent: QWidget,
    ) -> None:
        self._view, self._scene, self._search, self._refuse = view, scene, search, refuse
        self._connecting, self._selection, self._organise = edits
        self.chooser = Chooser(parent)
        #: The node whose connections are chosen one after the other.
        self._node = ""
        self._moves = 0

    def move(self, x: int, y: int, *, is_held: bool) -> None:
        """Move what is selected by a step: blocks and frames, or a dot; without any, the view.

        The steps of a held key are one movement, and one undo step.
        """
        self._moves += not is_held
        gesture = "nudge", id(self), self._moves
        if self._scene.selected_nodes() or self._scene.frames.selected():
            self._selection.nudge(x, y, gesture)
        elif self._scene.selected_connections():
            self._organise.nudge_dot(x, y, gesture)
        else:
            self._view.scroll_by(QPoint(_PAN * x, _PAN * y))

    def zoom(self, steps: int) -> None:
        """Zoom in or out about the selection, or about the middle of the view."""
        self._view.set_zoom(self._view.zoom * _ZOOM**steps, self._scene.selection_point())

    @property
    def _patch(self) -> Patch:
        return self._connecting.patch

    def go(self, x: int, y: int) -> str | None:
        """Return the next block in a direction from the selected one, or the first block; None on an empty canvas."""
        selected = self._scene.selected_nodes()
        places = {node: self._scene.rect_of([node]).center() for node in self._scene.nodes}
        if not selected or not places:
            return min(places, key=lambda node: (places[node].x(), places[node].y()), default=None)
        start = places.pop(selected[0])

        def distance(node: str) -> float:
            away = places[node] - start
            along = away.x() * x + away.y() * y
            aside = abs(away.x() * y) + abs(away.y() * x)
            return along + _SIDEWAYS * aside if along > 0 and along >= aside / 2 else float("inf")

        found = min(places, key=distance, default=None)
        return found if found is not None and distance(found) < float("inf") else None

    def select_along(self, way: int) -> None:
        """Select all that the selected blocks depend on, too (-1), or all that depends on them (1)."""
        found = self._scene.selected_nodes()
        before = set(found)
        for node in found:  # which grows
            for line in self._scene.connections:
                near, far = (line.source, line.target) if way > 0 else (line.target, line.source)
                if near.node == node and far.node not in found:
                    found.append(far.node)
        self._scene.select(found)
        if before == set(found):
            self._refuse(f"The selection {'feeds' if way > 0 else 'depends on'} no other block")

    def select_connection(self) -> None:
        """Select the next connection of the selected block, so that the commands for connections apply to it.

        Without a selection, such as after a connection was deleted, go on with those of the same block.
        """
        chosen = self._scene.selected_connections()
        self._node = next(iter(self._scene.selected_nodes()), self._node)
        if self._node not in self._scene.nodes:
            ends = [end for c in chosen[:1] for end in (c.target.node, c.source.node)]
            self._node = next(iter(ends), "")
        known = [c for c in self._scene.connections if self._node in (c.source.node, c.target.node)]
        if known:
            at = known.index(chosen[0]) + 1 if chosen and chosen[0] in known else 0
            self._scene.select_connection(known[at % len(known)])
        elif self._node:
            self._refuse(f"{self._patch.title(self._node)} has no connections")
        else:
            self._refuse("Select a block first: Ctrl and the arrow keys go to one")

    def connect(self) -> None:
        """Ask for a port of the selected block, and then for what to connect it to."""
        for node in self._scene.selected_nodes()[:1]:
            ends = self._ends(node)
            choices = [
                Choice(parameter_label(at.port), partial(self._ask_for_end, at), place=place) for at, place in ends
            ]
            self.chooser.open(f"Connect {self._patch.title(node)}: choose a port", choices, "No port matches")

    def _ends(self, node: str) -> list[tuple[PortRef, str]]:
        """Return the ports of a node, outputs first, and the parameters that a value can drive."""
        block_type = self._patch.block_type(node)
        if block_type is None:
            return []
        used = {c.target.port: c.source for c in self._patch.connections_of(node) if c.target.node == node}
        outputs = [(spec.name, "output") for spec in block_type.outputs()]
        outputs += [(spec.name, "output") for spec in block_type.value_outputs()]
        inputs = [(spec.name, "input") for spec in block_type.inputs()]
        names = {name for name, _ in inputs}
        driven = [
            (name, "parameter")
            for name, spec in block_type.parameters.items()
            if is_drivable(spec) and name not in names
        ]
        found = [*outputs, *inputs, *driven]
        return [(PortRef(node, name), f"{kind}{self._from(used.get(name))}") for name, kind in found]

    def _from(self, source: PortRef | None) -> str:
        return f", from {self._patch.title(source.node)}" if source is not None else ""

    def _ask_for_end(self, port: PortRef) -> None:
        patch = self._patch
        spec = patch.find_end(port)
        ends = sorted(patch.fitting_ends(port), key=lambda end: (patch.title(end.node), end.node, end.port))
        choices = [Choice(patch.title(end.node), partial(self._connect, port, end), place=end.port) for end in ends]
        choices.append(Choice("New block …", partial(self._search, port), place="search the library"))
        taken = patch.source_of(port) if spec is not None and is_target(spec) else None
        if taken is not None:
            cut = partial(patch.disconnect, Connection(taken, port))
            choices.append(Choice("Disconnect", cut, place=f"from {patch.title(taken.node)}"))
        self.chooser.open(f"Connect {port} to", choices, "Nothing in the patch fits")

    def _connect(self, start: PortRef, end: PortRef) -> None:
        self._connecting.join(start, end)
