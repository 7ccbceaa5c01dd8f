"""The badge says what runs, how fast, and at what cost."""

from __future__ import annotations

import time

import pytest
from pytestqt.qtbot import QtBot

from app.theme import current
from app.widgets.engine_badge import EngineBadge, badge_text, badge_tooltip
from app.widgets.frame_rate import FrameRate
from tests.app.app_support import make_report


def test_badge_text() -> None:
    """Running, paused, compiling and absent engines read differently."""
    assert badge_text(make_report(), 59.6) == "host · 60 fps · 420 µs"
    assert badge_text(make_report(running=False), 59.6) == "host · paused · 420 µs"
    assert badge_text(make_report(preparing=True), 30.0) == "host · compiling … · 30 fps · 420 µs"
    assert badge_text(None) == "No engine"


def test_badge_tooltip() -> None:
    """The tooltip holds the figures that the badge has no room for."""
    assert badge_tooltip(make_report(frame=1234)).splitlines() == [
        "Frame 1,234",
        "3 blocks, 5 kernels",
        "Launch: not measured",
        "Profiling: none",
        "Memory: 1.00 MB of 2.00 MB",
    ]


def test_the_dot_is_green_only_while_running(qtbot: QtBot) -> None:
    """Green stands for nothing but running."""
    badge = EngineBadge()
    qtbot.addWidget(badge)
    badge.resize(200, 24)

    def dot() -> str:
        return badge.grab().toImage().pixelColor(12, 12).name()

    assert dot() != current().running
    badge.show_report(make_report(running=True))
    assert dot() == current().running
    badge.show_report(make_report(running=False))
    assert dot() != current().running


def test_frame_rate_counts_frames_that_nobody_took() -> None:
    """Every third frame seen at 20 per second is 60 frames per second; a stopped engine has no rate."""
    rate = FrameRate()
    for i in range(30):
        rate.add(3 * i, i / 20)
    assert rate.per_second(29 / 20) is not None
    assert round(rate.per_second(29 / 20) or 0) == 60
    assert rate.per_second(10.0) is None


def test_frame_rate_starts_again_after_a_reset() -> None:
    """Frame 0 after frame 100 gives no negative rate."""
    rate = FrameRate()
    rate.add(99, 0.0)
    rate.add(100, 0.1)
    rate.add(0, 0.2)
    assert rate.per_second(0.2) is None
    rate.add(6, 0.3)
    assert round(rate.per_second(0.3) or 0) == 60


def test_an_engine_that_stopped_answering_is_not_green(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a device failed no report comes: the badge must not go on saying that it runs."""
    badge = EngineBadge()
    qtbot.addWidget(badge)
    badge.show_report(make_report(running=True))
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + 5)
    badge._silence.timeout.emit()
    assert badge.text == "no frame for 5 s"
    badge.show_report(make_report(running=True))
    assert badge.text.startswith("host")
