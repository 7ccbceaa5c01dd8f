"""The inspector edits what the block type declares, with one undo step for each action."""

import time
from pathlib import Path

import msgspec
import numpy as np
import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QLineEdit, QPushButton
from pytestqt.qtbot import QtBot

from tests.app.app_support import make_report
from tests.app.inspector.every_parameter import TYPE, number
from warploom.app.inspector.inspector import Inspector
from warploom.app.inspector.node_page import _LATEST_S
from warploom.app.inspector.parameter_editors import (
    ArrayEditor,
    BoolEditor,
    ChoiceEditor,
    NumberEditor,
    ParameterEditor,
    PathEditor,
    TextEditor,
)
from warploom.app.inspector.parameter_form import SectionHeading
from warploom.app.inspector.patch_page import PatchPage
from warploom.engine.patch.beside.file_paths import relative_to
from warploom.engine.patch.document import Patch
from warploom.engine.protocol.messages import BufferReport, EngineStatistics, NodeReport, NodeState, Offered


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
    """Each kind of parameter is edited by its own kind of editor."""
    assert type(inspector.editor(name)) is kind


def test_a_section_folds_for_every_block_until_it_is_unfolded(inspector: Inspector) -> None:
    """The sections of live and structural parameters stay folded for every block until they are unfolded."""
    first, second = inspector.page.findChildren(SectionHeading)
    assert (first.text(), second.text()) == ("While it runs", "Changes rebuild the graph")
    shown = [name for name, row in inspector.rows.items() if row.isVisible()]
    QTest.mouseClick(first, Qt.MouseButton.LeftButton)
    rebuilding = [name for name, row in inspector.rows.items() if row.isVisible()]
    assert rebuilding == [name for name in shown if inspector.editor(name).spec.structural]
    assert not inspector.rows["gain"].label.isVisible()
    inspector.show_nodes([])
    inspector.show_nodes(["a"])
    assert [name for name, row in inspector.rows.items() if row.isVisible()] == rebuilding
    QTest.mouseClick(inspector.page.findChildren(SectionHeading)[0], Qt.MouseButton.LeftButton)
    assert [name for name, row in inspector.rows.items() if row.isVisible()] == shown


def test_a_check_box_sets_a_bool(qtbot: QtBot, inspector: Inspector, patch: Patch) -> None:
    """Clicking a check box sets a bool."""
    editor = inspector.editor("on")
    assert isinstance(editor, BoolEditor)
    editor.check.click()
    assert patch.value("a", "on") is False


def test_choices_set_a_text(inspector: Inspector, patch: Patch) -> None:
    """Choosing from a list sets a text."""
    editor = inspector.editor("mode")
    assert isinstance(editor, ChoiceEditor)
    editor.combo.setCurrentIndex(1)
    editor.combo.textActivated.emit("hard")
    assert patch.value("a", "mode") == "hard"


def test_text_is_set_when_entered_and_only_when_changed(qtbot: QtBot, inspector: Inspector, patch: Patch) -> None:
    """Typing and Enter make one undo step; leaving an unchanged field makes none."""
    editor = inspector.editor("label")
    assert isinstance(editor, TextEditor)
    before = len(patch.history.names)
    qtbot.keyClicks(editor.line, "hello")
    qtbot.keyClick(editor.line, Qt.Key.Key_Return)
    qtbot.keyClick(editor.line, Qt.Key.Key_Return)
    assert patch.value("a", "label") == "hello"
    assert len(patch.history.names) == before + 1


