"""Pins in the editor: made from a port's menu, listed, checked in another engine, changed and removed."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu
from pytestqt.qtbot import QtBot

from tests.app.canvas.canvas_support import Hand
from tests.runtime.check.pinning import moving
from warploom.app.docks.pins.pin_form import PinForm
from warploom.app.docks.pins.pins import PinRows, Pins
from warploom.app.viewers.ports.port_viewer import PortViewer
from warploom.app.window.main_window import MainWindow
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.editing.history import History
from warploom.engine.patch.files import dump_patch, load_patch, save_patch
from warploom.engine.patch.organise.pins import Pin

TOTAL = PortRef("total", "out")


def form_of(window: MainWindow) -> PinForm:
    """Return the open form."""
    return next(form for form in window.findChildren(PinForm) if form.isVisible())


def click(widget: Any, place: QPoint | None = None) -> None:
    """Click at a place of a widget, or in its middle."""
    QTest.mouseClick(widget, Qt.MouseButton.LeftButton, pos=widget.rect().center() if place is None else place)


@pytest.mark.feature("pins")
def test_an_output_is_pinned_and_checked(qtbot: QtBot, real_window: MainWindow, tmp_path: Path) -> None:
    """A right click on a port pins it; a check names what differs and shows it; undo gives the file before."""
    window, patch = real_window, moving(100)
    window.session.set_running(False)
    for number, node in enumerate(patch.nodes):
        patch.move(node, (number * 220, 0))
    patch.history = History()
    save_patch(patch, tmp_path / "moving.loom")
    before = dump_patch(patch)
    window.resize(1400, 900)
    window.session.replace(patch)
    dock = window.reveal(Pins)
    assert "No pins yet" in dock.page.hint.text() and not dock.page.currentIndex() and not dock.check.isEnabled()
    window.actions_by_id["pin_test"].trigger()
    assert "Select a block" in dock.summary.text() or not window.actions_by_id["pin_test"].isEnabled()
    QApplication.processEvents()
    window.canvas.fit()

    hand = Hand(window.canvas)
    hand.drag(*[hand.port("total", "out", is_input=False)] * 2, button=Qt.MouseButton.RightButton)
    menu = next(menu for menu in window.findChildren(QMenu) if menu.isVisible())
    action = next(action for action in menu.actions() if action.text().startswith("Pin as"))
    click(menu, menu.actionGeometry(action).center())
    form = form_of(window)
    assert form.port == TOTAL and form.frame.value() == 59 and not form.change.isVisible()
    form.frame.setValue(2)
    QTest.keyClick(form, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: bool(patch.annotations))
    (pin,) = patch.annotations_of(Pin)
    np.testing.assert_array_equal(np.load(tmp_path / pin.file), 3 * np.linspace(-1, 1, 100, dtype=np.float32))
    assert (pin.node, pin.frame, pin.tolerance) == ("total", 2, 1e-4)
    qtbot.waitUntil(lambda: dock.pictures[0].isVisible())
    assert dock.chosen is not None and dock.rows.texts(dock.chosen)[PinRows.RESULT] == "not checked"

    assert window.actions_by_id["check_pins"].shortcut().toString() == "Ctrl+Shift+T"
    window.actions_by_id["check_pins"].trigger()
    qtbot.waitUntil(lambda: dock.summary.text() == "1 pin passed")
    patch.set("data", data=np.zeros(100, np.float32))
    assert dock.rows.texts(dock.rows.rows[0])[PinRows.RESULT] == "passed (before the last edits)"
    click(dock.check)
    qtbot.waitUntil(lambda: dock.summary.text() == "1 of 1 pin failed")
    qtbot.waitUntil(lambda: dock.pictures[2].isVisible())
    assert dock.text.text().startswith("100 of 100 elements: expected ") and not dock.rows.rows[0].is_old
    window.canvas.select([])
    QTest.keyClick(dock.table, Qt.Key.Key_Return)
    assert window.canvas.selected() == ["total"]

    click(dock.change)
    form = form_of(window)
    form.tolerance.setValue(4)
    form.timed.setChecked(True)
    form.budget.setValue(10_000)
    click(form.change)
    (changed,) = patch.annotations_of(Pin)
    assert (changed.file, changed.tolerance, changed.budget_ms) == (pin.file, 4, 10_000)
    save_patch(patch, tmp_path / "other.loom")
    assert load_patch(tmp_path / "other.loom").annotations == patch.annotations
    click(dock.check)
    qtbot.waitUntil(lambda: dock.summary.text() == "1 pin passed")
    click(dock.remove)
    assert not patch.annotations and patch.history.undo_name == "Remove pin of total.out" and not dock.rows.rows
    assert dock.summary.text() == ""
    while patch.undo():
        pass
    assert dump_patch(patch) == before


def test_a_viewer_pins_what_it_shows_and_a_run_is_cancelled(qtbot: QtBot, real_window: MainWindow) -> None:
    """The menu of a viewer pins its port; a refusal is one text; a cancelled run changes nothing."""
    window, patch = real_window, moving(100)
    window.session.set_running(False)
    window.session.replace(patch)
    dock = window.reveal(Pins)
    window.canvas.select(["total"])
    window.actions_by_id["look"].trigger()
    viewer = window.looking.follower.widget()
    assert isinstance(viewer, PortViewer) and viewer.port == TOTAL
    next(action for action in viewer.actions() if "Pin" in action.text()).trigger()
    form = form_of(window)
    assert form.port == TOTAL
    form.frame.setValue(0)
    click(form.pin)
    qtbot.waitUntil(lambda: not dock.runs.is_running)
    assert "patch must be saved before total.out is pinned" in dock.summary.text()
    assert window.statusBar().currentMessage() == dock.summary.text()

    window.canvas.select(["lfo"])
    window.actions_by_id["pin_test"].trigger()
    form = form_of(window)
    form.frame.setValue(100_000)
    click(form.pin)
    assert dock.runs.is_running and dock.stop.isVisible() and not dock.pin.isEnabled()
    qtbot.waitUntil(lambda: dock.summary.text().startswith("Frame "))
    click(dock.stop)
    assert not dock.runs.is_running and not patch.annotations and dock.summary.text() == ""
    form = None
