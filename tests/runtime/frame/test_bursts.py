"""Bursts: short frames that overlap are launched together, and each is a frame like any other."""

from collections.abc import Iterator

import numpy as np
import pytest

from engine import Engine, Patch, ProfilingLevel
from engine.compiler.frame import LONGEST_BURST, MOST_IN_FLIGHT
from engine.protocol.flight_record import SpentOn
from engine.protocol.messages import SaveOutputs, SetProfiling, SetRunning
from engine.protocol.pacing import Pacing
from engine.runtime.frame import launcher, reporter
from tests.device.lagging_device import LaggingDevice
from tests.waiting import until


@pytest.mark.parametrize(
    ("frame_us", "longest"), [(1, LONGEST_BURST), (10, 4), (11, 3), (20, 2), (21, 1), (100, 1), (20_000, 1)]
)
def test_bursts_are_as_long_as_short_frames_allow(
    counter: Patch, lagging: LaggingDevice, monkeypatch: pytest.MonkeyPatch, frame_us: int, longest: int
) -> None:
    """At most 40 us of frames are launched at once; the first launches of all are single ones."""
    time_us = 0
    monkeypatch.setattr(reporter, "LONGEST_NS", 0)
    monkeypatch.setattr(launcher, "BURST_NS", 40_000)
    monkeypatch.setattr(launcher, "_now_ns", lambda: time_us * 1000)
    with Engine(counter, lagging) as engine:
        core = engine.core
        for _ in range(40):  # frames that do not overlap tell nothing
            time_us += 1
            engine.step()
        core.pacing = Pacing.free(overlap=True)
        lengths = []
        while core.launcher.launches < 140:
            launches = core.launcher.launches
            time_us += frame_us * core.launcher.burst
            report = core.frame(free_running=True)
            lengths.append(core.launcher.launches - launches)
            assert (report.in_flight, report.launches) == (MOST_IN_FLIGHT * lengths[-1], core.launcher.launches)
        assert lengths[:10] == [1] * 10
        assert set(lengths[-10:]) == {longest}
        core.launcher.finish()
        assert core.launcher.burst == 1


@pytest.fixture
def bursting(counter: Patch, lagging: LaggingDevice, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    """An engine whose next frame is launched with three more."""
    monkeypatch.setattr(launcher, "BURST_NS", 1 << 62)
    with Engine(counter, lagging, profiling=ProfilingLevel.NONE) as engine:
        engine.step()
        engine.core.pacing = Pacing.free(overlap=True)
        until(lambda: engine.core.frame(free_running=True) and engine.core.launcher.burst > 1)
        yield engine


def launched(engine: Engine) -> int:
    """Do a frame as the engine's thread does, and return how many launches that took."""
    launches = engine.core.launcher.launches
    engine.core.frame(free_running=True)
    return engine.core.launcher.launches - launches


@pytest.mark.parametrize("real_time", [False, True])
def test_each_frame_of_a_burst_has_a_time_of_its_own(bursting: Engine, real_time: bool) -> None:
    """The flight recorder has each of them, and the patch's time goes on as in single frames."""
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
    """None of them counts as late: each begins when the one before was launched."""
    core = bursting.core
    first = core.clock.moment.frame
    core.recorder.budget_ns = 0
    core.frame(free_running=True)
    slow = bursting.flight_record().slow[-LONGEST_BURST:]
    assert [frame.frame for frame in slow] == list(range(first, first + LONGEST_BURST))
    assert not {spent.kind for frame in slow for spent in frame.spent} & {SpentOn.LATE}
    assert sum(frame.total_ns for frame in slow) <= core._ended_ns - slow[0].began_ns


def test_what_needs_single_frames_gets_them(bursting: Engine, counter: Patch) -> None:
    """Edits, numbers of frames, files, and a level that measures every frame."""
    core = bursting.core
    assert launched(bursting) == LONGEST_BURST
    counter.set("scale", factor=3.0)
    assert launched(bursting) == 1
    assert launched(bursting) == LONGEST_BURST
    bursting.post(SaveOutputs(None))
    assert launched(bursting) == 1
    bursting.post(SetRunning(True, frames=6))
    before = core.clock.moment.frame
    while core.running:
        assert launched(bursting) == 1
    assert core.clock.moment.frame == before + 6
    bursting.post(SetRunning(True))
    until(lambda: launched(bursting) == LONGEST_BURST)
    bursting.post(SetProfiling(ProfilingLevel.PER_BLOCK))
    until(lambda: launched(bursting) == LONGEST_BURST)
    bursting.post(SetProfiling(ProfilingLevel.DEEP_SYNC))
    assert {launched(bursting) for _ in range(100)} == {1}
