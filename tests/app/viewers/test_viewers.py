"""Viewers request the sizes and pixels that they need, and save whole pictures."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QGuiApplication, QImage, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog
from pytestqt.qtbot import QtBot

from tests.app.app_support import FakeEngine, make_report, move_pointer, shown_picture
from tests.app.viewers.test_picture_view import gradient
from warploom.app.documents.bridge import SHARED_RATE, Bridge
from warploom.app.qt.beside import at_once
from warploom.app.theme.apply import apply_theme
from warploom.app.viewers.picture_view import PictureView
from warploom.app.viewers.snapshots import Snapshots, opaque_picture
from warploom.app.viewers.viewer import ViewerPanel
from warploom.app.window.main_window import MainWindow
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.files import dump_patch
from warploom.engine.protocol.messages import NodeReport, NodeState
from warploom.engine.protocol.sampling import ObservePorts, Sample, Sampling, picture_of


@pytest.fixture
def view(qtbot: QtBot) -> PictureView:
    """A view of 200 by 100 screen pixels."""
    view = PictureView()
    qtbot.addWidget(view)
    view.resize(200, 100)
    view.show()
    return view


@pytest.fixture
def viewer(qtbot: QtBot) -> ViewerPanel:
    """A viewer that shows a 120 by 60 version of a picture of 1000 by 500."""
    viewer = ViewerPanel("Connect an image", "v")
    qtbot.addWidget(viewer)
    viewer.resize(300, 200)
    viewer.show()
    viewer.show_sample(shown_picture("v", 1, gradient(120, 60), (500, 1000)))
    return viewer


def test_a_fitted_view_wants_what_fits_in_it(view: PictureView) -> None:
    """A fitted view requests its size in screen pixels, even before the first picture."""
    assert view.wanted_size == (200, 100)
    view.show_pixels(gradient(120, 90))
    assert view.wanted_size == (200, 100)
    view.resize(250, 140)
    assert view.wanted_size == (250, 140)


@pytest.mark.parametrize(
    ("scale", "wanted"), [(0.5, (500, 250)), (0.333, (333, 166)), (0.05, (50, 25)), (1.0, None), (3.0, None)]
)
def test_a_zoomed_view_wants_the_size_that_the_picture_has_on_the_screen(
    view: PictureView, scale: float, wanted: tuple[int, int] | None
) -> None:
    """A zoomed view requests the picture's size on the screen; None, at a scale of 1 or more, is every pixel."""
    view.show_pixels(gradient(200, 100), (500, 1000))
    view.zoom_to(scale, QPointF(10, 10))
    assert view.wanted_size == wanted


def test_a_smaller_version_lies_where_the_whole_picture_would(view: PictureView) -> None:
    """A smaller version is drawn where the whole picture would be, and its pixels are not reported."""
    view.show_pixels(gradient(100, 50), (500, 1000))
    assert view.picture_size == (1000, 500)
    assert view.scale == 0.2
    move_pointer(view, QPoint(150, 25))
    assert view.probe == (750, 125)
    assert view.pixel(750, 125) is None
    assert not view.is_whole


