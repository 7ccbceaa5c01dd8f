"""Compiles kernels again in the background, to faster code."""

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from warploom.engine.processes.scope import Cancelled, CancelScope

#: The pause before a thread's first job, which would otherwise compete with the first frame of a new kernel.
PAUSE_S = 0.01


#: The number of jobs that have ended in this process. When it changes, earlier measurements may be out of date.
finished_jobs = 0
_count = threading.Lock()


class OptimiserJob:
    """Work that is done once, by the queue's thread or by a caller that can't wait for its turn."""

    def __init__(self, work: Callable[[], None], is_due: Callable[[], bool] = lambda: True) -> None:
        self._work: Callable[[], None] | None = work
        #: Whether the queue may begin the work.
        self.is_due = is_due
        self._lock = threading.Lock()
        self._scope = CancelScope()
        self.is_queued = False

    def run(self) -> None:
        """Do the work, or wait while another thread does it. Return at once if it is done."""
        with self._lock:
            work, self._work = self._work, None
            if work is not None:
                with suppress(Cancelled), self._scope.entered():
                    work()
                _finish()

    def cancel(self) -> None:
        """Stop the work, since its result is no longer needed."""
        self._scope.cancel()


def _finish() -> None:
    global finished_jobs
    with _count:
        finished_jobs += 1


class OptimiserQueue:
    """Jobs that are due, run newest first and several at once. The threads end when no job is left.

    A person who edits a kernel waits only for its last version.
    """

    def __init__(self, most_threads: int) -> None:
        self._lock = threading.Lock()
        self._jobs: list[OptimiserJob] = []
        self._most_threads, self._threads = most_threads, 0

    def add(self, job: OptimiserJob) -> None:
        """Add a job unless it was added before."""
        with self._lock:
            if job.is_queued:
                return
            job.is_queued = True
            self._jobs.append(job)
            if self._threads < self._most_threads:
                self._threads += 1
                # Not a daemon, since the process must not end inside LLVM.
                threading.Thread(target=self._run, name="warploom-optimiser").start()

    def discard(self, job: OptimiserJob) -> None:
        """Remove a job that has not started; it may be added again."""
        with self._lock:
            if job in self._jobs:
                self._jobs.remove(job)
                job.is_queued = False

    def _next(self) -> OptimiserJob | None:
        while True:
            with self._lock:
                # When the program ends, the remaining jobs are left to its next run.
                if not self._jobs or not threading.main_thread().is_alive():
                    self._threads -= 1
                    return None
                job = next((job for job in reversed(self._jobs) if job.is_due()), None)
                if job is not None:
                    self._jobs.remove(job)
                    return job
            time.sleep(PAUSE_S)

    def _run(self) -> None:
        time.sleep(PAUSE_S)
        while (job := self._next()) is not None:
            job.run()


#: One core is left for the frames. A process takes about 150 MB.
QUEUE = OptimiserQueue(max(1, min(4, (os.cpu_count() or 1) - 1)))
