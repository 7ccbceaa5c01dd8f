"""View > Critical path, with a real engine."""

from pathlib import Path
from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from tests.app.app_support import make_report, run_command
from tests.app.window.window_support import engine_of
from tests.profiling.spans import span
from tests.small_examples import small_file
from warploom.app.docks.recorder import Recorder
from warploom.engine.profiling.levels import ProfilingLevel
from warploom.engine.profiling.profile import Profile
from warploom.engine.protocol.messages import EngineStatistics, ObserveProfile


def test_profiles_are_asked_for_while_the_path_is_shown(opened: Any) -> None:
    """Profiles are requested only while the path is shown, and the choice is remembered."""
    for shows in (True, False):
        opened.actions_by_id["path"].trigger()
        told = [message.is_watched for message in engine_of(opened).posted if isinstance(message, ObserveProfile)]
        assert told[-1] is opened.state.shows_path is shows


def test_a_new_engine_begins_without_marks(opened: Any) -> None:
    """A new engine starts without marks, since none of its frames has been measured."""
    opened.overlays.toggle_path()
    statistics = EngineStatistics("host", profiling=ProfilingLevel.PER_BLOCK)
    opened.canvas.show_report(make_report(statistics=statistics))
    profile = Profile(7, ProfilingLevel.PER_BLOCK, 100, 110, 1, 100, (span("picture"),))
    opened.bridge.profiled.emit(profile)
    opened.canvas.path.set_budget(1_000)  # makes the marks appear at once
    assert opened.canvas.path.marks.nodes == {"picture"}
    opened.session.restart_engine()
    assert not opened.canvas.path.marks.nodes


@pytest.mark.feature("slack")
def test_the_path_of_a_real_engine_is_marked(real_window: Any, qtbot: QtBot, tmp_path: Path) -> None:
    """With a real engine the path is marked, with the recorder's budget; a level that measures nothing is explained."""
    assert real_window.files.open_path(small_file("nested", tmp_path))
    real_window.session.set_profiling(ProfilingLevel.PER_BLOCK)
    path = real_window.canvas.path
    run_command(real_window, "critical path")
    qtbot.waitUntil(lambda: {"relief", "viewer"} <= path.marks.nodes)
    assert real_window.canvas.scene.nodes["viewer"].appearance.on_path
    real_window.docks.widget(Recorder).budget_changed.emit(1_000)
    assert "over the budget of 1.00 µs" in path.marks.text
    real_window.session.set_profiling(ProfilingLevel.SUMMARY)
    qtbot.waitUntil(lambda: "not measured" in path.marks.text)
    assert not real_window.canvas.scene.nodes["viewer"].appearance.on_path
    run_command(real_window, "critical path")
    assert not path.isVisible()
