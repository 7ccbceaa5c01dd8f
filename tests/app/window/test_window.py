"""The window: what a person does in it, with a patch and without."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QTabBar
from pytestqt.qtbot import QtBot

from app.commands.commands import MENUS, TOOLBAR
from app.documents.recovery import RecoverySlot
from app.inspector.parameter_editors import NumberEditor
from app.window.main_window import MainWindow
from engine.diagnostics import error
from engine.patch.changes import PortRef
from engine.patch.document import Patch
from engine.patch.files import load_patch, save_patch
from engine.profiling.levels import ProfilingLevel
from engine.protocol.messages import (
    NodeReport,
    NodeState,
    Observe,
    Preview,
    Reset,
    Saved,
    SaveOutputs,
    SetProfiling,
    SetRunning,
    UpdateLevel,
    UpdateRecord,
)
from tests.app.app_support import FakeEngine, make_report
from tests.app.conftest import Asked


def engine_of(window: MainWindow) -> FakeEngine:
    engine: Any = window.session.engine
    assert isinstance(engine, FakeEngine)
    return engine


def patch_of(window: MainWindow) -> Patch:
    assert window.session.patch is not None
    return window.session.patch


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A patch file: a picture on a screen, and a block with parameters."""
    patch = Patch()
    picture = patch.add("test_app.picture", node_id="picture")
    screen = patch.add("test_app.screen", node_id="screen", position=(260, 0))
    patch.add("test_app.every_parameter", node_id="every", position=(0, 200))
    patch.connect(picture["out"], screen["image"])
    save_patch(patch, tmp_path / "demo.loom")
    return tmp_path / "demo.loom"


@pytest.fixture
def opened(window: MainWindow, file: Path) -> MainWindow:
    """A window with that file open."""
    assert window.files.open_path(file)
    return window


# Opening and saving


def test_the_window_begins_with_the_welcome_page(window: MainWindow) -> None:
    """Without a patch there are examples, no docks, and no command that needs a patch."""
    assert window.centralWidget().currentWidget() is window.welcome  # type: ignore[attr-defined]
    assert not window.inspector.isVisible()
    assert not window.actions_by_id["save"].isEnabled()
    assert window.actions_by_id["open"].isEnabled()
    assert window.badge.label.text() == "No engine"


def test_opening_a_file_starts_its_engine(opened: MainWindow, file: Path) -> None:
    """The canvas shows the patch, an engine follows it, and the title names it."""
    assert engine_of(opened).patch is opened.session.patch
    assert opened.canvas.patch is opened.session.patch
    assert opened.canvas.isVisible()
    assert opened.inspector.isVisible()
    assert opened.state.existing_recent() == [file]


def test_the_title_names_the_file_and_marks_changes(qtbot: QtBot, opened: MainWindow) -> None:
    """A change sets the mark, and undoing it takes the mark away."""
    qtbot.waitUntil(lambda: opened.windowTitle() == "demo[*] – Warploom")
    assert not opened.isWindowModified()
    patch_of(opened).set("every", gain=2.0)
    qtbot.waitUntil(opened.isWindowModified)
    opened.actions_by_id["undo"].trigger()
    qtbot.waitUntil(lambda: not opened.isWindowModified())


def test_undo_and_redo_name_what_they_do(qtbot: QtBot, opened: MainWindow) -> None:
    """The menu says what will be undone."""
    undo, redo = opened.actions_by_id["undo"], opened.actions_by_id["redo"]
    qtbot.waitUntil(lambda: not undo.isEnabled())
    patch_of(opened).set("every", gain=2.0)
    qtbot.waitUntil(lambda: undo.text() == "&Undo Set gain of Every Parameter")
    undo.trigger()
    assert patch_of(opened).value("every", "gain") == 1.0
    qtbot.waitUntil(lambda: redo.text() == "&Redo Set gain of Every Parameter")
    redo.trigger()
    assert patch_of(opened).value("every", "gain") == 2.0


def test_saving_and_reopening_gives_the_same_patch(opened: MainWindow, file: Path) -> None:
    """What was edited is in the file."""
    patch_of(opened).set("every", gain=2.5, mode="hard")
    opened.actions_by_id["save"].trigger()
    assert not opened.session.is_modified
    assert load_patch(file).value("every", "gain") == 2.5
    opened.files.open_path(file)
    assert patch_of(opened).value("every", "mode") == "hard"


