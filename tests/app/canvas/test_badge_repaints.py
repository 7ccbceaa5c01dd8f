"""New times cost no painting where nobody can see them."""

from __future__ import annotations

from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from engine.protocol.messages import NodeState
from tests.app.canvas.canvas_support import Hand
from tests.app.sample_blocks import make_node_report, make_report


@pytest.mark.parametrize(("zoom", "is_repainted"), [(1.0, True), (0.3, False)])
def test_a_time_is_repainted_only_where_it_can_be_read(
    hand: Hand, qtbot: QtBot, zoom: float, is_repainted: bool
) -> None:
    """Far away, times are not drawn; the node knows its time nevertheless and shows it as soon as one zooms in."""
    hand.canvas.set_zoom(zoom)
    qtbot.wait(50)  # what the zoom repaints
    changes: list[Any] = []
    hand.scene.changed.connect(changes.append)
    hand.canvas.show_report(make_report({"scale": make_node_report(NodeState.OK, 610_000)}))
    qtbot.wait(50)
    assert hand.scene.nodes["scale"].appearance.badge == "0.61 ms"
    assert bool(changes) is is_repainted


def test_a_state_is_repainted_however_far_away(hand: Hand, qtbot: QtBot) -> None:
    """An error's outline shows at every zoom, and at once."""
    hand.canvas.set_zoom(0.3)
    qtbot.wait(50)
    with qtbot.waitSignal(hand.scene.changed, timeout=60_000):
        hand.canvas.show_report(make_report({"scale": make_node_report(NodeState.ERROR, message="no")}))
