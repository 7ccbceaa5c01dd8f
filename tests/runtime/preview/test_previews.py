"""Viewers get their pictures beside the frames, at the rate that they request, and no frame waits."""

import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzzing import many
from tests.runtime.conftest import Kernels
from tests.runtime.preview.preview_support import (
    HEIGHT,
    WIDTH,
    LateDevice,
    gapped_patch,
    next_preview,
    picture_patch,
)
from tests.waiting import next_report
from warploom import Engine, Patch, ProfilingLevel
from warploom.engine.diagnostics import Source, WarploomError
from warploom.engine.patch.changes import PortRef
from warploom.engine.protocol.messages import Reset, SetRunning
from warploom.engine.protocol.sampling import ObservePorts, Sampling, picture_of
from warploom.engine.runtime.preview import downscaler as downscale
from warploom.engine.runtime.preview.samples import next_due_ns


@pytest.fixture
def device() -> Iterator[LateDevice]:
    """A device whose work is done late when requested."""
    device = LateDevice()
    yield device
    device.close()


@pytest.fixture
def patch(kernels: Kernels) -> Patch:
    """One viewer of a picture of random bytes."""
    return picture_patch()


def make_ready(engine: Engine) -> None:
    """Load the kernel and reserve memory, with no viewer open."""
    engine.post(ObservePorts({"show": picture_of("show", (8, 8))}))
    engine.step()
    assert engine.take_sample("show") is not None
    engine.post(ObservePorts({}))
    engine.step()


def test_a_frame_waits_for_no_transfer(patch: Patch, device: LateDevice) -> None:
    """The first frame after the transfer offers the picture; until then, frames begin no other transfer."""
    with Engine(patch, device) as engine:
        make_ready(engine)
        core = engine.core
        engine.post(ObservePorts({"show": picture_of("show", (8, 8))}))
        device.is_late = True
        device.log.clear()
        first = core.frame(free_running=True).frame
        for _ in range(3):
            core.frame(free_running=True)
            assert engine.take_sample("show") is None
        assert device.log.count(f"copy {4 * 8 * 4}") == 1
        assert "event wait" not in device.log
        device.is_late = False
        core.frame(free_running=True)
        preview = engine.take_sample("show")
        assert preview is not None
        assert preview.frame == first


