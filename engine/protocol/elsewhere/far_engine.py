"""`FarEngine`: what a client does for an engine that sees other files."""

import logging
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from itertools import count
from pathlib import Path
from typing import Any, cast

from msgspec.structs import replace

from warploom.engine.diagnostics import DeviceError, Diagnostic, error
from warploom.engine.patch.document import Patch
from warploom.engine.patch.files import EXAMPLES_FOLDER, write_atomically
from warploom.engine.patch.trust import SavePlace
from warploom.engine.platforms.paths import path_of
from warploom.engine.protocol.child.encoding import Alive, encode
from warploom.engine.protocol.elsewhere.files import FilesOfPatch, sha256
from warploom.engine.protocol.elsewhere.line import Line, Parts, packed, unpacked
from warploom.engine.protocol.elsewhere.messages import CodedPicture, Content, Got, Lacks, Packed, Part, Written
from warploom.engine.protocol.elsewhere.pictures import decoded
from warploom.engine.protocol.messages import Message, Saved
from warploom.engine.protocol.questions import Answer, Question, SaveTo, WatchFiles

_log = logging.getLogger(__name__)
#: Interval at which files are compared with what the engine has.
LOOK_S = 0.4
#: The engine ends after a silence, so it hears something in so many looks.
_LOOKS_A_SIGN = 10
#: How many files are read ahead of the line.
_AHEAD = 2


