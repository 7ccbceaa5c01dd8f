"""`OwnCode`: files of code that the person makes beside the patch, which are trusted without a question."""

from collections.abc import Callable
from concurrent.futures import TimeoutError as NotDoneYet
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from warploom.app.documents import dialogs
from warploom.app.documents.session import Session
from warploom.app.documents.trust.trust import Trust, TrustedPaths
from warploom.engine.catalogue.block_files import FOLDER_NAME, python_files
from warploom.engine.catalogue.block_folders import block_folders
from warploom.engine.patch.files import EXAMPLES_FOLDER

T = TypeVar("T")
#: How long the editor waits for the types of a new file; slower ones arrive later.
_WAIT_S = 2.0


class OwnCode(QObject):
    """Has files written beside the patch, or in a folder that the person chooses while the patch has none."""

    #: Why files could not be written.
    noted = Signal(str)

    def __init__(self, session: Session, trust: TrustedPaths, window: QWidget) -> None:
        super().__init__(window)
        self._session, self._trust, self._window = session, trust, window
        #: The folder that was chosen for the code of a patch that isn't saved.
        self.chosen: Path | None = None
        session.replaced.connect(self._forget)

    @property
    def beside_patch(self) -> Path | None:
        """The folder of the patch's file; None while it has none, and for an example."""
        path = self._session.path
        folder = path.resolve().parent if path is not None else None
        return folder if folder != EXAMPLES_FOLDER else None

    def folder(self) -> Path | None:
        """Return the folder for the patch's own code; None if the person did not choose one."""
        if (beside := self.beside_patch) is not None:
            return beside
        if self.chosen is None:
            suggestion = self._session.blocks.parent if self._session.blocks is not None else Path.home()
            chosen = dialogs.ask_folder(self._window, "Choose a folder for the patch and its code", suggestion)
            self.chosen = chosen.resolve() if chosen is not None else None
        return self.chosen

    def write_blocks(self, write: Callable[[Path], T]) -> T | None:
        """Have block files written into the folder of the patch's blocks, and run them; None if that is not possible.

        What is made here is trusted. If the folder already has blocks that the person has not decided about, they are
        asked about first.
        """
        around = self.folder()
        if around is None:
            return None
        folder = (around / FOLDER_NAME).resolve()
        is_trusted = self._session.blocks == folder or bool(self._trust.decision(folder))
        if not is_trusted and (names := _names(folder)):
            contents = self._trust.contents(folder)
            answer = dialogs.ask_to_trust(self._window, folder, names)
            if answer is Trust.NO:
                self.noted.emit("A new block needs trust in the blocks beside it, since it runs with them")
                return None
            self._trust.decide(folder, answer, contents)
            is_trusted = True
        before = set(python_files(folder)) if folder.is_dir() else set()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            made = write(folder)
            contents = self._trust.contents(folder)
            if is_trusted:
                self._trust.follow(folder, contents)
            else:
                self._trust.decide(folder, Trust.ALWAYS, contents)
        except OSError as problem:
            self.noted.emit(f"files must be writable to {folder}, got: {problem}")
            return None
        if self._session.blocks != folder:
            self._session.use_blocks(folder)
        else:
            with suppress(NotDoneYet):
                block_folders.reload(set(python_files(folder)) - before).result(_WAIT_S)
        return made

    def write_files(self, write: Callable[[Path], T]) -> T | None:
        """Have kernel files written beside the patch; None if that is not possible."""
        folder = self.folder()
        if folder is None:
            return None
        try:
            return write(folder)
        except OSError as problem:
            self.noted.emit(f"files must be writable to {folder}, got: {problem}")
            return None

    def _forget(self) -> None:
        self.chosen = None


def _names(folder: Path) -> list[str]:
    return [str(file.relative_to(folder)) for file in python_files(folder)] if folder.is_dir() else []
