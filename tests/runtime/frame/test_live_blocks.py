"""Live blocks: their lives, what they give and take while frames are in flight, and their mistakes."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.device.lagging_device import LaggingDevice
from tests.runtime.conftest import Kernels
from tests.waiting import until
from warploom import Engine, Patch, ProfilingLevel, UpdateLevel
from warploom.api import (
    BlockBuilder,
    In,
    LiveBlock,
    Moment,
    Out,
    Value,
    any_type,
    param,
    port,
    value_port,
)
from warploom.engine.blocktypes.block import block_types
from warploom.engine.device.device import Device
from warploom.engine.device.open import open_device
from warploom.engine.diagnostics import PatchError, error
from warploom.engine.protocol.messages import FrameReport, Mute, Reset, SetRunning, SetTrust
from warploom.engine.protocol.pacing import Pacing
from warploom.engine.runtime.frame import cuda_engine, live_buffers
from warploom.engine.types import SCALARS, VECTORS

#: An update of a block that is "slow" waits for this.
GO_ON = threading.Event()
ALL_TYPES = {str(dtype): dtype for dtype in (*SCALARS, *VECTORS)}
#: What the blocks of a test do, in order.
Events = list[tuple[Any, ...]]


@pytest.fixture
def events() -> Iterator[Events]:
    """Define two live blocks that note what they do."""
    noted: Events = []

    class Feed(LiveBlock, id="test_live.feed"):
        """Gives the frame's number, times a gain."""

        out: Out[any_type] = port(shape="[1]", dtype="given", doc="Numbers.")
        updates: Value[int] = value_port(doc="Number of updates.")
        gain: float = param(1.0, min=-1e6, max=1e6, doc="Factor.")
        size: int = param(3, min=1, max=100, structural=True, doc="Elements.")
        name: str = param("a", doc="A text.")
        dtype: str = param("f32", choices=tuple(ALL_TYPES), doc="Element type.")
        wrong: str = param("", doc="A mistake.")

        def describe(self, build: BlockBuilder) -> None:
            if self.wrong == "describe":
                raise PatchError("size must be right")
            if self.wrong == "number":
                build.value("gains")
            build.define(self.out, dtype=ALL_TYPES[self.dtype], shape=f"[{self.size}]")
            build.feed(self.out)

        def start(self) -> None:
            self.updates = 0
            noted.append(("start", self.node, self.name))
            if self.wrong == "start":
                raise ValueError("no start")

        def update(self, now: Moment) -> None:
            self.updates += 1
            dtype = ALL_TYPES[self.dtype].numpy
            array: np.ndarray[Any, Any] = np.full((self.size, *dtype.shape), now.frame * self.gain, dtype.base)
            if self.wrong == "slow" and now.frame == 1:
                GO_ON.wait()
            if self.wrong == "update":
                raise ValueError("no update")
            if self.wrong == "shape":
                array = array[1:]
            if self.wrong == "type":
                array = array.astype("f8")
            self.give("other" if self.wrong == "port" else "out", array)

        def close(self) -> None:
            noted.append(("close", self.node, self.name))
            if self.wrong == "close":
                raise ValueError("no close")

    class Sink(LiveBlock, id="test_live.sink"):
        """Notes what it takes."""

        x: In[any_type] = port(strided=True, doc="Anything.")
        beside: In[any_type] = port(optional=True, doc="More.")
        age: Value[int] = value_port(doc="How old the newest contents are, in frames.")
        keeps: bool = param(False, doc="Keep all contents.")
        stays: bool = param(False, doc="Go on when the patch begins again.")

        kept: list[Any]

        def describe(self, build: BlockBuilder) -> None:
            build.watch(self.beside)
            build.watch(self.x)

        def goes_on(self) -> bool:
            return self.stays

        def start(self) -> None:
            self.kept = []
            noted.append(("start", self.node))

        def update(self, now: Moment) -> None:
            for frame, array in self.taken(self.beside):
                noted.append(("beside", frame, array.tolist(), list(self.watched)))
            for frame, array in self.taken(self.x):
                self.age = now.frame - frame
                assert not array.flags.writeable
                noted.append(("took", self.node, frame, array.copy()))
                if self.keeps:
                    self.kept.append(array)

        def close(self) -> None:
            for frame, array in self.taken("x"):
                noted.append(("took", self.node, frame, array.copy()))
            noted.append(("close", self.node))

    yield noted
    block_types.commit({}, [Feed.id, Sink.id])


