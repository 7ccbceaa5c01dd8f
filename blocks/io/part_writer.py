"""Writes files part by part while they are recorded."""

import os
import queue
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from warploom.engine.diagnostics import PatchError

Array = np.ndarray[Any, Any]

#: The parts of a recording that wait to be written; a disk that is slower than the frames loses some.
_MOST_QUEUED = 600


class PartWriter(ABC):
    """Writes parts on a thread of its own. The file takes its place when it is complete.

    Parts have at least one axis, along which they are put together; they must not change afterwards.
    """

    def __init__(self, path: Path, done: Callable[[Path], None]) -> None:
        """`done` is called with the file once it is complete, on the writer's thread."""
        self.path, self._done = path, done
        #: The items of the parts that were given, and those that were lost because the disk was too slow.
        self.length = self.lost = 0
        self._parts: queue.Queue[Array | None] = queue.Queue()
        self._problem: PatchError | None = None
        self._thread = threading.Thread(target=self._run, name="warploom-recording", daemon=True)
        self._thread.start()

    @property
    def problem(self) -> str:
        """Why nothing more can be written, "" if it can."""
        return str(self._problem or "")

    @property
    def is_finished(self) -> bool:
        """True once the file is complete, or has failed."""
        return not self._thread.is_alive()

    def write(self, part: Array, *, waits: bool) -> None:
        """Append a part; if the disk is too slow, wait for it or leave the part out."""
        while waits and self._parts.qsize() >= _MOST_QUEUED and self._thread.is_alive():
            self._thread.join(0.01)
        if self._parts.qsize() >= _MOST_QUEUED:
            self.lost += len(part)
        else:
            self.length += len(part)
            self._parts.put(part)

    def finish(self) -> None:
        """Have the rest written, and the file put into its place, without waiting."""
        self._parts.put(None)

    def close(self) -> None:
        """Write the rest, and put the file into its place. Raise PatchError if that failed."""
        self.finish()
        self._thread.join()
        if self._problem is not None:
            raise self._problem

    @abstractmethod
    def encode(self, partial: Path, parts: Iterator[Array]) -> None:
        """Write all parts to a file, on the thread."""

    def _queued(self) -> Iterator[Array]:
        while (part := self._parts.get()) is not None:
            yield part

    def _run(self) -> None:
        partial = self.path.with_name(f".{self.path.stem}.{os.getpid()}.part{self.path.suffix}")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.encode(partial, self._queued())
            partial.replace(self.path)
            self._done(self.path)
        except Exception as problem:  # noqa: BLE001 - the libraries' errors have no common class
            reason = getattr(problem, "error_string", None) or getattr(problem, "strerror", None) or str(problem)
            self._problem = PatchError(f"file {self.path} must be writable, got: {reason.rstrip('.')}")
            with suppress(OSError):
                partial.unlink()


class Recorder:
    """The file that a block records, and those before it that are not complete yet."""

    def __init__(self) -> None:
        #: The file that is recorded, if there is one.
        self.writer: PartWriter | None = None
        self._ending: list[PartWriter] = []
        #: Why the last file can't be written, "" if it can.
        self.problem = ""

    def begin(self, writer: PartWriter) -> None:
        """Record another file."""
        self.writer, self.problem = writer, ""

    def write(self, part: Array, *, waits: bool) -> None:
        """Append a part to the file; see `PartWriter.write`."""
        assert self.writer is not None
        self.writer.write(part, waits=waits)
        self.problem = self.writer.problem

    def end(self) -> None:
        """Have the file completed, without waiting."""
        if self.writer is not None:
            self.writer.finish()
            self._ending.append(self.writer)
            self.writer = None

    def look(self, *, waits: bool) -> None:
        """Note why files that have ended could not be written; with `waits`, all of them end now."""
        for writer in self._ending.copy():
            if waits or writer.is_finished:
                self._ending.remove(writer)
                try:
                    writer.close()
                except PatchError as problem:
                    self.problem = str(problem)

    def close(self) -> None:
        """Complete all files."""
        self.end()
        self.look(waits=True)
