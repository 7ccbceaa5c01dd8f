"""Processes, pipes and the processor, in each system's way."""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from types import ModuleType
from typing import Any

import psutil
import pytest

from tests.platforms.systems import SYSTEMS, pretend
from warploom.engine.platforms import machine, memory, pipes, processes, processor

every_system = pytest.mark.parametrize("system", SYSTEMS)


def _wait_for_end(process: psutil.Process) -> None:
    """Wait for the end of a process, whether or not its parent has asked for its status."""
    until_s = time.monotonic() + 30
    with suppress(psutil.NoSuchProcess):
        while process.status() != psutil.STATUS_ZOMBIE:
            assert time.monotonic() < until_s
            time.sleep(0.01)


def _windows_pipes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand in for the module that looks into pipes, as Windows does."""
    import select

    poll = select.poll
    monkeypatch.delattr(select, "poll")
    module = ModuleType("_winapi")

    def peek(handle: int) -> tuple[int, int]:
        waiting = poll()
        waiting.register(handle, select.POLLIN)
        events = waiting.poll(0)
        if events and events[0][1] == select.POLLHUP:
            raise BrokenPipeError
        return (1 if events else 0), 0

    vars(module)["PeekNamedPipe"] = peek
    monkeypatch.setitem(sys.modules, "_winapi", module)


@every_system
def test_a_group_is_killed_with_what_it_has_started(system: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killing a group ends a process and its child; a group that has ended is an OSError."""
    group = processes.own_group()
    pretend(monkeypatch, system)
    command = ["sh", "-c", "sleep 60 & echo $!; wait"]
    parent = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **group)
    assert parent.stdout is not None
    child = psutil.Process(int(parent.stdout.readline()))
    processes.kill_group(parent.pid)
    assert parent.wait() == -signal.SIGKILL
    _wait_for_end(child)
    parent.communicate()
    ended = subprocess.Popen(["true"], **group)
    ended.wait()
    with pytest.raises(ProcessLookupError):
        processes.kill_group(ended.pid)


@every_system
def test_the_use_of_a_process_is_measured(system: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """This process has computed and has memory; one that has ended has not."""
    pretend(monkeypatch, system)
    monkeypatch.setattr(psutil.Process, "children", lambda process, recursive=False: [])  # of other tests
    computed_s, memory_bytes = processes.process_usage(os.getpid())
    assert computed_s == pytest.approx(time.process_time(), abs=1)
    assert memory_bytes == pytest.approx(psutil.Process().memory_info().rss, rel=0.2)
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    assert processes.process_usage(ended.pid) == (0, 0)


@pytest.mark.parametrize("system", ("darwin", "win32"))
def test_a_worker_ends_with_its_parent(system: str) -> None:
    """A process ends when its parent does, also where the system doesn't see to that."""
    worker = (
        f"import psutil, sys, time; sys.platform = {system!r}\n"
        "from warploom.engine.platforms.processes import end_with\n"
        "end_with(int(sys.argv[1])); time.sleep(60)"
    )
    parent = (
        "import os, subprocess, sys\n"
        f"worker = subprocess.Popen([sys.executable, '-c', {worker!r}, str(os.getpid())], stdout=subprocess.DEVNULL)\n"
        "print(worker.pid, flush=True); input()"
    )
    started = subprocess.Popen([sys.executable, "-c", parent], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert started.stdout is not None
    child = psutil.Process(int(started.stdout.readline()))
    assert child.is_running()
    started.kill()
    started.communicate()
    _wait_for_end(child)


def test_the_end_of_a_process_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """A signal has its name, and a failure of Windows its number as its manuals write it."""
    assert processes.how_it_ended(-signal.SIGKILL) == "SIGKILL"
    assert processes.how_it_ended(3) == "exit status 3"
    assert processes.how_it_ended(0xC0000005, "status") == "status 0xC0000005"
    assert processes.how_it_ended(-200) == "exit status -200"
    assert processes.is_killed(-signal.SIGKILL)
    pretend(monkeypatch, "win32")
    assert not processes.is_killed(1)


def test_windows_commands_have_backslashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A backslash escapes on POSIX systems and is part of a path on Windows; quotes hold spaces on both."""
    command = r'"C:\Program Files\Python\python.exe" -m warploom C:\a\b'
    assert processes.words_of_command('ssh host "warploom engine"') == ["ssh", "host", "warploom engine"]
    pretend(monkeypatch, "win32")
    assert processes.words_of_command(command) == [r"C:\Program Files\Python\python.exe", "-m", "warploom", r"C:\a\b"]
    with pytest.raises(ValueError, match="quot"):
        processes.words_of_command('"open')


@every_system
def test_a_pipe_is_readable_when_it_has_bytes_or_ends(system: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Waiting ends at the first bytes, at the end of the pipe, and after the given time."""
    pretend(monkeypatch, system)
    if system == "win32":
        _windows_pipes(monkeypatch)
    source, sink = os.pipe()
    with os.fdopen(source, "rb", buffering=0) as reader:
        readable = pipes.Readable(reader)
        assert not readable.wait(0)
        assert not readable.wait(0.01)
        later = threading.Timer(0.05, os.write, (sink, b"x"))
        later.start()
        assert readable.wait(10)
        later.join()
        assert reader.read(1) == b"x"
        assert not readable.wait(0)
        os.close(sink)
        assert readable.wait(0)
        assert reader.read(1) == b""


@every_system
def test_the_machine_is_described(system: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cores, memory, the processor and the machine are known on every system."""
    pretend(monkeypatch, system)
    registry = ModuleType("winreg")
    vars(registry).update(HKEY_LOCAL_MACHINE=0, OpenKey=lambda *_: _Key(), QueryValueEx=lambda *_: (" Fast CPU ", 1))
    monkeypatch.setitem(sys.modules, "winreg", registry)
    assert 1 <= processor.usable_cores() <= (os.cpu_count() or 1)
    assert 0 < memory.free_bytes() <= memory.total_bytes()
    name = processor.processor_name()
    assert name == "Fast CPU" if system == "win32" else name
    assert processor.thread_computed_s(threading.get_ident()) > 0
    assert machine.place() == machine.place() != ""
    monkeypatch.setenv("LOGNAME", "anna")
    assert machine.person().endswith(" anna")
    memory.share_heaps(2)
    with processor.usual_scheduling():
        pass


class _Key:
    def __enter__(self) -> "_Key":
        return self

    def __exit__(self, *_: Any) -> None:
        pass
