"""The bars around the canvas: menus, toolbar, status, and a banner on top."""

from __future__ import annotations

from PySide6.QtWidgets import QMainWindow, QSizePolicy, QVBoxLayout, QWidget

from app.actions import Actions
from app.commands import MENUS, TOOLBAR
from app.docks.docks import Docks


def fill_menu_bar(actions: Actions, docks: Docks) -> None:
    """Add the menus to the window; the docks are at the end of the one of views."""
    actions.fill_menu_bar(MENUS)
    for action in docks.toggle_actions():
        actions.menus["view"].addAction(action)


def add_toolbar(window: QMainWindow, actions: Actions, transport: QWidget, at_the_end: QWidget) -> None:
    """Add the toolbar to the window, with the transport behind its commands."""
    toolbar = actions.make_toolbar(TOOLBAR)
    toolbar.addWidget(transport)
    spacer = QWidget()
    spacer.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
    toolbar.addWidget(spacer)
    toolbar.addWidget(at_the_end)
    window.addToolBar(toolbar)
    actions.menus["view"].addAction(toolbar.toggleViewAction())


def set_status_bar(window: QMainWindow, at_the_end: QWidget) -> None:
    """Keep a widget at the end of the status bar, where nothing that is said covers it."""
    window.statusBar().addPermanentWidget(at_the_end)
    window.statusBar().setSizeGripEnabled(False)


def under_banner(banner: QWidget, content: QWidget) -> QWidget:
    """Return a page with a banner over its content."""
    page = QWidget()
    column = QVBoxLayout(page)
    column.setContentsMargins(0, 0, 0, 0)
    column.setSpacing(0)
    column.addWidget(banner)
    column.addWidget(content)
    return page
