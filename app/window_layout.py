"""Where the docks of the window are at first, and how the person's own arrangement comes back."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QByteArray, QSize, Qt, QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QDockWidget, QMainWindow

from app.docks.docks import Docks
from app.state import UserState

_SIZE = QSize(1440, 900)
_FRAME = QSize(16, 48)  # about what a window manager puts around a window
#: Shares of the window: the viewer is what a person works for, so its column is wide.
_RIGHT_SHARE, _VIEWER_SHARE = 0.36, 0.46
_LISTS_HEIGHT = 188
#: An arrangement saved by another version is not restored: its docks may not exist any more.
_VERSION = 2


def arrange(window: QMainWindow, docks: Docks) -> None:
    """Give the window its size and the docks their places."""
    window.resize(_SIZE)
    room = window.screen().availableSize() - _FRAME
    # The offscreen platform has a small screen that nobody sees.
    if _SIZE.boundedTo(room) != _SIZE and QGuiApplication.platformName() != "offscreen":
        window.resize(_SIZE.boundedTo(room))
        window.setWindowState(Qt.WindowState.WindowMaximized)
    window.setDockNestingEnabled(True)
    window.setCorner(Qt.Corner.BottomRightCorner, Qt.DockWidgetArea.RightDockWidgetArea)
    window.tabifyDockWidget(docks["problems"], docks["updates"])
    window.tabifyDockWidget(docks["updates"], docks["log"])
    docks["problems"].raise_()


def size_docks(window: QMainWindow, docks: Docks, viewer: QDockWidget) -> None:
    """Give the docks their first sizes; Qt takes them only for docks that are shown."""
    right = [viewer, docks["inspector"]]
    width, upper = round(_RIGHT_SHARE * window.width()), round(_VIEWER_SHARE * window.height())
    window.resizeDocks(right, [width, width], Qt.Orientation.Horizontal)
    window.resizeDocks(right, [upper, window.height() - upper], Qt.Orientation.Vertical)
    window.resizeDocks([docks["problems"]], [_LISTS_HEIGHT], Qt.Orientation.Vertical)
    QTimer.singleShot(0, window, partial(_tabify, window, docks["inspector"], docks["help"]))


def _tabify(window: QMainWindow, front: QDockWidget, behind: QDockWidget) -> None:
    """Put a shown dock behind another; had they been hidden then, Qt would leave their tabs where they are not seen."""
    is_open = behind.toggleViewAction().isChecked()
    behind.hide()
    window.tabifyDockWidget(front, behind)
    behind.show()
    front.raise_()
    behind.setVisible(is_open)  # which it is not at first


def restore(window: QMainWindow, docks: Docks, state: UserState) -> None:
    """Bring back the arrangement that the person left."""
    if state.geometry:
        window.restoreGeometry(QByteArray(state.geometry))
    if state.layout:
        window.restoreState(QByteArray(state.layout), _VERSION)
    docks.close(state.closed_docks)


def remember(window: QMainWindow, docks: Docks, state: UserState, *, arranged: bool) -> None:
    """Keep the window's place, and that of its docks once they were `arranged` beside a patch."""
    state.geometry = bytes(window.saveGeometry().data())
    if arranged or state.layout:
        state.layout = bytes(window.saveState(_VERSION).data())
    state.closed_docks = docks.closed()