def test_save_as_goes_on_with_the_new_file(opened: MainWindow, file: Path, asked: Asked, tmp_path: Path) -> None:
    """The old file stays as it was, and files that the patch names by a relative path are still found."""
    (tmp_path / "photo.png").write_bytes(b"")
    patch_of(opened).set("every", source="photo.png", gain=4.0)
    asked.path = tmp_path / "elsewhere" / "other.loom"
    asked.path.parent.mkdir()
    opened.actions_by_id["save_as"].trigger()
    assert opened.session.path == asked.path
    assert load_patch(file).value("every", "gain") == 1.0
    saved = load_patch(asked.path)
    assert saved.value("every", "gain") == 4.0
    assert saved.value("every", "source") == (tmp_path / "photo.png").as_posix()


def test_saving_an_example_asks_for_a_place(window: MainWindow, file: Path, asked: Asked, tmp_path: Path) -> None:
    """Examples stay as they came."""
    before = file.read_text()
    window.files.open_example(file)
    patch_of(window).set("every", gain=4.0)
    asked.path = tmp_path / "mine.loom"
    window.actions_by_id["save"].trigger()
    assert file.read_text() == before
    assert load_patch(asked.path).value("every", "gain") == 4.0
    asked.path = None
    patch_of(window).set("every", gain=5.0)
    window.actions_by_id["save"].trigger()
    assert load_patch(tmp_path / "mine.loom").value("every", "gain") == 5.0


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"{", "bad.loom can't be opened: "),
        (b"\xff\xfe\x00", "bad.loom can't be opened: "),
        (b'{"schema": 99}', "schema must be 1, got 99"),
    ],
)
def test_a_bad_file_gives_one_message_and_the_patch_stays(
    opened: MainWindow, asked: Asked, tmp_path: Path, content: bytes, text: str
) -> None:
    """What is open goes on running."""
    patch, engine = opened.session.patch, opened.session.engine
    bad = tmp_path / "bad.loom"
    bad.write_bytes(content)
    assert not opened.files.open_path(bad)
    assert len(asked.shown) == 1
    assert text in asked.shown[0]
    assert opened.session.patch is patch
    assert opened.session.engine is engine
    assert bad not in opened.state.existing_recent()


def test_a_file_that_can_not_be_written_keeps_the_changes(opened: MainWindow, asked: Asked, tmp_path: Path) -> None:
    """A failed save says so and leaves the patch modified."""
    patch_of(opened).set("every", gain=2.0)
    asked.path = tmp_path / "missing" / "x.loom"
    opened.actions_by_id["save_as"].trigger()
    assert asked.shown[0].startswith("x.loom can't be saved: ")
    assert opened.session.is_modified


@pytest.mark.parametrize("answer", ["save", "discard", "cancel"])
def test_closing_asks_about_unsaved_changes(opened: MainWindow, asked: Asked, file: Path, answer: str) -> None:
    """Save writes, Discard does not, Cancel stays."""
    from app.documents.dialogs import Answer

    patch_of(opened).set("every", gain=2.0)
    asked.about_changes = Answer(answer)
    closed = opened.close()
    assert asked.shown == ["demo"]
    assert closed is (answer != "cancel")
    assert load_patch(file).value("every", "gain") == (2.0 if answer == "save" else 1.0)


def test_new_patch_is_empty_and_untitled(qtbot: QtBot, opened: MainWindow) -> None:
    """A new patch takes the place of the open one, whose engine ends."""
    old = engine_of(opened)
    opened.actions_by_id["new"].trigger()
    assert patch_of(opened).nodes == {}
    qtbot.waitUntil(lambda: opened.windowTitle() == "Untitled[*] – Warploom")
    assert old.closed.wait()
    assert engine_of(opened) is not old


