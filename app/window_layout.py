"""Where the docks of the window are at first, and how the person's own arrangement comes back."""

from __future__ import annotations

from PySide6.QtCore import QByteArray, QSize, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QDockWidget, QMainWindow

from app.docks.docks import Docks
from app.state import UserState

_SIZE = QSize(1440, 900)
#: Shares of the window: the viewer is what a person works for, so its column is wide.
_RIGHT_SHARE, _VIEWER_SHARE = 0.36, 0.46
_PROBLEMS_HEIGHT = 110
#: An arrangement saved by another version is not restored: its docks may not exist any more.
_VERSION = 1


def arrange(window: QMainWindow, docks: Docks, viewer: QDockWidget) -> None:
    """Give the window its size and the docks their places."""
    size = _SIZE
    if QGuiApplication.platformName() != "offscreen":  # whose screen is a small one that nobody sees
        size = size.boundedTo(window.screen().availableSize())
    window.resize(size)
    window.setDockNestingEnabled(True)
    window.setCorner(Qt.Corner.BottomRightCorner, Qt.DockWidgetArea.RightDockWidgetArea)
    window.tabifyDockWidget(docks["problems"], docks["log"])
    window.tabifyDockWidget(docks["inspector"], docks["help"])
    for name in ("problems", "inspector"):
        docks[name].raise_()
    right = [viewer, docks["inspector"]]
    width, upper = round(_RIGHT_SHARE * size.width()), round(_VIEWER_SHARE * size.height())
    window.resizeDocks(right, [width, width], Qt.Orientation.Horizontal)
    window.resizeDocks(right, [upper, size.height() - upper], Qt.Orientation.Vertical)
    window.resizeDocks([docks["problems"]], [_PROBLEMS_HEIGHT], Qt.Orientation.Vertical)


def restore(window: QMainWindow, docks: Docks, state: UserState) -> None:
    """Bring back the arrangement that the person left."""
    if state.geometry:
        window.restoreGeometry(QByteArray(state.geometry))
        window.restoreState(QByteArray(state.layout), _VERSION)
    docks.close(state.closed_docks)


def remember(window: QMainWindow, docks: Docks, state: UserState) -> None:
    """Keep the present arrangement."""
    state.geometry = bytes(window.saveGeometry().data())
    state.layout = bytes(window.saveState(_VERSION).data())
    state.closed_docks = docks.closed()
