"""The recorder dock follows the engine while visible, and freezes while a person views a frame."""

from collections.abc import Callable
from typing import Any, cast

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QDockWidget, QMainWindow
from pytestqt.qtbot import QtBot

from tests.app.docks.recording import Recording
from warploom.app.docks.frame_bars import phase_colours
from warploom.app.docks.recorder import Recorder, SlowRows
from warploom.app.theme import colours
from warploom.app.view_models.profile.flight import Flight
from warploom.engine.protocol.client import Client


@pytest.fixture
def engine() -> Recording:
    return Recording()


@pytest.fixture
def recorder(qtbot: QtBot, engine: Recording) -> Recorder:
    """A visible dock that follows the engine."""
    made = Recorder()
    qtbot.addWidget(made)
    made.resize(1000, 180)
    made.show()
    made.set_seen(True)
    made.set_engine(cast(Client, engine))
    return made


def click(recorder: Recorder, x: int) -> None:
    QTest.mouseClick(recorder.bars, Qt.MouseButton.LeftButton, pos=QPoint(x, 20))


def test_it_follows_only_while_it_is_seen(qtbot: QtBot, recorder: Recorder, engine: Recording) -> None:
    qtbot.waitUntil(lambda: engine.asked > 3)
    assert recorder.currentIndex() == 1
    assert "600 frames" in recorder.summary.text() and "1 over 16.6 ms" in recorder.summary.text()
    recorder.set_seen(False)
    asked = engine.asked
    qtbot.wait(250)
    recorder.set_engine(cast(Client, engine))
    assert engine.asked == asked


def test_a_frame_of_another_record_can_be_shown(recorder: Recorder) -> None:
    """A frame that was chosen in the profiler can be shown, although the profiler keeps its own record."""
    flight = Flight(Recording().flight_record(), 0.0)
    recorder.show_frame(flight, 598)
    assert recorder.freeze.isChecked() and recorder.flight is flight
    assert "40.0 ms" in recorder.details.text()


def test_an_answer_that_comes_after_freezing_is_left_out(recorder: Recorder) -> None:
    """A record that arrives after the display was frozen is not shown."""
    jobs: list[tuple[Callable[[], Any], Callable[[Any], None]]] = []
    recorder.feed.beside = lambda what, work, then, cancelled: jobs.append((work, then))
    recorder.feed.ask()
    click(recorder, 5)
    flight = recorder.flight
    for work, then in jobs:
        then(work())
    assert len(jobs) == 2, "the record, and the times of the frozen one"
    assert recorder.flight is flight


def test_the_list_is_left_alone_while_it_is_the_same(recorder: Recorder, engine: Recording) -> None:
    """If the slow frames are the same, the list is not reset, so a selection persists."""
    resets: list[int] = []
    rows = SlowRows(recorder)
    rows.modelReset.connect(lambda: resets.append(rows.rowCount()))
    record = engine.flight_record(with_times=False)
    for _ in range(2):
        rows.show_flight(Flight(record, 0))
    rows.show_flight(Flight(engine.flight_record(with_times=False), 0))
    assert resets == [2, 2]


def test_who_chooses_a_frame_freezes_it(qtbot: QtBot, recorder: Recorder, engine: Recording) -> None:
    """Choosing a frame by click or arrow key freezes the dock, which then makes no requests until it is unfrozen."""
    click(recorder, recorder.bars.width() - 1)
    assert recorder.freeze.isChecked()
    asked = engine.asked
    newest = asked + 599
    assert f"Frame {newest - 1:,}</b> · <b>40.0&nbsp;ms" in recorder.details.text(), "the slower one of a column"
    QTest.keyClick(recorder.bars, Qt.Key.Key_Right)
    assert f"Frame {newest:,}</b> · <b>8.00&nbsp;ms" in recorder.details.text()
    QTest.keyClick(recorder.bars, Qt.Key.Key_Left)
    assert "Slow: device 40.0 ms" in recorder.details.text()
    QTest.keyClick(recorder.bars, Qt.Key.Key_Home)
    assert f"Frame {newest - 599:,}<" in recorder.details.text()
    qtbot.wait(250)
    assert engine.asked == asked
    recorder.freeze.click()
    qtbot.waitUntil(lambda: engine.asked > asked)
    assert "Click the bar of a frame" in recorder.details.text()


