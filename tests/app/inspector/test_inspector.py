"""The inspector edits what the block type declares, with one undo step for each action."""

from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QSlider, QStyle, QStyleOptionSlider
from pytestqt.qtbot import QtBot

from app.canvas.drawing.node_layout import node_size
from app.edits.file_paths import relative_to
from app.inspector.inspector import Inspector
from app.inspector.node_info import SectionHeading
from app.inspector.parameter_editors import (
    ArrayEditor,
    BoolEditor,
    ChoiceEditor,
    NumberEditor,
    ParameterEditor,
    PathEditor,
    TextEditor,
)
from app.theme.apply import apply_theme
from app.theme.colours import current
from engine.blocktypes.parameters import ParameterSpec
from engine.patch.document import Patch
from engine.protocol.messages import BufferReport, NodeReport, NodeState
from tests.app.app_support import make_report, move_pointer

TYPE = "test_app.every_parameter"


@pytest.fixture
def inspector(qtbot: QtBot, patch: Patch) -> Inspector:
    """An inspector that shows one node with every parameter."""
    patch.add(TYPE, node_id="a")
    inspector = Inspector(node_size)
    qtbot.addWidget(inspector)
    inspector.resize(360, 500)
    inspector.show()
    inspector.set_patch(patch)
    inspector.show_nodes(["a"])
    return inspector


def number(inspector: Inspector, name: str) -> NumberEditor:
    editor = inspector.editor(name)
    assert isinstance(editor, NumberEditor)
    return editor


def drag(qtbot: QtBot, slider: QSlider, positions: list[int]) -> None:
    """Drag a slider's handle with the mouse through these shares of its length, in percent."""
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


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("gain", NumberEditor),
        ("free", NumberEditor),
        ("count", NumberEditor),
        ("on", BoolEditor),
        ("mode", ChoiceEditor),
        ("label", TextEditor),
        ("source", PathEditor),
        ("data", ArrayEditor),
    ],
)
def test_every_parameter_type_has_its_editor(inspector: Inspector, name: str, kind: type[ParameterEditor]) -> None:
    """Each kind of parameter gets the editor that fits it."""
    assert type(inspector.editor(name)) is kind


def test_a_section_folds_for_every_block_until_it_is_unfolded(inspector: Inspector) -> None:
    """What changes while it runs is told apart from what rebuilds the graph, and either can be put away."""
    first, second = inspector.findChildren(SectionHeading)
    assert (first.text(), second.text()) == ("While it runs", "Changes rebuild the graph")
    shown = [name for name, row in inspector.rows.items() if row.isVisible()]
    QTest.mouseClick(first, Qt.MouseButton.LeftButton)
    rebuilding = [name for name, row in inspector.rows.items() if row.isVisible()]
    assert rebuilding == [name for name in shown if inspector.editor(name).spec.structural]
    assert not inspector.rows["gain"].label.isVisible()
    inspector.show_nodes([])
    inspector.show_nodes(["a"])
    assert [name for name, row in inspector.rows.items() if row.isVisible()] == rebuilding
    QTest.mouseClick(inspector.findChildren(SectionHeading)[0], Qt.MouseButton.LeftButton)
    assert [name for name, row in inspector.rows.items() if row.isVisible()] == shown


def test_a_slider_drag_is_one_undo_step(qtbot: QtBot, inspector: Inspector, patch: Patch) -> None:
    """The moves of one drag make one entry in the history, and undo reverts all of them."""
    slider = number(inspector, "gain").slider
    assert slider is not None
    before = len(patch.history.names)
    drag(qtbot, slider, [20, 40, 60, 80])
    assert patch.value("a", "gain") == pytest.approx(8.0, abs=1.0)  # the handle has a width
    assert patch.history.names[before:] == ["Set gain of Every Parameter"]
    patch.undo()
    assert patch.value("a", "gain") == 1.0
    assert number(inspector, "gain").box.value() == 1.0
    assert slider.value() == 100


def test_two_drags_are_two_undo_steps(qtbot: QtBot, inspector: Inspector, patch: Patch) -> None:
    """Releasing the slider ends the step."""
    slider = number(inspector, "gain").slider
    assert slider is not None
    drag(qtbot, slider, [30, 40])
    first = patch.value("a", "gain")
    drag(qtbot, slider, [60, 70])
    patch.undo()
    assert patch.value("a", "gain") == first


def test_slider_values_are_round_numbers(inspector: Inspector, patch: Patch) -> None:
    """A slider of 1000 steps over 0 to 10 gives values with two digits, not binary noise."""
    slider = number(inspector, "gain").slider
    assert slider is not None
    slider.setValue(333)
    assert patch.value("a", "gain") == 3.33


def test_a_number_without_bounds_has_no_slider_and_takes_any_size(
    qtbot: QtBot, inspector: Inspector, patch: Patch
) -> None:
    """Typed numbers are taken as they are, also with an exponent."""
    editor = number(inspector, "free")
    assert editor.slider is None
    for text, value in (("2.5e-7", 2.5e-7), ("-123456.75", -123456.75)):
        editor.box.selectAll()
        qtbot.keyClicks(editor.box, text)
        qtbot.keyClick(editor.box, Qt.Key.Key_Return)
        assert patch.value("a", "free") == value


