"""The window's docks: their initial places, the person's own arrangement, and their visibility."""

from collections.abc import Iterable
from functools import partial
from itertools import pairwise
from zlib import crc32

from PySide6.QtCore import QByteArray, QSize, Qt, QTimer
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtWidgets import QDockWidget, QMainWindow, QWidget

from app.docks.code.code import Code
from app.docks.dock import D, Dock, Editor
from app.docks.help import Help
from app.docks.log import Log
from app.docks.problems import Problems
from app.docks.profiler.profiler import Profiler
from app.docks.recorder import Recorder
from app.docks.updates import Updates
from app.documents.editor_state import UserState
from app.inspector.inspector import Inspector

#: Every dock except the viewers, in the order of the View menu and the status bar. List new ones here.
DOCKS: tuple[type[Dock], ...] = (Inspector, Help, Problems, Updates, Log, Code, Recorder, Profiler)
#: The lists below the canvas. They are closed at first; the status bar shows their counts and opens them.
LISTS = tuple(dock.name for dock in DOCKS if dock.area is Qt.DockWidgetArea.BottomDockWidgetArea)
#: A version of the set of docks; an arrangement of other docks is not restored.
_VERSION = crc32(",".join(dock.name for dock in DOCKS).encode()) & 0x7FFFFFFF
_SIZE = QSize(1440, 900)
_FRAME = QSize(16, 48)  # roughly the size of a window manager's frame
#: Shares of the window. The viewer shows the result of a person's work, so its column is wide.
_RIGHT_SHARE, _VIEWER_SHARE = 0.32, 0.46
_LISTS_HEIGHT = 188


class Docks:
    """Docks by name. A dock that the person closed stays closed until the person opens it again."""

    def __init__(self, window: QMainWindow) -> None:
        self._window = window
        self._widgets = {dock: dock() for dock in DOCKS}
        self._docks = {widget.name: self._add(widget) for widget in self._widgets.values()}
        self._closed: frozenset[str] = frozenset()
        self._shown = False
        self._has_opened_lists = False

    def __getitem__(self, name: str) -> QDockWidget:
        return self._docks[name]

    def names(self) -> list[str]:
        """Return the names of the docks, except those of viewers."""
        return list(self._docks)

    def widget(self, dock: type[D]) -> D:
        """Return the widget of a dock."""
        widget = self._widgets[dock]
        assert isinstance(widget, dock)
        return widget

    def follow(self, editor: Editor) -> None:
        """Let each dock follow the editor."""
        for widget in self._widgets.values():
            widget.follow(editor)

    def toggle_actions(self) -> list[QAction]:
        """Return the actions that show and hide each dock."""
        return [dock.toggleViewAction() for dock in self._docks.values()]

    def _add(self, widget: Dock) -> QDockWidget:
        assert isinstance(widget, QWidget)
        dock = QDockWidget(widget.title, self._window, objectName=widget.name)
        dock.setWidget(widget)
        dock.visibilityChanged.connect(widget.set_seen)
        widget.windowTitleChanged.connect(dock.setWindowTitle)
        self._window.addDockWidget(widget.area, dock)
        return dock

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
            self._window.resizeDocks(lists, [_LISTS_HEIGHT] * len(lists), Qt.Orientation.Vertical)
        dock = self._docks[name]
        dock.show()
        dock.raise_()
        share = next(widget.least_share for widget in self._widgets.values() if widget.name == name)
        if self._shown and not dock.isFloating() and dock.height() < (least := round(share * self._window.height())):
            self._window.resizeDocks([dock], [least], Qt.Orientation.Vertical)

    def toggle(self, name: str) -> None:
        """Bring a list to the front, or close all lists if it is already in front."""
        if self._docks[name].isVisible() and not self._docks[name].visibleRegion().isEmpty():
            for other in LISTS:
                self._docks[other].close()
            self._has_opened_lists = False
        else:
            self.reveal(name)


def arrange(window: QMainWindow, docks: Docks) -> None:
    """Give the window its size and the docks their places."""
    window.resize(_SIZE)
    room = window.screen().availableSize() - _FRAME
    # The offscreen platform reports a small screen, which does not matter.
    if _SIZE.boundedTo(room) != _SIZE and QGuiApplication.platformName() != "offscreen":
        window.resize(_SIZE.boundedTo(room))
        window.setWindowState(Qt.WindowState.WindowMaximized)
    window.setDockNestingEnabled(True)
    window.setCorner(Qt.Corner.BottomRightCorner, Qt.DockWidgetArea.RightDockWidgetArea)
    for before, after in pairwise(LISTS):
        window.tabifyDockWidget(docks[before], docks[after])
    docks[LISTS[0]].raise_()


def size_docks(window: QMainWindow, docks: Docks, viewer: QDockWidget) -> None:
    """Give the docks their initial sizes; Qt accepts them only for visible docks."""
    front, *behind = (docks[dock.name] for dock in DOCKS if dock.name not in LISTS)
    right = [viewer, front]
    width, upper = round(_RIGHT_SHARE * window.width()), round(_VIEWER_SHARE * window.height())
    window.resizeDocks(right, [width, width], Qt.Orientation.Horizontal)
    window.resizeDocks(right, [upper, window.height() - upper], Qt.Orientation.Vertical)
    for dock in behind:
        QTimer.singleShot(0, window, partial(_tabify, window, front, dock))


def _tabify(window: QMainWindow, front: QDockWidget, behind: QDockWidget) -> None:
    """Put a shown dock behind another one; Qt misplaces the tabs of docks that are hidden at that moment."""
    is_open = behind.toggleViewAction().isChecked()
    behind.hide()
    window.tabifyDockWidget(front, behind)
    behind.show()
    front.raise_()
    behind.setVisible(is_open)  # at first, the dock is not open


def restore(window: QMainWindow, docks: Docks, state: UserState) -> None:
    """Restore the person's arrangement."""
    if state.geometry:
        window.restoreGeometry(QByteArray(state.geometry))
    is_known = not state.layout or window.restoreState(QByteArray(state.layout), _VERSION)
    closed = {dock.name for dock in DOCKS if not dock.is_open_at_first}
    if state.closed_docks is not None:
        # A list that is new to the person stays closed like the others.
        closed = {*state.closed_docks, *(() if is_known else LISTS)}
    docks.close(closed)


def remember(window: QMainWindow, docks: Docks, state: UserState, *, arranged: bool) -> None:
    """Store the window's place, and that of its docks once they were `arranged` beside a patch."""
    state.geometry = bytes(window.saveGeometry().data())
    if arranged or state.layout:
        state.layout = bytes(window.saveState(_VERSION).data())
    state.closed_docks = docks.closed()
