"""Sentinels on the canvas: their form, the marks on connections, and their tooltips."""

from pathlib import Path

import pytest
from msgspec.structs import replace
from PySide6.QtCore import QPointF, QRect, Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QApplication, QDialogButtonBox, QPushButton

from tests.app.app_support import FakeEngine, press
from tests.app.canvas.canvas_support import Hand
from tests.app.sample_blocks import make_patch, make_report
from warploom.app.canvas.canvas import Canvas
from warploom.app.canvas.drawing.sentinel_mark import AWAY
from warploom.app.canvas.sentinel_form import SentinelForm
from warploom.app.commands.commands import CONTEXT_MENUS
from warploom.app.theme.apply import apply_theme
from warploom.app.theme.colours import DARK, LIGHT, Colours
from warploom.app.view_models.tooltips import tooltip
from warploom.app.window.main_window import MainWindow
from warploom.engine.diagnostics import Source, warning
from warploom.engine.patch.changes import PortRef, Sentinel, SentinelAction
from warploom.engine.patch.document import Patch
from warploom.engine.patch.files import save_patch
from warploom.engine.protocol.messages import Frozen, SetRunning

SOURCE = PortRef("source", "out")
FOUND = warning(
    "elements must be finite, got 3 NaN among 100, the first at [7]", node="source", port="out", source=Source.SENTINEL
)


def form_of(canvas: Canvas) -> SentinelForm:
    """Select the only connection and open its form."""
    assert canvas.patch is not None
    (connection,) = canvas.patch.connections
    canvas.scene.select_connection(connection)
    canvas.edits.check_values()
    return next(form for form in canvas.findChildren(SentinelForm) if form.isVisible())


def colours_at_mark(hand: Hand) -> set[str]:
    """Return the colours within a few pixels of the mark."""
    place = hand.view.viewport().mapTo(
        hand.canvas, hand.view.mapFromScene(hand.port("source", "out", is_input=False) + QPointF(AWAY, 0))
    )
    image = hand.canvas.grab(QRect(place.x() - 5, place.y() - 6, 11, 12)).toImage()
    return {image.pixelColor(x, y).name() for x in range(image.width()) for y in range(image.height())}


@pytest.mark.feature("sentinels")
def test_the_form_is_one_step_to_undo(canvas: Canvas, patch: Patch) -> None:
    """The form proposes NaN and infinity, or the current check, and makes one undo step."""
    form = form_of(canvas)
    assert (form.nan.isChecked(), form.infinity.isChecked()) == (True, True)
    assert form.action.currentData() == SentinelAction.MARK
    check, box = form.bounds["maximum"]
    assert not box.isEnabled()
    check.setChecked(True)
    box.setValue(2.5)
    form.infinity.setChecked(False)
    form.action.setCurrentIndex(1)
    form.accept()
    assert patch.sentinels == {SOURCE: Sentinel(infinity=False, maximum=2.5, action=SentinelAction.FREEZE)}
    again = form_of(canvas)
    assert again.bounds["maximum"][1].value() == 2.5 and not again.infinity.isChecked()
    assert not again.bounds["minimum"][0].isChecked() and again.action.currentData() == SentinelAction.FREEZE
    again.reject()
    assert patch.undo() == "Check values of source.out" and not patch.sentinels


def test_what_is_refused_is_said_in_the_form(canvas: Canvas, patch: Patch) -> None:
    """If the patch refuses a check, the form stays open with the reason until another choice is made."""
    form = form_of(canvas)
    for name, value in (("minimum", 2.0), ("maximum", 1.0)):
        form.bounds[name][0].setChecked(True)
        form.bounds[name][1].setValue(value)
    form.accept()
    assert form.isVisible() and not patch.sentinels
    assert form.refusal.text() == "minimum must be at most the maximum 1, got 2"
    form.bounds["maximum"][0].setChecked(False)
    assert not form.refusal.isVisible()
    form.accept()
    assert not form.isVisible() and patch.sentinels[SOURCE].minimum == 2


def test_the_form_removes_a_check(canvas: Canvas, patch: Patch) -> None:
    """The form offers to remove a check only if there is one."""
    form = form_of(canvas)
    texts = [button.text() for button in form.findChildren(QPushButton)]
    assert "Check" in texts and "Remove check" not in texts
    form.reject()
    patch.set_sentinel(SOURCE)
    box = form_of(canvas).findChild(QDialogButtonBox)
    assert isinstance(box, QDialogButtonBox)
    next(button for button in box.buttons() if button.text() == "Remove check").click()
    assert not patch.sentinels and patch.history.names[-1] == "Remove check of source.out"


