"""The window with a patch and without."""

import sys
from pathlib import Path

from PySide6.QtCore import QRect, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QTabBar
from pytestqt.qtbot import QtBot

from tests.app.app_support import FakeEngine
from tests.app.conftest import Asked
from tests.app.window.window_support import patch_of
from warploom.app.docks.code.code import Code
from warploom.app.documents.editor_state import Arrangement, UserState, save_state
from warploom.app.inspector.parameter_editors import NumberEditor
from warploom.app.inspector.parameter_form import SectionHeading
from warploom.app.window.docks import LISTS
from warploom.app.window.main_window import MainWindow
from warploom.engine.patch.changes import PortRef


def test_the_window_begins_with_the_welcome_page(window: MainWindow) -> None:
    """Without a patch the window shows the welcome page, no docks, and Open but not Save as available."""
    assert window.centralWidget().currentWidget() is window.welcome  # type: ignore[attr-defined]
    assert not window.inspector.isVisible()
    assert not window.actions_by_id["save"].isEnabled()
    assert window.actions_by_id["open"].isEnabled()
    assert window.badge.label.text() == "No engine"


def test_the_viewer_has_the_largest_share_of_the_docks(opened: MainWindow, qtbot: QtBot) -> None:
    """The viewer's column takes nearly a third of the window, and the problem list is closed at first."""
    (viewer,) = opened.viewers.docks.values()
    qtbot.waitUntil(lambda: viewer.width() > 0.3 * opened.width())
    assert viewer.height() > 0.35 * opened.height()
    assert opened.docks["inspector"].height() > 0.3 * opened.height()
    assert opened.docks["problems"].isHidden()


def test_undo_and_redo_name_what_they_do(qtbot: QtBot, opened: MainWindow) -> None:
    """The menu names the edits that undo and redo concern."""
    undo, redo = opened.actions_by_id["undo"], opened.actions_by_id["redo"]
    qtbot.waitUntil(lambda: not undo.isEnabled())
    patch_of(opened).set("every", gain=2.0)
    qtbot.waitUntil(lambda: undo.text() == "&Undo Set gain of Every Parameter")
    undo.trigger()
    assert patch_of(opened).value("every", "gain") == 1.0
    qtbot.waitUntil(lambda: redo.text() == "&Redo Set gain of Every Parameter")
    redo.trigger()
    assert patch_of(opened).value("every", "gain") == 2.0


def test_window_and_theme_are_remembered(qtbot: QtBot, tmp_path: Path, asked: Asked) -> None:
    """The next window opens with the last one's size and theme."""
    first = MainWindow(FakeEngine, tmp_path)  # type: ignore[arg-type]  # replaces Engine
    first.resize(760, 560)  # fits the screen of 800 by 800
    first.show()
    first.actions_by_id["theme_light"].trigger()
    first.close()
    second = MainWindow(FakeEngine, tmp_path)  # type: ignore[arg-type]  # replaces Engine
    assert (second.width(), second.height()) == (760, 560)
    assert second.state.theme == "light"
    assert second.actions_by_id["theme_light"].isChecked()
    second.set_theme("dark")
    second.close()


def test_recent_blocks_and_what_is_folded_are_remembered(qtbot: QtBot, tmp_path: Path, asked: Asked) -> None:
    """The next window offers the last placed blocks, with the same groups folded."""
    first = MainWindow(FakeEngine, tmp_path)  # type: ignore[arg-type]  # replaces Engine
    first.show()
    first.files.new()
    search = first.canvas.search.popup
    first.canvas.open_search()
    QTest.keyClicks(search.field, "every parameter")
    QTest.keyClick(search.field, Qt.Key.Key_Return)
    QTest.mouseClick(first.inspector.page.findChildren(SectionHeading)[0], Qt.MouseButton.LeftButton)
    first.canvas.select([])  # a selected block would be offered what fits it
    first.canvas.open_search()
    QTest.keyClick(search.field, Qt.Key.Key_End)
    QTest.keyClick(search.field, Qt.Key.Key_Left)
    first.close()
    second = MainWindow(FakeEngine, tmp_path)  # type: ignore[arg-type]  # replaces Engine
    second.files.new()
    second.canvas.open_search()
    recent = second.canvas.search.popup.rows()[0]
    assert recent.text(0) == "Recent" and not recent.isExpanded()
    assert recent.child(0).text(0) == "Every Parameter"
    second.canvas.search.popup.list.itemClicked.emit(recent, 0)
    QTest.keyClick(second.canvas.search.popup.field, Qt.Key.Key_Down)
    QTest.keyClick(second.canvas.search.popup.field, Qt.Key.Key_Return)
    assert second.inspector.rows["gain"].isHidden() and not second.inspector.rows["count"].isHidden()
    second.close()


