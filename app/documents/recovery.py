"""Recovery: a copy of unsaved work in the user's state folder, offered again after a crash.

Every running editor owns one slot: a lock file, and beside it a copy while there is unsaved work. The lock
distinguishes a crashed editor's slot from that of a running editor.
"""

import logging
import time
import uuid
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import msgspec
from PySide6.QtCore import QLockFile

from warploom.app.documents.code_files.drafts import Draft
from warploom.engine.decoding import decode_json
from warploom.engine.diagnostics import PatchError
from warploom.engine.patch.document import Patch
from warploom.engine.patch.editing.comparison import describe_difference
from warploom.engine.patch.files import FrozenPatch, dump_patch, load_patch, parse_patch, write_atomically

#: An editor writes its number into its lock at once. A lock that is empty for longer is of one that was killed before.
_EMPTY_S = 5.0
_log = logging.getLogger(__name__)


class _Copy(msgspec.Struct):
    path: str | None
    patch: str
    #: The digest of the file when the editor last read or wrote it.
    file_digest: bytes = b""
    #: Code that was typed and not saved.
    drafts: tuple[Draft, ...] = ()


class Recovered:
    """Unsaved work of a crashed editor. The copy stays until `discard`, and no other editor offers it."""

    def __init__(self, copy: _Copy, file: Path, lock: QLockFile) -> None:
        self._copy, self._file, self._lock = copy, file, lock
        #: The file that the patch was opened from, or saved to.
        self.path = Path(copy.path) if copy.path else None
        #: Code that was typed and not saved.
        self.drafts = tuple(draft for draft in copy.drafts if draft.is_unsaved)

    def open(self) -> Patch:
        """Return the patch. Raise PatchError when the text is not a patch."""
        patch = parse_patch(self._copy.patch, "recovered patch")
        patch.path, patch.file_digest = self.path, self._copy.file_digest
        return patch

    def differences(self) -> list[str]:
        """Return the differences between the work and its files, as text; an empty list when nothing was lost."""
        return [*self.patch_differences(), *(f"typed, not saved: {draft.summary}" for draft in self.drafts)]

    def patch_differences(self) -> list[str]:
        """Return the differences between the patch and its file, as text."""
        work = self.open()
        try:
            saved = load_patch(self.path) if self.path is not None else Patch()
        except PatchError as problem:
            return [str(problem)]
        return describe_difference(saved, work)

    def discard(self) -> None:
        """Delete the copy."""
        self._file.unlink(missing_ok=True)
        self._lock.unlock()

    def leave(self) -> None:
        """Keep the copy for the next start."""
        self._lock.unlock()


class RecoverySlot:
    """This editor's place for a copy of its unsaved work, which a thread writes."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._file = folder / f"{uuid.uuid4().hex}.json"
        self._lock = _lock(self._file)
        self._lock.tryLock(0)
        self._written: tuple[str, tuple[Draft, ...]] | None = None
        self._thread = ThreadPoolExecutor(1, "warploom-recovery")
        #: Whether a copy was requested and not cleared since.
        self.is_used = False

    def write(self, patch: Patch, drafts: tuple[Draft, ...] = ()) -> Future[None]:
        """Write a copy of the present `patch` and of typed code, unless the last copy is equal.

        The future has an OSError, if any.
        """
        self.is_used = True
        path = str(patch.path) if patch.path else None
        return self._thread.submit(self._write, path, FrozenPatch.of(patch), patch.file_digest, drafts)

    def clear(self) -> None:
        """Delete the copy, since the work is saved or discarded."""
        if self.is_used:
            self.is_used = False
            self._thread.submit(self._clear)

    def close(self) -> None:
        """Delete the copy and release the slot, after all requests are done."""
        self.clear()
        self._thread.shutdown()
        self._lock.unlock()

    def _write(self, path: str | None, patch: FrozenPatch, file_digest: bytes, drafts: tuple[Draft, ...]) -> None:
        held = dump_patch(patch), drafts
        if held != self._written:
            write_atomically(self._file, msgspec.json.encode(_Copy(path, held[0], file_digest, drafts)))
            self._written = held

    def _clear(self) -> None:
        self._file.unlink(missing_ok=True)
        self._written = None


def find_left_behind(folder: Path) -> list[Recovered]:
    """Return the unsaved work of crashed editors, and remove their other files from the folder."""
    for stale in folder.glob("*.lock"):
        if not stale.with_suffix(".json").exists() and (lock := _lock_of_ended(stale)) is not None:
            lock.unlock()  # removes the lock file
    for part in folder.glob(".*.json.part"):  # an editor was killed while it moved its copy into place
        if not (folder / part.name[1:-5]).with_suffix(".lock").exists():
            part.unlink(missing_ok=True)
    found = []
    for file in sorted(folder.glob("*.json")):
        lock = _lock_of_ended(file)
        if lock is None:
            continue
        _part(file).unlink(missing_ok=True)
        try:
            found.append(Recovered(decode_json(file.read_bytes(), _Copy), file, lock))
        except (OSError, msgspec.DecodeError) as problem:
            _log.warning("unsaved work in %s can't be read and stays there: %s", file, problem)
            lock.unlock()  # this version can't read the copy, so it stays
    return found


def _lock_of_ended(file: Path) -> QLockFile | None:
    """Lock the slot of an editor that has ended; None for that of a running one."""
    lock = _lock(file)
    if lock.tryLock(0):
        return lock
    with suppress(OSError):
        found = file.with_suffix(".lock").stat()
        if not found.st_size and time.time() - found.st_mtime > _EMPTY_S:
            file.with_suffix(".lock").unlink()
            return lock if lock.tryLock(0) else None
    return None


def _part(file: Path) -> Path:
    """Return the file that holds a new copy until it is complete."""
    return file.with_name(f".{file.name}.part")


def _lock(file: Path) -> QLockFile:
    lock = QLockFile(str(file.with_suffix(".lock")))
    lock.setStaleLockTime(0)  # stale only if its process has ended, whatever its age
    return lock
