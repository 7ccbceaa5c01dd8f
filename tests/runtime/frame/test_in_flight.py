"""Frames in flight have the results of single frames, and edits and readers meet the right frame."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import numpy as np
import pytest

from tests.device.lagging_device import LaggingDevice
from tests.fuzzing import seeds
from tests.runtime.conftest import SCALE, Kernels
from tests.waiting import next_report, until
from warploom import Engine, Patch, ProfilingLevel
from warploom.engine.compiler.frame import LONGEST_BURST, MOST_BURSTS
from warploom.engine.device.device import Device
from warploom.engine.device.open import open_device
from warploom.engine.diagnostics import KernelFault
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.files import load_patch
from warploom.engine.protocol.messages import Reset, Saved, SaveOutputs, SetProfiling, SetRunning, SetTrust, UpdateLevel
from warploom.engine.protocol.pacing import Pacing
from warploom.engine.protocol.sampling import ObservePorts, picture_of
from warploom.engine.runtime.frame import cuda_engine, launcher
from warploom.engine.runtime.frame.thread import FrameLock
from warploom.engine.runtime.preview.reading import read_buffer
from warploom.engine.runtime.update.worker import Worker

TURNS = 60
EXAMPLES = Path(__file__).parents[3] / "resources" / "examples"


@pytest.fixture(params=["lagging", pytest.param("cuda:0", marks=pytest.mark.gpu)])
def devices(request: pytest.FixtureRequest) -> Iterator[tuple[Device, Device]]:
    """A device that works while Python continues, and one with the same results."""
    late: Device = LaggingDevice() if request.param == "lagging" else open_device(request.param)
    other = open_device("host") if request.param == "lagging" else late
    yield late, other
    late.close()
    other.close()


def make_patch(kernels: Kernels) -> Patch:
    """Return a patch with state, frame uniforms, delays in and out of a loop, and a picture that always changes."""
    patch = Patch()
    count = patch.add("test_run.count", node_id="count")
    scale = patch.add("test_run.scale", node_id="scale")
    patch.connect(count["out"], scale["x"])
    patch.add("test_run.tell", node_id="tell")
    patch.add("test_run.save", node_id="save", file=str(kernels.folder / f"{id(patch)}.npy"))
    patch.connect(scale["out"], patch["save"]["x"])
    noise = patch.add("image.noise", node_id="noise", width=6, height=4)
    delay, mix = patch.add("buffer.frame_delay", node_id="delay"), patch.add("image.mix", node_id="mix", amount=0.25)
    patch.connect(noise["out"], mix["a"])
    patch.connect(delay["out"], mix["b"])
    patch.connect(mix["out"], delay["x"])
    show = patch.add("test_run.show", node_id="show")
    patch.connect(mix["out"], show["image"])
    loop = patch.add("control.for", count=3)
    turn = patch.add("buffer.frame_delay", region=loop)
    more = patch.add("math.scale_offset", node_id="more", scale=1.0, offset=1.0, region=loop)
    patch.connect(count["out"], turn["like"])
    patch.connect(turn["out"], more["x"])
    patch.connect(more["out"], turn["x"])
    return patch


class Pair:
    """Two engines with equal patches that get the same edits; only the first one's frames overlap.

    With `bursts`, the first launches as many frames at once as allowed, as if they were short.
    """

    def __init__(
        self, devices: tuple[Device, Device], kernels: Kernels, monkeypatch: pytest.MonkeyPatch, *, bursts: bool
    ) -> None:
        monkeypatch.setattr(launcher, "BURST_NS", 1 << 62)
        monkeypatch.setattr(launcher, "LONGEST_BURST", LONGEST_BURST if bursts else 1)
        monkeypatch.setattr(launcher, "_SAMPLE", 2)
        monkeypatch.setattr(cuda_engine, "REPORT_INTERVAL_NS", 1 << 62)  # no report is due, so no frame is waited for
        monkeypatch.setattr(cuda_engine, "LONGEST_NS", 0)  # each frame leaves a report
        is_done = Worker.is_done
        self.may_swap = True
        monkeypatch.setattr(Worker, "is_done", property(lambda worker: self.may_swap and is_done.fget(worker)))
        self.kernels = kernels
        self.patches = make_patch(kernels), make_patch(kernels)
        self.engines = tuple(
            Engine(patch, device, profiling=ProfilingLevel.NONE)
            for patch, device in zip(self.patches, devices, strict=True)
        )
        for engine, overlap in zip(self.engines, (True, False), strict=True):
            engine.core.player.pacing = Pacing.free(overlap=overlap)
            engine.post(SetTrust(True))
            engine.step()
        self.most = self.longest = 0
        self.pictures: dict[int, list[bytes]] = {}

    def close(self) -> None:
        """Free all resources."""
        for engine in self.engines:
            engine.close()

    def edit(self, change: Callable[[Patch], object]) -> None:
        """Edit both patches."""
        for patch in self.patches:
            change(patch)

    def post(self, message: object) -> None:
        """Send a message to both engines."""
        for engine in self.engines:
            engine.post(message)  # type: ignore[arg-type]

    def frame(self, *, by_hand: bool = False) -> None:
        """Run a frame of both, and compare the pictures that the first has made."""
        first, second = (engine.core for engine in self.engines)
        launches = first.launcher.launches
        report = first.frame(free_running=not by_hand)
        self.longest = max(self.longest, first.launcher.launches - launches)
        self.most = max(self.most, len(first.launcher.flying))
        assert len(first.launcher.flying) <= MOST_BURSTS
        is_level = False
        while not is_level:
            other = second.frame(free_running=not by_hand)
            assert not second.launcher.flying
            compiled = second.updates.compiled
            assert compiled is not None
            picture = read_buffer(compiled, self.engines[1].device, PortRef("show", "pixels"))
            self.pictures.setdefault(other.frame, []).append(picture.tobytes())
            is_level = other.frame >= report.frame
        assert (report.frame, report.launches, report.time_s) == (other.frame, other.launches, other.time_s)
        self.look()

    def look(self) -> None:
        """Compare a picture that has arrived."""
        preview = self.engines[0].take_sample("show")
        if preview is not None:
            assert preview.data.tobytes() in self.pictures[preview.frame]

    def compare(self) -> None:
        """Compare everything that can be read."""
        first, second = self.engines
        for node, port in (
            ("scale", "out"),
            ("tell", "out"),
            ("count", "out"),
            ("delay", "out"),
            ("mix", "out"),
            ("more", "out"),
        ):
            np.testing.assert_array_equal(first.read(PortRef(node, port)), second.read(PortRef(node, port)), str(node))
        for name in ("a", "b"):
            if name in self.patches[0].nodes:
                np.testing.assert_array_equal(first.read(PortRef(name, "out")), second.read(PortRef(name, "out")))


def live(pair: Pair, random: Random) -> None:
    """Move two sliders."""
    step, factor = random.random(), random.random()
    pair.edit(lambda patch: patch.set("count", step=step))
    pair.edit(lambda patch: patch.set("scale", factor=factor))


def beside(pair: Pair, random: Random) -> None:
    """Add or remove a block, which is built in the background; both engines swap in the same frame."""
    name = random.choice("ab")

    def change(patch: Patch) -> None:
        if name in patch.nodes:
            patch.remove(name)
        else:
            patch.connect(patch["count"]["out"], patch.add("test_run.scale", node_id=name)["x"])

    pair.edit(change)
    pair.may_swap = False
    pair.frame()
    pair.may_swap = True
    for engine in pair.engines:
        until(lambda: engine.core.updates._worker.is_done)  # noqa: B023 - called before `engine` changes
    pair.frame()


def by_hand(pair: Pair, random: Random) -> None:
    """Resize buffers, in a stepped frame that waits for the build."""
    size = random.randint(1, 9)
    pair.edit(lambda patch: patch.set("count", size=size))
    pair.frame(by_hand=True)


def delays(pair: Pair, random: Random) -> None:
    """Reconnect the feedback, so that its buffers change places again."""
    source = random.choice(["noise", "mix"])

    def change(patch: Patch) -> None:
        patch.disconnect(*[c for c in patch.connections if c.target == PortRef("delay", "x")])
        patch.connect(patch[source]["out"], patch["delay"]["x"])

    pair.edit(change)
    pair.frame(by_hand=True)


def save_kernel(pair: Pair, random: Random) -> None:
    """Save another kernel, which is swapped in between two frames."""
    text = SCALE.replace("* factor", f"* factor + {random.randint(0, 9)}.0f")
    pair.post(pair.kernels.write("scale.cu", text))
    pair.frame(by_hand=True)


def reset(pair: Pair, random: Random) -> None:
    """Reset both engines."""
    pair.pictures.clear()
    pair.post(ObservePorts({}))
    pair.frame()
    for engine in pair.engines:
        engine.core.samples.before_update()
    pair.post(Reset())
    pair.frame()


def redraw(pair: Pair, random: Random) -> None:
    """Pause, edit while paused, and continue."""
    pair.post(SetRunning(False))
    if random.random() < 0.5:
        pair.frame()
    live(pair, random)
    scale = random.choice([1.0, 0.5])
    pair.edit(lambda patch: patch.set("more", scale=scale))
    pair.frame()
    pair.compare()
    pair.post(SetRunning(True))


def observe(pair: Pair, random: Random) -> None:
    """Observe the viewer, or stop observing it."""
    pair.post(ObservePorts({"show": picture_of("show")} if random.random() < 0.8 else {}))


def save(pair: Pair, random: Random) -> None:
    """Save an output, and compare the files."""
    for engine in pair.engines:
        engine.take_events()
    pair.post(SaveOutputs("save"))
    pair.frame()
    saved = []
    for engine in pair.engines:
        events: list[object] = []
        until(lambda: events.extend(engine.take_events()) or any(isinstance(e, Saved) for e in events))  # noqa: B023
        saved += [np.load(str(e.path)) for e in events if isinstance(e, Saved)]
    np.testing.assert_array_equal(*saved)


def profile(pair: Pair, random: Random) -> None:
    """Switch profiling on or off."""
    level = random.choice([ProfilingLevel.NONE, ProfilingLevel.PER_BLOCK])
    pair.post(SetProfiling(level))


TURN = (live,) * 4 + (beside, by_hand, delays, save_kernel, redraw, observe, observe, save, profile, reset)


@pytest.mark.parametrize("bursts", [False, True], ids=["single", "bursts"])
@pytest.mark.parametrize("seed", seeds(2))
def test_overlapping_frames_give_what_single_ones_give(
    devices: tuple[Device, Device], kernels: Kernels, seed: int, bursts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Overlapping frames have the bits of single ones in state, delays, uniforms, pictures and files."""
    random, pair = Random(seed), Pair(devices, kernels, monkeypatch, bursts=bursts)
    try:
        for _ in range(TURNS):
            random.choice(TURN)(pair, random)
            for _ in range(random.choice([0, 1, 2, 3, 5])):
                pair.frame()
            if random.random() < 0.3:
                pair.compare()
        pair.compare()
    finally:
        pair.close()
    assert pair.most > 1
    assert pair.longest == (LONGEST_BURST if bursts else 1)


