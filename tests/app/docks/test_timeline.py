"""The timeline dock and the diamonds of the inspector, by mouse and keys."""

from typing import Any

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from tests.app.app_support import make_report, move_pointer
from warploom.app.docks.timeline.curve_painting import RULER, curve_colour
from warploom.app.docks.timeline.timeline import TimelineDock
from warploom.engine.patch.animation.keys import Ease, Key
from warploom.engine.patch.changes import PortRef
from warploom.engine.protocol.messages import Seek

GAIN = PortRef("every", "gain")
LEFT, NONE, SHIFT = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.ShiftModifier


@pytest.fixture
def window(shared_window: Any) -> Any:
    """One window for all tests of this file."""
    return shared_window


@pytest.fixture
def dock(opened: Any, qtbot: QtBot) -> TimelineDock:
    """The dock in a window, with one animated parameter at 10 frames a second."""
    opened.resize(1200, 900)
    opened.session.patch.set_timeline(rate=10, length=100)
    opened.session.patch.animate("every", "gain", [(0, 2.0), (4, 8.0), (8, 4.0)])
    shown: TimelineDock = opened.reveal(TimelineDock)
    qtbot.waitUntil(lambda: shown.list.count() == 1 and shown.view.height() > 100)
    shown.view.fit()
    return shown


def keys(dock: TimelineDock) -> list[tuple[float, float]]:
    """Return the keys of the parameter."""
    return [(key.time, round(key.value, 3)) for key in dock.patch.curve(*_names(GAIN))]


def _names(port: PortRef) -> tuple[str, str]:
    return port.node, port.port


def place(dock: TimelineDock, time_s: float) -> QPoint:
    """Return where a key is."""
    return dock.view.key_place(GAIN, time_s).toPoint()


def drag(dock: TimelineDock, start: QPoint, end: QPoint, modifiers: Any = NONE) -> None:
    """Drag with the left button."""
    view = dock.view
    QTest.mousePress(view, LEFT, modifiers, start)
    for part in range(1, 5):
        move_pointer(view, start + (end - start) * part / 4, LEFT)
    QTest.mouseRelease(view, LEFT, modifiers, end)


def at(dock: TimelineDock, time_s: float, value: float) -> QPoint:
    """Return the pixel of a time and value."""
    return QPointF(dock.view.scale.x(time_s), RULER + dock.view.scale.y(value)).toPoint()


def test_an_empty_timeline_says_how_to_begin(opened: Any, qtbot: QtBot) -> None:
    """Without keys, the list is hidden, and the place of the curves says what to do; the ruler scrubs already."""
    dock = opened.reveal(TimelineDock)
    qtbot.waitUntil(lambda: 60 < dock.view.height() < opened.height() / 3)  # it has its place in the window
    assert not dock.list.isVisible() and not dock.view.order
    QTest.mousePress(dock.view, LEFT, NONE, QPoint(round(dock.view.scale.x(5.0)), 8))
    seeks = [message for message in opened.session.engine.posted if isinstance(message, Seek)]
    assert seeks == [Seek(300, True)]


def test_a_key_is_dragged_in_one_step_and_snaps_to_frames(dock: TimelineDock) -> None:
    """Time and value follow the pointer; undo takes all of it back; Escape chooses none."""
    before = keys(dock)
    drag(dock, place(dock, 4.0), at(dock, 5.03, 6.0))
    (_, middle, _) = keys(dock)
    assert middle[0] == 5.0 and middle[1] == pytest.approx(6.0, abs=0.2)
    assert dock.view.chosen == {(GAIN, 5.0)}
    dock.patch.undo()
    assert keys(dock) == before


