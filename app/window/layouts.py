"""Arrangements of the docks: the first one, the one of the last run, and those that the person named.

Sizes are kept as shares of the window, so an arrangement fits a window of another size or on a screen of another scale.
"""

from itertools import pairwise
from zlib import crc32

from PySide6.QtCore import QByteArray, QSize, Qt, QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QDockWidget, QMainWindow

from warploom.app.documents.editor_state import Arrangement, UserState
from warploom.app.viewers.viewer_docks import ViewerDocks
from warploom.app.window.docks import DOCKS, LISTS, SMALL, Docks

#: A version of the set of docks; an arrangement of other docks is not restored.
_VERSION = crc32(",".join(dock.name for dock in DOCKS).encode()) & 0x7FFFFFFF
_SIZE = QSize(1440, 900)
_FRAME = QSize(16, 48)  # roughly the size of a window manager's frame
#: Shares of the window. The viewer shows the result of a person's work, so its column is wide.
_SIDE_SHARE, _VIEWER_SHARE = 0.32, 0.46
#: The same in a small window, so that the names of parameters are beside their editors, and more of these are in view.
_SMALL_SIDE_SHARE, _SMALL_VIEWER_SHARE = 0.385, 0.4
_VIEWER = "viewer"
_HORIZONTAL, _VERTICAL = Qt.Orientation.Horizontal, Qt.Orientation.Vertical


class Layouts:
    """Gives the window its size and the docks their places, and keeps the person's arrangements."""

    def __init__(self, window: QMainWindow, docks: Docks, viewers: ViewerDocks, state: UserState) -> None:
        self._window, self._docks, self._viewers, self._state = window, docks, viewers, state
        self._is_arranged = False
        self._place()
        self._first = bytes(window.saveState(_VERSION).data())
        self._wanted = state.arrangement
        if state.geometry:
            window.restoreGeometry(QByteArray(state.geometry))
        self._restore(self._wanted)

    def _place(self) -> None:
        window = self._window
        window.resize(_SIZE)
        room = window.screen().availableSize() - _FRAME
        # The offscreen platform reports a small screen, which does not matter.
        if _SIZE.boundedTo(room) != _SIZE and QGuiApplication.platformName() != "offscreen":
            window.resize(_SIZE.boundedTo(room))
            window.setWindowState(Qt.WindowState.WindowMaximized)
        window.setDockNestingEnabled(True)
        window.setCorner(Qt.Corner.BottomRightCorner, Qt.DockWidgetArea.RightDockWidgetArea)
        for before, after in pairwise(LISTS):
            window.tabifyDockWidget(self._docks[before], self._docks[after])
        self._docks[LISTS[0]].raise_()

    def show(self) -> None:
        """Give the docks their sizes, once they are shown beside a patch; Qt accepts sizes only for visible docks."""
        if not self._is_arranged:
            self._is_arranged = True
            self.resize(self._wanted)
            if self._wanted is None:
                self._tabify_sides()

    def use(self, arrangement: Arrangement | None) -> None:
        """Arrange the docks; None is the first arrangement."""
        size = self._window.size()
        self._restore(arrangement or Arrangement(self._first, _closed_at_first(), {}))
        self._wanted = arrangement
        if self._is_arranged:
            self._viewers.gather()
            QTimer.singleShot(0, self._window, lambda: self._settle(size, arrangement))

    def current(self) -> Arrangement:
        """Return the present arrangement."""
        shares = {name: self._share(dock) for name, dock in self._sized().items() if dock.isVisible()}
        return Arrangement(bytes(self._window.saveState(_VERSION).data()), self._docks.closed(), shares)

    def remember(self) -> None:
        """Store the window's place, and that of its docks once they were shown beside a patch."""
        self._state.geometry = bytes(self._window.saveGeometry().data())
        if self._is_arranged:
            self._state.arrangement = self.current()

    def _restore(self, arrangement: Arrangement | None) -> None:
        is_known = arrangement is None or self._window.restoreState(QByteArray(arrangement.places), _VERSION)
        closed = arrangement.closed if arrangement is not None else _closed_at_first()
        # A list that is new to the person stays closed like the others.
        self._docks.show_closed([*closed, *(() if is_known else LISTS)])

    def _settle(self, size: QSize, arrangement: Arrangement | None) -> None:
        """Give back the window's size, which docks may have enlarged while they moved, and the docks' shares."""
        if not self._window.isMaximized() and not self._window.isFullScreen():
            self._window.resize(size)
        self.resize(arrangement)
        if arrangement is None:
            self._tabify_sides()

    def resize(self, arrangement: Arrangement | None) -> None:
        """Give the docks their shares of the window in an arrangement; None is the first one."""
        width, height = self._window.width(), self._window.height()
        sized = {name: dock for name, dock in self._sized().items() if dock.isVisible()}
        shares = arrangement.shares if arrangement is not None else {}
        if not shares:
            is_small = width < SMALL
            side = _SMALL_SIDE_SHARE if is_small else _SIDE_SHARE
            upper = _SMALL_VIEWER_SHARE if is_small else _VIEWER_SHARE
            sides = [name for name in sized if name not in LISTS]
            shares = {name: (side, upper if name == _VIEWER else 1 - upper) for name in sides}
        known = [(dock, shares[name]) for name, dock in sized.items() if name in shares]
        docks = [dock for dock, _ in known]
        self._window.resizeDocks(docks, [round(share[0] * width) for _, share in known], _HORIZONTAL)
        self._window.resizeDocks(docks, [round(share[1] * height) for _, share in known], _VERTICAL)

    def _sized(self) -> dict[str, QDockWidget]:
        """Return the docks whose sizes count, by name; of all viewers, which share their place, the first one."""
        viewer = next(iter(self._viewers.docks.values()), self._viewers.empty)
        docks = {name: self._docks[name] for name in self._docks.names()}
        return {_VIEWER: viewer, **{name: dock for name, dock in docks.items() if not dock.isFloating()}}

    def _share(self, dock: QDockWidget) -> tuple[float, float]:
        return dock.width() / self._window.width(), dock.height() / self._window.height()

    def _tabify_sides(self) -> None:
        """Put the docks of each side behind its first one."""
        for area in (Qt.DockWidgetArea.LeftDockWidgetArea, Qt.DockWidgetArea.RightDockWidgetArea):
            front, *behind = (self._docks[dock.name] for dock in DOCKS if dock.area == area)
            for dock in behind:
                QTimer.singleShot(0, self._window, lambda front=front, dock=dock: self._tabify(front, dock))

    def _tabify(self, front: QDockWidget, behind: QDockWidget) -> None:
        """Put a shown dock behind another one; Qt misplaces the tabs of docks that are hidden at that moment."""
        is_open = behind.toggleViewAction().isChecked()
        behind.hide()
        self._window.tabifyDockWidget(front, behind)
        behind.show()
        front.raise_()
        behind.setVisible(is_open)  # at first, the dock is not open


def _closed_at_first() -> list[str]:
    return [dock.name for dock in DOCKS if not dock.is_open_at_first]
