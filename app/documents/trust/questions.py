"""`TrustQuestions`: asks whether the open patch and the blocks beside it are trusted, and remembers the answers."""

import json
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtWidgets import QWidget

from warploom.app.documents import dialogs
from warploom.app.documents.dialogs import in_a_line
from warploom.app.documents.session import Session
from warploom.app.documents.trust.contents import Contents
from warploom.app.documents.trust.trust import Trust, TrustedPaths
from warploom.app.widgets.banner import NO_NOTICE, Notice
from warploom.engine.blocktypes.block_types import is_ours
from warploom.engine.catalogue.block_files import FOLDER_NAME, python_files
from warploom.engine.catalogue.catalogue import default_catalogue, folder_beside
from warploom.engine.diagnostics import Diagnostic
from warploom.engine.figures import plural
from warploom.engine.patch.trust import asks_for_trust
from warploom.engine.protocol.messages import FrameReport

#: The interval for searching the patch's folder for blocks, since network drives don't announce changes.
_LOOK_MS = 1000
#: The ids of the ops of kernels begin with this.
_OP = "op."


class TrustQuestions(QObject):
    """The questions about one session; a banner shows each of them until it is answered."""

    #: Asks whether the patch is trusted; `NO_NOTICE` if there is no question.
    patch_asked = Signal(Notice)
    #: Asks whether new blocks beside the patch are trusted; `NO_NOTICE` if there is no question.
    blocks_asked = Signal(Notice)
    #: A message that does not interrupt the person.
    noted = Signal(str)

    def __init__(self, session: Session, trusted: TrustedPaths, window: QWidget) -> None:
        super().__init__(window)
        self._session, self._trusted, self._window = session, trusted, window
        self._shown: tuple[Diagnostic, ...] = ()  # the diagnostics that the present question is about
        self._is_refused = False  # whether the person refused to trust this patch
        self._asked_about: tuple[Path, Contents] | None = None  # the blocks of the last question
        self._look = QTimer(self, interval=_LOOK_MS)
        self._look.timeout.connect(self.look_for_blocks)
        self._look.start()
        session.replaced.connect(self._start_again)
        session.types_changed.connect(self.follow)

    def is_trusted(self, path: Path) -> bool:
        """Return whether the present contents of a patch's file, or of a folder of blocks, are trusted."""
        return bool(self._trusted.decision(path))

    def ask_again(self) -> None:
        """Ask again whether the patch and the blocks beside it are trusted."""
        self._session.set_trusted(False)
        self._is_refused, self._shown = False, ()
        path = self._session.path
        folder = _blocks_beside(path) if path is not None else None
        if folder is None:
            where = path.resolve().parent / FOLDER_NAME if path is not None else "the folder blocks beside it"
            self.noted.emit(f"There are no blocks beside this patch; save it, and put block files into {where}")
            return
        self._session.use_blocks(folder if self._ask_about(folder) else None)
        self.look_for_blocks()

    def follow(self) -> None:
        """Trust what has changed while it was open and trusted, since the person works on it."""
        patch, blocks = self._session.patch, self._session.blocks
        try:
            if blocks is not None:
                self._trusted.follow(blocks, self._trusted.contents(blocks))
            if patch is not None and patch.path is not None and patch.trusted and not self._session.is_modified:
                self._trusted.follow(patch.path, self._known_contents(patch.path, patch.file_digest))
        except OSError as problem:
            self._report_unwritable(problem)

    # The patch

    def show_report(self, report: FrameReport) -> None:
        """Ask about actions that the engine refuses because the patch is not trusted."""
        if report.diagnostics is self._shown:
            return
        self._shown = report.diagnostics
        refused = [] if self._is_refused else list(filter(asks_for_trust, report.diagnostics))
        if not refused:
            self.patch_asked.emit(NO_NOTICE)
            return
        path = self._session.path
        since = " It has changed since you trusted it." if path is not None and self._trusted.changes(path) else ""
        notice = Notice(
            f"Do you trust {self._session.name}?{since} It wants to write or include files outside its folder, or "
            "use the network, a camera, a microphone or the screen:",
            tuple(dict.fromkeys(in_a_line(f"{item.node}: {item.found}") for item in refused)),
            self._answers(path, "patch", self._answer),
        )
        self.patch_asked.emit(notice)

    def _answer(self, answer: Trust) -> None:
        self._is_refused = answer is Trust.NO
        patch = self._session.patch
        if patch is not None and patch.path is not None:
            self._remember(patch.path, answer, self._known_contents(patch.path, patch.file_digest))
        self._session.set_trusted(answer is not Trust.NO)
        self.patch_asked.emit(NO_NOTICE)

    def _start_again(self) -> None:
        """Withdraw the question about the last patch."""
        path = self._session.path
        self._is_refused = path is not None and self._trusted.decision(path) is False
        self._shown = ()
        self.patch_asked.emit(NO_NOTICE)

    def _known_contents(self, path: Path, file_digest: bytes) -> Contents:
        """Return the contents of the patch's file that were read or written here, without later ones."""
        now = self._trusted.contents(path)
        known = dict.fromkeys(now.digests, file_digest.hex())
        return now if now.digests == known else Contents(known)

    # The blocks beside it

    def blocks_to_use(self, path: Path, *, trust: bool = False) -> Path | None:
        """Return the folder of blocks beside a file, if it exists and may run; ask if the file needs the answer.

        `trust` answers in advance.
        """
        folder = _blocks_beside(path) if path.is_file() else None
        if folder is None:
            return None
        known = True if trust else self._trusted.decision(folder)
        if known is None and not self._trusted.changes(folder):  # a banner asks about changes
            if has_other_types(path):
                known = self._ask_about(folder)
            else:
                self._asked_about = folder, self._trusted.contents(folder)  # ask only if they change
                self.noted.emit(f"This patch uses no block of {folder}. To use them: File > Trust")
        return folder if known else None

    def look_for_blocks(self) -> None:
        """Ask about blocks that appeared beside the open patch, unless the answer is known."""
        path = self._session.path if self._session.blocks is None else None
        folder = _blocks_beside(path) if path is not None else None
        known = self._trusted.decision(folder) if folder is not None else False
        if known:
            self._session.use_blocks(folder)
        asked = (folder, self._trusted.contents(folder)) if folder is not None and known is None else None
        if asked == self._asked_about:
            return
        self._asked_about = asked
        self.blocks_asked.emit(self._question(*asked) if asked is not None else NO_NOTICE)

    def _question(self, folder: Path, contents: Contents) -> Notice:
        name, changed = self._session.name, self._trusted.changes(folder)
        text, lines = f"Do you trust the blocks that now lie beside {name}?", [f"{folder}/{n}" for n in _names(folder)]
        if changed:
            number = f"{plural(len(changed), 'file')} {'has' if len(changed) == 1 else 'have'}"
            text = f"Do you still trust the blocks beside {name}? {number} changed since you trusted them."
            lines = list(map(str, changed))

        def answer(chosen: Trust) -> None:
            self._remember(folder, chosen, contents)
            self.look_for_blocks()

        return Notice(
            f"{text} If trusted, they can do everything that you can do:",
            tuple(map(in_a_line, lines)),
            self._answers(folder, "folder", answer),
        )

    def _ask_about(self, folder: Path) -> bool:
        """Ask about a folder in a dialog, and return whether it is trusted."""
        contents = self._trusted.contents(folder)
        answer = dialogs.ask_to_trust(self._window, folder, _names(folder))
        self._remember(folder, answer, contents)
        return self.is_trusted(folder)  # if it has changed meanwhile, a banner asks again

    # Answers

    def _answers(
        self, path: Path | None, kind: str, answer: Callable[[Trust], None]
    ) -> tuple[tuple[str, Callable[[], object]], ...]:
        """Return the buttons of a question. A patch that was never saved, without a path, can't always be trusted."""
        changed = self._trusted.changes(path) if path is not None else []
        showing: Iterable[tuple[str, Callable[[], object]]] = (
            [("Show the changes", partial(dialogs.show_changes, self._window, changed))] if changed else []
        )
        answers = [("Don't trust", Trust.NO), ("Trust", Trust.ONCE)]
        if path is not None:
            answers.append((f"Always trust this {kind}", Trust.ALWAYS))
        return (*showing, *((text, partial(answer, chosen)) for text, chosen in answers))

    def _remember(self, path: Path, answer: Trust, contents: Contents) -> None:
        try:
            self._trusted.decide(path, answer, contents)
        except OSError as problem:
            self._report_unwritable(problem)

    def _report_unwritable(self, problem: OSError) -> None:
        self.noted.emit(f"trust must be writable to the state folder, got: {problem}")


def has_other_types(path: Path) -> bool:
    """Return whether a patch has a block type that Warploom does not ship, so that it may lie beside the patch."""
    try:
        document = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return False  # opening it reports the error
    known, found = default_catalogue(), [document]
    while found:
        match found.pop():
            case {"type": str(name), "id": _, **others}:
                block_type = known.get(name)
                if (block_type is None or not is_ours(block_type)) and not name.startswith(_OP):
                    return True
                found += others.values()
            case dict(others):
                found += others.values()
            case list(others):
                found += others
    return False


def _blocks_beside(path: Path) -> Path | None:
    """Return the folder of blocks beside a file, if it has any."""
    folder = folder_beside(path.resolve().parent)
    return folder if folder is not None and python_files(folder) else None


def _names(folder: Path) -> list[str]:
    """Return the block files of a folder."""
    return [str(file.relative_to(folder)) for file in python_files(folder)]
