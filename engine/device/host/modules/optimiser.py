"""The thread that optimises kernels in the background, while they run in quickly compiled code."""

from __future__ import annotations

import collections
import threading
from collections.abc import Callable


class Job:
    """Work that is done once, by the queue's thread or by a caller that cannot wait for its turn."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._work: Callable[[], None] | None = work
        self._lock = threading.Lock()
        self.is_queued = False

    def run(self) -> None:
        """Do the work, or wait while another thread does it; return at once when it is done."""
        with self._lock:
            work, self._work = self._work, None
            if work is not None:
                work()


class Queue:
    """Jobs in the order in which they were added; their thread ends when none is left."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._jobs: collections.deque[Job] = collections.deque()
        self._is_running = False

    def add(self, job: Job) -> None:
        """Add a job unless it was added before."""
        with self._lock:
            if job.is_queued:
                return
            job.is_queued = True
            self._jobs.append(job)
            if not self._is_running:
                self._is_running = True
                # Not a daemon: the process must not end inside LLVM.
                threading.Thread(target=self._run, name="warploom-optimiser").start()

    def _next(self) -> Job | None:
        with self._lock:
            # When the program ends, the remaining jobs are left to its next run.
            if self._jobs and threading.main_thread().is_alive():
                return self._jobs.popleft()
            self._is_running = False
            return None

    def _run(self) -> None:
        while (job := self._next()) is not None:
            job.run()


QUEUE = Queue()
