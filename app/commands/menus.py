"""Menus whose entries depend on the present state: recent files, viewers, regions."""

from collections.abc import Callable
from functools import partial

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu

from app.docks.dock import Editor
from app.viewers.viewer_docks import ViewerDocks


def list_recent(editor: Editor, menu: QMenu) -> None:
    """List the recent files that still exist."""
    for path in editor.state.existing_recent():
        _add(menu, path.name, partial(editor.files.open_path, path)).setToolTip(str(path))


def list_viewers(viewers: ViewerDocks, menu: QMenu) -> None:
    """List the viewers of the patch, with actions that show and hide them."""
    menu.addActions([dock.toggleViewAction() for dock in viewers.docks.values()])


def list_regions(editor: Editor, menu: QMenu) -> None:
    """List the regions that the selected blocks may move into."""
    edits = editor.canvas.edits
    for scope, title in edits.scopes_to_enter().items():
        _add(menu, title, partial(edits.move_into, scope))


def _add(menu: QMenu, title: str, run: Callable[[], object]) -> QAction:
    action = menu.addAction(title.replace("&", "&&"))
    action.triggered.connect(lambda: run())
    return action
