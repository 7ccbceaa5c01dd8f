"""The flight recorder shows what each frame did, and where the time of slow frames went."""

import gc
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.device.lagging_device import LaggingDevice
from tests.runtime.conftest import Kernels
from tests.waiting import until
from warploom import Engine, Patch, UpdateLevel
from warploom.engine.diagnostics import DeviceError
from warploom.engine.profiling.levels import ProfilingLevel
from warploom.engine.profiling.recorder import Stamps
from warploom.engine.protocol.flight_record import SlowFrame, Spent, SpentOn
from warploom.engine.protocol.messages import Reset, SetFrameBudget, SetProfiling, SetRunning
from warploom.engine.protocol.pacing import Pacing
from warploom.engine.protocol.sampling import ObservePorts, picture_of
from warploom.engine.runtime.measure.recorder import divide
from warploom.engine.runtime.update.worker import Worker

#: No frame of these tests takes this long.
NEVER = SetFrameBudget(2**62)


@pytest.fixture
def patch(kernels: Kernels) -> Patch:
    """A counter, scaled, and a picture."""
    patch = Patch()
    count = patch.add("test_run.count", node_id="count")
    patch.connect(count["out"], patch.add("test_run.scale", node_id="scale")["x"])
    noise = patch.add("image.noise", node_id="noise", width=6, height=4)
    patch.connect(noise["out"], patch.add("test_run.show", node_id="show")["image"])
    return patch


def last_slow(engine: Engine) -> SlowFrame:
    return engine.flight_record().slow[-1]


def spent_on(slow: SlowFrame) -> list[SpentOn]:
    return [each.kind for each in slow.spent]


