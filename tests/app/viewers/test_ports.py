"""A person clicks blocks and connections and sees what they hold, without viewer blocks."""

import csv
import html
import math
import re
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QItemSelection, QItemSelectionModel, QPoint, QPointF, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QComboBox, QFileDialog, QLabel, QPushButton
from pytestqt.qtbot import QtBot

from tests.app.app_support import make_report, move_pointer
from tests.app.window.window_support import engine_of, patch_of
from warploom.app.view_models.looking.fitting import ViewKind
from warploom.app.view_models.looking.tone import Tone
from warploom.app.viewers.ports import port_docks
from warploom.app.viewers.ports.image_view import ImageView
from warploom.app.viewers.ports.plot_view import PlotView
from warploom.app.viewers.ports.points_view import PointsView
from warploom.app.viewers.ports.port_viewer import PortViewer
from warploom.app.viewers.ports.table_view import TableView
from warploom.app.viewers.ports.text_view import TextView
from warploom.app.viewers.snapshots import file_contents
from warploom.app.window.main_window import MainWindow
from warploom.engine.patch.changes import PortRef
from warploom.engine.protocol.messages import BufferReport, NodeReport, NodeState
from warploom.engine.protocol.sampling import ObservePorts, Sample, Sampling
from warploom.engine.runtime.preview.reducing import make_sample
from warploom.engine.types import NAMED, Array, DType, Struct, f32, float3, float4, uchar4

PICTURE = np.random.default_rng(3).integers(0, 256, (40, 60, 4)).astype(np.uint8)


class Ball(Struct):
    """A struct of two fields."""

    at: float3
    mass: f32


class Ports:
    """Plays the engine: answers requests for samples from arrays."""

    def __init__(self, window: MainWindow) -> None:
        self.window, self.held = window, dict[str, tuple[DType, tuple[int, ...], Array]]()
        #: The names of columns, by port.
        self.columns: dict[str, tuple[str, ...]] = {}

    def hold(self, name: str, dtype: DType, array: Array) -> None:
        shape = array.shape[: array.ndim - len(dtype.numpy.shape)]
        self.held[name] = dtype, shape, array

    def play(self, turns: int = 5) -> None:
        """Run frames: a report, and the samples that the window requests."""
        for frame in range(1, turns + 1):
            self.play_one(frame)

    def play_one(self, frame: int) -> None:
        """Run a frame."""
        engine = engine_of(self.window)
        buffers = {
            n: BufferReport(str(d), s, a.nbytes, a.nbytes, columns=self.columns.get(n, ()))
            for n, (d, s, a) in self.held.items()
            if s
        }
        values = {n: float(a) for n, (d, s, a) in self.held.items() if not s}
        engine.reports.append(make_report(frame=frame, buffers=buffers, values=values))
        for name, sampling in self.asked().items():
            if (held := self.held.get(str(sampling.port))) is not None:
                engine.samples[name] = make_sample(name, sampling, frame, *held)
        self.window.bridge.poll()

    def requested(self) -> dict[str, Sampling]:
        """Return the samples that viewers want now."""
        return {name: each for name, each in self.asked().items() if not name.startswith("canvas/")}

    def asked(self) -> dict[str, Sampling]:
        """Return the samples that the window wants now, those of thumbnails too."""
        told = [message for message in engine_of(self.window).posted if isinstance(message, ObservePorts)]
        return told[-1].samplings if told else {}


@pytest.fixture
def ports(opened: MainWindow) -> Ports:
    """The open patch, whose picture holds random pixels."""
    found = Ports(opened)
    found.hold("picture.out", uchar4, PICTURE)
    return found


def selection_viewer(window: MainWindow) -> PortViewer:
    return window.looking.viewer(window.looking.follower)


def look_at(ports: Ports, node: str) -> PortViewer:
    """Click a block, and press V."""
    ports.window.canvas.select([node])
    ports.window.actions_by_id["look"].trigger()
    ports.play()
    return selection_viewer(ports.window)


