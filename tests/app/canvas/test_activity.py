"""Connections show whether data flows; only a change of that repaints them."""

import pytest
from pytestqt.qtbot import QtBot

from tests.app.app_support import make_report
from tests.app.window.window_support import engine_of, patch_of
from warploom.app.view_models.activity import Activity, activity_of, stopped_nodes
from warploom.app.window.main_window import MainWindow
from warploom.engine.patch.changes import Connection, PortRef
from warploom.engine.protocol.messages import NodeReport, NodeState

WIRE = Connection(PortRef("a", "out"), PortRef("b", "x"))
OK = NodeReport("t", NodeState.OK)


@pytest.mark.parametrize(
    ("source", "target", "is_launched", "found"),
    [
        (OK, OK, True, Activity.RUNS),
        (OK, OK, False, Activity.STILL),
        (OK, NodeReport("t", NodeState.OK, is_skipped=True), True, Activity.ASLEEP),
        (NodeReport("t", NodeState.OK, is_skipped=True), OK, False, Activity.ASLEEP),
        (NodeReport("t", NodeState.IDLE), OK, True, Activity.ASLEEP),
        (NodeReport("t", NodeState.ERROR), NodeReport("t", NodeState.IDLE), True, Activity.ERROR),
        (OK, NodeReport("t", NodeState.ERROR), True, Activity.RUNS),
    ],
)
def test_the_state_of_its_blocks_decides(
    source: NodeReport, target: NodeReport, is_launched: bool, found: Activity
) -> None:
    report = make_report(nodes={"a": source, "b": target})
    flowing = Activity.RUNS if is_launched else Activity.STILL
    assert activity_of(WIRE, stopped_nodes(report), flowing) is found


@pytest.mark.feature("activity")
def test_wires_run_stand_still_and_sleep(opened: MainWindow, qtbot: QtBot) -> None:
    """A launch between two reports means running; W turns the display off."""
    engine, canvas = engine_of(opened), opened.canvas
    (line,) = canvas.scene.connections.values()
    repainted: list[object] = []
    line.layer.repaint = lambda *areas: repainted.append(areas)  # type: ignore[method-assign]

    def report(launches: int, *, running: bool = True, skipped: bool = False) -> None:
        node = NodeReport("test_app.screen", NodeState.OK, is_skipped=skipped)
        engine.reports.append(make_report(launches=launches, running=running, nodes={"screen": node}))
        opened.bridge.poll()

    for launches in (1, 2, 3):
        report(launches)
        qtbot.wait(1)
        canvas.display._show_measured()
    assert line.appearance.activity is Activity.RUNS and not repainted
    report(3)
    canvas.display._show_measured()
    assert line.appearance.activity is Activity.STILL and len(repainted) == 1
    canvas.display._show_measured()
    report(4, skipped=True)
    canvas.display._show_measured()
    assert line.appearance.activity is Activity.ASLEEP
    report(5, running=False)
    canvas.display._show_measured()
    assert line.appearance.activity is Activity.STILL
    opened.actions_by_id["activity"].trigger()
    assert line.appearance.activity is Activity.RUNS and not opened.state.shows_activity
    assert patch_of(opened).history.undo_name is None
