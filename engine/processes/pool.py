"""The pool of worker processes. Compiles run in them, so they can be killed, and a crash ends only one compile."""

import hashlib
import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import ParamSpec, TypeVar

from warploom.engine.diagnostics import CompilerCrash, KernelError
from warploom.engine.logs import log_again
from warploom.engine.platforms.pipes import Readable
from warploom.engine.platforms.processes import after_fork, how_it_ended, is_killed, own_group
from warploom.engine.processes.limits import Excess, Limits, Usage
from warploom.engine.processes.scope import Cancelled, CancelScope, current_scopes
from warploom.engine.processes.worker import Outcome

Params = ParamSpec("Params")
Result = TypeVar("Result")

#: Idle processes that are kept: one for the next compile, one for a later save or for the optimiser beside it.
KEPT_IDLE = 2
#: When a job takes longer than this, another process is started for the next job.
LONG_S = 0.5
#: How long a program that ends waits for running jobs. So a short run, too, puts its optimised kernels in the cache.
GRACE_S = 1.0
#: How often the use of a running job is compared with its limits.
POLL_S = 0.05
#: How many jobs are remembered that went over their limits, which they would do again.
_MOST_REFUSED = 256


def run(function: Callable[Params, Result], *arguments: Params.args, **_: Params.kwargs) -> Result:
    """Run a function of a module in a worker process; return its result, or raise its exception.

    Function, arguments and result are pickled. Raise Cancelled when a surrounding `CancelScope` is cancelled meanwhile,
    and CompilerCrash when the process dies or is killed at a limit (`Limits`).
    """
    return _pool.run(function, arguments)  # type: ignore[return-value]  # the outcome is the function's


def run_in_background(function: Callable[Params, Result], *arguments: Params.args, **_: Params.kwargs) -> Result:
    """Run a function as `run` does, but leave a process to callers of `run`: for work that no one waits for."""
    return _pool.run(function, arguments, in_background=True)  # type: ignore[return-value]  # as in `run`


def warm_up(*modules: str) -> None:
    """Start a process that imports these modules and waits for work, unless one is idle already."""
    _pool.warm_up(modules)


class _RemoteTraceback(Exception):
    """Where an exception was raised in a worker process."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


class WorkerProcess:
    """One worker process; `environment` is added to that of this program."""

    def __init__(self, modules: tuple[str, ...], environment: Mapping[str, str] | None = None) -> None:
        # The worker searches the same folders: the engine may have been imported from one that only this program knows
        # of.
        folders = dict.fromkeys([str(Path(__file__).parents[2]), *filter(None, sys.path)])
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "warploom.engine.processes.worker", str(os.getpid()), *modules],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(folders)} | dict(environment or {}),
            **own_group(),  # Ctrl+C in a terminal is for this program, which ends its workers
        )

    @property
    def pid(self) -> int:
        """The process's number."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """False once the process has ended."""
        return self._process.poll() is None

    def send(self, job: bytes) -> None:
        """Send the process a job."""
        assert self._process.stdin is not None
        with suppress(OSError):  # the process has died; `receive` reports that
            pickle.dump(job, self._process.stdin)
            self._process.stdin.flush()

    def wait(self, seconds: float) -> bool:
        """Wait for an outcome or the process's end; return False when neither came in time."""
        assert self._process.stdout is not None
        return Readable(self._process.stdout).wait(seconds)

    def receive(self) -> Outcome:
        """Wait for the outcome of the job. Raise EOFError if the process has died."""
        assert self._process.stdout is not None
        try:
            outcome: Outcome = pickle.load(self._process.stdout)
        except pickle.UnpicklingError:  # the process died while it wrote
            raise EOFError from None
        return outcome

    def kill(self) -> None:
        """End the process at once; any thread may call it."""
        self._process.kill()

    def end(self) -> int:
        """Wait for the process's end; return its exit status, or minus the signal that has ended it."""
        status = self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            with suppress(OSError):  # the process may have left input unread
                stream.close()
        return status


