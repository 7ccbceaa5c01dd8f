"""The search for a block type, which places the block alone, at the end of a connection, or in its middle."""

from PySide6.QtCore import QObject, QPoint, QPointF, Signal
from PySide6.QtWidgets import QWidget

from app.canvas.drawing.node_layout import HEADER, ROW
from app.canvas.search_popup import Group, SearchPopup, palette
from app.edits import nodes as node_edits
from app.edits.compatible import fitting_types
from app.edits.nodes import snapped
from engine.blocktypes.block import Block
from engine.diagnostics import PatchError
from engine.patch.changes import Connection, PortRef
from engine.patch.document import Patch

_MOST_RECENT = 5

#: The purpose of the new block: to connect to a port, to be inserted on a connection, or neither.
Goal = PortRef | Connection | None


class BlockSearch(QObject):
    """The search popup, and the placing of the block type that a person chooses."""

    placed = Signal(str)  # the new node's id
    refused = Signal(str)  # why the block could not be placed

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._patch = Patch()
        self._goal: Goal = None
        #: Ids of the most recently placed block types, the newest last.
        self.recent: list[str] = []
        self._point, self._scope = QPointF(), ""
        self.popup = SearchPopup(parent)
        self.popup.chosen.connect(self._place)

    def open(self, patch: Patch, position: QPoint, point: QPointF, goal: Goal, scope: str = "") -> None:
        """Show the popup at a position of the canvas; the chosen type is placed at `point` of the scene, in `scope`."""
        self._patch, self._point, self._goal, self._scope = patch, point, goal, scope
        match goal:
            case PortRef():
                hint = f"Connect {goal} to {patch.catalogue.member}"
            case Connection():
                hint = f"Insert {patch.catalogue.member}"
            case None:
                hint = f"Add {patch.catalogue.member}"
        self.popup.open(position, self._find, hint)

    def _find(self, text: str) -> list[Group]:
        """Return the block types that match a text and fit the goal; without a text and a goal, return the palette."""
        found = self._patch.catalogue.search(text)
        if not text and self._goal is None:
            return palette(found, self.recent)
        for ref in _ends_of(self._goal):
            spec = self._patch.find_end(ref)
            found = fitting_types(found, spec) if spec else []
        return [Group("", found)]

    def _place(self, block_type: type[Block]) -> None:
        # The pointer is at the first port if something is connected, otherwise on the title bar.
        below = HEADER + ROW / 2 if self._goal else HEADER / 2
        position = snapped(self._point.x(), self._point.y() - below)
        try:
            if isinstance(self._goal, Connection):
                placed = node_edits.insert(self._patch, block_type, position, self._goal, self._scope)
            else:
                placed = node_edits.place(self._patch, block_type, position, self._goal, self._scope)
        except PatchError as problem:
            self.refused.emit(str(problem))
        else:
            others = [known for known in self.recent if known != block_type.id]
            self.recent[:] = [*others, block_type.id][-_MOST_RECENT:]
            self.placed.emit(placed)


def _ends_of(goal: Goal) -> list[PortRef]:
    if isinstance(goal, Connection):
        return [goal.source, goal.target]
    return [goal] if goal is not None else []