def lives(events: Events) -> list[tuple[Any, ...]]:
    """Return and forget the events other than contents that were taken."""
    found = [event for event in events if event[0] != "took"]
    events.clear()
    return found


def fed_sink() -> Patch:
    """Return a patch of a feed, a scale and a sink."""
    patch = Patch()
    patch.add("test_live.feed", node_id="feed")
    patch.connect(patch["feed"]["out"], patch.add("math.scale_offset", node_id="scale", scale=2.0)["x"])
    patch.connect(patch["scale"]["out"], patch.add("test_live.sink", node_id="sink")["x"])
    return patch


def messages(report: FrameReport) -> dict[str, str]:
    """Return the messages of a report by node."""
    return {item.node or "": item.message for item in report.diagnostics}


@pytest.fixture(params=["lagging", pytest.param("cuda:0", marks=pytest.mark.gpu)])
def late(request: pytest.FixtureRequest) -> Iterator[Device]:
    """A device that works while Python continues."""
    device: Device = LaggingDevice() if request.param == "lagging" else open_device(request.param)
    yield device
    device.close()


@pytest.mark.parametrize("overlap", [True, False])
def test_frames_in_flight_take_what_was_given_in_their_frame(
    late: Device, events: Events, monkeypatch: pytest.MonkeyPatch, *, overlap: bool
) -> None:
    """Contents of overlapping frames arrive in order, none twice and none lost, each with its own frame."""
    monkeypatch.setattr(cuda_engine, "REPORT_INTERVAL_NS", 1 << 62)
    patch = fed_sink()
    with Engine(patch, late, profiling=ProfilingLevel.NONE) as engine:
        engine.core.player.pacing = Pacing.free(overlap=overlap)
        engine.step()
        most = 0
        for _ in range(12):
            launches = engine.core.launcher.launches
            engine.core.frame(free_running=True)
            assert engine.core.launcher.launches == launches + 1
            most = max(most, len(engine.core.launcher.flying))
        assert most == (3 if overlap else 0)
    taken = [event for event in events if event[0] == "took"]
    assert [frame for _, _, frame, _ in taken] == list(range(13))
    assert all((array == 2 * frame).all() for _, _, frame, array in taken)


def test_contents_that_nobody_releases_are_dropped_while_playing(late: Device, events: Events) -> None:
    """A block that keeps all contents loses others while the engine plays, is told so, and loses none by hand."""
    patch = fed_sink()
    patch.set("sink", keeps=True)
    with Engine(patch, late) as engine:
        for _ in range(20):
            engine.step()
        for _ in range(6):
            report = engine.core.frame(free_running=True)
        assert "must be taken in time" in messages(report)["sink"]
        for _ in range(4):
            engine.step()
        taken = {event[2]: event[3] for event in events if event[0] == "took"}
    assert set(range(20)) <= taken.keys() and 27 in taken
    assert all((array == 2 * frame).all() for frame, array in taken.items())


def test_a_life_is_that_of_a_description(device: Device, events: Events) -> None:
    """A block begins once, and again with another text, size or place; a live parameter changes nothing."""
    patch = fed_sink()
    with Engine(patch, device) as engine:
        assert engine.step().update_level is UpdateLevel.COLD
        engine.step()
        assert lives(events) == [("start", "feed", "a"), ("start", "sink")]
        patch.set("feed", gain=5.0)
        engine.step()
        np.testing.assert_array_equal(engine.read(patch["scale"]["out"]), [20, 20, 20])
        assert lives(events) == []
        patch.set("feed", name="b")
        engine.step()
        assert lives(events) == [("close", "feed", "a"), ("start", "feed", "b")]
        patch.set("feed", size=5)
        engine.step()
        np.testing.assert_array_equal(engine.read(patch["scale"]["out"]), [40] * 5)
        assert lives(events) == [("close", "feed", "b"), ("start", "feed", "b")]
        patch.remove("sink")
        engine.step()
        assert lives(events) == [("close", "sink")]
        patch.undo()
        engine.step()
        assert lives(events) == [("start", "sink")]
        patch.set_mode("sink", "disabled")
        engine.step()
        assert lives(events) == [("close", "sink")]
        patch.undo()
        engine.step()
        assert lives(events) == [("start", "sink")]
        engine.post(Reset())
        assert engine.step().frame == 0
        assert lives(events) == [("close", "feed", "b"), ("start", "feed", "b"), ("close", "sink"), ("start", "sink")]
    assert lives(events) == [("close", "feed", "b"), ("close", "sink")]


