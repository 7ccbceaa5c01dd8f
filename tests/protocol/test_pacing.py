"""Deadlines of frames are exact, come without bursts, and are waited for without using up a core."""

import math
import threading
import time
from itertools import pairwise
from statistics import fmean
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from warploom.engine.diagnostics import WarploomError
from warploom.engine.protocol import pacing as pacing_module
from warploom.engine.protocol.pacing import Pacer, Pacing, PacingMode


class FakeTime:
    """A clock that moves only by waiting and working; sleeps end `oversleep_ns` too late."""

    def __init__(self, oversleep_ns: int = 0) -> None:
        self.now_ns, self.oversleep_ns, self.woken = 7 * 10**12, oversleep_ns, False
        self.fine_waits = 0

    def __call__(self) -> int:
        return self.now_ns

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        if self.woken:
            return True
        if blocking:
            self.now_ns += round(timeout * 1e9) + self.oversleep_ns
        return False

    def sleep(self, seconds: float) -> None:
        self.fine_waits += 1
        self.now_ns += 2_000


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeTime:
    """A clock that replaces the wall clock and sleeping."""
    clock = FakeTime(oversleep_ns=60_000)
    monkeypatch.setattr(pacing_module, "time", SimpleNamespace(sleep=clock.sleep))  # only in this module
    return clock


def frames(pacer: Pacer, clock: FakeTime, work_ns: list[int]) -> list[int]:
    """Run frames of these durations, and return when each began."""
    starts = []
    for time_ns in work_ns:
        starts.append(clock.now_ns)
        clock.now_ns += time_ns
        pacer.advance()
        assert not pacer.wait(clock)
    return starts


@pytest.mark.parametrize("rate", [1.0, 23.976, 30.0, 59.94, 60.0, 120.0, 144.0, 1000.0])
def test_a_rate_is_held_without_drift(clock: FakeTime, rate: float) -> None:
    """Each of a thousand frames begins within 10 us of its deadline, though each sleep ends late."""
    pacer = Pacer(Pacing.fixed(rate), now_ns=clock)
    starts = frames(pacer, clock, [300_000] * 1000)
    for number, start in enumerate(starts[20:], 20):
        assert abs(start - starts[0] - number * 1e9 / rate) < 10_000
    assert (len(starts) - 1) / (starts[-1] - starts[0]) * 1e9 == pytest.approx(rate, rel=0.001)


def test_short_sleeps_take_little_of_a_frame(clock: FakeTime) -> None:
    """With a timer that is 60 us late, a frame spends less than 100 us in short sleeps."""
    pacer = Pacer(Pacing.fixed(60), now_ns=clock)
    frames(pacer, clock, [10**6] * 200)
    clock.fine_waits = 0
    frames(pacer, clock, [10**6] * 200)
    assert clock.fine_waits / 200 * 2_000 < 100_000


def test_a_hiccup_costs_no_frame(clock: FakeTime) -> None:
    """After a frame of one and a half intervals the next one begins at once, and the one after that is on time."""
    pacer = Pacer(Pacing.fixed(100), now_ns=clock)
    starts = frames(pacer, clock, [10**6] * 5 + [15 * 10**6] + [10**6] * 4)
    gaps = [(b - a) / 1e6 for a, b in pairwise(starts)]
    assert gaps[5:8] == pytest.approx([15, 5, 10], abs=0.1)


@given(st.integers(2, 50))
def test_lost_frames_are_not_caught_up(intervals: int) -> None:
    """After a stall, frames keep their rate: the gaps before and after are whole intervals."""
    clock = FakeTime()
    pacer = Pacer(Pacing.fixed(100), now_ns=clock)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pacing_module, "time", SimpleNamespace(sleep=clock.sleep))
        starts = frames(pacer, clock, [10**6] * 5 + [intervals * 10**7 + 1] + [10**6] * 5)
    assert min(b - a for a, b in pairwise(starts)) > 0.99e7


def test_frames_that_take_too_long_follow_each_other_at_once(clock: FakeTime) -> None:
    """A patch that takes 11 ms with an interval of 10 ms runs one frame each 11 ms, not each 20 ms."""
    pacer = Pacer(Pacing.fixed(100), now_ns=clock)
    starts = frames(pacer, clock, [11 * 10**6] * 100)
    assert fmean(b - a for a, b in pairwise(starts)) == pytest.approx(11e6, rel=0.01)


