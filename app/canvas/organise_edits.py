"""The commands that keep a patch in order, applied to the selection of the canvas."""

from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial
from itertools import pairwise
from math import dist

from PySide6.QtCore import QObject, QPointF, QRectF, Signal
from PySide6.QtWidgets import QWidget

from warploom.app.canvas.drawing.measures import measures
from warploom.app.canvas.drawing.node_layout import node_size
from warploom.app.canvas.frames.frame_gestures import nodes_in
from warploom.app.canvas.items.scene import GraphScene
from warploom.app.canvas.mark_form import MarkForm
from warploom.app.edits import nodes as node_edits
from warploom.app.edits.nodes import STEP, snapped
from warploom.app.edits.organise import dots, frames, marks, presets
from warploom.app.edits.organise.align import align, distribute
from warploom.app.edits.organise.arrange import arrange, spread_pile
from warploom.app.edits.organise.room import keep_apart, keep_below, make_room
from warploom.app.edits.rects import free_shift
from warploom.engine.diagnostics import PatchError
from warploom.engine.drawings.rect import Rect
from warploom.engine.figures import plural
from warploom.engine.patch.changes import Connection, Mode, Position
from warploom.engine.patch.document import Patch
from warploom.engine.patch.organise.annotations import Preset

#: The size of a frame that is made around nothing.
_FRAME = (320.0, 200.0)


