"""The memory dock: a bar for each buffer, and the selection in both directions."""

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from tests.runtime.check.pinning import moving
from warploom.app.docks.plan.memory import Memory
from warploom.app.window.main_window import MainWindow
from warploom.engine.patch.editing.history import History


@pytest.mark.feature("memory", "buffers")
def test_buffers_are_bars_and_a_click_selects_their_block(qtbot: QtBot, real_window: MainWindow) -> None:
    """Each buffer of the running graph has a row with a bar in its time; a click selects its block, and back."""
    window, patch = real_window, moving(100)
    patch.history = History()
    window.session.set_running(False)
    dock = window.reveal(Memory)
    assert dock.currentIndex() == 0 and "No buffers yet" in dock.hint.text()
    window.session.replace(patch)
    window.reveal(Memory)
    window.session.step()
    qtbot.waitUntil(lambda: dock.view.plan is not None)
    view = dock.view
    assert window.session.engine is not None and view.plan == window.session.engine.plan()
    names = [buffer.name for buffer in view.rows]
    assert {"data.out", "total.out"} <= set(names) and "buffers:" in dock.summary.text()
    bars = [view.bar(row) for row in range(len(view.rows))]
    assert all(bar.left() >= 0 and bar.right() <= view.width() for bar in bars)

    row = names.index("total.out")
    QTest.mouseClick(view, Qt.MouseButton.LeftButton, pos=bars[row].center().toPoint() + QPoint(0, 1))
    assert window.canvas.selected() == ["total"] and view.chosen is view.rows[row]
    assert view.tooltip(row).startswith("total.out: ")
    QTest.keyClick(view, Qt.Key.Key_Up if row else Qt.Key.Key_Down)
    assert view.chosen is not view.rows[row]
    window.canvas.select(["data"])
    assert view.chosen is not None and view.chosen.node == "data"
