"""Menus and keys."""

from collections import Counter

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QMenu
from pytestqt.qtbot import QtBot

from tests.app.window.window_support import patch_of
from warploom.app.commands.commands import CONTEXT_MENUS, TOOLBAR
from warploom.app.inspector.parameter_editors import NumberEditor
from warploom.app.window.main_window import MainWindow


def test_every_command_is_in_a_menu(window: MainWindow) -> None:
    """Every command is in a menu of the menu bar, and toolbars and context menus name only existing commands."""

    def ids(menu: QMenu) -> list[str]:
        actions = [action for action in menu.actions() if not action.isSeparator()]
        inner = [menu for action in actions if (menu := window.actions_by_id.menus.get(action.objectName()))]
        here = [action.objectName() for action in actions if action.objectName() in window.actions_by_id.commands]
        return [*here, *(name for menu in inner for name in ids(menu))]

    menus, commands = window.actions_by_id.menus, window.actions_by_id.commands
    top = [menus[action.objectName()] for action in window.menuBar().actions()]
    assert Counter(name for menu in top for name in ids(menu)) == Counter(commands.keys())
    assert set(filter(None, TOOLBAR)) <= set(commands)
    assert {name for menu in CONTEXT_MENUS.values() for name in menu if name} <= {*commands, *menus}


def test_no_key_has_two_meanings(window: MainWindow) -> None:
    """No two commands share a key, and every key can be read."""
    keys = Counter(key for command in window.actions_by_id.commands.values() for key in command.keys)
    assert [key for key, count in keys.items() if count > 1] == []
    assert all(not QKeySequence(key).isEmpty() for key in keys)


def test_keys_reach_their_commands(qtbot: QtBot, opened: MainWindow) -> None:
    """Space pauses while the canvas has the focus, and Ctrl+Z undoes."""
    opened.activateWindow()
    opened.canvas.setFocus()
    qtbot.keyClick(opened.canvas.focusProxy() or opened.canvas, Qt.Key.Key_Space)
    assert not opened.session.running
    patch_of(opened).set("every", gain=2.0)
    qtbot.waitUntil(opened.actions_by_id["undo"].isEnabled)
    qtbot.keyClick(opened, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert patch_of(opened).value("every", "gain") == 1.0


def test_space_presses_a_focused_check_box(qtbot: QtBot, opened: MainWindow) -> None:
    """Space presses a check box that has the focus instead of pausing."""
    from warploom.app.inspector.parameter_editors import BoolEditor

    opened.canvas.select(["every"])
    editor = opened.inspector.editor("on")
    assert isinstance(editor, BoolEditor)
    editor.check.setFocus()
    qtbot.keyClick(editor.check, Qt.Key.Key_Space)
    assert patch_of(opened).value("every", "on") is False
    assert opened.session.running


def test_space_in_a_number_box_pauses_unless_text_is_typed(qtbot: QtBot, opened: MainWindow) -> None:
    """Space in a number box whose number was entered pauses; inside an expression it is a space."""
    opened.canvas.select(["every"])
    editor = opened.inspector.editor("gain")
    assert isinstance(editor, NumberEditor)
    editor.box.setFocus()
    editor.box.selectAll()
    qtbot.keyClicks(editor.box, "1 + 2")
    qtbot.keyClick(editor.box, Qt.Key.Key_Return)
    assert opened.session.running
    assert patch_of(opened).value("every", "gain") == 3.0
    qtbot.keyClick(editor.box, Qt.Key.Key_Space)
    assert not opened.session.running


def test_undo_in_a_number_box_undoes_the_patch(qtbot: QtBot, opened: MainWindow) -> None:
    """Ctrl+Z in a number box whose number was entered undoes the edit, not the typing."""
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


def test_shortcuts_are_listed(qtbot: QtBot, window: MainWindow) -> None:
    """The list of shortcuts contains every command with keys."""
    from PySide6.QtWidgets import QDialog, QTreeWidget

    window.actions_by_id["shortcuts"].trigger()
    (dialog,) = window.findChildren(QDialog)
    rows = dialog.findChildren(QTreeWidget)[0]
    names = {rows.topLevelItem(i).text(0) for i in range(rows.topLevelItemCount())}  # type: ignore[union-attr]  # in range
    assert {"Play or pause", "Undo", "Add block"} <= names
    dialog.close()
