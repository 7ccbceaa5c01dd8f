"""The limits of a job in a worker process, and what a process uses.

A patch may come from anywhere, and a few lines of nested macros keep a compiler busy for hours.
"""

import os
from contextlib import suppress
from typing import NamedTuple, Self

from warploom.engine.platforms.processes import process_usage

_VARIABLES = "WARPLOOM_COMPILE_S", "WARPLOOM_COMPILE_GB"
_GB = 1 << 30


class Usage(NamedTuple):
    """What a process has used so far."""

    computed_s: float = 0.0
    memory_bytes: int = 0

    @classmethod
    def of(cls, process: int) -> Self:
        """Return what a process uses; nothing if it has ended, or if the system can't tell."""
        return cls(*process_usage(process))


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