def choose(box: QComboBox, text: str) -> None:
    """Choose an entry as a person does."""
    index = box.findText(text)
    assert index >= 0, [box.itemText(i) for i in range(box.count())]
    box.setCurrentIndex(index)
    box.activated.emit(index)


def add_rows(ports: Ports, dtype: DType, array: Array) -> PortViewer:
    """Add a block whose output holds other elements, and look at it."""
    patch_of(ports.window).add("test_app.picture", node_id="rows")
    ports.hold("rows.out", dtype, array)
    return look_at(ports, "rows")


def test_a_selected_block_shows_its_picture_and_true_numbers(ports: Ports) -> None:
    """The picture has the block's pixels, and the footer the element under the pointer."""
    viewer = look_at(ports, "picture")
    view = viewer.view
    assert isinstance(view, ImageView) and viewer.port == PortRef("picture", "out")
    assert view.picture.picture_size == (60, 40)
    np.testing.assert_array_equal(view.picture.pixels[..., :3], PICTURE[..., :3])  # type: ignore[index]
    move_pointer(view.picture, QPoint(view.picture.width() // 2, view.picture.height() // 2))
    ports.play()
    x, y = view.picture.probe  # type: ignore[misc]
    assert viewer.probe_label.text() == f"({x}, {y})  {' '.join(map(str, PICTURE[y, x]))}"
    assert "uchar4" in viewer.facts_label.text()


def test_the_numbers_under_the_pointer_have_room(ports: Ports) -> None:
    """All numbers of a float4 pixel are readable in a narrow dock, where facts and frame give way until it leaves."""
    pixels = np.random.default_rng(5).random((40, 60, 4), np.float32)
    viewer = add_rows(ports, float4, pixels)
    viewer.setFixedWidth(400)
    QCoreApplication.processEvents()
    view = viewer.view
    assert isinstance(view, ImageView)
    move_pointer(view.picture, QPoint(view.picture.width() // 2, view.picture.height() // 2))
    ports.play()
    QCoreApplication.processEvents()
    label = viewer.probe_label
    x, y = view.picture.probe  # type: ignore[misc]
    np.testing.assert_allclose([*map(float, label.text().split()[2:])], pixels[y, x], rtol=1e-5)
    assert label.fontMetrics().horizontalAdvance(label.text()) <= label.width()
    QCoreApplication.sendEvent(view.picture, QEvent(QEvent.Type.Leave))
    assert not label.isVisible() and viewer.facts_label.isVisible() and viewer.frame_label.isVisible()


def test_a_connection_shows_its_source_and_a_viewer_its_input(ports: Ports) -> None:
    """A click on a wire, or on a block without outputs, shows the port that feeds it."""
    canvas = ports.window.canvas
    ports.window.looking.look()
    canvas.scene.select_connection(patch_of(ports.window).connections[0])
    ports.play()
    assert selection_viewer(ports.window).port == PortRef("picture", "out")
    look_at(ports, "every")
    assert look_at(ports, "screen").port == PortRef("picture", "out")
    canvas.select([])
    ports.play()
    assert selection_viewer(ports.window).port == PortRef("picture", "out")


def test_nothing_is_requested_unless_it_is_seen(ports: Ports) -> None:
    """A closed dock, a dock behind another one and a minimised window request no samples."""
    look_at(ports, "picture")
    assert len(ports.requested()) == 1
    ports.window.looking.follower.hide()
    ports.play(1)
    assert ports.requested() == {}


def test_a_zoomed_picture_requests_the_part_in_view(ports: Ports) -> None:
    """Only the visible part of a large picture is read, at most in the size of the screen."""
    ports.hold("picture.out", NAMED["f32"], np.arange(1500 * 2000, dtype=np.float32).reshape(1500, 2000))
    view = look_at(ports, "picture").view
    assert isinstance(view, ImageView)
    (wanted,) = ports.requested().values()
    assert wanted.part == ((0, 1500), (0, 2000)) and max(wanted.size) <= view.picture.width() + 1
    view.picture.zoom_to(4.0, QPointF(view.picture.rect().center()))
    ports.play()
    (wanted,) = ports.requested().values()
    (top, bottom), (left, right) = wanted.part
    assert bottom - top < 400 and right - left < 400
    assert view.picture.pixels is not None and view.picture.pixels.shape[:2] == (bottom - top, right - left)


def test_channels_range_exposure_and_histogram(ports: Ports) -> None:
    """A channel is drawn by a colour map over a range, exposure brightens, and the histogram counts all elements."""
    viewer = add_rows(ports, NAMED["f32"], np.linspace(-2, 6, 1200, dtype=np.float32).reshape(30, 40))
    view = viewer.view
    assert isinstance(view, ImageView)
    assert (view.low.value(), view.high.value()) == (-2, 6)
    pixels = view.picture.pixels
    assert pixels is not None and pixels[0, 0, 0] == 0 and pixels[-1, -1, 0] == 255
    view.auto.click()
    view.low.setValue(0)
    view.high.setValue(12)
    assert view.picture.pixels[-1, -1, 0] == 127  # type: ignore[index]
    choose(view.colour_map, "viridis")
    first, last = view.picture.pixels[0, 0, :3].tolist(), view.picture.pixels[-1, -1, :3].tolist()  # type: ignore[index]
    assert first[2] > first[1] and last[1] > last[2] > last[0]  # violet, and half way the green of the map
    view.counts.click()
    ports.play()
    assert "1,200 elements" in view.histogram.toolTip() and "mean 2" in view.histogram.toolTip()
    view.auto.click()
    look_at(ports, "picture")
    assert not view.exposure.isHidden() and view.colour_map.isHidden()
    before = view.picture.pixels[..., :3].astype(int)  # type: ignore[index]
    view.exposure.setValue(1)
    brighter = view.picture.pixels[..., :3].astype(int)  # type: ignore[index]
    assert (brighter >= before).all() and (
        brighter[(before > 9) & (before < 180)] > before[(before > 9) & (before < 180)]
    ).all()


def test_two_ports_are_compared_by_a_line(ports: Ports, qtbot: QtBot) -> None:
    """Another port is shown right of a line that a drag moves; both elements are in the footer."""
    patch_of(ports.window).add("test_app.picture", node_id="second")
    patch_of(ports.window).add("io.array", node_id="list")
    ports.hold("list.out", NAMED["f32"], np.ones(9, np.float32))
    ports.hold("second.out", uchar4, PICTURE[::-1].copy())
    viewer = look_at(ports, "picture")
    view = viewer.view
    assert isinstance(view, ImageView)
    offered = [view.compared.itemData(index) for index in range(view.compared.count())]
    assert offered == [None, PortRef("second", "out")]  # a list is no picture
    choose(view.compared, next(view.compared.itemText(i) for i in range(1, view.compared.count())))
    ports.play()
    assert {each.port.node for each in ports.requested().values()} == {"picture", "second"}
    picture = view.picture
    line = QPoint(picture.width() // 2, 10)
    qtbot.mousePress(picture, Qt.MouseButton.LeftButton, pos=line)
    move_pointer(picture, QPoint(picture.width() // 4, 10), Qt.MouseButton.LeftButton)
    qtbot.mouseRelease(picture, Qt.MouseButton.LeftButton, pos=QPoint(picture.width() // 4, 10))
    assert abs(picture.wipe - 0.25) < 0.02 and picture.is_fitted
    viewer.offer_ports([PortRef("picture", "out"), PortRef("second", "out"), PortRef("third", "out")])
    texts = [view.compared.itemText(index) for index in range(1, view.compared.count())]
    assert texts == ["Picture · out (picture)", "Picture · out (second)", "third · out"]  # ids where titles are equal
    assert view.other_port == PortRef("second", "out")
    viewer.offer_ports([PortRef("third", "out")])  # while the engine prepares another graph, for instance
    assert view.other_port is None
    viewer.offer_ports([PortRef("third", "out"), PortRef("second", "out")])
    assert view.other_port == PortRef("second", "out")
    choose(view.compared, view.compared.itemText(0))
    viewer.offer_ports([PortRef("second", "out")])
    assert view.other_port is None


def test_freeze_keeps_what_is_shown(ports: Ports) -> None:
    """While frozen, new samples change nothing and none are requested; then the newest is shown."""
    viewer = look_at(ports, "picture")
    view = viewer.view
    assert isinstance(view, ImageView) and view.picture.pixels is not None
    viewer.freeze.click()
    ports.hold("picture.out", uchar4, 255 - PICTURE)
    ports.play()
    assert ports.requested() == {}
    np.testing.assert_array_equal(view.picture.pixels[..., :3], PICTURE[..., :3])
    viewer.freeze.click()
    ports.play()
    np.testing.assert_array_equal(view.picture.pixels[..., :3], 255 - PICTURE[..., :3])


def test_a_pinned_port_stays(ports: Ports) -> None:
    """A pinned viewer keeps its port while the selection changes, and ends when it is closed; undo brings it back."""
    window = ports.window
    look_at(ports, "picture")
    window.actions_by_id["pin_look"].trigger()
    window.looking.pin_shown()
    (pinned,) = window.looking.pinned
    ports.hold("every.out", NAMED["f32"], np.arange(3, dtype=np.float32))
    look_at(ports, "every")
    assert window.looking.viewer(pinned).port == PortRef("picture", "out")
    assert pinned.windowTitle() == "Picture · out"
    pinned.raise_()
    ports.play()
    assert any(name.startswith("pinned") for name in ports.requested())
    pinned.close()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
    ports.play(1)
    assert not any(name.startswith("pinned") for name in ports.requested())
    patch = patch_of(window)
    assert not patch.annotations and patch.history.undo_name == "Close the viewer of Picture · out"
    window.session.undo()
    assert len(window.looking.pinned) == 1
    window.session.undo()
    assert not window.looking.pinned


@pytest.mark.feature("viewers")
def test_pinned_viewers_are_saved_with_the_patch(ports: Ports, qtbot: QtBot) -> None:
    """They come back at opening, go and come back with their block, and one of a missing block is left out."""
    window, patch = ports.window, patch_of(ports.window)
    look_at(ports, "picture")
    window.actions_by_id["pin_look"].trigger()
    patch.remove("picture")
    assert not window.looking.pinned
    window.session.undo()
    assert len(window.looking.pinned) == 1
    path = window.session.path
    assert path is not None and window.files.save()
    text = path.read_text()
    assert '"pinned_viewers"' in text
    path.write_text(
        text.replace('"node": "picture", "port"', '"node": "gone", "port": "out"}, {"node": "picture", "port"')
    )
    window.files.close()
    assert not window.looking.pinned
    assert window.files.open_path(path)
    qtbot.waitUntil(lambda: len(window.looking.pinned) == 1)
    (dock,) = window.looking.pinned
    assert window.looking.viewer(dock).port == PortRef("picture", "out") and not window.session.is_modified


def test_numbers_are_plotted(ports: Ports) -> None:
    """A long buffer is drawn as the least and greatest number of each column; modes show a spectrum and time."""
    wave = np.sin(np.arange(5000) * 2 * np.pi / 50).astype(np.float32)
    viewer = add_rows(ports, NAMED["f32"], wave)
    view = viewer.view
    assert isinstance(view, PlotView) and viewer.kind is ViewKind.PLOT
    x, y = view.plot.listDataItems()[1].getData()
    assert x.max() < 5000 and (y.min(), y.max()) == (wave.min(), wave.max())
    choose(view.mode, "Spectrum")
    ports.play()
    x, y = view.plot.listDataItems()[1].getData()
    assert abs(x[y.argmax()] - 1 / 50) < 1e-3
    choose(view.mode, "Rolling")
    ports.play(6)
    x, y = view.plot.listDataItems()[2].getData()
    assert len(x) >= 3 and np.allclose(y, wave[1])


@pytest.mark.parametrize("dtype", ["f4", "f2", "i8"])
def test_numbers_are_saved_as_a_table(dtype: str) -> None:
    """A list, vectors and a table become rows of a CSV, with names; what is no table is refused."""
    for shape in ((), (3,), (4, 2)):
        data = np.arange(max(math.prod(shape), 1)).reshape(shape).astype(dtype)
        held = file_contents(Sample("", Sampling(PortRef("a", "out")), 0, shape=shape, data=data), ".csv", Tone())
        lines = held.decode().replace('"', "").splitlines()
        assert lines[0] == ",".join(f"x{i}" for i in range(shape[1] if len(shape) == 2 else 1))
        np.testing.assert_array_equal(np.loadtxt(lines[1:], delimiter=",", ndmin=2).reshape(shape), data)
    for wrong in (np.zeros((2, 2, 2), dtype), np.zeros(3, np.complex64)):
        with pytest.raises(ValueError, match="no table"):
            file_contents(Sample("", Sampling(PortRef("a", "out")), 0, shape=(3,), data=wrong), ".csv", Tone())


@pytest.mark.parametrize("turned", [False, True])
def test_a_curve_is_drawn_for_each_column_of_a_table(ports: Ports, turned: bool) -> None:
    """Columns of a table, and channels of a sound, are drawn along the longer axis; a scatter plot takes two."""
    rows = np.arange(5000)
    table = np.stack([rows * 0.01, np.sin(rows * 0.01), -rows, np.full(5000, np.nan), rows % 7], 1).astype(np.float32)
    viewer = add_rows(ports, NAMED["f32"], table.T if turned else table)
    view = viewer.view
    assert isinstance(view, PlotView) and viewer.kind is ViewKind.PLOT
    curves = [curve.getData() for curve in view.plot.listDataItems()[1:]]
    assert len(curves) == 5 and re.sub("<[^>]*>", "", view._note.text()) == "0 1 2 3 4"
    for (x, y), column in zip(curves, table.T, strict=True):
        assert x.max() < 5000
        if np.isfinite(column).all():
            assert (y.min(), y.max()) == (column.min(), column.max())
    choose(view.mode, "Scatter")
    ports.play()
    x, y = view.plot.listDataItems()[0].getData()
    np.testing.assert_array_equal(x, table[:, 0])
    np.testing.assert_array_equal(y, table[:, 1])
    assert view.plot.getAxis("bottom").labelText == ("First row" if turned else "First column")
    choose(view.mode, "Spectrum")
    ports.play()
    assert len(view.plot.listDataItems()[5].getData()[0]) == 2501


@pytest.mark.parametrize("turned", [False, True])
def test_each_column_of_complex_numbers_has_a_spectrum(ports: Ports, turned: bool) -> None:
    """Columns are transformed along the longer axis, one by one."""
    turns = np.arange(400)[:, None] * np.array([0.1, -0.25, 0.05])
    signals = np.exp(2j * np.pi * turns).astype(np.complex64)
    viewer = add_rows(ports, NAMED["c64"], signals.T if turned else signals)
    choose(viewer.kinds, "Plot")
    ports.play()
    view = viewer.view
    assert isinstance(view, PlotView)
    choose(view.mode, "Spectrum")
    ports.play()
    curves = [curve.getData() for curve in view.plot.listDataItems()[1:4]]
    assert [round(float(x[np.argmax(y)]), 3) for x, y in curves] == [0.1, -0.25, 0.05]


def test_a_table_reads_only_the_rows_in_view(ports: Ports) -> None:
    """A table of structs has a column for each number; scrolling requests other rows."""
    balls = np.zeros(200_000, Ball.numpy)
    balls["mass"] = np.arange(200_000)
    balls["at"][:, 2] = -np.arange(200_000)
    viewer = add_rows(ports, Ball, balls)
    view = viewer.view
    assert isinstance(view, TableView)
    model = view.table.model()
    header = [model.headerData(i, Qt.Orientation.Horizontal) for i in range(model.columnCount())]
    assert header == ["at x", "at y", "at z", "mass"] and model.rowCount() == 200_000
    view.table.scrollTo(model.index(150_000, 0))
    ports.play()
    (wanted,) = ports.requested().values()
    assert wanted.part[0][0] <= 150_000 < wanted.part[0][1] <= wanted.part[0][0] + 400
    assert model.data(model.index(150_000, 3)) == "150000" and model.data(model.index(150_000, 2)) == "-150000"
    assert model.data(model.index(0, 3)) == ""


def test_cells_of_a_table_are_copied_with_all_digits(ports: Ports) -> None:
    """Ctrl+C copies the selected cells as a spreadsheet takes them; without a selection, the rows that were read."""
    numbers = np.random.default_rng(4).random((7, 3), np.float32)
    viewer = add_rows(ports, f32, numbers)
    choose(viewer.kinds, "Table")
    ports.play()
    view = viewer.view
    assert isinstance(view, TableView)

    def copied() -> Array:
        QTest.keyClick(view.table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
        return np.array([line.split("\t") for line in QGuiApplication.clipboard().text().split("\n")], np.float32)

    np.testing.assert_array_equal(copied(), numbers)
    model, chosen = view.table.model(), QItemSelection()
    chosen.select(model.index(2, 1), model.index(4, 2))
    view.table.selectionModel().select(chosen, QItemSelectionModel.SelectionFlag.ClearAndSelect)
    np.testing.assert_array_equal(copied(), numbers[2:5, 1:])


def test_columns_have_their_names_wherever_they_are_shown(ports: Ports) -> None:
    """In the legend, above a table, as labels of a scatter plot, and in a saved file; other names replace them."""
    numbers = np.random.default_rng(8).random((40, 3), np.float32)
    ports.columns["rows.out"] = names = ("time", "b, <c>", "a name that is too long for a narrow legend")
    viewer = add_rows(ports, f32, numbers)
    choose(viewer.kinds, "Plot")
    ports.play()
    view = viewer.view
    assert isinstance(view, PlotView)
    for mode in ("Line", "Spectrum", "Rolling"):
        choose(view.mode, mode)
        ports.play()
        legend = view.findChildren(QLabel, "figures")[0]
        assert "time" in legend.text() and "b, &lt;c&gt;" in legend.text() and "…" in legend.text()
        assert legend.toolTip() == ", ".join(names)
    choose(view.mode, "Scatter")
    ports.play()
    assert [view.plot.getAxis(side).labelText for side in ("bottom", "left")] == [
        html.escape(name) for name in names[:2]
    ]
    choose(viewer.kinds, "Table")
    ports.play()
    table = viewer.view
    assert isinstance(table, TableView)

    def heads() -> list[str]:
        model = table.table.model()
        return [model.headerData(at, Qt.Orientation.Horizontal) for at in range(model.columnCount())]

    assert heads() == list(names)
    ports.columns["rows.out"] = ("t", "u", "v")
    ports.play()
    assert heads() == ["t", "u", "v"]
    sample = make_sample("", Sampling(PortRef("rows", "out")), 0, f32, numbers.shape, numbers)
    saved = file_contents(sample, ".csv", Tone(), names).decode()
    assert next(csv.reader([saved.splitlines()[0]])) == list(names)


def test_vectors_of_a_table_are_copied(ports: Ports) -> None:
    """The components of a pixel stand in one cell, with spaces between."""
    viewer = look_at(ports, "picture")
    choose(viewer.kinds, "Table")
    ports.play()
    view = viewer.view
    assert isinstance(view, TableView)
    QTest.keyClick(view.table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    first, *_ = QGuiApplication.clipboard().text().split("\n")
    cells = np.array([cell.split(" ") for cell in first.split("\t")], np.float64)
    np.testing.assert_array_equal(cells, PICTURE[0])


def test_points_of_a_field_are_orbited(ports: Ports, qtbot: QtBot) -> None:
    """Places in a field of structs are drawn; a drag turns them, the wheel and a double-click zoom and fit."""
    balls = np.zeros(500, Ball.numpy)
    balls["at"] = np.random.default_rng(1).normal(size=(500, 3))
    viewer = add_rows(ports, Ball, balls)
    choose(viewer.kinds, "Points")
    ports.play(6)
    view = viewer.view
    assert isinstance(view, PointsView) and len(view.cloud.points) == 500
    before = view.cloud.camera
    qtbot.mousePress(view.cloud, Qt.MouseButton.LeftButton, pos=QPoint(50, 50))
    move_pointer(view.cloud, QPoint(90, 60), Qt.MouseButton.LeftButton)
    qtbot.mouseRelease(view.cloud, Qt.MouseButton.LeftButton, pos=QPoint(90, 60))
    assert view.cloud.camera.yaw > before.yaw and view.cloud.camera.centre == before.centre
    image = view.cloud.grab().toImage()
    assert len({image.pixel(x, y) for x in range(0, image.width(), 2) for y in range(0, image.height(), 2)}) > 2


def test_rows_of_numbers_are_points_and_lines_of_text(ports: Ports) -> None:
    """As numpy stores places: three numbers in each row."""
    rows = np.arange(1200, dtype=np.float32).reshape(400, 3)
    patch_of(ports.window).add("io.array", node_id="rows")
    ports.hold("rows.out", NAMED["f32"], rows)
    viewer = look_at(ports, "rows")
    choose(viewer.kinds, "Points")
    ports.play(6)
    assert isinstance(viewer.view, PointsView) and viewer.view._note.text() == "400 points"
    np.testing.assert_array_equal(viewer.view.cloud.points, rows)
    choose(viewer.kinds, "Text")
    ports.play(6)
    assert isinstance(viewer.view, TextView)
    lines = viewer.view.label.text().splitlines()
    assert (len(lines), lines[1].split(), lines[-1]) == (257, ["1", "3", "4", "5"], "…")


def test_a_value_is_a_large_number(ports: Ports) -> None:
    """A value port shows its number, which is copied as text, or the selected part of it."""
    patch_of(ports.window).add("value.slider", node_id="slider")
    ports.hold("slider.value", NAMED["f64"], np.array(2.5))
    view = look_at(ports, "slider").view
    assert isinstance(view, TextView) and view.label.text() == "2.5"
    QTest.keyClick(view.label, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == "2.5"
    view.label.setSelection(2, 1)
    QTest.keyClick(view.label, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == "5"


@pytest.mark.parametrize("name", ["shot.npy", "shot.png", "shot.exr"])
def test_a_port_is_saved_whole(
    ports: Ports, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    """A snapshot has every element: exact numbers, the shown colours, or true floats."""

    def answer(*_: Any) -> tuple[str, str]:
        return str(tmp_path / name), ""

    monkeypatch.setattr(QFileDialog, "getSaveFileName", answer)
    viewer = look_at(ports, "picture")
    viewer.save.click()
    ports.play()
    qtbot.waitUntil(lambda: (tmp_path / name).exists())
    if name.endswith(".npy"):
        np.testing.assert_array_equal(np.load(tmp_path / name), PICTURE)
        return
    import OpenImageIO

    kind = OpenImageIO.UINT8 if name.endswith(".png") else OpenImageIO.FLOAT
    read = OpenImageIO.ImageBuf(str(tmp_path / name)).get_pixels(kind)
    if name.endswith(".png"):
        np.testing.assert_array_equal(read[..., :3], PICTURE[..., :3])
    else:
        assert read.dtype == np.float32 and read[..., 3].max() == PICTURE[..., 3].max()


@pytest.mark.feature("progress")
def test_saving_a_port_is_cancelled(
    ports: Ports, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """While the file is made, Cancel appears beside its name; the old file stays."""
    path, may_end = tmp_path / "shot.npy", threading.Event()
    path.write_bytes(b"before")
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(path), ""))
    monkeypatch.setattr(port_docks, "file_contents", lambda *_, **__: b"after" if may_end.wait() else b"")
    viewer, status = look_at(ports, "picture"), ports.window.statusBar()
    viewer.save.click()
    ports.play()
    cancel = next(each for each in status.findChildren(QPushButton) if each.text() == "Cancel")
    qtbot.waitUntil(cancel.isVisible)
    assert status.currentMessage() == "Saving shot.npy …"
    cancel.click()
    assert status.currentMessage() == "shot.npy was not saved"
    may_end.set()
    qtbot.waitUntil(lambda: not any("beside" in each.name for each in threading.enumerate()))
    assert [path.read_bytes(), *tmp_path.glob("*.npy")] == [b"before", path]


def test_a_port_outside_the_graph_says_why(ports: Ports, qtbot: QtBot) -> None:
    """Instead of an old picture, the reason is shown."""
    look_at(ports, "picture")
    viewer = look_at(ports, "every")
    assert viewer.page.currentIndex() == 0 and viewer.page.hint.text()
    waiting = NodeReport("gpu", NodeState.IDLE, "it waits for picture, which is incomplete", waits_for="picture")
    engine_of(ports.window).reports.append(make_report(nodes={"every": waiting}))
    ports.window.bridge.poll()
    assert viewer.page.hint.text() == "It waits for Picture, which is incomplete"
    patch_of(ports.window).remove("every")
    qtbot.waitUntil(lambda: viewer.port is None)
    assert "Click a block" in viewer.page.hint.text()


def test_blocks_in_view_have_thumbnails(ports: Ports) -> None:
    """Below a block are its picture, plot or numbers; T hides them, and then nothing is requested for them."""
    window = ports.window
    thumbnails = window.canvas.thumbnails
    patch_of(window).add("test_app.picture", node_id="sum", position=(0.0, 120.0))
    patch_of(window).add("test_app.picture", node_id="wave", position=(0.0, 240.0))
    ports.hold("sum.out", NAMED["f32"], np.array([2.5], np.float32))
    ports.hold("wave.out", NAMED["f32"], np.arange(1000, dtype=np.float32))
    window.canvas.fit()
    ports.play(1)
    thumbnails._ask()
    ports.play()
    owned = {n.partition("/")[2]: each for n, each in ports.asked().items() if n.startswith("canvas/")}
    assert owned.keys() == {"picture", "sum", "wave"} and all(each.in_place for each in owned.values())
    assert thumbnails._layer.pictures.keys() == {"picture", "wave"}
    assert thumbnails.text_of("sum") == "2.5"
    area = thumbnails._layer.area("picture")
    assert area.top() > window.canvas.scene.nodes["picture"].place.bottom()
    image = window.canvas.view.grab().toImage()
    middle = window.canvas.view.mapFromScene(area.center())
    around = {image.pixel(middle.x() + i, middle.y() + j) for i in range(-8, 9, 4) for j in range(-4, 5, 4)}
    assert len(around) > 3  # random pixels
    window.actions_by_id["thumbnails"].trigger()
    ports.play()
    assert not any(name.startswith("canvas/") for name in ports.asked())
    assert not thumbnails._layer.pictures
    assert not window.state.shows_thumbnails
