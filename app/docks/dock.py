"""The declaration of a dock, and the editor that it follows."""

from pathlib import Path
from typing import ClassVar, Protocol, TypeVar

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMenu

from warploom.app.canvas.canvas import Canvas
from warploom.app.canvas.inner_room import InnerRoom
from warploom.app.documents.bridge import Bridge
from warploom.app.documents.code_files.own_code import OwnCode
from warploom.app.documents.editor_state import UserState
from warploom.app.documents.file_commands import FileCommands
from warploom.app.documents.playhead import Playhead
from warploom.app.documents.session import Session
from warploom.app.edits.remedies import Remedy
from warploom.app.qt.beside import Beside

D = TypeVar("D", bound="Dock")


class Editor(Protocol):
    """The open document and the widgets that show it. The window implements it."""

    #: The folder of the person's state and the log file.
    folder: Path
    state: UserState
    session: Session
    bridge: Bridge
    playhead: Playhead
    files: FileCommands
    own_code: OwnCode
    canvas: Canvas
    kernel: InnerRoom
    beside: Beside

    def reveal(self, dock: type[D]) -> D:
        """Bring a dock to the front, even if it was closed, and return it."""

    def open_file(self, path: Path, line: int | None = None) -> None:
        """Show a file of code, with the cursor at a line."""

    def menu(self, name: str) -> QMenu:
        """Return a menu of the menu bar by its id."""

    def mend(self, remedy: Remedy) -> None:
        """Perform the action of a problem's button."""

    def note(self, text: str) -> None:
        """Log a message to the person, and show it in the status bar for a moment."""


class Dock:
    """A widget that is shown as a dock. Its window title, if set, is the dock's title."""

    #: The dock's name in saved arrangements.
    name: ClassVar[str]
    title: ClassVar[str]
    #: Its first area. The docks below the canvas are lists, which open and close together.
    area: ClassVar[Qt.DockWidgetArea] = Qt.DockWidgetArea.BottomDockWidgetArea
    #: Whether it is shown before the person has opened any dock.
    is_open_at_first: ClassVar[bool] = False
    #: Whether it is made only when it is first seen or asked for. `follow` then has to show what is open.
    is_made_late: ClassVar[bool] = False
    #: The least share of the window's height that it gets when it is brought to the front.
    least_share: ClassVar[float] = 0.0

    def follow(self, editor: Editor) -> None:
        """Connect to the editor's signals and actions."""
        raise NotImplementedError

    def set_seen(self, seen: bool) -> None:
        """Start or stop updating. A closed dock is not seen, nor is one behind another dock's tab."""
