"""Keys go to the part of the window under the pointer, unless a person is typing; a trackpad pans."""

from __future__ import annotations

from typing import Any

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QEnterEvent, QInputDevice, QPointingDevice, QPointingDeviceUniqueId, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from warploom.app.canvas.search.search_popup import SearchPopup
from warploom.app.commands.help_dialogs import GESTURES
from warploom.app.commands.shortcut_dialog import ShortcutDialog
from warploom.app.inspector.parameter_editors import BoolEditor, ChoiceEditor, NumberEditor, TextEditor
from warploom.engine.patch.document import Patch


@pytest.fixture
def window(shared_window: Any) -> Any:
    """One window for all tests of this file."""
    return shared_window


def enter(widget: QWidget) -> None:
    """Move the pointer over a widget."""
    for other in QApplication.allWidgets():
        other.setAttribute(Qt.WidgetAttribute.WA_UnderMouse, other is widget)
    place = QPointF(widget.rect().center())
    QApplication.sendEvent(widget, QEnterEvent(place, place, QPointF(widget.mapToGlobal(place.toPoint()))))


@pytest.fixture
def patch(window: Any, qtbot: QtBot) -> Patch:
    """A patch with one selected block of every kind of parameter, in an active window."""
    patch = Patch()
    patch.add("test_app.every_parameter", node_id="a")
    window.session.replace(patch)
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    window.canvas.select(["a"])
    return patch


def search(window: Any) -> SearchPopup:
    """Return the canvas's search."""
    found: SearchPopup = window.canvas.findChild(SearchPopup)
    return found


@pytest.mark.parametrize("name", ["gain", "label", "mode", "on"])
def test_tab_over_the_canvas_opens_the_search_whatever_was_clicked(window: Any, patch: Patch, name: str) -> None:
    """Tab over the canvas opens the search, even from a text field; elsewhere it focuses the next control."""
    editor = window.inspector.editor(name)
    field = {NumberEditor: "box", TextEditor: "line", ChoiceEditor: "combo", BoolEditor: "check"}[type(editor)]
    control = getattr(editor, field).focusProxy() or getattr(editor, field)
    control.setFocus()
    assert window.focusWidget() is control
    enter(control)
    QTest.keyClick(control, Qt.Key.Key_Tab)
    assert not search(window).isVisible()
    control.setFocus()
    enter(window.canvas.view.viewport())
    QTest.keyClick(window.focusWidget(), Qt.Key.Key_Tab)
    assert search(window).isVisible()


def test_what_was_typed_is_entered_when_tab_opens_the_search(window: Any, patch: Patch) -> None:
    """Typed text is entered when Tab opens the search."""
    line = window.inspector.editor("label").line
    line.setFocus()
    QTest.keyClicks(line, "hello")
    enter(window.canvas.view.viewport())
    QTest.keyClick(line, Qt.Key.Key_Tab)
    assert patch.value("a", "label") == "hello"


def test_what_was_typed_goes_to_the_block_that_was_shown(window: Any, patch: Patch) -> None:
    """Typed text is entered for the block that was shown, not for the next one, even if the patch is closed."""
    patch.add("test_app.every_parameter", node_id="b")
    line = window.inspector.editor("label").line
    line.setFocus()
    QTest.keyClicks(line, "mine")
    window.canvas.select(["b"])
    assert (patch.value("a", "label"), patch.value("b", "label")) == ("mine", "")
    line = window.inspector.editor("label").line
    line.setFocus()
    QTest.keyClicks(line, "other")
    window.session.replace(Patch())
    assert patch.value("b", "label") == "other"


def test_keys_reach_the_canvas_when_the_pointer_comes_over_it(window: Any, patch: Patch) -> None:
    """After a click on a slider, Delete over the canvas removes the selected block."""
    window.inspector.editor("gain").slider.setFocus()
    enter(window.canvas.view.viewport())
    QTest.keyClick(window.focusWidget(), Qt.Key.Key_Delete)
    assert not patch.nodes


def test_a_person_who_types_keeps_the_keyboard(window: Any, patch: Patch) -> None:
    """Delete in a text field removes a character, wherever the pointer is."""
    line = window.inspector.editor("label").line
    line.setFocus()
    enter(window.canvas.view.viewport())
    QTest.keyClicks(line, "ab")
    QTest.keyClick(line, Qt.Key.Key_Backspace)
    assert line.text() == "a"
    assert "a" in patch.nodes


TRACKPAD = QPointingDevice(
    "pad", 7, QInputDevice.DeviceType.TouchPad, QPointingDevice.PointerType.Finger,
    QInputDevice.Capability.Scroll, 5, 3, "", QPointingDeviceUniqueId(),
)  # fmt: skip


@pytest.mark.parametrize(
    ("device", "modifiers", "zooms", "moves"),
    [
        (None, Qt.KeyboardModifier.NoModifier, True, None),
        (TRACKPAD, Qt.KeyboardModifier.NoModifier, False, (-30, -20)),
        (TRACKPAD, Qt.KeyboardModifier.ControlModifier, True, None),
        (None, Qt.KeyboardModifier.ShiftModifier, False, None),
    ],
)
def test_a_wheel_zooms_and_a_trackpad_pans(
    window: Any, patch: Patch, device: Any, modifiers: Qt.KeyboardModifier, zooms: bool, moves: Any
) -> None:
    """A wheel zooms about the point under the pointer, and two fingers on a trackpad pan."""
    view = window.canvas.view
    view.set_zoom(1.0)
    position = QPointF(200, 150)
    before, point = view.zoom, view.mapToScene(position.toPoint())
    event = QWheelEvent(
        position, QPointF(view.viewport().mapToGlobal(position.toPoint())),
        QPoint(30, 20) if device else QPoint(), QPoint(60, 40) if device else QPoint(0, 120),
        Qt.MouseButton.NoButton, modifiers, Qt.ScrollPhase.NoScrollPhase, False,
        Qt.MouseEventSource.MouseEventNotSynthesized, device or QPointingDevice.primaryPointingDevice(),
    )  # fmt: skip
    QApplication.sendEvent(view.viewport(), event)
    assert (view.zoom != before) == zooms
    moved = view.mapToScene(position.toPoint()) - point
    if zooms:
        assert abs(moved.x()) < 2 and abs(moved.y()) < 2
    elif moves:
        assert (moved.x(), moved.y()) == moves
    else:
        assert moved.x() and not moved.y()


def test_gestures_stand_in_the_list_of_shortcuts(window: Any) -> None:
    """The list of shortcuts contains every gesture, and every command with keys."""
    dialog = ShortcutDialog(window.keys, window)
    rows = dialog.rows
    listed = {(rows.topLevelItem(k).text(0), rows.topLevelItem(k).text(1)) for k in range(rows.topLevelItemCount())}
    assert set(GESTURES) <= listed
    assert {command.name for command in window.actions_by_id.commands.values() if command.keys} <= dict(listed).keys()
    dialog.deleteLater()
    QApplication.sendPostedEvents(dialog, QEvent.Type.DeferredDelete)
