"""`Reading`: the contents of files at the time when a result was made from them. Each question about the disk is asked
once.

The ports and the code of a kernel come from the same bytes since both are made with the same reading, even if its files
are saved meanwhile. A reading holds as long as the disk gives the same answers: the contents of files, and the absence
of files that were looked for. So a result of files is never older than the files if its reading is compared with the
disk on use.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property, wraps
from inspect import unwrap
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from warploom.engine.arguments import checked
from warploom.engine.platforms.files import reading_flags
from warploom.engine.platforms.paths import reachable

T = TypeVar("T")
#: A question about a path; answers are compared, and shown by `repr` where a digest is made of them.
PathQuestion = Callable[[Path], Any]
#: A file that was written less than this before it was read may be written again within one tick of the file system's
#: clock, so that only its contents show the change.
_RACY_NS = 100_000_000
_NO_FILE = "it is not a file"
#: The most bytes of a file that is kept as a whole, such as a kernel's text or a header.
MOST_KEPT = 16 << 20


#: The folder in which the files of another machine lie, each at its path there; None if the files are of this machine.
_mirror: Path | None = None


def mirror_in(folder: Path | None) -> None:
    """Have this process, the engine of a patch on another machine, use that machine's files in a folder."""
    global _mirror
    _mirror = folder


def here(path: Path) -> Path:
    """Return where a file lies on this machine, given its whole path on the machine of the patch."""
    if _mirror is None or not path.is_absolute() or path.is_relative_to(_mirror):
        return path
    return _mirror / path.relative_to(path.anchor)


def answered(question: Callable[[Path], T]) -> Callable[[Path], T]:
    """Have the readings that are under way answer a question about a path; without one, the disk answers."""

    @wraps(question)
    def answer(path: Path) -> T:
        known: T = _answer(_under_way.get(), question, path)
        return known

    return answer


def _answer(readings: tuple[Reading, ...], question: PathQuestion, path: Path) -> Any:
    """Return the answer of the last reading, which passes an unknown question to the one before it."""
    if not readings:
        return question(path)
    answers, key = readings[-1].answers, (question, path)
    if key not in answers:
        answers[key] = _answer(readings[:-1], question, path)
    return answers[key]


@answered
def content(path: Path) -> bytes | str:
    """Return a file's contents, or why it can't be read: the system's reason, or that it is larger than `MOST_KEPT`."""
    held, reason = _read(path, MOST_KEPT)
    return held if reason is None else _text(reason)


@answered
def digest(path: Path) -> bytes | str:
    """Return a digest of a file's contents, or why it can't be read: for files that are too large to be kept."""
    return _digest_of(*_read(path))


@checked()
def read_bytes(path: Path, most_bytes: int = sys.maxsize) -> bytes:
    """Return a file's contents, of which the current readings keep only a digest.

    Raise OSError if it can't be read, or is larger than `most_bytes`.
    """
    held, reason = _read(path, most_bytes)
    for reading in _under_way.get():
        reading.answers.setdefault((unwrap(digest), path), _digest_of(held, reason))
    if reason is not None:
        raise reason
    return held


@checked()
def open_file(path: Path) -> BinaryIO:
    """Open a file that is read in pieces, of which the current readings keep only the size and times.

    Raise OSError if it can't be opened.
    """
    stamp(path)  # first, so that a file that is replaced meanwhile has changed
    file, reason = _open(path)
    if file is None:
        assert reason is not None
        raise reason
    return file


@answered
def is_file(path: Path) -> bool:
    """True for a file that is there; an overlong name is not a file."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


@answered
def is_pipe(path: Path) -> bool:
    """True for a pipe or a device, which might never end, or anything else that is neither a file nor a folder."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


#: Returns a path whose symbolic links are followed.
resolved = answered(Path.resolve)


def _open(path: Path) -> tuple[BinaryIO | None, OSError | None]:
    try:
        if unwrap(is_pipe)(path):
            raise OSError(errno.EINVAL, _NO_FILE)
        # Without waiting, since a pipe may have taken the file's place just now.
        descriptor = os.open(reachable(str(path.absolute())), reading_flags())
        try:
            found = os.fstat(descriptor)
            if stat.S_ISDIR(found.st_mode):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
            if not stat.S_ISREG(found.st_mode):
                raise OSError(errno.EINVAL, _NO_FILE)
            return os.fdopen(descriptor, "rb"), None
        except OSError:
            os.close(descriptor)
            raise
    except OSError as reason:
        return None, reason
    except ValueError as reason:  # no path has a NUL in it
        return None, OSError(errno.ENOENT, str(reason))


