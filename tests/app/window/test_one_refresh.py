"""However many blocks an edit touches, each part of the window is refreshed once."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from tests.app.app_support import move_pointer
from warploom.app.inspector.inspector import Inspector
from warploom.app.inspector.parameter_editors import NumberEditor
from warploom.app.inspector.parameter_row import ParameterRow
from warploom.engine.patch.document import Patch

TYPE = "test_app.every_parameter"
Press = Callable[[Qt.Key], None]


@pytest.fixture
def window(shared_window: Any) -> Any:
    """One window for all tests of this file."""
    return shared_window


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Counts how often the inspector is built, and how often one of its rows is refreshed."""
    counted: Counter[str] = Counter()

    def count(owner: type, name: str) -> None:
        original = getattr(owner, name)

        def call(*arguments: Any) -> Any:
            counted[name] += 1
            return original(*arguments)

        monkeypatch.setattr(owner, name, call)

    count(Inspector, "_take")
    count(NumberEditor, "show_values")
    count(ParameterRow, "show_driven")
    return counted


def fill(window: Any, count: int) -> Patch:
    """Open a patch with a chain of blocks, and a wave that drives none of them yet."""
    patch = Patch()
    before = None
    for index in range(count):
        block = patch.add(TYPE, node_id=f"n{index}", position=(index % 20 * 200.0, index // 20 * 200.0))
        if before is not None:
            patch.connect(before["out"], block["x"])
        before = block
    window.session.replace(patch)
    window.canvas.fit()
    return patch


@pytest.fixture
def press(window: Any) -> Press:
    """Press a key over the canvas, with Ctrl for letters."""

    def press_key(key: Qt.Key) -> None:
        control = Qt.KeyboardModifier.ControlModifier if key < Qt.Key.Key_Escape else Qt.KeyboardModifier.NoModifier
        QTest.keyClick(window.canvas.view, key, control)
        QApplication.processEvents()  # enables undo and redo
        assert window.inspector.rows is not None  # the page is complete

    return press_key


@pytest.mark.parametrize("count", [2, 7, 60])
def test_deleting_and_restoring_many_blocks_is_one_refresh(
    window: Any, press: Press, calls: Counter[str], count: int
) -> None:
    """Deleting and restoring many blocks signals each selection once. Only a new selection builds the inspector."""
    patch = fill(window, count)
    told: list[list[str]] = []
    window.canvas.selection_changed.connect(told.append)
    press(Qt.Key.Key_A)
    assert (len(told), calls["_take"]) == (1, 1)
    press(Qt.Key.Key_Delete)
    assert not patch.nodes
    assert told[1:] == [[]]
    assert window.inspector.nodes == []
    press(Qt.Key.Key_Z)
    assert len(patch.nodes) == count
    press(Qt.Key.Key_Y)
    assert not patch.nodes
    assert (len(told), calls["_take"]) == (2, 1)


@pytest.mark.parametrize("count", [2, 60])
def test_setting_a_parameter_of_many_blocks_refreshes_its_row_once(
    window: Any, press: Press, calls: Counter[str], count: int
) -> None:
    """Setting a parameter of many blocks refreshes its row once, after the last change."""
    patch = fill(window, count)
    press(Qt.Key.Key_A)
    calls.clear()
    window.inspector.editor("gain").edited.emit(3.0)
    assert {node.parameters["gain"] for node in patch.nodes.values()} == {3.0}
    assert calls == {"show_values": 1}


def test_a_value_that_drives_many_blocks_refreshes_each_row_once(
    window: Any, press: Press, calls: Counter[str]
) -> None:
    """Driving sixty blocks in one edit refreshes the row of each parameter once."""
    patch = fill(window, 60)
    wave = patch.add("value.lfo", node_id="wave")
    press(Qt.Key.Key_A)
    window.canvas.select([f"n{index}" for index in range(60)])
    assert window.inspector.rows
    calls.clear()
    with patch.edit("Drive"):
        for index in range(60):
            patch.connect(wave["value"], patch[f"n{index}"]["gain"])
    assert calls["show_driven"] == 1


def test_a_rubber_band_tells_the_selection_when_it_is_released(window: Any) -> None:
    """Blocks in a rubber band are marked at each move, and the panels are refreshed once, at the release."""
    fill(window, 60)
    QApplication.processEvents()
    viewport = window.canvas.view.viewport()
    told: list[list[str]] = []
    window.canvas.selection_changed.connect(told.append)
    QTest.mousePress(viewport, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, QPoint(2, 2))
    marked = []
    for step in range(1, 9):
        corner = QPoint(viewport.width() * step // 8 - 3, viewport.height() * step // 8 - 3)
        move_pointer(viewport, corner, Qt.MouseButton.LeftButton)
        marked.append(len(window.canvas.selected()))
    assert marked == sorted(marked)
    assert 0 < marked[4] < marked[-1] == 60
    assert told == []
    QTest.mouseRelease(viewport, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, corner)
    assert [len(nodes) for nodes in told] == [60]


def test_a_click_on_nothing_still_clears_the_selection(window: Any, press: Press) -> None:
    """A click on the empty canvas clears the selection."""
    fill(window, 3)
    press(Qt.Key.Key_A)
    assert window.inspector.nodes
    QTest.mouseClick(window.canvas.view.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(2, 2))
    assert window.inspector.nodes == []
