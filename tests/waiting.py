"""Helpers that wait for other threads and processes.

They have no time limit, since the machine may be busy. pytest's time limit (in `pyproject.toml`) ends a test that
hangs.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from warploom.engine.protocol.messages import FrameReport

#: Time limit, longer than pytest's, for calls that need one, such as pytest-qt's.
PATIENCE_MS = 3_600_000


class _Reporting(Protocol):
    def take_report(self) -> FrameReport | None: ...


def until(holds: Callable[[], object]) -> None:
    """Wait until a condition is true."""
    while not holds():
        time.sleep(0.002)


def next_report(engine: _Reporting, holds: Callable[[FrameReport], object]) -> FrameReport:
    """Wait for the next report that meets a condition, and return it."""
    while True:
        report = engine.take_report()
        if report is not None and holds(report):
            return report
        time.sleep(0.002)


@contextmanager
def repeated(call: Callable[[], object], every_s: float = 0.05) -> Iterator[None]:
    """Call a function repeatedly on another thread, since its first call may come too early to have an effect."""
    over = threading.Event()

    def go() -> None:
        while not over.wait(every_s):
            call()

    thread = threading.Thread(target=go)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
