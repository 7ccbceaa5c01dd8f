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

from warploom.engine.platforms.processor import thread_computed_s
from warploom.engine.user_code.limits import CALL, GRACE_S, OWN_CALL, TimeLimits, TookTooLong

T = TypeVar("T")
F = TypeVar("F")
#: How often a running call is checked.
_POLL_S = 0.05
_NOWHERE = ("", "")
_CLOSED = TookTooLong("finish before the engine is closed")


def say_nothing(node: str, method: str) -> None:
    """Announce no call."""


class CodeThread:
    """A thread that makes one call after another until it is ended."""

    def __init__(self) -> None:
        self._call: Call[Any, Any] | None = None
        self._ended = False
        self._wake = threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run, name="warploom-user-code", daemon=True)
        self._thread.start()

    def begin(self, call: Call[Any, Any]) -> None:
        """Make a call; the previous one must be over."""
        self._call = call
        self._wake.release()

    def end(self) -> None:
        """End the thread after the current call, and wait for its end unless a call is running."""
        self._ended = True
        self._wake.release()
        if self._call is None or self._call.is_over:
            self._thread.join(GRACE_S)

    def stop_call(self) -> None:
        """Raise TookTooLong in the thread, once it runs Python code again."""
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self.ident), ctypes.py_object(TookTooLong))

    @property
    def is_alive(self) -> bool:
        """True until the thread has ended."""
        return self._thread.is_alive()

    @property
    def ident(self) -> int:
        """The thread's identity."""
        assert self._thread.ident is not None
        return self._thread.ident

    def computed_s(self) -> float:
        """Return how long the thread has computed; the time of day where the platform can't tell."""
        return thread_computed_s(self.ident)

    def stack(self) -> Sequence[traceback.FrameSummary]:
        """Return the thread's stack, the outermost call first."""
        frame = sys._current_frames().get(self.ident)
        return traceback.extract_stack(frame) if frame is not None else ()

    def _run(self) -> None:
        # TookTooLong may be raised at any point, also after the call that it was meant for.
        with suppress(TookTooLong):
            while not self._ended:
                call = self._call
                try:
                    if call is None or call.is_over:
                        self._wake.acquire()
                    else:
                        call.make()
                except TookTooLong:
                    if call is not None and call.stopped_at is not None:
                        call.is_over = True


class Call(Generic[T, F]):
    """A call of a person's code that has begun. The thread that waits for its result watches it."""

    def __init__(
        self,
        runner: CodeRunner,
        thread: CodeThread,
        limits: TimeLimits | None,
        function: Callable[[], T],
        failed: Callable[[BaseException], F],
    ) -> None:
        self._runner, self._thread, self._own_limits = runner, thread, limits
        self._function, self._failed = function, failed
        #: Where the code was when it was stopped; None until then.
        self.stopped_at: Sequence[traceback.FrameSummary] | None = None
        self.is_over = False
        self._value: T | F | None = None
        self._failure: BaseException | None = None
        self._done = threading.Lock()
        self._done.acquire()
        self._since_s, self._computed_s = time.monotonic(), thread.computed_s()
        thread.begin(self)

    def make(self) -> None:
        """Call the function; the thread of this call runs it."""
        try:
            try:
                self._value = self._function()
            except TookTooLong:
                raise
            except BaseException as problem:  # noqa: BLE001 - a person's code may raise anything
                self._value = self._failed(problem)
        except TookTooLong:
            raise
        except BaseException as problem:  # noqa: BLE001 - a mistake of Warploom's, for the thread that waits
            self._failure = problem
        self.is_over = True
        self._done.release()

    def result(self, patience_s: float = math.inf) -> T | F | None:
        """Return the call's result, or that of `failed` for its failure; None if the call still runs after
        `patience_s`.
        """
        end_s, is_lost = time.monotonic() + patience_s, False
        while not self._done.acquire(timeout=max(min(_POLL_S, end_s - time.monotonic()), 0)):
            is_lost = not self.is_over and self._is_lost()
            if self.is_over or is_lost:
                break
            if time.monotonic() >= end_s:
                return None
        self._runner.take_back(self._thread, is_free=not is_lost)
        if self._failure is not None:
            raise self._failure
        if self.stopped_at is not None:  # a result that it returned after all is ignored
            return self._failed(TookTooLong(f"finish within {self._limits.computing_s:g} s", self.stopped_at))
        return self._value if self.is_over else self._failed(_CLOSED)

    @property
    def _limits(self) -> TimeLimits:
        return self._own_limits or self._runner.limits

    def abandon(self) -> None:
        """Stop the call, and don't wait for its end."""
        self._runner.abandon(self._thread)

    def _is_lost(self) -> bool:
        """Stop the code if it has taken too long; return True if its thread is to be abandoned."""
        now_s, thread, limits = time.monotonic(), self._thread, self._limits
        if self._runner.is_closed:
            thread.stop_call()
            return True
        if self.stopped_at is not None or not thread.is_alive:
            return now_s - self._since_s > GRACE_S
        if now_s - self._since_s > limits.total_s or thread.computed_s() - self._computed_s > limits.computing_s:
            self.stopped_at, self._since_s = thread.stack(), now_s
            thread.stop_call()
        return False


