"""The engine on its own thread runs, pauses, steps, shows pictures and stops, and no caller waits for it."""

import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.runtime.conftest import SCALE, Kernels
from tests.waiting import next_report, until
from warploom import Engine, Patch, UpdateLevel
from warploom.engine.diagnostics import DeviceError, Diagnostic, PatchError
from warploom.engine.patch.changes import PortRef
from warploom.engine.protocol.messages import Reset, Saved, SaveOutputs, SetRunning
from warploom.engine.protocol.sampling import ObservePorts, picture_of
from warploom.engine.runtime.update import updater as updates
from warploom.engine.runtime.update.prepare import prepare

COUNT = PortRef("count", "out")


def counted(engine: Engine) -> float:
    return float(engine.read(COUNT)[0])


@pytest.fixture
def patch(kernels: Kernels) -> Patch:
    """A counter."""
    patch = Patch()
    patch.add("test_run.count", node_id="count")
    return patch


def test_the_first_frame_waits_for_the_first_build(patch: Patch) -> None:
    """No frame is reported before the first build, so the counter has counted every reported frame."""
    with Engine(patch, device="host") as engine:
        engine.start(rate=None)
        next_report(engine, lambda r: r.frame > 20)
        engine.stop()
        last = engine.step().frame
        assert counted(engine) == last + 1


def test_a_read_after_the_start_waits_for_the_first_frame(patch: Patch) -> None:
    """A read right after the start, and each later one, returns the result of a frame."""
    for pause_s in (0, 0, 0.001, 0.01):
        with Engine(patch, device="host") as engine:
            engine.start()
            time.sleep(pause_s)
            assert counted(engine) >= 1
            engine.stop()
            assert counted(engine) == engine.step().frame


def test_frames_run_on_a_thread_of_its_own_until_it_is_stopped(patch: Patch) -> None:
    """Until `stop`, reports come, edits take effect and outputs can be read; afterwards nothing changes."""
    with Engine(patch, device="host") as engine:
        engine.start(rate=None)
        engine.start(rate=None)
        assert [t.name for t in threading.enumerate()].count("warploom-engine") == 1
        assert next_report(engine, lambda r: r.frame > 5).nodes["count"].state == "ok"
        patch.set("count", step=0.0)
        until(lambda: counted(engine) == counted(engine) > 5)
        engine.stop()
        engine.stop()
        patch.set("count", step=1.0)
        before = counted(engine)
        time.sleep(0.02)
        assert before == counted(engine)
        engine.start(rate=None)
        until(lambda: counted(engine) > before)


def test_structure_can_be_edited_while_it_runs(patch: Patch) -> None:
    """During an edit of structure the old graph runs on, and the new graph continues with its state."""
    with Engine(patch, device="host") as engine:
        engine.start(rate=None)
        next_report(engine, lambda r: r.nodes.get("count") and r.nodes["count"].state == "ok")
        scale = patch.add("test_run.scale")
        patch.connect(COUNT, scale["x"])
        patch.set(scale, factor=3.0)
        next_report(engine, lambda r: "scale.out" in r.buffers)
        engine.stop()
        engine.step()
        assert engine.read(scale["out"]).tolist() == [3 * counted(engine)] * 3


def test_a_rate_is_kept(patch: Patch) -> None:
    """At 50 frames a second there are no more than that, except for two that may be late at the start."""
    with Engine(patch, device="host") as engine:
        engine.step()
        engine.start(rate=50)
        start, before = time.monotonic(), counted(engine)
        until(lambda: counted(engine) >= before + 10)
        frames, seconds = counted(engine) - before, time.monotonic() - start
        assert frames <= 50 * seconds + 3


def test_a_paused_engine_stands_still_and_steps_frame_by_frame(patch: Patch) -> None:
    """A paused engine runs exactly the requested frames, whatever waits in the inbox."""
    with Engine(patch, device="host") as engine:
        engine.step()
        engine.post(SetRunning(False))
        engine.start(rate=None)
        next_report(engine, lambda r: not r.running)
        assert counted(engine) == 1
        for _ in range(3):
            before = counted(engine)
            engine.post(SetRunning(True, frames=1))
            until(lambda: counted(engine) != before)  # noqa: B023 - called before `before` changes
            time.sleep(0.03)
            assert counted(engine) == before + 1
        engine.post(SetRunning(True, frames=5))
        until(lambda: counted(engine) >= 9)
        time.sleep(0.03)
        assert counted(engine) == 9
        engine.post(SetRunning(True, frames=0))
        time.sleep(0.05)
        assert counted(engine) == 9
        engine.post(SetRunning(True))
        until(lambda: counted(engine) > 12)