@pytest.mark.parametrize("name", ["label", "source"])
def test_escape_forgets_a_typed_text(qtbot: QtBot, inspector: Inspector, patch: Patch, name: str) -> None:
    """Escape restores the patch's text and releases the focus, so nothing is entered."""
    inspector.activateWindow()
    qtbot.waitUntil(inspector.isActiveWindow)
    patch.set("a", **{name: "kept"})
    editor, edits = inspector.editor(name), len(patch.history.names)
    assert isinstance(editor, TextEditor)
    editor.line.setFocus()
    QTest.keyClicks(editor.line, "more")
    QTest.keyClick(editor.line, Qt.Key.Key_Escape)
    assert editor.line.text() == "kept"
    assert not editor.line.hasFocus()
    editor.line.setFocus()
    inspector.setFocus()
    assert len(patch.history.names) == edits


def test_browsing_sets_a_path_relative_to_the_patch(
    qtbot: QtBot, patch: Patch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A chosen file beside the patch is stored relative to it, so that both can be moved together."""
    patch.add(TYPE, node_id="a")
    inspector = Inspector()
    qtbot.addWidget(inspector)
    inspector.set_patch(patch)
    inspector.show_nodes(["a"])
    chosen = tmp_path / "media" / "photo.png"
    patch.path = tmp_path / "here.loom"  # the first save, while its block is shown
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(chosen), ""))
    editor = inspector.editor("source")
    assert isinstance(editor, PathEditor)
    editor.browse.click()
    assert patch.value("a", "source") == "media/photo.png"
    assert editor.line.text() == "media/photo.png"


@pytest.mark.parametrize("is_dropped", [True, False])
def test_a_file_is_dropped_on_its_field_and_its_address_is_typed(
    qtbot: QtBot, inspector: Inspector, patch: Patch, tmp_path: Path, is_dropped: bool
) -> None:
    """The field gets the path, relative to the patch, and not the address that other programs give."""
    patch.path = tmp_path / "a.loom"
    url, editor = QUrl.fromLocalFile(str(tmp_path / "b c.png")), inspector.editor("source")
    assert isinstance(editor, PathEditor)
    if is_dropped:
        data = QMimeData()
        data.setUrls([url])
        about = (Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier)
        enter = QDragEnterEvent(QPoint(5, 5), *about)
        QApplication.sendEvent(editor.line, enter)
        assert enter.isAccepted()
        QApplication.sendEvent(editor.line, QDropEvent(QPointF(5, 5), *about))
    else:
        editor.line.selectAll()
        qtbot.keyClicks(editor.line, url.toString())
        qtbot.keyClick(editor.line, Qt.Key.Key_Return)
    assert (patch.value("a", "source"), editor.line.text()) == ("b c.png", "b c.png")


def test_paths_outside_the_patch_folder_stay_absolute(tmp_path: Path) -> None:
    """A path outside the patch's folder stays absolute, without `..`."""
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
    """A parameter that was set has a reset button, which restores the default."""
    reset = inspector.rows["gain"].reset
    assert reset.isHidden()
    patch.set("a", gain=5.0)
    assert not reset.isHidden()
    reset.click()
    assert "gain" not in patch.nodes["a"].parameters
    assert number(inspector, "gain").box.value() == 1.0
    assert reset.isHidden()


def test_undo_updates_the_editors(inspector: Inspector, patch: Patch) -> None:
    """Undo and other changes update the editors without making an edit."""
    patch.set("a", gain=7.0, mode="hard", on=False)
    steps = len(patch.history.names)
    assert number(inspector, "gain").box.value() == 7.0
    patch.undo()
    assert number(inspector, "gain").box.value() == 1.0
    assert len(patch.history.names) == steps - 1


def test_several_nodes_of_a_type_are_edited_together(inspector: Inspector, patch: Patch) -> None:
    """An edit of several nodes of a type sets all of them in one undo step."""
    patch.add(TYPE, node_id="b", gain=3.0)
    inspector.show_nodes(["a", "b"])
    editor = number(inspector, "gain")
    assert editor.box.text() != "1 dB"  # the two values differ
    before = len(patch.history.names)
    editor.box.setValue(4.0)
    assert [patch.value(node, "gain") for node in "ab"] == [4.0, 4.0]
    assert patch.history.names[before:] == ["Set gain of 2 blocks"]
    patch.undo()
    assert [patch.value(node, "gain") for node in "ab"] == [1.0, 3.0]


def test_nodes_of_different_types_show_what_they_have_in_common(inspector: Inspector, patch: Patch) -> None:
    """A common parameter is edited in all of them, in the range that all take; without one, the reason is shown."""
    patch.add("test_app.picture", node_id="p")
    inspector.show_nodes(["a", "p"])
    assert inspector.currentIndex() == 0
    assert inspector.hint.text() == "2 blocks of different types.\nThey have no parameter in common"
    patch.add("math.scale_offset", node_id="scale")
    patch.add("value.lfo", node_id="lfo", offset=2.0)
    inspector.show_nodes(["scale", "lfo"])
    assert inspector.rows.keys() == {"offset"}
    assert inspector.header is not None and inspector.header.title.text() == "2 blocks"
    editor = inspector.editor("offset")
    assert isinstance(editor, NumberEditor) and editor.box.text() == ""
    editor.box.setFocus()
    QTest.keyClicks(editor.box, "3")
    QTest.keyClick(editor.box, Qt.Key.Key_Return)
    assert [patch.value(node, "offset") for node in ("scale", "lfo")] == [3.0, 3.0]
    patch.undo()
    assert [patch.value(node, "offset") for node in ("scale", "lfo")] == [0.0, 2.0]


def test_nothing_selected_shows_the_patch(inspector: Inspector, patch: Patch) -> None:
    """Without a selection, the inspector shows the patch and its costliest blocks, which are links; or else a hint."""
    costly, cheap = patch.add("math.scale_offset", title="Costly").id, patch.add("value.lfo").id
    times = {cheap: NodeReport("", NodeState.OK, "", 1000), costly: NodeReport("", NodeState.OK, "", 3000)}
    statistics = EngineStatistics("host", kernels=5, pool_allocated_bytes=2**21, work_ns=4000)
    inspector.show_nodes([])
    inspector.show_report(make_report(nodes=times, statistics=statistics, launches=1))
    page = inspector.currentWidget()
    assert isinstance(page, PatchPage)
    assert page.title.text() == "Untitled"
    blocks = len(patch.nodes)
    figures = [f"{blocks} blocks, 0 connections", "420 µs a frame in 5 kernels", "2.00 MB of memory on host"]
    assert page.figures.text().splitlines() == figures
    assert page.listed == [costly, cheap]
    followed: list[str] = []
    inspector.node_followed.connect(followed.append)
    next(button for button in page.findChildren(QPushButton) if button.text() == "Costly").click()
    assert followed == [costly]
    for node in tuple(patch.nodes):
        patch.remove(node)
    assert inspector.hint.isVisible() and inspector.hint.text() == "Select a block to edit its parameters"


def test_a_removed_node_leaves_the_inspector(inspector: Inspector, patch: Patch) -> None:
    """When the shown node is removed, the inspector becomes empty."""
    patch.remove("a")
    assert inspector.nodes == []
    assert inspector.header is None


def test_the_page_of_another_node_is_freed(qtbot: QtBot, inspector: Inspector, patch: Patch) -> None:
    """However often other nodes are shown, there are the widgets of one page."""
    other = patch.add(TYPE).id

    def widgets() -> int:
        inspector.show_nodes(["a"])
        assert inspector.page.isVisible()  # it is complete
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
        return len(QApplication.allWidgets())

    before = widgets()
    for _ in range(5):
        inspector.show_nodes([other])
    assert widgets() == before


def test_the_title_renames_the_node(qtbot: QtBot, inspector: Inspector, patch: Patch) -> None:
    """Typing a title renames the node; typing the type's own title removes the name again."""
    header = inspector.header
    assert header is not None
    for text, title in (("Volume", "Volume"), ("Every Parameter", "")):
        header.title.selectAll()
        qtbot.keyClicks(header.title, text)
        qtbot.keyClick(header.title, Qt.Key.Key_Return)
        assert patch.nodes["a"].title == title
    patch.undo()
    assert header.title.text() == "Volume"


def test_the_report_shows_state_and_buffers(inspector: Inspector) -> None:
    """The inspector's status shows a node's error, its outputs' sizes and its time."""
    node = NodeReport(TYPE, NodeState.ERROR, "x must be connected", 1500, 2)
    inspector.show_report(make_report(nodes={"a": node}, buffers={"a.out": BufferReport("f32", (4,), 16, 256)}))
    status = inspector.status
    assert status is not None
    assert status.message == "x must be connected"
    assert status.figures == ["out: f32, 4, 16 B", "1.50 µs in 2 kernels"]


def test_figures_keep_their_place_while_a_block_is_built(inspector: Inspector) -> None:
    """A page does not get shorter while its block has no time, or no outputs: what is scrolled would move."""
    buffers = {"a.out": BufferReport("f32", (4,), 16, 256)}
    running = NodeReport(TYPE, NodeState.OK, "", 1500, 2)
    inspector.resize(300, 400)
    inspector.show_report(make_report(nodes={"a": running}, buffers=buffers))
    inspector.page.layout().activate()
    height = inspector.page.sizeHint().height()
    for report in (
        make_report(nodes={"a": msgspec.structs.replace(running, state=NodeState.IDLE)}, buffers=buffers),
        make_report(nodes={"a": msgspec.structs.replace(running, state=NodeState.IDLE)}),
        make_report(nodes={"a": running}, buffers=buffers),
    ):
        inspector.show_report(report)
        inspector.page.layout().activate()
        assert inspector.page.sizeHint().height() == height


def test_a_placeholder_node_is_explained(inspector: Inspector, patch: Patch) -> None:
    """For a node of an unknown type, the inspector's summary names the type."""
    from warploom.engine.patch.files import parse_patch

    unknown = parse_patch('{"schema": 1, "nodes": [{"id": "z", "type": "not.installed", "parameters": {"k": 1}}]}')
    inspector.set_patch(unknown)
    inspector.show_nodes(["z"])
    assert inspector.header is not None
    assert "not.installed" in inspector.header.summary.text()


def test_help_in_the_inspector_shows_no_marks(qtbot: QtBot) -> None:
    """Help in the inspector contains no backticks."""
    patch = Patch()
    patch.add("buffer.frame_delay", node_id="d")
    patch.add("math.saxpy", node_id="s")
    inspector = Inspector()
    qtbot.addWidget(inspector)
    inspector.set_patch(patch)
    for node in patch.nodes:
        inspector.show_nodes([node])
        assert inspector.header is not None
        texts = [inspector.header.summary.text(), inspector.header.summary.toolTip()]
        texts += [row.label.toolTip() for row in inspector.rows.values()]
        assert not any("`" in text for text in texts)


def test_a_narrow_inspector_scrolls_sideways(qtbot: QtBot, inspector: Inspector) -> None:
    """An inspector that is too narrow scrolls sideways, so everything can be reached."""
    inspector.resize(120, 500)
    bar = inspector._scroll.horizontalScrollBar()
    page = inspector._scroll.widget()
    assert page is not None
    qtbot.waitUntil(lambda: bar.maximum() > 0)
    assert page.width() >= page.minimumSizeHint().width()
    assert bar.maximum() + inspector._scroll.viewport().width() == page.width()


def test_names_are_written_with_spaces(inspector: Inspector, patch: Patch) -> None:
    """A parameter is called "roll off" in its row, for screen readers and in the history."""
    patch.add("io.viewer", node_id="viewer")
    inspector.show_nodes(["viewer"])
    row = inspector.rows["roll_off"]
    assert (row.label.text(), row.editor.box.accessibleName()) == ("roll off", "roll off")  # type: ignore[attr-defined]
    row.editor.edited.emit(0.5)
    assert patch.history.undo_name == "Set roll off of Viewer"


def test_a_device_is_chosen_from_those_that_are_there(qtbot: QtBot, patch: Patch) -> None:
    """The button asks the engine, whose answer is a menu; a choice is an edit, and any other text can be typed."""
    patch.add("io.screen", node_id="screen")
    patch.add("io.webcam", node_id="camera", device="a")
    inspector = Inspector()
    qtbot.addWidget(inspector)
    inspector.show()
    inspector.set_patch(patch)
    asked: list[tuple[str, str]] = []
    inspector.offers_wanted.connect(lambda node, parameter: asked.append((node, parameter)))
    for node, name, value in (("camera", "device", "/dev/video2"), ("screen", "monitor", 2)):
        inspector.show_nodes([node])
        button = inspector.editor(name).offers
        assert button is not None
        button.click()
        assert asked[-1] == (node, name) and not button.isEnabled()
        offered = Offered(node, name, (("0", "First & last"), (str(value), "Second")))
        inspector.show_offers(msgspec.structs.replace(offered, node="other"))
        assert not button.isEnabled()
        inspector.show_offers(offered)
        assert [action.text() for action in button.menu_of_offers.actions()] == ["First && last", "Second"]
        button.menu_of_offers.actions()[1].trigger()
        button.menu_of_offers.close()
        assert patch.value(node, name) == value
    inspector.show_nodes(["camera"])
    button = inspector.editor("device").offers
    assert button is not None and inspector.editor("width").offers is None
    inspector.show_offers(Offered("camera", "device", (), "cameras must have PyAV, got none"))
    (action,) = button.menu_of_offers.actions()
    assert action.text() == "cameras must have PyAV, got none" and not action.isEnabled()
    button.menu_of_offers.close()


def test_input_goes_on_when_code_was_compiled_meanwhile(inspector: Inspector, patch: Patch) -> None:
    """A half typed text, its selection and the focus stay while other rows arrive; it is not entered."""
    node = patch.add("kernel.expression", expression="x * freq", sliders="freq: 0..20 = 4").id
    inspector.show_nodes([node])
    line = inspector.editor("reads").findChild(QLineEdit)
    line.setFocus()
    line.selectAll()
    QTest.keyClicks(line, "x, ye")
    line.setSelection(5, -2)
    patch.set(node, expression="x * speed")
    after = inspector.editor("reads").findChild(QLineEdit)
    assert after is not line and inspector.focusWidget() is after
    assert (after.text(), after.selectedText(), after.cursorPosition()) == ("x, ye", "ye", 3)
    assert patch.value(node, "reads") == "x"
    inspector.enter_typed()
    assert patch.value(node, "reads") == "x, ye"


def test_a_busy_editor_shows_the_page_all_the_same(inspector: Inspector, patch: Patch) -> None:
    """If the turns in which a page is made come late, the next one makes the rest of it."""
    patch.add(TYPE, node_id="b")
    inspector.show_nodes(["b"])
    time.sleep(_LATEST_S)
    QCoreApplication.processEvents()
    assert inspector._next is None and inspector._rows


def test_a_problem_is_seen_without_scrolling(qtbot: QtBot, inspector: Inspector) -> None:
    """The reason of an error is in view below the parameters, however many there are, until it is gone."""
    inspector.resize(360, 160)
    problem = inspector.page.status.problem
    assert not problem.isVisible()
    inspector.show_report(make_report(nodes={"a": NodeReport(TYPE, NodeState.ERROR, "x must be connected", None, 0)}))
    qtbot.waitUntil(lambda: problem.visibleRegion().boundingRect().height() == problem.height() > 0)
    inspector.show_report(make_report(nodes={"a": NodeReport(TYPE, NodeState.OK, "", None, 0)}))
    assert not problem.isVisible()
    inspector.show_nodes([])
