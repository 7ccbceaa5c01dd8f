"""Viewers have different titles, of what they show."""

from __future__ import annotations

from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QTabBar

from warploom.engine.patch.document import Patch


@pytest.fixture
def window(shared_window: Any) -> Any:
    """One window for all tests of this file."""
    return shared_window


def test_no_two_viewers_have_the_same_title(window: Any) -> None:
    """A viewer's title contains the node's id exactly while another viewer has the same name."""
    patch = Patch()
    for name in ("a", "b", "c"):
        patch.add("test_app.screen", node_id=name)
    patch.rename("c", "Result")
    window.session.replace(patch)

    def titles() -> dict[str, str]:
        return {node: dock.windowTitle() for node, dock in window.viewers.docks.items()}

    kind = patch.title("a")
    assert titles() == {"a": f"{kind} · a", "b": f"{kind} · b", "c": "Result"}
    patch.rename("a", "Result")
    assert titles() == {"a": "Result · a", "b": kind, "c": "Result · c"}
    patch.remove("c")
    assert titles() == {"a": "Result", "b": kind}
    patch.undo()
    assert len(set(titles().values())) == 3


def test_viewers_have_the_titles_of_what_they_show(window: Any) -> None:
    """Several viewers without their own titles have those of the blocks that feed them; long ones keep both ends."""
    patch = Patch()
    for name in ("sea", "sky"):
        picture = patch.add("test_app.picture", node_id=name, title=f"A long picture of the {name}")
        patch.connect(picture["out"], patch.add("test_app.screen", node_id=f"{name} screen")["image"])
    window.session.replace(patch)
    docks = window.viewers.docks
    assert docks["sea screen"].windowTitle() == "A long picture of the sea"
    patch.rename("sea", "Sea")
    assert docks["sea screen"].windowTitle() == "Sea"
    patch.disconnect(patch.connections[-1])
    assert docks["sky screen"].windowTitle() == patch.title("sky screen")
    patch.rename("sea screen", "Result")
    assert docks["sea screen"].windowTitle() == "Result"
    bars = [bar for bar in window.findChildren(QTabBar) if "Result" in map(bar.tabText, range(bar.count()))]
    assert [bar.elideMode() for bar in bars] == [Qt.TextElideMode.ElideMiddle]
    assert bars[0].tabToolTip(0) == bars[0].tabText(0)
