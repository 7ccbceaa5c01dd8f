"""The worker threads that run thread blocks."""

import os
import threading
from collections.abc import Callable

import numpy as np

from engine.device.host.services import Services
from engine.device.host.translate import abi
from engine.device.host.watchdog import Watchdog

CHUNKS_PER_WORKER = 8
#: The most thread blocks that run at once when they wait for each other, and the time after which they seem to wait.
MOST_AT_ONCE = 128
PATIENCE_S = 0.003

#: Runs thread blocks on a worker: takes the next `chunk` of them until the workers together have taken `blocks`.
#: Returns False after a fault. The arguments are the worker, `blocks` and `chunk`.
RunBlocks = Callable[["PoolWorker", int, int], bool]


class PoolWorker:
    """What a thread of the pool keeps between kernels: the worker record, shared memory and scratch memory."""

    def __init__(self) -> None:
        self.record = np.zeros(abi.WORKER_FIELDS + 16, np.int64)  # padded, so that workers share no cache line
        self.address = int(self.record.ctypes.data)
        self._shared = np.zeros(0, np.uint8)
        self._scratch = np.zeros(0, np.uint8)

    def prepare(self, shared_bytes: int, scratch_bytes: int, arguments: int) -> None:
        """Prepare the record for a kernel that needs this much memory."""
        if self._shared.size < shared_bytes + 256 or not self._shared.size:
            self._shared = np.zeros(shared_bytes + 256, np.uint8)
            self.record[abi.SHARED] = -(-self._shared.ctypes.data // 128) * 128
        if self._scratch.size < scratch_bytes + 128:
            self._scratch = np.zeros(scratch_bytes + 128, np.uint8)
            self.record[abi.SCRATCH] = -(-self._scratch.ctypes.data // 64) * 64
        self.record[abi.SCRATCH_BYTES] = scratch_bytes
        self.record[abi.FAULT_KIND] = 0
        self.record[abi.CACHE_SIZE] = 0
        self.record[abi.ARGUMENTS] = arguments

    @property
    def was_idle(self) -> bool:
        """Whether it was stopped before it began a thread block, so that its record doesn't say where."""
        is_stopped = int(self.record[abi.FAULT_KIND]) & 0xFF == abi.STOPPED
        return is_stopped and not (self.record[abi.FAULT_LINE] or self.record[abi.POINT_LINE])


class _PoolJob:
    """A launch that the workers share: each takes the next chunk of thread blocks until none is left."""

    def __init__(
        self, work: RunBlocks, blocks: int, chunk: int, parts: int, give_up: Callable[[], None] | None
    ) -> None:
        self.work = work
        self.chunk = chunk
        self.limits = [-(-blocks * part // parts) for part in range(1, parts + 1)]
        self.give_up = give_up  # stops thread blocks that wait for one that failed
        self.failed: PoolWorker | None = None
        self.error: BaseException | None = None

    def run(self, worker: PoolWorker) -> None:
        """Run thread blocks until none is left or a worker failed."""
        for limit in self.limits:
            if self.failed is not None or self.error is not None:
                return
            try:
                if not self.work(worker, limit, self.chunk) and (self.failed is None or self.failed.was_idle):
                    self.failed = worker
                    if self.give_up is not None:
                        self.give_up()
            except BaseException as error:  # noqa: BLE001 - the launching thread raises it
                self.error = error


class _Reserve:
    """More workers for a launch whose thread blocks wait for others that have not begun.

    On a GPU, many thread blocks run at once, and programs rely on that when one waits for what another writes. On the
    host, each of them needs a thread of its own for that.
    """

    def __init__(self, job: _PoolJob, blocks: int) -> None:
        self._job = job
        self._count = min(blocks, MOST_AT_ONCE)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="warploom-host-reserve", daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        threads: list[threading.Thread] = []
        while len(threads) < self._count and not self._over.wait(PATIENCE_S):
            # The number doubles each time: most long launches do not wait at all.
            for _ in range(min(len(threads) + 2, self._count - len(threads))):
                name = f"warploom-host-reserve-{len(threads)}"
                thread = threading.Thread(target=self._job.run, args=(PoolWorker(),), name=name, daemon=True)
                thread.start()
                threads.append(thread)
        for thread in threads:
            thread.join()

    def finish(self) -> None:
        """Wait for the additional workers to end."""
        self._over.set()
        self._thread.join()


class Pool:
    """One worker for each core; the launching thread is one of them."""

    def __init__(self, cores: int | None, watchdog: Watchdog) -> None:
        self.watchdog = watchdog
        self.services = Services()
        #: Why the last kernel was stopped, as the watchdog names it.
        self.stop_reason = 0
        self.cores = cores or len(os.sched_getaffinity(0))
        self._own = PoolWorker()
        self._lock = threading.Lock()
        self._wake = [threading.Semaphore(0) for _ in range(self.cores - 1)]
        self._done = threading.Semaphore(0)
        self._job: _PoolJob | None = None
        self._threads: list[threading.Thread] = []

    def run(
        self, work: RunBlocks, blocks: int, *, is_small: bool, spins: bool = False, in_parts: bool = False
    ) -> tuple[PoolWorker | None, int]:
        """Run every thread block, on this thread alone when the work is small.

        With `spins`, thread blocks may wait for each other and get more threads when they seem to. With `in_parts`,
        `work` is called several times, since optimised code may replace it meanwhile. Return the worker that met a
        fault, or None, and the number of workers.
        """
        with self._lock:
            spins = spins and blocks > 1
            inline = blocks == 1 or self.cores == 1 or is_small
            chunk = 1 if spins else blocks if inline else max(1, -(-blocks // (self.cores * CHUNKS_PER_WORKER)))
            parts = min(CHUNKS_PER_WORKER, blocks) if in_parts else 1
            job = _PoolJob(work, blocks, chunk, parts, self.watchdog.interrupt if spins else None)
            reserve = _Reserve(job, blocks) if spins else None
            self.watchdog.start()
            if inline:
                job.run(self._own)
            else:
                self._start()
                self._job = job
                for wake in self._wake:
                    wake.release()
                job.run(self._own)
                for _ in self._wake:
                    self._done.acquire()
                self._job = None
            if reserve is not None:
                reserve.finish()
            self.watchdog.finish()
            self.stop_reason = self.watchdog.reason
            if job.error is not None:
                raise job.error
            return job.failed, 1 if inline else self.cores

    def run_alone(self, work: Callable[[PoolWorker], int]) -> int:
        """Run `work` on this thread, within the time limit of one kernel, and return its result."""
        with self._lock:
            self.watchdog.start()
            try:
                return work(self._own)
            finally:
                self.watchdog.finish()
                self.stop_reason = self.watchdog.reason

    def _start(self) -> None:
        if not self._threads:
            for index, wake in enumerate(self._wake):
                thread = threading.Thread(
                    target=self._loop, args=(wake, PoolWorker()), name=f"warploom-host-{index}", daemon=True
                )
                thread.start()
                self._threads.append(thread)

    def _loop(self, wake: threading.Semaphore, worker: PoolWorker) -> None:
        while True:
            wake.acquire()
            job = self._job
            if job is None:
                return
            job.run(worker)
            self._done.release()

    def close(self) -> None:
        """End the worker threads."""
        with self._lock:
            self._job = None
            for wake in self._wake[: len(self._threads)]:
                wake.release()
            for thread in self._threads:
                thread.join()
            self._threads = []
