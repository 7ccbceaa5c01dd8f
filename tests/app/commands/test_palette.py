"""The command palette."""

from typing import Any

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from warploom.app.widgets.chooser import Choice, matching
from warploom.app.window.main_window import MainWindow


@pytest.fixture
def window(shared_window: Any) -> Any:
    """One window for all tests of this file."""
    return shared_window


def test_every_command_can_be_found_and_run(qtbot: QtBot, opened: MainWindow) -> None:
    """Ctrl+Shift+P opens the palette, typing finds a command, Enter runs it, and the focus returns."""
    opened.activateWindow()
    opened.canvas.setFocus()
    opened.actions_by_id["palette"].trigger()
    chooser = opened.chooser
    assert chooser.isVisible() and chooser.field.hasFocus()
    names = {command.name for command in opened.actions_by_id.commands.values()}
    shown = {text.removesuffix(" …") for text in chooser.texts()}
    assert names - shown == {"Play or pause"} and "Pause" in shown  # this one says what it would do
    qtbot.keyClicks(chooser.field, "select all")
    assert chooser.texts()[0] == "Select all"
    qtbot.keyClick(chooser.field, Qt.Key.Key_Return)
    assert not chooser.isVisible() and opened.canvas.view.hasFocus()
    assert len(opened.canvas.selected()) == 3


def test_a_command_that_is_not_possible_now_is_last_and_does_nothing(qtbot: QtBot, opened: MainWindow) -> None:
    """Commands whose needs are not met are listed last, and Enter on one keeps the palette open."""
    opened.show_palette()
    qtbot.keyClicks(opened.chooser.field, "duplicate")
    assert opened.chooser.texts()[0] == "Duplicate"
    qtbot.keyClick(opened.chooser.field, Qt.Key.Key_Return)
    assert opened.chooser.isVisible()
    qtbot.keyClick(opened.chooser.field, Qt.Key.Key_Escape)
    assert not opened.chooser.isVisible()


def test_matches_at_starts_of_words_come_first() -> None:
    """Choices that begin with the text come before those with a word that begins with it, then others."""
    choices = [Choice(text, print) for text in ("Unfit", "Do fit", "Fit patch", "Other")]
    assert [choice.text for choice in matching(choices, "fit")] == ["Fit patch", "Do fit", "Unfit"]
    assert [choice.text for choice in matching(choices, "patch fit")] == ["Fit patch"]


def test_help_and_words_of_other_tools_find_commands(opened: MainWindow) -> None:
    """What a command's help says finds it, after those that have the word in their name."""
    opened.show_palette()
    for typed, name in (("render", "Save outputs"), ("all save blocks", "Save outputs"), ("keyframes", "Timeline")):
        opened.chooser.field.setText(typed)
        assert name in opened.chooser.texts()
    choices = [Choice("Other", print, words="fit all"), Choice("Fit", print)]
    assert [choice.text for choice in matching(choices, "fit")] == ["Fit", "Other"]
