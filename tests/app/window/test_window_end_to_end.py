"""The shipped examples in the real window with the real engine, on the host."""

from pathlib import Path

import numpy as np
from pytestqt.qtbot import QtBot

from tests.app.app_support import is_picture
from tests.app.conftest import Asked
from tests.small_examples import small_file
from warploom.app.docks.problems import Problems
from warploom.app.docks.recorder import Recorder
from warploom.app.docks.updates import Updates
from warploom.app.inspector.parameter_editors import NumberEditor
from warploom.app.window.main_window import MainWindow
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.files import EXAMPLES_FOLDER


def picture(window: MainWindow) -> np.ndarray:
    """Return the picture on the screen."""
    pixels = window.viewers.viewer("viewer").picture.pixels
    assert pixels is not None
    return pixels.copy()


def wait_for_picture(qtbot: QtBot, window: MainWindow) -> np.ndarray:
    """Wait until the viewer shows more than one colour."""
    viewer = window.viewers.viewer("viewer")
    qtbot.waitUntil(lambda: viewer.picture.picture_size is not None and int(np.ptp(picture(window)[..., :3])) > 8)
    return picture(window)


def test_photo_runs_loses_and_regains_a_connection_and_survives_saving(
    qtbot: QtBot, real_window: MainWindow, asked: Asked, tmp_path: Path
) -> None:
    """Edits change the picture, a missing input is reported, and the saved file shows the same picture."""
    window = real_window
    assert window.files.open_example(EXAMPLES_FOLDER / "photo.loom")
    patch = window.session.patch
    assert patch is not None
    first = wait_for_picture(qtbot, window)
    qtbot.waitUntil(lambda: window.badge.label.text() == "host · still")
    assert window.docks.widget(Problems).list.topLevelItemCount() == 0

    with qtbot.waitSignal(window.bridge.sampled, check_params_cb=is_picture):
        patch.set("tone", exposure=-2.0)
    qtbot.waitUntil(lambda: picture(window).mean() < first.mean() - 1)
    dark = picture(window)

    removed = patch.source_of(PortRef("tone", "image"))
    assert removed is not None
    patch.disconnect(PortRef("tone", "image"))
    qtbot.waitUntil(lambda: window.docks.widget(Problems).list.topLevelItemCount() > 0)
    qtbot.waitUntil(window.actions_by_id["undo"].isEnabled)
    window.actions_by_id["undo"].trigger()
    assert patch.source_of(PortRef("tone", "image")) == removed
    qtbot.waitUntil(lambda: window.docks.widget(Problems).list.topLevelItemCount() == 0)

    asked.path = tmp_path / "mine.loom"
    assert window.files.save()
    assert window.files.open_path(asked.path)
    again = wait_for_picture(qtbot, window)
    np.testing.assert_array_equal(again, dark)


def test_the_recorder_tells_the_frames_of_the_running_patch(
    qtbot: QtBot, real_window: MainWindow, tmp_path: Path
) -> None:
    """The recorder follows the frames until one is chosen; the first frame built the graph."""
    window = real_window
    assert window.files.open_path(small_file("particles", tmp_path))
    window.docks.reveal("recorder")
    recorder = window.docks.widget(Recorder)
    qtbot.waitUntil(lambda: recorder.flight is not None and len(recorder.flight.frames) > 5)
    recorder.choose(0)
    assert recorder.flight is not None
    assert "Cold: first build" in recorder.details.text()
    frozen = recorder.flight
    recorder.freeze.click()
    qtbot.waitUntil(lambda: recorder.flight is not frozen)


def test_particles_fall_where_gravity_is_dragged(qtbot: QtBot, real_window: MainWindow, tmp_path: Path) -> None:
    """The particles move; a drag of gravity is one undo step without a rebuild."""
    window = real_window
    assert window.files.open_path(small_file("particles", tmp_path))
    patch = window.session.patch
    assert patch is not None
    first = wait_for_picture(qtbot, window)
    qtbot.waitUntil(lambda: not np.array_equal(first, picture(window)))
    updates = list(window.docks.widget(Updates).rows.rows)
    window.canvas.select(["forces"])
    name = next(name for name in window.inspector.rows if "gravity" in name)
    editor = window.inspector.editor(name)
    assert isinstance(editor, NumberEditor)
    assert editor.slider is not None
    before = patch.value("forces", name)
    editor.slider.setSliderDown(True)
    for position in range(0, 1000, 100):
        editor.slider.setValue(position)
        qtbot.wait(20)
    editor.slider.setSliderDown(False)
    assert patch.value("forces", name) != before
    assert len(patch.history.names) == 1
    assert window.docks.widget(Updates).rows.rows == updates
    window.session.undo()
    assert patch.value("forces", name) == before
