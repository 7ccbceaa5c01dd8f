"""The switch that compiles a parameter into the kernel as a constant."""

import pytest
from pytestqt.qtbot import QtBot

from tests.app.app_support import make_report
from warploom import Patch
from warploom.app.inspector.inspector import Inspector
from warploom.app.view_models.tooltips import node_tooltip
from warploom.engine.patch.changes import PortRef
from warploom.engine.protocol.messages import NodeReport, NodeState


@pytest.fixture
def patch() -> Patch:
    """A patch with two formulas that have two sliders each, and an LFO."""
    patch = Patch()
    patch.add("kernel.expression", node_id="a", expression="x * gain + offset", gain=2.5)
    patch.add("kernel.expression", node_id="b", expression="x * gain + offset", gain=4.0)
    patch.add("value.lfo", node_id="lfo")
    return patch


@pytest.fixture
def inspector(qtbot: QtBot, patch: Patch) -> Inspector:
    """An inspector that shows one of the formulas."""
    inspector = Inspector()
    qtbot.addWidget(inspector)
    inspector.resize(360, 500)
    inspector.show()
    inspector.set_patch(patch)
    inspector.show_nodes(["a"])
    return inspector


def test_a_click_makes_a_constant_and_another_one_takes_it_back(inspector: Inspector, patch: Patch) -> None:
    """A click on the switch makes a parameter a constant and another one makes it live, in one undo step each."""
    before = list(inspector.rows)
    inspector.rows["gain"].constant.click()
    assert patch.value("a", "constants") == "gain"
    row = inspector.rows["gain"]
    assert list(inspector.rows) == before
    assert row.constant.isChecked() and row.drive.isHidden() and row.editor.isVisible()
    assert "compiles the kernel again" in row.label.toolTip()
    assert "Compiled into its kernel: gain = 2.5." in node_tooltip(patch, "a", None)
    inspector.rows["offset"].constant.click()
    assert patch.value("a", "constants") == "gain, offset"
    inspector.rows["gain"].constant.click()
    assert patch.value("a", "constants") == "offset"
    patch.undo()
    patch.undo()
    assert patch.value("a", "constants") == "gain"
    assert [inspector.rows[name].constant.isChecked() for name in ("gain", "offset")] == [True, False]


def test_the_switch_says_what_was_gained(inspector: Inspector, patch: Patch, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a click, the tooltip has the block's time before and now; after undo, it has none."""
    monkeypatch.setattr("warploom.app.inspector.inspector._REFRESH_S", -1.0)

    def gain(milliseconds: float) -> str:
        node = NodeReport("kernel.expression", NodeState.OK, time_ns=round(milliseconds * 1e6))
        inspector.show_report(make_report(nodes={"a": node}))
        first, *lines = inspector.rows["gain"].constant.toolTip().splitlines()
        assert first
        return "".join(lines)

    assert gain(2.5) == ""
    inspector.rows["gain"].constant.click()
    assert gain(0.5) == "The block takes 500 µs now, and took 2.50 ms with gain passed to the kernel"
    inspector.rows["gain"].constant.click()
    assert gain(2.0) == "The block takes 2.00 ms now, and took 500 µs with gain compiled in"
    patch.undo()
    assert gain(0.5) == ""


def test_only_parameters_of_kernels_have_the_switch(inspector: Inspector, patch: Patch) -> None:
    """Only parameters of kernels have the switch, not the block's own parameters or those of library blocks."""
    assert [name for name, row in inspector.rows.items() if not row.constant.isHidden()] == ["gain", "offset"]
    patch.add("math.saxpy", node_id="saxpy")
    inspector.show_nodes(["saxpy"])
    assert inspector.rows["a"].constant.isHidden()


def test_a_driven_parameter_says_why_it_is_no_constant(inspector: Inspector, patch: Patch) -> None:
    """A driven parameter's switch is disabled until it is disconnected."""
    patch.connect(PortRef("lfo", "value"), PortRef("a", "gain"))
    switch = inspector.rows["gain"].constant
    assert not switch.isEnabled()
    assert switch.toolTip() == "A value drives gain: disconnect it before you compile it into the kernel"
    patch.undo()
    assert inspector.rows["gain"].constant.isEnabled()


def test_several_blocks_are_switched_together(inspector: Inspector, patch: Patch) -> None:
    """The parameters of several blocks are switched in one step, and names that a kernel lacks are dropped."""
    for node in "ab":
        patch.set(node, constants="gone")
    inspector.show_nodes(["a", "b"])
    inspector.rows["gain"].constant.click()
    assert [patch.value(node, "constants") for node in "ab"] == ["gain", "gain"]
    assert [patch.value(node, "gain") for node in "ab"] == [2.5, 4.0]
    patch.undo()
    assert [patch.value(node, "constants") for node in "ab"] == ["gone", "gone"]
