"""The window's docks: which there are, and which are visible."""

from collections.abc import Iterable
from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QDockWidget, QMainWindow, QTabBar, QWidget
from shiboken6 import isValid

from warploom.app.docks.code.code import Code
from warploom.app.docks.console import Console
from warploom.app.docks.dock import D, Dock, Editor
from warploom.app.docks.help import Help
from warploom.app.docks.log import Log
from warploom.app.docks.organise.history import EditList
from warploom.app.docks.organise.overview import Overview
from warploom.app.docks.osc import OscDock
from warploom.app.docks.pins.pins import Pins
from warploom.app.docks.plan.graph import LaunchedGraph
from warploom.app.docks.plan.memory import Memory
from warploom.app.docks.problems import Problems
from warploom.app.docks.profiler.profiler import Profiler
from warploom.app.docks.recorder import Recorder
from warploom.app.docks.timeline.timeline import TimelineDock
from warploom.app.docks.updates import Updates
from warploom.app.inspector.inspector import Inspector
from warploom.app.theme.fonts import title_font
from warploom.app.widgets.list_table import grow_tables

#: Every dock except the viewers, in the order of the View menu and the status bar. List new ones here.
DOCKS: tuple[type[Dock], ...] = (
    *(Inspector, Help, Overview, EditList, Problems, Updates),
    *(Log, Code, Console, Recorder, Profiler, LaunchedGraph, Memory),
    *(Pins, OscDock, TimelineDock),
)
#: The lists below the canvas. They are closed at first; the status bar shows their counts and opens them.
LISTS = tuple(dock.name for dock in DOCKS if dock.area is Qt.DockWidgetArea.BottomDockWidgetArea)
#: The share of the window's height that the lists take when they open, and the most pixels.
_LISTS_SHARE, _LISTS_MOST = 0.3, 200
#: Least sizes in pixels, since contents ask for more than they need: the heights of a list with one row and of another
#: dock, and the width of any.
_LEAST_LIST, _LEAST = 88, 64
_LEAST_WIDTH = 160
#: A window that is narrower is small, in pixels: a dock at its left would leave too little of the canvas.
SMALL = 800


