"""The profile, a trace and the flight record go to files, by commands and by buttons of their docks."""

import csv
import json
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from tests.app.app_support import run_command
from tests.runtime.check.pinning import moving
from warploom.app.docks.profiler.profiler import Profiler
from warploom.app.docks.recorder import Recorder
from warploom.app.documents import dialogs
from warploom.app.window.main_window import MainWindow
from warploom.engine.profiling.levels import ProfilingLevel


@pytest.mark.feature("export")
def test_measurements_go_to_files(
    qtbot: QtBot, real_window: MainWindow, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The suffix chooses the form; each file is written with the command line's functions."""
    window, chosen, notes = real_window, list[Path](), list[str]()
    window.log.noted.connect(notes.append)
    monkeypatch.setattr(dialogs, "ask_export", lambda *_: chosen[-1])

    def written(name: str) -> str:
        chosen.append(tmp_path / name)
        run_command(window, "export profile" if name.startswith("profile") else "export flight record")
        qtbot.waitUntil(lambda: f"Wrote {chosen[-1]}" in notes)
        return chosen[-1].read_text()

    window.session.set_profiling(ProfilingLevel.NONE)
    window.session.replace(moving(100))
    chosen.append(tmp_path / "early.csv")
    run_command(window, "export profile")
    qtbot.waitUntil(lambda: any("no frame was measured yet" in text for text in notes))
    assert not chosen[-1].exists()
    engine = window.session.engine
    assert engine is not None
    window.session.set_profiling(ProfilingLevel.PER_BLOCK)
    qtbot.waitUntil(lambda: engine.profile().measured_frames > 0)
    window.session.set_running(False)
    qtbot.waitUntil(lambda: engine.flight_record().frames.size == engine.flight_record().frames.size > 0)
    rows = list(csv.DictReader(written("profile.csv").splitlines()))
    assert {"total", "scale"} <= {row["node"] for row in rows}
    assert json.loads(written("profile.json"))["level"] == "per-block"
    frames = json.loads(written("record.json"))["frames"]
    assert frames[0]["frame"] == 0
    assert len(written("record.csv").splitlines()) == len(frames) + 1
    events = json.loads(written("profile.trace.json"))["traceEvents"]
    assert sum(str(event["name"]).startswith("frame ") for event in events) == 10

    recorder = window.reveal(Recorder)
    qtbot.waitUntil(lambda: recorder.flight is not None and len(recorder.flight.frames) == len(frames) + 10)
    recorder.freeze.setChecked(True)
    chosen.append(tmp_path / "frozen.csv")
    window.session.step()
    QTest.mouseClick(recorder.export_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: f"Wrote {chosen[-1]}" in notes)
    assert len(chosen[-1].read_text().splitlines()) == len(frames) + 11  # what is shown, without the frame since
    chosen.append(tmp_path / "no folder" / "profile.csv")
    QTest.mouseClick(window.reveal(Profiler).export_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: "profile must be writable to profile.csv, got" in notes[-1])


def test_an_export_that_fails_does_not_say_that_it_wrote(
    qtbot: QtBot, real_window: MainWindow, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Any error while a file is made is reported as one."""
    window, notes = real_window, list[str]()
    window.log.noted.connect(notes.append)
    monkeypatch.setattr(dialogs, "ask_export", lambda *_: tmp_path / "record.csv")
    window.session.replace(moving(100))
    monkeypatch.setattr("warploom.app.docks.exports.write_atomically", lambda *_: 1 // 0)
    window.actions_by_id["export_record"].trigger()
    qtbot.waitUntil(lambda: any(text.startswith("record.csv must be writable") for text in notes))
