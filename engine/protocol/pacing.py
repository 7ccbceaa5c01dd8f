"""When frames begin: as fast as they go, or at a rate."""

from __future__ import annotations

import time
from collections.abc import Callable
from enum import StrEnum
from threading import Lock
from typing import Annotated

import msgspec

from warploom.engine.arguments import check_of, shown
from warploom.engine.diagnostics import WarploomError

_SECOND_NS = 1_000_000_000
#: Smallest rate, a frame per hour: lower rates are raised to it, since clocks can't wait for arbitrarily long times.
_LEAST_RATE = 1 / 3600
#: The shortest and longest time before a deadline that is spent in short sleeps.
_LEAST_FINE_NS, _MOST_FINE_NS = 50_000, 500_000
#: How often the end of work beside the frames is looked for.
_NAP_NS = 1_000_000


class PacingMode(StrEnum):
    """The rule for the start of frames."""

    FREE = "free"  # the end of the frame before, or of an earlier one where frames overlap
    FIXED = "fixed"  # a rate that a person chose
    DISPLAY = "display"  # the rate of the display that shows the patch; the editor sets it


def is_rate(value: object) -> bool:
    """Return whether a value is a positive finite number."""
    return not check_of(Annotated[float, msgspec.Meta(gt=0)])(value, "")


class Pacing(msgspec.Struct, frozen=True):
    """How frames are paced; `rate` is in frames a second, None for free ones. Raise WarploomError if they don't agree.

    `overlap` says whether the next frame may be launched while the last one still runs on the device (throughput), or
    each ends before the next begins (latency: input shows as early as it can). With None, free frames overlap, but for
    half a second after each edit and input, and not while the patch listens to MIDI or OSC.
    """

    mode: PacingMode = PacingMode.FIXED
    rate: float | None = 60.0
    overlap: bool | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.mode, str) or self.mode not in list(PacingMode):
            raise WarploomError(f"mode of pacing must be one of {', '.join(PacingMode)}, got {shown(self.mode)}")
        if self.overlap is not None and not isinstance(self.overlap, bool):
            raise WarploomError(f"overlap of frames must be True, False or None, got {shown(self.overlap)}")
        if self.mode is PacingMode.FREE:
            if self.rate is not None:
                raise WarploomError(
                    f"free pacing must have no rate, got {shown(self.rate)}; choose fixed pacing for a rate"
                )
        elif not is_rate(self.rate):
            raise WarploomError(
                f"frame rate must be a positive number of frames a second, got {shown(self.rate)}; a usual one is 60"
            )

    @classmethod
    def free(cls, *, overlap: bool | None = None) -> Pacing:
        """Return a pacing with as many frames as the device can run."""
        return cls(PacingMode.FREE, None, overlap)

    @classmethod
    def fixed(cls, rate: float) -> Pacing:
        """Return a pacing with `rate` frames a second."""
        return cls(PacingMode.FIXED, rate)

    @classmethod
    def display(cls, rate: float) -> Pacing:
        """Return a pacing with as many frames as the display shows."""
        return cls(PacingMode.DISPLAY, rate)


class Pacer:
    """Computes when the next frame is due, and waits for it.

    Deadlines are on a grid, start + n / rate, and are computed from n, so that they don't drift. A frame that misses
    its deadline by less than an interval begins at once and leaves the grid where it is: one hiccup costs no frame.
    When it misses by an interval or more, it starts a new grid: lost frames are not made up for in a burst.
    """

    def __init__(self, pacing: Pacing, *, now_ns: Callable[[], int] = time.perf_counter_ns) -> None:
        self._now_ns = now_ns
        self._fine_ns = _LEAST_FINE_NS
        self.follow(pacing)

    def follow(self, pacing: Pacing) -> None:
        """Change the pacing; the next frame is due at once."""
        self.pacing = pacing
        self._rate = None if pacing.rate is None else max(pacing.rate, _LEAST_RATE)
        self.restart()

    def restart(self) -> None:
        """Begin a new grid: the next frame is due now."""
        self._start_ns, self._count = self._now_ns(), 0
        self.due_ns = self._start_ns

    def advance(self) -> None:
        """Note that a frame began; set `due_ns` to when the next one is due, on the pacer's clock."""
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
        """Make the next frame due in `at_most_ns` from now, unless the rate makes it due earlier.

        A paused engine, which only polls for messages, calls this; free pacing is slowed down to this rate.
        """
        soon_ns = self._now_ns() + at_most_ns
        if self._rate is None or soon_ns < self.due_ns:
            self._start_ns, self._count = soon_ns, 0
            self.due_ns = soon_ns

    def nap(self, wake: Lock) -> bool:
        """Wait for a millisecond; return False at once when a frame is due or `wake` is released."""
        if self.due_ns - self._now_ns() < _NAP_NS + self._fine_ns:
            return False
        if wake.acquire(timeout=_NAP_NS / 1e9):
            wake.release()
            return False
        return True

    def wait(self, wake: Lock) -> bool:
        """Wait until the next frame is due; True when `wake` was released. Waiting for a lock makes no objects.

        A long sleep is followed by several short ones. The long one ends early by as much as earlier ones ended late,
        since the system's timer is inexact. The short ones take less than half a millisecond a frame, and let other
        threads run.
        """
        due_ns, now_ns = self.due_ns, self._now_ns()
        coarse_ns = due_ns - self._fine_ns - now_ns
        if coarse_ns > 0:
            if wake.acquire(timeout=coarse_ns / 1e9):
                return True
            late_ns = self._now_ns() - (due_ns - self._fine_ns)
            # Grow at once and shrink slowly: a late frame is worse than more short sleeps.
            wanted_ns = late_ns + late_ns // 4
            if wanted_ns < self._fine_ns:
                wanted_ns = self._fine_ns - (self._fine_ns - wanted_ns) // 64
            self._fine_ns = min(max(wanted_ns, _LEAST_FINE_NS), _MOST_FINE_NS)
        elif wake.acquire(blocking=False):
            return True
        time.sleep(0)  # lets other threads run, also when the frame is late or free
        while self._now_ns() < due_ns:
            time.sleep(0)
        return False
