"""Keys of commands can be changed, and are kept."""

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence
from pytestqt.qtbot import QtBot

from tests.app.app_support import FakeEngine
from tests.app.conftest import Asked
from warploom.app.commands.shortcut_dialog import ShortcutDialog
from warploom.app.window.main_window import MainWindow


def dialog_of(window: MainWindow) -> ShortcutDialog:
    """Open the list of shortcuts."""
    window.actions_by_id["shortcuts"].trigger()
    return window.findChildren(ShortcutDialog)[-1]


def test_a_typed_key_runs_the_command(qtbot: QtBot, opened: MainWindow) -> None:
    """A key that is typed in the list of shortcuts runs the chosen command, and the old ones still do."""
    dialog = dialog_of(opened)
    dialog.choose("select_all")
    assert not dialog.give.isEnabled()
    dialog.typed.setKeySequence(QKeySequence("F7"))
    qtbot.mouseClick(dialog.give, Qt.MouseButton.LeftButton)
    shown = next(item for item in dialog._items() if item.data(0, Qt.ItemDataRole.UserRole) == "select_all")
    assert shown.text(1) == "Ctrl+A, F7"
    dialog.close()
    opened.activateWindow()
    opened.canvas.setFocus()
    qtbot.keyClick(opened.canvas.view, Qt.Key.Key_F7)
    qtbot.waitUntil(lambda: len(opened.canvas.selected()) == 3)
    assert "F7" not in opened.actions_by_id["select_all"].toolTip()  # the tooltip has the first key


def test_names_of_commands_are_whole(qtbot: QtBot, opened: MainWindow) -> None:
    """The column of commands and gestures has room for each of their names, in a dialog of its first size."""
    dialog = dialog_of(opened)
    qtbot.waitExposed(dialog)
    needed = max(dialog.rows.fontMetrics().horizontalAdvance(item.text(0)) for item in dialog._items())
    assert dialog.rows.columnWidth(0) > needed
    assert dialog.rows.columnWidth(1) > dialog.rows.fontMetrics().horizontalAdvance("Ctrl+Shift+Backspace")
    dialog.close()


def test_a_key_of_another_command_is_taken_over_only_when_that_is_said(qtbot: QtBot, opened: MainWindow) -> None:
    """For a key that another command has, the dialog names that command, and the button takes the key over."""
    dialog = dialog_of(opened)
    dialog.choose("heat")
    dialog.typed.setKeySequence(QKeySequence("F2"))
    assert (dialog.note.text(), dialog.give.text()) == ("F2 belongs to Rename", "Take over")
    qtbot.mouseClick(dialog.give, Qt.MouseButton.LeftButton)
    assert (opened.keys.of("rename"), opened.keys.of("heat")) == ([], ["H", "F2"])
    dialog.choose("rename")
    qtbot.mouseClick(dialog.reset, Qt.MouseButton.LeftButton)
    assert (opened.keys.of("rename"), opened.keys.of("heat")) == (("F2",), ("H",))
    assert not opened.state.keys
    dialog.typed.setKeySequence(QKeySequence("Esc"))
    assert "needed" in dialog.note.text() and not dialog.give.isEnabled()
    dialog.close()


def test_changed_keys_are_there_in_the_next_window(tmp_path: Path, asked: Asked, qtbot: QtBot) -> None:
    """Keys that were changed or removed stay so in the next window; those of unknown commands are kept."""
    first = MainWindow(FakeEngine, tmp_path)  # type: ignore[arg-type]  # replaces Engine
    first.keys.give("step", "Ctrl+T")
    first.keys.set("heat", ())
    first.state.keys["of another version"] = ["Ctrl+Q"]
    first.state.keys |= {"edit_frame": ["F12"], "frame_teal": ["Ctrl+F12"]}  # as an earlier version called them
    first.close()
    second = MainWindow(FakeEngine, tmp_path)  # type: ignore[arg-type]  # replaces Engine
    assert [keys.toString() for keys in second.actions_by_id["step"].shortcuts()] == [".", "Ctrl+T"]
    assert second.actions_by_id["heat"].shortcuts() == []
    assert second.state.keys["of another version"] == ["Ctrl+Q"]
    for command, key in (("mark", "F12"), ("colour_teal", "Ctrl+F12")):
        assert [keys.toString() for keys in second.actions_by_id[command].shortcuts()] == [key]
    second.keys.reset(second.keys.commands)
    assert set(second.state.keys) == {"of another version"}
    second.close()
