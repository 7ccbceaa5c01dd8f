"""Viewers with the same name have different titles."""

from __future__ import annotations

from typing import Any

from engine.patch.document import Patch


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
    assert titles() == {"a": f"{kind} (a)", "b": f"{kind} (b)", "c": "Result"}
    patch.rename("a", "Result")
    assert titles() == {"a": "Result (a)", "b": kind, "c": "Result (c)"}
    patch.remove("c")
    assert titles() == {"a": "Result", "b": kind}
    patch.undo()
    assert len(set(titles().values())) == 3