def test_the_last_good_block_runs_on(device: Device, events: Events) -> None:
    """While a node's new values don't describe it, the running block keeps its own; then the next one begins."""
    patch = fed_sink()
    with Engine(patch, device) as engine:
        engine.step()
        patch.set("feed", name="b", wrong="describe")
        assert "size must be right" in messages(engine.step())["feed"]
        patch.set("feed", wrong="number")
        assert "must name a value output (updates), got 'gains'" in messages(engine.step())["feed"]
        engine.step()
        np.testing.assert_array_equal(engine.read(patch["scale"]["out"]), [6, 6, 6])
        assert lives(events) == [("start", "feed", "a"), ("start", "sink")]
        patch.set("feed", wrong="")
        assert not engine.step().diagnostics
        assert lives(events) == [("close", "feed", "a"), ("start", "feed", "b")]


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("update", "no update"),
        ("start", "no start"),
        ("shape", "array given to out must be float32 of shape [3], got float32 of shape [2]"),
        ("type", "array given to out must be float32 of shape [3], got float64 of shape [3]"),
        ("port", "array must be given to a buffer that is fed, one of out, got 'other'"),
    ],
)
def test_mistakes_are_told_on_the_node_and_the_rest_runs_on(
    device: Device, events: Events, wrong: str, told: str
) -> None:
    """An exception is its node's error; its buffer keeps its contents, and other blocks run."""
    patch = fed_sink()
    patch.set("feed", wrong=wrong)
    with Engine(patch, device) as engine:
        for _ in range(3):
            report = engine.step()
            assert told in messages(report)["feed"]
        np.testing.assert_array_equal(engine.read(patch["scale"]["out"]), [0, 0, 0])
        patch.set("feed", wrong="")
        assert not engine.step().diagnostics
        np.testing.assert_array_equal(engine.read(patch["scale"]["out"]), [6, 6, 6])
    assert [event[2] for event in events if event[0] == "took"] == [0, 1, 2, 3]


def test_a_slow_update_holds_up_no_frame(device: Device, events: Events) -> None:
    """While an update takes long, frames run with the contents before; what it gives counts once it is done."""
    GO_ON.clear()
    patch = fed_sink()
    patch.set("feed", wrong="slow", gain=5.0)
    with Engine(patch, device) as engine:
        engine.step()
        for _ in range(3):
            engine.core.frame(free_running=True)
        np.testing.assert_array_equal(engine.read(patch["scale"]["out"]), [0, 0, 0])
        GO_ON.set()
        until(lambda: engine.core.frame(free_running=True) and engine.read(patch["scale"]["out"])[0] > 0)
    taken = [event[2] for event in events if event[0] == "took"]
    assert taken == list(range(len(taken))) and len(taken) > 4


def test_blocks_in_a_group_run_on(device: Device, events: Events) -> None:
    """To group a live block, and to take the group apart, begins nothing again."""
    patch = fed_sink()
    patch.connect(patch["feed"]["updates"], patch["scale"]["offset"])
    with Engine(patch, device) as engine:
        engine.step()
        lives(events)
        patch.ungroup(patch.group(["feed", "sink"]))
        patch.group(["feed"])
        report = engine.step()
        assert not report.diagnostics and report.update_level is UpdateLevel.HOT
        np.testing.assert_array_equal(engine.read(patch["scale"]["out"]), [4, 4, 4])
        assert lives(events) == []


def test_a_close_that_fails_stops_nothing(device: Device, events: Events, caplog: pytest.LogCaptureFixture) -> None:
    """A block that can't be closed is logged."""
    patch = fed_sink()
    patch.set("feed", wrong="close")
    with Engine(patch, device) as engine:
        engine.step()
    assert "no close" in caplog.text
    assert ("close", "sink") in events


def test_a_pause_shows_settings_and_records_nothing(device: Device, events: Events) -> None:
    """While paused, what a block gives is shown in the same frame, and nothing is taken of that."""
    patch = fed_sink()
    with Engine(patch, device) as engine:
        for _ in range(3):
            engine.step()
        engine.post(SetRunning(False))
        engine.core.frame(free_running=True)
        patch.set("feed", gain=7.0)
        report = engine.core.frame(free_running=True)
        assert report.frame == 2
        np.testing.assert_array_equal(engine.read(patch["scale"]["out"]), [28, 28, 28])
        for _ in range(3):
            engine.core.frame(free_running=True)
        engine.post(SetRunning(True))
        engine.step()
    assert [event[2] for event in events if event[0] == "took"] == [0, 1, 2, 3]


