"""Recovery: a copy of unsaved work in the user's state folder, offered again after a crash.

Every running editor owns one slot: a lock file, and beside it the copy while there is unsaved work. The lock tells a
crashed editor's slot from that of an editor which still runs.
"""

import uuid
from dataclasses import dataclass
from pathlib import Path

import msgspec
from PySide6.QtCore import QLockFile

from engine.patch.document import Patch
from engine.patch.files import dump_patch, parse_patch, write_atomically


class _Copy(msgspec.Struct):
    path: str | None
    patch: str


@dataclass(frozen=True)
class Recovered:
    """Unsaved work that an editor left behind: the patch's text, and the file it was opened from."""

    text: str
    path: Path | None

    def open(self) -> Patch:
        """Return the patch; PatchError when the text is no patch."""
        patch = parse_patch(self.text, "recovered patch")
        patch.path = self.path
        return patch


class RecoverySlot:
    """This editor's place for a copy of its unsaved work."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._file = folder / f"{uuid.uuid4().hex}.json"
        self._lock = _lock(self._file)
        self._lock.tryLock(0)
        self._written: str | None = None

    def write(self, patch: Patch) -> None:
        """Write a copy of `patch`, unless the last one is equal."""
        text = dump_patch(patch)
        if text != self._written:
            copy = _Copy(str(patch.path) if patch.path else None, text)
            write_atomically(self._file, msgspec.json.encode(copy))
            self._written = text

    def clear(self) -> None:
        """Delete the copy: the work is saved, or was discarded."""
        self._file.unlink(missing_ok=True)
        self._written = None

    def close(self) -> None:
        """Delete the copy and release the slot."""
        self.clear()
        self._lock.unlock()


def take_left_behind(folder: Path) -> list[Recovered]:
    """Return the unsaved work of editors that ended without closing, and remove it from the folder."""
    for stale in folder.glob("*.lock"):
        if not stale.with_suffix(".json").exists() and (lock := _lock(stale)).tryLock(0):
            lock.unlock()  # which removes it
    found = []
    for file in sorted(folder.glob("*.json")):
        lock = _lock(file)
        if not lock.tryLock(0):
            continue  # its editor still runs
        try:
            copy = msgspec.json.decode(file.read_bytes(), type=_Copy)
        except (OSError, msgspec.DecodeError):
            lock.unlock()
            continue  # this version can't read it: it stays where it is
        found.append(Recovered(copy.patch, Path(copy.path) if copy.path else None))
        file.unlink()
        lock.unlock()
    return found


def _lock(file: Path) -> QLockFile:
    lock = QLockFile(str(file.with_suffix(".lock")))
    lock.setStaleLockTime(0)  # stale only when its process has ended, never by age
    return lock