def test_a_version_made_for_the_view_is_drawn_pixel_by_pixel(view: PictureView) -> None:
    """A version made for the view is drawn pixel by pixel, even if its proportions leave a fraction of a pixel."""
    view.resize(200, 101)
    pixels = np.random.default_rng(1).integers(0, 256, (86, 200, 4), np.uint8)
    view.show_pixels(pixels, (301, 700))
    shown = view.grab().toImage().convertToFormat(QImage.Format.Format_RGBX8888)
    drawn = np.frombuffer(shown.constBits(), np.uint8).reshape(shown.height(), shown.bytesPerLine() // 4, 4)
    top = (101 - 86 + 1) // 2
    rows = [row for row in (top - 1, top) if (drawn[row : row + 86, :200, :3] == pixels[..., :3]).all()]
    assert rows


def test_a_zoom_stays_when_versions_of_other_sizes_come(view: PictureView) -> None:
    """The visible part stays when versions of other sizes come."""
    view.show_pixels(gradient(200, 100), (500, 1000))
    view.zoom_to(2.0, QPointF(150, 25))
    move_pointer(view, QPoint(150, 25))
    before = view.probe
    assert before == (750, 125)
    view.show_pixels(np.zeros((500, 1000, 4), np.uint8))
    assert (view.scale, view.probe) == (2.0, before)


def test_a_viewer_asks_for_the_pixel_under_the_pointer(viewer: ViewerPanel) -> None:
    """A viewer requests a missing pixel under the pointer, and shows the answer even if the pointer moved on."""
    move_pointer(viewer.picture, viewer.picture.rect().center())
    point = viewer.picture.probe
    assert point is not None
    assert viewer.sampling.probe == point[::-1]
    assert viewer.probe_label.text() == ""
    viewer.show_sample(shown_picture("v", 2, gradient(120, 60), (500, 1000), point[::-1], (1, 2, 3, 4)))
    assert viewer.probe_label.text() == f"({point[0]}, {point[1]})  1 2 3 4"
    move_pointer(viewer.picture, viewer.picture.rect().center() + QPoint(9, 0))
    assert viewer.sampling.probe != point[::-1]
    assert viewer.probe_label.text().endswith("1 2 3 4")
    viewer.show_sample(shown_picture("v", 3, np.zeros((500, 1000, 4), np.uint8)))
    assert viewer.sampling.probe is None
    viewer.picture.leaveEvent(object())
    viewer.show_sample(shown_picture("v", 2, gradient(120, 60), (500, 1000), point[::-1], (1, 2, 3, 4)))
    assert viewer.probe_label.text() == ""


def test_a_viewer_reports_when_it_needs_something_else(qtbot: QtBot, viewer: ViewerPanel) -> None:
    """A viewer signals each change of its needs once, and nothing for a picture like the last one."""
    told: list[Sampling] = []
    viewer.sampling_changed.connect(lambda: told.append(viewer.sampling))
    viewer.show_sample(shown_picture("v", 2, gradient(120, 60), (500, 1000)))
    assert told == []
    viewer.picture.show_actual_pixels()
    assert told == [picture_of("v")]
    viewer.picture.fit()
    assert told[1:] == [picture_of("v", (viewer.picture.height(), viewer.picture.width()))]
    viewer.resize(320, 240)
    assert told[-1] == picture_of("v", (viewer.picture.height(), viewer.picture.width()))


@pytest.mark.parametrize(("width", "both", "has_place"), [(600, True, True), (340, False, True), (240, False, False)])
def test_the_pixel_under_the_pointer_shows_in_a_narrow_viewer_too(
    viewer: ViewerPanel, qapp: QApplication, width: int, both: bool, has_place: bool
) -> None:
    """In a narrow viewer the pixel under the pointer replaces size and zoom; in a tight one it leaves out its place."""
    apply_theme(qapp, "dark")  # as in the editor: it decides how wide texts and buttons are
    viewer.resize(width, 200)
    viewer.show_sample(shown_picture("v", 2, gradient(1000, 500)))
    move_pointer(viewer.picture, viewer.picture.rect().center())
    QApplication.processEvents()
    assert viewer.probe_label.fontMetrics().horizontalAdvance(viewer.probe_label.text()) <= viewer.probe_label.width()
    assert (viewer.status_label.isVisible(), viewer.probe_label.text().startswith("(")) == (both, has_place)
    viewer.picture.leaveEvent(object())
    assert viewer.status_label.isVisible()


def test_a_picture_that_stays_has_no_rate(qtbot: QtBot, viewer: ViewerPanel, monkeypatch: pytest.MonkeyPatch) -> None:
    """A viewer shows the rate of new pictures, and none if no new picture comes."""
    start_s = time.monotonic() + 60
    now_s = [start_s]
    monkeypatch.setattr(time, "monotonic", lambda: now_s[0])
    for picture in range(62):
        now_s[0] = start_s + picture / 30
        viewer.show_sample(shown_picture("v", 2 + 7 * picture, gradient(120, 60), (500, 1000)))
    assert viewer.status_label.text().endswith(" · 30 fps")
    viewer._stays.timeout.emit()
    assert viewer.status_label.text().startswith("1000 × 500 · ")
    assert "fps" not in viewer.status_label.text()


def test_a_viewer_without_a_picture_says_what_it_waits_for(window: Any) -> None:
    """A viewer without a picture shows what it waits for: a connection, the compiler, another block, or a picture."""
    window.files.new()
    viewers = window.viewers
    screen = window.session.patch.add("test_app.screen").id
    hint = viewers.viewer(screen)
    assert hint.page.hint.text() == "Connect an image to this viewer"
    viewers.show_report(make_report(preparing=True))
    assert hint.page.hint.text() == "Connect an image to this viewer"
    picture = window.session.patch.add("test_app.picture")
    window.session.patch.connect(picture["out"], PortRef(screen, "image"))
    assert hint.page.hint.text() == "Compiling the patch …"
    viewers.show_report(make_report())
    assert hint.page.hint.text() == "Waiting for the first picture …"
    why = "not running: it waits for picture, which has an error"
    idle = NodeReport("test_app.screen", NodeState.IDLE, why, None, 0)
    viewers.show_report(make_report(nodes={screen: idle}))
    assert hint.page.hint.text() == "Not running: it waits for picture, which has an error"


Choose = Callable[..., tuple[str, str]]


def choosing(name: str | Path, meanwhile: Callable[[], object] = lambda: None) -> Choose:
    """Return a fake file dialog that calls `meanwhile` before it returns the chosen name."""

    def choose(*arguments: object) -> tuple[str, str]:
        meanwhile()
        return str(name), ""

    return choose


@pytest.fixture
def snapshots(viewer: ViewerPanel) -> Snapshots:
    """Snapshots without an engine, that write their files at once."""
    return Snapshots("pictures", Bridge(), at_once, viewer)


def wanted(snapshots: Snapshots) -> dict[str, Sampling]:
    return snapshots._bridge._samplings


def come(snapshots: Snapshots, pixels: np.ndarray) -> None:
    """Let a picture come from the engine, if one is requested."""
    for name, sampling in wanted(snapshots).items():
        sample = shown_picture("v", 2, pixels)
        snapshots._bridge.sampled.emit(replace(sample, name=name, sampling=sampling))


def save(snapshots: Snapshots, what: Sampling | Sample) -> None:
    snapshots.save("picture of v", what, "v.png", ("Pictures (*.png)",), opaque_picture)


@pytest.mark.parametrize("comes", ["before", "after"])
def test_saving_fetches_the_whole_picture(
    snapshots: Snapshots, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, comes: str
) -> None:
    """Saving requests the whole picture, during the dialog or after it, and afterwards nothing."""
    whole = np.random.default_rng(2).integers(0, 256, (500, 1000, 4), np.uint8)
    seen: list[dict[str, Sampling]] = []

    def fetch() -> None:
        seen.append(wanted(snapshots))
        come(snapshots, whole)
        assert not wanted(snapshots)
        come(snapshots, whole[::-1])

    file = tmp_path / "picture.png"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", choosing(file, fetch if comes == "before" else lambda: None))
    save(snapshots, picture_of("v"))
    if comes == "after":
        assert not file.exists()
        fetch()
    assert seen == [{"pictures/v.": picture_of("v")}]
    saved = QImage(str(file)).convertToFormat(QImage.Format.Format_RGBX8888)
    assert (saved.width(), saved.height()) == (1000, 500)
    np.testing.assert_array_equal(np.array(saved.constBits()).reshape(whole.shape)[..., :3], whole[..., :3])


def test_a_picture_is_copied_in_full_size(qtbot: QtBot, viewer: ViewerPanel, snapshots: Snapshots) -> None:
    """The whole picture goes to the clipboard, even if a small one is shown."""
    whole = np.random.default_rng(3).integers(0, 256, (500, 1000, 4), np.uint8)
    with qtbot.waitSignal(viewer.copy_asked):
        QTest.keyClick(viewer.picture, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert viewer.whole is None
    snapshots.copy("picture of v", picture_of("v"))
    come(snapshots, whole)
    copied = QGuiApplication.clipboard().image()
    assert (copied.width(), copied.height()) == (1000, 500)
    assert copied.pixelColor(123, 45) == QColor(*whole[45, 123, :3].tolist())


def test_a_whole_picture_is_saved_as_it_was_when_asked(
    viewer: ViewerPanel, snapshots: Snapshots, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A whole picture that is shown is saved without another, even if others come during the dialog."""
    viewer.show_sample(shown_picture("v", 2, np.full((5, 5, 4), 10, np.uint8)))
    shown, later = viewer.whole, shown_picture("v", 3, np.full((5, 5, 4), 99, np.uint8))
    assert shown is not None
    file = tmp_path / "picture.png"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", choosing(file, lambda: viewer.show_sample(later)))
    save(snapshots, shown)
    assert not wanted(snapshots) and QImage(str(file)).pixelColor(2, 2) == QColor(10, 10, 10)


def test_saving_says_when_it_cannot_be_done(
    qtbot: QtBot, viewer: ViewerPanel, snapshots: Snapshots, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Saving reports if no picture comes or the file can't be written; a cancelled dialog requests nothing."""
    monkeypatch.setattr(QFileDialog, "getSaveFileName", choosing(""))
    save(snapshots, picture_of("v"))
    assert not wanted(snapshots)
    monkeypatch.setattr(QFileDialog, "getSaveFileName", choosing(tmp_path / "picture.png"))
    snapshots.patience_ms = 10
    with qtbot.waitSignal(snapshots.failed) as failed:
        save(snapshots, picture_of("v"))
    assert failed.args == [
        "picture of v must come from the engine, got nothing; check that the engine is running",
    ]
    assert not wanted(snapshots)
    monkeypatch.setattr(QFileDialog, "getSaveFileName", choosing(tmp_path / "no folder" / "picture.png"))
    viewer.show_sample(shown_picture("v", 2, gradient(5, 5)))
    assert viewer.whole is not None
    with qtbot.waitSignal(snapshots.failed) as failed:
        save(snapshots, viewer.whole)
    assert str(failed.args[0]).startswith("picture of v must be writable as picture.png, got ")
    monkeypatch.setattr(QFileDialog, "getSaveFileName", choosing(tmp_path / "a.png", lambda: snapshots.cancel("v")))
    with qtbot.waitSignal(snapshots.failed) as failed:
        save(snapshots, picture_of("v"))
    assert failed.args == ["picture of v must hold something to be saved: its block is gone"]
    assert not wanted(snapshots)


def test_a_picture_of_an_earlier_request_is_not_taken_for_a_later_one(qtbot: QtBot) -> None:
    """An engine of another process may send one more picture after the request ended; the next request skips it."""
    bridge, engine = Bridge(), FakeEngine(None, None)  # type: ignore[arg-type]  # runs nothing
    taken: list[int] = []
    bridge.set_engine(engine)  # type: ignore[arg-type]  # replaces an engine
    bridge._timer.stop()
    bridge.sampled.connect(lambda sample: taken.append(sample.frame))
    wanted = {"v.": picture_of("v")}
    for frame in (2, 4):
        bridge.observe_ports("pictures", wanted)
        engine.samples["pictures/v."] = shown_picture("v", frame, gradient(5, 5))
        bridge.poll()
        bridge.observe_ports("pictures", {})
        engine.samples["pictures/v."] = shown_picture("v", frame + 1, gradient(5, 5))
        bridge.poll()
    bridge.observe_ports("pictures", wanted)
    bridge.poll()
    assert taken == [2, 4]
    bridge.set_engine(None)


def test_the_bridge_posts_to_the_engine_at_most_once_a_display_frame(qtbot: QtBot) -> None:
    """What is looked at is posted at most once per display frame, for all viewers together, and at a common rate."""
    bridge, engine = Bridge(), FakeEngine(None, None)  # type: ignore[arg-type]  # runs nothing
    bridge.set_engine(engine)  # type: ignore[arg-type]  # replaces an engine
    bridge._timer.stop()
    engine.posted.clear()
    for width in range(20, 30):
        bridge.observe_ports("viewers", {"a": picture_of("a", (10, width))})
    assert not engine.posted
    bridge.poll()
    bridge.poll()
    (message,) = engine.posted
    assert message.samplings["viewers/a"].size == (10, 29)
    bridge.observe_ports("viewers", {"a": picture_of("a", (10, 10)), "b": picture_of("b", (10, 10))})
    bridge.poll()
    assert {sampling.rate for sampling in engine.posted[-1].samplings.values()} == {SHARED_RATE}
    bridge.set_active(False)
    assert engine.posted[-1] == ObservePorts({})
    bridge.set_engine(None)


def test_a_frozen_viewer_keeps_its_picture(viewer: ViewerPanel, qtbot: QtBot) -> None:
    """A click on Freeze keeps the picture, asks for no other, and another click goes on."""
    told: list[None] = []
    viewer.sampling_changed.connect(lambda: told.append(None))
    before = viewer.picture.picture()
    qtbot.mouseClick(viewer.freeze, Qt.MouseButton.LeftButton)
    assert viewer.is_frozen and told and viewer.status_label.text() == "frozen at frame 1"
    assert not viewer.save_button.isEnabled(), "only a part of the pixels is here"
    with qtbot.assertNotEmitted(viewer.copy_asked):
        QTest.keyClick(viewer.picture, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    viewer.show_sample(shown_picture("v", 2, gradient(60, 30), (500, 1000)))
    assert viewer.picture.picture() == before
    qtbot.mouseClick(viewer.freeze, Qt.MouseButton.LeftButton)
    viewer.show_sample(shown_picture("v", 3, gradient(60, 30), (500, 1000)))
    assert viewer.picture.picture() != before


def test_control_and_a_drag_turn_the_camera_of_a_picture(opened: MainWindow) -> None:
    """The nearest block with an orbit that feeds the viewer turns, in one undo step; what is driven stays."""
    patch = opened.session.patch
    assert patch is not None
    points = patch.add("particles.render_points", orbit=170.0, elevation=10.0, distance=10.0)
    tone, viewer = patch.add("image.tone"), patch.add("io.viewer")
    patch.connect(points["image"], tone["image"])
    patch.connect(tone["out"], viewer["image"])
    before, steps = dump_patch(patch), len(patch.history.names)
    control, left, none = Qt.KeyboardModifier.ControlModifier, Qt.MouseButton.LeftButton, Qt.MouseButton.NoButton
    picture = opened.viewers.viewer(viewer.id).picture
    picture.resize(200, 100)
    picture.show_pixels(gradient(200, 100))

    def drag() -> None:
        QTest.mousePress(picture, left, control, QPoint(50, 50))
        for way in (10, 20):
            move_pointer(picture, QPoint(50 - way, 50 + way), left, control)
        QTest.mouseRelease(picture, left, control, QPoint(30, 70))

    drag()
    assert (patch.value(points, "orbit"), patch.value(points, "elevation")) == pytest.approx((-154.0, 46.0))
    assert picture.is_fitted and len(patch.history.names) == steps + 1
    at, way = QPointF(50, 50), QPoint(0, 120)
    wheel = QWheelEvent(at, at, QPoint(), way, none, control, Qt.ScrollPhase.NoScrollPhase, False)
    for _ in range(2):
        QApplication.sendEvent(picture, wheel)
    assert patch.value(points, "distance") == pytest.approx(8.1) and len(patch.history.names) == steps + 2
    picture._turning.timeout.emit()
    picture._turning.stop()  # as after a pause
    QApplication.sendEvent(picture, wheel)
    assert patch.value(points, "distance") == pytest.approx(7.29) and len(patch.history.names) == steps + 3
    patch.undo()
    patch.undo()
    patch.undo()
    assert dump_patch(patch) == before
    patch.connect(patch.add("value.slider")["value"], points["orbit"])
    picture.resize(200, 130)
    told: list[str] = []
    opened.viewers.noted.connect(told.append)
    drag()
    assert set(told) == {"orbit of Render Points stays: Slider drives it"}
    patch.animate(points, "distance", [(0.0, 9.0)])
    QApplication.sendEvent(picture, wheel)
    assert told[-1] == "distance of Render Points stays: keys of the timeline drive it"
    assert (patch.value(points, "orbit"), patch.value(points, "elevation")) == (170.0, 37.7)  # whose digits fit
    patch.remove(points)
    drag()
    assert not picture.is_fitted  # without a camera, the picture moves


def test_the_buttons_of_a_viewer_save_and_copy_its_picture(
    opened: MainWindow, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the window, the file is named after the viewer, is written beside the UI, and the status bar says so."""
    patch = opened.session.patch
    assert patch is not None
    viewer, pixels = patch.add("io.viewer", node_id="shown"), gradient(20, 10)
    opened.viewers.show_sample(shown_picture(viewer.id, 1, pixels))
    proposed: list[str] = []

    def choose(_parent: object, _title: str, start: str, _kinds: str) -> tuple[str, str]:
        proposed.append(Path(start).name)
        return str(tmp_path / "shown.png"), ""

    monkeypatch.setattr(QFileDialog, "getSaveFileName", choose)
    panel = opened.viewers.viewer(viewer.id)
    panel.save_button.click()
    qtbot.waitUntil(lambda: opened.statusBar().currentMessage() == f"Saved {tmp_path / 'shown.png'}")
    assert proposed == [f"{opened.viewers.docks[viewer.id].windowTitle()}.png"]
    QTest.keyClick(panel.picture, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    for image in (QImage(str(tmp_path / "shown.png")), QGuiApplication.clipboard().image()):
        assert image.pixelColor(3, 4) == QColor(*pixels[4, 3, :3].tolist())
