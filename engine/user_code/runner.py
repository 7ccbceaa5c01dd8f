"""`CodeRunner`: runs a person's code with a time limit, so that code that never returns holds up nothing else."""

from __future__ import annotations

import ctypes
import math
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Generic, TypeVar

from engine.user_code.limits import CALL, GRACE_S, TimeLimits, TookTooLong


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


T = TypeVar("T")
F = TypeVar("F")
#: How often a running call is checked.
_POLL_S = 0.05
_CLOSED = TookTooLong("finish before the engine is closed")


class _Watch:
    """Waits for a batch, and stops those of its calls that take too long."""

    def __init__(self, runner: CodeRunner, thread: CodeThread, batch: Batch) -> None:
        self.thread, self.batch = thread, batch
        #: Where calls were that took too long, by index.
        self.late: dict[int, Sequence[traceback.FrameSummary]] = {}
        #: True once the thread was abandoned.
        self.is_abandoned = False
        self._runner = runner
        self._seen, self._since_s, self._computed_s = -1, 0.0, 0.0
        thread.begin(batch)

    def wait(self, patience_s: float = math.inf) -> bool:
        """Wait until the batch is done or its thread abandoned; return False if that takes longer than `patience_s`."""
        end_s = time.monotonic() + patience_s
        while not self.batch.done.acquire(timeout=max(min(_POLL_S, end_s - time.monotonic()), 0)):
            if self.batch.is_over:
                break
            self.is_abandoned = self._look()
            if self.is_abandoned:
                self.thread.end()
                break
            if time.monotonic() >= end_s:
                return False
        return True

    def _look(self) -> bool:
        """Stop the current call if it has taken too long; return True if its thread is to be abandoned."""
        present, now_s, thread = len(self.batch.results), time.monotonic(), self.thread
        if self._runner.is_closed:
            thread.stop_call()
            return True
        if present != self._seen:
            self._seen, self._since_s, self._computed_s = present, now_s, thread.computed_s()
        elif present in self.late or not thread.is_alive:
            return now_s - self._since_s > GRACE_S
        else:
            limits = self._runner.limits
            if now_s - self._since_s > limits.total_s or thread.computed_s() - self._computed_s > limits.computing_s:
                self.late[present] = thread.stack()
                self.batch.stopped, self.batch.count, self._since_s = present, present + 1, now_s
                thread.stop_call()
        return False


class Call(Generic[T, F]):
    """A call of a person's code that has begun."""

    def __init__(self, runner: CodeRunner, watch: _Watch, failed: Callable[[BaseException], F]) -> None:
        self._runner, self._watch, self._failed = runner, watch, failed

    def result(self, patience_s: float = math.inf) -> T | F | None:
        """Return its result, or what `failed` makes of its failure; None if it is still running after `patience_s`."""
        if not self._watch.wait(patience_s):
            return None
        result: T | F = self._runner.take(self._watch, self._failed)
        return result

    def abandon(self) -> None:
        """Stop it, and don't wait for its end."""
        self._runner.abandon(self._watch.thread)


class CodeRunner:
    """Makes calls of a person's code for one thread at a time; it starts threads of its own when they are needed.

    The thread that waits for a call watches it. A call that takes longer than its limit is stopped by an exception. If
    that doesn't help, its thread is abandoned, and later calls are made by a new thread. Any thread may close it.
    """

    def __init__(self, limits: TimeLimits = CALL) -> None:
        self.limits = limits
        self.is_closed = False
        self._thread: CodeThread | None = None
        #: The threads of calls from `begin` whose results have not been taken.
        self._away: set[CodeThread] = set()

    def run(self, call: Callable[[], T], failed: Callable[[BaseException], F], *, ours: bool) -> T | F:
        """Return what a call returns. If it raises or doesn't return in time, return what `failed` makes of that.

        Code that is `ours` runs at once, on the caller's thread.
        """
        if ours:
            try:
                return call()
            except (Exception, SystemExit) as problem:  # noqa: BLE001 - for the node to show
                return failed(problem)
        return self.call_all([_attempt(call, failed)], lambda _, problem: failed(problem))[0]

    def begin(self, call: Callable[[], T], failed: Callable[[BaseException], F]) -> Call[T, F]:
        """Begin a call; others can be made before it returns."""
        thread, self._thread = self._thread or CodeThread(), None
        self._away.add(thread)
        return Call(self, _Watch(self, thread, Batch([_attempt(call, failed)])), failed)

    def take(self, watch: _Watch, failed: Callable[[BaseException], F]) -> Any:
        """Return the result of a call from `begin`; its thread is free for other calls."""
        self._away.discard(watch.thread)
        if watch.is_abandoned or self._thread is not None or self.is_closed:
            watch.thread.end()
        else:
            self._thread = watch.thread
        if watch.batch.failure is not None:
            raise watch.batch.failure
        for stack in watch.late.values():
            return failed(self._too_long(stack))
        return watch.batch.results[0] if watch.batch.results else failed(_CLOSED)

    def call_all(self, calls: Sequence[Callable[[], T]], late: Callable[[int, TookTooLong], T]) -> list[T]:
        """Make calls, which must not raise, and return their results.

        `late` gives the result of a call that didn't return in time, by its index; after `close`, of every call that
        was not made.
        """
        results: list[T] = []
        while len(results) < len(calls) and not self.is_closed:
            if self._thread is None:
                self._thread = CodeThread()
            watch = _Watch(self, self._thread, Batch(calls[len(results) :]))
            watch.wait()
            if watch.is_abandoned:
                self._thread = None
            if watch.batch.failure is not None:
                raise watch.batch.failure
            first = len(results)
            results += watch.batch.results
            for index, stack in watch.late.items():
                results[first + index : first + index + 1] = [late(first + index, self._too_long(stack))]
        if self.is_closed:
            self.close()  # a thread that was started meanwhile
        return results + [late(index, _CLOSED) for index in range(len(results), len(calls))]

    @property
    def is_running_here(self) -> bool:
        """True on the thread that makes the calls of `run` and `call_all`."""
        return self._thread is not None and self._thread.ident == threading.get_ident()

    def close(self) -> None:
        """Make no more calls, and don't wait for running ones; safe to call again."""
        self.is_closed = True
        self.rest()
        for thread in tuple(self._away):
            self.abandon(thread)

    def rest(self) -> None:
        """End the thread that waits for calls; the next call starts another."""
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.end()
            thread.join()

    def abandon(self, thread: CodeThread) -> None:
        """Stop a thread, and don't wait for its end."""
        self._away.discard(thread)
        thread.end()
        thread.stop_call()

    def _too_long(self, stack: Sequence[traceback.FrameSummary]) -> TookTooLong:
        return TookTooLong(f"finish within {self.limits.computing_s:g} s", stack)


def _attempt(call: Callable[[], T], failed: Callable[[BaseException], F]) -> Callable[[], T | F]:
    """Return a call that converts its exceptions by `failed`."""

    def attempt() -> T | F:
        try:
            return call()
        except TookTooLong:
            raise
        except BaseException as problem:  # noqa: BLE001 - a person's code may raise anything
            return failed(problem)

    return attempt
