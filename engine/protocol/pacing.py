"""When frames begin: as fast as they go, or at a rate."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from enum import StrEnum
from typing import Protocol

import msgspec

from engine.diagnostics import WarploomError

_SECOND_NS = 1_000_000_000
#: The shortest and longest time before a deadline that is spent waiting finely.
_LEAST_FINE_NS, _MOST_FINE_NS = 50_000, 500_000


class PacingMode(StrEnum):
    """What decides when a frame begins."""

    FREE = "free"  # the end of the one before
    FIXED = "fixed"  # a rate that a person chose
    DISPLAY = "display"  # the rate of the display that shows the patch, which the editor tells


class Pacing(msgspec.Struct, frozen=True):
    """How frames are paced; `rate` is in frames a second, and None when they are free. WarploomError for no rate."""

    mode: PacingMode = PacingMode.FIXED
    rate: float | None = 60.0

    def __post_init__(self) -> None:
        if self.mode is PacingMode.FREE:
            if self.rate is not None:
                raise WarploomError(f"free pacing must have no rate, got {self.rate}; choose fixed pacing for a rate")
        elif self.rate is None or not (math.isfinite(self.rate) and self.rate > 0):
            raise WarploomError(
                f"frame rate must be a positive number of frames a second, got {self.rate}; a usual one is 60"
            )

    @classmethod
    def free(cls) -> Pacing:
        """Each frame begins when the one before has ended."""
        return cls(PacingMode.FREE, None)

    @classmethod
    def fixed(cls, rate: float) -> Pacing:
        """`rate` frames a second."""
        return cls(PacingMode.FIXED, rate)

    @classmethod
    def display(cls, rate: float) -> Pacing:
        """As many frames as the display shows."""
        return cls(PacingMode.DISPLAY, rate)


class Wake(Protocol):
    """What ends a wait early: a lock that is held until then, so that waiting makes no objects."""

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Wait for at most `timeout` seconds; True when woken."""


class Pacer:
    """Says when the next frame is due, and waits for it.

    Deadlines lie on a grid, start + n / rate, computed from n: they don't drift, whatever a single wait does. A frame
    that misses its deadline by less than an interval begins at once and leaves the grid where it is, so one hiccup
    costs no frame. When it misses by an interval or more, a new grid begins with it: lost frames are not caught up in a
    burst.
    """

    def __init__(self, pacing: Pacing, *, now_ns: Callable[[], int] = time.perf_counter_ns) -> None:
        self._now_ns = now_ns
        self._fine_ns = _LEAST_FINE_NS
        self.follow(pacing)

    def follow(self, pacing: Pacing) -> None:
        """Pace otherwise from now on; the next frame is due at once."""
        self.pacing = pacing
        self._rate = pacing.rate
        self.restart()

    def restart(self) -> None:
        """Begin a new grid: the next frame is due now."""
        self._start_ns, self._count = self._now_ns(), 0
        self.due_ns = self._start_ns

    def advance(self) -> None:
        """A frame began; set `due_ns` to when the next one is due, on the pacer's clock."""
        rate = self._rate
        if rate is None:
            self.due_ns = self._now_ns()
            return
        self._count += 1
        self.due_ns = self._start_ns + round(self._count * _SECOND_NS / rate)
        now_ns = self._now_ns()
        if now_ns - self.due_ns >= _SECOND_NS / rate:
            self._start_ns = self.due_ns = now_ns
            self._count = 0

    def hurry(self, at_most_ns: int) -> None:
        """Have the next frame be due in `at_most_ns` from now, or earlier at a rate that is faster than that.

        So a free one is due later than it was: it is for who has nothing to do but to see to something now and then.
        """
        soon_ns = self._now_ns() + at_most_ns
        if self._rate is None or soon_ns < self.due_ns:
            self._start_ns, self._count = soon_ns, 0
            self.due_ns = soon_ns

    def wait(self, wake: Wake) -> bool:
        """Wait until the next frame is due; True when `wake` ended the wait.

        Most of the time is one long sleep, which ends too late by what the system's timer is inexact. How much that is
        was learnt from the waits before, so the sleep ends that much early and the rest goes by in short ones: less
        than half a millisecond a frame, and other threads may run meanwhile.
        """
        due_ns, now_ns = self.due_ns, self._now_ns()
        coarse_ns = due_ns - self._fine_ns - now_ns
        if coarse_ns > 0:
            if wake.acquire(timeout=coarse_ns / 1e9):
                return True
            late_ns = self._now_ns() - (due_ns - self._fine_ns)
            # Grow at once and shrink slowly: a frame that is late is worse than a little more of fine waiting.
            wanted_ns = late_ns + late_ns // 4
            if wanted_ns < self._fine_ns:
                wanted_ns = self._fine_ns - (self._fine_ns - wanted_ns) // 64
            self._fine_ns = min(max(wanted_ns, _LEAST_FINE_NS), _MOST_FINE_NS)
        elif wake.acquire(blocking=False):
            return True
        time.sleep(0)  # a frame that is late, or free, lets other threads run too
        while self._now_ns() < due_ns:
            time.sleep(0)
        return False