class CodeRunner:
    """Makes calls of a person's code for one thread at a time; it starts threads of its own when they are needed.

    A call that takes longer than its limit is stopped by an exception. If that doesn't help, its thread is abandoned,
    and later calls are made by a new thread. Any thread may close it.
    """

    def __init__(self, limits: TimeLimits = CALL, own_limits: TimeLimits = OWN_CALL) -> None:
        self.limits, self.own_limits = limits, own_limits
        #: Called before and after each call with its place: the node and the method, or "" twice. It may wait.
        self.announce: Callable[[str, str], None] = say_nothing
        self.is_closed = False
        #: A thread that waits for the next call, and those of calls whose results have not been taken.
        self._free: CodeThread | None = None
        self._busy: set[CodeThread] = set()

    def run(
        self,
        call: Callable[[], T],
        failed: Callable[[BaseException], F],
        *,
        ours: bool,
        at: tuple[str, str] = _NOWHERE,
        limits: TimeLimits | None = None,
    ) -> T | F:
        """Return the result of a call, or that of `failed` when the call raises or doesn't return in time.

        Code that is `ours` runs at once, on the caller's thread; other code is announced to be `at` a place, and has
        `limits`, by default the runner's.
        """
        if ours:
            try:
                return call()
            except (Exception, SystemExit) as problem:  # noqa: BLE001 - for the node to show
                return failed(problem)
        if self.is_closed:
            return failed(_CLOSED)
        return self.begin(call, failed, at, limits).result()  # type: ignore[return-value]  # without a limit, it is over

    def begin(
        self,
        call: Callable[[], T],
        failed: Callable[[BaseException], F],
        at: tuple[str, str] = _NOWHERE,
        limits: TimeLimits | None = None,
    ) -> Call[T, F]:
        """Begin a call; others can be made before it returns."""
        self.announce(*at)
        thread, self._free = self._free or CodeThread(), None
        self._busy.add(thread)
        return Call(self, thread, limits, call, failed)

    def take_back(self, thread: CodeThread, *, is_free: bool) -> None:
        """Keep the thread of a call whose result was taken for another call, or end it."""
        self.announce(*_NOWHERE)
        self._busy.discard(thread)
        if is_free and self._free is None and not self.is_closed:
            self._free = thread
        else:
            thread.end()

    @property
    def is_running_here(self) -> bool:
        """True on a thread that makes a call."""
        return threading.get_ident() in [thread.ident for thread in tuple(self._busy)]

    def close(self) -> None:
        """Make no more calls, and don't wait for running ones; safe to call again."""
        self.is_closed = True
        self.rest()
        for thread in tuple(self._busy):
            self.abandon(thread)

    def rest(self) -> None:
        """End the thread that waits for calls; the next call starts another."""
        thread, self._free = self._free, None
        if thread is not None:
            thread.end()

    def abandon(self, thread: CodeThread) -> None:
        """Stop a thread, and don't wait for its end."""
        self._busy.discard(thread)
        thread.end()
        thread.stop_call()
