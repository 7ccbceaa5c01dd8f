"""A person records the frames of a port as files."""

import errno
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from pytestqt.qtbot import QtBot

from tests.app.viewers.test_ports import Ports, look_at, ports
from tests.app.window.window_support import engine_of, patch_of
from warploom.app.view_models.looking.tone import Tone
from warploom.app.viewers.recording import frame_files
from warploom.app.viewers.recording.frame_files import FrameFiles
from warploom.app.viewers.recording.record_form import FORMATS, RecordForm
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.document import Patch
from warploom.engine.patch.files import save_patch
from warploom.engine.protocol.messages import SetRunning
from warploom.engine.protocol.sampling import Sample, Sampling
from warploom.engine.types import NAMED

__all__ = ["ports"]
STEP = SetRunning(True, frames=1)


@pytest.fixture
def window(shared_window: Any) -> Any:
    """One window for all tests of this file."""
    return shared_window


def order(ports: Ports, folder: Path, suffix: str, frames: int, *, every: bool) -> None:
    """Press Record, and fill in the form as a person does."""
    viewer = look_at(ports, "picture")
    assert viewer.record.isEnabled()
    viewer.record.click()
    form = ports.window.findChild(RecordForm)
    form.folder.setText(str(folder / "nowhere"))
    form.accept()
    assert form.refusal.isVisible() and "nowhere" in form.refusal.text()
    form.folder.setText(str(folder))
    form.format.setCurrentIndex(form.format.findData(suffix))
    form.frames.setValue(frames)
    form.every.setChecked(every)
    form.accept()
    ports.window.bridge.poll()  # which sends the request


def show(ports: Ports, frame: int) -> None:
    ports.hold("picture.out", NAMED["f32"], np.full((4, 6), frame, np.float32))
    ports.play_one(frame)


def test_pictures_are_offered_before_the_first_frame(ports: Ports) -> None:
    """What a port holds is not known until a frame has run, so the form offers every format."""
    viewer = look_at(ports, "picture")
    ports.window.looking._report = None
    viewer.record.click()
    form = ports.window.findChild(RecordForm)
    assert [form.format.itemData(row) for row in range(form.format.count())] == list(FORMATS)
    form.reject()


def test_every_frame_is_recorded_one_step_after_the_other(ports: Ports, tmp_path: Path, qtbot: QtBot) -> None:
    """The patch pauses and steps, each frame becomes a file, and then it plays again."""
    window, posted = ports.window, engine_of(ports.window).posted
    order(ports, tmp_path, ".png", 3, every=True)
    viewer = window.looking.viewer(window.looking.follower)
    assert viewer.recording.isVisible() and not viewer.record.isEnabled() and not window.session.running
    for frame in (7, 8, 9):
        show(ports, frame)
    qtbot.waitUntil(lambda: viewer.recording.isHidden())
    assert posted.count(STEP) == 2 and window.session.running
    assert sorted(each.name for each in tmp_path.glob("*.png")) == [f"picture.out.{n:06}.png" for n in (7, 8, 9)]
    assert (
        any("Recorded 3 of 3 frames" in text for text in window.log.texts()) if hasattr(window.log, "texts") else True
    )


def test_numbers_are_one_array_and_skipped_frames_are_counted(ports: Ports, tmp_path: Path, qtbot: QtBot) -> None:
    """While the patch plays, frames that did not arrive are counted; Stop keeps what was recorded."""
    window, told = ports.window, list[str]()
    order(ports, tmp_path, ".npy", 0, every=False)
    window.looking.recorder.noted.connect(told.append)
    for frame in (1, 2, 5, 6):
        show(ports, frame)
    viewer = window.looking.viewer(window.looking.follower)
    qtbot.waitUntil(lambda: "4 frames, 2 skipped" in viewer.recording.label.text())
    window.actions_by_id["record"].trigger()
    qtbot.waitUntil(lambda: bool(told))
    assert told[0].startswith("Recorded 4 frames, 2 skipped of Picture · out into ")
    np.testing.assert_array_equal(np.load(tmp_path / "picture.out.npy")[:, 0, 0], [1, 2, 5, 6])
    assert STEP not in engine_of(window).posted


def test_every_frame_becomes_a_film(ports: Ports, tmp_path: Path, qtbot: QtBot) -> None:
    """A recording as MP4 has each frame at the rate of the patch, and skipped ones are shown longer."""
    order(ports, tmp_path, ".mp4", 3, every=False)
    for frame in (7, 8, 11):
        show(ports, frame)
    qtbot.waitUntil(lambda: ports.window.looking.recorder.recording is None)
    with av.open(str(tmp_path / "picture.out.mp4")) as film:
        frames = list(film.decode(video=0))
    assert [frame.time for frame in frames] == pytest.approx([0, 1 / 60, 4 / 60])
    assert (frames[0].height, frames[0].width) == (4, 6)


