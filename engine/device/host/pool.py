"""The worker threads that run thread blocks."""

import threading
import time
from collections.abc import Callable
from queue import SimpleQueue

import numpy as np

from warploom.engine.device.host.services import Services
from warploom.engine.device.host.team import Team
from warploom.engine.device.host.watchdog import Watchdog
from warploom.engine.host_compiler import abi
from warploom.engine.platforms.processor import usable_cores

CHUNKS_PER_WORKER = 8
#: Roughly the time in which a worker wakes; each additional worker must save as much.
WAKE_NS = 50_000
WORTH_NS = WAKE_NS // 2
#: The most thread blocks that run at once if they wait for each other; below, the interval between looks at a launch,
#: which seems to wait if none was taken from one to the next.
MOST_AT_ONCE = 128
PATIENCE_S = 0.002
#: After so many seconds without such a launch, the thread that looks at launches sleeps until the next one.
IDLE_S = 0.1

#: Runs thread blocks on a worker: takes `chunk` of them at a time until all workers together have taken `blocks`.
#: Returns False after a fault. The arguments are the worker, `blocks` and `chunk`.
RunBlocks = Callable[["PoolWorker", int, int], bool]


def workers_for(work_ns: float, blocks: int, cores: int) -> int:
    """Return the useful number of workers for a kernel that takes one worker `work_ns`."""
    return max(1, min(cores, blocks, int(work_ns / WORTH_NS)))


