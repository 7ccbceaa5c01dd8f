"""The limits of a job in a worker process, and what a process uses.

A patch may come from anywhere, and a few lines of nested macros keep a compiler busy for hours.
"""

import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Self

_VARIABLES = "WARPLOOM_COMPILE_S", "WARPLOOM_COMPILE_GB"
_GB = 1 << 30
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
#: Positions in /proc/PID/stat after the program's name: processor time in user and system mode, pages in memory.
_USER, _SYSTEM, _PAGES = 11, 12, 21


class Usage(NamedTuple):
    """What a process has used so far."""

    computed_s: float = 0.0
    memory_bytes: int = 0

    @classmethod
    def of(cls, process: int) -> Self:
        """Return what a process uses; nothing if it has ended, or if the system can't tell."""
        with suppress(OSError, IndexError):
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
            ticks = int(fields[_USER]) + int(fields[_SYSTEM])
            return cls(ticks / _TICKS_PER_S, int(fields[_PAGES]) * _PAGE_BYTES)
        return cls()


class Excess(NamedTuple):
    """An error about a job that went over a limit, and what to do."""

    message: str
    remedy: str


class Limits(NamedTuple):
    """The most that a job may compute and keep in memory, and how long it may take with all its waiting.

    A busy machine doesn't use up `computing_s`, which is the process's own time.
    """

    computing_s: float = 30.0
    memory_bytes: float = 2 * _GB
    total_s: float = 300.0

    @classmethod
    def chosen(cls) -> Self:
        """Return the limits, with those that a person has set in the environment."""
        given = dict[str, float]()
        for name in _VARIABLES:
            with suppress(ValueError):
                value = float(os.environ.get(name, ""))
                if value == value:  # not NaN
                    given[name] = max(value, 1.0)
        usual = cls()
        computing_s, gigabytes = (given.get(name) for name in _VARIABLES)
        return cls(
            usual.computing_s if computing_s is None else computing_s,
            usual.memory_bytes if gigabytes is None else gigabytes * _GB,
            max(usual.total_s, 10 * (computing_s or 0)),
        )

    def excess(self, before: Usage, now: Usage, spent_s: float) -> Excess | None:
        """Return which limit a job is over; None while it is within all of them."""
        is_late = now.computed_s - before.computed_s > self.computing_s or spent_s > self.total_s
        if not is_late and now.memory_bytes <= self.memory_bytes:
            return None
        rule = f"kernel must compile within {self.computing_s:g} s and {self.memory_bytes / _GB:g} GB"
        got, name = ("more time", _VARIABLES[0]) if is_late else ("more memory", _VARIABLES[1])
        return Excess(f"{rule}, got {got}", f"simplify it, or set {name} to more in the environment of Warploom")
