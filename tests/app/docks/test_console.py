"""The Python console."""

import importlib.util
import re
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from tests.app.window.window_support import engine_of, patch_of
from warploom.app.docks.console import PACKAGES, Console
from warploom.app.window.main_window import MainWindow
from warploom.engine.patch.files import dump_patch

pytestmark = pytest.mark.filterwarnings("ignore")  # those of IPython are not ours


def type_line(window: MainWindow, qtbot: QtBot, line: str) -> None:
    """Type a line at the next prompt."""
    field, console = window.focusWidget(), window.docks.widget(Console)
    qtbot.waitUntil(lambda: re.search(r"In \[\d+\]:\s*\Z", console.text()) is not None)
    assert field is not None
    QTest.keyClicks(field, line)
    QTest.keyClick(field, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    QTest.keyRelease(field, Qt.Key.Key_Shift)  # or else Shift counts as held in later tests


@pytest.mark.skipif(not all(map(importlib.util.find_spec, PACKAGES)), reason="needs the extra `console`")
@pytest.mark.feature("console")
def test_the_console_edits_the_open_patch(opened: MainWindow, qtbot: QtBot) -> None:
    """A line edits the patch in one undo step, even one that fails in the middle; names follow the selection."""
    window, patch, before = opened, patch_of(opened), dump_patch(patch_of(opened))
    window.activateWindow()
    window.canvas.select(["every"])
    window.actions_by_id["console"].trigger()
    console = window.docks.widget(Console)
    type_line(window, qtbot, "for n in range(4): patch.set(block, gain=float(n))")
    qtbot.waitUntil(lambda: patch.value("every", "gain") == 3.0)
    type_line(window, qtbot, "patch.add('test_app.picture', node_id='made'); 1 / 0")
    qtbot.waitUntil(lambda: "ZeroDivisionError" in console.text())
    names = patch.history.names
    assert names[0] == "Console: for n in range(4): patch.set(block, gain=float(n))" and len(names) == 2
    assert "made" in patch.nodes
    window.canvas.select(["screen", "picture"])
    type_line(window, qtbot, "print(sorted(each.id for each in blocks), client is not None, np.arange(3).sum())")
    qtbot.waitUntil(lambda: "['picture', 'screen'] True 3" in console.text())
    assert engine_of(window) is console.kernel.shell.user_ns["client"]
    type_line(window, qtbot, "patch.undo(), patch.undo()")
    qtbot.waitUntil(lambda: dump_patch(patch) == before)
    window.session.replace(None)
    assert console.kernel.shell.user_ns["patch"] is None and console.currentIndex() == 0


def test_without_its_packages_the_dock_says_what_to_install(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without qtconsole, the dock shows the command that installs it."""
    find: Any = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "qtconsole" else find(name))
    console = Console()
    qtbot.addWidget(console)
    console.begin()
    assert "-m pip install 'qtconsole>=5.7'" in console.hint.text() and console.widget is None