def chunk_for(blocks: int, workers: int) -> int:
    """Return the number of thread blocks that each of several workers takes at a time."""
    return blocks if workers == 1 else max(1, -(-blocks // (workers * CHUNKS_PER_WORKER)))


class PoolWorker:
    """A pool thread's state between kernels: its worker record, shared memory and scratch memory."""

    def __init__(self) -> None:
        self.record = np.zeros(abi.WORKER_FIELDS + 16, np.int64)  # padded, so that workers share no cache line
        self.address = int(self.record.ctypes.data)
        self._shared = np.zeros(0, np.uint8)
        self._scratch = np.zeros(0, np.uint8)

    def prepare(self, shared_bytes: int, scratch_bytes: int, arguments: int) -> None:
        """Prepare the record and the memory for a kernel with these needs."""
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
        self.record[abi.INSTRUCTION] = 0

    @property
    def was_idle(self) -> bool:
        """Whether this worker was stopped before its first thread block, so that its record has no position."""
        is_stopped = int(self.record[abi.FAULT_KIND]) & 0xFF == abi.STOPPED
        return is_stopped and not (self.record[abi.FAULT_LINE] or self.record[abi.POINT_LINE])


class _PoolJob:
    """A launch that workers share: each takes the next chunk of thread blocks until none is left."""

    def __init__(
        self, work: RunBlocks, blocks: int, workers: int, chunk: int, parts: int, give_up: Callable[[], None] | None
    ) -> None:
        self.work = work
        self.chunk = chunk
        self.limits = [-(-blocks * part // parts) for part in range(1, parts + 1)]
        self.give_up = give_up  # stops thread blocks that wait for a failed one
        self.failed: PoolWorker | None = None
        self.error: BaseException | None = None
        #: Workers on other threads that have ended, and a semaphore to wait for them: Ctrl+C may end a wait.
        self.ended: list[PoolWorker] = []
        self.ends: SimpleQueue[None] = SimpleQueue()
        #: The time that each worker computed. A single worker waits for no other, so a faster clock is enough for it.
        self.busy_ns: list[int] = []
        self._clock = time.thread_time_ns if workers > 1 else time.perf_counter_ns

    def run(self, worker: PoolWorker) -> None:
        """Run thread blocks until none is left or a worker has failed."""
        began_ns = self._clock()
        self._run(worker)
        self.busy_ns.append(self._clock() - began_ns)

    def _run(self, worker: PoolWorker) -> None:
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
    """Additional workers for launches whose running thread blocks wait for others that have not started.

    On a GPU, many thread blocks run at once, and some programs rely on that: one waits for data from another. On the
    host, each such thread block needs its own thread. As long as workers take more thread blocks, those that run end,
    and more threads would only take turns with them.

    A thread looks at the running launch from time to time. It stays awake for a while after a launch, since waking it
    for the next one takes as long as a short kernel.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        #: The running launch: its job, the number of its thread blocks, and what returns how many have been taken.
        self._launch: tuple[_PoolJob, int, Callable[[], int]] | None = None
        #: The number of launches so far.
        self._count = 0
        self._added: list[threading.Thread] = []
        self._wake = threading.Event()
        self._is_parked = self._is_closed = False
        self._thread: threading.Thread | None = None

    def begin(self, job: _PoolJob, blocks: int, taken: Callable[[], int]) -> None:
        """Add workers to a launch when it seems stuck, until `finish`; `taken` returns how many blocks have begun."""
        self._count += 1
        self._launch = job, blocks, taken
        if self._thread is None:
            self._thread = threading.Thread(target=self._watch, name="warploom-host-reserve", daemon=True)
            self._thread.start()
        elif self._is_parked:
            self._wake.set()

    def finish(self) -> None:
        """Wait for the additional workers to end."""
        with self._lock:
            self._launch, added, self._added = None, self._added, []
        for thread in added:
            thread.join()

    def close(self) -> None:
        """End the thread."""
        self._is_closed = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join()

    def _watch(self) -> None:
        seen, idle_since = (0, 0), time.monotonic()
        while not self._is_closed:
            with self._lock:
                if self._launch is not None:
                    now, idle_since = (self._count, self._launch[2]()), time.monotonic()
                    seen = now[0], now[1] + (self._add() if now == seen else 0)
            if time.monotonic() - idle_since > IDLE_S:
                self._wake.clear()
                self._is_parked = True
                # A launch that began meanwhile has either seen `_is_parked` or is visible here.
                if self._launch is None and not self._is_closed:
                    self._wake.wait()
                self._is_parked = False
                idle_since = time.monotonic()
            time.sleep(PATIENCE_S)

    def _add(self) -> int:
        """Start more workers and return how many: each time more, since most long launches don't wait at all."""
        assert self._launch is not None
        job, blocks, _ = self._launch
        wanted = min(len(self._added) + 2, min(blocks, MOST_AT_ONCE) - len(self._added))
        for _ in range(wanted):
            name = f"warploom-host-reserve-{len(self._added)}"
            thread = threading.Thread(target=job.run, args=(PoolWorker(),), name=name, daemon=True)
            thread.start()
            self._added.append(thread)
        return wanted


class Pool:
    """One worker per core; the launching thread is one of them."""

    def __init__(self, cores: int | None, watchdog: Watchdog) -> None:
        self.watchdog = watchdog
        self.services = Services()
        #: The watchdog's reason for stopping the last kernel.
        self.stop_reason = 0
        self.cores = cores or usable_cores()
        self._workers = [PoolWorker() for _ in range(self.cores)]
        self._team: Team | None = None
        self._starting = threading.Lock()
        self._prepared = (-1, -1)
        self._lock = threading.Lock()
        self._job: _PoolJob | None = None
        self._threads: list[threading.Thread] = []
        self._reserve = _Reserve()
        watchdog.watch(lambda: sum(int(worker.record[abi.FINISHED]) for worker in self._workers))

    def run(
        self,
        work: RunBlocks,
        blocks: int,
        *,
        workers: int,
        spinning: Callable[[], int] | None = None,
        in_parts: bool = False,
    ) -> tuple[PoolWorker | None, int]:
        """Run every thread block on `workers` workers, including this thread.

        With `spinning`, which returns how many thread blocks have been taken, thread blocks may wait for each other,
        and get more threads when they seem to. With `in_parts`, `work` is called several times, since optimised code
        may replace it in the meantime. Return the worker that met a fault, or None, and the total computing time of all
        workers in nanoseconds.
        """
        with self._lock:
            taken = spinning if blocks > 1 else None
            chunk = 1 if taken else chunk_for(blocks, workers)
            parts = min(CHUNKS_PER_WORKER, blocks) if in_parts else 1
            job = _PoolJob(work, blocks, workers, chunk, parts, self.watchdog.interrupt if taken else None)
            self.watchdog.start()
            try:
                if taken:
                    self._reserve.begin(job, blocks, taken)
                self._share(job, workers)
            finally:
                if taken:
                    self._reserve.finish()
                self.watchdog.finish()
                self.stop_reason = self.watchdog.reason
            if job.error is not None:
                raise job.error
            return job.failed, sum(job.busy_ns)

    def _share(self, job: _PoolJob, workers: int) -> None:
        """Run a job on several workers. Ctrl+C, which may come at any step, stops them; the job raises it."""
        called: list[int] = []
        try:
            if workers > 1:
                self._job = job
                self._started_team().call(workers - 1, called)
            job.run(self._workers[0])
        except KeyboardInterrupt as problem:
            job.error = problem
            self.watchdog.interrupt()
        is_over = False
        while not is_over:
            try:
                while called and len(job.ended) < workers - 1:
                    job.ends.get()
                is_over = True
            except KeyboardInterrupt as problem:
                job.error = problem
                self.watchdog.interrupt()
        self._job = None

    def run_natively(
        self, run: Callable[[PoolWorker, int], int], shared_bytes: int, scratch_bytes: int, *, with_team: bool
    ) -> int:
        """Call `run` with this thread's worker and the address of the team, or 0 without a team. Return the result.

        All workers get this much shared and scratch memory. The time limit is that of a single kernel.
        """
        with self._lock:
            if shared_bytes > self._prepared[0] or scratch_bytes > self._prepared[1]:
                self._prepared = max(shared_bytes, self._prepared[0]), max(scratch_bytes, self._prepared[1])
                for worker in self._workers:
                    worker.prepare(*self._prepared, 0)
            team = self._started_team().address if with_team else 0
            self.watchdog.start()
            try:
                return run(self._workers[0], team)
            finally:
                self.watchdog.finish()
                self.stop_reason = self.watchdog.reason

    def worker_at(self, address: int) -> PoolWorker:
        """Return the worker with a record at this address."""
        return next(worker for worker in self._workers if worker.address == address)

    def _started_team(self) -> Team:
        if self._team is None:  # on a separate thread, which Ctrl+C can't interrupt halfway
            starting = threading.Thread(target=self._start_team, name="warploom-host-start", daemon=True)
            starting.start()
            starting.join()
        assert self._team is not None
        return self._team

    def _start_team(self) -> None:
        with self._starting:
            if self._team is not None:
                return
            team = Team(self.cores, self._workers[0].address)
            for seat in range(1, self.cores):
                name = f"warploom-host-{seat - 1}"
                thread = threading.Thread(target=self._serve, args=(team, seat), name=name, daemon=True)
                thread.start()
                self._threads.append(thread)
            self._team = team

    def _serve(self, team: Team, seat: int) -> None:
        worker = self._workers[seat]
        while team.serve(seat, worker.address):
            job = self._job
            assert job is not None
            job.run(worker)
            job.ended.append(worker)
            job.ends.put(None)

    def close(self) -> None:
        """End the worker threads."""
        with self._lock, self._starting:
            self._reserve.close()
            if self._team is not None:
                self._team.close()
            for thread in self._threads:
                thread.join()
            self._threads = []
            self._team = None
