"""The badge shows the engine's state, rate and cost."""

import time

import pytest
from pytestqt.qtbot import QtBot

from tests.app.app_support import make_report
from warploom.app.theme.colours import current
from warploom.app.widgets.frame_rate import FrameRate
from warploom.app.window.engine_badge import EngineBadge, badge_text
from warploom.engine.protocol.messages import UpdateLevel, UpdateRecord


def test_badge_text() -> None:
    """Running, paused, compiling, still, empty and absent engines have different texts."""
    assert badge_text(make_report(), 59.6) == "host · 60 fps · 420 µs"
    assert badge_text(make_report(), 0.5) == "host · 0.5 fps · 420 µs"
    assert badge_text(make_report(launches=7), 0.0) == "host · still"
    assert badge_text(make_report(launches=0), 0.0) == "host · nothing to run"
    assert badge_text(make_report(running=False), 59.6, 21_300_000) == "host · paused · 21.3 ms"
    assert badge_text(make_report(running=False), 59.6) == "host · paused · 420 µs"
    assert badge_text(make_report(launches=7, preparing=True), 30.0) == "host · compiling … · 30 fps · 420 µs"
    assert badge_text(make_report(launches=0, preparing=True)) == "host · compiling …"
    assert badge_text(make_report(in_flight=3), 9000.0, 11_000) == "host · 9000 fps · 11.0 µs · overlapping"
    assert badge_text(make_report(in_flight=3, running=False), 9000.0) == "host · paused · 420 µs"
    assert badge_text(None) == "No engine"


def test_the_tooltip_is_of_this_engine(qtbot: QtBot) -> None:
    """The badge's tooltip shows the current engine's last update, and none for a new engine."""
    badge = EngineBadge()
    qtbot.addWidget(badge)
    badge.show_report(make_report())
    badge.note_update(UpdateRecord(UpdateLevel.WARM, "a size", 3_000_000, 7, swap_ns=1000))
    assert "Last update: warm, 3.00 ms" in badge._tooltip()
    badge.clear()
    badge.show_report(make_report())
    assert "Last update" not in badge._tooltip()


def test_the_dot_is_green_only_while_running(qtbot: QtBot) -> None:
    """The badge's dot is green only while the engine runs."""
    badge = EngineBadge()
    qtbot.addWidget(badge)
    badge.resize(200, 24)
    badge.show()

    def is_green() -> bool:
        qtbot.wait(1)  # the layout follows the text
        picture = badge.grab().toImage()
        return any(picture.pixelColor(x, 12).name() == current().running for x in range(picture.width()))

    assert not is_green()
    badge.show_report(make_report(running=True))
    assert is_green()
    badge.show_report(make_report(running=False))
    assert not is_green()


def test_frame_rate_counts_frames_that_nobody_took() -> None:
    """The frame rate counts frames that the editor did not take; a stopped engine has no rate."""
    rate = FrameRate()
    for i in range(30):
        rate.add(3 * i, i / 20)
    assert rate.per_second(29 / 20) is not None
    assert round(rate.per_second(29 / 20) or 0) == 60
    assert rate.per_second(10.0) is None


def test_frame_rate_starts_again_after_a_reset() -> None:
    """A reset restarts the frame rate, which is never negative."""
    rate = FrameRate()
    rate.add(99, 0.0)
    rate.add(100, 0.1)
    rate.add(0, 0.2)
    assert rate.per_second(0.2) is None
    rate.add(6, 0.3)
    assert round(rate.per_second(0.3) or 0) == 60


