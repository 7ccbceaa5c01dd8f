"""The questions that were sent to a process and have no answer yet."""

import threading
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from itertools import count

import msgspec

from warploom.engine.diagnostics import DeviceError


class OpenQuestions:
    """Waiting questions by their numbers, for any thread. Each gets an answer or an error, once."""

    def __init__(self) -> None:
        self.numbers = count(1)
        self._lock = threading.Lock()
        self._waiting: dict[int, Future[bytes]] = {}
        #: Why no question can be answered any more.
        self.failure: DeviceError | None = None

    def expect(self, number: int) -> Future[bytes]:
        """Return the coming answer to the question of a number. Raise DeviceError after `end`."""
        future: Future[bytes] = Future()
        with self._lock:
            if self.failure is not None:
                raise self.failure
            self._waiting[number] = future
        return future

    def answer(self, number: int, answer: bytes | Exception) -> None:
        """Give a question its answer, or the error that refuses it. Raise DecodeError if it was not asked."""
        future = self._waiting.pop(number, None)
        if future is None:
            raise msgspec.DecodeError(f"an answer must be to a question that was asked, got number {number}")
        _settle(future, answer)

    def fail(self, problem: DeviceError) -> None:
        """End the questions so far with an error; answers that arrive later are dropped."""
        with self._lock:
            waiting = list(self._waiting.values())
        for future in waiting:
            _settle(future, problem)

    def end(self, failure: DeviceError) -> None:
        """End all questions with an error, also later ones."""
        with self._lock:
            self.failure = failure
            waiting, self._waiting = self._waiting, {}
        for future in waiting.values():
            _settle(future, failure)


def _settle(future: "Future[bytes]", answer: bytes | Exception) -> None:
    with suppress(InvalidStateError):  # it failed before, when the process was silent
        if isinstance(answer, Exception):
            future.set_exception(answer)
        else:
            future.set_result(answer)
