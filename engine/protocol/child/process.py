"""The process of an engine: started by a command, with pipes to it; and spare ones, which are started in advance."""

import os
import shlex
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

import msgspec

from warploom.engine.diagnostics import DeviceError, cut
from warploom.engine.platforms.processes import kill_group, own_group
from warploom.engine.protocol.child.shared_pictures import VARIABLE, SharedPictures, make_descriptor


class EngineProcess(msgspec.Struct, frozen=True):
    """A process that a command has started, and the memory for pictures that both processes share, if there is any.

    One that `is_apart`, for an experiment, may die: it is killed with all processes that it started.
    """

    command: tuple[str, ...]
    process: subprocess.Popen[bytes]
    pictures: SharedPictures | None
    is_apart: bool = False

    def __str__(self) -> str:
        return f"`{shlex.join(self.command)}`"

    def kill(self) -> None:
        """Kill the process, unless it has ended."""
        if not self.is_apart:
            self.process.kill()
        elif self.process.returncode is None:
            kill_group(self.process.pid)

    def discard(self) -> None:
        """End a process that no engine has used."""
        self.kill()
        self.process.communicate()


def start_process(command: Sequence[str], *, apart: bool = False) -> EngineProcess:
    """Start a process. Raise DeviceError unless the command is one that runs."""
    words = tuple(command)
    try:
        if not words:
            raise ValueError("it names no program")
        with _uninterrupted():
            return _start(words, apart)
    except (OSError, ValueError) as problem:  # ValueError also for a NUL in a word
        reason = getattr(problem, "strerror", None) or problem
        raise DeviceError(
            f"engine command must be one that runs, got {cut(str(list(words)), 300)}: {reason}"
        ) from problem


class SpareProcesses:
    """Keeps started processes ready for new engines, since Python and its modules take some seconds to start.

    Processes may be taken on any thread; the other methods belong to one. `command` is words.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self._command = tuple(command)
        #: The oldest first, which is the first to be ready.
        self._spares: deque[EngineProcess] = deque()

    def keep(self, count: int) -> None:
        """Start processes, or end some, so that `count` are ready; those that have died are replaced."""
        for spare in list(self._spares):
            if spare.process.poll() is not None or len(self._spares) > count:
                with suppress(ValueError):  # it was just taken
                    self._spares.remove(spare)
                    spare.discard()
        while len(self._spares) < count:
            self._spares.append(start_process(self._command))

    def take(self) -> EngineProcess:
        """Return a process, which then belongs to the caller. Raise DeviceError unless the command is one that runs."""
        with suppress(IndexError):
            while (spare := self._spares.popleft()).process.poll() is not None:
                spare.discard()
            return spare
        return start_process(self._command)

    def close(self) -> None:
        """End the processes that nobody has taken."""
        self.keep(0)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Have a process that is started ignore Ctrl+C in the terminal: it ends when it is closed."""
    before = signal.getsignal(signal.SIGINT)
    if before is None or threading.current_thread() is not threading.main_thread():
        yield  # the handler is not Python's, or only the main thread may change it
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _start(command: tuple[str, ...], apart: bool) -> EngineProcess:
    """Start a process with pipes to it, and memory for pictures that both share."""
    shared = make_descriptor()
    passed = () if shared is None else (shared,)
    try:
        pictures = None if shared is None else SharedPictures(shared)
        environment = os.environ | {VARIABLE: str(shared)} if pictures is not None else None
        pipe = subprocess.PIPE
        group = own_group() if apart else {}
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, env=environment, pass_fds=passed, **group)
        return EngineProcess(command, process, pictures, apart)
    finally:
        for descriptor in passed:
            os.close(descriptor)