def delay(owner: Any, name: str, seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a method take longer."""
    method: Callable[..., object] = getattr(owner, name)

    def delayed(*arguments: object, **more: object) -> object:
        time.sleep(seconds)
        return method(*arguments, **more)

    monkeypatch.setattr(owner, name, delayed)


def test_each_frame_has_a_row_that_agrees_with_its_report(patch: Patch) -> None:
    with Engine(patch, "host") as engine:
        reports = [engine.step() for _ in range(5)]
        record = engine.flight_record()
    rows = record.frames
    assert rows["frame"].tolist() == [0, 1, 2, 3, 4]
    assert rows["whole"].tolist() == [report.frame_time_ns for report in reports]
    assert rows["level"].tolist() == [report.update_level for report in reports]
    assert (rows["before"] + rows["launch"] + rows["wait"] == rows["whole"]).all()
    assert (rows["late"] == 0).all()
    assert min(rows["before"].min(), rows["wait"].min()) > 0
    assert rows["launch"].max() == 0, "the host works within the launch"
    assert record.now_ns > rows["began"][-1] + rows["whole"][-1]


def test_updates_and_diagnostics_are_told_with_the_frame_of_their_time(patch: Patch) -> None:
    with Engine(patch, "host") as engine:
        for _ in range(3):
            engine.step()
        patch.disconnect(patch["scale"]["x"])
        engine.step()
        patch.connect(patch["count"]["out"], patch["scale"]["x"])
        engine.step()
        record = engine.flight_record()
    assert [(each.update.level, each.update.frame) for each in record.updates] == [(UpdateLevel.COLD, 0)]
    appeared, resolved = record.diagnostics
    assert (appeared.appeared[0].node, appeared.resolved) == ("scale", ())
    assert (resolved.appeared, resolved.resolved) == ((), appeared.appeared)
    ends = (record.frames["began"] + record.frames["whole"]).tolist()
    assert record.updates[0].at_ns == ends[0]
    assert ends[2] < appeared.at_ns < ends[3] < resolved.at_ns < ends[4]


def test_frames_of_a_paused_engine_are_not_told_but_its_updates_are(patch: Patch) -> None:
    with Engine(patch, "host") as engine:
        engine.step()
        engine.post(SetRunning(False))
        engine.start()
        until(lambda: not engine.core.player.running)
        launches = engine.core.launcher.launches
        patch.set("scale", factor=3.0)
        until(lambda: engine.core.launcher.launches > launches)
        assert engine.flight_record().frames["frame"].tolist() == [0]
        patch.set("noise", width=9)
        until(lambda: len(engine.flight_record().updates) == 2)
        record = engine.flight_record()
        assert record.frames["frame"].tolist() == [0]
        assert record.updates[1].at_ns > record.updates[0].at_ns


def test_a_frame_is_slow_that_takes_longer_than_the_budget(patch: Patch) -> None:
    with Engine(patch, "host") as engine:
        engine.post(NEVER)
        engine.step()
        assert engine.flight_record().slow == ()
        engine.post(SetFrameBudget(0))
        report = engine.step()
        engine.post(NEVER)
        engine.step()
        record = engine.flight_record()
    assert record.budget_ns == NEVER.budget_ns
    assert [slow.frame for slow in record.slow] == [report.frame]
    assert record.slow[0].total_ns == report.frame_time_ns


def test_a_slow_frame_is_kept_longer_than_its_row(patch: Patch) -> None:
    with Engine(patch, "host", profiling=ProfilingLevel.NONE) as engine:
        engine.post(SetFrameBudget(0))
        engine.step()
        engine.post(NEVER)
        for _ in range(605):
            engine.step()
        record = engine.flight_record()
        assert record.frames["frame"].tolist() == list(range(6, 606))
        assert [slow.frame for slow in record.slow] == [0]
        engine.post(SetFrameBudget(0))
        for _ in range(605):
            engine.step()
        assert [slow.frame for slow in engine.flight_record().slow] == list(range(611, 1211))


def test_what_a_slow_frame_was_spent_on(patch: Patch, monkeypatch: pytest.MonkeyPatch) -> None:
    """The phase that made a frame slow is listed first, for each phase in turn."""
    with Engine(patch, "host", profiling=ProfilingLevel.NONE) as engine:
        engine.post(SetFrameBudget(20_000_000))
        engine.step()
        core = engine.core
        with monkeypatch.context() as slowed:
            delay(core.launcher, "synchronize", 0.08, slowed)
            engine.step()
        assert spent_on(last_slow(engine))[0] is SpentOn.DEVICE
        with monkeypatch.context() as slowed:
            delay(core.updates.compiled, "launch", 0.08, slowed)
            engine.step()
        assert spent_on(last_slow(engine))[0] is SpentOn.DEVICE, "the host works within the launch"
        engine.post(ObservePorts({"show": picture_of("show")}))
        with monkeypatch.context() as slowed:
            delay(core.samples, "take", 0.08, slowed)
            engine.step()
        assert spent_on(last_slow(engine))[0] is SpentOn.PICTURES
        patch.set("noise", width=12)
        with monkeypatch.context() as slowed:
            delay(core.updates, "run", 0.08, slowed)
            engine.step()
        slow = last_slow(engine)
        assert slow.spent[0].kind is SpentOn.UPDATE
        assert "noise" in slow.spent[0].text
        assert slow.level > UpdateLevel.HOT
        read_inbox = core.read_inbox

        def collecting() -> None:
            gc.collect()
            read_inbox()

        engine.post(SetFrameBudget(0))
        with monkeypatch.context() as slowed:
            slowed.setattr(core, "read_inbox", collecting)
            engine.step()
        assert spent_on(last_slow(engine))[0] is SpentOn.COLLECTION


def test_where_the_device_works_beside_python_the_launch_is_told_apart(
    patch: Patch, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = LaggingDevice()
    with Engine(patch, device, profiling=ProfilingLevel.NONE) as engine:
        engine.post(SetFrameBudget(20_000_000))
        engine.step()
        delay(engine.core.updates.compiled, "launch", 0.03, monkeypatch)
        engine.step()
        record = engine.flight_record()
    device.close()
    assert spent_on(record.slow[-1])[0] is SpentOn.LAUNCH
    assert record.frames["launch"][-1] >= 30_000_000


def test_a_frame_beside_which_an_update_is_prepared_says_so(patch: Patch, monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow frame lists an update that is prepared beside it, without a time, since its delay is unknown."""
    with Engine(patch, "host", profiling=ProfilingLevel.NONE) as engine:
        engine.step()
        engine.post(SetFrameBudget(0))
        with monkeypatch.context() as held:
            held.setattr(Worker, "is_done", False)
            patch.set("noise", width=12)
            engine.core.frame(free_running=True)
        assert last_slow(engine).spent[-1] == Spent(SpentOn.COMPILE, 0)
        engine.step()
        assert SpentOn.COMPILE not in spent_on(last_slow(engine))


def test_parts_that_hardly_count_are_left_out(patch: Patch, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts below 5 % of a slow frame are left out, and the longest part is first."""
    with Engine(patch, "host", profiling=ProfilingLevel.NONE) as engine:
        engine.step()
        engine.post(SetFrameBudget(0))
        delay(engine.core, "read_inbox", 0.01, monkeypatch)
        delay(engine.core.launcher, "synchronize", 0.05, monkeypatch)
        found: list[SlowFrame] = []

        def is_clear() -> bool:
            """Run a frame; return whether the delays are most of it, and not pauses of a busy machine."""
            engine.step()
            found.append(last_slow(engine))
            told = {part.kind: part.time_ns for part in found[-1].spent}
            most = max(told, key=told.__getitem__, default=None)
            return most is SpentOn.DEVICE and SpentOn.UPDATE in told and sum(told.values()) > 0.5 * found[-1].total_ns

        until(is_clear)
    for slow in found:
        times = [part.time_ns for part in slow.spent]
        assert times == sorted(times, reverse=True)
        assert not times or (min(times) >= 0.05 * slow.total_ns and sum(times) <= slow.total_ns)


def test_a_measured_frame_says_so(patch: Patch) -> None:
    """A slow frame that was measured lists measuring instead of its launch."""
    device = LaggingDevice()
    with Engine(patch, device) as engine:
        engine.step()
        engine.post(SetProfiling(ProfilingLevel.DEEP_SYNC))
        engine.post(SetFrameBudget(0))
        engine.step()
        assert SpentOn.MEASURING in spent_on(last_slow(engine))
        assert SpentOn.LAUNCH not in spent_on(last_slow(engine))
    device.close()


def test_what_measuring_cost_is_no_time_of_the_device(patch: Patch, monkeypatch: pytest.MonkeyPatch) -> None:
    device = LaggingDevice()
    with Engine(patch, device, profiling=ProfilingLevel.NONE) as engine:
        engine.step()
        engine.post(SetFrameBudget(0))
        delay(engine.core.launcher, "synchronize", 0.05, monkeypatch)
        monkeypatch.setattr(engine.core.profiler, "cost_since", lambda time_ns: 30_000_000)
        engine.step()
        slow = last_slow(engine)
    device.close()
    times = {part.kind: part.time_ns for part in slow.spent}
    assert times[SpentOn.MEASURING] == 30_000_000
    assert 20_000_000 <= times[SpentOn.DEVICE] <= slow.total_ns - 30_000_000


def test_waiting_for_room_is_waiting_for_the_device(patch: Patch, monkeypatch: pytest.MonkeyPatch) -> None:
    """A launch that waits for room among overlapping frames counts as waiting for the device."""
    device = LaggingDevice()
    with Engine(patch, device, profiling=ProfilingLevel.NONE) as engine:
        engine.post(SetFrameBudget(20_000_000))
        engine.core.player.pacing = Pacing.free(overlap=True)
        engine.step()
        engine.core.frame(free_running=True)
        assert len(engine.core.launcher.flying) == 1
        delay(engine.core.launcher, "make_room", 0.03, monkeypatch)
        engine.core.frame(free_running=True)
        record = engine.flight_record()
    device.close()
    assert spent_on(record.slow[-1])[0] is SpentOn.DEVICE
    assert record.frames["wait"][-1] >= 30_000_000


def test_a_late_frame_is_slow(patch: Patch) -> None:
    """A frame that begins too late, since its thread was held up, is recorded with its delay."""
    with Engine(patch, "host") as engine:
        engine.post(SetFrameBudget(40_000_000))
        engine.step()
        engine.start(pacing=Pacing.fixed(100))
        until(lambda: engine.core.clock.moment.frame > 3)
        before = len(engine.flight_record().slow)
        with engine.between_frames():
            time.sleep(0.1)

        def late_ns(slow: SlowFrame) -> int:
            return sum(part.time_ns for part in slow.spent if part.kind is SpentOn.LATE)

        until(lambda: any(late_ns(slow) > 60_000_000 for slow in engine.flight_record().slow[before:]))
        assert engine.flight_record().frames["late"].max() > 60_000_000


STAMPS = st.lists(st.integers(0, 1000), min_size=5, max_size=5).map(sorted)


@given(
    STAMPS,
    st.integers(1000, 3000),
    st.tuples(st.booleans(), st.booleans(), st.booleans()),
    st.lists(st.integers(-1100, 1100), max_size=8, unique=True).map(sorted),
)
def test_the_parts_of_a_frame_are_all_of_its_time(
    stamps: list[int], due: int, happened: tuple[bool, bool, bool], collected: list[int]
) -> None:
    """A frame's time may include a wait for room, a launch, pictures, and collections that don't overlap."""
    began = 2000
    waited, launching, launched, pictures, ended = (began + stamp for stamp in stamps)
    waits, launches, shows = happened
    collections = [(began + start, began + stop) for start, stop in zip(collected[::2], collected[1::2], strict=False)]
    at = Stamps(
        frame=0,
        level=0,
        due=due,
        began=began,
        waited=waited if waits and launches else 3,
        launching=launching if launches else 5,
        launched=launched if launches else 7,
        ended=ended,
    )
    times = divide(at, pictures if shows else 9, collections)
    assert all(time_ns > 0 for time_ns in times.values())
    assert sum(times.values()) == ended - min(due, began)
    assert (SpentOn.LAUNCH in times) <= launches
    covered = np.zeros(4000, bool)
    for start, stop in collections:
        covered[start:stop] = True
    assert times.get(SpentOn.COLLECTION, 0) == covered[min(due, began) : ended].sum()


def test_the_frame_in_which_the_device_fails_is_told(patch: Patch, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the device fails, the record remains, and its last frame has the error."""
    with Engine(patch, "host") as engine:
        engine.step()

        def fail(*_: object, **__: object) -> None:
            raise DeviceError("the device broke")

        monkeypatch.setattr(engine.core.updates.compiled, "launch", fail)
        with pytest.raises(DeviceError):
            engine.step()
        record = engine.flight_record()
    row, failed = record.frames[-1], record.diagnostics[-1]
    assert record.frames["frame"].tolist() == [0, 1]
    assert "the device broke" in failed.appeared[0].message
    assert row["began"] < failed.at_ns <= row["began"] + row["whole"]


def test_collections_may_begin_at_any_moment(patch: Patch) -> None:
    """Garbage collections that begin while slow frames are compared lose no frame of the record."""
    threshold = gc.get_threshold()
    with Engine(patch, "host", profiling=ProfilingLevel.NONE) as engine:
        engine.post(SetFrameBudget(0))
        engine.step()
        gc.set_threshold(1)
        try:
            for _ in range(20):
                engine.step()
                record = engine.flight_record()
        finally:
            gc.set_threshold(*threshold)
    assert len(record.slow) == len(record.frames) == 21


def test_the_collector_is_left_alone_when_the_engine_closes(patch: Patch) -> None:
    before = list(gc.callbacks)
    with Engine(patch, "host"):
        assert len(gc.callbacks) == len(before) + 1
    assert gc.callbacks == before


def test_measured_frames_have_the_times_of_their_nodes(patch: Patch) -> None:
    """At DEEP_SYNC each recorded frame has the time of each node; the measured ones of another level only some."""
    with Engine(patch, "host", profiling=ProfilingLevel.DEEP_SYNC) as engine:
        for _ in range(4):
            engine.step()
        profile, record = engine.profile(), engine.flight_record()
        assert engine.flight_record(with_times=False).times is None
        engine.post(Reset())
        engine.step()
        again = engine.flight_record().times
        engine.post(SetProfiling(ProfilingLevel.NONE))
        engine.step()
        last = engine.flight_record()
    times = record.times
    assert times is not None and times.places.tolist() == [0, 1, 2, 3]
    assert set(times.nodes) >= {"count", "scale", "noise"}
    for node in ("count", "scale"):
        spent = sum(span.busy_ns for span in profile.spans if span.node == node)
        assert times.times_ns[-1, times.nodes.index(node)] == np.float32(spent)
    assert times.work_ns[-1] == sum(span.busy_ns for span in profile.spans)
    assert again is not None and again.places.tolist() == [0, 1, 2, 3, 4], "frame 0 twice"
    assert last.times is not None and last.times.places.tolist() == [0, 1, 2, 3, 4] and len(last.frames) == 6