class Docks:
    """Docks by name. A dock that the person closed stays closed until the person opens it again."""

    def __init__(self, window: QMainWindow) -> None:
        self._window = window
        #: How much larger texts are now than when the window was made.
        self.growth = 1.0
        self._editor: Editor | None = None
        self._widgets: dict[type[Dock], Dock] = {}
        self._docks = {dock.name: self._add(dock) for dock in DOCKS}
        for dock in DOCKS:
            if not dock.is_made_late:
                self._make(dock)
        self._closed: frozenset[str] = frozenset()
        self._shown = False
        self._has_opened_lists = False

    def __getitem__(self, name: str) -> QDockWidget:
        return self._docks[name]

    def names(self) -> list[str]:
        """Return the names of the docks, except those of viewers."""
        return list(self._docks)

    def widget(self, dock: type[D]) -> D:
        """Return the widget of a dock, which is made if it was not needed before."""
        widget = self.made(dock) or self._make(dock)
        assert isinstance(widget, dock)
        return widget

    def made(self, dock: type[D]) -> D | None:
        """Return the widget of a dock; None if it was not needed yet."""
        widget = self._widgets.get(dock)
        assert widget is None or isinstance(widget, dock)
        return widget

    def follow(self, editor: Editor) -> None:
        """Let each dock follow the editor."""
        self._editor = editor
        for widget in tuple(self._widgets.values()):
            widget.follow(editor)

    def toggle_actions(self) -> list[QAction]:
        """Return the actions that bring each dock to the front, or close it if it is there already."""
        return [self._action(name, dock) for name, dock in self._docks.items()]

    def _action(self, name: str, dock: QDockWidget) -> QAction:
        """Return such an action; Qt's own closes a dock that is behind another one's tab."""
        qts = dock.toggleViewAction()
        action = QAction(qts.text(), self._window, checkable=True, checked=qts.isChecked())

        def choose() -> None:
            if self._is_in_front(name):
                dock.close()
            else:
                self.reveal(name)
            action.setChecked(qts.isChecked())

        action.triggered.connect(choose)
        qts.toggled.connect(action.setChecked)
        dock.windowTitleChanged.connect(action.setText)
        return action

    def _is_in_front(self, name: str) -> bool:
        return self._docks[name].isVisible() and not self._docks[name].visibleRegion().isEmpty()

    def _add(self, kind: type[Dock]) -> QDockWidget:
        dock = QDockWidget(kind.title, self._window, objectName=kind.name)
        dock.setFont(title_font())
        dock.visibilityChanged.connect(partial(self._set_seen, kind))
        self._window.addDockWidget(kind.area, dock)
        return dock

    def _make(self, kind: type[Dock]) -> Dock:
        widget, dock = kind(), self._docks[kind.name]
        assert isinstance(widget, QWidget)
        self._widgets[kind] = widget
        widget.setMinimumSize(_LEAST_WIDTH, _LEAST_LIST if kind.name in LISTS else _LEAST)
        widget.windowTitleChanged.connect(dock.setWindowTitle)
        dock.setWidget(widget)
        if self.growth != 1:
            grow_tables(widget, self.growth)
        if self._editor is not None:
            widget.follow(self._editor)
        return widget

    def _set_seen(self, kind: type[Dock], seen: bool) -> None:
        # Qt destroys the window before its docks. (shiboken6 gives no types.)
        if not isValid(self._window):  # type: ignore[no-untyped-call]
            return
        widget = self._widgets.get(kind)
        if widget is None and seen:
            widget = self._make(kind)
            assert isinstance(widget, QWidget)
            widget.show()  # Qt does not show the contents of a dock that is visible already
        if widget is not None:
            widget.set_seen(seen)
        self._show_whole_tabs()

    def _show_whole_tabs(self) -> None:
        """Let tabs scroll where they have no room, since shortened titles can't be told apart."""
        for tabs in self._window.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly):
            tabs.setElideMode(Qt.TextElideMode.ElideNone)
            tabs.setUsesScrollButtons(True)

    def show_all(self, shown: bool) -> None:
        """Show all docks except those that the person closed, or hide all of them."""
        self._closed = frozenset(self.closed())
        if shown != self._shown or not shown:
            for name, dock in self._docks.items():
                dock.setVisible(shown and name not in self._closed)
        self._shown = shown

    def close(self, names: Iterable[str]) -> None:
        """Treat these docks as closed by the person when docks are next shown."""
        self._closed = frozenset(names)

    def closed(self) -> list[str]:
        """Return the names of the docks that the person closed."""
        if not self._shown:
            return sorted(self._closed)
        # A dock behind another one's tab is not visible either, but its action is checked.
        return [name for name, dock in self._docks.items() if not dock.toggleViewAction().isChecked()]

    def reveal(self, name: str) -> None:
        """Bring a dock to the front, even if it was closed; the lists open together."""
        if name in LISTS and not self._has_opened_lists and self._shown:
            self._has_opened_lists = True
            lists = [self._docks[other] for other in LISTS]
            for dock in lists:
                dock.show()
            height = min(round(_LISTS_SHARE * self._window.height()), _LISTS_MOST)
            self._window.resizeDocks(lists, [height] * len(lists), Qt.Orientation.Vertical)
        dock = self._docks[name]
        if not dock.toggleViewAction().isChecked() and self._window.width() < SMALL and self._is_left(dock):
            self._window.tabifyDockWidget(self._docks[Inspector.name], dock)
        dock.show()
        dock.raise_()
        share = next(kind.least_share for kind in DOCKS if kind.name == name)
        if self._shown and not dock.isFloating() and dock.height() < (least := round(share * self._window.height())):
            self._window.resizeDocks([dock], [least], Qt.Orientation.Vertical)

    def _is_left(self, dock: QDockWidget) -> bool:
        return self._window.dockWidgetArea(dock) is Qt.DockWidgetArea.LeftDockWidgetArea and not dock.isFloating()

    def toggle(self, name: str) -> None:
        """Bring a list to the front, or close all lists if it is already in front."""
        if self._is_in_front(name):
            self.close_lists()
        else:
            self.reveal(name)

    def toggle_lists(self) -> None:
        """Close all lists, or open them if all are closed."""
        if any(self._docks[name].toggleViewAction().isChecked() for name in LISTS):
            self.close_lists()
        else:
            self.reveal(LISTS[0])

    def close_lists(self) -> None:
        """Close all lists."""
        for name in LISTS:
            self._docks[name].close()
        self._has_opened_lists = False

    def show_closed(self, closed: Iterable[str]) -> None:
        """Close these docks, and open all others."""
        self.close(closed)
        self._has_opened_lists = not self._closed.issuperset(LISTS)
        if self._shown:
            for name, dock in self._docks.items():
                dock.setVisible(name not in self._closed)