def test_only_one_connection_of_numbers_can_be_checked(canvas: Canvas, patch: Patch) -> None:
    """Only a single connection of numbers can be checked; removing needs an existing check."""
    assert canvas.edits.checkable is None
    (connection,) = patch.connections
    canvas.scene.select_connection(connection)
    assert canvas.edits.checkable == connection
    canvas.edits.remove_check()
    patch.set_sentinel(connection)
    canvas.edits.remove_check()
    assert not patch.sentinels
    canvas.select(["source"])
    assert canvas.edits.checkable is None


@pytest.mark.parametrize("theme", [DARK, LIGHT])
def test_a_checked_connection_has_a_mark(
    canvas: Canvas, hand: Hand, patch: Patch, qapp: QApplication, theme: Colours
) -> None:
    """A checked connection shows a mark, in the warning colour only while the check fails."""
    apply_theme(qapp, theme.name)
    warned, ground = QColor(theme.warning).name(), QColor(theme.canvas).name()
    before = colours_at_mark(hand)
    patch.set_sentinel(SOURCE)
    marked = colours_at_mark(hand)
    assert marked != before and warned not in marked and ground in marked
    patch.set_sentinel(SOURCE, action="freeze")
    assert colours_at_mark(hand) != marked, "other strokes, which tell that it freezes"
    canvas.show_report(replace(make_report({}), diagnostics=(FOUND,)))
    assert warned in colours_at_mark(hand)
    canvas.show_report(make_report({}))
    assert warned not in colours_at_mark(hand)
    patch.undo()
    patch.undo()
    assert colours_at_mark(hand) == before
    patch.redo()
    canvas.set_patch(None)
    canvas.set_patch(patch)
    assert hand.scene.connections[patch.connections[0]].appearance.sentinel == Sentinel(), "also when it is opened"


def test_the_tooltip_says_what_is_checked_and_what_was_found(patch: Patch) -> None:
    """The tooltip of a checked connection shows the check and its result."""
    (connection,) = patch.connections
    assert "Checked" not in tooltip(patch, connection, None)
    patch.set_sentinel(connection, minimum=0, action="freeze")
    assert tooltip(patch, connection, None).splitlines()[-1] == (
        "Checked: finite and at least 0, or the frame is frozen."
    )
    told = tooltip(patch, connection, replace(make_report({}), diagnostics=(FOUND,)))
    assert "Elements must be finite, got 3 NaN among 100, the first at [7]." in told.replace("\n", " ")


@pytest.mark.feature("sentinels")
def test_the_editor_pauses_with_a_frozen_frame(window: MainWindow, tmp_path: Path) -> None:
    """When a frame is frozen, the editor pauses, the status bar shows the reason, and the play button continues."""
    save_patch(make_patch(), tmp_path / "demo.loom")
    window.files.open_path(tmp_path / "demo.loom")
    engine = window.session.engine
    assert isinstance(engine, FakeEngine) and window.session.running
    engine.events = [Frozen(17, (FOUND,))]
    window.bridge.poll()
    assert not window.session.running
    assert window.actions_by_id["play"].toolTip().startswith("Play")
    assert window.statusBar().currentMessage() == "Frame 17 is frozen: values of source.out are wrong. Play continues."
    press(window, Qt.Key.Key_Space)
    assert engine.posted[-1] == SetRunning(True)


def test_the_menu_of_a_connection_offers_the_check(window: MainWindow, tmp_path: Path) -> None:
    """A connection's menu offers the check, and its removal if there is one; other menus offer neither."""
    save_patch(make_patch(), tmp_path / "demo.loom")
    window.files.open_path(tmp_path / "demo.loom")
    patch, actions = window.session.patch, window.actions_by_id
    assert patch is not None

    def usable() -> list[bool]:
        return [actions[name].isEnabled() for name in ("check_values", "remove_check")]

    assert usable() == [False, False]
    window.canvas.scene.select_connection(patch.connections[0])
    assert usable() == [True, False]
    patch.set_sentinel(SOURCE)
    window.canvas.scene.select_connection(patch.connections[0])
    assert usable() == [True, True]
    actions["remove_check"].trigger()
    assert not patch.sentinels
    assert {"check_values", "remove_check"} <= set(CONTEXT_MENUS["connection"])