def test_shift_keeps_a_drag_on_one_axis(dock: TimelineDock) -> None:
    """The value stays when the pointer goes mostly to the side."""
    start, end = place(dock, 4.0), at(dock, 6.0, 7.5)
    QTest.mousePress(dock.view, LEFT, NONE, start)
    goal, none = QPointF(end), Qt.MouseButton.NoButton
    moved = QMouseEvent(QEvent.Type.MouseMove, goal, dock.view.mapToGlobal(goal), none, LEFT, SHIFT)
    QApplication.sendEvent(dock.view, moved)
    QTest.mouseRelease(dock.view, LEFT, SHIFT, end)
    assert keys(dock)[1] == (6.0, 8.0)


def test_double_click_adds_a_key_and_delete_removes_it(dock: TimelineDock) -> None:
    """A key is added to the nearest curve at the frame, with the value at the pointer."""
    QTest.mouseDClick(dock.view, LEFT, NONE, at(dock, 2.02, 7.0))
    assert keys(dock)[1][0] == 2.0 and keys(dock)[1][1] == pytest.approx(7.0, abs=0.2)
    QTest.keyClick(dock.view, Qt.Key.Key_Delete)
    assert [time for time, _ in keys(dock)] == [0, 4, 8]
    dock.patch.undo()
    assert len(keys(dock)) == 4