def test_a_paused_engine_shows_edits_without_going_on(kernels: Kernels) -> None:
    """A paused engine shows an edit by a launch of the last frame, with a time step of 0; a step runs the next one."""
    patch = Patch()
    data = patch.add("io.array", data=np.ones(1, np.float32))
    scale, tell = patch.add("test_run.scale", node_id="scale"), patch.add("test_run.tell")
    patch.connect(data["out"], scale["x"])
    with Engine(patch, device="host", time_step_s=0.5) as engine:
        for _ in range(3):
            engine.step()
        engine.post(SetRunning(False))
        engine.start(rate=None)
        patch.set("scale", factor=9.0)
        until(lambda: engine.read(scale["out"]) == 9)
        assert engine.read(tell["out"]).tolist() == [2, 1, 0]
        engine.post(SetRunning(True, frames=1))
        until(lambda: engine.read(tell["out"]).tolist() == [3, 1.5, 0.5])
        engine.post(Reset())
        until(lambda: engine.read(tell["out"]).tolist() == [0, 0, 0])


def test_a_pause_keeps_the_frame_and_a_step_shows_the_next(kernels: Kernels) -> None:
    """Pauses, edits in them and steps: the frame's number and time stay in a pause, and a step adds 1 to the number."""
    patch, numbers = Patch(), iter(range(1, 100))
    data = patch.add("io.array", data=np.ones(1, np.float32))
    scale, tell = patch.add("test_run.scale", node_id="scale"), patch.add("test_run.tell")
    patch.connect(data["out"], scale["x"])
    with Engine(patch, device="host", time_step_s=0.5) as engine:
        last = engine.step().frame
        for steps, edits in ((0, 0), (0, 2), (1, 1), (3, 0), (2, 3)):
            engine.post(SetRunning(True))
            last = engine.core.frame(free_running=True).frame
            engine.post(SetRunning(False))
            for _ in range(edits):
                patch.set(scale, factor=float(next(numbers)))
                report = engine.core.frame(free_running=True)
                assert (report.frame, report.time_s) == (last, last / 2)
                assert engine.read(tell["out"]).tolist() == [last, last / 2, 0]
            for step in range(1, steps + 1):
                engine.post(SetRunning(True, frames=1))
                assert engine.core.frame(free_running=True).frame == last + step
                assert engine.read(tell["out"]).tolist() == [last + step, (last + step) / 2, 0.5]
                assert engine.core.frame(free_running=True).frame == last + step


def test_a_broken_kernel_does_not_stop_the_thread(patch: Patch, kernels: Kernels) -> None:
    """The counter continues while another block's kernel does not compile, and after it does."""
    data = patch.add("io.array", data=np.ones(1, np.float32))
    scale = patch.add("test_run.scale")
    patch.connect(data["out"], scale["x"])
    with Engine(patch, device="host") as engine:
        engine.start(rate=None)
        next_report(engine, lambda r: "scale.out" in r.buffers)
        engine.post(kernels.write("scale.cu", "broken"))
        failed = next_report(engine, lambda r: r.diagnostics)
        assert failed.nodes["scale"].state == "error"
        before = counted(engine)
        until(lambda: counted(engine) > before + 3)
        engine.post(kernels.write("scale.cu", SCALE))
        assert next_report(engine, lambda r: not r.diagnostics and not r.preparing)


@pytest.fixture
def pictured(kernels: Kernels) -> Patch:
    """Two viewers of one picture of bytes."""
    patch = Patch()
    image = patch.add("io.image_array", node_id="image", data=np.full((2, 3, 4), 7, np.float32))
    for name in ("left", "right"):
        patch.connect(image["out"], patch.add("test_run.show", node_id=name)["image"])
    return patch


def test_pictures_come_only_from_viewers_that_somebody_looks_at(pictured: Patch) -> None:
    """Each launch gives a new picture to an observed viewer, and none to other viewers."""
    with Engine(pictured, device="host") as engine:
        engine.step()
        assert engine.take_sample("left") is None
        engine.post(ObservePorts({"left": picture_of("left")}))
        engine.step()
        preview = engine.take_sample("left")
        assert preview is not None
        assert (preview.name, preview.frame, preview.data.shape, preview.data.dtype) == (
            "left",
            1,
            (2, 3, 4),
            np.uint8,
        )
        assert (preview.data == 7).all()
        assert engine.take_sample("left") is None
        assert engine.take_sample("right") is None
        engine.step()
        engine.take_sample("left")
        engine.post(ObservePorts({}))
        engine.step()
        assert engine.take_sample("left") is None