def test_an_optional_input_is_watched_while_it_is_connected(device: Device, events: Events) -> None:
    """To connect it and to disconnect it starts no other object; its contents come with those of the other input."""
    patch = fed_sink()
    with Engine(patch, device) as engine:
        engine.step()
        patch.connect(patch["feed"]["out"], patch["sink"]["beside"])
        engine.step()
        engine.step()
        patch.disconnect(patch["sink"]["beside"])
        engine.step()
    beside = [event[1:] for event in events if event[0] == "beside"]
    assert beside == [(1, [1.0] * 3, ["beside", "x"]), (2, [2.0] * 3, ["x"])]
    assert [event[2] for event in events if event[0] == "took"] == [0, 1, 2, 3]
    assert [event for event in events if event[0] in ("start", "close")][:2] == [
        ("start", "feed", "a"),
        ("start", "sink"),
    ]
    assert len([event for event in events if event[0] == "start"]) == 2


def test_a_block_may_go_on_when_the_patch_begins_again(device: Device, events: Events) -> None:
    """A reset starts all blocks again, except those that go on, which lose nothing of what they take."""
    patch = fed_sink()
    patch.set("sink", stays=True)
    with Engine(patch, device) as engine:
        for _ in range(2):
            engine.step()
        engine.post(Reset())
        for _ in range(2):
            engine.step()
    assert [event[2] for event in events if event[0] == "took"] == [0, 1, 0, 1]
    assert [event for event in lives(events) if event[:2] == ("start", "sink")] == [("start", "sink")]


def test_a_value_goes_back_into_what_makes_it(device: Device, events: Events) -> None:
    """The age of what a block takes is one frame by hand, and its value may drive a block before it."""
    patch = fed_sink()
    patch.connect(patch["sink"]["age"], patch["scale"]["scale"])
    patch.connect(patch["feed"]["updates"], patch["scale"]["offset"])
    with Engine(patch, device) as engine:
        found = [float(engine.read(patch["scale"]["out"])[0]) for _ in range(4) if engine.step()]
    assert found == [1, 1 + 2, 2 + 3, 3 + 4]


def test_a_muted_block_closes_and_begins_again(device: Device, events: Events, kernels: Kernels) -> None:
    """A block after a muted one is closed, and begins again once that runs."""
    patch = fed_sink()
    with Engine(patch, device) as engine:
        engine.step()
        lives(events)
        engine.post(Mute({"scale": error("broken", node="scale")}))
        engine.step()
        assert lives(events) == [("close", "sink")]


@pytest.mark.parametrize("size", [1, 7])
def test_every_element_type_goes_in_and_out(device: Device, events: Events, size: int) -> None:
    """Contents of each scalar and vector type are taken as they were given, for odd sizes too."""
    patch = Patch()
    for name in ALL_TYPES:
        patch.add("test_live.feed", node_id=f"feed_{name}", dtype=name, size=size)
        patch.connect(patch[f"feed_{name}"]["out"], patch.add("test_live.sink", node_id=f"sink_{name}")["x"])
    with Engine(patch, device) as engine:
        assert not engine.step().diagnostics
        assert not engine.step().diagnostics
    taken = {event[1]: event[3] for event in events if event[0] == "took" and event[2] == 1}
    for name, dtype in ALL_TYPES.items():
        array = taken[f"sink_{name}"]
        assert (array.dtype, array.shape) == (dtype.numpy.base, (size, *dtype.numpy.shape)), name
        np.testing.assert_array_equal(array, np.ones_like(array), name)


def test_views_with_gaps_are_taken_as_they_are_read(device: Device, events: Events) -> None:
    """A transposed slice arrives with its own shape."""
    patch = Patch()
    data = np.arange(24, dtype=np.float32).reshape(4, 6)
    patch.add("io.array", node_id="data", data=data)
    patch.connect(patch["data"]["out"], patch.add("buffer.slice", node_id="slice", axis=1, start=1, stop=4)["x"])
    patch.connect(patch["slice"]["out"], patch.add("buffer.transpose", node_id="turn")["x"])
    patch.connect(patch["turn"]["out"], patch.add("test_live.sink", node_id="sink")["x"])
    with Engine(patch, device) as engine:
        engine.step()
    (taken,) = [event[3] for event in events if event[0] == "took"]
    np.testing.assert_array_equal(taken, data[:, 1:4].T)