def _read(path: Path, most_bytes: int = sys.maxsize) -> tuple[bytes, OSError | None]:
    file, reason = _open(path)
    if file is None:
        return b"", reason
    with file:
        try:
            if os.fstat(file.fileno()).st_size > most_bytes:
                raise OSError(errno.EFBIG, f"it has more than {most_bytes >> 20} MB")
            return file.read(), None
        except OSError as reason:
            return b"", reason


def _digest_of(held: bytes, reason: OSError | None) -> bytes | str:
    return hashlib.sha256(held).digest() if reason is None else _text(reason)


def _text(reason: OSError) -> str:
    return reason.strerror or str(reason)


class Reading:
    """The answers that the disk gave to questions about it.

    Inside `with reading.under_way()`, `content`, `is_file` and the like get its answers; it asks the disk for those
    that it doesn't have. Readings nest: the inner one asks the outer one. Two that hold the same answers are equal; one
    that is still being filled must not be compared.
    """

    def __init__(self, reach: Path | None = None) -> None:
        #: The folder of a patch that isn't trusted: what its kernels include must lie there, or be the person's own.
        self.reach = reach
        #: By question and path.
        self.answers: dict[tuple[PathQuestion, Path], Any] = {}

    def altered(self, change: Callable[[Path, bytes], bytes]) -> Reading:
        """Return this reading with other contents of files; it no longer holds on the disk."""
        made = Reading(self.reach)
        for (question, path), answer in self.answers.items():
            is_text = question is unwrap(content) and isinstance(answer, bytes)
            made.answers[question, path] = change(path, answer) if is_text else answer
        return made

    @contextmanager
    def under_way(self, *, alone: bool = False) -> Iterator[None]:
        """Let this reading answer questions in the context, on this thread; with `alone`, no other reading answers."""
        token = _under_way.set((self,) if alone else (*_under_way.get(), self))
        try:
            yield
        finally:
            _under_way.reset(token)

    @property
    def files(self) -> frozenset[Path]:
        """Every path that was asked about, there or not, if a file can have its name."""
        return frozenset(path for _, path in tuple(self.answers) if "\0" not in str(path))

    @property
    def looked_at(self) -> frozenset[Path]:
        """The files that were looked for or read, there or not, and the links to them: not those out of `reach`."""
        about = tuple(unwrap(question) for question in (content, digest, is_file, is_pipe))
        answers = tuple(self.answers.items())
        files = {path for (question, path), _ in answers if question in about}
        links = {path for (question, path), real in answers if question is unwrap(resolved) and real in files}
        return frozenset(path for path in files | links if "\0" not in str(path))

    def changed(
        self, disk: Callable[[PathQuestion, Path], Any] = lambda question, path: question(path)
    ) -> frozenset[Path]:
        """Return the paths for which `disk` has another answer now."""
        return frozenset(key[1] for key, answer in tuple(self.answers.items()) if disk(*key) != answer)

    @cached_property
    def key(self) -> str:
        """A digest of all answers."""
        answers = sorted((asked.__qualname__, str(path), repr(reply)) for (asked, path), reply in self.answers.items())
        return hashlib.sha256(repr((str(self.reach), answers)).encode()).hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reading) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


_under_way: ContextVar[tuple[Reading, ...]] = ContextVar("readings", default=())


def reach() -> Path | None:
    """Return the folder that limits the current readings, see `Reading.reach`; None when nothing limits them."""
    return next((reading.reach for reading in _under_way.get() if reading.reach is not None), None)


class Disk:
    """Answers questions as the disk does, and reads again only files whose size, times or number have changed.

    A time of change can't be set, so a file with the same stamp has the same contents, unless it has just been written.
    It is meant for callers that ask several times a second.
    """

    def __init__(self) -> None:
        #: By question and path: the file's stamp, when the disk was asked, and the answer.
        self._known: dict[tuple[PathQuestion, Path], tuple[tuple[int, ...] | None, int, Any]] = {}
        #: If not None, earlier answers hold for all other paths.
        self.touched: frozenset[Path] | None = None

    def ask(self, question: PathQuestion, path: Path) -> Any:
        """Return the answer to a question about a path."""
        question = unwrap(question)
        known = self._known.get((question, path))
        if known is not None and self.touched is not None and path not in self.touched:
            return known[2]
        now = stamp_of(path) if question in (unwrap(content), unwrap(digest)) else None
        if known is not None and now is not None and known[0] == now and known[1] - now[-1] > _RACY_NS:
            return known[2]
        asked_ns = time.time_ns()
        answer = question(path)
        self._known[question, path] = now, asked_ns, answer
        return answer


def stamp_of(path: Path) -> tuple[int, ...] | None:
    """Return a file's number, size and times, the last of which can't be set; None when there is no file."""
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


#: Asks for the stamp of a file that is read in pieces.
stamp = answered(stamp_of)
