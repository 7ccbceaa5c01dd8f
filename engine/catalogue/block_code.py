"""Runs the code of blocks on a thread that can be abandoned, so code that never returns blocks nothing else."""

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

T = TypeVar("T")
F = TypeVar("F")
#: How long a call of a block's code may compute. A busy machine doesn't count, so its thread's own time is measured.
LIMIT_S = 2.0
#: How long it may take in all, if it waits or sleeps.
WALL_LIMIT_S = 10.0
#: A call that still runs this long after it was stopped is abandoned, with its thread.
GRACE_S = 0.3
#: How often a running call is checked.
_POLL_S = 0.05


class TookTooLong(BaseException):
    """Raised inside code that exceeds its time limit; not an `Exception`, so that the code doesn't catch it.

    `rule` says what the code must do, `stack` where it was.
    """

    def __init__(
        self, rule: str = f"return within {LIMIT_S:g} s", stack: Sequence[traceback.FrameSummary] = ()
    ) -> None:
        super().__init__(rule)
        self.rule = rule
        self.stack = stack


_CLOSED = TookTooLong("return before the engine is closed")


def stop_thread(ident: int) -> None:
    """Raise TookTooLong in a thread, once it runs Python code again."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(ident), ctypes.py_object(TookTooLong))


class _Batch:
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
        return len(self.results) >= self.count or self.failure is not None

    def go_on(self, thread: _Thread) -> None:
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


class _Thread:
    """A thread that makes the calls of one batch after another until it is ended."""

    def __init__(self) -> None:
        self.batch: _Batch | None = None
        self.ended = False
        self._wake = threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run, name="warploom-blocks", daemon=True)
        self._thread.start()

    def begin(self, batch: _Batch) -> None:
        """Make the calls of a batch; the previous batch must be done."""
        self.batch = batch
        self._wake.release()

    def end(self) -> None:
        """End the thread after the current call."""
        self.ended = True
        self._wake.release()

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

    def own_s(self) -> float:
        """Return how long the thread has computed; all its time where the platform cannot tell."""
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


class _Watch:
    """Waits for a batch, and stops those of its calls that take too long."""

    def __init__(self, code: BlockCode, thread: _Thread, batch: _Batch) -> None:
        self.thread, self.batch = thread, batch
        #: Where calls were that took too long, by index.
        self.late: dict[int, Sequence[traceback.FrameSummary]] = {}
        #: True once the thread was abandoned.
        self.is_abandoned = False
        self._code = code
        self._seen, self._since_s, self._since_own_s = -1, 0.0, 0.0
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
        present, now_s, thread, code = len(self.batch.results), time.monotonic(), self.thread, self._code
        if code.is_closed:
            stop_thread(thread.ident)
            return True
        if present != self._seen:
            self._seen, self._since_s, self._since_own_s = present, now_s, thread.own_s()
        elif present in self.late or not thread.is_alive:
            return now_s - self._since_s > GRACE_S
        elif now_s - self._since_s > code.wall_limit_s or thread.own_s() - self._since_own_s > code.limit_s:
            self.late[present] = thread.stack()
            self.batch.stopped, self.batch.count, self._since_s = present, present + 1, now_s
            stop_thread(thread.ident)
        return False


class Call(Generic[T, F]):
    """A call of block code that has begun."""

    def __init__(self, code: BlockCode, watch: _Watch, failed: Callable[[BaseException], F]) -> None:
        self._code, self._watch, self._failed = code, watch, failed

    def result(self, patience_s: float = math.inf) -> T | F | None:
        """Return its result, or what `failed` makes of its failure; None if it is still running after `patience_s`."""
        if not self._watch.wait(patience_s):
            return None
        found: T | F = self._code.take(self._watch, self._failed)
        return found

    def abandon(self) -> None:
        """Stop it, and don't wait for its end."""
        self._code.abandon(self._watch.thread)


class BlockCode:
    """Makes calls of block code for one thread at a time; it starts threads of its own when they are needed.

    A call that takes longer than its limit is stopped by an exception. If that doesn't help, its thread is abandoned,
    and later calls are made by a new thread. Any thread may close it.
    """

    def __init__(self, limit_s: float = LIMIT_S, wall_limit_s: float = WALL_LIMIT_S) -> None:
        """`limit_s` is how long a call may compute, `wall_limit_s` how long it may take with all its waiting."""
        self.limit_s, self.wall_limit_s = limit_s, wall_limit_s
        self.is_closed = False
        self._thread: _Thread | None = None
        #: The threads of calls from `begin` whose results have not been taken.
        self._away: set[_Thread] = set()

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
        thread, self._thread = self._thread or _Thread(), None
        self._away.add(thread)
        return Call(self, _Watch(self, thread, _Batch([_attempt(call, failed)])), failed)

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
                self._thread = _Thread()
            watch = _Watch(self, self._thread, _Batch(calls[len(results) :]))
            watch.wait()
            if watch.is_abandoned:
                self._thread = None
            if watch.batch.failure is not None:
                raise watch.batch.failure
            made = len(results)
            results += watch.batch.results
            for index, stack in watch.late.items():
                results[made + index : made + index + 1] = [late(made + index, self._too_long(stack))]
        if self.is_closed:
            self.close()  # a thread that was started meanwhile
        return results + [late(index, _CLOSED) for index in range(len(results), len(calls))]

    def close(self) -> None:
        """Make no more calls, and don't wait for running ones; safe to call again."""
        self.is_closed = True
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.end()
            thread.join()
        for thread in tuple(self._away):
            self.abandon(thread)

    def abandon(self, thread: _Thread) -> None:
        """Stop a thread, and don't wait for its end."""
        self._away.discard(thread)
        thread.end()
        stop_thread(thread.ident)

    def _too_long(self, stack: Sequence[traceback.FrameSummary]) -> TookTooLong:
        return TookTooLong(f"return within {self.limit_s:g} s", stack)


def _attempt(call: Callable[[], T], failed: Callable[[BaseException], F]) -> Callable[[], T | F]:
    """Return a call that gives what `failed` makes of whatever it raises."""

    def attempt() -> T | F:
        try:
            return call()
        except TookTooLong:
            raise
        except BaseException as problem:  # noqa: BLE001 - a block's code may raise anything
            return failed(problem)

    return attempt
