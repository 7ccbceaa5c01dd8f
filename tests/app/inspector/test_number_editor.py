"""Numbers are edited by slider, box and wheel, with one undo step for each action."""

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QMouseEvent, QWheelEvent
from PySide6.QtWidgets import QApplication, QLabel, QSlider, QStyle, QStyleOptionSlider
from pytestqt.qtbot import QtBot

from tests.app.app_support import move_pointer
from tests.app.inspector.every_parameter import TYPE, number
from warploom.app.inspector.inspector import Inspector
from warploom.app.inspector.parameter_editors import (
    NumberEditor,
)
from warploom.app.inspector.scrub import Scrub
from warploom.app.theme.apply import apply_theme
from warploom.app.theme.colours import current
from warploom.engine.blocktypes.parameters import ParameterSpec
from warploom.engine.patch.document import Patch


def drag(qtbot: QtBot, slider: QSlider, positions: list[int]) -> None:
    """Drag a slider's handle with the mouse through these positions, in percent of its length."""
    option = QStyleOptionSlider()
    slider.initStyleOption(option)
    handle = slider.style().subControlRect(
        QStyle.ComplexControl.CC_Slider, option, QStyle.SubControl.SC_SliderHandle, slider
    )
    qtbot.mousePress(slider, Qt.MouseButton.LeftButton, pos=handle.center())
    for percent in positions:
        move_pointer(slider, QPoint(slider.width() * percent // 100, handle.center().y()), Qt.MouseButton.LeftButton)
    end = QPoint(slider.width() * positions[-1] // 100, handle.center().y())
    qtbot.mouseRelease(slider, Qt.MouseButton.LeftButton, pos=end)


def test_a_slider_drag_is_one_undo_step(qtbot: QtBot, inspector: Inspector, patch: Patch) -> None:
    """The moves of one slider drag make one undo step."""
    slider = number(inspector, "gain").slider
    assert slider is not None
    before = len(patch.history.names)
    drag(qtbot, slider, [20, 40, 60, 80])
    assert patch.value("a", "gain") == pytest.approx(8.0, abs=1.0)  # inexact, since the handle has a width
    assert patch.history.names[before:] == ["Set gain of Every Parameter"]
    patch.undo()
    assert patch.value("a", "gain") == 1.0
    assert number(inspector, "gain").box.value() == 1.0
    assert slider.value() == 100


def test_two_drags_are_two_undo_steps(qtbot: QtBot, inspector: Inspector, patch: Patch) -> None:
    """Two drags of a slider are two undo steps."""
    slider = number(inspector, "gain").slider
    assert slider is not None
    drag(qtbot, slider, [30, 40])
    first = patch.value("a", "gain")
    drag(qtbot, slider, [60, 70])
    patch.undo()
    assert patch.value("a", "gain") == first


def test_slider_values_are_round_numbers(inspector: Inspector, patch: Patch) -> None:
    """The values of a slider with 1000 steps over 0 to 10 have two digits, without binary noise."""
    slider = number(inspector, "gain").slider
    assert slider is not None
    slider.setValue(333)
    assert patch.value("a", "gain") == 3.33


def test_a_number_without_bounds_has_no_slider_and_takes_any_size(
    qtbot: QtBot, inspector: Inspector, patch: Patch
) -> None:
    """A number without bounds has no slider and takes any typed number, even with an exponent."""
    editor = number(inspector, "free")
    assert editor.slider is None
    for text, value in (("2.5e-7", 2.5e-7), ("-123456.75", -123456.75)):
        editor.box.selectAll()
        qtbot.keyClicks(editor.box, text)
        qtbot.keyClick(editor.box, Qt.Key.Key_Return)
        assert patch.value("a", "free") == value


@pytest.mark.parametrize(
    ("parameter", "begins", "keys", "ends"),
    [
        ("free", 2.5, Qt.KeyboardModifier.NoModifier, 3.5),  # a hundredth of its decade for each of 100 pixels
        ("free", 2.5, Qt.KeyboardModifier.ShiftModifier, 2.6),
        ("free", 2.5, Qt.KeyboardModifier.ControlModifier, 35.0),
        ("free", 0.0, Qt.KeyboardModifier.NoModifier, 1.0),
        ("free", -250.0, Qt.KeyboardModifier.NoModifier, -150.0),
        ("gain", 1.0, Qt.KeyboardModifier.NoModifier, 4.33),  # its range from 0 to 10 is 300 pixels
        ("gain", 9.0, Qt.KeyboardModifier.NoModifier, 10.0),
    ],
)
def test_a_number_is_dragged_by_its_name(
    qtbot: QtBot,
    inspector: Inspector,
    patch: Patch,
    parameter: str,
    begins: float,
    keys: Qt.KeyboardModifier,
    ends: float,
) -> None:
    """Also one without bounds; a drag is one undo step, and a click lets the person type."""
    patch.set("a", **{parameter: begins})
    before, label = len(patch.history.names), inspector.rows[parameter].label
    qtbot.mousePress(label, Qt.MouseButton.LeftButton, keys, QPoint(10, 5))
    for x in range(20, 111, 10):
        at = QPointF(x, 5)
        move = QMouseEvent(
            QEvent.Type.MouseMove, at, label.mapToGlobal(at), Qt.MouseButton.NoButton, Qt.MouseButton.LeftButton, keys
        )
        QApplication.sendEvent(label, move)
    qtbot.mouseRelease(label, Qt.MouseButton.LeftButton, keys, QPoint(110, 5))
    assert patch.value("a", parameter) == pytest.approx(ends)
    assert len(patch.history.names) == before + 1
    patch.undo()
    assert patch.value("a", parameter) == number(inspector, parameter).box.value() == begins
    inspector.show()
    inspector.activateWindow()
    qtbot.mouseClick(label, Qt.MouseButton.LeftButton)
    assert len(patch.history.names) == before


def test_a_number_out_of_range_becomes_the_nearest_bound(qtbot: QtBot, inspector: Inspector, patch: Patch) -> None:
    """A typed number out of range becomes the nearest bound in the box, even if the value already was that bound."""
    box = number(inspector, "gain").box
    for text in ("99", "999"):
        box.selectAll()
        qtbot.keyClicks(box, text)
        qtbot.keyClick(box, Qt.Key.Key_Return)
        assert patch.value("a", "gain") == 10
        assert box.text() == "10 dB"


def test_escape_forgets_a_typed_number(qtbot: QtBot, inspector: Inspector, patch: Patch) -> None:
    """Escape restores the patch's number and releases the focus, so nothing is entered."""
    inspector.activateWindow()
    qtbot.waitUntil(inspector.isActiveWindow)
    box, edits = number(inspector, "free").box, len(patch.history.names)
    box.setFocus()
    shown = box.text()
    box.selectAll()
    qtbot.keyClicks(box, "-7")
    qtbot.keyClick(box, Qt.Key.Key_Escape)
    assert box.text() == shown
    assert not box.hasFocus()
    box.setFocus()
    inspector.setFocus()
    assert len(patch.history.names) == edits


def test_different_values_stay_when_no_number_is_entered(qtbot: QtBot, inspector: Inspector, patch: Patch) -> None:
    """Different values of two blocks stay if an unreadable text or Escape is typed; a number sets both."""
    inspector.activateWindow()
    qtbot.waitUntil(inspector.isActiveWindow)
    patch.add(TYPE, node_id="b", gain=3.0)
    inspector.show_nodes(["a", "b"])
    box = number(inspector, "gain").box
    box.setFocus()
    mixed = box.text()
    for text, key in (("((2)", Qt.Key.Key_Return), ("7", Qt.Key.Key_Escape), ("1/0", Qt.Key.Key_Tab)):
        box.setFocus()
        box.selectAll()
        qtbot.keyClicks(box, text)
        qtbot.keyClick(box, key)
        assert [patch.value(node, "gain") for node in "ab"] == [1.0, 3.0]
        assert box.text() == mixed
    box.setFocus()
    box.selectAll()
    qtbot.keyClicks(box, "1")
    qtbot.keyClick(box, Qt.Key.Key_Return)
    assert [patch.value(node, "gain") for node in "ab"] == [1.0, 1.0]


def test_whole_numbers_stay_whole(inspector: Inspector, patch: Patch) -> None:
    """An int parameter stays an int, from the slider and from the box."""
    editor = number(inspector, "count")
    assert editor.slider is not None
    editor.slider.setValue(10)
    assert patch.value("a", "count") == 11  # 1, plus ten steps of 1
    assert type(patch.value("a", "count")) is int


def test_unit_is_shown(inspector: Inspector) -> None:
    """A number is followed by its unit."""
    assert number(inspector, "gain").box.text() == "1 dB"


def test_a_click_beside_the_handle_brings_it_there(qtbot: QtBot, inspector: Inspector, patch: Patch) -> None:
    """A click beside a slider's handle moves the handle there, as one undo step."""
    slider = number(inspector, "gain").slider
    assert slider is not None
    edits = len(patch.history.names)
    middle = slider.height() // 2
    qtbot.mousePress(slider, Qt.MouseButton.LeftButton, pos=QPoint(slider.width() * 3 // 4, middle))
    pressed = patch.value("a", "gain")
    assert pressed == pytest.approx(7.5, abs=0.6)
    move_pointer(slider, QPoint(slider.width() // 2, middle), Qt.MouseButton.LeftButton)
    qtbot.mouseRelease(slider, Qt.MouseButton.LeftButton, pos=QPoint(slider.width() // 2, middle))
    assert patch.value("a", "gain") == pytest.approx(5, abs=0.4)
    assert len(patch.history.names) == edits + 1


def test_the_wheel_edits_only_a_focused_number(inspector: Inspector, patch: Patch) -> None:
    """The wheel edits a number only if the number has the focus."""
    box = number(inspector, "gain").box
    inspector.setFocus()
    event = QWheelEvent(
        QPointF(5, 5),
        QPointF(box.mapToGlobal(QPoint(5, 5))),
        QPoint(),
        QPoint(0, 120),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(box, event)
    assert patch.value("a", "gain") == 1.0


@pytest.mark.parametrize("block", ["particles.emitter", "fractal.mandelbrot_step", "control.while", "image.tone"])
def test_numbers_fit_into_their_boxes_with_their_units(inspector: Inspector, patch: Patch, block: str) -> None:
    """The largest and smallest numbers fit into their boxes with their units, and a block's boxes are equally wide."""
    inspector.show_nodes([patch.add(block).id])
    inspector.resize(518, 400)
    editors = [row.editor for row in inspector.rows.values()]
    boxes = [editor.box for editor in editors if isinstance(editor, NumberEditor) and editor.slider is not None]
    assert len({box.width() for box in boxes}) == 1
    for box in boxes:
        for value in (box.minimum(), box.maximum()):
            text = box.textFromValue(value) + box.suffix()
            assert box.fontMetrics().horizontalAdvance(text) < box.lineEdit().width(), text


@pytest.mark.parametrize("value", [-1.0, -0.5, 0.0, 0.5, 1.0])
def test_a_slider_to_both_sides_is_filled_from_zero(qtbot: QtBot, qapp: QApplication, value: float) -> None:
    """A slider with both signs is filled from its middle, to the left for negative values."""
    apply_theme(qapp, "dark")
    editor = NumberEditor(ParameterSpec("tilt", "float", 0.0, "A tilt.", minimum=-1.0, maximum=1.0))
    qtbot.addWidget(editor)
    editor.resize(400, 30)
    editor.show()
    editor.show_values([value])
    assert editor.slider is not None
    image, middle = editor.slider.grab().toImage(), editor.slider.width() // 2
    accent = QColor(current().accent).rgb()
    filled = [x for x in range(image.width()) if image.pixel(x, image.height() // 2) == accent]
    far = [x for x in filled if abs(x - middle) > 12]
    assert {(x > middle) - (x < middle) for x in far} == ({(value > 0) - (value < 0)} if value else set())


def test_a_drag_reaches_the_bound_itself(qtbot: QtBot) -> None:
    """The number nearest to it that has the digits of a step may be out of range."""
    editor, label = NumberEditor(ParameterSpec("x", "float", 1.0, "A number.", minimum=0.0, maximum=2.71828)), QLabel()
    for widget in (editor, label):
        qtbot.addWidget(widget)
    Scrub(label, editor, lambda: True)
    edits: list[float] = []
    editor.edited.connect(edits.append)
    editor.show_values([2.0])
    qtbot.mousePress(label, Qt.MouseButton.LeftButton, pos=QPoint(1, 1))
    move_pointer(label, QPoint(900, 1), Qt.MouseButton.LeftButton)
    qtbot.mouseRelease(label, Qt.MouseButton.LeftButton, pos=QPoint(900, 1))
    assert edits == [2.71828]


@pytest.mark.parametrize(
    ("start", "low", "pixels", "end"),
    [
        (5.0, None, [10, -510, -100], [5.1, 0.0, -1.0]),  # through zero in steps of where it began
        (5.0, None, [400, 900, 10], [9.0, 90.0, 91.0]),  # in larger steps from each decade on
        (
            0.002,
            0.0,
            [-200, -450, 450, 200],
            [0.0009, 0.00045, 0.0009, 0.002],
        ),  # and in smaller ones, if it stays positive
        (0.0, None, [50, -100], [0.5, -0.5]),
    ],
)
def test_a_drag_without_a_range_has_the_steps_of_each_decade(
    qtbot: QtBot, start: float, low: float | None, pixels: list[int], end: list[float]
) -> None:
    """So a learning rate and a size in bytes can both be dragged; the way back leads to the same numbers."""
    editor, label = NumberEditor(ParameterSpec("x", "float", 1.0, "A number.", minimum=low)), QLabel()
    for widget in (editor, label):
        qtbot.addWidget(widget)
    Scrub(label, editor, lambda: True)
    edits: list[float] = []
    editor.edited.connect(edits.append)
    editor.show_values([start])
    at = 1
    qtbot.mousePress(label, Qt.MouseButton.LeftButton, pos=QPoint(at, 1))
    for way in pixels:
        at += way
        move_pointer(label, QPoint(at, 1), Qt.MouseButton.LeftButton)
    qtbot.mouseRelease(label, Qt.MouseButton.LeftButton, pos=QPoint(at, 1))
    assert edits == pytest.approx(end)


def test_a_drag_of_several_blocks_begins_at_the_number_of_the_first(qtbot: QtBot) -> None:
    """Otherwise it would begin at a number that none of them has."""
    editor, label = NumberEditor(ParameterSpec("x", "float", 1.0, "A number.")), QLabel()
    for widget in (editor, label):
        qtbot.addWidget(widget)
    Scrub(label, editor, lambda: True)
    edits: list[float] = []
    editor.edited.connect(edits.append)
    editor.show_values([5.0, 80.0])
    assert not editor.box.text()
    qtbot.mousePress(label, Qt.MouseButton.LeftButton, pos=QPoint(1, 1))
    move_pointer(label, QPoint(11, 1), Qt.MouseButton.LeftButton)
    qtbot.mouseRelease(label, Qt.MouseButton.LeftButton, pos=QPoint(11, 1))
    assert edits == [pytest.approx(5.1)]