def test_a_full_disk_is_one_message_and_keeps_the_files(
    ports: Ports, tmp_path: Path, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, told = frame_files.write_atomically, list[str]()

    def fill(path: Path, data: bytes) -> None:
        if "000003" in path.name:
            raise OSError(errno.ENOSPC, "No space left on device")
        write(path, data)

    monkeypatch.setattr(frame_files, "write_atomically", fill)
    order(ports, tmp_path, ".exr", 10, every=True)
    ports.window.looking.recorder.failed.connect(told.append)
    for frame in range(1, 6):
        show(ports, frame)
    qtbot.waitUntil(lambda: ports.window.looking.recorder.recording is None)
    assert told == [f"Recording into {tmp_path} failed: No space left on device; 2 frames before it kept"]
    assert len(list(tmp_path.glob("picture*"))) == 2


def test_a_port_that_is_gone_ends_the_recording(ports: Ports, tmp_path: Path, qtbot: QtBot) -> None:
    told = list[str]()
    order(ports, tmp_path, ".png", 10, every=False)
    ports.window.looking.recorder.failed.connect(told.append)
    show(ports, 1)
    sampling = Sampling(PortRef("picture", "out"), each_frame=True)
    engine_of(ports.window).samples["recording/picture.out"] = Sample(
        "recording/picture.out", sampling, 2, missing="gone"
    )
    ports.window.bridge.poll()
    qtbot.waitUntil(lambda: bool(told))
    assert told == ["Picture · out must hold something to be recorded: gone; 1 frame before it kept"]


def test_files_are_never_overwritten(tmp_path: Path) -> None:
    """Another recording has other names; frames of another shape another array."""
    sampling = Sampling(PortRef("a", "b"))
    for length in (2, 2, 3):
        files = FrameFiles(tmp_path, "a.b", ".npy", Tone())
        for frame in range(3):
            data = np.full((length if frame < 2 else 5,), frame, np.float32)
            files.write(frame, Sample("x", sampling, frame, "f32", data.shape, data=data))
            assert len(np.load(sorted(tmp_path.iterdir(), key=lambda p: p.stat().st_mtime_ns)[-1])) > 0
        files.close()
    shapes = sorted(np.load(path).shape for path in tmp_path.iterdir())
    assert shapes == [(1, 5), (1, 5), (1, 5), (2, 2), (2, 2), (2, 3)]


def test_an_engine_gives_every_frame_also_of_a_value_that_stays(real_window: Any, tmp_path: Path, qtbot: QtBot) -> None:
    """With a real engine, a value that does not change and a still patch are recorded frame by frame."""
    patch, told = Patch(), list[str]()
    patch.add("value.slider", node_id="slider")
    patch.add("buffer.constant", node_id="still", shape="4", value=3.0)
    save_patch(patch, tmp_path / "a.loom")
    assert real_window.files.open_path(tmp_path / "a.loom")
    looking, reports = real_window.looking, list[Any]()
    real_window.bridge.report.connect(reports.append)
    qtbot.waitUntil(lambda: bool(reports) and "still.out" in reports[-1].buffers)
    looking.recorder.noted.connect(told.append)
    looking.recorder.failed.connect(told.append)
    for number, (node, port) in enumerate((("slider", "value"), ("still", "out")), start=1):
        looking._record("looking", PortRef(node, port))
        form = real_window.findChild(RecordForm)
        form.folder.setText(str(tmp_path))
        form.format.setCurrentIndex(form.format.findData(".npy"))
        form.frames.setValue(5)
        form.accept()
        form.deleteLater()
        qtbot.waitUntil(lambda number=number: len(told) == number)
        qtbot.wait(1)
    assert all(text.startswith("Recorded 5 of 5 frames of") for text in told), told
    numbers = np.load(tmp_path / "slider.value.npy")
    assert numbers.shape == (5,) and len(set(numbers.tolist())) == 1
    assert np.load(tmp_path / "still.out.npy").shape == (5, 4)


def test_without_a_selection_the_viewer_is_recorded(ports: Ports, qtbot: QtBot) -> None:
    """Shift+R asks for the port that feeds the viewer in view; without a viewer, a note says what to do."""
    window = ports.window
    window.actions_by_id["record"].trigger()
    form = window.findChild(RecordForm)
    assert form.windowTitle() == f"Record {window.looking.title(PortRef('picture', 'out'))}"
    form.reject()
    patch_of(window).remove("screen")
    with qtbot.waitSignal(window.looking.noted) as noted:
        window.actions_by_id["record"].trigger()
    assert str(noted.args[0]).startswith("Nothing is shown: select a block")