def test_free_frames_follow_each_other_at_once_and_let_others_run(clock: FakeTime) -> None:
    """Between two free frames there is one short wait, in which other threads run."""
    pacer = Pacer(Pacing.free(), now_ns=clock)
    starts = frames(pacer, clock, [10**6] * 10)
    assert {b - a for a, b in pairwise(starts)} == {10**6 + 2_000}
    assert clock.fine_waits == 10


@pytest.mark.parametrize("overlap", ["yes", 1, 0.0])
def test_overlap_is_a_switch(overlap: Any) -> None:
    """Overlap is a boolean, or None, which leaves the choice to the engine."""
    with pytest.raises(WarploomError, match="overlap of frames must be True, False or None, got "):
        Pacing.free(overlap=overlap)


def test_another_pacing_begins_with_the_next_frame(clock: FakeTime) -> None:
    """From the next frame on, frames begin at the intervals of the new pacing."""
    pacer = Pacer(Pacing.fixed(10), now_ns=clock)
    frames(pacer, clock, [10**6] * 3)
    pacer.follow(Pacing.display(50))
    starts = frames(pacer, clock, [10**6] * 3)
    assert [(b - a) / 1e6 for a, b in pairwise(starts)] == pytest.approx([20, 20], abs=0.1)


def test_a_frame_can_be_wanted_earlier_but_not_later(clock: FakeTime) -> None:
    """An edit may bring the next frame forward, but never delays it."""
    pacer = Pacer(Pacing.fixed(0.1), now_ns=clock)
    pacer.advance()
    pacer.hurry(10**7)
    assert pacer.due_ns == clock.now_ns + 10**7
    pacer.follow(Pacing.fixed(1000))
    pacer.advance()
    pacer.hurry(10**7)
    assert pacer.due_ns == clock.now_ns + 10**6
    pacer.follow(Pacing.free())
    pacer.advance()
    pacer.hurry(10**7)
    assert pacer.due_ns == clock.now_ns + 10**7, "a paused engine does not go round as fast as it can"


@pytest.mark.parametrize("rate", [0.5, 60.0, None])
def test_a_wait_ends_when_woken(clock: FakeTime, rate: float | None) -> None:
    """A wait that is woken ends before its deadline."""
    pacer = Pacer(Pacing.free() if rate is None else Pacing.fixed(rate), now_ns=clock)
    pacer.advance()
    clock.woken = True
    before_ns = clock.now_ns
    assert pacer.wait(clock)
    assert clock.now_ns == before_ns


def test_the_wall_clock_is_never_ahead_of_the_grid() -> None:
    """With real sleeps no frame begins too early, and releasing the lock ends a wait at once."""
    pacer, wake = Pacer(Pacing.fixed(200)), threading.Lock()
    wake.acquire()
    for _ in range(20):
        pacer.advance()
        assert not pacer.wait(wake)
        assert time.perf_counter_ns() >= pacer.due_ns
    pacer.follow(Pacing.fixed(0.05))
    pacer.advance()
    threading.Timer(0.01, wake.release).start()
    assert pacer.wait(wake)
    assert time.perf_counter_ns() < pacer.due_ns  # the frame is due in 20 seconds


@pytest.mark.parametrize("rate", [0.0, -60.0, math.nan, math.inf, None])
@pytest.mark.parametrize("mode", [PacingMode.FIXED, PacingMode.DISPLAY])
def test_a_rate_must_be_positive(mode: PacingMode, rate: float | None) -> None:
    """A rate that is not positive is refused with the rule and the value."""
    with pytest.raises(WarploomError, match=rf"frame rate must be a positive number of frames a second, got {rate}; "):
        Pacing(mode, rate)


def test_free_pacing_has_no_rate() -> None:
    """Free pacing with a rate is refused."""
    with pytest.raises(WarploomError, match="free pacing must have no rate, got 60"):
        Pacing(PacingMode.FREE, 60.0)


@pytest.mark.parametrize("pacing", [Pacing(), Pacing.free(), Pacing.fixed(25), Pacing.display(59.94)])
def test_a_pacing_travels_as_text(pacing: Pacing) -> None:
    """An encoded pacing decodes as an equal one."""
    assert msgspec.json.decode(msgspec.json.encode(pacing), type=Pacing) == pacing
