"""Each diagnostic is logged once when it appears, however its numbers change and however often it returns."""

import logging
import time

import pytest

from warploom.engine.diagnostics import Diagnostic, Mend, error, warning
from warploom.engine.runtime.report.diagnostics_log import AGAIN_S, DiagnosticsLog


def full(percent: int) -> Diagnostic:
    return warning(f"append buffer is at {percent} % of its capacity", node="a", port="out")


def test_a_diagnostic_is_logged_when_it_comes_up(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new diagnostic is logged with its severity; its end, its early return and waiting blocks are DEBUG records."""
    now_s = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now_s)
    caplog.set_level(logging.DEBUG, "warploom")
    log, before = DiagnosticsLog(), tuple[Diagnostic, ...]()

    def told(*now: Diagnostic) -> list[tuple[str, str]]:
        nonlocal before
        caplog.clear()
        log.follow(before, now)
        before = now
        return [(record.levelname, record.getMessage()) for record in caplog.records]

    wrong = error("x must be y", node="b")
    assert told(full(91)) == [("WARNING", "a.out: append buffer is at 91 % of its capacity")]
    assert told(full(92)) == []
    assert told(full(93), wrong) == [("ERROR", "b: x must be y")]
    assert told(wrong) == [("DEBUG", f"no longer: {full(93)}")]
    assert told(wrong, full(95)) == [("DEBUG", "a.out: append buffer is at 95 % of its capacity")]
    now_s += AGAIN_S
    assert told(wrong) == [("DEBUG", f"no longer: {full(95)}")]
    assert told(wrong, full(96)) == [("WARNING", "a.out: append buffer is at 96 % of its capacity")]
    assert [level for level, _ in told(error("x must be connected", node="c", mend=Mend.CONNECT))][:1] == ["DEBUG"]
