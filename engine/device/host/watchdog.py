"""Stops kernels: a flag that translated code reads in every turn of a loop, and a thread that sets it.

The time limit counts only time in which this process had a processor. So a kernel is not stopped because other programs
held the cores, or because the computer slept.
"""

import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import ClassVar

import numpy as np

from warploom.engine.platforms.pipes import stop_blocking
from warploom.engine.platforms.processes import after_fork

#: The interval for taking over the pipe again, since an earlier listener may have done the same. It takes a
#: microsecond.
_RENEW_S = 0.1
#: A launch is stopped if it still runs this long after a signal was read: then Python has not handled the signal.
PATIENCE_S = 0.02


class Interrupts:
    """Stops launches on the main thread of this process at Ctrl+C. Only the main thread may call it.

    Numbers are passed on to the previous listener, but never to a pipe of this class: neither to the pipe of the
    process that forked this one, nor in a cycle.
    """

    _sinks: ClassVar[set[int]] = set()

    def __init__(self) -> None:
        self._stops: list[Callable[[], None]] = []
        self._begun = 0
        self._sink = -1
        #: The previous listener, and its file, since the file number may have been reused for another file.
        self._before: tuple[int, os.stat_result] | None = None
        self._due_s = 0.0

    def begin(self, stop: Callable[[], None]) -> None:
        """Have another thread call `stop` at a Ctrl+C before `end`. Calls of `begin` may nest."""
        self._begun += 1
        self._stops.append(stop)
        if time.monotonic() >= self._due_s:
            self._listen()

    def end(self) -> None:
        """End the interval of the last `begin`."""
        self._stops.pop()

    def _listen(self) -> None:
        if self._sink < 0:
            source, self._sink = os.pipe()
            stop_blocking(self._sink)  # as signal handlers require
            self._sinks.add(self._sink)
            threading.Thread(target=self._read, args=(source,), name="ctrl-c", daemon=True).start()
        before = signal.set_wakeup_fd(self._sink, warn_on_full_buffer=False)
        if before not in self._sinks:
            self._before = None
            with suppress(OSError):  # there was no listener, or its file was closed
                self._before = before, os.fstat(before)
        self._due_s = time.monotonic() + _RENEW_S

    def _read(self, source: int) -> None:
        while True:
            numbers = os.read(source, 64)
            if self._before is not None:
                descriptor, file = self._before
                with suppress(OSError):  # the file is full or closed, so its reader misses the number
                    if os.path.samestat(os.fstat(descriptor), file):
                        os.write(descriptor, numbers)
            if signal.SIGINT in numbers and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
                begun = self._begun
                time.sleep(PATIENCE_S)
                if begun == self._begun:
                    for stop in tuple(self._stops):
                        stop()


INTERRUPTS = Interrupts()


def _begin_anew() -> None:
    """Leave the pipe and the thread to the process that forked this one, and create new ones."""
    global INTERRUPTS
    INTERRUPTS = Interrupts()


after_fork(_begin_anew)


#: The interval between checks of the running kernels' time.
_LOOK_S = 0.02
#: The time without launches after which the thread sleeps until the next launch.
_IDLE_S = 1.0

RUNNING, TIME_LIMIT, INTERRUPTED, CLOSED = 0, 1, 2, 3


class Watchdog:
    """Stops the kernels of one device; `limit_s` limits the processor time of each launch, None means no limit.

    Launches and graphs run inside a `with` block. An interruption stops them there, and so does Ctrl+C on the main
    thread.
    """

    def __init__(self, limit_s: float | None) -> None:
        self.limit_s = limit_s
        self._flag = np.zeros(1, np.int64)
        self.address = int(self._flag.ctypes.data)
        self._lock = threading.Lock()
        #: The threads inside a `with` block. A thread that Ctrl+C stopped while entering stays until its next launch.
        self._users: set[int] = set()
        #: The number of clocks started so far; below, whether the last one is running.
        self._started, self._is_running = 0, False
        self._wake = threading.Event()
        self._is_parked = True
        self._thread: threading.Thread | None = None
        self._progress: Callable[[], int] = int

    def watch(self, progress: Callable[[], int]) -> None:
        """Restart the time limit whenever this number changes, since native code runs many kernels in one call."""
        self._progress = progress

    @property
    def reason(self) -> int:
        """The reason why kernels must stop; RUNNING if they need not."""
        return int(self._flag[0])

    def explain(self, reason: int) -> str:
        """Return the text of a reason to stop, for messages."""
        if reason == TIME_LIMIT:
            return f"by the time limit of {self.limit_s:g} s"
        return "because the device was closed" if reason == CLOSED else "because that was asked for"

    def __enter__(self) -> None:
        thread = threading.get_ident()
        if thread == _MAIN:
            INTERRUPTS.begin(self.interrupt)
        self._users.add(thread)

    def __exit__(self, *_: object) -> None:
        """Leave the `with` block. After the last launch, drop the request to stop."""
        thread = threading.get_ident()
        if thread == _MAIN:
            INTERRUPTS.end()
        with self._lock:
            self._users.discard(thread)
            if not self._users and self._flag[0] != CLOSED:
                self._flag[0] = RUNNING

    def start(self) -> None:
        """Start the clock of one kernel."""
        if self.limit_s is None:
            return
        self._started += 1
        self._is_running = True
        if self._is_parked:
            self._is_parked = False
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, name="warploom-host-watchdog", daemon=True)
                self._thread.start()
            self._wake.set()

    def finish(self) -> None:
        """Stop the clock of one kernel."""
        self._is_running = False

    def interrupt(self) -> None:
        """Stop the running launches, if there are any."""
        with self._lock:
            if self._users and self._flag[0] == RUNNING:
                self._flag[0] = INTERRUPTED

    def close(self) -> None:
        """Stop the running work and refuse every later launch, and end the thread."""
        with self._lock:
            self._flag[0] = CLOSED
        self._wake.set()
        if self._thread is not None:
            self._thread.join()

    def _watch(self) -> None:
        stopwatch, idle_since = Stopwatch(), time.monotonic()
        timed = self._started, self._progress()
        while self._flag[0] != CLOSED:
            if self._is_running:
                idle_since = time.monotonic()
                if timed != (timed := (self._started, self._progress())):
                    stopwatch = Stopwatch()
                elif self.limit_s is not None and stopwatch.look() >= self.limit_s:
                    with self._lock:
                        if self._is_running and self._started == timed[0] and self._flag[0] == RUNNING:
                            self._flag[0] = TIME_LIMIT
            elif time.monotonic() - idle_since > _IDLE_S:
                self._wake.clear()
                self._is_parked = True
                # A launch that started meanwhile has either seen `_is_parked` or is visible here.
                if not self._is_running and self._flag[0] != CLOSED:
                    self._wake.wait()
                self._is_parked = False
                idle_since = time.monotonic()
                continue
            time.sleep(_LOOK_S if self.limit_s is None else min(_LOOK_S, self.limit_s / 4))


class Stopwatch:
    """The time in which this process computed; it never grows by more than the processor time of the process."""

    def __init__(self) -> None:
        self._passed_s = 0.0
        self._wall_s, self._processor_s = time.monotonic(), time.process_time()

    def look(self) -> float:
        """Return the time so far, in seconds."""
        wall_s, processor_s = time.monotonic(), time.process_time()
        self._passed_s += min(wall_s - self._wall_s, processor_s - self._processor_s)
        self._wall_s, self._processor_s = wall_s, processor_s
        return self._passed_s


_MAIN = threading.main_thread().ident
