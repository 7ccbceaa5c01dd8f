"""The worker: a thread that prepares updates beside the frames."""

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import msgspec

from warploom.engine.garbage import without_collections
from warploom.engine.processes.scope import CancelScope
from warploom.engine.protocol.messages import UpdateLevel
from warploom.engine.runtime.model.context import Cause
from warploom.engine.runtime.model.module_cache import ModuleCache
from warploom.engine.runtime.update.running_graph import Retired

#: The applied and replaced parts of an update.
Applied = tuple[UpdateLevel, Retired | None]
#: The rest of a job, for the engine's thread to do between two frames.
Finish = Callable[[], Applied]
#: A job of the worker beside the frames. It must not change the running graph.
Job = Callable[[], Finish]


class Done(msgspec.Struct, frozen=True):
    """A job's result, why and when it began, how long the worker took, and the files that kernels then depend on."""

    finish: Finish
    cause: Cause
    start_ns: int
    beside_ns: int
    kernel_files: frozenset[Path]


class Worker:
    """A thread that prepares updates beside the frames, one job at a time, and releases the parts that they replaced.

    Only the engine's thread calls it.
    """

    def __init__(self, modules: ModuleCache) -> None:
        self._modules = modules
        self._thread = ThreadPoolExecutor(1, "warploom-prepare")
        self._job: Future[Done] | None = None
        self._retiring: Future[None] | None = None
        self._scope = CancelScope()

    @property
    def is_busy(self) -> bool:
        """True from `begin` to `take`."""
        return self._job is not None

    @property
    def is_done(self) -> bool:
        """True when there is a result to take."""
        return self._job is not None and self._job.done()

    def begin(self, cause: Cause, job: Job, *, wait: bool) -> None:
        """Begin a job; with `wait`, return when it is done."""
        start_ns, modules = time.perf_counter_ns(), self._modules

        def timed() -> Done:
            begun_ns = time.perf_counter_ns()
            with self._scope.entered(), without_collections():
                finish, kernel_files = job(), modules.dependencies()
            return Done(finish, cause, start_ns, time.perf_counter_ns() - begun_ns, kernel_files)

        self._job = self._thread.submit(timed)
        if wait:
            self._job.exception()  # waits for the job; `take` raises its exception

    def take(self) -> Done:
        """Wait for the job and return its result, or raise its exception."""
        assert self._job is not None
        job, self._job = self._job, None
        return job.result()

    def retire(self, retired: Retired | None, *, wait: bool) -> None:
        """Release the replaced parts, if any: beside the frames, or now with `wait`."""
        before, self._retiring = self._retiring, None
        if before is not None:
            before.result()  # done, since a later job is; raises its exception
        if retired is not None and wait:
            retired.release()
        elif retired is not None:
            self._retiring = self._thread.submit(retired.release)

    def cancel(self) -> None:
        """Stop all compiles and start no further ones; any thread may call it. Jobs raise `Cancelled`."""
        self._scope.cancel()

    def close(self) -> None:
        """Wait for all work and end the thread."""
        self._thread.shutdown()