def run(engine: Engine, frames: int = 5) -> int:
    """Run frames as the engine's thread does, and return the most frames in flight."""
    return max(engine.core.frame(free_running=True).in_flight for _ in range(frames))


def test_free_frames_overlap_when_nobody_is_there(counter: Patch, lagging: LaggingDevice) -> None:
    """Frames don't overlap at a rate, soon after an edit, when stepped or while paused, unless the pacing decides."""
    with Engine(counter, lagging) as engine:
        core = engine.core
        assert engine.step().in_flight == 1
        assert run(engine) == 1  # at 60 frames a second
        core.player.pacing = Pacing.free()
        core._heard_ns = 0
        assert run(engine) == MOST_BURSTS
        assert len(core.launcher.flying) == MOST_BURSTS
        assert engine.step().in_flight == 1
        assert not core.launcher.flying
        counter.set("count", step=2.0)
        assert run(engine) == 1
        core._heard_ns = 0
        engine.post(SetRunning(False))
        assert run(engine) == 1
        engine.post(SetRunning(True))
        core.player.pacing = Pacing(overlap=True)
        assert run(engine) == MOST_BURSTS
        core.player.pacing = Pacing.free(overlap=False)
        core._heard_ns = 0
        assert run(engine) == 1


def test_frames_do_not_overlap_while_the_patch_listens(counter: Patch, lagging: LaggingDevice) -> None:
    """Frames don't overlap while the patch listens to a controller, which may be moved at any time."""
    osc = counter.add("value.osc_in")
    with Engine(counter, lagging) as engine:
        engine.post(SetTrust(True))
        engine.step()
        engine.core.player.pacing = Pacing.free()
        engine.core._heard_ns = 0
        assert run(engine) == 1
        counter.remove(osc)
        engine.step()
        engine.core._heard_ns = 0
        assert run(engine) == MOST_BURSTS