def test_numbers_out_of_range_are_not_taken(qtbot: QtBot, inspector: Inspector, patch: Patch) -> None:
    """A typed number beyond the declared bounds does not reach the patch."""
    box = number(inspector, "gain").box
    box.selectAll()
    qtbot.keyClicks(box, "99")
    qtbot.keyClick(box, Qt.Key.Key_Return)
    assert patch.value("a", "gain") <= 10


def test_whole_numbers_stay_whole(inspector: Inspector, patch: Patch) -> None:
    """An int parameter gets an int, from the slider and from the box."""
    editor = number(inspector, "count")
    assert editor.slider is not None
    editor.slider.setValue(10)
    assert patch.value("a", "count") == 11  # from 1 in steps of 1
    assert type(patch.value("a", "count")) is int


def test_unit_is_shown(inspector: Inspector) -> None:
    """The unit follows the number."""
    assert number(inspector, "gain").box.text() == "1 dB"


def test_a_check_box_sets_a_bool(qtbot: QtBot, inspector: Inspector, patch: Patch) -> None:
    """Clicking the box changes the parameter."""
    editor = inspector.editor("on")
    assert isinstance(editor, BoolEditor)
    editor.check.click()
    assert patch.value("a", "on") is False


def test_choices_set_a_text(inspector: Inspector, patch: Patch) -> None:
    """Choosing from the list changes the parameter."""
    editor = inspector.editor("mode")
    assert isinstance(editor, ChoiceEditor)
    editor.combo.setCurrentIndex(1)
    editor.combo.textActivated.emit("hard")
    assert patch.value("a", "mode") == "hard"


def test_text_is_set_when_entered_and_only_when_changed(qtbot: QtBot, inspector: Inspector, patch: Patch) -> None:
    """Typing and Enter make one step; leaving the field untouched makes none."""
    editor = inspector.editor("label")
    assert isinstance(editor, TextEditor)
    before = len(patch.history.names)
    qtbot.keyClicks(editor.line, "hello")
    qtbot.keyClick(editor.line, Qt.Key.Key_Return)
    qtbot.keyClick(editor.line, Qt.Key.Key_Return)
    assert patch.value("a", "label") == "hello"
    assert len(patch.history.names) == before + 1


