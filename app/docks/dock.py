"""What a dock declares of itself, and the editor that it follows."""

from pathlib import Path
from typing import ClassVar, Protocol, TypeVar

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMenu

from app.canvas.canvas import Canvas
from app.canvas.inner_room import InnerRoom
from app.documents.bridge import Bridge
from app.documents.editor_state import UserState
from app.documents.file_commands import FileCommands
from app.documents.session import Session
from app.edits.remedies import Remedy
from app.qt.beside import Beside

D = TypeVar("D", bound="Dock")


class Editor(Protocol):
    """The open document and what shows it. The window is one."""

    #: Where the person's state and the log file are.
    folder: Path
    state: UserState
    session: Session
    bridge: Bridge
    files: FileCommands
    canvas: Canvas
    kernel: InnerRoom
    beside: Beside

    def reveal(self, dock: type[D]) -> D:
        """Bring a dock to the front, also one that was closed, and return it."""

    def menu(self, name: str) -> QMenu:
        """Return a menu of the menu bar by its id."""

    def mend(self, remedy: Remedy) -> None:
        """Do what the button of a problem says."""

    def note(self, text: str) -> None:
        """Log a message to the person, and show it in the status bar for a moment."""


class Dock:
    """A widget that is shown as a dock; its own window title, once it has one, is the dock's."""

    #: What saved arrangements call it.
    name: ClassVar[str]
    title: ClassVar[str]
    #: Where it is at first. The docks below the canvas are the lists, which open and close together.
    area: ClassVar[Qt.DockWidgetArea] = Qt.DockWidgetArea.BottomDockWidgetArea
    #: Whether it is shown before the person has opened any.
    is_open_at_first: ClassVar[bool] = False

    def follow(self, editor: Editor) -> None:
        """Connect to what is shown here, and to what is done from here."""
        raise NotImplementedError

    def set_seen(self, seen: bool) -> None:
        """Begin or end to be seen: a closed dock is not, nor one behind the tab of another."""
