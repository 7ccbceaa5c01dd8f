"""Bursts: short frames that overlap are launched together, and each is a frame like any other."""

from collections import deque
from collections.abc import Iterator

import numpy as np
import pytest

from tests.device.lagging_device import LaggingDevice
from tests.waiting import until
from warploom import Engine, Patch, ProfilingLevel
from warploom.engine.compiler.frame import LONGEST_BURST, MOST_BURSTS
from warploom.engine.diagnostics import DeviceError
from warploom.engine.protocol.flight_record import SpentOn
from warploom.engine.protocol.messages import SaveOutputs, SetProfiling, SetRunning
from warploom.engine.protocol.pacing import Pacing, PacingMode
from warploom.engine.runtime.frame import cuda_engine, launcher


class Simulated:
    """An engine whose frames take known times, in microseconds, on the device and in Python."""

    LAUNCH_US = 3

    def __init__(self, engine: Engine, monkeypatch: pytest.MonkeyPatch, *, device_us: int, python_us: int) -> None:
        self.device_us, self.python_us = device_us, python_us
        self.core, self.now_us, self._idle_us = engine.core, 0, 0
        self._ends: deque[int] = deque()
        launcher_, compiled = self.core.launcher, self.core.updates.compiled
        make_room, fly, launch = launcher_.make_room, launcher_.fly, compiled.launch
        free = launcher_._free

        def wait() -> None:
            if not free:
                self.now_us = max(self.now_us, self._ends.popleft())
            make_room()

        def work(*place: object, **how: object) -> None:
            self.now_us += self.LAUNCH_US
            self._idle_us = max(self._idle_us, self.now_us) + self.device_us
            launch(*place, **how)

        monkeypatch.setattr(launcher, "BURST_NS", 40_000)
        monkeypatch.setattr(launcher, "LONGEST_BURST", LONGEST_BURST)
        monkeypatch.setattr(launcher, "_now_ns", lambda: self.now_us * 1000)
        monkeypatch.setattr(launcher_, "make_room", wait)
        monkeypatch.setattr(launcher_, "fly", lambda: (self._ends.append(self._idle_us), fly()))
        monkeypatch.setattr(compiled, "launch", work)

    def burst(self) -> int:
        """Run a burst as the engine's thread does, and return its number of frames."""
        launches = self.core.launcher.launches
        self.now_us += self.python_us
        report = self.core.frame(free_running=True)
        length = self.core.launcher.launches - launches
        assert (report.in_flight, report.launches) == (MOST_BURSTS * length, self.core.launcher.launches)
        return length