def test_browsing_sets_a_path_relative_to_the_patch(
    qtbot: QtBot, patch: Patch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file beside the patch is kept relative to it, so that both can move together."""
    patch.add(TYPE, node_id="a")
    inspector = Inspector(node_size)
    qtbot.addWidget(inspector)
    inspector.set_patch(patch)
    inspector.show_nodes(["a"])
    chosen = tmp_path / "media" / "photo.png"
    patch.path = tmp_path / "here.loom"  # saved for the first time while its block is shown
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(chosen), ""))
    editor = inspector.editor("source")
    assert isinstance(editor, PathEditor)
    editor.browse.click()
    assert patch.value("a", "source") == "media/photo.png"
    assert editor.line.text() == "media/photo.png"


def test_paths_outside_the_patch_folder_stay_absolute(tmp_path: Path) -> None:
    """A path is not made relative with `..`."""
    assert relative_to(tmp_path / "x.png", tmp_path / "deep") == (tmp_path / "x.png").as_posix()
    assert relative_to(tmp_path / "x.png", None) == (tmp_path / "x.png").as_posix()


def test_an_array_is_summarised(inspector: Inspector, patch: Patch) -> None:
    """An array shows its type, shape, size and range."""
    editor = inspector.editor("data")
    assert isinstance(editor, ArrayEditor)
    assert editor.label.text() == "float32, 6, 24 B, 0 to 5"
    patch.set("a", data=np.full((2, 3), 7, np.int32))
    assert editor.label.text() == "int32, [2, 3], 24 B, 7 to 7"


def test_reset_gives_the_default_back(inspector: Inspector, patch: Patch) -> None:
    """The reset button is there only for a value that was set, and one click removes that value."""
    reset = inspector.rows["gain"].reset
    assert reset.isHidden()
    patch.set("a", gain=5.0)
    assert not reset.isHidden()
    reset.click()
    assert "gain" not in patch.nodes["a"].parameters
    assert number(inspector, "gain").box.value() == 1.0
    assert reset.isHidden()


def test_undo_updates_the_editors(inspector: Inspector, patch: Patch) -> None:
    """A change from elsewhere is shown and does not become an edit."""
    patch.set("a", gain=7.0, mode="hard", on=False)
    steps = len(patch.history.names)
    assert number(inspector, "gain").box.value() == 7.0
    patch.undo()
    assert number(inspector, "gain").box.value() == 1.0
    assert len(patch.history.names) == steps - 1


def test_several_nodes_of_a_type_are_edited_together(inspector: Inspector, patch: Patch) -> None:
    """One edit sets all of them, and is one undo step."""
    patch.add(TYPE, node_id="b", gain=3.0)
    inspector.show_nodes(["a", "b"])
    editor = number(inspector, "gain")
    assert editor.box.text() != "1 dB"  # the two differ
    before = len(patch.history.names)
    editor.box.setValue(4.0)
    assert [patch.value(node, "gain") for node in "ab"] == [4.0, 4.0]
    assert patch.history.names[before:] == ["Set gain of 2 blocks"]
    patch.undo()
    assert [patch.value(node, "gain") for node in "ab"] == [1.0, 3.0]


def test_nodes_of_different_types_are_not_edited_together(inspector: Inspector, patch: Patch) -> None:
    """The inspector says why it is empty."""
    patch.add("test_app.picture", node_id="p")
    inspector.show_nodes(["a", "p"])
    assert inspector.currentIndex() == 0
    assert "2 blocks of different types" in inspector.hint.text()


def test_nothing_selected_says_what_to_do(inspector: Inspector) -> None:
    """The empty inspector shows a hint."""
    inspector.show_nodes([])
    assert inspector.currentIndex() == 0
    assert inspector.hint.text() == "Select a block to edit its parameters"


def test_a_removed_node_leaves_the_inspector(inspector: Inspector, patch: Patch) -> None:
    """Deleting the shown node empties the inspector."""
    patch.remove("a")
    assert inspector.nodes == []
    assert inspector.currentIndex() == 0


def test_the_title_renames_the_node(qtbot: QtBot, inspector: Inspector, patch: Patch) -> None:
    """Typing a title renames; typing the type's own title removes the name again."""
    header = inspector.header
    assert header is not None
    for text, title in (("Volume", "Volume"), ("Every Parameter", "")):
        header.title.selectAll()
        qtbot.keyClicks(header.title, text)
        qtbot.keyClick(header.title, Qt.Key.Key_Return)
        assert patch.nodes["a"].title == title
    patch.undo()
    assert header.title.text() == "Volume"


def test_a_click_beside_the_handle_brings_it_there(qtbot: QtBot, inspector: Inspector, patch: Patch) -> None:
    """The slider follows the pointer from where it was pressed, as one undo step."""
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


def test_the_report_shows_state_and_buffers(inspector: Inspector) -> None:
    """The node's errors and the contents of its outputs are below its parameters."""
    node = NodeReport(TYPE, NodeState.ERROR, "x must be connected", 1500, 2)
    inspector.show_report(make_report(nodes={"a": node}, buffers={"a.out": BufferReport("f32", (4,), 16, 256)}))
    status = inspector.status
    assert status is not None
    assert status.message == "x must be connected"
    assert status.figures == ["out: f32, 4, 16 B", "1.50 µs in 2 kernels"]


def test_a_placeholder_node_is_explained(inspector: Inspector, patch: Patch) -> None:
    """A node of an unknown type says that its data is kept."""
    from engine.patch.files import parse_patch

    unknown = parse_patch('{"schema": 1, "nodes": [{"id": "z", "type": "not.installed", "parameters": {"k": 1}}]}')
    inspector.set_patch(unknown)
    inspector.show_nodes(["z"])
    assert inspector.header is not None
    assert "not.installed" in inspector.header.summary.text()


def test_the_wheel_edits_only_a_focused_number(inspector: Inspector, patch: Patch) -> None:
    """Scrolling over the panel changes nothing."""
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
    """This holds for the largest and the smallest value; the boxes of a block are equally wide."""
    inspector.show_nodes([patch.add(block).id])
    inspector.resize(518, 400)
    editors = [row.editor for row in inspector.rows.values()]
    boxes = [editor.box for editor in editors if isinstance(editor, NumberEditor) and editor.slider is not None]
    assert len({box.width() for box in boxes}) == 1
    for box in boxes:
        for value in (box.minimum(), box.maximum()):
            text = box.textFromValue(value) + box.suffix()
            assert box.fontMetrics().horizontalAdvance(text) < box.lineEdit().width(), text


def test_help_in_the_inspector_shows_no_marks(qtbot: QtBot) -> None:
    """Backticks are for texts that set code in a font of its own."""
    patch = Patch()
    patch.add("buffer.frame_delay", node_id="d")
    patch.add("math.saxpy", node_id="s")
    inspector = Inspector(node_size)
    qtbot.addWidget(inspector)
    inspector.set_patch(patch)
    for node in patch.nodes:
        inspector.show_nodes([node])
        assert inspector.header is not None
        texts = [inspector.header.summary.text(), inspector.header.summary.toolTip()]
        texts += [row.label.toolTip() for row in inspector.rows.values()]
        assert not any("`" in text for text in texts)


@pytest.mark.parametrize("value", [-1.0, -0.5, 0.0, 0.5, 1.0])
def test_a_slider_to_both_sides_is_filled_from_zero(qtbot: QtBot, qapp: QApplication, value: float) -> None:
    """Left of the middle for negative values, right of it for positive ones, and nowhere at 0."""
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