def test_window_and_theme_are_remembered(qtbot: QtBot, tmp_path: Path, asked: Asked) -> None:
    """The next window has the size and the theme of the last one."""
    first = MainWindow(FakeEngine, tmp_path)  # type: ignore[arg-type]  # it stands in for an Engine
    first.resize(760, 560)  # Qt keeps a window within its screen, which is 800 by 800 here
    first.show()
    first.actions_by_id["theme_light"].trigger()
    first.close()
    second = MainWindow(FakeEngine, tmp_path)  # type: ignore[arg-type]  # it stands in for an Engine
    assert (second.width(), second.height()) == (760, 560)
    assert second.state.theme == "light"
    assert second.actions_by_id["theme_light"].isChecked()
    second.set_theme("dark")
    second.close()


def test_closed_docks_stay_closed(opened: MainWindow, file: Path) -> None:
    """A dock that the person closed does not come back with the next patch, and the welcome page has none."""
    opened.docks["log"].toggleViewAction().trigger()
    opened.files.close()
    assert not any(dock.isVisible() for dock in (opened.docks[name] for name in ("inspector", "problems", "log")))
    opened.files.open_path(file)
    assert opened.docks["log"].isHidden()
    assert opened.inspector.isVisible()


def test_viewers_are_listed_in_the_view_menu(opened: MainWindow) -> None:
    """A closed viewer can be opened again from the menu."""
    menu = opened.actions_by_id.menus["viewers"]
    opened.viewers.docks["screen"].close()
    menu.aboutToShow.emit()
    (action,) = menu.actions()
    assert action.text() == "Screen"
    action.trigger()
    assert not opened.viewers.docks["screen"].isHidden()


# Recovery


def test_unsaved_work_is_copied_and_forgotten_when_saved(
    opened: MainWindow, file: Path, qtbot: QtBot, tmp_path: Path
) -> None:
    """There is a copy soon after an edit, until the work is saved or undone; the file itself is left alone."""
    folder = tmp_path / "state" / "recovery"
    before = file.read_bytes()
    opened.files.autosave()
    assert list(folder.glob("*.json")) == []
    for end in (opened.session.undo, opened.files.save):
        patch_of(opened).set("every", gain=2.0)
        qtbot.waitUntil(lambda: len(list(folder.glob("*.json"))) == 1)
        assert file.read_bytes() == before
        end()
        qtbot.waitUntil(lambda: list(folder.glob("*.json")) == [])


def test_work_of_a_crashed_editor_is_offered(window: MainWindow, file: Path, asked: Asked, tmp_path: Path) -> None:
    """It opens as unsaved work on the same file, and the next copy is written at once."""
    patch = load_patch(file)
    patch.set("every", gain=9.0)
    slot = RecoverySlot(tmp_path / "state" / "recovery")
    slot.write(patch).result()
    slot._lock.unlock()  # as the system does for an editor that crashed
    window.offer_recovery()
    slot.close()
    assert asked.shown == ["demo.loom"]
    assert patch_of(window).value("every", "gain") == 9.0
    assert window.session.path == file
    assert window.session.is_modified
    assert len(list((tmp_path / "state" / "recovery").glob("*.json"))) == 1
    window.files.save()
    assert not window.session.is_modified
    assert load_patch(file).value("every", "gain") == 9.0


# Editing


def test_selecting_a_node_shows_its_parameters_and_a_drag_changes_the_patch(opened: MainWindow) -> None:
    """Canvas, inspector and patch are tied together."""
    opened.canvas.select(["every"])
    assert opened.inspector.nodes == ["every"]
    editor = opened.inspector.editor("gain")
    assert isinstance(editor, NumberEditor)
    assert editor.slider is not None
    editor.slider.setSliderDown(True)
    for position in (200, 300, 400):
        editor.slider.setValue(position)
    editor.slider.setSliderDown(False)
    assert patch_of(opened).value("every", "gain") == 4.0
    assert len(patch_of(opened).history.names) == 1


def test_a_removed_connection_comes_back_with_undo(qtbot: QtBot, opened: MainWindow) -> None:
    """Delete on the canvas is undone by the window's command, and redone."""
    patch = patch_of(opened)
    opened.canvas.select(["picture"])
    opened.actions_by_id["delete"].trigger()
    assert "picture" not in patch.nodes
    assert patch.connections == []
    qtbot.waitUntil(opened.actions_by_id["undo"].isEnabled)
    opened.actions_by_id["undo"].trigger()
    assert patch.source_of(PortRef("screen", "image")) == PortRef("picture", "out")
    qtbot.waitUntil(opened.actions_by_id["redo"].isEnabled)
    opened.actions_by_id["redo"].trigger()
    assert patch.connections == []


