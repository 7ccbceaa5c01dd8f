"""Play, pause, step and reset, the choice of pacing, and the patch's frame and time."""

import gc
from typing import Any

import pytest
from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from tests.app.app_support import make_report
from warploom.app.qt.display_rate import USUAL_RATE, DisplayRate, refresh_rate
from warploom.app.qt.gc_timer import GcTimer
from warploom.app.window.transport import format_clock, pacing_text, pacing_tooltip
from warploom.engine.diagnostics import error
from warploom.engine.patch.document import Patch
from warploom.engine.protocol.messages import FrameReport, Reset, SetPacing, SetRunning
from warploom.engine.protocol.pacing import Pacing, PacingMode

#: After so many looks without a new report, about 10 ms apart, no frame is under way.
SILENT_LOOKS = 30


@pytest.fixture
def window(shared_window: Any) -> Any:
    """One window for all tests of this file."""
    return shared_window


class FakeScreen(QObject):
    """A screen whose refresh rate the test sets."""

    refreshRateChanged = Signal(float)  # noqa: N815 - Qt's name

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def refreshRate(self) -> float:
        return self.rate


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0:00.00"),
        (7.254, "0:07.25"),
        (59.996, "1:00.00"),
        (754.5, "12:34.50"),
        (3600.0, "1:00:00.00"),
        (86_400 + 61.01, "24:01:01.01"),
    ],
)
def test_the_patchs_time_is_written_as_a_clock(seconds: float, text: str) -> None:
    """The patch's time is shown as a clock with rounded hundredths, and with hours only if there are any."""
    assert format_clock(seconds) == text


@pytest.mark.parametrize(
    ("pacing", "text", "tooltip"),
    [
        (Pacing.free(), "Free", "Frame pacing: as many frames as the device can run"),
        (Pacing.fixed(24), "24 fps", "Frame pacing: 24 frames a second"),
        (Pacing.display(59.94), "Display 60", "Frame pacing: the rate of this screen, 59.94 frames a second"),
    ],
)
def test_the_chooser_says_what_is_chosen(pacing: Pacing, text: str, tooltip: str) -> None:
    """The pacing button shows a short text, and its tooltip the full one."""
    assert (pacing_text(pacing), pacing_tooltip(pacing)) == (text, tooltip)


@pytest.mark.parametrize("told", [None, 0.0, -1.0])
def test_a_screen_that_reports_no_rate_counts_as_60(told: float | None) -> None:
    """A screen that reports no rate, such as an offscreen one, counts as 60 Hz."""
    assert refresh_rate(None if told is None else FakeScreen(told)) == USUAL_RATE  # type: ignore[arg-type]  # fake


def test_the_display_rate_follows_the_window_to_another_screen(qtbot: QtBot) -> None:
    """The display's rate follows the window to another screen and that screen's changes."""
    window = QWidget()
    qtbot.addWidget(window)
    follower, rates = DisplayRate(window), list[float]()
    follower.changed.connect(rates.append)
    window.show()
    laptop, monitor = FakeScreen(59.95), FakeScreen(143.9)
    for screen in (laptop, monitor):
        follower._follow(screen)  # type: ignore[arg-type]  # a fake screen
    monitor.rate = 120.0
    monitor.refreshRateChanged.emit(120.0)
    laptop.refreshRateChanged.emit(59.95)
    follower._follow(None)
    assert rates == [59.95, 143.9, 120.0, USUAL_RATE]


def test_an_engine_starts_at_the_displays_rate_and_follows_the_choice(window: Any, patch: Patch) -> None:
    """An engine starts at the display's rate and follows the menu; choosing the current entry sends nothing."""
    session, actions = window.session, window.actions_by_id
    session.replace(patch)
    assert session.engine.pacing == Pacing.display(USUAL_RATE)
    for command, pacing in (
        ("pacing_30", Pacing.fixed(30)),
        ("pacing_free", Pacing.free()),
        ("pacing_display", Pacing.display(USUAL_RATE)),
    ):
        session.engine.posted.clear()
        actions[command].trigger()
        actions[command].trigger()
        assert [m for m in session.engine.posted if isinstance(m, SetPacing)] == [SetPacing(pacing)]
        assert [a.objectName() for a in actions.menus["pacing"].actions() if a.isChecked()] == [command]
        assert window.transport.pacing.text() == pacing_text(pacing)


def test_only_the_displays_pacing_follows_the_display(window: Any, patch: Patch) -> None:
    """A fixed rate ignores changes of the display; choosing the display later uses its current rate."""
    session = window.session
    session.replace(patch)
    window.transport.display_rate.changed.emit(144.0)
    assert session.pacing == Pacing.display(144)
    session.set_pacing(PacingMode.FIXED, 25.0)
    window.transport.display_rate.changed.emit(75.0)
    assert session.pacing == Pacing.fixed(25)
    session.set_pacing(PacingMode.DISPLAY)
    assert session.pacing == Pacing.display(75)
    session.restart_engine()
    assert session.engine.pacing == Pacing.display(75)


