"""`CommandWindow`: the part of the window that commands use."""

from typing import Protocol

from app.docks.code.code import Code
from app.docks.dock import Editor
from app.documents.restarts import Restarts
from app.viewers.viewer_docks import ViewerDocks


class CommandWindow(Editor, Protocol):
    """The part of the window that commands use, besides `Editor`."""

    viewers: ViewerDocks
    restarts: Restarts

    @property
    def code(self) -> Code:
        """The dock that shows code."""

    def close(self) -> bool: ...
    def show_shortcuts(self) -> None: ...
    def show_about(self) -> None: ...
    def set_theme(self, name: str) -> None: ...
    def toggle_heat(self) -> None: ...
    def toggle_path(self) -> None: ...