def test_copy_and_paste_through_the_commands(opened: MainWindow) -> None:
    """Copies are new nodes with the same parameters."""
    patch_of(opened).set("every", gain=3.0)
    opened.canvas.select(["every"])
    opened.actions_by_id["copy"].trigger()
    opened.actions_by_id["paste"].trigger()
    (copy,) = opened.canvas.selected()
    assert copy != "every"
    assert patch_of(opened).value(copy, "gain") == 3.0


# The engine


def test_reports_reach_every_part(opened: MainWindow) -> None:
    """One report updates badge, problem list and inspector."""
    opened.canvas.select(["every"])
    node = NodeReport("test_app.every_parameter", NodeState.ERROR, "x must be connected")
    problem = error("x must be connected", node="every", port="x")
    engine_of(opened).reports.append(make_report(nodes={"every": node}, diagnostics=(problem,)))
    opened.bridge.poll()
    assert opened.badge.label.text() == "host · 420 µs"
    assert opened.problems.list.topLevelItemCount() == 1
    assert opened.inspector.status is not None
    assert opened.inspector.status.message == "x must be connected"
    assert opened.problem_count.text() == "1 error"
    opened.docks.reveal("log")
    opened.problem_count.click()
    assert not opened.problems.visibleRegion().isEmpty()
    engine_of(opened).reports.append(make_report(frame=2))
    opened.bridge.poll()
    assert opened.problem_count.isHidden()


def test_a_problem_leads_to_its_node(qtbot: QtBot, opened: MainWindow) -> None:
    """Activating a row selects the node."""
    engine_of(opened).reports.append(make_report(diagnostics=(error("no", node="every"),)))
    opened.bridge.poll()
    row = opened.problems.list.topLevelItem(0)
    assert row is not None
    opened.problems.list.itemActivated.emit(row, 0)
    assert opened.canvas.selected() == ["every"]


def test_what_happened_is_listed(opened: MainWindow) -> None:
    """Files and failures each make a line of the log, updates one of their own list."""
    engine_of(opened).events = [
        UpdateRecord(UpdateLevel.COLD, "first build", 2_000_000, 0),
        Saved("screen", "image", "uchar4", (2, 2), "a.png"),
        error("disk must have space"),
    ]
    opened.bridge.poll()
    assert [entry.label for entry in opened.log.entries][-2:] == ["Saved", "Error"]
    assert [row.record.cause for row in opened.updates.rows.rows] == ["first build"]


def test_playing_and_stepping(opened: MainWindow) -> None:
    """Space's command pauses and plays; a step runs one frame and leaves it paused."""
    opened.actions_by_id["play"].trigger()
    opened.actions_by_id["step"].trigger()
    opened.actions_by_id["play"].trigger()
    opened.actions_by_id["reset"].trigger()
    opened.actions_by_id["save_outputs"].trigger()
    opened.actions_by_id["profiling_per_kernel"].trigger()
    sent = [message for message in engine_of(opened).posted if not isinstance(message, Observe)]
    assert sent == [
        SetRunning(False),
        SetRunning(True, frames=1),
        SetRunning(True),
        Reset(),
        SaveOutputs(),
        SetProfiling(ProfilingLevel.PER_KERNEL),
    ]


def test_pausing_and_profiling_hold_for_the_next_patch(opened: MainWindow) -> None:
    """Another patch starts as the person left the last one."""
    opened.actions_by_id["play"].trigger()
    opened.actions_by_id["profiling_none"].trigger()
    opened.files.new()
    assert engine_of(opened).profiling is ProfilingLevel.NONE
    assert SetRunning(False) in engine_of(opened).posted


def test_an_engine_that_can_not_start_leaves_the_patch_editable(qtbot: QtBot, tmp_path: Path, asked: Asked) -> None:
    """A missing device is a line in the log, and editing and saving go on."""
    from engine.diagnostics import DeviceError

    def fail(patch: Patch, profiling: ProfilingLevel) -> Any:
        raise DeviceError("device must be cuda:0, got none")

    window = MainWindow(fail, tmp_path)
    qtbot.addWidget(window)
    window.show()
    window.files.new()
    patch_of(window).add("test_app.picture")
    assert window.log.entries[-1].text == "device must be cuda:0, got none"
    assert window.problems.list.topLevelItemCount() == 1
    asked.path = tmp_path / "x.loom"
    assert window.files.save()
    window.close()


