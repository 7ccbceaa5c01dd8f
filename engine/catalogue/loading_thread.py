"""The thread that runs users' block files, and the time limit for each file."""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager

from engine.catalogue.block_code import TookTooLong, stop_thread

#: Importing large libraries takes seconds; a file that takes longer than this is stopped.
LIMIT_S = 20.0
#: A file that still runs so long after that is left behind on its thread.
PATIENCE_S = 1.0


class LoadWorker:
    """Runs jobs one after the other, on a thread that exists only while there are jobs.

    A job that can't be stopped, because it waits outside Python, is left behind: the next job gets a new thread.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._jobs: deque[tuple[Callable[[], None], Future[None]]] = deque()
        self._thread: threading.Thread | None = None
        self._started_s = 0.0

    def submit(self, job: Callable[[], None]) -> Future[None]:
        """Queue a job and return its future; never blocks."""
        done: Future[None] = Future()
        with self._lock:
            self._jobs.append((job, done))
            if self._thread is None or self._is_stuck():
                self._thread = threading.Thread(target=self._run, name="block-loader", daemon=True)
                self._started_s = time.monotonic()
                self._thread.start()
        return done

    @property
    def is_busy(self) -> bool:
        """True while there are jobs."""
        return self._thread is not None

    def is_current(self) -> bool:
        """True on the thread that runs the jobs now; False on one that was left behind."""
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
            except BaseException as problem:  # noqa: BLE001 - goes to the job's future
                done.set_exception(problem)
            else:
                done.set_result(None)

    def begin_file(self) -> None:
        """Restart the clock that tells whether the thread is stuck."""
        if self.is_current():
            self._started_s = time.monotonic()


def took_too_long() -> TookTooLong:
    """Return the error of a file that exceeds its time limit."""
    return TookTooLong(f"be done within {LIMIT_S:g} s")


@contextmanager
def time_limit(late: Callable[[], None]) -> Iterator[None]:
    """Raise TookTooLong in code that runs inside for longer than LIMIT_S, and call `late` on another thread."""
    thread = threading.get_ident()
    lock, is_over = threading.Lock(), False

    def stop() -> None:
        with lock:
            if is_over:
                return
            stop_thread(thread)
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
