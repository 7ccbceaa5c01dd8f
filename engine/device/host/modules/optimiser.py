"""One thread that compiles kernels well while they already run in code that was compiled quickly."""

from __future__ import annotations

import collections
import threading
from collections.abc import Callable


class Job:
    """Work that is done once, by the thread of the queue or by whoever cannot wait for it."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._work: Callable[[], None] | None = work
        self._lock = threading.Lock()
        self.is_queued = False

    def run(self) -> None:
        """Do the work, or wait while another thread does; return at once when it is done."""
        with self._lock:
            work, self._work = self._work, None
            if work is not None:
                work()


class Queue:
    """Jobs in the order in which they were added; the thread that does them ends when there are none."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._jobs: collections.deque[Job] = collections.deque()
        self._is_running = False

    def add(self, job: Job) -> None:
        """Have a job done soon, once."""
        with self._lock:
            if job.is_queued:
                return
            job.is_queued = True
            self._jobs.append(job)
            if not self._is_running:
                self._is_running = True
                # Not a daemon: a process must not end in the middle of LLVM.
                threading.Thread(target=self._run, name="warploom-optimiser").start()

    def _next(self) -> Job | None:
        with self._lock:
            # What is left when the program ends is done when it runs next.
            if self._jobs and threading.main_thread().is_alive():
                return self._jobs.popleft()
            self._is_running = False
            return None

    def _run(self) -> None:
        while (job := self._next()) is not None:
            job.run()


QUEUE = Queue()