def test_restarting_the_engine_keeps_the_patch(opened: MainWindow) -> None:
    """A fresh engine takes over after a device failed."""
    old, patch = engine_of(opened), patch_of(opened)
    opened.actions_by_id["restart_engine"].trigger()
    assert old.closed.wait()
    assert engine_of(opened) is not old
    assert opened.session.patch is patch
    engine_of(opened).reports.append(make_report())
    opened.bridge.poll()
    assert opened.badge.label.text().startswith("host")


# Viewers


def observed(engine: FakeEngine) -> set[str] | None:
    """The viewers that the engine was last asked for; None before that."""
    told = [message for message in engine.posted if isinstance(message, Observe)]
    return set(told[-1].viewers) if told else None


def test_only_visible_viewers_are_observed(qtbot: QtBot, opened: MainWindow) -> None:
    """Pictures are read back for viewers that can be seen, and for no others."""
    engine = engine_of(opened)
    qtbot.waitUntil(lambda: observed(engine) == {"screen"})
    opened.viewers.docks["screen"].hide()
    assert observed(engine) == set()
    opened.canvas.node_activated.emit("screen")
    qtbot.waitUntil(lambda: observed(engine) == {"screen"})


def test_two_viewers_share_a_place_and_one_is_seen(qtbot: QtBot, opened: MainWindow) -> None:
    """Tabs: only the one in front is observed."""
    patch_of(opened).add("test_app.screen", node_id="other")
    qtbot.waitUntil(lambda: observed(engine_of(opened)) == {"other"})
    opened.viewers.reveal("screen")
    qtbot.waitUntil(lambda: observed(engine_of(opened)) == {"screen"})


def test_a_preview_is_shown_in_its_viewer(opened: MainWindow, qtbot: QtBot) -> None:
    """The picture that the engine sent is the one on the screen."""
    engine = engine_of(opened)
    qtbot.waitUntil(lambda: observed(engine) == {"screen"})
    engine.previews["screen"] = Preview("screen", 5, np.full((4, 6, 4), 90, np.uint8))
    opened.bridge.poll()
    viewer = opened.viewers.viewer("screen")
    assert viewer.picture.picture_size == (6, 4)
    assert viewer.picture.pixel(5, 3) == (90, 90, 90, 90)


def test_without_a_viewer_the_dock_says_how_to_get_one(opened: MainWindow) -> None:
    """Removing the last viewer leaves its place with a hint, and adding one takes it again."""
    patch = patch_of(opened)
    patch.remove("screen")
    assert opened.viewers.docks == {}
    assert opened.viewers.empty.isVisible()
    patch.undo()
    assert list(opened.viewers.docks) == ["screen"]
    assert not opened.viewers.empty.isVisible()


def test_a_minimised_window_asks_for_nothing(qtbot: QtBot, opened: MainWindow) -> None:
    """It can't be seen, so no picture is read back and no timer runs."""
    qtbot.waitUntil(lambda: observed(engine_of(opened)) == {"screen"})
    opened.showMinimized()
    qtbot.waitUntil(lambda: not opened.bridge.is_polling)
    assert observed(engine_of(opened)) == set()
    opened.showNormal()
    qtbot.waitUntil(lambda: opened.bridge.is_polling)


# Commands


def test_every_command_is_in_a_menu(window: MainWindow) -> None:
    """Nothing is reachable by a secret key only, and menus name only commands that exist."""

    def ids(items: Any) -> list[str]:
        return [i for item in items for i in (ids(item.items) if hasattr(item, "items") else [item] if item else [])]

    assert Counter(ids(MENUS)) == Counter(window.actions_by_id.commands.keys())
    assert set(filter(None, TOOLBAR)) <= set(window.actions_by_id.commands)


def test_no_key_has_two_meanings(window: MainWindow) -> None:
    """Qt calls neither of two commands that share a key."""
    keys = Counter(key for command in window.actions_by_id.commands.values() for key in command.keys)
    assert [key for key, count in keys.items() if count > 1] == []
    assert all(not QKeySequence(key).isEmpty() for key in keys)