def test_a_still_picture_is_made_once_and_again_after_an_edit(pictured: Patch) -> None:
    """Launches that would give the same picture are skipped, and a late observer still gets one."""
    with Engine(pictured, device="host") as engine:
        engine.start(rate=200)
        next_report(engine, lambda r: r.buffers)
        engine.post(ObservePorts({"right": picture_of("right")}))
        until(lambda: engine.take_sample("right") is not None)
        time.sleep(0.05)
        assert engine.take_sample("right") is None
        pictured.set("image", data=np.full((2, 3, 4), 9, np.float32))
        found: list[int] = []

        def look() -> bool:
            preview = engine.take_sample("right")
            if preview is not None:
                found.append(int(preview.data[0, 0, 0]))
            return bool(found)

        until(look)
        assert found == [9]


def test_a_report_tells_how_often_the_graph_was_launched(pictured: Patch) -> None:
    """Frames of a still picture are not launched, except for those that are stepped by hand or follow an edit."""
    with Engine(pictured, device="host") as engine:
        assert [engine.step().launches for _ in range(3)] == [1, 2, 3]
        engine.start(rate=200)
        first = next_report(engine, lambda r: r.running)
        later = next_report(engine, lambda r: r.frame > first.frame + 5)
        assert later.launches == first.launches
        pictured.set("image", data=np.full((2, 3, 4), 9, np.float32))
        next_report(engine, lambda r: r.launches > later.launches)


def test_outputs_are_saved_where_blocks_say_or_all_into_one_folder(patch: Patch, tmp_path: Path) -> None:
    """Outputs are saved relative to the patch's folder, or all into a given folder, unconnected ones too."""
    save = patch.add("test_run.save", node_id="save", file="sub/count.npy")
    patch.connect(COUNT, save["x"])
    patch.add("test_run.tell", node_id="tell")
    patch.path = tmp_path / "patch.loom"
    with Engine(patch, device="host") as engine:
        with pytest.raises(PatchError, match="outputs must come from a running patch; step it first"):
            engine.save_outputs()
        engine.step()
        saved = {s.node: s for s in engine.save_outputs()}
        assert saved["save"].path == str(tmp_path.resolve() / "sub" / "count.npy")
        assert saved["tell"].path is None
        assert np.load(tmp_path / "sub" / "count.npy").tolist() == [1, 1, 1]
        out = tmp_path / "all"
        saved = {s.node: s for s in engine.save_outputs(out)}
        assert sorted(p.name for p in out.iterdir()) == ["count.npy", "tell.out.npy"]
        assert np.load(out / "tell.out.npy").shape == (3,)
        assert saved["tell"].dtype == "f32"


def test_a_viewer_of_a_saved_picture_writes_no_file_of_its_own(tmp_path: Path) -> None:
    """In a named folder, a viewer writes its picture unless a save block has the same one."""
    patch = Patch()
    picture = patch.add("io.image_array", data=np.ones((2, 3, 4), np.float32))
    other = patch.add("image.invert")
    patch.connect(picture["out"], other["image"])
    for node, source in (("saved", picture), ("same", picture), ("other", other)):
        block = patch.add("io.save_image" if node == "saved" else "io.viewer", node_id=node)
        patch.connect(source["out"], block["image"])
    with Engine(patch, device="host") as engine:
        engine.step()
        engine.save_outputs(tmp_path / "out")
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["image.png", "other.png"]


def test_two_files_of_one_name_do_not_overwrite_each_other(patch: Patch, tmp_path: Path) -> None:
    """In one folder, the second file is named after its node."""
    for name in ("a", "b"):
        patch.connect(COUNT, patch.add("test_run.save", node_id=name, file=f"{name}/same.npy")["x"])
    with Engine(patch, device="host") as engine:
        engine.step()
        saved = engine.save_outputs(tmp_path / "out")
        assert [Path(s.path or "").name for s in saved] == ["same.npy", "b.x.npy"]
        assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["b.x.npy", "same.npy"]


