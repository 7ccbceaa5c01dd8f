"""Seeing data and times by mouse and keys: viewers, tooltips, thumbnails, the heat map, the profiler."""

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtTest import QTest

from tests.app.app_support import make_report, move_pointer
from tests.app.canvas.test_heat import body_of, timed
from tests.app.features.person import LEFT, SHIFT, Person
from tests.app.window.window_support import engine_of
from warploom.app.theme.colours import heat_colour
from warploom.app.viewers.ports.image_view import ImageView
from warploom.app.viewers.ports.plot_view import PlotView
from warploom.app.viewers.ports.table_view import TableView
from warploom.engine.patch.changes import PortRef
from warploom.engine.protocol.messages import BufferReport, NodeReport, NodeState, Reset, SetRunning
from warploom.engine.types import f32, float4

WAVE = np.sin(np.arange(256) * 2 * np.pi / 32).astype(np.float32)
PICTURE = np.random.default_rng(1).random((32, 48, 4)).astype(np.float32)


@pytest.mark.feature("plots", "viewers")
def test_numbers_are_plotted_and_a_viewer_stays(person: Person) -> None:
    """V shows the selected block's numbers as curves, also over time; Shift+V keeps them in a viewer of their own."""
    person.play("numbers", f32, WAVE)
    viewer = person.look("numbers")
    person.choose(viewer.kinds, "Plot")
    person.play("numbers", f32, WAVE)
    view = viewer.view
    assert isinstance(view, PlotView)
    _, y = view.plot.listDataItems()[1].getData()
    assert (y.min(), y.max()) == (WAVE.min(), WAVE.max())
    person.choose(view.mode, "Rolling")
    person.play("numbers", f32, WAVE)
    x, y = view.plot.listDataItems()[2].getData()
    assert len(x) >= 3 and np.allclose(y, WAVE[1])
    person.press(Qt.Key.Key_V, SHIFT)
    (pinned,) = person.window.looking.pinned
    person.select("noise")
    assert person.window.looking.viewer(pinned).port == PortRef("numbers", "out")
    pinned.close()


@pytest.mark.feature("table")
def test_numbers_are_a_table(person: Person) -> None:
    """In the list of views, Table shows a row for each number."""
    person.play("numbers", f32, WAVE)
    viewer = person.look("numbers")
    person.choose(viewer.kinds, "Table")
    person.play("numbers", f32, WAVE)
    assert isinstance(viewer.view, TableView)
    model = viewer.view.table.model()
    assert model.rowCount() == 256 and abs(float(model.data(model.index(8, 0))) - 1) < 1e-6


