"""`Availability`: which commands can be used at the moment."""

from __future__ import annotations

from PySide6.QtCore import QObject

from app.canvas.canvas import Canvas
from app.commands.actions import Actions
from app.commands.commands import NEEDS_CONNECTION, NEEDS_MEMBER, NEEDS_NODE, NEEDS_PATCH, NEEDS_SELECTION
from app.documents.session import Session


class Availability(QObject):
    """Keeps commands usable while there is something for them to do, and undo and redo named for what they would do."""

    def __init__(self, parent: QObject, session: Session, canvas: Canvas, actions: Actions) -> None:
        super().__init__(parent)
        self._session, self._canvas, self._actions = session, canvas, actions
        session.changed.connect(self.follow_history)
        canvas.connections_selected.connect(self.follow_selection)
        actions.menus["edit"].aboutToShow.connect(self.follow_selection)

    def follow_patch(self) -> None:
        """Another patch is open, or none."""
        self._actions.set_enabled(NEEDS_PATCH, self._session.patch is not None)

    def follow_history(self) -> None:
        """There is something else to undo or to redo."""
        history = self._session.patch.history if self._session.patch else None
        for command, word, name in (
            ("undo", "&Undo", history.undo_name if history else None),
            ("redo", "&Redo", history.redo_name if history else None),
        ):
            action = self._actions[command]
            action.setText(f"{word} {name}".replace("&&", "&") if name else word)
            action.setEnabled(name is not None)

    def follow_selection(self) -> None:
        """Something else is selected on the canvas, or lies in another region."""
        has_nodes, has_connections = bool(self._canvas.selected()), self._canvas.has_selected_connections
        self._actions.set_enabled(NEEDS_NODE, has_nodes)
        self._actions.set_enabled(NEEDS_CONNECTION, has_connections)
        self._actions.set_enabled(NEEDS_SELECTION, has_nodes or has_connections)
        self._actions.set_enabled(NEEDS_MEMBER, self._canvas.edits.has_members())
