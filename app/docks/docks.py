"""The fixed docks of the window: shown beside a patch, hidden beside the welcome page."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QDockWidget, QMainWindow, QWidget


class Docks:
    """Docks by name. One that the person closed stays closed until the person opens it again."""

    def __init__(self, window: QMainWindow) -> None:
        self._window = window
        self._docks: dict[str, QDockWidget] = {}
        self._closed: frozenset[str] = frozenset()
        self._shown = False

    def __getitem__(self, name: str) -> QDockWidget:
        return self._docks[name]

    def add(self, name: str, title: str, widget: QWidget, area: Qt.DockWidgetArea) -> None:
        """Add a dock to the window."""
        dock = QDockWidget(title, self._window)
        dock.setObjectName(name)
        dock.setWidget(widget)
        self._window.addDockWidget(area, dock)
        self._docks[name] = dock

    def toggle_actions(self) -> list[QAction]:
        """Return the actions that show and hide each dock."""
        return [dock.toggleViewAction() for dock in self._docks.values()]

    def show_all(self, shown: bool) -> None:
        """Show the docks, but for those that the person closed; or hide all of them."""
        self._closed = frozenset(self.closed())
        if shown != self._shown or not shown:
            for name, dock in self._docks.items():
                dock.setVisible(shown and name not in self._closed)
        self._shown = shown

    def close(self, names: Iterable[str]) -> None:
        """Take these docks for closed by the person, from the next time that docks are shown."""
        self._closed = frozenset(names)

    def closed(self) -> list[str]:
        """Return the names of the docks that the person closed."""
        if not self._shown:
            return sorted(self._closed)
        # A dock behind another one's tab is not visible either, but its action is checked.
        return [name for name, dock in self._docks.items() if not dock.toggleViewAction().isChecked()]

    def reveal(self, name: str) -> None:
        """Bring a dock to the front, also one that was closed."""
        self._docks[name].show()
        self._docks[name].raise_()