def test_the_next_launch_waits_on_the_device_until_the_picture_was_read(
    patch: Patch, device: LateDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The launch waits for the reduction, which precedes the transfer; without a new picture it doesn't wait."""
    patch.add("test_run.count", node_id="count")  # so that every frame launches
    with Engine(patch, device) as engine:
        make_ready(engine)
        core = engine.core
        compiled = core.updates.compiled
        assert compiled is not None
        launch = compiled.launch
        monkeypatch.setattr(compiled, "launch", lambda *a, **k: (device.log.append("launch"), launch(*a, **k)))
        monkeypatch.setattr(
            device, "launch", lambda *a, _launch=device.launch, **k: (device.log.append("reduce"), _launch(*a, **k))
        )
        core.profiler.set_level(ProfilingLevel.NONE)
        device.is_late = True
        engine.post(ObservePorts({"show": picture_of("show", (8, 8))}))
        device.log.clear()
        core.frame(free_running=True)
        core.frame(free_running=True)
        core.frame(free_running=True)
        device.is_late = False
        log = [item for item in device.log if item != "record"]
        assert log == ["launch", "wait", "reduce", f"copy {4 * 8 * 4}", "wait", "launch", "launch"]
        everything = device.log[device.log.index("reduce") :]
        assert everything[:3] == ["reduce", "record", f"copy {4 * 8 * 4}"]


def test_a_rebuild_waits_until_the_memory_was_read(patch: Patch, device: LateDevice) -> None:
    """A rebuild, which may free buffers, first waits until the picture's memory was read."""
    with Engine(patch, device) as engine:
        make_ready(engine)
        core = engine.core
        device.is_late = True
        engine.post(ObservePorts({"show": picture_of("show", (8, 8))}))
        core.frame(free_running=True)
        device.log.clear()
        patch.add("test_run.count", node_id="count")
        before = core.updates.compiled
        while core.updates.compiled is before:
            assert not device.log
            core.frame(free_running=True)
        assert device.log[0] == "event wait"
        device.is_late = False


def test_a_reset_waits_until_the_memory_was_read(patch: Patch, device: LateDevice) -> None:
    """A reset, which refills state, first waits until the picture's memory was read."""
    patch.add("test_run.count", node_id="count")
    with Engine(patch, device) as engine:
        make_ready(engine)
        core = engine.core
        device.is_late = True
        engine.post(ObservePorts({"show": picture_of("show", (8, 8))}))
        core.frame(free_running=True)
        device.log.clear()
        engine.post(Reset())
        core.frame(free_running=True)
        assert device.log[0] == "event wait"
        device.is_late = False


def test_a_picture_that_nobody_took_is_not_replaced(patch: Patch, device: LateDevice) -> None:
    """A picture that nobody took is not replaced; once it is taken, the newest frame's picture comes."""
    patch.add("test_run.count", node_id="count")
    with Engine(patch, device) as engine:
        engine.post(ObservePorts({"show": picture_of("show", (8, 8))}))
        frames = [engine.step().frame for _ in range(4)]
        preview = engine.take_sample("show")
        assert preview is not None
        assert preview.frame == frames[0]
        last = engine.step().frame
        preview = engine.take_sample("show")
        assert preview is not None
        assert preview.frame == last


def test_a_viewer_that_is_closed_gives_nothing_more(patch: Patch, device: LateDevice) -> None:
    """A closed viewer gets no finished or unfinished picture; opened again, it gets the current frame's."""
    patch.add("test_run.count", node_id="count")
    with Engine(patch, device) as engine:
        engine.post(ObservePorts({"show": picture_of("show", (8, 8))}))
        engine.step()
        engine.post(ObservePorts({}))
        engine.step()
        assert engine.take_sample("show") is None
        core = engine.core
        device.is_late = True
        engine.post(ObservePorts({"show": picture_of("show", (8, 8))}))
        core.frame(free_running=True)
        engine.post(ObservePorts({}))
        core.frame(free_running=True)
        device.is_late = False
        core.frame(free_running=True)
        assert engine.take_sample("show") is None
        engine.post(ObservePorts({"show": picture_of("show", (8, 8))}))
        now = engine.step().frame
        preview = engine.take_sample("show")
        assert preview is not None
        assert preview.frame == now


def test_memory_is_kept_from_picture_to_picture(
    patch: Patch, device: LateDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory is kept even when a viewer is closed and opened, or becomes smaller."""
    with Engine(patch, device) as engine:
        engine.post(ObservePorts({"show": picture_of("show", (20, 20))}))
        engine.step()
        engine.take_sample("show")
        monkeypatch.setattr(device, "pinned", None)
        monkeypatch.setattr(device, "allocate", None)
        for place in ((20, 20), (12, 19), None, (3, 3)):
            engine.post(ObservePorts({}))
            engine.step()
            if place is not None:
                engine.post(ObservePorts({"show": picture_of("show", place)}))
                engine.step()
                assert engine.take_sample("show") is not None


def test_a_paused_engine_serves_a_viewer_that_is_opened_or_resized(patch: Patch, device: LateDevice) -> None:
    """A paused engine makes a picture for a viewer that is opened or resized, without a launch."""
    patch.add("test_run.count", node_id="count")
    with Engine(patch, device) as engine:
        engine.start()
        engine.post(ObservePorts({"show": picture_of("show", (8, 8))}))
        next_preview(engine)
        engine.post(SetRunning(False))
        while engine.core.player.running or engine.core.samples.has_work:
            time.sleep(0.002)
            engine.take_sample("show")
        launches = engine.core.launcher.launches
        for place in ((16, 16), (12, 12)):
            device.is_late = True
            engine.post(ObservePorts({"show": picture_of("show", place, rate=30)}))
            time.sleep(0.05)
            assert engine.take_sample("show") is None
            device.is_late = False
            assert next_preview(engine).data.shape[1] == place[0]
        assert engine.core.launcher.launches == launches


def test_pictures_come_at_the_rate_that_is_asked_for(patch: Patch, device: LateDevice) -> None:
    """Half a second of frames of 5 ms has 20 pictures at 40 a second."""
    patch.add("test_run.count", node_id="count")
    with Engine(patch, device) as engine:
        make_ready(engine)
        now_ns, count = 10**12, 0
        engine.core.samples.clock_ns = lambda: now_ns
        engine.post(ObservePorts({"show": picture_of("show", (8, 8), rate=40)}))
        for _ in range(100):
            engine.core.frame(free_running=True)
            count += engine.take_sample("show") is not None
            now_ns += 5_000_000
    assert 19 <= count <= 21


def test_a_higher_rate_counts_at_once(patch: Patch, device: LateDevice) -> None:
    """A higher rate applies at once, before the next picture of the lower rate is due."""
    patch.add("test_run.count", node_id="count")
    with Engine(patch, device) as engine:
        make_ready(engine)
        core = engine.core
        now_ns = 10**12
        core.samples.clock_ns = lambda: now_ns

        def pictures(rate: float) -> int:
            """Return the number of pictures in some frames."""
            nonlocal now_ns
            engine.post(ObservePorts({"show": picture_of("show", (8, 8), rate=rate)}))
            count = 0
            for _ in range(20):
                core.frame(free_running=True)
                now_ns += 1_000_000
                count += engine.take_sample("show") is not None
            return count

        pictures(0.001)
        assert pictures(0.001) == 0
        assert pictures(1000.0) > 1


@pytest.mark.parametrize("rate", [0.0, -1.0, float("nan"), float("inf")])
def test_a_rate_is_a_positive_number(rate: float) -> None:
    """A rate that is no positive number is refused before the engine receives it."""
    with pytest.raises(WarploomError, match="rate must be a positive number of samples a second, got"):
        picture_of("show", rate=rate)


def test_a_lack_of_memory_for_a_picture_is_reported_and_the_engine_runs_on(patch: Patch, device: LateDevice) -> None:
    """The lack is reported on the viewer until there is memory."""
    with Engine(patch, device) as engine:
        engine.step()
        device.refuses_memory = True
        engine.post(ObservePorts({"show": picture_of("show", (8, 8))}))
        engine.step()
        report = engine.step()
        (told,) = report.diagnostics
        assert (told.node, told.source, report.sightings[0].count) == ("show", Source.CAPACITY, 1)
        assert told.message == "picture of 8 x 4 must fit in memory: no memory is left"
        device.refuses_memory = False
        engine.post(ObservePorts({"show": picture_of("show", (8, 9))}))
        assert not engine.step().diagnostics
        assert engine.take_sample("show") is not None


def test_memory_that_is_free_after_an_edit_is_used(patch: Patch, device: LateDevice) -> None:
    """Samples that lacked memory come once an edit frees some, without being asked for again."""
    count = patch.add("test_run.count", node_id="count")
    with Engine(patch, device) as engine:
        engine.step()
        device.refuses_memory = True
        samplings = {"show": picture_of("show", (8, 8)), "port": Sampling(PortRef("image", "out"))}
        engine.post(ObservePorts(samplings))
        engine.step()
        device.refuses_memory = False
        engine.step()
        assert engine.take_sample("show") is None
        assert engine.take_sample("port").missing.startswith("sample must fit in memory")
        patch.remove(count)
        engine.step()
        assert all(engine.take_sample(name).data is not None for name in samplings)


def test_memory_for_a_larger_picture_is_reserved_beside_the_frames(
    patch: Patch, device: LateDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Frames continue during a reservation of any length, and the picture follows."""
    patch.add("test_run.count", node_id="count")
    with Engine(patch, device) as engine:
        engine.step()
        core, may_go = engine.core, threading.Event()
        core.samples.downscaler.load(wait=True)
        pinned = device.pinned
        monkeypatch.setattr(device, "pinned", lambda array: may_go.wait() and pinned(array))
        engine.post(ObservePorts({"show": picture_of("show", (8, 8))}))
        frames = [core.frame(free_running=True).frame for _ in range(5)]
        assert engine.take_sample("show") is None
        may_go.set()
        while (preview := engine.take_sample("show")) is None:
            core.frame(free_running=True)
        assert preview.frame > frames[-1]


def test_without_the_kernel_whole_pictures_come(
    patch: Patch, device: LateDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the kernel that reduces pictures, whole ones come, and an observed viewer reports the reason."""
    monkeypatch.setattr(downscale, "_FILE", "missing.cu")
    with Engine(patch, device) as engine:
        engine.post(ObservePorts({"show": picture_of("show", (8, 8))}))
        (told,) = engine.step().diagnostics
        preview = engine.take_sample("show")
        engine.post(ObservePorts({}))
        assert not engine.step().diagnostics
    assert preview is not None
    assert preview.data.shape == (HEIGHT, WIDTH, 4)
    assert told.source is Source.KERNEL_LOAD and "missing.cu" in told.message


def test_a_paused_engine_tells_why_there_is_no_kernel(
    kernels: Kernels, device: LateDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A paused engine reports why the kernel that reduces pictures is missing."""
    monkeypatch.setattr(downscale, "_FILE", "missing.cu")
    with Engine(gapped_patch(), device) as engine:
        engine.step()
        may_load, find_kernel = threading.Event(), downscale.find_kernel
        monkeypatch.setattr(downscale, "find_kernel", lambda *name: may_load.wait() and find_kernel(*name))
        engine.post(SetRunning(False))
        engine.post(ObservePorts({"show": picture_of("show", (8, 8))}))
        engine.start()
        while engine.core.inbox:
            time.sleep(0.002)
        time.sleep(0.05)
        may_load.set()
        report = next_report(engine, lambda report: report.diagnostics)
    assert "missing.cu" in report.diagnostics[0].message


@given(st.floats(5, 240), st.floats(10, 2000), st.integers(0, 2**32))
@settings(max_examples=many(100), deadline=None)
def test_the_mean_rate_is_held_whatever_the_frames(rate: float, frames: float, seed: int) -> None:
    """Frames come unevenly at a mean of `frames` a second; pictures come at the requested rate or with each frame."""
    times = np.cumsum(np.random.default_rng(seed).uniform(0.5, 1.5, 400) / frames)
    due, taken = 0, 0
    for now in (times * 1e9).astype(np.int64).tolist():
        if now >= due:
            taken += 1
            due = next_due_ns(due, now, rate)
    most = float(times[-1]) * rate + 3
    assert taken <= most
    if rate <= frames / 2:
        assert taken >= float(times[-1]) * rate - 2


def test_without_a_rate_a_picture_is_always_due() -> None:
    """Without a rate, the next picture is always due."""
    assert next_due_ns(5, 10**12, None) == 0
