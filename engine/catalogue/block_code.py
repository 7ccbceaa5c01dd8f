"""Runs the code of blocks on a thread that can be abandoned, so code that never returns blocks nothing else."""

from __future__ import annotations

import ctypes
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

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


class BlockCode:
    """Makes calls of block code for one thread at a time; it starts a thread of its own when it is first used.

    A call that takes longer than its limit is stopped by an exception. If that doesn't help, its thread is abandoned,
    and later calls are made by a new thread. Any thread may close it.
    """

    def __init__(self, limit_s: float = LIMIT_S, wall_limit_s: float = WALL_LIMIT_S) -> None:
        """`limit_s` is how long a call may compute, `wall_limit_s` how long it may take with all its waiting."""
        self._limit_s, self._wall_limit_s = limit_s, wall_limit_s
        self._thread: _Thread | None = None
        self._closed = False

    def run(self, call: Callable[[], T], failed: Callable[[BaseException], F], *, ours: bool) -> T | F:
        """Return what a call returns. If it raises or doesn't return in time, return what `failed` makes of that.

        Code that is `ours` runs at once, on the caller's thread.
        """
        if ours:
            try:
                return call()
            except (Exception, SystemExit) as problem:  # noqa: BLE001 - for the node to show
                return failed(problem)

        def attempt() -> T | F:
            try:
                return call()
            except TookTooLong:
                raise
            except BaseException as problem:  # noqa: BLE001 - a block's code may raise anything
                return failed(problem)

        return self.call_all([attempt], lambda _, problem: failed(problem))[0]

    def call_all(self, calls: Sequence[Callable[[], T]], late: Callable[[int, TookTooLong], T]) -> list[T]:
        """Make calls, which must not raise, and return their results.

        `late` gives the result of a call that didn't return in time, by its index; after `close`, of every call that
        was not made.
        """
        results: list[T] = []
        while len(results) < len(calls) and not self._closed:
            if self._thread is None:
                self._thread = _Thread()
            batch = _Batch(calls[len(results) :])
            self._thread.begin(batch)
            stopped = self._watch(self._thread, batch)
            if batch.failure is not None:
                raise batch.failure
            made = len(results)
            results += batch.results
            for index, stack in stopped.items():
                problem = TookTooLong(f"return within {self._limit_s:g} s", stack)
                results[made + index : made + index + 1] = [late(made + index, problem)]
        if self._closed:
            self.close()  # a thread that was started meanwhile
        closed = TookTooLong("return before the engine is closed")
        return results + [late(index, closed) for index in range(len(results), len(calls))]

    def close(self) -> None:
        """Make no more calls, and don't wait for the current one; safe to call again."""
        self._closed = True
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.end()
            thread.join()

    def _watch(self, thread: _Thread, batch: _Batch) -> dict[int, Sequence[traceback.FrameSummary]]:
        """Wait until a batch is done or its thread is abandoned; return where the calls were that took too long."""
        late: dict[int, Sequence[traceback.FrameSummary]] = {}
        seen, since_s, since_own_s = -1, 0.0, 0.0
        while not batch.done.acquire(timeout=_POLL_S) and not batch.is_over:
            present = len(batch.results)
            now_s = time.monotonic()
            if self._closed:
                thread.end()
                stop_thread(thread.ident)
                self._thread = None
                break
            if present != seen:
                seen, since_s, since_own_s = present, now_s, thread.own_s()
            elif present in late or not thread.is_alive:
                if now_s - since_s > GRACE_S:
                    thread.end()
                    self._thread = None
                    break
            elif now_s - since_s > self._wall_limit_s or thread.own_s() - since_own_s > self._limit_s:
                late[present] = thread.stack()
                batch.stopped, batch.count, since_s = present, present + 1, now_s
                stop_thread(thread.ident)
        return late