def test_closed_docks_stay_closed(opened: MainWindow, file: Path) -> None:
    """A dock that the person closed stays closed for the next patch, and the welcome page has no docks."""
    opened.docks.reveal("log")
    opened.docks["log"].toggleViewAction().trigger()
    opened.files.close()
    assert not any(dock.isVisible() for dock in (opened.docks[name] for name in ("inspector", "problems", "log")))
    opened.files.open_path(file)
    assert opened.docks["log"].isHidden()
    assert opened.inspector.isVisible()


def test_after_an_update_of_warploom_the_lists_are_closed(qtbot: QtBot, tmp_path: Path, file: Path) -> None:
    """After an update of Warploom, the lists are closed, since the stored layout is of an older version."""
    save_state(UserState(arrangement=Arrangement(b"of another version", ["help"], {})), tmp_path)
    window = MainWindow(FakeEngine, tmp_path)  # type: ignore[arg-type]  # replaces Engine
    window.show()
    window.files.open_path(file)
    assert window.inspector.isVisible()
    assert not any(window.docks[name].isVisible() for name in ("help", *LISTS))
    window.close()


def test_selecting_a_node_shows_its_parameters_and_a_drag_changes_the_patch(opened: MainWindow) -> None:
    """Selecting a node shows its parameters in the inspector, and a drag there changes the patch."""
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
    """A deleted connection can be restored by undo, and deleted again by redo."""
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
    """Copy and Paste make new nodes with the same parameters."""
    patch_of(opened).set("every", gain=3.0)
    opened.canvas.select(["every"])
    opened.actions_by_id["copy"].trigger()
    opened.actions_by_id["paste"].trigger()
    (copy,) = opened.canvas.selected()
    assert copy != "every"
    assert patch_of(opened).value(copy, "gain") == 3.0


def test_a_block_without_a_kernel_shows_the_file_that_defines_it(opened: MainWindow) -> None:
    """Ctrl+K on a block without kernels shows its own file; on one that has no code at all, a message."""
    opened.canvas.select(["every"])
    opened.actions_by_id["open_code"].trigger()
    shown = opened.docks.widget(Code).place
    assert shown is not None and shown.path.name == "app_support.py"
    patch_of(opened).add("kernel.graph", node_id="graph")
    opened.canvas.select(["graph"])
    opened.actions_by_id["open_code"].trigger()
    assert opened.docks.widget(Code).place is None and opened.docks.widget(Code).compiled.shows_graph


def test_a_fault_in_the_editor_is_shown_and_work_goes_on(opened: MainWindow) -> None:
    """An unhandled exception is shown in the log and the status bar, and the window stays open."""
    from warploom.app.qt.faults import install_fault_handler

    remove = install_fault_handler(opened.log.noted.emit, lambda: "the file")
    try:
        sys.excepthook(RuntimeError, RuntimeError("boom"), None)
    finally:
        remove()
    assert "Unexpected RuntimeError: boom" in opened.log.lines[-1].record.text
    assert "details are in the file" in opened.statusBar().currentMessage()
    assert opened.isVisible()


def test_the_tabs_of_the_first_layout_lie_below_their_docks(opened: MainWindow, qtbot: QtBot) -> None:
    """Docks that share a place have one tab bar, directly below them and as wide as the docks."""
    opened.resize(1280, 720)
    for name in ("help", "inspector", "problems"):
        opened.docks.reveal(name)

    def places() -> dict[str, QRect]:
        bars = [bar for bar in opened.findChildren(QTabBar) if bar.isVisible() and opened.rect().contains(bar.pos())]
        return {bar.tabText(0): bar.geometry() for bar in bars}

    qtbot.waitUntil(lambda: set(places()) >= {"Problems"})
    viewer = opened.viewers.docks["screen"]
    for name, place in places().items():
        dock = (viewer if name == "Screen" else opened.docks[name.lower()]).geometry()
        assert (place.left(), place.right(), place.top()) == (dock.left(), dock.right(), dock.bottom() + 1)