class FarEngine:
    """Sends the files of a patch, and keeps the backlog on the line short; a thread of its own looks for saves.

    `send` queues a frame; an empty one only asks the writer to call `next_part`. `asks` registers a question by its
    number. `tells` reports a problem.
    """

    def __init__(
        self,
        patch: Patch,
        numbers: "count[int]",
        send: Callable[[bytes], None],
        asks: Callable[[int], Future[bytes]],
        tells: Callable[[Diagnostic], None],
    ) -> None:
        self._numbers, self._send, self._asks, self._tells = numbers, send, asks, tells
        self._patch, self._files = patch, FilesOfPatch(patch)
        #: The folders where the person has outputs saved.
        self._folders: set[Path] = set()
        self._line, self._parts = Line(), Parts()
        self._looking = threading.Lock()
        self._placed: Future[bytes] = Future()
        #: The digests that the engine lacks, and frames with contents that were read already.
        self._lacking: deque[bytes] = deque()
        self._ready: deque[bytes] = deque()
        self._wanted = self._delivered = 0
        self._is_started, self._wake = threading.Event(), threading.Event()
        self._is_closed = False
        self._thread = threading.Thread(target=self._look_on, name="files of the patch", daemon=True)

    def start(self) -> bytes:
        """Begin, and return the first frame for the engine; empty if its process has ended."""
        try:
            with self._looking:
                frame = self._changes()
        except DeviceError as problem:
            self._placed.set_exception(problem)
            return b""
        finally:
            self._is_started.set()
        self._thread.start()
        return frame

    def close(self) -> None:
        """End the thread."""
        self._is_closed = True
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join()

    @property
    def waits_for(self) -> str:
        """How much of the lacking files was sent; "" when the engine has all."""
        if self._placed.done() or not self._wanted:
            return ""
        return f"sending files, {self._delivered / 1e6:.1f} of {self._wanted / 1e6:.1f} MB"

    def follow(self, message: Message) -> None:
        """Follow a message to the engine."""
        self._files.follow(message)

    def follow_types(self) -> None:
        """Note that block types have changed."""
        self._files.follow_types()
        self._wake.set()

    def placed(self, question: Question[Answer]) -> Question[Answer]:
        """Return a question whose paths are whole, for an engine with another working folder."""
        if isinstance(question, SaveTo) and question.folder is not None:
            whole = question.folder.absolute()
            self._folders.add(whole)
            return cast("Question[Answer]", SaveTo(whole))
        if isinstance(question, WatchFiles):
            return cast("Question[Answer]", WatchFiles(tuple(map(Path.absolute, question.folders))))
        return question

    def settle(self) -> None:
        """Wait until the engine has all files as they are now. Raise DeviceError if it has ended."""
        self._is_started.wait()
        self._look()
        self._placed.result()

    def take(self, message: Any, size: int) -> Any:
        """Follow a frame of `size` bytes; see `unwrap`."""
        if not isinstance(message, Got):
            self._send(encode(Got(size)))
        return self.unwrap(message)

    def unwrap(self, message: Any) -> Any:
        """Return the message that is in a message, as bytes if it is encoded; None if there is none."""
        match message:
            case Got(received):
                self._line.receives(received)
                self._send(b"")
            case Lacks(digests):
                sizes = {each: self._size(each) for each in digests}
                self._wanted += sum(sizes.values())
                self._lacking.extend(sorted(sizes, key=sizes.__getitem__))  # kernels before pictures
                self._wake.set()
            case Part():
                return self._parts.take(message)
            case Packed():
                return unpacked(message)
            case CodedPicture():
                return decoded(message)
            case Written(saved, data, is_event):
                written = self._write(saved, data)
                return written if is_event else None
            case _:
                return message
        return None

    def leaving(self, frame: bytes) -> bytes:
        """Return a frame as it is sent."""
        return self._line.leaving(frame)

    def next_part(self) -> bytes | None:
        """Return the next part of a file that the line takes now."""
        if not self._line.is_sending and self._ready:
            self._line.begin(self._ready.popleft())
            self._wake.set()
        part = self._line.part()
        self._delivered += len(part or b"")
        return part

    def _write(self, saved: Saved, data: bytes) -> Saved | None:
        """Write a file that the patch has written there, where it may write one here."""
        patch, path = self._patch, path_of(saved.path or "")
        folders = [folder for folder in self._folders if path.is_relative_to(folder)]
        place = SavePlace(patch.folder, folders[0] if folders else None, patch.trusted)
        if not folders and patch.folder == EXAMPLES_FOLDER and path.is_relative_to(EXAMPLES_FOLDER):
            path = place.base / path.relative_to(EXAMPLES_FOLDER)
        problem = place.refusal(saved.node, path)
        if problem is None:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                write_atomically(path, data)
                return replace(saved, path=str(path))
            except OSError as reason:
                problem = error(f"output must be writable as {path}, got {reason}", node=saved.node)
        self._tells(problem)
        return None

    def _size(self, digest: bytes) -> int:
        try:
            return next((path.stat().st_size for path in self._files.paths(digest)), 0)
        except OSError:
            return 0

    def _changes(self) -> bytes:
        """Return a frame with what has changed in the files, or nothing."""
        is_failed = self._placed.done() and self._placed.exception() is not None  # the line was lost for a while
        files, problems = self._files.look(number := next(self._numbers), always=is_failed)
        for problem in problems:
            self._tells(problem)
        if files is None:
            return b""
        self._placed = self._asks(number)
        self._files.note_sent()
        _log.info("%d files of the patch have changed", len(files.present) + len(files.gone))
        return encode(files)

    def _look(self) -> None:
        with self._looking:  # changes must be sent in order
            if frame := self._changes():
                self._send(frame)

    def _look_on(self) -> None:
        looks = 0
        while not self._is_closed:
            try:
                self._look()
                while self._lacking and len(self._ready) < _AHEAD:
                    self._read(self._lacking.popleft())
            except DeviceError:
                pass  # its process has ended, or is silent; a later look sends what has changed
            except Exception:  # noqa: BLE001 - a failed look must not end the watch
                _log.exception("files of the patch could not be followed")
            looks += 1
            if looks % _LOOKS_A_SIGN == 0:
                self._send(encode(Alive()))
            self._wake.wait(LOOK_S)
            self._wake.clear()

    def _read(self, digest: bytes) -> None:
        for path in self._files.paths(digest):
            try:
                data = path.read_bytes()
            except OSError:
                continue
            if sha256(data) == digest:
                self._ready.append(packed(encode(Content(data)), waits=True))
                self._send(b"")
                return
        # It was saved since; the next look sends its new digest.
