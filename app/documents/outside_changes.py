"""Notices when other programs change the patch's file, and asks the person what to do."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal

from warploom.app.documents.session import Session
from warploom.app.widgets.banner import NO_NOTICE, Notice
from warploom.engine.diagnostics import PatchError
from warploom.engine.patch.document import Patch
from warploom.engine.patch.editing.comparison import describe_difference
from warploom.engine.patch.files import MOST_BYTES, file_version, read_patch
from warploom.engine.readings import read_bytes

#: The interval for checking the file's times and size, since network drives don't announce changes.
_INTERVAL_MS = 500
_GONE = b"no file"


@dataclass(frozen=True)
class Outside:
    """The current contents of a patch's file, if they differ from those last read or written here.

    `patch` is None if the file is gone or not a patch; `lines` list the differences, or the reason why the file can't
    be read.
    """

    text: str
    lines: tuple[str, ...]
    digest: bytes
    patch: Patch | None = None

    @property
    def is_gone(self) -> bool:
        """True if the file no longer exists."""
        return self.digest == _GONE


def look_outside(patch: Patch) -> Outside | None:
    """Return how other programs have changed a patch's file; None if unchanged, or if it was never saved."""
    path = patch.path
    if path is None or not patch.file_digest:
        return None
    try:
        data = read_bytes(path, MOST_BYTES)
    except FileNotFoundError:
        told = (
            f"{path.name} was deleted or moved by another program. Your patch is kept; saving it writes the file again."
        )
        return None if patch.file_digest == _GONE else Outside(told, (), _GONE)
    except OSError as problem:
        found, data = file_version(str(problem).encode()), b""
        told, reason = f"{path.name} can no longer be read. Your patch is kept.", problem.strerror or str(problem)
        return None if patch.file_digest == found else Outside(told, (reason,), found)
    found = file_version(data)
    if found == patch.file_digest:
        return None
    try:
        theirs = read_patch(data, path, patch.catalogue)
    except PatchError as problem:
        told = f"{path.name} was changed by another program and is no longer a patch. Your patch is kept."
        return Outside(told, (str(problem),), found)
    lines = tuple(describe_difference(patch, theirs))
    return Outside(
        f"{path.name} was changed by another program. Compared with your patch, the file has:", lines, found, theirs
    )


class OutsideChanges(QObject):
    """Watches the file of the session's patch, and asks with a notice."""

    #: The question to show; `NO_NOTICE` if there is none, or it was answered.
    noticed = Signal(Notice)

    def __init__(self, session: Session, save_as: Callable[[], object], parent: QObject) -> None:
        super().__init__(parent)
        self._session, self._save_as = session, save_as
        self._seen: object = None
        self._stamp: object = None
        self._timer = QTimer(self, interval=_INTERVAL_MS)
        self._timer.timeout.connect(self.look)
        self._timer.start()

    def look(self) -> None:
        """Ask what to do if the file has changed and is no longer being written."""
        patch = self._session.patch
        before, self._stamp = self._stamp, _stamp(patch.path) if patch is not None and patch.path is not None else None
        seen = (patch and patch.path, patch and patch.file_digest, self._stamp)
        if self._stamp != before or seen == self._seen:
            return
        self._seen = seen
        outside = look_outside(patch) if patch is not None else None
        if outside is not None and outside.patch is not None and not outside.lines:
            self._session.reload(outside.patch)  # the text differs, but the patch is the same
            outside = None
        self._session.set_file_differs(outside is not None)
        self.noticed.emit(NO_NOTICE if outside is None else self._notice(outside))

    def _notice(self, outside: Outside) -> Notice:
        reload = (("Reload", lambda: self._reload(outside)),) if outside.patch is not None else ()
        keep = ("Keep mine", lambda: self._keep(outside)), ("Save mine as …", self._save_as)
        return Notice(outside.text, outside.lines, (*reload, *keep))

    def _reload(self, outside: Outside) -> None:
        """Load the file's current contents, as one edit that can be undone."""
        self._session.enter_typed()  # so that undo also restores text that is being typed
        patch = self._session.patch
        newest = look_outside(patch) if patch is not None else None
        if newest is not None and newest.patch is not None:
            self._session.reload(newest.patch)
            self.noticed.emit(NO_NOTICE)
        else:
            self._seen = None  # the file has changed again since, so ask again

    def _keep(self, outside: Outside) -> None:
        self._session.keep(outside.digest)
        self.noticed.emit(NO_NOTICE)


def _stamp(path: Path) -> object:
    try:
        status = path.stat()
    except OSError as problem:
        return problem.errno
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
