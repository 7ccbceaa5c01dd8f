"""The thread on which users' block files are run, and the limit on how long one may take."""

from __future__ import annotations

import ctypes
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager

#: A file may import large libraries, which takes seconds; one that takes longer than this is stopped.
LIMIT_S = 20.0
#: One that has not stopped so long after that is left behind.
PATIENCE_S = 1.0


class TookTooLong(BaseException):
    """Raised inside code that ran longer than it may; no `Exception`, so that the code does not catch it."""


class LoadWorker:
    """Runs jobs one after the other on a thread that is there only while there is something to do.

    A job that cannot be stopped, since it waits outside Python, is left behind: the next job gets a fresh thread.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._jobs: deque[tuple[Callable[[], None], Future[None]]] = deque()
        self._thread: threading.Thread | None = None
        self._started_s = 0.0

    def submit(self, job: Callable[[], None]) -> Future[None]:
        """Run a job when those before it are done; never waits."""
        done: Future[None] = Future()
        with self._lock:
            self._jobs.append((job, done))
            if self._thread is None or self._is_stuck():
                self._thread = threading.Thread(target=self._run, name="block-loader", daemon=True)
                self._started_s = time.monotonic()
                self._thread.start()
        return done

    def is_current(self) -> bool:
        """True on the thread whose results count, which one that was left behind is not."""
        return threading.current_thread() is self._thread

    def _is_stuck(self) -> bool:
        return time.monotonic() - self._started_s > LIMIT_S + PATIENCE_S

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self.is_current():
                    return
                if not self._jobs:
                    self._thread = None
                    return
                job, done = self._jobs.popleft()
            try:
                job()
            except BaseException as problem:  # noqa: BLE001 - whoever waits for the job gets it
                done.set_exception(problem)
            else:
                done.set_result(None)

    def begin_file(self) -> None:
        """Begin to count anew how long the present thread has been busy with one thing."""
        if self.is_current():
            self._started_s = time.monotonic()


@contextmanager
def time_limit(late: Callable[[], None]) -> Iterator[None]:
    """Raise TookTooLong in what runs inside for longer than LIMIT_S, and call `late` from another thread."""
    thread = threading.get_ident()
    lock, is_over = threading.Lock(), False

    def stop() -> None:
        with lock:
            if is_over:
                return
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(TookTooLong))
        late()

    timer = threading.Timer(LIMIT_S, stop)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        with lock:
            is_over = True
        timer.cancel()
