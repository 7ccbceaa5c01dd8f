"""Profiles are requested only while a part of the window watches them."""

from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QEvent
from PySide6.QtGui import QHelpEvent
from PySide6.QtWidgets import QApplication, QToolTip, QWidget
from pytestqt.qtbot import QtBot

from tests.app.app_support import FakeEngine
from tests.app.window.window_support import engine_of
from tests.small_examples import small_file
from warploom.engine.profiling.levels import ProfilingLevel
from warploom.engine.profiling.profile import Profile
from warploom.engine.protocol.messages import ObserveProfile

PROFILE = Profile(7, ProfilingLevel.PER_BLOCK, 100, 110, 1, 100)


def asked(engine: FakeEngine) -> list[bool]:
    """Return the profile requests that the engine received."""
    return [message.is_watched for message in engine.posted if isinstance(message, ObserveProfile)]


def test_the_first_watcher_begins_and_the_last_one_ends(opened: Any) -> None:
    """The first watcher starts profiles and the last one ends them; a watcher that registers twice counts once."""
    engine, bridge = engine_of(opened), opened.bridge
    engine.profiles = [PROFILE]
    bridge.poll()
    assert engine.profiles
    for watcher in ("dock", "canvas", "canvas"):
        bridge.watch_profile(watcher, True)
    assert asked(engine) == [True]
    bridge.poll()
    assert bridge.profile is None  # a profile from before the first watcher is dropped
    engine.profiles = [PROFILE]
    bridge.poll()
    assert bridge.profile is PROFILE
    bridge.watch_profile("canvas", False)
    assert asked(engine) == [True]
    bridge.watch_profile("dock", False)
    bridge.watch_profile("dock", False)
    assert asked(engine) == [True, False]
    assert bridge.profile is None


def test_a_new_engine_is_asked_too_and_tells_its_own(opened: Any) -> None:
    """A new engine is asked for profiles too, and the old engine's profile is dropped."""
    opened.bridge.watch_profile("dock", True)
    engine_of(opened).profiles = [PROFILE]
    opened.bridge.poll()
    opened.session.restart_engine()
    assert asked(engine_of(opened)) == [True]
    assert opened.bridge.profile is None


def test_a_minimised_window_watches_nothing(opened: Any) -> None:
    """A minimised window watches nothing, and watches again when it is restored."""
    opened.bridge.watch_profile("dock", True)
    opened.bridge.set_active(False)
    opened.bridge.set_active(True)
    assert asked(engine_of(opened)) == [True, False, True]


def hover(widget: QWidget, position: Any) -> None:
    """Rest the pointer on a widget."""
    QApplication.sendEvent(widget, QHelpEvent(QEvent.Type.ToolTip, position, widget.mapToGlobal(position)))


@pytest.mark.parametrize("at_badge", [False, True])
def test_hovering_watches_and_leaving_ends_it(opened: Any, qtbot: QtBot, at_badge: bool) -> None:
    """Profiles are watched while the pointer rests on the canvas or the engine's badge."""
    view = opened.canvas.view
    widget = opened.badge if at_badge else view.viewport()
    position = widget.rect().center() if at_badge else view.mapFromScene(view.scene().nodes["picture"].place.center())
    hover(widget, position)
    assert asked(engine_of(opened)) == [True]
    QApplication.sendEvent(widget, QEvent(QEvent.Type.Leave))
    assert asked(engine_of(opened)) == [True, False]
    QToolTip.hideText()
    qtbot.waitUntil(lambda: not QToolTip.isVisible())


def test_tooltips_tell_what_a_real_engine_measured(real_window: Any, qtbot: QtBot, tmp_path: Path) -> None:
    """With a real engine, tooltips show a block's kernels and the cost of measuring, even while it is paused."""
    assert real_window.files.open_path(small_file("nested", tmp_path))
    real_window.session.set_profiling(ProfilingLevel.PER_KERNEL)
    view = real_window.canvas.view
    node = real_window.canvas.scene.nodes["viewer"]
    qtbot.waitUntil(lambda: bool(node.appearance.badge))
    for is_paused in (False, False, True):
        if is_paused:
            real_window.session.set_running(False)
        hover(view.viewport(), view.mapFromScene(node.place.center()))
        qtbot.waitUntil(lambda: "Last measured: " in QToolTip.text() and "p99" in QToolTip.text())
        hover(real_window.badge, real_window.badge.rect().center())
        qtbot.waitUntil(lambda: "of the time" in QToolTip.text())
        real_window.badge.tooltip.hide()
        qtbot.waitUntil(lambda: not QToolTip.isVisible())
