"""The edits that dropping a dragged connection makes."""

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QObject, QPoint, QPointF, Signal
from PySide6.QtWidgets import QMenu, QWidget

from warploom.app.canvas.drawing.node_layout import node_size
from warploom.app.edits import nodes as node_edits
from warploom.app.edits.remedies import connection_remedies
from warploom.app.view_models.connection_preview import Costing
from warploom.app.view_models.drive_candidates import drive_candidates
from warploom.engine.diagnostics import PatchError
from warploom.engine.patch.changes import Connection, PortRef
from warploom.engine.patch.document import Patch


@dataclass(frozen=True)
class DropTarget:
    """The target of a drop: an end with its place, or a node that offers several ends; neither over empty canvas."""

    end: PortRef | None = None
    at: QPointF | None = None
    node: str | None = None


class ConnectionEdits(QObject):
    """Edits the connections of `patch`; `cost`, once set, returns what changes would cost."""

    explained = Signal(str, bool)  # the effect of a drop, or why it would be refused; "" without an effect
    refused = Signal(str)  # the reason why an edit is refused
    offered = Signal(str, list)  # the reason why an edit is refused, and its remedies
    dropped_on_nothing = Signal(QPointF, PortRef)  # a connection from this port, at a point of the scene

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._room = parent
        self.patch = Patch()
        self.cost: Costing | None = None
        #: Makes room for a node that had a width before, and may have become wider.
        self.keep_apart: Callable[[str, float], object] = lambda node, width: None

    def drop(
        self, start: PortRef, target: DropTarget, picked_up: Connection | None, point: QPointF, position: QPoint
    ) -> None:
        """Make the edit of a drop; `point` is its place in the scene, `position` its place on the screen."""
        if target.end is not None:
            self._connect(start, target.end, picked_up)
        elif target.node is not None:
            self._choose(start, target.node, picked_up, position)
        elif picked_up is not None:
            self.patch.disconnect(picked_up)
        else:
            self.dropped_on_nothing.emit(point, start)

    def join(self, start: PortRef, end: PortRef) -> None:
        """Connect two ends, or offer what would allow it."""
        self._connect(start, end, None)

    def _connect(self, start: PortRef, end: PortRef, picked_up: Connection | None) -> None:
        widths = {port.node: node_size(self.patch, port.node)[0] for port in (start, end)}
        try:
            node_edits.connect(self.patch, start, end, picked_up, lambda node: self.keep_apart(node, widths[node]))
        except PatchError as problem:
            self.offered.emit(str(problem), connection_remedies(self.patch, start, end, picked_up, problem, node_size))

    def _choose(self, start: PortRef, node: str, picked_up: Connection | None, position: QPoint) -> None:
        """Ask which parameter of a node to connect to."""
        candidates = drive_candidates(self.patch, start, node)
        open_ones = [candidate for candidate in candidates if candidate.reason is None]
        if len(open_ones) == 1:
            self._connect(start, open_ones[0].ref, picked_up)
        elif not open_ones:
            self.refused.emit(
                candidates[0].reason or "" if candidates else f"{node} has no parameter that a value can drive"
            )
        else:
            menu = QMenu(self._room)
            title = f"Drive a parameter of {self.patch.title(node)}".replace("&", "&&")
            menu.addAction(title).setEnabled(False)  # the style draws no titles of sections
            menu.addSeparator()
            for candidate in open_ones:
                action = menu.addAction(
                    f"{node_edits.parameter_label(candidate.ref.port)}\t{candidate.state}".replace("&", "&&")
                )
                action.setData(candidate.ref)
            menu.triggered.connect(lambda action: self._connect(start, action.data(), picked_up))
            menu.aboutToHide.connect(menu.deleteLater)
            menu.popup(position)
