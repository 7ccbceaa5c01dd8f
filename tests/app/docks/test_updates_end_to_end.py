"""The updates list with a real engine on the host."""

import numpy as np
import pytest
from pytestqt.qtbot import QtBot

from warploom.app.docks.updates import Updates
from warploom.app.window.main_window import MainWindow
from warploom.engine.patch.document import Patch
from warploom.engine.patch.editing.history import History


def told(window: MainWindow) -> list[tuple[str, str, str, tuple[str, ...]]]:
    """Return each row's level, author, cause and nodes."""
    records = [row.record for row in window.docks.widget(Updates).rows.rows]
    return [(r.level.name, r.source, r.cause, r.nodes) for r in records]


@pytest.mark.feature("rebuilds")
def test_rebuilds_are_listed_with_their_blocks_and_drags_are_counted(qtbot: QtBot, real_window: MainWindow) -> None:
    """Adding a block makes a row, and a click on the row selects the block; undo makes another row; new values of a
    parameter only raise the count of HOT.
    """
    window, patch = real_window, Patch()
    source = patch.add("io.array", data=np.ones(64, np.float32))
    scale = patch.add("math.saxpy", node_id="scale")
    for port in ("x", "y"):
        patch.connect(source["out"], scale[port])
    patch.history = History()
    window.session.replace(patch)
    qtbot.waitUntil(lambda: told(window) == [("COLD", "engine", "first build", ())])

    patch.add("io.array", node_id="other", data=np.ones(3, np.float32))
    qtbot.waitUntil(lambda: len(told(window)) == 2)
    assert told(window)[1] == ("COLD", "edit", "block other", ("other",))
    window.docks.widget(Updates).table.clicked.emit(window.docks.widget(Updates).rows.index(1, 2))
    assert window.canvas.selected() == ["other"]
    window.session.undo()
    qtbot.waitUntil(lambda: len(told(window)) == 3)
    assert told(window)[2] == ("COLD", "undo", "removed block other", ("other",))

    patch.set("scale", a=3.0)
    qtbot.waitUntil(lambda: window.docks.widget(Updates).hot_label.text() == "Hot 1")
    patch.set("scale", a=4.0)
    qtbot.waitUntil(lambda: window.docks.widget(Updates).hot_label.text() == "Hot 2")
    assert len(told(window)) == 3
