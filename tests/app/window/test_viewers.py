"""Viewers in the window: which of them request pictures, and what they show."""

from typing import Any

import numpy as np
import pytest
from pytestqt.qtbot import QtBot

from tests.app.app_support import shown_picture
from tests.app.window.window_support import engine_of, observed, patch_of
from warploom.app.window.main_window import MainWindow


@pytest.fixture
def window(shared_window: Any) -> Any:
    """One window for all tests of this file."""
    return shared_window


def test_viewers_are_listed_in_the_view_menu(opened: MainWindow) -> None:
    """The View menu lists viewers, and opens a closed one again."""
    menu = opened.actions_by_id.menus["viewers"]
    opened.viewers.docks["screen"].close()
    menu.aboutToShow.emit()
    (action,) = menu.actions()
    assert action.text() == "Screen"
    action.trigger()
    assert not opened.viewers.docks["screen"].isHidden()


def test_only_visible_viewers_are_observed(qtbot: QtBot, opened: MainWindow) -> None:
    """Pictures are requested for visible viewers only."""
    engine = engine_of(opened)
    qtbot.waitUntil(lambda: observed(engine) == {"screen"})
    opened.viewers.docks["screen"].hide()
    qtbot.waitUntil(lambda: observed(engine) == set())
    opened.canvas.node_activated.emit("screen")
    qtbot.waitUntil(lambda: observed(engine) == {"screen"})


def test_two_viewers_share_a_place_and_one_is_seen(qtbot: QtBot, opened: MainWindow) -> None:
    """Two viewers are tabs in one place, and only the front one requests pictures."""
    patch_of(opened).add("test_app.screen", node_id="other")
    qtbot.waitUntil(lambda: observed(engine_of(opened)) == {"other"})
    opened.viewers.reveal("screen")
    qtbot.waitUntil(lambda: observed(engine_of(opened)) == {"screen"})


def test_a_preview_is_shown_in_its_viewer(opened: MainWindow, qtbot: QtBot) -> None:
    """A viewer shows the picture that the engine sent."""
    engine = engine_of(opened)
    qtbot.waitUntil(lambda: observed(engine) == {"screen"})
    engine.samples["viewers/screen"] = shown_picture("screen", 5, np.full((4, 6, 4), 90, np.uint8))
    opened.bridge.poll()
    viewer = opened.viewers.viewer("screen")
    assert viewer.picture.picture_size == (6, 4)
    assert viewer.picture.pixel(5, 3) == (90, 90, 90, 90)


def test_without_a_viewer_the_dock_says_how_to_get_one(opened: MainWindow) -> None:
    """Without a viewer, the dock shows a hint in its place."""
    patch = patch_of(opened)
    patch.remove("screen")
    assert opened.viewers.docks == {}
    assert opened.viewers.empty.isVisible()
    patch.undo()
    assert list(opened.viewers.docks) == ["screen"]
    assert not opened.viewers.empty.isVisible()


def test_a_minimised_window_asks_for_nothing(qtbot: QtBot, opened: MainWindow) -> None:
    """A minimised window requests no pictures and runs no timer."""
    qtbot.waitUntil(lambda: observed(engine_of(opened)) == {"screen"})
    opened.showMinimized()
    qtbot.waitUntil(lambda: not opened.bridge.is_polling)
    assert observed(engine_of(opened)) == set()
    opened.showNormal()
    qtbot.waitUntil(lambda: opened.bridge.is_polling)