class WorkerPool:
    """Starts processes when they are needed and keeps a few for the next jobs. Any thread may call it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        #: Idle processes; the last one is the warmest.
        self._idle: list[WorkerProcess] = []
        #: Busy processes, and whether the job of each is in the background.
        self._busy: dict[WorkerProcess, bool] = {}
        self._is_closed = False
        #: Modules of the jobs so far; a process that is started in advance imports them.
        self._modules: dict[str, None] = {}
        #: Starts all processes, since each ends with the thread that started it.
        self._starter = ThreadPoolExecutor(1, "warploom-workers")
        #: What jobs went over, by their digests.
        self._refused: dict[bytes, Excess] = {}

    def run(
        self, function: Callable[..., object], arguments: tuple[object, ...], *, in_background: bool = False
    ) -> object:
        """Run a function in a process of its own; in the background, leave a process to other jobs."""
        job, scopes, limits = pickle.dumps((function, arguments)), current_scopes(), Limits.chosen()
        if (known := self._refused.get(digest := hashlib.sha256(job).digest())) is not None:
            raise _over_limit(*known)
        worker, is_done = self._take(function.__module__, in_background=in_background), False
        try:
            with ExitStack() as held:
                for scope in scopes:
                    held.enter_context(scope.holding(worker.kill))
                begun_s, usage = time.monotonic(), Usage.of(worker.pid)
                worker.send(job)
                is_long = in_background
                excess: Excess | None = None
                while excess is None and not worker.wait(POLL_S):
                    spent_s = time.monotonic() - begun_s
                    if not is_long and spent_s > LONG_S:
                        is_long = True
                        self.warm_up(())
                    excess = limits.excess(usage, Usage.of(worker.pid), spent_s)
                if excess is not None:
                    worker.kill()
                try:
                    result, problem, text, records = worker.receive()
                except EOFError:
                    raise self._death(worker, scopes, digest, excess) from None
            is_done = excess is None and not any(scope.is_cancelled for scope in scopes)
        finally:
            self._give_back(worker, is_well=is_done)
        for record in records:
            log_again(record)
        if problem is not None:
            try:
                raise problem from _RemoteTraceback(text)
            finally:
                del problem  # which would keep this frame, and the frame it, until garbage is collected
        return result

    def warm_up(self, modules: tuple[str, ...]) -> None:
        """Start a process that waits for work, unless there is one."""
        with self._lock:
            self._modules |= dict.fromkeys(modules)
            if not self._idle and not self._is_closed:
                with suppress(OSError):  # the next job reports what is wrong
                    self._idle.insert(0, self._start(tuple(self._modules)))

    def close(self) -> None:
        """Start no more jobs, and kill processes that don't end soon; their callers get `Cancelled`."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
        deadline = time.monotonic() + GRACE_S
        while self._busy and time.monotonic() < deadline:
            time.sleep(0.01)
        with self._lock:
            for worker in self._busy:
                worker.kill()
        for worker in idle:
            worker.kill()
            worker.end()

    def _start(self, modules: tuple[str, ...]) -> WorkerProcess:
        return self._starter.submit(WorkerProcess, modules).result()

    def _take(self, module: str, *, in_background: bool) -> WorkerProcess:
        with self._lock:
            if self._is_closed:
                raise Cancelled
            self._modules[module] = None
            for dead in [worker for worker in self._idle if not worker.is_alive]:
                self._idle.remove(dead)
                dead.end()
            is_left = len(self._idle) > 1 or not all(self._busy.values())
            if self._idle and (is_left or not in_background):
                worker = self._idle.pop(0 if in_background else -1)
            else:
                # A worker that is waited for imports no more than it needs.
                modules = tuple(self._modules) if in_background else (module,)
                try:
                    worker = self._start(modules)
                except OSError as problem:
                    raise KernelError(f"compiler's process must start, got: {problem.strerror}") from problem
            self._busy[worker] = in_background
            return worker

    def _give_back(self, worker: WorkerProcess, *, is_well: bool) -> None:
        with self._lock:
            del self._busy[worker]
            if is_well and len(self._idle) < KEPT_IDLE and not self._is_closed:
                self._idle.append(worker)
                return
        worker.kill()
        worker.end()

    def _refuse(self, digest: bytes, excess: Excess) -> CompilerCrash:
        """Return the error about a job that went over a limit, and refuse the job from now on."""
        with self._lock:
            self._refused[digest] = excess
            while len(self._refused) > _MOST_REFUSED:
                del self._refused[next(iter(self._refused))]
        return _over_limit(*excess)

    def _death(
        self, worker: WorkerProcess, scopes: tuple[CancelScope, ...], digest: bytes, excess: Excess | None
    ) -> Exception:
        """Return the exception for a process that has died; with an `excess`, its job went over a limit."""
        status = worker.end()
        if self._is_closed or any(scope.is_cancelled for scope in scopes):
            return Cancelled()
        if excess is not None:
            return self._refuse(digest, excess)
        hint = "; the system ends processes in this way when memory runs out" if is_killed(status) else ""
        return CompilerCrash(f"compiler must give a result, got its end by {how_it_ended(status)}{hint}")


def _over_limit(message: str, remedy: str) -> CompilerCrash:
    problem = CompilerCrash(message)
    problem.remedy = remedy
    return problem


_pool = WorkerPool()
_of_parent: WorkerPool | None = None


def _begin_anew() -> None:
    """Leave the workers to the process that has forked this one."""
    global _pool, _of_parent
    _pool, _of_parent = WorkerPool(), _pool  # kept, since collecting them would close their pipes


after_fork(_begin_anew)
# Before Python waits for threads, those of concurrent.futures included: they may wait for a compile that never ends.
threading._register_atexit(lambda: _pool.close())  # type: ignore[attr-defined]  # concurrent.futures uses it too
