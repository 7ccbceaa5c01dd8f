"""A thread that makes calls of a person's code, and that can be stopped or abandoned."""

from __future__ import annotations

import ctypes
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from engine.user_code.limits import GRACE_S, TookTooLong


class Batch:
    """Calls to make one after the other, and the results of those that have returned."""

    def __init__(self, calls: Sequence[Callable[[], Any]]) -> None:
        self.calls = calls
        #: How many of the calls to make: fewer than all once one was stopped.
        self.count = len(calls)
        self.results: list[Any] = []
        self.failure: BaseException | None = None
        #: The call that was stopped; if it returns a result after all, the result is ignored.
        self.stopped = -1
        self.done = threading.Lock()
        self.done.acquire()

    @property
    def is_over(self) -> bool:
        """True when no more calls will be made."""
        return len(self.results) >= self.count or self.failure is not None

    def go_on(self, thread: CodeThread) -> None:
        """Make the remaining calls, unless the thread is to end."""
        calls, results = self.calls, self.results
        try:
            while len(results) < self.count and not thread.ended:
                results.append(calls[len(results)]())
        except TookTooLong:
            raise
        except BaseException as problem:  # noqa: BLE001 - a mistake of Warploom's, for the thread that waits
            self.failure = problem
        self.done.release()


class CodeThread:
    """A thread that makes the calls of one batch after another until it is ended."""

    def __init__(self) -> None:
        self.batch: Batch | None = None
        self.ended = False
        self._wake = threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run, name="warploom-user-code", daemon=True)
        self._thread.start()

    def begin(self, batch: Batch) -> None:
        """Make the calls of a batch; the previous batch must be done."""
        self.batch = batch
        self._wake.release()

    def end(self) -> None:
        """End the thread after the current call."""
        self.ended = True
        self._wake.release()

    def stop_call(self) -> None:
        """Raise TookTooLong in the thread, once it runs Python code again."""
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self.ident), ctypes.py_object(TookTooLong))

    def join(self) -> None:
        """Wait for the end, unless a call is running."""
        if self.batch is None or self.batch.is_over:
            self._thread.join(GRACE_S)

    @property
    def is_alive(self) -> bool:
        """True until it has ended."""
        return self._thread.is_alive()

    @property
    def ident(self) -> int:
        """The thread's identity."""
        assert self._thread.ident is not None
        return self._thread.ident

    def computed_s(self) -> float:
        """Return how long the thread has computed; the time of day where the platform can't tell."""
        try:
            return time.clock_gettime(time.pthread_getcpuclockid(self.ident))
        except (AttributeError, OSError):
            return time.monotonic()

    def stack(self) -> Sequence[traceback.FrameSummary]:
        """Return where the thread is, the outermost call first."""
        frame = sys._current_frames().get(self.ident)
        return traceback.extract_stack(frame) if frame is not None else ()

    def _run(self) -> None:
        # TookTooLong may be raised at any point, also after the call that it was meant for.
        with suppress(TookTooLong):
            while not self.ended:
                batch = self.batch
                try:
                    if batch is None or batch.is_over:
                        self._wake.acquire()
                    else:
                        batch.go_on(self)
                except TookTooLong:
                    if batch is not None and batch.stopped == len(batch.results):
                        batch.results.append(None)
