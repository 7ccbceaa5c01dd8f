"""A person scrubs over recorded frames, and the whole editor shows them until Esc."""

from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from tests.app.app_support import make_report, run_command, shown_picture
from tests.app.viewers.test_ports import Ports, look_at, ports
from tests.app.window.window_support import engine_of
from warploom.app.docks.recorder import Recorder
from warploom.app.view_models.profile import tape
from warploom.app.window.past_banner import PastBanner
from warploom.engine.profiling.recorder import FRAME_ROW
from warploom.engine.protocol.flight_record import BUDGET_NS, FlightRecord, NodeTimes
from warploom.engine.protocol.messages import NodeReport, NodeState
from warploom.engine.protocol.sampling import ObservePorts
from warploom.engine.types import NAMED

__all__ = ["ports"]
MS = 1_000_000
NODES = {node: NodeReport("test_app.picture", NodeState.OK, time_ns=5 * MS) for node in ("picture", "screen")}


@pytest.fixture
def window(shared_window: Any) -> Any:
    """One window for all tests of this file."""
    return shared_window


@pytest.fixture(autouse=True)
def records_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tape, "RATE", 1e9)


def record(with_times: bool = True) -> FlightRecord:
    """Five frames, of which the fourth took longest, and the second and fourth were measured."""
    rows = np.zeros(5, FRAME_ROW)
    rows["frame"] = np.arange(1, 6)
    rows["began"] = rows["frame"] * 1000 * MS
    rows["whole"] = rows["wait"] = [5 * MS, 5 * MS, 5 * MS, 40 * MS, 5 * MS]
    measured = np.array([[2 * MS, 1 * MS], [30 * MS, 1 * MS]], np.float32)
    times = NodeTimes(("picture", "screen"), np.array([1, 3]), measured, np.array([3 * MS, 31 * MS]))
    return FlightRecord(5010 * MS, BUDGET_NS, rows, times=times if with_times else None)


def play(ports: Ports) -> None:
    """Run frames 1 to 5, whose picture has the frame's number."""
    engine: Any = engine_of(ports.window)
    engine.flight_record = record
    for frame in range(1, 6):
        ports.hold("picture.out", NAMED["f32"], np.full((6, 8), frame, np.float32))
        ports.play_one(frame)
        engine.samples["viewers/screen"] = shown_picture("screen", frame, np.full((4, 4, 4), frame, np.uint8))
        engine.reports.append(make_report(frame=frame, nodes=NODES, values={"picture.gain": float(frame)}))
        ports.window.bridge.poll()


@pytest.mark.feature("recorder")
def test_the_slowest_frame_is_shown_everywhere_until_escape(ports: Ports, qtbot: QtBot) -> None:
    """One click shows the slowest frame's times, picture, samples and values, marked as the past."""
    window = ports.window
    window.viewers.docks["screen"].setFloating(True)
    viewer = look_at(ports, "picture")
    play(ports)
    run_command(window, "slowest frame")
    recorder = window.docks.widget(Recorder)
    banner = window.findChild(PastBanner)
    qtbot.waitUntil(recorder.freeze.isChecked)
    assert "Frame 4" in recorder.details.text()
    qtbot.waitUntil(lambda: "Slowest blocks: " in recorder.details.text())
    assert banner.isVisible() and banner.text.startswith("You see frame 4, ")
    appearance = window.canvas.scene.nodes["picture"]
    qtbot.waitUntil(lambda: appearance.appearance.badge == "30.0 ms")
    assert viewer.frame_label.text().startswith("frame 4, ")
    view: Any = viewer.view
    assert (view._samples[""].data == 4).all()
    assert window.viewers.viewer("screen").picture.pixels[0, 0, 0] == 4
    assert window.viewers.viewer("screen").status_label.text().startswith("frame 4, ")
    assert not viewer.save.isEnabled()

    QTest.keyClick(recorder.bars, Qt.Key.Key_Left)
    assert "times are those of frame" in banner.text and (view._samples[""].data == 3).all()
    ports.play(1)
    assert (view._samples[""].data == 3).all(), "new samples are recorded, not shown"

    before = len(engine_of(window).posted)
    QTest.keyClick(window, Qt.Key.Key_Escape)
    assert not recorder.freeze.isChecked() and banner.isHidden() and window.bridge.moment is None
    assert ObservePorts({}) in engine_of(window).posted[before:], "a paused engine sends everything again"
    ports.play(2)
    assert viewer.frame_label.text() == "frame 2" and viewer.save.isEnabled()
    qtbot.waitUntil(lambda: appearance.appearance.badge == "")


def test_what_was_not_recorded_says_so(ports: Ports, qtbot: QtBot) -> None:
    """A port that nobody looked at then has no old picture; another patch ends the past."""
    play(ports)
    recorder = ports.window.reveal(Recorder)
    qtbot.waitUntil(lambda: recorder.flight is not None)
    recorder.choose(0)
    ports.window.actions_by_id["thumbnails"].trigger()
    viewer = look_at(ports, "every")
    assert viewer.page.currentIndex() == 0
    viewer = look_at(ports, "picture")
    assert viewer.page.currentIndex() == 0
    assert viewer.page.hint.text().startswith("This port was not recorded at frame 1")
    back = next(b for b in ports.window.findChild(PastBanner).findChildren(QPushButton) if "live" in b.text())
    back.click()
    assert ports.window.bridge.moment is None and not recorder.freeze.isChecked()
    recorder.choose(0)
    ports.window.files.close()
    assert ports.window.bridge.moment is None
