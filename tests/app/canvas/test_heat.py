"""The heat map on the canvas, and the sizes on connections."""

from typing import Any

import pytest
from PySide6.QtCore import QPoint, QPointF
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from tests.app.app_support import make_report
from tests.app.canvas.canvas_support import Hand
from warploom.app.canvas.canvas import Canvas
from warploom.app.canvas.reports.heat_legend import HeatLegend
from warploom.app.theme.apply import apply_theme
from warploom.app.theme.colours import current, heat_colour
from warploom.app.view_models.profile.heat import DEGREES
from warploom.engine.patch.changes import Connection, PortRef
from warploom.engine.profiling.levels import ProfilingLevel
from warploom.engine.protocol.messages import BufferReport, EngineStatistics, FrameReport, NodeReport, NodeState

LINE = Connection(PortRef("source", "out"), PortRef("scale", "x"))


def timed(**times_ns: int) -> FrameReport:
    """Return a report of a frame of 1 ms with these times of nodes."""
    statistics = EngineStatistics("host", work_ns=1_000_000, profiling=ProfilingLevel.PER_BLOCK)
    nodes = {node: NodeReport("t", NodeState.OK, "", time_ns, 1) for node, time_ns in times_ns.items()}
    return make_report(nodes=nodes, statistics=statistics)


def body_of(canvas: Canvas, node: str) -> str:
    """Return the colour of a node's body, at a point without text."""
    canvas.view.centerOn(canvas.scene.nodes[node].place.center())
    QApplication.processEvents()
    place = canvas.scene.nodes[node].place
    corner = QPointF(2, -3.5) / canvas.view.zoom
    position: QPoint = canvas.view.mapFromScene(place.bottomLeft() + corner)
    return canvas.view.viewport().grab().toImage().pixelColor(position).name()


@pytest.mark.parametrize("theme", ["dark", "light"])
@pytest.mark.parametrize("zoom", [1.0, 0.3])
def test_nodes_have_the_colour_of_their_share(canvas: Canvas, qapp: QApplication, theme: str, zoom: float) -> None:
    """The heat map colours nodes by their share, at any zoom and in both themes."""
    apply_theme(qapp, theme)
    canvas.view.set_zoom(zoom)
    canvas.show_report(timed(scale=1_000_000, source=250_000))
    plain = body_of(canvas, "scale")
    canvas.display.show_heat(True)
    assert body_of(canvas, "scale") == heat_colour(1.0) != plain
    assert body_of(canvas, "source") == heat_colour(0.5)
    assert body_of(canvas, "count") == heat_colour(0.0)
    canvas.display.show_heat(False)
    assert body_of(canvas, "scale") == plain
    apply_theme(qapp, "dark")


def test_heat_stays_when_the_patch_is_shown_anew(canvas: Canvas) -> None:
    """When the patch is set again, heat colours and the legend return with the first report."""
    canvas.display.show_heat(True)
    canvas.show_report(timed(scale=1_000_000))
    legend = canvas.findChild(HeatLegend)
    assert legend is not None
    assert (legend.isVisible(), legend.text()) == (True, "Share of the frame's work, 1.00 ms")
    patch = canvas.patch
    canvas.set_patch(patch)
    assert not legend.isVisible()
    canvas.show_report(timed(scale=1_000_000))
    assert canvas.scene.nodes["scale"].appearance.degree == DEGREES
    assert legend.isVisible()
    canvas.display.show_heat(False)
    assert not legend.isVisible()


def test_only_nodes_whose_heat_changes_are_painted_again(hand: Hand, qtbot: QtBot) -> None:
    """When zoomed out, where times are not painted, a jitter of 1 % repaints nothing."""
    hand.canvas.view.set_zoom(0.3)
    hand.canvas.display.show_heat(True)
    hand.canvas.show_report(timed(scale=500_000, source=100_000))
    qtbot.wait(50)
    changes: list[Any] = []
    hand.scene.changed.connect(changes.append)
    hand.canvas.show_report(timed(scale=505_000, source=100_000))
    qtbot.wait(250)
    assert hand.scene.nodes["scale"].appearance.badge == "0.51 ms"
    assert not changes
    hand.canvas.show_report(timed(scale=900_000, source=100_000))
    qtbot.waitUntil(lambda: bool(changes))
    areas = [area for change in changes for area in change]
    assert not any(area.intersects(hand.scene.nodes["source"].place) for area in areas)


def is_labelled(canvas: Canvas) -> bool:
    """Return whether a label covers the middle of the connection."""
    canvas.view.centerOn(canvas.scene.connections[LINE].path().pointAtPercent(0.5))
    QApplication.processEvents()
    middle = canvas.view.mapFromScene(canvas.scene.connections[LINE].path().pointAtPercent(0.5))
    image = canvas.view.viewport().grab().toImage()
    return any(
        image.pixelColor(middle + QPoint(dx, 0)).name() == current().canvas for dx in range(-14, 15)
    )  # the label's background, which interrupts the line


@pytest.mark.parametrize(("zoom", "selected", "expected"), [(1.0, False, False), (1.5, False, True), (0.6, True, True)])
def test_a_connection_tells_its_bytes_from_near_or_when_selected(
    canvas: Canvas, zoom: float, selected: bool, expected: bool
) -> None:
    """A connection shows its bytes when zoomed in or selected, since at 100 % a patch would be full of numbers."""
    canvas.show_report(make_report(buffers={"source.out": BufferReport("f32", (64,), 256, 512)}))
    assert canvas.scene.connections[LINE].appearance.size == "256 B"
    canvas.view.set_zoom(zoom)
    canvas.scene.connections[LINE].setSelected(selected)
    assert is_labelled(canvas) is expected


def test_a_label_never_covers_the_ports(canvas: Canvas) -> None:
    """A short connection shows its label only at a zoom at which the label covers no port."""
    patch = canvas.patch
    assert patch is not None
    scale, source = canvas.scene.nodes["scale"], canvas.scene.nodes["source"]
    patch.move("scale", (source.place.right() + 40, source.y()))
    assert scale.x() == source.place.right() + 40
    canvas.show_report(make_report(buffers={"source.out": BufferReport("f32", (64,), 3_200_000, 3_200_000)}))
    canvas.view.set_zoom(1.3)
    assert not is_labelled(canvas)
    canvas.view.set_zoom(2.4)
    assert is_labelled(canvas)


def test_an_append_buffers_label_follows_its_count(canvas: Canvas, qtbot: QtBot) -> None:
    """The label of an append buffer shows its count and capacity; a fused buffer has no label."""
    line = canvas.scene.connections[LINE]
    buffer = BufferReport("f32", (100_000,), 400_000, 400_000)
    canvas.show_report(make_report(buffers={"source.out": buffer}, counts={"source.out": 45_231}))
    assert line.appearance.size == "45,231 of 100,000"
    canvas.show_report(make_report(buffers={"source.out": buffer}, counts={"source.out": 45_232}))
    qtbot.waitUntil(lambda: line.appearance.size == "45,232 of 100,000")
    fused = BufferReport("f32", (64,), 256, 256, lifetime="fused")
    canvas.show_report(make_report(buffers={"source.out": fused}))
    qtbot.waitUntil(lambda: line.appearance.size == "")