def test_a_still_patch_is_taken_in_every_frame(device: Device, events: Events) -> None:
    """Frames that repeat the last one are launched as long as a block watches."""
    patch = Patch()
    patch.add("io.array", node_id="data", data=np.ones(3, np.float32))
    patch.connect(patch["data"]["out"], patch.add("test_live.sink", node_id="sink")["x"])
    with Engine(patch, device) as engine:
        engine.step()
        for _ in range(3):
            engine.core.frame(free_running=True)
    assert [event[2] for event in events if event[0] == "took"] == [0, 1, 2, 3]


def test_fed_contents_must_not_be_changed_in_place(device: Device, events: Events) -> None:
    """A block that would change given contents in place needs a copy, since they stay for later frames."""
    patch = Patch()
    patch.add("test_live.feed", node_id="feed")
    patch.add("buffer.assign", node_id="assign")
    patch.add("io.array", node_id="data", data=np.ones(3, np.float32))
    patch.connect(patch["feed"]["out"], patch["assign"]["target"])
    patch.connect(patch["data"]["out"], patch["assign"]["value"])
    with Engine(patch, device) as engine:
        assert "must stay as they are" in messages(engine.step())["assign"]


def test_two_engines_have_blocks_of_their_own(device: Device, events: Events) -> None:
    """Engines in one process share no block and no contents."""
    patches = fed_sink(), fed_sink()
    patches[1].set("feed", gain=10.0)
    with Engine(patches[0], device) as one, Engine(patches[1], device) as other:
        for _ in range(3):
            one.step()
            other.step()
        found = [engine.read(patch["scale"]["out"])[0] for engine, patch in zip((one, other), patches, strict=True)]
    assert found == [4, 40]


def test_files_are_written_where_the_patch_may(device: Device, events: Events, tmp_path: Path) -> None:
    """A live block writes beside its patch, elsewhere only if trusted, and nothing in a replay."""
    outside = tmp_path / "outside" / "film.mp4"
    patch = fed_sink()
    patch.path = tmp_path / "in" / "patch.loom"
    patch.path.parent.mkdir()
    with Engine(patch, device) as engine:
        engine.post(SetTrust(False))
        engine.step()
        block: Any = engine.core.context.value_graph._blocks["sink"]
        assert block.file_to_write("film.mp4") == patch.path.parent / "film.mp4"
        with pytest.raises(PatchError, match="must be written in the folder"):
            block.file_to_write(str(outside))
        engine.post(SetTrust(True))
        engine.step()
        assert block.file_to_write(str(outside)) == outside
        engine.core.live.is_replay = True
        with pytest.raises(PatchError, match="replayed"):
            block.file_to_write("film.mp4")


def test_a_patch_without_live_blocks_has_no_copies(device: Device) -> None:
    """The launcher asks nobody for copies."""
    patch = Patch()
    patch.add("io.array", data=np.ones(3, np.float32))
    with Engine(patch, device) as engine:
        engine.step()
        assert engine.core.launcher.live is None


def test_slots_are_used_again(device: Device, events: Events) -> None:
    """A block that keeps nothing needs few slots, however long it runs."""
    patch = fed_sink()
    with Engine(patch, device) as engine:
        for _ in range(20):
            engine.step()
        counts = [slots._count for bound in engine.core.live._bound.values() for slots in bound.slots.values()]
    assert max(counts) <= live_buffers.MOST_SLOTS // 2


def test_slots_are_made_beside_the_frames(late: Device, events: Events, monkeypatch: pytest.MonkeyPatch) -> None:
    """A block that keeps all contents needs a slot in each frame, which is there already after the first one."""
    patch = fed_sink()
    patch.set("sink", keeps=True)
    makers: list[str] = []
    make = live_buffers._Slots._make

    def noted(slots: Any) -> Any:
        makers.append(threading.current_thread().name.partition("_")[0])
        return make(slots)

    monkeypatch.setattr(live_buffers._Slots, "_make", noted)
    with Engine(patch, late) as engine:
        for _ in range(6):
            engine.step()
            slots = [slots for bound in engine.core.live._bound.values() for slots in bound.slots.values()]
            while any(each._is_making for each in slots):
                threading.Event().wait(0.002)
    beside = makers.count("warploom-slots")
    assert beside >= 5 and len(makers) - beside == len(slots)
