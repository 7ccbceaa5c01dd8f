"""The canvas gets most of the window: lists are closed at first, and inspector rows are compact."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QRect, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPushButton
from pytestqt.qtbot import QtBot

from warploom.app.canvas.drawing.node_painter import NEAR
from warploom.app.docks.timeline.curve_painting import RULER
from warploom.app.docks.timeline.curve_view import CurveView
from warploom.app.documents.gallery import find_examples
from warploom.app.window.docks import LISTS
from warploom.engine.patch.document import Patch


def button(window: Any, text: str) -> QPushButton:
    """Return a button of the status bar."""
    return next(found for found in window.statusBar().findChildren(QPushButton) if found.text() == text)


def click(window: Any, text: str) -> None:
    """Click a button of the status bar, and let the docks move."""
    QTest.mouseClick(button(window, text), Qt.MouseButton.LeftButton)
    for _ in range(4):
        QApplication.processEvents()


def test_examples_open_so_that_names_can_be_read(window: Any, qtbot: QtBot) -> None:
    """The canvas takes over four fifths of the height, and shows each whole example with readable port names.

    Larger windows show the example that is smallest in the smallest window.
    """
    zooms: dict[Path, float] = {}

    def fit(example: Path, height: int) -> None:
        window.session.open(example)
        for _ in range(4):
            QApplication.processEvents()
        window.canvas.fit()
        assert window.canvas.height() > 0.8 * height
        zooms[example] = window.canvas.view.zoom
        assert zooms[example] >= NEAR, example.name

    window.resize(1280, 720)
    for example in find_examples():
        fit(example.path, 720)
    smallest = min(zooms, key=lambda path: zooms[path])
    for width, height in ((1440, 900), (1920, 1080)):
        window.resize(width, height)
        fit(smallest, height)


@pytest.mark.parametrize(("dock", "place"), [("help", (0.0, 0.5)), ("code", (0.5, 0.95))])
def test_a_dock_that_opens_leaves_the_selected_block_in_view(
    window: Any, qtbot: QtBot, dock: str, place: tuple[float, float]
) -> None:
    """F1 and Ctrl+K are pressed for the selected block, which may be where the dock opens."""
    patch = Patch()
    window.session.replace(patch)
    view = window.canvas.view
    qtbot.wait(50)
    rect = view.viewport().rect()
    point = view.mapToScene(round(rect.width() * place[0]) + 8, round(rect.height() * place[1]) - 48)
    node = patch.add("math.saxpy", position=(point.x(), point.y())).id
    window.canvas.select([node])
    block = window.canvas.scene.rect_of([node])
    assert view.seen().contains(block)
    size = view.size()
    window.docks.reveal(dock)
    qtbot.waitUntil(lambda: view.size() != size)
    assert view.seen().contains(block)
    window.docks[dock].close()
    window.docks.close_lists()  # otherwise the console would be seen, and start Python on a busy machine


def test_the_status_bar_opens_and_closes_the_lists(window: Any, qtbot: QtBot) -> None:
    """A click in the status bar brings a list to the front, and a second click closes all three lists."""
    window.session.replace(Patch())
    qtbot.wait(50)
    assert not any(window.docks[name].isVisible() for name in LISTS)
    tall = window.canvas.height()
    click(window, "Updates")
    assert not window.docks["updates"].visibleRegion().isEmpty()
    assert window.canvas.height() < tall - 100
    click(window, "No problems")
    assert not window.docks["problems"].visibleRegion().isEmpty()
    click(window, "No problems")
    assert not any(window.docks[name].isVisible() for name in LISTS)
    assert window.canvas.height() == tall


def test_rows_of_the_inspector_are_compact(window: Any, qtbot: QtBot) -> None:
    """Inspector rows are at most 26 pixels apart, and structural parameters have their own section."""
    patch = Patch()
    patch.add("test_app.every_parameter", node_id="a")
    window.session.replace(patch)
    window.canvas.select(["a"])
    qtbot.wait(50)
    rows = window.inspector.rows
    steps = [rows["free"].y() - rows["gain"].y(), rows["on"].y() - rows["free"].y()]
    assert max(steps) <= 26
    live = [row.y() for row in rows.values() if not row.editor.spec.structural]
    assert rows["count"].y() > max(live) + 30


def test_nothing_is_cut_off_in_a_small_window(window: Any, qtbot: QtBot) -> None:
    """In half of 1440 x 900, help leaves the canvas its width, and a viewer and the timeline show all they have."""
    window.resize(720, 450)
    patch = Patch()
    patch.add("test_app.picture", node_id="a")
    window.session.replace(patch)
    window.canvas.select(["a"])
    window.looking.look()
    window.docks.reveal("help")
    qtbot.waitUntil(lambda: not window.docks["help"].visibleRegion().isEmpty())
    assert window.canvas.width() > 0.55 * window.width()
    viewer = window.looking.viewer(window.looking.follower)
    for button in (viewer.freeze, viewer.pin, viewer.save, viewer.record):
        assert button.visibleRegion().boundingRect().size() == button.size(), button.toolTip()


@pytest.mark.parametrize("height", [130, 300])
def test_the_hint_of_the_timeline_stays_below_its_ruler(window: Any, qtbot: QtBot, height: int) -> None:
    """The ruler looks the same with and without the hint, of which the first line is shown in a low dock."""
    view = CurveView(window.playhead, f"{'Some words. ' * 12}\nMore words.")
    bare = CurveView(window.playhead, "")
    for each in (view, bare):
        qtbot.addWidget(each)
        each.resize(420, height)
        each.show()
    shown, expected = view.grab().toImage(), bare.grab().toImage()
    ruler = QRect(0, 0, 420, RULER)
    assert shown.copy(ruler) == expected.copy(ruler)
    assert shown != expected
