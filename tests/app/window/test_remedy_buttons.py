"""Buttons beside the pointer, in the problem list and in the inspector fix problems."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog, QLineEdit, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from tests.app.app_support import move_pointer
from tests.app.canvas.canvas_support import Hand
from warploom import engine
from warploom.app.canvas.notice import CanvasNotice
from warploom.app.canvas.search.search_popup import SearchPopup
from warploom.app.docks.problems import Problems
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.document import Patch
from warploom.engine.protocol.messages import NodeState


def buttons(part: QWidget | None) -> dict[str, QPushButton]:
    """Return the visible remedy buttons of a part of the window, by their texts."""
    assert part is not None
    found = part.findChildren(QPushButton, "remedy")
    return {button.text(): button for button in found if button.isVisible()}


def click(button: QPushButton) -> None:
    """Click with the mouse."""
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)


@pytest.fixture
def patch(real_window: Any, qtbot: QtBot) -> Patch:
    """An image that is connected to a mix, with a viewer, in a window with a real engine."""
    patch = Patch()
    noise = patch.add("image.noise", node_id="noise", width=8, height=6)
    mix = patch.add("image.mix", node_id="mix", position=(240, 0))
    patch.add("io.viewer", node_id="viewer", position=(480, 0))
    patch.connect(noise["out"], mix["a"])
    patch.connect(mix["out"], PortRef("viewer", "image"))
    real_window.session.replace(patch)
    qtbot.waitUntil(lambda: real_window.canvas.display.report is not None)  # the window is laid out then
    real_window.canvas.fit()
    return patch


def state(window: Any, node: str) -> NodeState | None:
    """Return a node's state on the canvas."""
    report = window.canvas.display.report
    known = report is not None and node in report.nodes
    return window.canvas.scene.nodes[node].appearance.state if known else None


def test_a_loop_is_closed_by_the_button_beside_the_pointer(real_window: Any, patch: Patch, qtbot: QtBot) -> None:
    """The button beside the pointer inserts a Frame Delay into a refused loop. The loop runs, and undo removes it."""
    window, hand = real_window, Hand(real_window.canvas)
    assert hand.canvas.isVisible()
    hand.drag(hand.port("mix", "out", is_input=False), hand.port("mix", "b", is_input=True))
    notice = window.canvas.findChild(CanvasNotice)
    assert "close a cycle" in notice.text() and "close a cycle" in window.statusBar().currentMessage()
    click(buttons(notice)["Insert Frame Delay"])
    assert not notice.isVisible()
    qtbot.waitUntil(lambda: not window.statusBar().currentMessage())  # the refusal goes with the edit
    assert patch.source_of(PortRef("mix", "b")) == PortRef("frame_delay", "out")
    qtbot.waitUntil(lambda: state(window, "mix") is NodeState.OK)
    assert window.docks.widget(Problems).list.topLevelItemCount() == 0
    window.session.undo()
    assert "frame_delay" not in patch.nodes


def test_a_new_block_is_incomplete_and_asks_for_its_inputs(real_window: Any, patch: Patch, qtbot: QtBot) -> None:
    """A new block with missing inputs is incomplete, not in error. Its button searches for a block that fits."""
    window = real_window
    qtbot.waitUntil(lambda: state(window, "mix") is NodeState.INCOMPLETE)
    window.canvas.select(["mix"])
    assert "error" not in window.problem_count.text()
    assert window.problem_count.text() == "1 incomplete"
    qtbot.waitUntil(lambda: bool(buttons(window.inspector)))
    assert list(buttons(window.inspector)) == ["Add a block for b …"]
    window.docks.reveal("problems")
    (button,) = buttons(window.docks.widget(Problems)).values()
    assert button.text() == "Add a block for b …"
    qtbot.waitUntil(lambda: button.width() >= button.sizeHint().width())
    click(buttons(window.inspector)["Add a block for b …"])
    popup = window.canvas.findChild(SearchPopup)
    assert popup.isVisible()
    field = popup.findChild(QLineEdit)
    qtbot.keyClicks(field, "checker")
    qtbot.keyClick(field, Qt.Key.Key_Return)
    assert patch.source_of(PortRef("mix", "b")) is not None
    qtbot.waitUntil(lambda: state(window, "mix") is NodeState.OK)
    qtbot.waitUntil(lambda: not buttons(window.inspector))


def test_a_waiting_block_says_what_it_waits_for(real_window: Any, patch: Patch, qtbot: QtBot) -> None:
    """A block behind an incomplete one names it, and an independent block runs."""
    window = real_window
    free = patch.add("image.gradient", node_id="free", position=(0, 200))
    qtbot.waitUntil(lambda: state(window, free.id) is NodeState.OK)
    said = {node: report.message for node, report in window.canvas.display.report.nodes.items()}
    assert said["viewer"] == "not running: it waits for mix, which is incomplete"
    assert said["free"] == said["noise"] == ""


def test_a_notice_with_a_button_stays_while_the_pointer_goes_there(real_window: Any, patch: Patch) -> None:
    """A notice with a button stays while the pointer moves, and disappears at the next press."""
    hand = Hand(real_window.canvas)
    hand.drag(hand.port("mix", "out", is_input=False), hand.port("mix", "b", is_input=True))
    notice = real_window.canvas.findChild(CanvasNotice)
    move_pointer(hand.view.viewport(), QPoint(notice.x() + 5, notice.y() - 5))
    assert notice.isVisible()
    QTest.mouseClick(hand.view.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(3, 3))
    assert not notice.isVisible()


@pytest.mark.parametrize(
    ("type_id", "title"),
    [
        ("io.load_image", "Choose a file …"),
        ("io.load_images", "Choose a folder …"),
        ("kernel.file", "Choose a file …"),
        ("kernel.cuda", "Write the code …"),
    ],
)
def test_a_block_without_its_file_is_incomplete(
    real_window: Any, patch: Patch, qtbot: QtBot, type_id: str, title: str
) -> None:
    """A block without its file is incomplete, without an error; its button is in the inspector and the problem list."""
    window = real_window
    node = patch.add(type_id, node_id="new", position=(0, 300), **({"code": ""} if type_id == "kernel.cuda" else {})).id
    qtbot.waitUntil(lambda: state(window, node) is NodeState.INCOMPLETE)
    window.canvas.select([node])
    qtbot.waitUntil(lambda: title in buttons(window.inspector))
    window.docks.reveal("problems")
    assert title in buttons(window.docks.widget(Problems))
    assert "error" not in window.problem_count.text()


def test_the_button_of_a_missing_file_asks_for_it(
    real_window: Any, patch: Patch, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The button of a missing file opens a file dialog, and the chosen file runs."""
    window = real_window
    file = Path(engine.__file__).parents[1] / "kernels" / "saxpy.cu"
    asked: list[str] = []
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *said: asked.append(said[-1]) or (str(file), ""))
    patch.add("kernel.file", node_id="new", position=(0, 300))
    window.docks.reveal("problems")
    qtbot.waitUntil(lambda: "Choose a file …" in buttons(window.docks.widget(Problems)))
    click(buttons(window.docks.widget(Problems))["Choose a file …"])
    assert "*.cu" in asked[0]
    qtbot.waitUntil(lambda: patch.value("new", "file") == str(file))
    assert window.canvas.selected() == ["new"]
    qtbot.waitUntil(lambda: ("x", True) in window.canvas.scene.nodes["new"].ports)
