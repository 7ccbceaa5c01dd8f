"""Entries of menus that are filled when they open."""

from collections.abc import Callable

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu


def add_entry(menu: QMenu, title: str, run: Callable[[], object]) -> QAction:
    """Add an entry that calls `run`; `title` is shown as it is, also with an ampersand."""
    action = menu.addAction(title.replace("&", "&&"))
    action.triggered.connect(lambda: run())
    return action
