"""`Admission`: has an engine's process run only those texts of block files that its client's process has tried."""

import hashlib
import threading
from collections.abc import Iterable
from pathlib import Path

import msgspec

from warploom.engine.catalogue.block_files import read
from warploom.engine.diagnostics import Diagnostic


class TriedFile(msgspec.Struct, frozen=True):
    """A text of a block file that was run in a process of its own, by the SHA-256 digest of its bytes.

    `harm` says how it has ended or held up that process, if it did. Then no engine runs the text.
    """

    path: Path
    digest: bytes
    harm: Diagnostic | None = None


def digest_of(source: bytes) -> bytes:
    """Return the digest by which a text is known."""
    return hashlib.sha256(source).digest()


class Admission:
    """The texts that may run. Until the client has said which ones, none may; any thread may call it."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._tried: dict[Path, TriedFile] | None = {}
        #: True while a file waits, and so all that would run after it.
        self.is_waited_for = False

    def set_tried(self, tried: Iterable[TriedFile] | None) -> None:
        """Follow the client; with None, it tries no files, and every text may run."""
        with self._changed:
            self._tried = None if tried is None else {each.path: each for each in tried}
            self._changed.notify_all()

    def knows(self, path: Path) -> bool:
        """True if the present text of a file need not wait."""
        tried = self._tried
        return tried is None or ((known := tried.get(path)) is not None and known.digest == digest_of(read(path)))

    def wait(self, path: Path, source: bytes) -> tuple[bytes, Diagnostic | None]:
        """Wait until a file's text was tried; return the text, and why it must not run.

        The file may be saved meanwhile; then the text is the new one, or empty once the file is gone.
        """
        with self._changed:
            while self._tried is not None:
                known = self._tried.get(path)
                if known is not None and known.digest == digest_of(source):
                    return source, known.harm
                self.is_waited_for = True
                self._changed.wait(0.5)
                self.is_waited_for = False
                source = read(path)
                if not path.is_file():
                    break
            return source, None
