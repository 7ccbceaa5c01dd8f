"""The engine's reports on the canvas."""

from typing import Any

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, QSize
from PySide6.QtGui import QColor, QHelpEvent
from PySide6.QtWidgets import QApplication, QToolTip
from pytestqt.qtbot import QtBot

from tests.app.canvas.canvas_support import Hand
from tests.app.sample_blocks import make_node_report, make_report
from warploom.app.canvas.canvas import Canvas
from warploom.app.canvas.drawing.node_painter import text_growth
from warploom.app.theme.apply import apply_theme
from warploom.app.theme.colours import DARK, LIGHT
from warploom.app.theme.fonts import SMALL
from warploom.app.widgets.tooltip import as_html
from warploom.engine.protocol.messages import BufferReport, NodeState


def pixels(canvas: Canvas, colour: str) -> int:
    """Return how many pixels of the canvas are close to a colour."""
    wanted = QColor(colour)
    image = canvas.grab().toImage()
    found = 0
    for y in range(image.height()):
        for x in range(image.width()):
            pixel = image.pixelColor(x, y)
            distance = abs(pixel.red() - wanted.red()) + abs(pixel.green() - wanted.green())
            found += distance + abs(pixel.blue() - wanted.blue()) <= 12
    return found


def test_an_error_is_outlined_in_the_error_colour(canvas: Canvas) -> None:
    """A node is outlined in the error colour only while it has an error."""
    canvas.resize(500, 300)
    assert pixels(canvas, DARK.error) == 0
    canvas.show_report(make_report({"scale": make_node_report(NodeState.ERROR, message="no")}))
    assert pixels(canvas, DARK.error) > 60
    canvas.show_report(make_report({"scale": make_node_report()}))
    assert pixels(canvas, DARK.error) == 0


def test_states_show_at_once_and_times_only_a_few_times_a_second(hand: Hand, qtbot: QtBot) -> None:
    """States are shown at once, times only a few times a second, and the last time always."""
    node = hand.scene.nodes["scale"]
    for time_ns in (420_000, 500_000, 610_000):
        hand.canvas.show_report(make_report({"scale": make_node_report(NodeState.OK, time_ns)}))
    assert node.appearance.badge == "0.42 ms"
    hand.canvas.show_report(make_report({"scale": make_node_report(NodeState.WARNING, 610_000)}))
    assert node.appearance.state is NodeState.WARNING
    qtbot.waitUntil(lambda: node.appearance.badge == "0.61 ms")


def test_a_report_may_name_nodes_that_are_gone(hand: Hand) -> None:
    """A report on a removed node is ignored, and nodes that the report lacks have the state OK."""
    hand.canvas.show_report(make_report({"gone": make_node_report(NodeState.ERROR, 5)}))
    assert {node.appearance.state for node in hand.scene.nodes.values()} == {NodeState.OK}


def test_tooltips_are_made_when_asked_for(hand: Hand, qtbot: QtBot) -> None:
    """A connection's tooltip is made from the newest report."""
    hand.canvas.show_report(make_report(buffers={"source.out": BufferReport("f32", (64,), 256, 512)}))
    connection = next(iter(hand.scene.connections.values()))
    position: QPoint = hand.view.mapFromScene(connection.path().pointAtPercent(0.5))
    viewport = hand.view.viewport()
    QApplication.sendEvent(viewport, QHelpEvent(QEvent.Type.ToolTip, position, viewport.mapToGlobal(position)))
    assert QToolTip.text() == as_html("source.out → scale.x\nf32, 64 elements, 256 B")
    QToolTip.hideText()
    qtbot.waitUntil(lambda: not QToolTip.isVisible())


def test_both_themes_paint_the_canvas_in_their_own_colours(canvas: Canvas, qapp: QApplication) -> None:
    """A change of theme repaints a visible canvas in the new colours."""
    canvas.resize(300, 200)
    assert pixels(canvas, DARK.canvas) > 10_000
    apply_theme(qapp, "light")
    assert pixels(canvas, LIGHT.canvas) > 10_000
    apply_theme(qapp, "dark")


