"""Writes pictures on a thread of their own."""

import atexit
import queue
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from warploom.engine.diagnostics import PatchError

Array = np.ndarray[Any, Any]

#: Pictures that may wait for the encoder.
WAITING = 8


class PictureWriter(ABC):
    """Encodes pictures of one size on its own thread. Methods are for one thread at a time.

    What is being written when the program ends is finished then.
    """

    def __init__(self, path: Path, width: int, height: int) -> None:
        self.path, self.width, self.height = path, width, height
        self._waiting: queue.Queue[Callable[[], None] | None] = queue.Queue(WAITING)
        self._problem: PatchError | None = None
        self._is_closed = False
        #: The number of the newest picture, -1 before the first one.
        self.last = -1
        self._thread = threading.Thread(target=self._run, name="warploom-writer", daemon=True)

    def _begin(self) -> None:
        self._thread.start()
        atexit.register(self._join)

    @property
    def waiting(self) -> int:
        """The number of pictures that wait for the encoder."""
        return self._waiting.qsize()

    def write(self, pixels: Array, number: int | None = None, *, wait: bool = True) -> bool:
        """Add a picture, which must not change afterwards: sRGB with straight alpha, u8 or u16[height, width, 4].

        It is shown from `number` frames after the start, which must grow from picture to picture, or as the next one.
        Return False if it was dropped, since the encoder is late and `wait` is false. Raise PatchError if nothing more
        can be written.
        """
        number = self.last + 1 if number is None else number
        if not self._put(lambda: self._encode(pixels, number), wait):
            return False
        self.last = number
        return True

    @property
    def is_done(self) -> bool:
        """True once everything is written."""
        return not self._thread.is_alive()

    def close(self, *, wait: bool = True) -> None:
        """Write what waits, and end; without `wait`, later, on the thread.

        Raise PatchError if something could not be written.
        """
        self._is_closed = True
        if wait:
            self._join()
        else:
            self._wake()
        if self._problem is not None:
            raise self._problem

    def _join(self) -> None:
        self._is_closed = True
        while self._thread.is_alive():
            self._wake()
            self._thread.join(0.05)
        atexit.unregister(self._join)

    def _wake(self) -> None:
        """Let the thread look whether it is closed; it does so after each work, too."""
        with suppress(queue.Full):
            self._waiting.put_nowait(None)

    def _put(self, work: Callable[[], None], wait: bool) -> bool:
        if self._problem is not None:
            raise self._problem
        try:
            self._waiting.put(work, block=wait)
        except queue.Full:
            return False
        return True

    def _run(self) -> None:
        self._try(self._open)
        while True:
            work = self._waiting.get()
            if work is not None and self._problem is None:
                self._try(work)
            if self._is_closed and self._waiting.empty():
                break
        self._try(lambda: self._end(finishes=self._problem is None))

    def _try(self, work: Callable[[], None]) -> None:
        try:
            work()
        except PatchError as problem:
            self._problem = self._problem or problem
        except Exception as problem:  # noqa: BLE001 - whatever a library raises is told to the caller
            self._problem = self._problem or PatchError(f"{self.path} must be writable, got: {reason_of(problem)}")

    @abstractmethod
    def _open(self) -> None:
        """Open the file, on the thread, unless it is open."""

    @abstractmethod
    def _encode(self, pixels: Array, number: int) -> None:
        """Write a picture, on the thread."""

    @abstractmethod
    def _end(self, *, finishes: bool) -> None:
        """Close files, on the thread; `finishes` is false after a problem."""


def reason_of(problem: Exception) -> str:
    """Return why something can't be read or written, for the end of a message."""
    return str(getattr(problem, "strerror", None) or problem or type(problem).__name__)
