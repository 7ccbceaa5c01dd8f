"""Driven parameters in the inspector."""

import itertools

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu
from pytestqt.qtbot import QtBot

from tests.app.app_support import make_report
from warploom.app.inspector.inspector import Inspector
from warploom.app.inspector.parameter_editors import NumberEditor
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.document import Patch
from warploom.engine.protocol.messages import NodeReport, NodeState

LFO = PortRef("lfo", "value")


@pytest.fixture
def inspector(qtbot: QtBot, patch: Patch) -> Inspector:
    """An inspector of one node with every kind of parameter; the patch also has an LFO."""
    patch.add("test_app.every_parameter", node_id="a", position=(400, 0), gain=3.0)
    patch.add("value.lfo", node_id="lfo")
    inspector = Inspector()
    qtbot.addWidget(inspector)
    inspector.resize(360, 500)
    inspector.show()
    inspector.set_patch(patch)
    inspector.show_nodes(["a"])
    return inspector


def entries(inspector: Inspector, parameter: str) -> dict[str, QAction]:
    """Return the entries of a parameter's menu by path: "Drive with a new > LFO"."""
    menu = inspector.rows[parameter].menu
    menu.aboutToShow.emit()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    found = {action.text(): action for action in menu.actions() if not action.isSeparator()}
    for inner in menu.findChildren(QMenu):
        del found[inner.title()]
        found |= {f"{inner.title()} > {action.text()}": action for action in inner.actions()}
    return found


def test_only_live_numbers_and_switches_can_be_driven(inspector: Inspector) -> None:
    """Only live numbers and switches have a button for driving, not text, files and structural parameters."""
    names = ("gain", "free", "count", "on", "mode", "label", "source", "data")
    assert [name for name in names if not inspector.rows[name].drive.isHidden()] == ["gain", "free", "on"]


def test_a_driven_parameter_shows_what_drives_it_and_its_value(
    inspector: Inspector, patch: Patch, qtbot: QtBot
) -> None:
    """In place of an editor, a driven parameter shows the driving output and the last reported value."""
    patch.rename("lfo", "Tide")
    patch.connect(LFO, PortRef("a", "gain"))
    row = inspector.rows["gain"]
    assert row.is_driven and not row.editor.isVisible()
    assert row.driven.source.text() == "← Tide"
    for value, text in ((0.25, "0.250 dB"), (0.0, "0.000 dB"), (10.0, "10.00 dB")):
        inspector.show_report(make_report(values={"lfo.value": 99.0, "a.gain": value}))
        qtbot.waitUntil(lambda text=text: row.driven.value.text() == text)
    patch.rename("lfo", "Ebb")
    assert row.driven.source.text() == "← Ebb"


def test_the_frame_of_a_buffers_number_is_shown(inspector: Inspector, patch: Patch, qtbot: QtBot) -> None:
    """A parameter that a buffer's number drives shows whether that is of this frame, or how old it is."""
    patch.add("value.from_buffer", node_id="number")
    patch.connect(PortRef("number", "value"), PortRef("a", "gain"))
    source = inspector.rows["gain"].driven.source
    for age, this_frame, text in ((1, (), "1 frame old"), (3, (), "3 frames old"), (3, ("gain",), "this frame")):
        node = NodeReport("test_app.every_parameter", NodeState.OK, this_frame=this_frame)
        inspector.show_report(make_report(nodes={"a": node}, values={"number.age": age, "a.gain": 2.0}))
        qtbot.waitUntil(lambda text=text: source.text() == f"← Buffer to Value · value · {text}")


def test_the_stored_value_comes_back(inspector: Inspector, patch: Patch) -> None:
    """Disconnecting a parameter is one undo step and restores the value that was set."""
    patch.connect(LFO, PortRef("a", "gain"))
    entries(inspector, "gain")["Disconnect"].trigger()
    row = inspector.rows["gain"]
    assert not row.is_driven and isinstance(row.editor, NumberEditor)
    assert row.editor.box.value() == 3.0
    assert patch.history.names[-1] == "Disconnect gain of Every Parameter"
    patch.undo()
    assert row.is_driven and patch.value("a", "gain") == 3.0


def test_a_new_block_is_added_and_connected_in_one_step(inspector: Inspector, patch: Patch) -> None:
    """Adding and connecting a new slider is one undo step, and the slider takes over the parameter's range."""
    before = set(patch.nodes)
    entries(inspector, "gain")["Drive with a new > Slider"].trigger()
    source = patch.source_of(PortRef("a", "gain"))
    assert source is not None and source.node not in before
    assert {name: patch.value(source.node, name) for name in ("low", "high")} == {"low": 0.0, "high": 10.0}
    assert patch.value(source.node, "setting") == pytest.approx(0.3)
    assert patch.history.names[-1] == "Drive gain of Every Parameter with a new Slider"
    patch.undo()
    assert set(patch.nodes) == before and not inspector.rows["gain"].is_driven