def test_port_names_are_hidden_when_zoomed_out(canvas: Canvas) -> None:
    """When zoomed out, nodes are painted with less than a third of the colours, since port names are hidden."""
    colours = []
    for zoom in (1.0, 0.2):
        canvas.view.set_zoom(zoom)
        image = canvas.grab().toImage()
        colours.append(len({image.pixel(x, y) for x in range(image.width()) for y in range(image.height())}))
    assert colours[1] < colours[0] / 2


@pytest.mark.parametrize(("zoom", "is_repainted"), [(1.0, True), (0.3, False)])
def test_a_time_is_repainted_only_where_it_can_be_read(
    hand: Hand, qtbot: QtBot, zoom: float, is_repainted: bool
) -> None:
    """A new time is stored at every zoom, and painted only at a zoom at which it can be read."""
    hand.canvas.view.set_zoom(zoom)
    qtbot.wait(50)  # repaints caused by the zoom
    changes: list[Any] = []
    hand.scene.changed.connect(changes.append)
    hand.canvas.show_report(make_report({"scale": make_node_report(NodeState.OK, 610_000)}))
    qtbot.wait(50)
    assert hand.scene.nodes["scale"].appearance.badge == "0.61 ms"
    assert bool(changes) is is_repainted


def test_a_state_is_repainted_however_far_away(hand: Hand, qtbot: QtBot) -> None:
    """An error's outline is painted at once at every zoom."""
    hand.canvas.view.set_zoom(0.3)
    qtbot.wait(50)
    with qtbot.waitSignal(hand.scene.changed):
        hand.canvas.show_report(make_report({"scale": make_node_report(NodeState.ERROR, message="no")}))


def test_names_and_times_can_be_read_at_the_zoom_of_a_whole_patch(canvas: Canvas) -> None:
    """Text on nodes is at least 6 pixels high down to a zoom of 40 %, and at least 8 pixels above half size."""
    for zoom in (0.4, 0.45, 0.52, 0.6, 0.65, 0.8, 1.0, 2.0):
        pixels_high = SMALL * text_growth(zoom) * zoom
        assert pixels_high >= (8 if zoom > 0.5 else 6), zoom
    assert text_growth(1.0) == 1.0


@pytest.mark.parametrize("zoom", [0.42, 0.5, 0.64])
def test_names_of_both_sides_do_not_meet(canvas: Canvas, zoom: float) -> None:
    """The names of an input and an output in one row do not touch."""
    canvas.view.set_zoom(zoom)
    view = canvas.scene.nodes["scale"]
    canvas.view.centerOn(view.place.center())
    QApplication.processEvents()
    image = canvas.view.viewport().grab().toImage()
    row = canvas.view.mapFromScene(view.mapToScene(QPointF(0, view.layout.inputs[0].y())))
    middle = canvas.view.mapFromScene(view.mapToScene(QPointF(view.layout.width / 2, 0)))
    colours = [{image.pixel(middle.x() + dx, row.y() + dy) for dy in range(-3, 4)} for dx in range(-3, 4)]
    assert any(len(column) == 1 for column in colours)


@pytest.mark.parametrize("zoom", [0.45, 1.0, 2.0])
def test_a_time_stands_above_its_node(canvas: Canvas, zoom: float) -> None:
    """A node's time stands above its upper right corner, at every zoom at which it is shown."""
    node = canvas.scene.nodes["scale"]
    canvas.view.set_zoom(zoom)

    def is_inked_above() -> bool:
        canvas.view.centerOn(node.place.center())
        image = canvas.view.viewport().grab().toImage()
        corner = canvas.view.mapFromScene(node.place.topRight() - QPointF(0, 8))
        area = QRect(corner - QPoint(30, 12), QSize(28, 12))
        colours = {image.pixelColor(x, y).name() for x in columns(area) for y in rows(area)}
        return len(colours) > 5  # many shades, since letters have smooth edges

    assert not is_inked_above()
    canvas.show_report(make_report({"scale": make_node_report(NodeState.OK, 123_456_789)}))
    assert is_inked_above()


def columns(area: QRect) -> range:
    """Return the x coordinates of a rectangle's pixels."""
    return range(area.left(), area.right() + 1)


def rows(area: QRect) -> range:
    """Return the y coordinates of a rectangle's pixels."""
    return range(area.top(), area.bottom() + 1)
