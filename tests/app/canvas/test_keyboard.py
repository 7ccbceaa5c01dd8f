"""Blocks, connections and ports by the keyboard."""

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from tests.app import app_support  # noqa: F401  # declares its blocks
from warploom.app.canvas.canvas import Canvas
from warploom.engine.patch.changes import Connection, PortRef
from warploom.engine.patch.document import Patch

_CTRL = Qt.KeyboardModifier.ControlModifier


def shown(qtbot: QtBot) -> tuple[Canvas, Patch]:
    """Return a canvas with a picture, two screens below each other, and a slider far below."""
    canvas, patch = Canvas(), Patch()
    qtbot.addWidget(canvas)
    patch.add("test_app.picture", node_id="picture")
    patch.add("test_app.screen", node_id="a", position=(300, 0))
    patch.add("test_app.screen", node_id="b", position=(300, 200))
    patch.add("value.slider", node_id="slider", position=(0, 400))
    patch.add("test_app.every_parameter", node_id="every", position=(300, 400))
    canvas.set_patch(patch)
    canvas.resize(900, 700)
    canvas.show()
    canvas.setFocus()
    return canvas, patch


def test_ctrl_and_arrows_go_from_block_to_block(qtbot: QtBot) -> None:
    """Ctrl and an arrow select the next block in that direction, without a change of the zoom or the patch."""
    canvas, patch = shown(qtbot)
    zoom, seen = canvas.view.zoom, []
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Right, Qt.Key.Key_Down, Qt.Key.Key_Down, Qt.Key.Key_Left, Qt.Key.Key_Up):
        qtbot.keyClick(canvas.view, key, _CTRL)
        seen += canvas.selected()
    assert seen == ["picture", "a", "b", "every", "slider", "picture"]
    assert canvas.view.zoom == zoom
    assert patch.history.undo_name != "Move 1 node"


@pytest.mark.feature("keyboard")
def test_a_port_is_connected_without_the_mouse(qtbot: QtBot) -> None:
    """The connect command asks for a port, then for an end that fits, and makes one undo step."""
    canvas, patch = shown(qtbot)
    canvas.select(["picture"])
    canvas.keyboard.connect()
    chooser = canvas.keyboard.chooser
    assert chooser.texts() == ["out"]
    qtbot.keyClick(chooser.field, Qt.Key.Key_Return)
    assert chooser.isVisible()
    assert chooser.texts() == ["Screen", "Screen", "New block …"]
    qtbot.keyClick(chooser.field, Qt.Key.Key_Down)
    qtbot.keyClick(chooser.field, Qt.Key.Key_Return)
    assert patch.connections == [Connection(PortRef("picture", "out"), PortRef("b", "image"))]
    assert canvas.focusWidget() is canvas.view
    patch.undo()
    assert patch.connections == []


def test_a_parameter_is_driven_and_released_without_the_mouse(qtbot: QtBot) -> None:
    """A parameter can be connected to a value, and disconnected."""
    canvas, patch = shown(qtbot)
    canvas.select(["every"])
    canvas.keyboard.connect()
    chooser = canvas.keyboard.chooser
    qtbot.keyClicks(chooser.field, "gain")
    qtbot.keyClick(chooser.field, Qt.Key.Key_Return)
    qtbot.keyClicks(chooser.field, "slider")
    qtbot.keyClick(chooser.field, Qt.Key.Key_Return)
    gain = PortRef("every", "gain")
    assert patch.source_of(gain) == PortRef("slider", "value")
    canvas.keyboard.connect()
    qtbot.keyClicks(chooser.field, "gain")
    qtbot.keyClick(chooser.field, Qt.Key.Key_Return)
    qtbot.keyClicks(chooser.field, "disconnect")
    qtbot.keyClick(chooser.field, Qt.Key.Key_Return)
    assert patch.source_of(gain) is None


def test_connections_are_selected_one_after_the_other(qtbot: QtBot) -> None:
    """The command selects the next connection of the block each time, and begins again after the last one."""
    canvas, patch = shown(qtbot)
    one, two = (patch.connect(PortRef("picture", "out"), PortRef(node, "image")) for node in "ab")
    canvas.select(["picture"])
    seen = []
    for _ in range(3):
        canvas.keyboard.select_connection()
        seen += canvas.scene.selected_connections()
    assert len(seen) == 3 and seen[0] == seen[2] and set(seen) == {one, two}
    canvas.edits.delete()
    assert len(patch.connections) == 1