def test_the_host_does_not_overlap(counter: Patch) -> None:
    """On the host, frames don't overlap, since a launch returns when its work is done."""
    with Engine(counter, "host") as engine:
        engine.step()
        engine.core.player.pacing = Pacing.free(overlap=True)
        assert run(engine) == 1


def test_status_words_are_read_as_often_as_a_person_reads(
    lagging: LaggingDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counts arrive although frames overlap; in a graph without status words, no frame is waited for."""
    waits: list[int] = []
    with Engine(load_patch(EXAMPLES / "append.loom"), lagging) as engine:
        engine.step()
        core = engine.core
        core.player.pacing = Pacing.free(overlap=True)
        synchronize = core.launcher.synchronize
        monkeypatch.setattr(core.launcher, "synchronize", lambda: (waits.append(core.launcher.launches), synchronize()))
        monkeypatch.setattr(cuda_engine, "REPORT_INTERVAL_NS", 1 << 62)
        run(engine)
        assert not waits
        monkeypatch.setattr(cuda_engine, "REPORT_INTERVAL_NS", 0)
        launches = core.launcher.launches
        run(engine, 3)
        assert waits == [launches + 1, launches + 2, launches + 3]


def rest(engine: Engine) -> None:
    """Run frames until the engine has nothing to do; then nothing is in flight."""
    while engine.core.has_work:
        report = engine.core.frame(free_running=True)
    assert not report.running
    assert not engine.core.launcher.flying


def test_a_pause_ends_what_is_in_flight(counter: Patch, lagging: LaggingDevice) -> None:
    """A paused engine continues until all frames in flight have ended, and then rests."""
    with Engine(counter, lagging) as engine:
        engine.step()
        engine.core.player.pacing = Pacing.free(overlap=True)
        run(engine)
        engine.post(SetRunning(False))
        assert engine.core.launcher.flying
        rest(engine)
        engine.post(SetRunning(True, frames=2))
        rest(engine)


def test_stopping_ends_what_is_in_flight(counter: Patch, lagging: LaggingDevice) -> None:
    """After `stop` nothing is in flight, and every reported frame is done and can be read."""
    with Engine(counter, lagging) as engine:
        engine.start(pacing=Pacing.free(overlap=True))
        next_report(engine, lambda report: report.frame > 50)
        between = engine.read(PortRef("count", "out"))[0]
        assert between > 50
        until(lambda: len(engine.core.launcher.flying) > 1)
        with engine.between_frames():
            assert not engine.core.launcher.flying
        until(lambda: len(engine.core.launcher.flying) > 1)
        engine.stop()
        assert not engine.core.launcher.flying
        assert engine.read(PortRef("count", "out"))[0] == engine.core.clock.moment.frame >= between


def test_a_fault_names_its_node_although_later_frames_were_launched(
    counter: Patch, kernels: Kernels, lagging: LaggingDevice
) -> None:
    """A fault names its node, although later frames were launched before the fault was noticed."""
    wrong = SCALE.replace("out[i] = x[i] * factor", "out[x[i] > 4 ? 1 << 28 : i] = x[i] * factor")
    kernels.write("scale.cu", wrong)
    with Engine(counter, lagging) as engine:
        engine.step()
        engine.core.player.pacing = Pacing.free(overlap=True)
        with pytest.raises(KernelFault, match="scale"):
            run(engine, 20)
        assert 5 < engine.core.launcher.launches <= 5 + MOST_BURSTS
        report = engine.take_report()
        assert report is not None and not report.failed
        assert [item.node for item in report.diagnostics] == ["scale"]


def test_not_each_frame_leaves_a_report(
    counter: Patch, lagging: LaggingDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    """New facts are reported at once, other frames at intervals, and the last frame when the engine stops."""
    monkeypatch.setattr(cuda_engine, "LONGEST_NS", 1 << 62)
    with Engine(counter, lagging) as engine:
        core = engine.core
        engine.step()
        core.player.pacing = Pacing.free(overlap=True)
        frames = [core.frame(free_running=True).frame for _ in range(5)]
        assert frames == [1] * 5, "that frames overlap is new"
        counter.set("scale", factor=3.0)
        report = core.frame(free_running=True)
        assert (report.frame, report.update_level) == (6, UpdateLevel.HOT)
        assert engine.take_report() is report
        run(engine)
        assert engine.take_report() is None
        engine.start(pacing=Pacing.free(overlap=True))
        launches = core.launcher.launches
        until(lambda: core.launcher.launches > launches + 5)
        engine.stop()
        last = engine.take_report()
        assert last is not None
        assert (last.frame, last.launches) == (core.clock.moment.frame - 1, core.launcher.launches)
        assert last.frame_time_ns > 0


def test_a_thread_that_waits_for_the_engine_is_seen() -> None:
    """A thread that waits for the engine's lock is noticed, and enters before the next frame."""
    lock, entered = FrameLock(), threading.Event()

    def enter() -> None:
        with lock:
            entered.set()

    with lock, lock:
        assert not lock.waiting
        other = threading.Thread(target=enter)
        other.start()
        until(lambda: lock.waiting)
        assert not entered.is_set()
    other.join()
    assert entered.is_set() and not lock.waiting
