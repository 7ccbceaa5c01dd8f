"""Viewers that fill a display: what they request, where the picture lies, and how a person leaves them."""

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QRectF, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from tests.app.app_support import shown_picture
from tests.app.window.window_support import engine_of, observed, patch_of
from warploom.app.viewers.screens import ScreenView
from warploom.app.window.main_window import MainWindow
from warploom.engine.protocol.messages import SetInput
from warploom.engine.protocol.sampling import ObservePorts, Reduction, Sampling, picture_of


def _asked(window: MainWindow) -> dict[str, Sampling]:
    window.bridge.poll()
    posted = reversed(engine_of(window).posted)
    samplings = next(message for message in posted if isinstance(message, ObservePorts)).samplings
    return {each.port.node: each for each in samplings.values() if each.reduction is Reduction.PICTURE}


def _fill(window: MainWindow) -> ScreenView:
    QTest.keyClick(window.canvas.view, Qt.Key.Key_F11)
    (view,) = window.viewers.screens.views.values()
    return view


def test_f11_fills_a_display_with_the_viewer(opened: MainWindow, qtbot: QtBot) -> None:
    """Pictures come for the whole display, at its rate, until Esc, F11 or a double click ends it."""
    qtbot.waitUntil(lambda: observed(engine_of(opened)) == {"screen"})
    docked = _asked(opened)["screen"]
    for leave in (
        lambda view: QTest.keyClick(view, Qt.Key.Key_Escape),
        lambda view: QTest.keyClick(view, Qt.Key.Key_F11),
        lambda view: QTest.mouseDClick(view, Qt.MouseButton.LeftButton, pos=QPoint(5, 5)),
        lambda view: QTest.keyClick(opened.canvas.view, Qt.Key.Key_F11),
    ):
        view = _fill(opened)
        display = view.display
        assert view.isFullScreen() and view.geometry() == display.geometry()
        size = display.geometry().size() * display.devicePixelRatio()
        assert _asked(opened)["screen"] == picture_of("screen", (size.height(), size.width()), display.refreshRate())
        leave(view)
        assert not opened.viewers.screens.views
        assert _asked(opened)["screen"] == docked


def test_a_display_begins_with_the_picture_of_the_viewer(opened: MainWindow, qtbot: QtBot) -> None:
    """The next picture may not come, as while the patch is paused."""
    pixels = np.full((9, 16, 4), 200, np.uint8)
    engine_of(opened).samples["viewers/screen"] = shown_picture("screen", 5, pixels)
    qtbot.waitUntil(lambda: opened.viewers.viewer("screen").picture.pixels is not None)
    view = _fill(opened)
    view._hints = False
    assert view.grab().toImage().pixelColor(view.rect().center()).red() == 200


def test_a_minimised_window_goes_on_to_feed_displays(opened: MainWindow, qtbot: QtBot) -> None:
    """Only the display gets pictures then, also if the viewer's dock is hidden."""
    patch_of(opened).add("test_app.screen", node_id="other")
    opened.viewers.docks["screen"].hide()
    qtbot.waitUntil(lambda: observed(engine_of(opened)) == {"other"})
    opened.viewers.fill_screen("screen", QGuiApplication.primaryScreen())
    assert _asked(opened).keys() == {"screen", "other"}
    opened.bridge.set_active(False)
    assert _asked(opened).keys() == {"screen"} and opened.bridge.is_polling
    patch_of(opened).remove("screen")
    assert not opened.viewers.screens.views and not opened.bridge.is_polling
    opened.bridge.set_active(True)
    assert opened.bridge.is_polling


@pytest.mark.parametrize(("width", "height"), [(64, 36), (31, 97), (1, 1)])
def test_a_picture_is_fitted_or_fills(opened: MainWindow, width: int, height: int) -> None:
    """The picture keeps its proportions in the middle of black; F makes it fill the display, with every pixel."""
    view = _fill(opened)
    view._hints = False
    engine_of(opened).samples["viewers/screen"] = shown_picture("screen", 5, np.full((height, width, 4), 200, np.uint8))
    opened.bridge.poll()
    room = QRectF(view.rect())
    for fills in (False, True):
        place = view.shown_rect()
        assert place.width() * height == pytest.approx(place.height() * width)
        assert place.center() == room.center()
        choose = min if fills else max
        assert choose(place.width() / room.width(), place.height() / room.height()) == pytest.approx(1)
        drawn = view.grab().toImage()
        assert drawn.pixelColor(view.rect().center()).red() == 200
        if not fills and place.left() > 2:
            assert drawn.pixelColor(0, view.height() // 2).red() == 0
        QTest.keyClick(view, Qt.Key.Key_F)
        assert bool(_asked(opened)["screen"].size) is fills
    QTest.keyClick(view, Qt.Key.Key_Escape)


def test_the_mouse_over_a_display_is_an_input(opened: MainWindow) -> None:
    """A block that hears the mouse gets its place in the picture, as over a viewer."""
    patch_of(opened).add("value.mouse")
    view = _fill(opened)
    QTest.mousePress(view, Qt.MouseButton.LeftButton, pos=QPoint(view.width() - 1, 0))
    posted = {m.name: m.value for m in engine_of(opened).posted if isinstance(m, SetInput)}
    assert (posted["mouse.x"], posted["mouse.y"], posted["mouse.left"]) == (1, 0, 1)
    QTest.mouseRelease(view, Qt.MouseButton.LeftButton)
    view.close()


def test_displays_are_listed(opened: MainWindow) -> None:
    """The menu names each display with its size; a click fills it, and another viewer takes its place."""
    menu = opened.actions_by_id.menus["displays"]
    menu.aboutToShow.emit()
    (action,) = menu.actions()
    display = QGuiApplication.primaryScreen()
    assert action.text().startswith(f"{display.name()}: {display.geometry().width()} × ")
    action.trigger()
    patch_of(opened).add("test_app.screen", node_id="other")
    opened.viewers.fill_screen("other", display)
    assert list(opened.viewers.screens.views) == ["other"]
    opened.viewers.screens.close_all()