class OrganiseEdits(QObject):
    """Edits of the selection in `scene`, each one undo step of the patch."""

    refused = Signal(str)  # why an edit is refused

    def __init__(self, scene: GraphScene, parent: QWidget) -> None:
        super().__init__(parent)
        self._scene, self._widget = scene, parent
        self.patch = Patch()
        #: The height of what is shown below a node.
        self.room_below: Callable[[str], float] = lambda _: 0.0

    # Places

    def spread(self) -> None:
        """Lay out blocks of a patch that a script has made without positions."""
        spread_pile(self.patch, measures(self.patch))

    def lay_out(self) -> None:
        """Lay out the selected blocks, or all that are shown if fewer than two are selected."""
        nodes = self._scene.selected_nodes()
        chosen = nodes if len(nodes) > 1 else list(self._scene.nodes)
        known = measures(self.patch)

        def size(node: str) -> tuple[float, float]:
            width, height = known.size(node)
            return width, height + self.room_below(node)

        self._try(lambda: arrange(self.patch, chosen, replace(known, size=size)))

    def align(self, way: str) -> None:
        """Align the selected blocks and regions."""
        if len(rects := self._rects()) > 1:
            self._try(lambda: align(self.patch, rects, way))

    def distribute(self, axis: int) -> None:
        """Make the gaps between the selected blocks and regions equal, along x (axis 0) or y."""
        if len(rects := self._rects()) > 2:
            self._try(lambda: distribute(self.patch, rects, axis))

    def free_place(self, node: str) -> Position:
        """Return the nearest place to a new node's at which it covers no other."""
        x, y = self.patch.nodes[node].position
        size = node_size(self.patch, node)
        others = [_rect(view.place) for name, view in self._scene.nodes.items() if name != node]
        dx, dy = free_shift([Rect(x, y, *size)], others)
        return x + dx, y + dy

    def make_room(self, node: str, connection: Connection) -> None:
        """Put a new node into a connection, and move what follows if that is too short."""
        make_room(self.patch, node, connection, partial(self._rect_now, node))

    def keep_apart(self, node: str, width: float) -> None:
        """Move what a node would cover that was `width` wide, and has become wider."""
        keep_apart(self.patch, node, width, partial(self._rect_now, node))

    def _rect_now(self, changed: str, shown: str) -> Rect:
        """Return the rectangle of a node, while the canvas doesn't show yet how one has changed."""
        if shown == changed or shown not in self._scene.nodes:
            return Rect(*self.patch.nodes[shown].position, *node_size(self.patch, shown))
        return _rect(self._scene.rect_of([shown]))

    def _rect_in_patch(self, changed: str, shown: str) -> Rect:
        """Return the rectangle of a node as it is in the patch, and of another region as the canvas shows it."""
        return self._rect_now(changed if shown in self._scene.regions.views else shown, shown)

    def _rects(self) -> dict[str, Rect]:
        """Return the rectangles of the selected nodes outside selected regions; a region's is that of its box."""
        nodes = self._scene.selected_nodes()
        inside = set(self._scene.regions.contents(nodes))
        return {node: _rect(self._scene.rect_of([node])) for node in nodes if node not in inside}

    # Frames

    def add_frame(self, point: QPointF, gesture: object = None) -> str:
        """Put a frame around the selected blocks with their thumbnails, or at a point, and return it."""
        nodes = self._scene.selected_nodes()
        shown = (self._scene.rect_of([node]).adjusted(0, 0, 0, self.room_below(node)) for node in nodes)
        rect = frames.around(map(_rect, shown))
        if rect is None:
            rect = Rect(*snapped(point.x() - _FRAME[0] / 2, point.y() - _FRAME[1] / 2), *_FRAME)
        return frames.add_frame(self.patch, rect, self._scene.frames.level, gesture=gesture)

    def move_frames(self, moved: list[str], positions: dict[str, Position], way: Position) -> None:
        """Move frames with the nodes in them."""
        self._try(lambda: frames.move_frames(self.patch, moved, positions, way))

    def resize_frame(self, frame_id: str, rect: tuple[float, float, float, float]) -> None:
        """Give a frame another rectangle."""
        self._try(lambda: frames.resize_frame(self.patch, frame_id, Rect(*rect)))

    def edit_frame(self, frame_id: str = "", gesture: object = None) -> None:
        """Ask for title, comment and colour of a frame, or of the selected one."""
        for chosen in [frame_id] if frame_id else self._scene.frames.selected()[:1]:
            frame = frames.frame_of(self.patch, chosen)
            shown = {"title": frame.title, "comment": frame.comment, "colour": frame.colour}
            MarkForm("Frame", shown, partial(self._change_frame, chosen, gesture), self._widget).open()

    def _change_frame(self, frame_id: str, gesture: object, fields: dict[str, str]) -> None:
        if f"frame {frame_id}" in self.patch.annotations:  # another edit may have removed it
            frames.change_frames(self.patch, [frame_id], gesture=gesture, **fields)

    def select_in_frames(self) -> None:
        """Select the blocks in the selected frames."""
        chosen = self._scene.frames.selected()
        nodes = [node for name in chosen for node in nodes_in(self._scene, self._scene.frames.views[name].rect)]
        self._scene.select(nodes)

    # Marks

    def rename(self, patch: Patch, node: str, title: str) -> None:
        """Give a node a title, and move what it would cover then, if the patch is the one on the canvas."""
        width = node_size(patch, node)[0]
        with patch.edit(f"Rename {patch.title(node)}"):
            patch.rename(node, title)
            if patch is self.patch and node in self._scene.nodes:
                self.keep_apart(node, width)

    def comment(self, patch: Patch, nodes: Collection[str], comment: str) -> None:
        """Give nodes a comment, and move down what they would cover then, if the patch is the one on the canvas."""
        heights = {node: node_size(patch, node)[1] for node in nodes if node in self._scene.nodes}
        with patch.edit(f"Comment on {plural(len(nodes), 'block')}"):
            patch.set_comment(nodes, comment)
            upwards = sorted(heights, key=lambda node: -patch.nodes[node].position[1])
            for node in upwards if patch is self.patch else ():
                keep_below(patch, node, heights[node], partial(self._rect_in_patch, node))

    def mark(self) -> None:
        """Ask for title, comment and colour of the selected blocks, or else of the selected frame."""
        nodes = self._scene.selected_nodes()
        if not nodes:
            self.edit_frame()
            return
        shown = marks.marks_of(self.patch, nodes)
        known = self.patch.block_type(nodes[0])
        hint = known.title if known is not None else self.patch.nodes[nodes[0]].type
        what = hint if len(nodes) == 1 else f"{len(nodes)} blocks"
        patch = self.patch
        edit = partial(marks.mark, patch, nodes, partial(self.rename, patch), partial(self.comment, patch))
        MarkForm(what, shown, edit, self._widget, hint).open()

    def colour(self, colour: str) -> None:
        """Give the selected blocks and frames a colour; with "", blocks have that of their category."""
        marks.colour(self.patch, self._scene.selected_nodes(), self._scene.frames.selected(), colour)

    # Dots

    def set_dots(self, connection: Connection, points: list[Position], name: str) -> None:
        """Give a connection these dots."""
        self._try(lambda: dots.set_dots(self.patch, connection, points, name))

    def add_dot(self) -> None:
        """Add a dot in the middle of each selected connection, or of its longest part between two dots."""
        for connection in self._scene.selected_connections():
            view = self._scene.connections[connection]
            ends = view.ends[0].toTuple(), view.ends[1].toTuple()
            way = [ends[0], *self.patch.dots(connection.target), ends[1]]
            (x, y), (u, v) = max(pairwise(way), key=lambda leg: dist(*leg))
            at = ((x + u) / 2, (y + v) / 2) if view.dots else view.middle.toTuple()
            self._try(partial(self._add_dot, connection, ends, at))

    def _add_dot(self, connection: Connection, ends: tuple[Position, Position], at: Position) -> None:
        before = self.patch.dots(connection.target)
        points = dots.with_dot(self.patch, connection, ends, at)
        dots.set_dots(self.patch, connection, points, "Add dot")
        number = next((n for n, (one, other) in enumerate(zip(points, before, strict=False)) if one != other), -1)
        self._scene.choose_dot(connection, number)

    def choose_next_dot(self) -> None:
        """Choose the next dot of the selected connection, which the arrow keys then move."""
        if (chosen := self._scene.chosen_dot()) is not None:
            self._scene.choose_dot(chosen[0], chosen[1] + 1)

    def remove_chosen_dot(self) -> None:
        """Remove the chosen dot of the selected connection."""
        if (chosen := self._scene.chosen_dot()) is not None:
            self.remove_dot(*chosen)

    def nudge_dot(self, dx: int, dy: int, gesture: object) -> None:
        """Move the chosen dot by steps of the canvas grid; edits of one `gesture` are one undo step."""
        if (chosen := self._scene.chosen_dot()) is not None:
            connection, number = chosen
            points = list(self.patch.dots(connection.target))
            points[number] = points[number][0] + dx * STEP, points[number][1] + dy * STEP
            dots.set_dots(self.patch, connection, points, "Move dot", gesture=gesture)

    def remove_dot(self, connection: Connection, number: int) -> None:
        """Remove one dot of a connection."""
        points = list(self.patch.dots(connection.target))
        del points[number]
        dots.set_dots(self.patch, connection, points, "Delete dot")

    def straighten(self) -> None:
        """Remove the dots of the selected connections."""
        dots.straighten(self.patch, self._scene.selected_connections())

    # Presets

    def save_preset(self, node: str, name: str) -> None:
        """Save the values of a block's parameters under a name."""
        self._try(lambda: presets.save_preset(self.patch, node, name))

    def apply_preset(self, preset: Preset, _checked: bool = False) -> None:
        """Give the selected blocks the values of a preset."""
        nodes = self._scene.selected_nodes()
        self._try(lambda: presets.apply_preset(self.patch, nodes, preset))

    def rename_preset(self, preset: Preset, name: str) -> None:
        """Give a preset another name."""
        self._try(lambda: presets.rename_preset(self.patch, preset, name))

    def delete_preset(self, preset: Preset) -> None:
        """Remove a preset."""
        self._try(lambda: self.patch.remove_annotation(preset.key))

    # Modes

    def bypass(self) -> None:
        """Bypass the selected blocks, or use them again if all of them are bypassed."""
        self._set_mode(Mode.BYPASSED)

    def disable(self) -> None:
        """Disable the selected blocks, or use them again if all of them are disabled."""
        self._set_mode(Mode.DISABLED)

    def _set_mode(self, mode: Mode) -> None:
        if nodes := self._scene.selected_nodes():
            self._try(lambda: node_edits.set_mode(self.patch, nodes, mode))

    def _try(self, edit: Callable[[], object]) -> None:
        try:
            edit()
        except PatchError as problem:
            self.refused.emit(str(problem))


def _rect(rect: QRectF) -> Rect:
    return Rect(rect.x(), rect.y(), rect.width(), rect.height())
