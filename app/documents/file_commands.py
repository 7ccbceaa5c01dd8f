"""New, open and save, including unsaved changes, recent files and recovery."""

import json
from collections.abc import Callable
from concurrent.futures import Future, wait
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtWidgets import QWidget

from app.documents import dialogs
from app.documents.code_files.drafts import Drafts
from app.documents.dialogs import UnsavedChoice, in_a_line
from app.documents.editor_state import UserState
from app.documents.outside_changes import look_outside
from app.documents.recovery import Recovered, RecoverySlot
from app.documents.session import Session
from app.documents.trust.contents import Contents, FileChange
from app.documents.trust.trust import Trust, TrustedPaths
from app.widgets.banner import NO_NOTICE, Notice
from engine.blocktypes.block import is_ours
from engine.catalogue.block_files import FOLDER_NAME, python_files
from engine.catalogue.catalogue import default_catalogue, folder_beside
from engine.diagnostics import Diagnostic, WarploomError
from engine.figures import plural
from engine.patch.document import Patch
from engine.patch.files import EXAMPLES_FOLDER, SUFFIX
from engine.patch.trust import asks_for_trust
from engine.protocol.messages import FrameReport

#: The time from the first edit after a copy to the next copy. A crash loses this much work, plus the time of writing.
_AUTOSAVE_MS = 1000
#: The interval for asking whether the last copy is written.
_AGAIN_MS = 100
#: The interval for searching the patch's folder for blocks, since network drives don't announce changes.
_LOOK_MS = 1000
#: The ids of the ops of kernels begin with this.
_OP = "op."