def test_a_box_chooses_keys_that_arrows_move_and_copy_and_paste_repeat(dock: TimelineDock, opened: Any) -> None:
    """Several keys move together; pasted ones begin at the playhead."""
    drag(dock, at(dock, 3.5, 8.5), at(dock, 8.4, 3.0))
    assert {time for _, time in dock.view.chosen} == {4.0, 8.0}
    QTest.keyClick(dock.view, Qt.Key.Key_Right)
    assert keys(dock) == [(0.0, 2.0), (4.1, 8.0), (8.1, 4.0)]
    QTest.keyClick(dock.view, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    opened.bridge.report.emit(make_report(frame=90, running=False, time_s=9.0))
    QTest.keyClick(dock.view, Qt.Key.Key_V, Qt.KeyboardModifier.ControlModifier)
    assert keys(dock)[3:] == [(9.0, 8.0), (13.0, 4.0)]
    assert dock.patch.undo() == "Paste keys"


def test_a_tangent_is_turned(dock: TimelineDock) -> None:
    """The handle of a chosen key gives it a slope; Auto takes that away."""
    QTest.mouseClick(dock.view, LEFT, NONE, place(dock, 4.0))
    *_, (target, time_s, side, end) = dock.view.handles()
    assert (target, time_s, side) == (GAIN, 4.0, "after")
    drag(dock, end.toPoint(), at(dock, 5.0, 9.0))
    key = dock.patch.curve(*_names(GAIN))[1]
    assert key.after is not None and key.after == key.before and key.after == pytest.approx(1.0, abs=0.3)
    dock.usual.click()
    assert dock.patch.curve(*_names(GAIN))[1] == Key(4.0, 8.0)


def test_fields_change_chosen_keys(dock: TimelineDock) -> None:
    """Frame, value and the way to the next key."""
    QTest.mouseClick(dock.view, LEFT, NONE, place(dock, 4.0))
    dock.value.setValue(5.5)
    dock.ease.setCurrentText("Hold")
    dock.time.setValue(30)
    assert dock.patch.curve(*_names(GAIN))[1] == Key(3.0, 5.5, Ease.HOLD)
    dock.value.setValue(99)  # beyond the range
    assert keys(dock)[1] == (3.0, 10.0)


def test_wheel_zooms_at_the_pointer_and_f_fits(dock: TimelineDock) -> None:
    """What is under the pointer stays there."""
    view = dock.view
    span, time_s = view.scale.span_s, view.scale.time_s(200)
    view.scale.zoom(200, 50, 0.5, 1.0)
    assert view.scale.span_s == pytest.approx(span / 2) and view.scale.time_s(200) == pytest.approx(time_s)
    QTest.keyClick(view, Qt.Key.Key_F)
    assert view.scale.span_s == pytest.approx(span)


@pytest.mark.feature("film")
def test_the_film_is_controlled_by_mouse_and_keys(dock: TimelineDock, opened: Any, qtbot: QtBot) -> None:
    """Frames are gone to by ruler, fields, buttons and keys; in, out and loop are edits with undo."""
    posted = opened.session.engine.posted

    def sought() -> list[int]:
        return [message.frame for message in posted if isinstance(message, Seek)]

    drag(dock, QPoint(round(dock.view.scale.x(2.0)), 8), QPoint(round(dock.view.scale.x(3.0)), 8))
    assert sought()[0] == 20 and sought()[-1] == 30 and dock.bar.frame.value() == 30
    dock.bar.next.click()
    assert sought()[-1] == 40
    dock.bar.previous.click()
    assert sought()[-1] == 0
    opened.canvas.setFocus()
    dock.playhead.seek(15)
    opened.actions_by_id["step_back"].trigger()
    assert sought()[-1] == 14
    opened.actions_by_id["set_in"].trigger()
    dock.playhead.seek(50)
    opened.actions_by_id["set_out"].trigger()
    assert (dock.patch.timeline.first, dock.patch.timeline.last) == (14, 50)
    opened.actions_by_id["film_start"].trigger()
    assert sought()[-1] == 14
    dock.bar.loop.click()
    assert not dock.patch.timeline.loop
    dock.patch.undo()
    assert dock.patch.timeline.loop
    opened.bridge.report.emit(make_report(frame=14, running=False, exact=False))
    assert dock.bar.state.text() == "state as it is"
    opened.bridge.report.emit(make_report(frame=14, running=True, replay_to=99))
    assert dock.bar.state.text() == "going to 99 …"
    dock.bar.first.setValue(60)  # after out
    assert dock.patch.timeline.first == 14 and dock.bar.first.value() == 14
    qtbot.waitUntil(lambda: "in of a timeline must be at most its out" in opened.statusBar().currentMessage())


@pytest.mark.feature("keys")
def test_the_diamond_sets_keys_and_a_set_value_changes_them(opened: Any, qtbot: QtBot) -> None:
    """The first key gives the patch a timeline; with auto key, values become keys; without, they are only set."""
    patch = opened.session.patch
    opened.canvas.select(["every"])
    row = opened.inspector.rows["gain"]
    qtbot.mouseClick(row.key, LEFT)
    assert patch.curve(*_names(GAIN)) == (Key(0.0, 1.0),) and patch.timeline is not None
    opened.bridge.report.emit(make_report(frame=60, running=False, time_s=1.0))
    opened.activateWindow()
    assert QTest.qWaitForWindowActive(opened)
    field = row.editor.box.lineEdit()
    field.setFocus()
    field.selectAll()
    QTest.keyClicks(field, "6")
    QTest.keyClick(field, Qt.Key.Key_Return)
    assert patch.curve(*_names(GAIN)) == (Key(0.0, 1.0), Key(1.0, 6.0))
    assert QApplication.focusWidget() is row.editor.box and row.editor.box.value() == 6.0  # not the value without keys
    opened.bridge.report.emit(make_report(frame=30, running=False, time_s=0.5))
    qtbot.waitUntil(lambda: row.editor.box.value() == pytest.approx(3.5))
    opened.playhead.set_modes(auto_key=False)
    row.editor.edited.emit(9.0)
    assert len(patch.curve(*_names(GAIN))) == 2 and patch.nodes["every"].parameters["gain"] == 9.0
    opened.canvas.setFocus()
    opened.actions_by_id["toggle_keys"].trigger()
    assert patch.curve(*_names(GAIN))[1] == Key(0.5, 3.5)
    opened.actions_by_id["toggle_keys"].trigger()
    assert len(patch.curve(*_names(GAIN))) == 2
    row.menu.aboutToShow.emit()
    remove = next(action for action in row.menu.actions() if action.text() == "Remove all keys")
    remove.trigger()
    assert patch.curve(*_names(GAIN)) == ()


@pytest.mark.parametrize(("chosen", "length", "at_s"), [(False, 600, 5.75), (True, 72_346, 1205.75)])
def test_the_first_key_of_a_patch_that_has_played_for_long(
    opened: Any, qtbot: QtBot, chosen: bool, length: int, at_s: float
) -> None:
    """The film has the usual length, and the key lies where a loop would be; a frame that was gone to is kept."""
    patch, posted = opened.session.patch, opened.session.engine.posted
    opened.canvas.select(["every"])
    if chosen:
        opened.playhead.seek(72_345)
    opened.bridge.report.emit(make_report(frame=72_345, running=not chosen))
    before = len(posted)
    qtbot.mouseClick(opened.inspector.rows["gain"].key, LEFT)
    assert patch.timeline.length == length
    assert [key.time for key in patch.curve(*_names(GAIN))] == [at_s]
    seeks = [message.frame for message in posted[before:] if isinstance(message, Seek)]
    assert seeks == ([] if chosen else [345]) and opened.playhead.key_time_s == at_s
    patch.undo()
    assert patch.timeline is None


def test_a_narrow_dock_keeps_what_matters_most(dock: TimelineDock, qtbot: QtBot) -> None:
    """The rows give up fields, and ask for no more room than the window has."""
    dock.bar.resize(1200, dock.bar.height())
    assert dock.bar.length.isVisible()
    dock.bar.resize(330, dock.bar.height())
    assert dock.bar.play.isVisible() and dock.bar.frame.isVisible() and not dock.bar.length.isVisible()
    assert dock.minimumSizeHint().width() < 500


def test_play_shows_that_a_film_has_ended(dock: TimelineDock, opened: Any) -> None:
    """A film without a loop pauses at its end by itself, and the buttons follow."""
    dock.patch.set_timeline(loop=False)
    opened.bridge.report.emit(make_report(frame=97, running=True))
    opened.bridge.report.emit(make_report(frame=98, running=False))
    assert opened.session.running
    opened.bridge.report.emit(make_report(frame=99, running=False))
    assert not opened.session.running and dock.bar.play.toolTip() == "Play"


def test_reports_of_frames_before_do_not_move_the_playhead_back(dock: TimelineDock, opened: Any) -> None:
    """A slow engine still reports where it was."""
    dock.playhead.seek(70)
    opened.bridge.report.emit(make_report(frame=3, running=False))
    assert dock.playhead.frame == 70
    opened.bridge.report.emit(make_report(frame=70, running=False))
    opened.bridge.report.emit(make_report(frame=4, running=False))
    assert dock.playhead.frame == 4


def test_a_curve_that_is_chosen_in_the_list_fills_the_height(dock: TimelineDock, opened: Any, qtbot: QtBot) -> None:
    """So do all of them when none is chosen; the shown times stay. Curves have different colours, those of the list."""
    dock.patch.add("test_app.every_parameter", node_id="other")
    dock.patch.animate("other", "gain", [(0, 0.1), (4, 0.2)])
    qtbot.waitUntil(lambda: dock.list.count() == 2)
    times = dock.view.scale.left_s, dock.view.scale.span_s
    for row, (low, high) in ((1, (0.1, 0.2)), (0, (2.0, 8.0))):
        dock.list.clearSelection()
        assert dock.view.scale.range > 7
        dock.list.item(row).setSelected(True)
        assert dock.view.scale.range == pytest.approx(1.24 * (high - low))
        assert dock.view.scale.low < low and (dock.view.scale.left_s, dock.view.scale.span_s) == times
    assert len({curve_colour(index).name() for index in range(8)}) == 8
    dock.list.clearSelection()
    for theme in ("light", "dark"):
        opened.set_theme(theme)
        swatches = [dock.list.item(row).icon().pixmap(16, 16).toImage().pixelColor(8, 8) for row in range(2)]
        assert swatches == [curve_colour(0), curve_colour(1)]