@pytest.mark.feature("probe", "histogram")
def test_a_picture_is_probed_zoomed_compared_and_counted(person: Person) -> None:
    """The number under the pointer is the true one; a wheel zooms; a line compares two ports; bars count numbers."""
    for node in ("noise", "blur"):
        person.play(node, float4, PICTURE)
    viewer = person.look("noise")
    person.play("noise", float4, PICTURE)
    view = viewer.view
    assert isinstance(view, ImageView)
    picture = view.picture
    move_pointer(picture, QPoint(picture.width() // 2, picture.height() // 2))
    person.play("noise", float4, PICTURE)
    assert picture.probe is not None
    x, y = picture.probe
    assert f"({x}, {y})" in viewer.probe_label.text() and f"{PICTURE[y, x, 0]:.6g}" in viewer.probe_label.text()
    person.choose(view.compared, next(t for n in range(9) if "Blur" in (t := view.compared.itemText(n))))
    person.play("noise", float4, PICTURE)
    middle = QPoint(picture.width() // 2, 10)
    QTest.mousePress(picture, LEFT, pos=middle)
    move_pointer(picture, QPoint(picture.width() // 4, 10), LEFT)
    QTest.mouseRelease(picture, LEFT, pos=QPoint(picture.width() // 4, 10))
    assert abs(picture.wipe - 0.25) < 0.02
    person.click(view.counts)
    person.play("noise", float4, PICTURE)
    assert "1,536 elements" in view.histogram.toolTip()
    person.click(view.counts)
    QTest.mouseDClick(picture, LEFT, pos=QPoint(picture.width() // 2, picture.height() // 2))
    assert not picture.is_fitted


@pytest.mark.feature("canvas_values", "thumbnails")
def test_blocks_show_what_they_make(person: Person) -> None:
    """Below each block in view stands its picture or plot; T hides them."""
    thumbnails = person.window.canvas.thumbnails
    person.press(Qt.Key.Key_Home)
    person.play("noise", float4, PICTURE)

    def are_shown() -> bool:
        person.play("numbers", f32, WAVE)
        return {"noise", "numbers"} <= thumbnails._layer.pictures.keys()

    person.until(are_shown)
    person.press(Qt.Key.Key_T)
    assert not thumbnails._layer.pictures
    person.press(Qt.Key.Key_T)


@pytest.mark.feature("hover")
def test_tooltips_tell_what_flows(person: Person) -> None:
    """A block's tooltip has its time, and a connection's its element type, shape and bytes."""
    report = make_report(
        nodes={"scale": NodeReport("math.scale_offset", NodeState.OK, "", 420_000, 1)},
        buffers={"numbers.out": BufferReport("f32", (256,), 1024, 1024)},
    )
    engine_of(person.window).reports.append(report)
    person.window.bridge.poll()
    person.until(lambda: "420 µs" in person.rest(person.hand.title("scale")))
    (line,) = [each for each in person.patch.connections if each.source.node == "numbers"]
    tip = person.rest(person.hand.scene.connections[line].path().pointAtPercent(0.5))
    assert "f32" in tip and "256" in tip and "1,024 B" in tip.replace("1.00 KB", "1,024 B").replace("1 KB", "1,024 B")


@pytest.mark.feature("heat")
def test_h_colours_blocks_by_their_time(person: Person) -> None:
    """The block that takes nearly all of the frame has the hottest colour."""
    canvas = person.window.canvas
    canvas.show_report(timed(blur=1_000_000, scale=10_000))
    person.press(Qt.Key.Key_H)
    person.until(lambda: body_of(canvas, "blur") == heat_colour(1.0) != body_of(canvas, "scale"))
    person.press(Qt.Key.Key_H)
    assert body_of(canvas, "blur") != heat_colour(1.0)


@pytest.mark.feature("transport")
def test_space_pauses_and_a_viewer_freezes(person: Person) -> None:
    """Space, the point and Ctrl+R reach the engine; the snowflake keeps a picture while the patch plays."""
    engine = engine_of(person.window)
    person.press(Qt.Key.Key_Space)
    assert engine.posted[-1] == SetRunning(False)
    person.press(Qt.Key.Key_Period)
    assert engine.posted[-1] == SetRunning(True, frames=1)
    person.press(Qt.Key.Key_R, Qt.KeyboardModifier.ControlModifier)
    assert isinstance(engine.posted[-1], Reset)
    person.press(Qt.Key.Key_Space)
    assert engine.posted[-1] == SetRunning(True)
    person.play("noise", float4, PICTURE)
    viewer = person.look("noise")
    person.play("noise", float4, PICTURE)
    view = viewer.view
    assert isinstance(view, ImageView) and view.picture.pixels is not None
    before = view.picture.pixels.copy()
    person.click(viewer.freeze)
    person.play("noise", float4, 1 - PICTURE)
    np.testing.assert_array_equal(view.picture.pixels, before)
    person.click(viewer.freeze)
    person.play("noise", float4, 1 - PICTURE)
    assert (view.picture.pixels != before).any()


@pytest.mark.feature("edit_cost")
def test_a_held_connection_says_what_its_drop_costs(person: Person) -> None:
    """Before the button is released, the text at the pointer names the rebuild."""
    hand = person.hand
    end = hand.port("viewer", "image", is_input=True)
    hand.drag(hand.port("noise", "out", is_input=False), end, release=False)
    notice = person.window.canvas._notice.text()
    assert "ebuild" in notice and "3.10 ms" in notice
    person.press(Qt.Key.Key_Escape)
    hand.release(end + QPointF(0, 200))
    assert person.patch.history.names == []