def test_new_blocks_do_not_lie_on_each_other(inspector: Inspector, patch: Patch) -> None:
    """New driving blocks are placed left of the node, each in a free place."""
    for name in ("gain", "free", "on"):
        entries(inspector, name)["Drive with a new > LFO"].trigger()
    places = [patch.nodes[c.source.node].position for c in patch.connections]
    assert len(set(places)) == 3
    assert all(x < 400 for x, _ in places)
    heights = sorted(y for _, y in places)
    assert all(below - above >= 48 for above, below in itertools.pairwise(heights))


def test_an_output_that_is_there_can_be_chosen(inspector: Inspector, patch: Patch) -> None:
    """The menu lists the patch's value outputs, and marks the one that drives the parameter."""
    name = "Drive with > LFO\tlfo"
    assert not entries(inspector, "gain")[name].isChecked()
    entries(inspector, "gain")[name].trigger()
    assert patch.source_of(PortRef("a", "gain")) == LFO
    assert entries(inspector, "gain")[name].isChecked()


def test_a_value_that_needs_the_parameter_is_not_offered(inspector: Inspector, patch: Patch) -> None:
    """An output that depends on the parameter is not offered, since it would depend on itself."""
    patch.add("value.smooth", node_id="smooth")
    patch.connect(LFO, PortRef("smooth", "input"))
    inspector.show_nodes(["lfo"])
    offered = [name for name in entries(inspector, "frequency") if name.startswith("Drive with >")]
    assert offered == []


def test_a_click_goes_to_the_driving_block(inspector: Inspector, patch: Patch, qtbot: QtBot) -> None:
    """A click in the row or in the menu selects the driving block."""
    patch.connect(LFO, PortRef("a", "gain"))
    with qtbot.waitSignal(inspector.node_followed) as followed:
        QTest.mouseClick(inspector.rows["gain"].driven.source, Qt.MouseButton.LeftButton)
    assert followed.args == ["lfo"]
    with qtbot.waitSignal(inspector.node_followed) as followed:
        entries(inspector, "gain")["Go to LFO"].trigger()
    assert followed.args == ["lfo"]


def test_several_nodes_are_driven_together(inspector: Inspector, patch: Patch) -> None:
    """One edit drives a parameter of all selected nodes; if their values differ, the row says "various"."""
    patch.add("test_app.every_parameter", node_id="b", position=(400, 300))
    inspector.show_nodes(["a", "b"])
    entries(inspector, "gain")["Drive with > LFO\tlfo"].trigger()
    assert {patch.source_of(PortRef(node, "gain")) for node in ("a", "b")} == {LFO}
    assert inspector.rows["gain"].driven.source.text() == "← LFO"
    patch.disconnect(PortRef("b", "gain"))
    assert inspector.rows["gain"].driven.source.text() == "← various"
    entries(inspector, "gain")["Disconnect"].trigger()
    assert patch.connections == [] and not inspector.rows["gain"].is_driven


def test_the_foot_shows_the_outputs_of_a_value_block(inspector: Inspector, patch: Patch) -> None:
    """Below a value block's parameters, the inspector shows its output values."""
    inspector.show_nodes(["lfo"])
    nodes = {"lfo": NodeReport("value.lfo", NodeState.OK)}
    inspector.show_report(make_report(nodes=nodes, values={"lfo.value": 0.25}))
    assert inspector.status is not None and inspector.status.figures == ["value: 0.250"]


@pytest.mark.parametrize(
    ("parameter", "value"),
    [("gain", 1 / 3), ("count", 7), ("on", False), ("mode", "hard"), ("label", "two words")],
)
def test_a_value_is_copied_and_pasted_as_text(
    inspector: Inspector, patch: Patch, parameter: str, value: object
) -> None:
    """The menu of a name copies a value with all its digits, and pastes it to another block."""
    patch.add("test_app.every_parameter", node_id="other")
    patch.set("a", **{parameter: value})
    entries(inspector, parameter)["Copy value"].trigger()
    assert QGuiApplication.clipboard().text() == str(value)
    inspector.show_nodes(["other"])
    entries(inspector, parameter)["Paste value"].trigger()
    assert patch.value("other", parameter) == value


def test_what_is_no_number_is_not_pasted(inspector: Inspector, patch: Patch) -> None:
    """The message says so, and the value stays."""
    said: list[str] = []
    inspector.refused.connect(said.append)
    for text in ("red", "nan", "inf", ""):
        QGuiApplication.clipboard().setText(text)
        entries(inspector, "count")["Paste value"].trigger()
    assert patch.value("a", "count") == patch.block_type("a").parameters["count"].default  # type: ignore[union-attr]
    assert said[0] == "count must be a number, got 'red'" and len(said) == 3  # without a text the entry is disabled