def test_the_thread_answers_a_request_to_save(patch: Patch, tmp_path: Path) -> None:
    """The answer is a `Saved`, or a diagnostic with the reason."""
    patch.path = tmp_path / "patch.loom"
    save = patch.add("test_run.save", node_id="save", file="count.npy")
    patch.connect(COUNT, save["x"])
    with Engine(patch, device="host") as engine:
        engine.step()
        engine.take_events()
        engine.post(SaveOutputs("save"))
        engine.step()
        (event,) = engine.take_events()
        assert isinstance(event, Saved)
        assert np.load(event.path or "").tolist() == [2, 2, 2]
        patch.set(save, file="count.xyz")
        engine.post(SaveOutputs("save"))
        engine.step()
        (event,) = engine.take_events()
        assert isinstance(event, Diagnostic)
        assert event.node == "save"
        assert "output must be writable as" in event.message


def test_a_device_failure_ends_the_thread_and_is_reported(patch: Patch, monkeypatch: pytest.MonkeyPatch) -> None:
    """A device failure is reported with its cause, and the engine can still be closed."""
    with Engine(patch, device="host") as engine:
        engine.step()
        engine.take_events()

        def fail(*_: object, **__: object) -> None:
            raise DeviceError("the device has gone")

        monkeypatch.setattr(type(engine.core.updates.compiled), "launch", fail)
        engine.start(rate=None)
        until(lambda: "warploom-engine" not in [t.name for t in threading.enumerate()])
        (event,) = engine.take_events()
        assert isinstance(event, Diagnostic)
        assert event.message == "the device has gone"
        with pytest.raises(DeviceError, match="the device has gone"):
            engine.step()


def test_any_other_failure_ends_the_thread_and_is_reported(patch: Patch, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of the engine itself is reported, and the engine can be started again."""
    with Engine(patch, device="host") as engine:
        engine.step()
        engine.take_events()
        with monkeypatch.context() as broken:
            broken.setattr(engine.core.launcher, "launch", lambda *_, **__: 1 / 0)
            engine.start(rate=None)
            until(lambda: "warploom-engine" not in [t.name for t in threading.enumerate()])
        (event,) = engine.take_events()
        assert isinstance(event, Diagnostic)
        assert event.message == "the engine must run, got ZeroDivisionError: division by zero"
        before = counted(engine)
        engine.start(rate=None)
        until(lambda: counted(engine) > before)


def test_edits_during_a_rebuild_reach_the_running_graph_and_the_new_one(
    kernels: Kernels, monkeypatch: pytest.MonkeyPatch
) -> None:
    """During a rebuild, a live value is HOT and survives the swap; a structural edit is built after it."""
    patch = Patch()
    data = patch.add("io.array", data=np.ones(1, np.float32))
    scale = patch.add("test_run.scale", node_id="scale")
    patch.connect(data["out"], scale["x"])
    is_built, may_finish = threading.Event(), threading.Event()

    def slow_prepare(*arguments: Any, **more: Any) -> Any:
        made = prepare(*arguments, **more)
        is_built.set()
        assert may_finish.wait()
        return made

    with Engine(patch, device="host") as engine:
        engine.step()
        frame = engine.core.frame
        monkeypatch.setattr(updates, "prepare", slow_prepare)
        more = patch.add("test_run.scale", node_id="more", factor=10.0)
        patch.connect(scale["out"], more["x"])
        assert (frame(free_running=True).update_level, frame(free_running=True).preparing) == (UpdateLevel.NONE, True)
        assert is_built.wait()
        patch.set(scale, factor=5.0)
        last = patch.add("test_run.scale", node_id="last", factor=100.0)
        patch.connect(scale["out"], last["x"])
        patch.remove(more)
        patch.undo()
        patch.set(more, factor=20.0)
        assert frame(free_running=True).update_level is UpdateLevel.HOT
        assert engine.read(scale["out"]) == 5
        with pytest.raises(PatchError, match=r"port more\.out must be part of the running graph"):
            engine.read(more["out"])
        may_finish.set()
        until(lambda: frame(free_running=True).update_level is UpdateLevel.COLD)
        assert engine.read(scale["out"]) == 5
        assert engine.read(more["out"]) == 100
        until(lambda: frame(free_running=True).update_level is UpdateLevel.COLD)
        assert (engine.read(more["out"]).item(), engine.read(last["out"]).item()) == (100, 500)
        assert not frame(free_running=True).preparing
