"""The engine's thread: the interpreter's settings that it changes, and those that it leaves alone."""

import gc
import sys
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runtime.conftest import Kernels
from tests.waiting import next_report, until
from warploom import Engine, Patch
from warploom import engine as engine_package
from warploom.engine.patch.changes import PortRef
from warploom.engine.profiling.recorder import LATEST_FRAMES
from warploom.engine.protocol.messages import FrameReport, Reset, SetFrameBudget, SetPacing, SetRunning
from warploom.engine.protocol.pacing import Pacing
from warploom.engine.runtime.frame.thread import SWITCH_INTERVAL_S

COUNT = PortRef("count", "out")


@pytest.fixture
def engine(kernels: Kernels) -> Iterator[Engine]:
    """A built engine with a counter that outputs its frame."""
    patch = Patch()
    patch.add("test_run.count", node_id="count")
    patch.add("test_run.tell", node_id="tell")
    with Engine(patch, "host", time_step_s=0.25) as engine:
        engine.step()
        yield engine


def count(engine: Engine) -> float:
    return float(engine.read(COUNT)[0])


def told(engine: Engine) -> list[float]:
    """Return the frame's number, time and step as a kernel received them."""
    return [float(value) for value in engine.read(PortRef("tell", "out"))]


def test_the_thread_restores_the_switch_interval(engine: Engine) -> None:
    """The interval is restored after two engines that overlap, and after one that ends by a failure."""
    before = sys.getswitchinterval()
    with Engine(Patch(), "host") as other:
        engine.start()
        other.start()
        until(lambda: other.core.clock.moment.frame > 0 and count(engine) > 0)
        assert sys.getswitchinterval() == pytest.approx(SWITCH_INTERVAL_S)
        engine.stop()
        assert sys.getswitchinterval() == pytest.approx(SWITCH_INTERVAL_S)
        other.core.clock.begin = lambda *_, **__: 1 / 0  # type: ignore[method-assign,assignment]  # makes a frame fail
        until(lambda: sys.getswitchinterval() == before)
    assert sys.getswitchinterval() == before


def test_frames_on_the_thread_keep_no_objects(engine: Engine) -> None:
    """Without garbage collection, a thousand frames keep fewer than 600 objects: measured launches."""
    code = [tracemalloc.Filter(True, str(Path(engine_package.__file__).parent / "**"))]

    def kept(frames: int) -> int:
        """Return how many objects of the engine's code exist after some more frames."""
        start = count(engine)
        until(lambda: count(engine) > start + frames)
        found = tracemalloc.take_snapshot().filter_traces(code).statistics("filename")
        return sum(made.count for made in found)

    gc.disable()
    tracemalloc.start()
    try:
        engine.post(SetFrameBudget(10**12))  # keeps slow frames out of the recorder
        engine.start(rate=None)
        before = kept(LATEST_FRAMES + 300)  # the recorder is full, and its numbers from 257 on are objects
        assert kept(1000) - before < 600
    finally:
        tracemalloc.stop()
        gc.enable()


def test_the_thread_follows_the_wall_and_a_step_by_hand_does_not(engine: Engine) -> None:
    """At 200 frames a second, steps take some milliseconds, but a step by hand takes the nominal 250."""
    assert told(engine) == [0, 0, 0.25]
    engine.start(rate=200)
    until(lambda: count(engine) > 20)
    engine.stop()
    frame, time_s, step_s = told(engine)
    assert 0 < step_s <= 0.1
    assert time_s < 0.25 + 0.1 * frame
    engine.step()
    assert told(engine) == [frame + 1, pytest.approx(time_s + 0.25), 0.25]


def test_the_thread_keeps_fixed_steps_when_asked_to(engine: Engine) -> None:
    """The thread keeps fixed steps when asked to: frame n is at n times 0.25 s, however fast frames are."""
    engine.start(rate=None, deterministic=True)
    until(lambda: count(engine) > 20)
    engine.stop()
    frame, time_s, step_s = told(engine)
    assert (time_s, step_s) == (0.25 * frame, 0.25)


def test_the_report_tells_the_time_that_kernels_see(engine: Engine) -> None:
    """Time advances with each step, and begins at 0 after a reset."""
    reports = [engine.step() for _ in range(2)]
    engine.post(Reset())
    reports.append(engine.step())
    assert [(report.frame, report.time_s) for report in reports] == [(1, 0.25), (2, 0.5), (0, 0.0)]


def test_pausing_stops_the_time(engine: Engine) -> None:
    """After a pause, a step by hand and the first frame that plays take the nominal step."""
    engine.start(rate=100)
    until(lambda: count(engine) > 5)
    engine.post(SetRunning(False))
    until(lambda: not engine.core.player.running)
    for message in (SetRunning(True, frames=1), SetRunning(True, frames=1), SetRunning(True)):
        time.sleep(0.05)
        frame, before_s, _ = told(engine)
        engine.post(SetPacing(Pacing.fixed(0.1)))
        engine.post(message)
        until(lambda: told(engine)[0] > frame)  # noqa: B023 - called before `frame` changes
        assert told(engine) == [frame + 1, pytest.approx(before_s + 0.25), 0.25]
        engine.post(SetPacing(Pacing.fixed(100)))
        if message.frames is None:
            engine.stop()


def test_the_report_of_a_single_step_says_that_the_engine_stands(engine: Engine) -> None:
    """The report of the last of a number of frames says that the engine stands."""
    engine.post(SetRunning(False))
    engine.start()
    next_report(engine, lambda report: not report.running)
    engine.post(SetRunning(True, frames=2))
    reports: list[FrameReport] = []

    def stands() -> bool:
        report = engine.take_report()
        if report is not None:
            reports.append(report)
        return bool(reports) and not reports[-1].running

    until(stands)
    assert engine.core.clock.moment.frame == reports[-1].frame + 1


def test_the_rate_can_be_changed_while_it_runs(engine: Engine) -> None:
    """Rates go from a frame in ten seconds to as fast as possible, and back to a rate that is not exceeded."""
    engine.start(pacing=Pacing.fixed(0.1))
    until(lambda: count(engine) >= 2)
    engine.stop()
    engine.start(rate=10)
    engine.post(SetPacing(Pacing.free()))
    before = count(engine)
    until(lambda: count(engine) > before + 100)
    engine.post(SetPacing(Pacing.display(50)))
    until(lambda: engine.core.player.pacing == Pacing.display(50))
    start, before = time.monotonic(), count(engine)
    until(lambda: count(engine) >= before + 10)
    frames = count(engine) - before
    assert frames <= 50 * (time.monotonic() - start) + 3  # two frames may have been late at first
