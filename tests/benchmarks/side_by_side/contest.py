"""Contests: a piece of work, the programs that do it, and how they are measured."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from statistics import quantiles
from typing import Any

import numpy as np

OURS = "Warploom"
#: How long all programs of a contest warm up.
SETTLE_S = 0.3
#: A row of calls of one program takes about this long, and at least one call.
TURN_S = 0.01
#: For how long each program is measured, and its least number of rows.
MEASURED_S, LEAST_TURNS = 0.25, 5


class Missing(Exception):
    """A program is not installed, or can't do the work; its message says why."""


@dataclass(frozen=True)
class Program:
    """What does the work: `launch` begins it, `wait` waits for it, and `result` returns what it has computed."""

    launch: Callable[[], object]
    wait: Callable[[], object] = lambda: None
    result: Callable[[], Any] | None = None


@dataclass(frozen=True)
class Contest:
    """A piece of work.

    `programs` makes what does it: a function for each program, which gets a stack for what must be closed and raises
    `Missing`. A program makes `batch` launches in a row, waits once, and its time is that of one launch. `wanted` is
    the ratio of our time to that of the program `against`, or to the fastest other one without it. `turns` is the least
    number of measurements of each program, and `settles` is False for programs that begin anew in each launch.
    """

    name: str
    programs: Mapping[str, Callable[[ExitStack], Program]]
    batch: int = 1
    wanted: float = 1.0
    against: str | None = None
    moved_bytes: int = 0
    tolerance: float = 1e-5
    turns: int = LEAST_TURNS
    settles: bool = True


@dataclass
class Row:
    """The times of a contest, in milliseconds: the quartiles of each program."""

    name: str
    wanted: float
    against: str | None
    times: dict[str, tuple[float, float, float]] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    differs: dict[str, float] = field(default_factory=dict)
    moved_bytes: int = 0

    def __str__(self) -> str:
        times = (f"{name} {found[1]:.4g} ms" for name, found in self.times.items())
        return f"{self.name}: {', '.join(times)}" + ("" if self.ratio is None else f": {self.ratio:.2f} x")

    @property
    def ratio(self) -> float | None:
        """Our time over the one that it is compared with; None if either is missing."""
        return self._over(1)

    @property
    def least_ratio(self) -> float | None:
        """The same with our lower quartile."""
        return self._over(0)

    def _over(self, quartile: int) -> float | None:
        others = {name: found[1] for name, found in self.times.items() if name != OURS}
        compared = min(others.values(), default=None) if self.against is None else others.get(self.against)
        return None if compared is None or OURS not in self.times else self.times[OURS][quartile] / compared


def hold(contest: Contest) -> Row:
    """Measure a contest: its programs take turns in random order."""
    row = Row(contest.name, contest.wanted, contest.against, moved_bytes=contest.moved_bytes)
    with ExitStack() as opened:
        programs: dict[str, Program] = {}
        took: dict[str, float] = {}
        for name, prepare in contest.programs.items():
            try:
                program = prepare(opened)
                took[name] = time_of(program, 1)
            except (ImportError, Missing) as problem:
                row.missing[name] = str(problem)
            except Exception as problem:  # noqa: BLE001 - the other rows are measured all the same
                row.missing[name] = f"{contest.name}: {type(problem).__name__}: {str(problem).partition(chr(10))[0]}"
            else:
                programs[name] = program
        if contest.settles:
            took = settle(programs)
        row.differs = differences(programs, contest.tolerance)
        turns = {name: max(1, round(TURN_S / contest.batch / took[name])) for name in programs}
        found: dict[str, list[float]] = {name: [] for name in programs}
        spent = dict.fromkeys(programs, 0.0)
        while any(spent[name] < MEASURED_S or len(found[name]) < contest.turns for name in programs):
            for name in random.sample(list(programs), len(programs)):
                times = [time_of(programs[name], contest.batch) for _ in range(turns[name])]
                # The first call after another program's fills the caches again.
                found[name] += [each / contest.batch for each in times[len(times) > 3 :]]
                spent[name] += sum(times)
        for name, times in found.items():
            low, middle, high = (each * 1e3 for each in quantiles(times, n=4, method="inclusive"))
            row.times[name] = low, middle, high
    return row


def time_of(program: Program, batch: int) -> float:
    """Return the seconds that a batch of launches takes."""
    launch, start = program.launch, time.perf_counter()
    for _ in range(batch):
        launch()
    program.wait()
    return time.perf_counter() - start


def settle(programs: Mapping[str, Program]) -> dict[str, float]:
    """Let programs work until optimised code has replaced quickly compiled code; return the seconds of a launch."""
    took, until = {name: time_of(program, 1) for name, program in programs.items()}, time.perf_counter() + SETTLE_S
    while time.perf_counter() < until or any(thread.name == "warploom-optimiser" for thread in threading.enumerate()):
        took = {name: time_of(program, 1) for name, program in programs.items()}
    return took


def differences(programs: Mapping[str, Program], tolerance: float) -> dict[str, float]:
    """Return by how much results differ from ours, where it is more than `tolerance` times the largest number."""
    results = {name: np.asarray(each.result()) for name, each in programs.items() if each.result is not None}
    ours, found = results.pop(OURS, None), {}
    for name, theirs in results.items():
        if ours is not None:
            kind = np.result_type(ours, theirs, np.float32)  # booleans and whole numbers can't all be subtracted
            difference = float(np.abs(np.subtract(ours, theirs, dtype=kind)).max())
            if difference > tolerance * max(1.0, float(np.abs(theirs).max())):
                found[name] = difference
    return found
