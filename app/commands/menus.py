"""What depends on the moment: which commands can be used, and the entries of menus such as recent files."""

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QObject, QPoint
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QWidget

from app.canvas.canvas import Canvas
from app.commands import commands
from app.commands.actions import Actions
from app.documents.editor_state import UserState
from app.documents.file_commands import FileCommands
from app.documents.session import Session
from app.viewers.viewer_docks import ViewerDocks
from engine.patch.inner_patch import inner_kind


class ChangingMenus(QObject):
    """Fills the menus of recent files, viewers and regions when they are about to be shown."""

    def __init__(
        self,
        parent: QObject,
        actions: Actions,
        canvas: Canvas,
        viewers: ViewerDocks,
        files: FileCommands,
        state: UserState,
    ) -> None:
        super().__init__(parent)
        self._menus, self._canvas, self._viewers = actions.menus, canvas, viewers
        self._files, self._state = files, state
        self._menus["recent"].aboutToShow.connect(self._list_recent)
        self._menus["viewers"].aboutToShow.connect(self._list_viewers)
        self._menus["move_into"].aboutToShow.connect(self._list_regions)
        files.recent_changed.connect(self._list_recent)
        self._list_recent()

    def _list_recent(self) -> None:
        menu = self._menus["recent"]
        menu.clear()
        for path in self._state.existing_recent():
            _add(menu, path.name, partial(self._files.open_path, path)).setToolTip(str(path))
        _say_if_empty(menu, "No recent files")

    def _list_viewers(self) -> None:
        menu = self._menus["viewers"]
        menu.clear()
        menu.addActions([dock.toggleViewAction() for dock in self._viewers.docks.values()])
        _say_if_empty(menu, "No viewers in this patch")

    def _list_regions(self) -> None:
        menu, edits = self._menus["move_into"], self._canvas.edits
        menu.clear()
        for scope, title in edits.scopes_to_enter().items():
            _add(menu, title, partial(edits.move_into, scope))
        _say_if_empty(menu, "No other region in this patch")


def _add(menu: QMenu, title: str, run: Callable[[], object]) -> QAction:
    action = menu.addAction(title.replace("&", "&&"))
    action.triggered.connect(lambda: run())
    return action


def _say_if_empty(menu: QMenu, text: str) -> None:
    if menu.isEmpty():
        menu.addAction(text).setEnabled(False)


def open_context_menu(parent: QWidget, actions: Actions, kind: str, position: QPoint) -> QMenu:
    """Show the menu of a "node", a "connection" or the "canvas" at a position of the screen."""
    menu = QMenu(parent)
    menu.aboutToHide.connect(menu.deleteLater)
    for item in commands.CONTEXT_MENUS[kind]:
        if item is None:
            menu.addSeparator()
        else:
            menu.addAction(actions[item])
    menu.popup(position)
    return menu


class Availability(QObject):
    """Enables commands while they have something to do, and names undo and redo for what they would do."""

    def __init__(self, parent: QObject, session: Session, canvas: Canvas, actions: Actions) -> None:
        super().__init__(parent)
        self._session, self._canvas, self._actions = session, canvas, actions
        session.changed.connect(self.follow_history)
        canvas.scene.selection_settled.connect(self.follow_selection)
        actions.menus["edit"].aboutToShow.connect(self.follow_selection)

    def follow_patch(self) -> None:
        """Another patch is open, or none."""
        self._actions.set_enabled(commands.NEEDS_PATCH, self._session.patch is not None)

    def follow_history(self) -> None:
        """Something else can be undone or redone."""
        history = self._session.patch.history if self._session.patch else None
        for command, word, name in (
            ("undo", "&Undo", history.undo_name if history else None),
            ("redo", "&Redo", history.redo_name if history else None),
        ):
            action = self._actions[command]
            action.setText(f"{word} {name}".replace("&&", "&") if name else word)
            action.setEnabled(name is not None)

    def follow_selection(self) -> None:
        """The selection changed, or the regions of what is selected."""
        has_nodes, has_connections = bool(self._canvas.selected()), bool(self._canvas.scene.selected_connections())
        self._actions.set_enabled(commands.NEEDS_NODE, has_nodes)
        self._actions.set_enabled(commands.NEEDS_CONNECTION, has_connections)
        checkable, patch = self._canvas.checkable, self._canvas.patch
        is_checked = checkable is not None and patch is not None and checkable.source in patch.sentinels
        self._actions.set_enabled(commands.NEEDS_CHECKABLE, checkable is not None)
        self._actions.set_enabled(commands.NEEDS_CHECK, is_checked)
        self._actions.set_enabled(commands.NEEDS_SELECTION, has_nodes or has_connections)
        self._actions.set_enabled(commands.NEEDS_MEMBER, self._canvas.edits.has_members())
        selected = self._canvas.selected()
        is_kernel = patch is not None and len(selected) == 1 and inner_kind(patch, selected[0]) is not None
        self._actions.set_enabled(commands.NEEDS_OP_GRAPH, is_kernel)
        for kind in commands.WRAPS:
            self._actions.set_enabled([f"wrap_{kind}"], self._canvas.edits.region_type(kind) is not None)
