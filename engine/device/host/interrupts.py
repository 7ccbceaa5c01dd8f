"""Ctrl+C while native code runs on the main thread.

Python handles a signal between two of its own steps, and native code takes none. But it writes each signal's number to
a pipe at once (`signal.set_wakeup_fd`). A thread reads it and sets the stop flag of what the main thread has launched,
which ends; then Python raises KeyboardInterrupt. A handler of the program's own is called after the launch, as ever.
"""

import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import ClassVar

#: Who listened to signals before may listen again; so often we do, which takes a microsecond.
_RENEW_S = 0.1
#: A launch that is under way so long after a signal was read is stopped: Python has not handled the signal.
PATIENCE_S = 0.02


class Interrupts:
    """Stops what runs on the main thread of this process at Ctrl+C. Only the main thread may call it.

    Numbers are passed on to the previous listener, but never to a pipe of this class: neither to that of the process
    that forked this one, nor in a circle.
    """

    _sinks: ClassVar[set[int]] = set()

    def __init__(self) -> None:
        self._stops: list[Callable[[], None]] = []
        self._begun = 0
        self._sink = -1
        #: Who listened before, and which file that was: its number may be another file's by now.
        self._before: tuple[int, os.stat_result] | None = None
        self._due_s = 0.0

    def begin(self, stop: Callable[[], None]) -> None:
        """Call `stop`, on a thread, after a Ctrl+C before `end`; such times may nest."""
        self._begun += 1
        self._stops.append(stop)
        if time.monotonic() >= self._due_s:
            self._listen()

    def end(self) -> None:
        """End the last interval that `begin` started."""
        self._stops.pop()

    def _listen(self) -> None:
        if self._sink < 0:
            source, self._sink = os.pipe()
            os.set_blocking(self._sink, False)  # as a handler of signals must be
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
                with suppress(OSError):  # the file is full, or was closed since: its reader misses the number
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
    """Leave pipe and thread to the process that has forked this one."""
    global INTERRUPTS
    INTERRUPTS = Interrupts()


os.register_at_fork(after_in_child=_begin_anew)
