"""Problems that single frames find fade; every diagnostic has the time and the number of its sightings."""

import os
import signal
import time
from collections.abc import Iterator

import pytest

from tests.protocol.engine_process import COMMAND, the_child
from tests.runtime.small_blocks import array
from tests.waiting import next_report
from warploom import Engine, Patch
from warploom.engine.diagnostics import Diagnostic, Sighting, error, warning
from warploom.engine.patch.document import NodeRef
from warploom.engine.protocol.messages import FrameReport, NodeState, SetRunning
from warploom.engine.protocol.pipe import connect
from warploom.engine.runtime.frame.cuda_engine import CudaEngine
from warploom.engine.runtime.report import diagnostics_store
from warploom.engine.runtime.report.sightings import REMEMBERED_S, Sightings, identity


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """A time of day that stands still until the test sets the list's only element."""
    now = [1000.0]
    monkeypatch.setattr(time, "time", lambda: now[0])
    yield now


def full(percent: int) -> Diagnostic:
    return warning(f"append buffer is at {percent} % of its capacity", node="a", port="out")


def test_what_comes_up_is_counted_once(clock: list[float]) -> None:
    """A diagnostic counts once while only its numbers change, and keeps its first time when it returns."""
    sightings, wrong = Sightings(), error("x must be y", node="b")
    assert sightings.follow([wrong, full(91)], ()) == (Sighting(1000, 1000), Sighting(1000, 1000))
    clock[0] = 1005
    assert sightings.follow([full(92)], ()) == (Sighting(1000, 1000),)
    clock[0] = 1010
    assert sightings.follow([full(92), wrong], ()) == (Sighting(1000, 1000), Sighting(1000, 1010, 2))


def test_what_was_gone_for_long_is_new(clock: list[float]) -> None:
    """A diagnostic that returns is new if enough time has passed since its end."""
    sightings, wrong = Sightings(), error("x must be y", node="b")
    sightings.follow([wrong], ())
    for gone_s, now_s, expected in (
        (1500.0, 1500.0 + REMEMBERED_S - 1, Sighting(1000, 1500 + REMEMBERED_S - 1, 2)),
        (2000.0, 2000.0 + REMEMBERED_S, Sighting(2000 + REMEMBERED_S, 2000 + REMEMBERED_S)),
    ):
        clock[0] = gone_s
        sightings.follow([], ())
        clock[0] = now_s
        assert sightings.follow([wrong], ()) == (expected,)


def test_digits_of_names_are_no_numbers() -> None:
    """Two blocks of a composite are different even if only a digit distinguishes their names."""
    first, second = (warning(f"pour_{number}: buffer is at 91 %", node="glow") for number in (1, 2))
    fuller = warning("pour_1: buffer is at 1,092.5 %", node="glow")
    assert identity(first) == identity(fuller) != identity(second)


def pouring() -> tuple[Patch, NodeRef]:
    """A patch that appends 3 numbers to a buffer with room for 2; numbers below `least` are left out."""
    patch = Patch()
    pour = patch.add("test_small.pour", capacity=2)
    patch.connect(array(patch, 1, 2, 3)["out"], pour["x"])
    return patch, pour


def free_frame(engine: CudaEngine) -> FrameReport:
    return engine.frame(free_running=True)


def told(report: FrameReport) -> list[tuple[str | None, int, bool]]:
    """Return each diagnostic's node and count, and whether the diagnostic fades."""
    pairs = zip(report.diagnostics, report.sightings, strict=True)
    return [(item.node, sighting.count, sighting.is_fading) for item, sighting in pairs]


def test_each_frame_that_finds_it_counts() -> None:
    """A full buffer is counted in each frame that finds it, and a value that doesn't fit only once."""
    patch, pour = pouring()
    lonely = patch.add("test_small.bump")
    with Engine(patch, "host") as engine:
        for count in range(1, 4):
            assert sorted(told(engine.step())) == sorted([(pour.id, count, False), (lonely.id, 1, False)])
        patch.set(pour, least=9.0)
        assert told(engine.step()) == [(lonely.id, 1, False)]  # nothing fades in stepped frames


def test_frames_that_find_the_same_are_told_at_an_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    """Frames with equal findings are counted, and a report with the number is sent at an interval."""
    patch, pour = pouring()
    patch.add("test_small.grow")  # a block with state, so that each frame is launched
    with Engine(patch, "host") as engine:
        engine.step()
        monkeypatch.setattr(diagnostics_store, "REPORT_INTERVAL_NS", 1 << 62)
        reports = [free_frame(engine.core) for _ in range(5)]
        assert told(reports[-1]) == [(pour.id, 1, False)]
        assert all(report.diagnostics is reports[0].diagnostics for report in reports)
        monkeypatch.setattr(diagnostics_store, "REPORT_INTERVAL_NS", 0)
        assert told(free_frame(engine.core)) == [(pour.id, 7, False)]


def test_what_frames_no_longer_find_fades(monkeypatch: pytest.MonkeyPatch) -> None:
    """A problem that frames no longer find fades on its node, and then ends even if no frame is launched."""
    monkeypatch.setattr(diagnostics_store, "REPORT_INTERVAL_NS", 0)
    patch, pour = pouring()
    with Engine(patch, "host") as engine:
        core = engine.core
        engine.step()
        patch.set(pour, least=9.0)
        report = free_frame(core)
        assert told(report) == [(pour.id, 1, True)]
        assert report.nodes[pour.id].state is NodeState.WARNING
        assert not report.counts[str(pour["out"])]
        patch.set(pour, least=0.0)
        assert told(free_frame(core)) == [(pour.id, 2, False)]
        patch.set(pour, least=9.0)
        assert told(free_frame(core)) == [(pour.id, 2, True)]
        engine.post(SetRunning(False))
        free_frame(core)
        assert core.has_work
        launches = core.launcher.launches
        monkeypatch.setattr(time, "perf_counter_ns", lambda now=time.perf_counter_ns: now() + diagnostics_store.FADE_NS)
        report = free_frame(core)
        assert not report.diagnostics and not report.sightings
        assert report.nodes[pour.id].state is NodeState.OK
        assert core.launcher.launches == launches and not core.has_work


@pytest.mark.parametrize("edit", ["by hand", "removed"])
def test_what_fades_goes_at_once_when_it_is_over(edit: str) -> None:
    """A fading diagnostic ends at once with a stepped frame or with another graph."""
    patch, pour = pouring()
    with Engine(patch, "host") as engine:
        engine.step()
        patch.set(pour, least=9.0)
        assert told(free_frame(engine.core)) == [(pour.id, 1, True)]
        if edit == "removed":
            patch.remove(pour)
        assert not engine.step().diagnostics


def test_sightings_come_through_a_pipe() -> None:
    """Sightings arrive through a pipe, and the end of the process is the last one."""
    patch = Patch()
    patch.add("math.saxpy", node_id="lonely")
    with connect(patch, COMMAND, "host") as client:
        before_s = time.time()
        report = client.step()
        assert told(report) == 2 * [("lonely", 1, False)]
        assert all(before_s <= each.first_s <= each.last_s <= time.time() for each in report.sightings)
        os.kill(the_child(), signal.SIGKILL)
        assert told(next_report(client, lambda report: report.failed))[-1] == (None, 1, False)
