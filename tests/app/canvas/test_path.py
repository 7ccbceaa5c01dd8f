"""The critical path on the canvas."""

from typing import Any

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from tests.app.app_support import make_report
from tests.profiling.spans import span
from warploom.app.canvas.canvas import Canvas
from warploom.app.canvas.reports.heat_legend import HeatLegend
from warploom.app.theme.apply import apply_theme
from warploom.app.theme.colours import current
from warploom.engine.patch.changes import Connection, PortRef
from warploom.engine.profiling.levels import ProfilingLevel
from warploom.engine.profiling.profile import Profile
from warploom.engine.protocol.messages import EngineStatistics, FrameReport, NodeReport, NodeState

LINE = Connection(PortRef("source", "out"), PortRef("scale", "x"))
PROFILE = Profile(
    1,
    ProfilingLevel.PER_BLOCK,
    400_000,
    None,
    0,
    0,
    (span("source", busy_ns=100_000), span("scale", busy_ns=250_000, after=(0,)), span("count", busy_ns=50_000)),
)


def report() -> FrameReport:
    """Return a report of a profiling level that measures blocks."""
    return make_report(statistics=EngineStatistics("host", profiling=ProfilingLevel.PER_BLOCK))


def shown(canvas: Canvas) -> tuple[dict[str, bool], dict[str, str]]:
    """Return which nodes are marked, and the slack of the other nodes."""
    looks = {node: view.appearance for node, view in canvas.scene.nodes.items()}
    return {node: look.on_path for node, look in looks.items()}, {node: look.slack for node, look in looks.items()}


@pytest.mark.parametrize("theme", ["dark", "light"])
@pytest.mark.parametrize("zoom", [1.0, 0.3])
def test_the_path_is_drawn_over_nodes_and_connections(
    canvas: Canvas, qapp: QApplication, theme: str, zoom: float
) -> None:
    """The critical path is drawn over nodes and connections at any zoom, in both themes, until it is switched off."""
    apply_theme(qapp, theme)
    canvas.view.set_zoom(zoom)
    canvas.show_report(report())
    canvas.path.show_path(True)
    canvas.path.show_profile(PROFILE)
    canvas.path.show_path(True)  # drops the last profile, which may be old
    assert shown(canvas)[0] == {"source": False, "scale": False, "count": False}
    canvas.path.show_profile(PROFILE)
    assert shown(canvas) == (
        {"source": True, "scale": True, "count": False},
        {"source": "", "scale": "", "count": "slack 300 µs"},
    )
    assert line_colour(canvas) == current().text
    assert canvas.path.isVisible()
    canvas.path.set_budget(100_000)
    assert "300 µs over the budget of 100 µs" in canvas.path.marks.text
    canvas.path.show_path(False)
    assert line_colour(canvas) != current().text
    assert not canvas.path.isVisible()
    apply_theme(qapp, "dark")


def line_colour(canvas: Canvas) -> str:
    """Return the colour of the connection's middle."""
    middle = canvas.scene.connections[LINE].path().pointAtPercent(0.5)
    canvas.view.centerOn(middle)
    QApplication.processEvents()
    place = canvas.view.mapFromScene(middle)
    return canvas.view.viewport().grab().toImage().pixelColor(place).name()


@pytest.mark.parametrize(("width", "is_beside"), [(400, False), (900, True)])
def test_legends_never_cover_each_other(canvas: Canvas, qtbot: QtBot, width: int, is_beside: bool) -> None:
    """The legends of heat and path are side by side, or one above the other in a narrow canvas."""
    canvas.resize(width, 500)
    canvas.display.show_heat(True)
    canvas.path.show_path(True)
    canvas.path.show_profile(PROFILE)
    statistics = EngineStatistics("host", work_ns=400_000, profiling=ProfilingLevel.PER_BLOCK)
    node = NodeReport("t", NodeState.OK, "", 100_000, 1)
    canvas.show_report(make_report(nodes={"source": node}, statistics=statistics))
    legend = canvas.findChild(HeatLegend)
    qtbot.waitUntil(lambda: legend.isVisible() and canvas.path.isVisible())
    qtbot.waitUntil(lambda: not legend.geometry().intersects(canvas.path.geometry()))
    assert (canvas.path.geometry().bottom() == legend.geometry().bottom()) is is_beside
    canvas.resize(1300 - width, 500)
    qtbot.waitUntil(lambda: not legend.geometry().intersects(canvas.path.geometry()))
    qtbot.waitUntil(lambda: (canvas.path.geometry().bottom() == legend.geometry().bottom()) is not is_beside)


def test_another_patch_begins_without_marks(canvas: Canvas) -> None:
    """A canvas that is given a patch starts without marks."""
    canvas.path.show_path(True)
    canvas.show_report(report())
    canvas.path.show_profile(PROFILE)
    canvas.set_patch(canvas.patch)
    assert not any(shown(canvas)[0].values())
    assert not canvas.path.isVisible()


def test_the_same_path_paints_nothing_again(canvas: Canvas, qtbot: QtBot) -> None:
    """Showing the same path again repaints nothing."""
    canvas.path.show_path(True)
    canvas.show_report(report())
    canvas.path.show_profile(PROFILE)
    qtbot.waitUntil(lambda: canvas.path.marks.nodes == {"source", "scale"})
    qtbot.wait(50)
    changes: list[Any] = []
    canvas.scene.changed.connect(changes.append)
    canvas.path.show_profile(PROFILE)
    canvas.show_report(report())
    qtbot.wait(600)
    assert not changes