@pytest.mark.feature("slow_frames")
def test_slow_frames_are_listed_also_those_that_are_older_than_the_bars(recorder: Recorder) -> None:
    model = recorder.table.model()
    assert [str(model.index(row, 2).data()) for row in range(model.rowCount())] == ["device 40.0 ms"] * 2
    recorder.table.clicked.emit(model.index(1, 0))
    assert recorder.freeze.isChecked()
    assert "Frame 3</b> · <b>40.0&nbsp;ms" in recorder.details.text()
    recorder.table.clicked.emit(model.index(0, 0))
    assert "Frame 599</b> · <b>40.0&nbsp;ms" in recorder.details.text()


def test_a_frozen_record_outlives_its_engine(recorder: Recorder) -> None:
    """A frozen record stays when its engine ends; otherwise a hint is shown."""
    click(recorder, 5)
    told = recorder.details.text()
    recorder.set_engine(None)
    assert (recorder.currentIndex(), recorder.details.text()) == (1, told)
    recorder.freeze.click()
    recorder.set_engine(None)
    assert recorder.currentIndex() == 0


def test_an_engine_that_has_ended_leaves_what_was_told(qtbot: QtBot, recorder: Recorder, engine: Recording) -> None:
    engine.fails = True
    asked = engine.asked
    qtbot.waitUntil(lambda: engine.asked > asked + 2)
    assert recorder.currentIndex() == 1


def test_the_budget_is_told(qtbot: QtBot, recorder: Recorder) -> None:
    """The budget is signalled when another one is chosen, and for each new engine."""
    told: list[int] = []
    recorder.budget_changed.connect(told.append)
    recorder.budget.setCurrentIndex(0)
    recorder.set_engine(None)
    assert told == [33_333_333] * 2


def test_a_slow_frame_stands_out_of_the_bars(recorder: Recorder) -> None:
    """A slow frame's bar is cut off at the top of the scale and marked below; other bars end below the budget."""
    image: Any = recorder.bars.grab().toImage()
    theme, height = colours.current(), image.height()
    slow, plain = ([image.pixelColor(x, y).name() for y in range(height)] for x in (image.width() - 1, 80))
    wait = phase_colours()["wait"]
    assert (slow[1], slow[-2]) == (wait, theme.warning)
    assert (plain[1], plain[-2], plain[-12]) == (theme.canvas, theme.canvas, wait)
    assert plain.index(theme.warning) < plain.index(wait)


def test_it_fits_a_small_screen(recorder: Recorder) -> None:
    """In a dock of 480 by 180 pixels, the legend is hidden, and the summary's tooltip is its whole text."""
    assert recorder.legend.isVisible()
    assert recorder.minimumSizeHint().width() < 480
    recorder.resize(480, 180)
    assert not recorder.legend.isVisible()
    assert recorder.summary.toolTip() == recorder.summary.text()


def test_a_dock_behind_another_tab_asks_nothing(qtbot: QtBot, engine: Recording) -> None:
    """A dock behind another tab makes no requests, although Qt counts its widget as visible."""
    window, recorder = QMainWindow(), Recorder()
    qtbot.addWidget(window)
    front, behind = QDockWidget("Front"), QDockWidget("Recorder")
    behind.setWidget(recorder)
    behind.visibilityChanged.connect(recorder.set_seen)
    for dock in (front, behind):
        window.addDockWidget(Qt.DockWidgetArea.BottomDockWidgetArea, dock)
    window.tabifyDockWidget(front, behind)
    window.show()
    behind.raise_()
    recorder.set_engine(cast(Client, engine))
    qtbot.waitUntil(lambda: engine.asked > 1)
    front.raise_()
    qtbot.waitUntil(lambda: not recorder.feed._timer.isActive())
    asked = engine.asked
    qtbot.wait(250)
    assert recorder.isVisible() and engine.asked == asked


def test_a_figure_can_be_read_over_bars(recorder: Recorder) -> None:
    """A figure over bars is drawn on the background's colour, even where bars are as high as the scale."""
    record = Recording().flight_record()
    record.frames["wait"] = 40_000_000
    recorder.show_frame(Flight(record, 0.0), 300)
    image: Any = recorder.bars.grab().toImage()
    seen = [image.pixelColor(x, y).name() for y in range(3, 13) for x in range(3, 30)]
    assert phase_colours()["wait"] not in seen
    assert image.pixelColor(120, 8).name() == phase_colours()["wait"]