def test_an_engine_that_stopped_answering_is_not_green(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a report, the badge counts the seconds since the last frame, until the next report.

    An engine that compiles is no silent one: the badge says so.
    """
    badge = EngineBadge()
    qtbot.addWidget(badge)
    badge.show_report(make_report(running=True))
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + 5)
    badge._silence.timeout.emit()
    assert badge.label.text() == "no frame for 5 s"
    monkeypatch.setattr(time, "monotonic", lambda: now + 7)
    badge._silence.timeout.emit()
    assert badge.label.text() == "no frame for 7 s"
    badge.show_report(make_report(running=True, preparing=True))
    assert badge.label.text().startswith("host")
    monkeypatch.setattr(time, "monotonic", lambda: now + 11)
    badge._silence.timeout.emit()
    assert badge.label.text().startswith("host · compiling …") and badge.label.text().endswith(" for 4 s")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The current time in seconds, in a list of one item that the test can set."""
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_a_patch_in_which_nothing_changes_is_still(qtbot: QtBot, clock: list[float]) -> None:
    """If nothing changes in a patch, the badge shows "still", and not the rate and time of frames that cost nothing."""
    badge = EngineBadge()
    qtbot.addWidget(badge)
    for frame in range(120):
        clock[0] = 100 + frame / 60
        badge.show_report(make_report(frame=frame, launches=1, frame_time_ns=22_000_000 if frame == 0 else 9000))
        assert "fps" not in badge.label.text()
    assert badge.label.text() == "host · still"
    badge.show_report(make_report(frame=120, launches=1, frame_time_ns=9000, running=False))
    assert badge.label.text() == "host · paused · 22.0 ms"


def test_the_rate_is_that_of_launches(qtbot: QtBot, clock: list[float]) -> None:
    """The badge shows the rate and time of launched frames; here, one in three of 60 frames a second is launched."""
    badge = EngineBadge()
    qtbot.addWidget(badge)
    for frame in range(121):
        clock[0] = 100 + frame / 60
        is_launched = frame % 3 == 0
        report = make_report(frame=frame, launches=frame // 3, frame_time_ns=22_000_000 if is_launched else 9000)
        badge.show_report(report)
    assert badge.label.text() == "host · 20 fps · 22.0 ms"


def test_an_edit_of_a_still_patch_is_no_frame_rate(qtbot: QtBot, clock: list[float]) -> None:
    """A single launch in a still patch is shown without a frame rate, and slow regular launches with one."""
    badge = EngineBadge()
    qtbot.addWidget(badge)
    for _ in range(3):
        for launches in (7, 7, 7, 7, 8):
            clock[0] += 3
            badge.show_report(make_report(launches=launches))
            assert "fps" not in badge.label.text()
        badge.clear()
    for launches in range(5):
        clock[0] += 3
        badge.show_report(make_report(launches=launches))
    assert badge.label.text() == "host · 0.3 fps · 420 µs"


def test_a_patch_that_compiles_for_long_is_not_called_still(qtbot: QtBot, clock: list[float]) -> None:
    """During a long build and right after it, the badge does not show "still"."""
    badge = EngineBadge()
    qtbot.addWidget(badge)
    for frame in range(120):
        clock[0] = 100 + frame / 60
        badge.show_report(make_report(frame=0, preparing=True))
    assert badge.label.text().startswith("host · compiling …")
    clock[0] += 0.5
    badge.show_report(make_report(frame=0))
    assert badge.label.text() == "host · 420 µs"


def test_the_badge_shows_what_is_waited_for(qtbot: QtBot, clock: list[float]) -> None:
    """While an engine elsewhere connects or gets files, the badge says so; then its figures are back."""
    badge = EngineBadge()
    qtbot.addWidget(badge)
    badge.show_waiting("waiting for `ssh gpu-box warploom engine`, 3 of 30 s")
    assert badge.label.text() == "waiting for `ssh gpu-box warploom engine`, 3 of 30 s"
    badge.show_report(make_report())
    assert badge.label.text().startswith("waiting")
    badge.show_waiting("")
    assert badge.label.text() == "host · 420 µs"
    badge.show_waiting("sending files, 1.0 of 2.0 MB")
    clock[0] += 5.0
    badge._silence.timeout.emit()
    assert badge.label.text() == "sending files, 1.0 of 2.0 MB"
    badge.clear()
    assert badge.label.text() == "No engine"


def test_a_still_patch_does_not_flicker(qtbot: QtBot, clock: list[float]) -> None:
    """A patch that launches a frame now and then, such as for a preview, stays still; one that plays again does not."""
    badge = EngineBadge()
    qtbot.addWidget(badge)
    shown = []
    for turn in range(400):
        clock[0] += 0.1
        badge.show_report(make_report(launches=1 + turn // 37))
        shown.append(badge.label.text())
    assert set(shown[20:]) == {"host · still"}
    for turn in range(60):
        clock[0] += 1 / 60
        badge.show_report(make_report(launches=50 + turn))
    assert badge.label.text().startswith("host · 60 fps")