@pytest.fixture
def overlapping(counter: Patch, lagging: LaggingDevice, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    """An engine whose frames overlap, with a report for each."""
    monkeypatch.setattr(cuda_engine, "LONGEST_NS", 0)
    with Engine(counter, lagging, profiling=ProfilingLevel.NONE) as engine:
        for _ in range(40):  # frames that don't overlap give no times for bursts
            engine.step()
        engine.core.player.pacing = Pacing.free(overlap=True)
        yield engine


@pytest.mark.parametrize(
    ("device_us", "python_us", "longest"),
    [
        *[(1, 5, 4), (10, 5, 4), (12, 5, 3), (20, 5, 2), (21, 5, 1), (100, 5, 1), (20_000, 5, 1)],
        *[(5, 18, 4), (5, 40, 4), (11, 18, 3), (1, 1000, 4), (45, 18, 1)],
    ],
)
def test_bursts_are_as_long_as_short_frames_allow(
    overlapping: Engine, monkeypatch: pytest.MonkeyPatch, device_us: int, python_us: int, longest: int
) -> None:
    """A burst is 40 us of the device's work, however long Python takes; the very first launches are single."""
    simulated = Simulated(overlapping, monkeypatch, device_us=device_us, python_us=python_us)
    lengths = [simulated.burst() for _ in range(200)]
    assert lengths[:10] == [1] * 10
    assert set(lengths[-20:]) == {longest}
    simulated.core.launcher.finish()
    assert simulated.core.launcher.burst == 1


def test_frames_that_become_long_are_launched_one_by_one(overlapping: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bursts end when the engine first waits for a long frame; only the frames launched before are then in flight."""
    simulated = Simulated(overlapping, monkeypatch, device_us=8, python_us=5)
    while simulated.burst() < LONGEST_BURST:
        pass
    simulated.device_us = 100_000
    lengths = [simulated.burst() for _ in range(20)]
    assert lengths == [LONGEST_BURST] * MOST_BURSTS + [1] * (20 - MOST_BURSTS)


@pytest.fixture
def bursting(counter: Patch, lagging: LaggingDevice, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    """An engine whose next burst has four frames."""
    monkeypatch.setattr(launcher, "BURST_NS", 1 << 62)
    monkeypatch.setattr(launcher, "LONGEST_BURST", LONGEST_BURST)
    with Engine(counter, lagging, profiling=ProfilingLevel.NONE) as engine:
        engine.step()
        engine.core.player.pacing = Pacing.free(overlap=True)
        until(lambda: engine.core.frame(free_running=True) and engine.core.launcher.burst == LONGEST_BURST)
        yield engine


def launched(engine: Engine) -> int:
    """Run a burst as the engine's thread does, and return its number of launches."""
    launches = engine.core.launcher.launches
    engine.core.frame(free_running=True)
    return engine.core.launcher.launches - launches


@pytest.mark.parametrize("real_time", [False, True])
def test_each_frame_of_a_burst_has_a_time_of_its_own(bursting: Engine, real_time: bool) -> None:
    """The flight recorder has every frame, and the patch's time advances as in single frames."""
    core = bursting.core
    first = core.clock.moment.frame
    times = []
    begin, end = core.clock.begin, core.clock.end
    core.clock.begin = lambda *now, **how: (begin(*now, **how), times.append(core.clock.moment.time_s))
    core.clock.end = lambda: (end(), real_time or times.append(core.clock.moment.time_s))
    before_s = core.clock.moment.time_s
    for _ in range(3):
        core.frame(free_running=True, real_time=real_time)
    assert len(times) == 3 * LONGEST_BURST
    steps_s = np.diff([before_s, *times])
    if real_time:
        assert (steps_s[1:] > 0).all() and steps_s.sum() < 60
    else:
        np.testing.assert_allclose(steps_s, 1 / 60, rtol=1e-9)
    rows = bursting.flight_record().frames[-3 * LONGEST_BURST :]
    assert rows["frame"].tolist() == list(range(first, first + 3 * LONGEST_BURST))
    assert (rows["launch"] > 0).all() and (rows["before"] >= 0).all() and (rows["wait"] >= 0).all()
    assert (rows["began"][:-1] + rows["whole"][:-1] <= rows["began"][1:]).all()


def test_each_slow_frame_of_a_burst_is_noted(bursting: Engine) -> None:
    """Each slow frame of a burst is noted, and none of these frames counts as late."""
    core = bursting.core
    first = core.clock.moment.frame
    core.recorder.budget_ns = 0
    core.frame(free_running=True)
    slow = bursting.flight_record().slow[-LONGEST_BURST:]
    assert [frame.frame for frame in slow] == list(range(first, first + LONGEST_BURST))
    assert not {spent.kind for frame in slow for spent in frame.spent} & {SpentOn.LATE}
    assert sum(frame.total_ns for frame in slow) <= core._ended_ns - slow[0].began_ns


@pytest.mark.parametrize("launch", range(1, LONGEST_BURST + 1))
def test_a_launch_that_fails_is_the_last_one_recorded(
    bursting: Engine, monkeypatch: pytest.MonkeyPatch, launch: int
) -> None:
    """The record has the frames of the burst that were launched, and then the failed one without a launch time."""
    core = bursting.core
    first, compiled = core.clock.moment.frame, core.updates.compiled
    calls = iter(range(1, LONGEST_BURST + 1))

    def fail(*place: object, **how: object) -> None:
        if next(calls) == launch:
            raise DeviceError("the device has gone")
        type(compiled).launch(compiled, *place, **how)

    monkeypatch.setattr(compiled, "launch", fail)
    core.recorder.budget_ns = 1
    with pytest.raises(DeviceError, match="has gone"):
        core.frame(free_running=True)
    record = bursting.flight_record()
    rows = record.frames[-launch:]
    assert rows["frame"].tolist() == list(range(first, first + launch))
    assert (rows["launch"] > 0).tolist() == [True] * (launch - 1) + [False]
    assert (rows["before"] >= 0).all() and (rows["wait"] >= 0).all()
    assert (rows["began"][:-1] + rows["whole"][:-1] <= rows["began"][1:]).all()
    assert record.slow[-1].frame == first + launch - 1


def test_what_needs_single_frames_gets_them(bursting: Engine, counter: Patch) -> None:
    """Edits, a number of frames, files, a rate, and a level that measures every frame end bursts."""
    core = bursting.core
    assert launched(bursting) == LONGEST_BURST
    counter.set("scale", factor=3.0)
    assert launched(bursting) == 1
    assert launched(bursting) == LONGEST_BURST
    bursting.post(SaveOutputs(None))
    assert launched(bursting) == 1
    bursting.post(SetRunning(True, frames=6))
    before = core.clock.moment.frame
    while core.player.running:
        assert launched(bursting) == 1
    assert core.clock.moment.frame == before + 6
    bursting.post(SetRunning(True))
    until(lambda: launched(bursting) == LONGEST_BURST)
    core.player.pacing = Pacing(PacingMode.FIXED, 60.0, overlap=True)
    assert [launched(bursting) for _ in range(3)] == [1] * 3
    core.player.pacing = Pacing.free(overlap=True)
    assert launched(bursting) == LONGEST_BURST
    bursting.post(SetProfiling(ProfilingLevel.PER_BLOCK))
    until(lambda: launched(bursting) == LONGEST_BURST)
    bursting.post(SetProfiling(ProfilingLevel.DEEP_SYNC))
    assert {launched(bursting) for _ in range(100)} == {1}