def test_keys_reach_their_commands(qtbot: QtBot, opened: MainWindow) -> None:
    """Space pauses while the canvas has the focus; Ctrl+Z undoes."""
    opened.activateWindow()
    opened.canvas.setFocus()
    qtbot.keyClick(opened.canvas.focusProxy() or opened.canvas, Qt.Key.Key_Space)
    assert not opened.session.running
    patch_of(opened).set("every", gain=2.0)
    qtbot.waitUntil(opened.actions_by_id["undo"].isEnabled)
    qtbot.keyClick(opened, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert patch_of(opened).value("every", "gain") == 1.0


def test_space_presses_a_focused_check_box(qtbot: QtBot, opened: MainWindow) -> None:
    """The window's Space does not take a control's own key."""
    from app.inspector.parameter_editors import BoolEditor

    opened.canvas.select(["every"])
    editor = opened.inspector.editor("on")
    assert isinstance(editor, BoolEditor)
    editor.check.setFocus()
    qtbot.keyClick(editor.check, Qt.Key.Key_Space)
    assert patch_of(opened).value("every", "on") is False
    assert opened.session.running


def test_undo_in_a_number_box_undoes_the_patch(qtbot: QtBot, opened: MainWindow) -> None:
    """Once a number is entered, Ctrl+Z means the edit, not the typing."""
    opened.canvas.select(["every"])
    editor = opened.inspector.editor("gain")
    assert isinstance(editor, NumberEditor)
    editor.box.setFocus()
    editor.box.selectAll()
    qtbot.keyClicks(editor.box, "7")
    qtbot.keyClick(editor.box, Qt.Key.Key_Return)
    assert patch_of(opened).value("every", "gain") == 7.0
    qtbot.waitUntil(opened.actions_by_id["undo"].isEnabled)
    qtbot.keyClick(editor.box, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert patch_of(opened).value("every", "gain") == 1.0


def test_opening_kernel_source_without_a_kernel_says_so(opened: MainWindow) -> None:
    """A block without kernels is not an error."""
    opened.canvas.select(["every"])
    opened.actions_by_id["open_kernel"].trigger()
    assert opened.log.entries[-1].text == "The selected block has no kernel of its own"


def test_a_fault_in_the_editor_is_shown_and_work_goes_on(opened: MainWindow, tmp_path: Path) -> None:
    """An exception in a slot is a line in the log."""
    from app.qt.faults import install_fault_handler

    remove = install_fault_handler(opened.log.add_error, tmp_path / "state")
    try:
        sys.excepthook(RuntimeError, RuntimeError("boom"), None)
    finally:
        remove()
    assert "Unexpected RuntimeError: boom" in opened.log.entries[-1].text
    assert opened.isVisible()


def test_shortcuts_are_listed(qtbot: QtBot, window: MainWindow) -> None:
    """The list names every command that has keys."""
    from PySide6.QtWidgets import QDialog, QTreeWidget

    window.actions_by_id["shortcuts"].trigger()
    (dialog,) = window.findChildren(QDialog)
    rows = dialog.findChildren(QTreeWidget)[0]
    names = {rows.topLevelItem(i).text(0) for i in range(rows.topLevelItemCount())}  # type: ignore[union-attr]  # in range
    assert {"Play or pause", "Undo", "Add block"} <= names
    dialog.close()


def test_the_tabs_of_the_first_layout_lie_below_their_docks(opened: MainWindow, qtbot: QtBot) -> None:
    """Docks that share a place have one tab bar, as wide as they are, and no other is left over the window."""
    opened.resize(1280, 720)
    for name in ("help", "inspector"):
        opened.docks.reveal(name)

    def places() -> dict[str, QRect]:
        bars = [bar for bar in opened.findChildren(QTabBar) if bar.isVisible() and opened.rect().contains(bar.pos())]
        return {bar.tabText(0): bar.geometry() for bar in bars}

    qtbot.waitUntil(lambda: set(places()) == {"Problems", "Inspector"})
    for name, place in places().items():
        dock = opened.docks[name.lower()].geometry()
        assert (place.left(), place.right(), place.top()) == (dock.left(), dock.right(), dock.bottom() + 1)
