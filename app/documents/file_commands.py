"""New, open and save, including unsaved changes, recent files and recovery."""

from concurrent.futures import Future, wait
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtWidgets import QWidget

from warploom.app.documents import dialogs
from warploom.app.documents.code_files.drafts import Drafts
from warploom.app.documents.dialogs import UnsavedChoice, in_a_line
from warploom.app.documents.editor_state import UserState
from warploom.app.documents.outside_changes import look_outside
from warploom.app.documents.recovery import Recovered, RecoverySlot
from warploom.app.documents.session import Session
from warploom.app.documents.trust.questions import TrustQuestions
from warploom.engine.diagnostics import WarploomError
from warploom.engine.figures import plural
from warploom.engine.patch.document import Patch
from warploom.engine.patch.files import EXAMPLES_FOLDER, SUFFIX

#: The time from the first edit after a copy to the next copy. A crash loses this much work, plus the time of writing.
_AUTOSAVE_MS = 1000
#: The interval for asking whether the last copy is written.
_AGAIN_MS = 100


class FileCommands(QObject):
    """The commands of the File menu, on one session."""

    #: The list of recent files changed.
    recent_changed = Signal()
    #: A message that does not interrupt the person.
    noted = Signal(str)

    def __init__(
        self, session: Session, state: UserState, recovery: RecoverySlot, trust: TrustQuestions, window: QWidget
    ) -> None:
        super().__init__(window)
        self._session, self._state, self._recovery, self._window = session, state, recovery, window
        self._trust = trust
        trust.noted.connect(self.noted)
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
            blocks = self._trust.blocks_to_use(path, trust=trust)
            self._session.open(path, blocks=blocks, trust=trust or self._trust.is_trusted(path))
        except WarploomError as problem:
            dialogs.show_error(self._window, f"{path.name} can't be opened", str(problem))
            return False
        self._is_copy = path.resolve().parent == EXAMPLES_FOLDER
        self._recovery.clear()
        self._remember(path)
        self._trust.look_for_blocks()
        return True

    def open_example(self, path: Path) -> bool:
        """Open an example; saving it asks for another file, so that the example does not change."""
        opened = self.open_path(path)
        self._is_copy = self._is_copy or opened
        return opened

    def forget_recent(self) -> None:
        """Empty the list of recent files."""
        self._state.recent.clear()
        self.recent_changed.emit()

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
            blocks = self._trust.blocks_to_use(path) if path is not None else None
            patch = found.open()  # read again, since its blocks may be known now
        except WarploomError as problem:
            dialogs.show_error(self._window, "The unsaved work can't be opened", str(problem))
            found.leave()
            return False
        patch.trusted = path is not None and self._trust.is_trusted(path)
        self._session.replace(patch, is_saved=not changed, blocks=blocks)
        self.drafts.replace(found.drafts)
        self._is_copy = path is not None and path.resolve().parent == EXAMPLES_FOLDER
        try:
            self._recovery.write(patch, self.drafts.all()).result()
            found.discard()
        except OSError as problem:
            found.leave()
            self._report_copy(problem)
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
        path = dialogs.ask_save(self._window, self._folder() / f"{self._session.name}{SUFFIX}")
        return path is not None and self._save_to(path)

    def collect(self) -> None:
        """Save the patch, and copy the files that it reads beside it."""
        patch = self._session.patch
        if patch is None or not self.save() or patch.path is None:
            return
        try:
            found = self._session.collect(patch, patch.path)
        except WarploomError as problem:
            dialogs.show_error(self._window, "The files can't be collected", str(problem))
            return
        missing = f"; missing: {', '.join(found.missing)}" if found.missing else ""
        self.noted.emit(f"Copied {plural(len(found.copies), 'file')} to {patch.folder}{missing}")

    def may_close(self) -> bool:
        """Ask about unsaved changes. Return False if the person wants to stay."""
        self._session.enter_typed()
        may_close = True
        if self.has_unsaved:
            unsaved = [self._session.name] * self._session.is_modified
            unsaved += [in_a_line(draft.place.name(self._session.patch)) for draft in self.drafts.all()]
            answer = dialogs.ask_about_changes(self._window, " and ".join(unsaved))
            may_close = self._save_all() if answer is UnsavedChoice.SAVE else answer is UnsavedChoice.DISCARD
        if may_close:
            self._trust.follow()
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
            self._copying.add_done_callback(lambda copied: self._report_copy(copied.exception()))

    def _report_copy(self, problem: BaseException | None) -> None:
        if problem is not None:
            self.noted.emit(f"unsaved work must be writable to the recovery folder, got: {problem}")

    def _on_changed(self) -> None:
        if not self.has_unsaved:
            self._recovery.clear()
        elif not self._autosave.isActive():
            self._autosave.start(_AUTOSAVE_MS)

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
        self._trust.follow()
        blocks = self._session.blocks
        if blocks is not None and blocks.parent != path.resolve().parent:
            self.noted.emit(
                f"Saved {path}. Its blocks stay in {blocks}: File > Collect files copies them beside the patch"
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
