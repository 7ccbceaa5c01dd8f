"""Processes: how they are started, ended and measured."""

import ctypes
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

#: How often a process looks whether its parent has ended, where the system doesn't tell.
_POLL_S = 0.5
_PR_SET_PDEATHSIG = 1  # of prctl
#: Positions in /proc/PID/stat after the program's name: processor time in user and system mode, pages in memory.
_USER, _SYSTEM, _PAGES = 11, 12, 21
#: Windows ends a process that fails with a status of this size or more, which is written in hexadecimal.
_FAILURE = 0xC0000000


def own_group() -> dict[str, Any]:
    """Return arguments of `subprocess.Popen` for a process that Ctrl+C in the terminal does not reach."""
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"process_group": 0}


def kill_group(process: int) -> None:
    """Kill a process that has an `own_group`, with all processes that it has started. Raise OSError if it has ended."""
    if sys.platform == "win32":
        import psutil

        try:
            root = psutil.Process(process)
            for each in (root, *root.children(recursive=True)):
                with suppress(psutil.NoSuchProcess):
                    each.kill()
        except psutil.Error as problem:
            raise ProcessLookupError(str(problem)) from problem
    else:
        os.killpg(process, signal.SIGKILL)


def how_it_ended(status: int, word: str = "exit status") -> str:
    """Return how a process has ended, by its exit status, or minus the signal: "SIGKILL" or "exit status 3"."""
    if status < 0:
        with suppress(ValueError):
            return signal.Signals(-status).name
    return f"{word} 0x{status:08X}" if status >= _FAILURE else f"{word} {status}"


def is_killed(status: int) -> bool:
    """True if a process was killed by the system or another process, as far as its exit status tells."""
    return sys.platform != "win32" and status == -signal.SIGKILL


def end_with(parent: int) -> None:
    """End this process when `parent` ends, which has started it, even if this process is busy.

    On Linux, it ends with the parent's thread that started it.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
        if os.getppid() != parent:  # it has already ended
            os._exit(0)
    else:
        threading.Thread(target=_end_after, args=(parent,), name="parent", daemon=True).start()


def _end_after(parent: int) -> None:
    if sys.platform == "win32":
        import psutil  # in a virtual environment, `os.getppid` is a launcher of Python

        with suppress(psutil.NoSuchProcess):
            psutil.Process(parent).wait()
    else:
        while os.getppid() == parent:
            time.sleep(_POLL_S)
    os._exit(0)


def offer_to_kill() -> None:
    """Have the system kill this process before others when memory runs out, on Linux."""
    if sys.platform == "linux":
        with suppress(OSError):
            Path("/proc/self/oom_score_adj").write_text("800", encoding="utf-8")


def process_usage(process: int) -> tuple[float, int]:
    """Return the processor time in seconds and the bytes of memory of a process; zeros if it has ended.

    In a virtual environment of Windows, the process is a launcher, so those that it has started are added.
    """
    if sys.platform == "linux":
        with suppress(OSError, IndexError):
            fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
            ticks = int(fields[_USER]) + int(fields[_SYSTEM])
            return ticks / os.sysconf("SC_CLK_TCK"), int(fields[_PAGES]) * os.sysconf("SC_PAGE_SIZE")
        return 0.0, 0
    import psutil

    computed_s, memory_bytes = 0.0, 0
    with suppress(psutil.Error):
        root = psutil.Process(process)
        for each in (root, *(root.children(recursive=True) if sys.platform == "win32" else ())):
            times = each.cpu_times()
            computed_s += times.user + times.system
            memory_bytes += each.memory_info().rss
    return computed_s, memory_bytes


def after_fork(begin_anew: Callable[[], None]) -> None:
    """Have a function called in processes that this one forks; Windows has none."""
    if sys.platform != "win32":
        os.register_at_fork(after_in_child=begin_anew)


def words_of_command(command: str) -> list[str]:
    """Return the words of a command line; in Windows a backslash is part of a path.

    Raise ValueError for a quote that is not closed.
    """
    lexer = shlex.shlex(command, posix=True, punctuation_chars=False)
    lexer.whitespace_split, lexer.commenters = True, ""
    if sys.platform == "win32":
        lexer.escape = ""
    return list(lexer)