def test_play_pause_step_and_reset_reach_the_engine(window: Any, patch: Patch) -> None:
    """Play, pause, step and reset reach the engine, and the button names its next action."""
    session, actions = window.session, window.actions_by_id
    session.replace(patch)
    session.engine.posted.clear()
    assert (actions["play"].text(), actions["play"].toolTip()) == ("&Pause", "Pause (Space)")
    actions["play"].trigger()
    assert (actions["play"].text(), actions["play"].toolTip()) == ("&Play", "Play (Space)")
    actions["step"].trigger()
    actions["reset"].trigger()
    actions["play"].trigger()
    sent = [m for m in session.engine.posted if isinstance(m, (SetRunning, Reset))]
    assert sent == [SetRunning(False), SetRunning(True, frames=1), Reset(), SetRunning(True)]


def test_the_transport_needs_an_engine_that_runs(window: Any, patch: Patch) -> None:
    """The transport is disabled on the welcome page, and after the engine failed until another one starts."""

    def allowed() -> set[bool]:
        enabled = {window.actions_by_id[command].isEnabled() for command in ("play", "step", "reset")}
        return enabled | {window.transport.pacing.isEnabled()}

    assert allowed() == {False}
    window.session.replace(patch)
    assert allowed() == {True}
    window.bridge.report.emit(make_report(running=False, failed=True, diagnostics=(error("the device has gone"),)))
    assert allowed() == {False}
    window.session.restart_engine()
    assert allowed() == {True}
    window.session.replace(None)
    assert allowed() == {False}


def test_frame_and_time_are_drawn_at_a_rate_that_can_be_read(window: Any, patch: Patch) -> None:
    """While frames play, only some frame numbers are drawn; while paused, each one is."""
    transport = window.transport
    transport.show_report(make_report(frame=10, time_s=0.25))
    transport.show_report(make_report(frame=11, time_s=0.27))
    assert transport.place.text() == "0:00.25   frame 10"
    transport.show_report(make_report(frame=1234, time_s=61.5, running=False))
    assert transport.place.text() == "1:01.50   frame 1,234"
    transport.show_report(make_report(frame=0, time_s=0.0, running=False))
    assert transport.place.text() == "0:00.00   frame 0"
    transport.clear()
    assert transport.place.text() == ""


def wait_for_silence(qtbot: QtBot, reports: list[FrameReport]) -> None:
    """Wait until no report has come for some time."""
    counts = [len(reports)]

    def is_silent() -> bool:
        counts.append(len(reports))
        return len(counts) > SILENT_LOOKS and counts[-1] == counts[-SILENT_LOOKS]

    qtbot.waitUntil(is_silent)


def test_a_real_engine_is_paused_stepped_and_reset(qtbot: QtBot, real_window: Any, patch: Patch) -> None:
    """A real engine's frame and time stop at a pause, advance by one at a step, and restart at a reset."""
    patch.add("test_app.picture")
    window, reports = real_window, list[FrameReport]()
    window.bridge.report.connect(reports.append)
    window.session.replace(patch)
    text = lambda: window.transport.place.text()  # noqa: E731 - read repeatedly below
    qtbot.waitUntil(lambda: "frame" in text() and not text().endswith("frame 0"))
    window.actions_by_id["play"].trigger()
    qtbot.waitUntil(lambda: not reports[-1].running)
    wait_for_silence(qtbot, reports)  # the engine may have begun a frame when it paused
    window.actions_by_id["step"].trigger()  # what is drawn while paused is the next frame, which this step runs
    wait_for_silence(qtbot, reports)
    last = reports[-1].frame
    window.actions_by_id["step"].trigger()
    qtbot.waitUntil(lambda: text().endswith(f"frame {last + 1:,}"))
    window.actions_by_id["reset"].trigger()
    qtbot.waitUntil(lambda: text() == "0:00.00   frame 0")


def test_the_editor_collects_garbage_in_its_own_thread_while_it_is_open(qtbot: QtBot) -> None:
    """While the editor is open, a timer collects garbage in the UI thread, and automatic collection is off."""
    was_enabled = gc.isenabled()
    timer = GcTimer()
    try:
        timer.set_busy(True)
        assert not gc.isenabled()
        gc.collect()
        for _ in range(2000):
            cycle: list[object] = []
            cycle.append(cycle)
        assert gc.get_count()[0] >= 2000
        qtbot.waitUntil(lambda: gc.get_count()[0] < 1500)
    finally:
        timer.close()
        timer.close()
    assert gc.isenabled() is was_enabled