class FileCommands(QObject):
    """The commands of the File menu, on one session."""

    #: The list of recent files changed.
    recent_changed = Signal()
    #: A message that does not interrupt the person.
    noted = Signal(str)
    #: Asks whether the patch is trusted; `NO_NOTICE` if there is no question.
    trust_asked = Signal(Notice)
    #: Asks whether new blocks beside the patch are trusted; `NO_NOTICE` if there is no question.
    blocks_asked = Signal(Notice)

    def __init__(
        self, session: Session, state: UserState, recovery: RecoverySlot, trust: TrustedPaths, window: QWidget
    ) -> None:
        super().__init__(window)
        self._session, self._state, self._recovery, self._window = session, state, recovery, window
        self._trust = trust
        self._told: tuple[Diagnostic, ...] = ()
        self._is_trust_refused = False  # whether the person refused to trust this patch
        self._asked_about: tuple[Path, Contents] | None = None
        self._look = QTimer(self, interval=_LOOK_MS)
        self._look.timeout.connect(self.look_for_blocks)
        self._look.start()
        session.replaced.connect(self._forget_answer)
        session.types_changed.connect(self._follow_trusted)
        self._autosave = QTimer(self, singleShot=True)
        self._autosave.timeout.connect(self.autosave)
        self._copying: Future[None] | None = None
        #: Code that was typed and not saved.
        self.drafts = Drafts(self)
        session.changed.connect(self._on_changed)
        self.drafts.changed.connect(self._on_changed)
        session.replaced.connect(lambda: self.drafts.replace())
        #: True if the patch came from an example or from recovery: saving asks for a new file.
        self._is_copy = False

    @property
    def name(self) -> str:
        """The patch's name in the title."""
        return self._session.path.stem if self._session.path else "Untitled"

    @property
    def has_unsaved(self) -> bool:
        """True when the patch, or code that belongs to it, has changes that its file lacks."""
        return self._session.is_modified or bool(self.drafts.all())

    def new(self) -> None:
        """Start an empty patch."""
        if self.may_close():
            self.show_made(Patch())

    def show_made(self, patch: Patch) -> None:
        """Show a patch that was made for the person, and has no file."""
        self._session.replace(patch)
        self._recovery.clear()
        self._is_copy = False

    def open(self) -> None:
        """Ask for a file and open it."""
        path = dialogs.ask_open(self._window, self._folder())
        if path is not None:
            self.open_path(path)

    def open_path(self, path: Path, *, trust: bool = False) -> bool:
        """Open a file. If it is not a patch, a message shows the reason and the current patch stays.

        Blocks beside it are run if the person trusts them. The person is asked once; `trust` answers in advance.
        """
        if not self.may_close():
            return False
        try:
            blocks = self._trusted_blocks(path, trust=trust)
            self._session.open(path, blocks=blocks, trust=trust or bool(self._trust.decision(path)))
        except WarploomError as problem:
            dialogs.show_error(self._window, f"{path.name} can't be opened", str(problem))
            return False
        self._is_copy = path.resolve().parent == EXAMPLES_FOLDER
        self._recovery.clear()
        self._remember(path)
        self.look_for_blocks()
        return True

    def show_report(self, report: FrameReport) -> None:
        """Ask about actions that the engine refuses because the patch is not trusted."""
        if report.diagnostics is self._told:
            return
        self._told = report.diagnostics
        refused = [] if self._is_trust_refused else list(filter(asks_for_trust, report.diagnostics))
        if not refused:
            self.trust_asked.emit(NO_NOTICE)
            return
        path = self._session.path
        changed = self._trust.changes(path) if path is not None else []
        answers = [("Don't trust", Trust.NO), ("Trust", Trust.ONCE), ("Always trust this patch", Trust.ALWAYS)]
        since = " It has changed since you trusted it." if changed else ""
        notice = Notice(
            f"Do you trust {self.name}?{since} It wants to write or include files outside its folder, or listen beyond "
            "this machine:",
            tuple(dict.fromkeys(in_a_line(f"{item.node}: {item.found}") for item in refused)),
            self._showing(changed)
            + tuple((text, partial(self._answer, answer)) for text, answer in answers[: 3 if path else 2]),
        )
        self.trust_asked.emit(notice)

    def _showing(self, changed: list[FileChange]) -> tuple[tuple[str, Callable[[], object]], ...]:
        """Return the button that shows changes, if there are any."""
        return (("Show the changes", partial(dialogs.show_changes, self._window, changed)),) if changed else ()

    def _answer(self, answer: Trust) -> None:
        self._is_trust_refused = answer is Trust.NO
        patch = self._session.patch
        if patch is not None and patch.path is not None:
            self._remember_trust(patch.path, answer, self._known_contents(patch.path, patch.file_digest))
        self._session.set_trusted(answer is not Trust.NO)
        self.trust_asked.emit(NO_NOTICE)

    def _forget_answer(self) -> None:
        path = self._session.path
        self._is_trust_refused = path is not None and self._trust.decision(path) is False
        self._told = ()
        self.trust_asked.emit(NO_NOTICE)

    def trust_again(self) -> None:
        """Ask again whether the patch and the blocks beside it are trusted."""
        self._session.set_trusted(False)
        self._is_trust_refused, self._told = False, ()
        self._ask_about_blocks()

    def _ask_about_blocks(self) -> None:
        path = self._session.path
        folder = folder_beside(path.resolve().parent) if path is not None else None
        if folder is None or not python_files(folder):
            where = path.resolve().parent / FOLDER_NAME if path is not None else "the folder blocks beside it"
            self.noted.emit(f"There are no blocks beside this patch; save it, and put block files into {where}")
            return
        is_trusted = self._ask_to_trust(folder)
        self._session.use_blocks(folder if is_trusted else None)
        self.look_for_blocks()

    def look_for_blocks(self) -> None:
        """Ask about blocks that appeared beside the open patch, unless the answer is known."""
        path = self._session.path if self._session.blocks is None else None
        folder = folder_beside(path.resolve().parent) if path is not None else None
        known = self._trust.decision(folder) if folder is not None else False
        names = _names(folder) if folder is not None and known is not False else []
        if known and names:
            self._session.use_blocks(folder)
        asked = (folder, self._trust.contents(folder)) if folder is not None and names and known is None else None
        if asked == self._asked_about:
            return
        self._asked_about = asked
        self.blocks_asked.emit(self._question(*asked, names) if asked is not None else NO_NOTICE)

    def _question(self, folder: Path, contents: Contents, names: list[str]) -> Notice:
        answers = [("Don't trust", Trust.NO), ("Trust", Trust.ONCE), ("Always trust this folder", Trust.ALWAYS)]
        changed = self._trust.changes(folder)
        text, lines = f"Do you trust the blocks that now lie beside {self.name}?", [f"{folder}/{n}" for n in names]
        if changed:
            number = f"{plural(len(changed), 'file')} {'has' if len(changed) == 1 else 'have'}"
            text = f"Do you still trust the blocks beside {self.name}? {number} changed since you trusted them."
            lines = list(map(str, changed))
        return Notice(
            f"{text} If trusted, they can do everything that you can do:",
            tuple(map(in_a_line, lines)),
            self._showing(changed)
            + tuple((text, partial(self._answer_for_blocks, folder, answer, contents)) for text, answer in answers),
        )

    def _answer_for_blocks(self, folder: Path, answer: Trust, contents: Contents) -> None:
        self._remember_trust(folder, answer, contents)
        self.look_for_blocks()

    def _follow_trusted(self) -> None:
        """Trust what has changed while it was open and trusted, since the person works on it."""
        patch, blocks = self._session.patch, self._session.blocks
        try:
            if blocks is not None:
                self._trust.follow(blocks, self._trust.contents(blocks))
            if patch is not None and patch.path is not None and patch.trusted and not self._session.is_modified:
                self._trust.follow(patch.path, self._known_contents(patch.path, patch.file_digest))
        except OSError as problem:
            self._tell_of_trust(problem)

    def _known_contents(self, path: Path, file_digest: bytes) -> Contents:
        """Return the contents of the patch's file that were read or written here, without later ones."""
        now = self._trust.contents(path)
        known = dict.fromkeys(now.digests, file_digest.hex())
        return now if now.digests == known else Contents(known)

    def open_example(self, path: Path) -> bool:
        """Open an example; saving it asks for another file, so that the example does not change."""
        opened = self.open_path(path)
        self._is_copy = self._is_copy or opened
        return opened

    def close(self) -> None:
        """Close the patch and return to the examples."""
        if self.may_close():
            self._recovery.clear()
            self._session.replace(None)

    def recover(self, found: Recovered) -> bool:
        """Offer unsaved work from a crash; it stays unsaved until the person saves it.

        Return False when nothing was opened.
        """
        path = found.path
        try:
            changed = bool(found.patch_differences())
            lines = found.differences()
            if not lines or not dialogs.ask_to_recover(self._window, path.name if path else "", lines):
                found.discard()
                return False
            blocks = self._trusted_blocks(path) if path is not None else None
            patch = found.open()  # read again, since its blocks may be known now
        except WarploomError as problem:
            dialogs.show_error(self._window, "The unsaved work can't be opened", str(problem))
            found.leave()
            return False
        patch.trusted = path is not None and bool(self._trust.decision(path))
        self._session.replace(patch, is_saved=not changed, blocks=blocks)
        self.drafts.replace(found.drafts)
        self._is_copy = path is not None and path.resolve().parent == EXAMPLES_FOLDER
        try:
            self._recovery.write(patch, self.drafts.all()).result()
            found.discard()
        except OSError as problem:
            found.leave()
            self._tell_of_copy(problem)
        return True

    def save(self) -> bool:
        """Save to the patch's file, or ask for one."""
        self._session.enter_typed()
        patch = self._session.patch
        if patch is None or patch.path is None or self._is_copy:
            return self.save_as()
        outside = look_outside(patch)
        if outside is not None and not outside.is_gone and (outside.lines or outside.patch is None):
            answer = dialogs.ask_to_overwrite(self._window, outside.text, outside.lines)
            if answer is not UnsavedChoice.SAVE:
                return answer is UnsavedChoice.SAVE_AS and self.save_as()
        return self._save_to(patch.path)

    def save_as(self) -> bool:
        """Ask for a file and save to it. Return False if the person cancelled or saving failed."""
        self._session.enter_typed()
        path = dialogs.ask_save(self._window, self._folder() / f"{self.name}{SUFFIX}")
        return path is not None and self._save_to(path)

    def may_close(self) -> bool:
        """Ask about unsaved changes. Return False if the person wants to stay."""
        self._session.enter_typed()
        may_close = True
        if self.has_unsaved:
            unsaved = [self.name] * self._session.is_modified
            unsaved += [in_a_line(draft.place.name(self._session.patch)) for draft in self.drafts.all()]
            answer = dialogs.ask_about_changes(self._window, " and ".join(unsaved))
            may_close = self._save_all() if answer is UnsavedChoice.SAVE else answer is UnsavedChoice.DISCARD
        if may_close:
            self._follow_trusted()
        return may_close

    def _save_all(self) -> bool:
        """Save the patch and typed code. Return False if the person cancelled or saving failed."""
        if self._session.is_modified and not self.save():
            return False
        try:
            self.drafts.save_all()
        except OSError as problem:
            dialogs.show_error(self._window, "The code can't be saved", str(problem))
            return False
        return True

    def autosave(self) -> None:
        """Keep a copy of unsaved work, in case the editor crashes."""
        if self._copying is not None and not self._copying.done():
            self._autosave.start(_AGAIN_MS)  # the last copy is being written: a large patch on a slow disk
        elif self._session.patch is not None and self.has_unsaved:
            self._copying = self._recovery.write(self._session.patch, self.drafts.all())
            self._copying.add_done_callback(lambda copied: self._tell_of_copy(copied.exception()))

    def _tell_of_copy(self, problem: BaseException | None) -> None:
        if problem is not None:
            self.noted.emit(f"unsaved work must be writable to the recovery folder, got: {problem}")

    def _on_changed(self) -> None:
        if not self.has_unsaved:
            self._recovery.clear()
        elif not self._autosave.isActive():
            self._autosave.start(_AUTOSAVE_MS)

    def _trusted_blocks(self, path: Path, *, trust: bool = False) -> Path | None:
        """Return the folder of blocks beside a file, if it exists and may run."""
        folder = folder_beside(path.resolve().parent) if path.is_file() else None
        if folder is None or not python_files(folder):
            return None
        known = True if trust else self._trust.decision(folder)
        if known is None and not self._trust.changes(folder):  # a banner asks about changes
            if has_other_types(path):
                known = self._ask_to_trust(folder)
            else:
                self._asked_about = folder, self._trust.contents(folder)  # ask only if they change
                self.noted.emit(f"This patch uses no block of {folder}. To use them: File > Trust")
        return folder if known else None

    def _ask_to_trust(self, folder: Path) -> bool:
        contents = self._trust.contents(folder)
        answer = dialogs.ask_to_trust(self._window, folder, _names(folder))
        self._remember_trust(folder, answer, contents)
        return bool(self._trust.decision(folder))  # if it has changed meanwhile, a banner asks again

    def _remember_trust(self, path: Path, answer: Trust, contents: Contents) -> None:
        try:
            self._trust.decide(path, answer, contents)
        except OSError as problem:
            self._tell_of_trust(problem)

    def _tell_of_trust(self, problem: OSError) -> None:
        self.noted.emit(f"trust must be writable to the state folder, got: {problem}")

    def _save_to(self, path: Path) -> bool:
        if path.resolve().parent == EXAMPLES_FOLDER:
            text = "Examples can't be changed: save the patch in another folder."
            dialogs.show_error(self._window, f"{path.name} can't be saved", text)
            return False
        try:
            if self._recovery.is_used and self._session.patch is not None:
                # If the editor is killed before it deletes a copy, a copy older than the file must not be offered.
                wait([self._recovery.write(self._session.patch, self.drafts.all())])
            self._session.save(path)
        except WarploomError as problem:
            dialogs.show_error(self._window, f"{path.name} can't be saved", str(problem))
            return False
        self._is_copy = False
        if not self.drafts.all():
            self._recovery.clear()
        self._remember(path)
        self._follow_trusted()
        blocks = self._session.blocks
        if blocks is not None and blocks.parent != path.resolve().parent:
            self.noted.emit(
                f"Saved {path}. Its blocks stay in {blocks}: copy that folder beside the patch before you open it again"
            )
        else:
            self.noted.emit(f"Saved {path}")
        return True

    def _remember(self, path: Path) -> None:
        self._state.add_recent(path)
        self.recent_changed.emit()

    def _folder(self) -> Path:
        if self._session.path is not None and not self._is_copy:
            return self._session.path.parent
        if self._session.blocks is not None and self._session.blocks.parent != EXAMPLES_FOLDER:
            return self._session.blocks.parent  # the patch's own code lies there
        folders = (path.parent for path in self._state.existing_recent())
        return next((folder for folder in folders if folder.resolve() != EXAMPLES_FOLDER), Path.home())


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


def _names(folder: Path) -> list[str]:
    """Return the block files of a folder."""
    return [str(file.relative_to(folder)) for file in python_files(folder)]
