"""Jobs for worker processes, which fail in the ways that compilers do."""

import ctypes
import logging
import os
import signal
import sys
import time
from pathlib import Path

from warploom.engine.diagnostics import KernelError, TranslatorBug


def add(a: int, b: int) -> int:
    """Print a line, as libraries may do, and return the sum."""
    print("a library says something")  # noqa: T201
    os.write(1, b"and more\n")
    assert not sys.stdin.read()
    return a + b


def hang(started: Path) -> None:
    """Write the process id to a file, then never return."""
    _tell(started)
    while True:
        time.sleep(60)


def hang_with_interpreter(started: Path) -> None:
    """Never return, and let other threads run only when the interpreter forces a switch."""
    _tell(started)
    while True:
        pass


def hang_in_native_code(started: Path) -> None:
    """Never return, in native code that lets no other thread of Python run."""
    _tell(started)
    ctypes.PyDLL(None).pause()


def _tell(started: Path) -> None:
    """Write the process id; the file appears only once it is complete."""
    part = started.with_suffix(".part")
    part.write_text(str(os.getpid()))
    part.rename(started)


def die(number: int) -> None:
    """Kill this process by a signal, like a compiler that crashes."""
    os.kill(os.getpid(), number)
    signal.pause()


def leave() -> None:
    """End the process without a signal."""
    os._exit(3)


def refuse() -> None:
    """Raise a compiler's error about a kernel."""
    raise KernelError("kernel must be right", file="k.cu", line=7)


def fail() -> None:
    """Raise the error of a bug in the translator."""
    raise TranslatorBug("a register is left")


class Odd(Exception):
    """An exception that can't be pickled."""

    def __init__(self, a: int, b: int) -> None:
        super().__init__(f"{a} and {b}")


def raise_odd() -> None:
    """Raise an exception that can't be sent to another process."""
    raise Odd(1, 2)


def number() -> int:
    """Return the process id."""
    return os.getpid()


def log_and_fail() -> None:
    """Log a message at debug level and a warning, then raise."""
    log = logging.getLogger("warploom.tested")
    log.info("a detail")
    log.warning("cache %s cannot be written", "c")
    raise KernelError("kernel must be right")


def compute_for_ever(started: Path) -> None:
    """Compute without end, in native code for most of the time."""
    _tell(started)
    while True:
        sum(range(1 << 20))


def eat_memory(started: Path) -> None:
    """Keep more and more memory, without end."""
    _tell(started)
    kept = []
    while True:
        kept.append(b"\1" * (4 << 20))
        time.sleep(0.001)


def add_when(started: Path, go: Path, a: int, b: int) -> int:
    """Wait for a file, and return the sum."""
    _tell(started)
    while not go.exists():
        time.sleep(0.01)
    return a + b
