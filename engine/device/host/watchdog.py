"""Stopping kernels: a flag that translated code reads at every turn of a loop, and the thread that sets it."""

import threading
import time
from collections.abc import Callable

import numpy as np

#: How often the time of running kernels is checked.
_LOOK_S = 0.02
#: After this time without launches, the thread sleeps until the next one.
_IDLE_S = 1.0

RUNNING, TIME_LIMIT, INTERRUPTED, CLOSED = 0, 1, 2, 3


class Watchdog:
    """Stops the kernels of one device; `limit_s` bounds the time of each launch, None is no limit."""

    def __init__(self, limit_s: float | None) -> None:
        self.limit_s = limit_s
        self._flag = np.zeros(1, np.int64)
        self.address = int(self._flag.ctypes.data)
        self._lock = threading.Lock()
        self._uses = 0
        self._deadline: float | None = None
        self._wake = threading.Event()
        self._is_parked = True
        self._thread: threading.Thread | None = None
        self._progress: Callable[[], int] = int

    def watch(self, progress: Callable[[], int]) -> None:
        """Let the time limit begin anew whenever this number has changed: native code runs many kernels in one go."""
        self._progress = progress

    @property
    def reason(self) -> int:
        """Why kernels must stop; RUNNING when they need not."""
        return int(self._flag[0])

    def explain(self, reason: int) -> str:
        """Return a reason to stop, as a message says it."""
        if reason == TIME_LIMIT:
            return f"by the time limit of {self.limit_s:g} s"
        return "because the device was closed" if reason == CLOSED else "because that was asked for"

    def enter(self) -> None:
        """Begin a launch or a graph: from now on, an interruption stops it."""
        with self._lock:
            self._uses += 1

    def leave(self) -> None:
        """End a launch or a graph; when it was the last one, the request to stop is over."""
        with self._lock:
            self._uses -= 1
            if not self._uses and self._flag[0] != CLOSED:
                self._flag[0] = RUNNING

    def start(self) -> None:
        """Start the clock of one kernel."""
        if self.limit_s is None:
            return
        self._deadline = time.monotonic() + self.limit_s
        if self._is_parked:
            self._is_parked = False
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, name="warploom-host-watchdog", daemon=True)
                self._thread.start()
            self._wake.set()

    def finish(self) -> None:
        """Stop the clock of one kernel."""
        self._deadline = None

    def interrupt(self) -> None:
        """Stop what is running, if anything."""
        with self._lock:
            if self._uses and self._flag[0] == RUNNING:
                self._flag[0] = INTERRUPTED

    def close(self) -> None:
        """Stop what is running and every later launch, and end the thread."""
        with self._lock:
            self._flag[0] = CLOSED
        self._wake.set()
        if self._thread is not None:
            self._thread.join()

    def _watch(self) -> None:
        idle_since = time.monotonic()
        progress, later = self._progress(), 0.0  # a deadline that kernels which ended have put off
        while self._flag[0] != CLOSED:
            now, deadline = time.monotonic(), self._deadline
            if deadline is not None and self.limit_s is not None:
                idle_since = now
                if progress != (progress := self._progress()):
                    later = now + self.limit_s
                if now >= max(deadline, later):
                    with self._lock:
                        if self._deadline == deadline and self._flag[0] == RUNNING:
                            self._flag[0] = TIME_LIMIT
            elif now - idle_since > _IDLE_S:
                self._wake.clear()
                self._is_parked = True
                # A launch that began meanwhile has seen `_is_parked`, or its deadline is seen here.
                if self._deadline is None and self._flag[0] != CLOSED:
                    self._wake.wait()
                self._is_parked = False
                idle_since = time.monotonic()
                continue
            time.sleep(min(_LOOK_S, max(deadline - now, 0.001)) if deadline is not None else _LOOK_S)
