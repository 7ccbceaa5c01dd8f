"""A network is edited on the canvas like a kernel, and its errors are shown at its layers."""

import msgspec
import pytest
from pytestqt.qtbot import QtBot

from tests.app.app_support import make_report
from tests.app.canvas.canvas_support import Hand
from tests.app.window.window_support import patch_of
from tests.inner_patches.networks import small
from warploom import Patch
from warploom.app.edits.nodes import copied, paste
from warploom.app.view_models.port_flow import type_text
from warploom.app.view_models.tooltips import time_text, tooltip
from warploom.app.window.main_window import MainWindow
from warploom.engine.diagnostics import PatchError
from warploom.engine.inner_patches.chain import ChainPatch
from warploom.engine.inner_patches.op_patch import OpPatch
from warploom.engine.inner_patches.training import NetworkPatch
from warploom.engine.patch.changes import PortRef
from warploom.engine.profiling.levels import ProfilingLevel
from warploom.engine.protocol.messages import EngineStatistics, NodeReport, NodeState, PartReport

NODES = {"x", "hidden", "last", "result", "y", "error"}


@pytest.fixture
def inside(window: MainWindow, qtbot: QtBot) -> MainWindow:
    """A window whose canvas shows a network after a double-click on it."""
    window.resize(1200, 800)
    window.files.new()
    patch_of(window).add("tensor.train", node_id="train")
    window.canvas.fit()
    hand = Hand(window.canvas)
    hand.double_click(hand.title("train"))
    qtbot.wait(1)
    return window


def test_the_layers_are_edited_in_the_patch(inside: MainWindow) -> None:
    """An edit inside a network is an edit of the block, which undo reverts; Escape returns to the patch."""
    assert set(inside.canvas.scene.nodes) == NODES
    graph = inside.kernel.graph
    assert isinstance(graph, NetworkPatch)
    patch = patch_of(inside)
    before = patch.value("train", "graph")
    with graph.edit("Show the hidden layer"):
        graph.add("net.output", node_id="seen")
        graph.connect(graph["hidden"]["out"], graph["seen"]["x"])
    block_type = patch.block_type("train")
    assert block_type is not None and "seen" in block_type.ports
    assert patch.undo() == "Show the hidden layer in Train"
    assert patch.value("train", "graph") == before and set(inside.canvas.scene.nodes) == NODES
    inside.kernel.leave()
    assert set(inside.canvas.scene.nodes) == {"train"}


def test_a_mistake_stands_at_its_layer(inside: MainWindow) -> None:
    """An error in shapes is shown at its layer; a layer with a missing input is incomplete."""
    graph = inside.kernel.graph
    assert graph is not None
    graph.set("y", shape="3")
    report = inside.kernel.report
    assert report is not None
    assert report.nodes["error"].state is NodeState.ERROR
    assert "must have one shape, got [1, 1] and [3, 1]" in report.nodes["error"].message
    assert "the last good" in inside.kernel.breadcrumb.state.text()
    graph.undo()
    graph.disconnect(graph["last"]["x"])
    report = inside.kernel.report
    assert report is not None and report.nodes["last"].state is NodeState.INCOMPLETE


def test_layers_show_what_they_cost(inside: MainWindow) -> None:
    """Layers show their time, share of the step and fusion, or, without a profile, how to measure these."""
    graph = inside.kernel.graph
    assert graph is not None
    train = NodeReport("tensor.train", NodeState.OK, kernels=3, time_ns=400_000)

    def told(level: ProfilingLevel, **parts: PartReport) -> str:
        statistics = EngineStatistics("host", profiling=level)
        nodes = {"train": msgspec.structs.replace(train, parts=parts)}
        inside.kernel.show_report(make_report(nodes=nodes, statistics=statistics))
        return tooltip(graph, "hidden", inside.kernel.report)

    found = told(ProfilingLevel.PER_BLOCK, hidden=PartReport(None, 2))
    assert "2 kernels" in found and "Run > Profiling > Each kernel" in found
    found = told(ProfilingLevel.PER_KERNEL, hidden=PartReport(100_000, 2), last=PartReport(None, 0, ("hidden",)))
    assert "100 µs (25% of the block's time), 2 kernels" in found and "does the work of Dense 1" in found
    assert "Fused into Dense 64: one kernel" in tooltip(graph, "last", inside.kernel.report)
    assert time_text(100_000, 0.25) == "0.10 ms · 25%"
    graph.set("last", units=1, activation="tanh")  # an edit keeps the measured times
    report = inside.kernel.report
    assert report is not None and report.nodes["hidden"].share == 0.25
    inside.kernel.leave()
    inside.kernel.show_report(make_report())
    assert inside.kernel.report is None


def test_shapes_are_shown_at_ports() -> None:
    """Ports show the shapes of one example; sparse inputs show the largest number of ones."""
    network = small()
    network.add("net.sparse_input", node_id="few", size=9, ones=2)
    network.add("net.input", node_id="matrix", shape="8, 4")
    found = {}
    for node in ("x", "last", "few", "matrix"):
        block_type = network.block_type(node)
        assert block_type is not None
        found[node] = type_text(network, PortRef(node, "out"), block_type.ports["out"])
    assert found == {"x": "f32[64]", "last": "f32[1]", "few": "at most 2 ones of 9", "matrix": "f32[8, 4]"}
    network.disconnect(network["last"]["x"])
    assert type_text(network, PortRef("last", "out"), block_type.ports["out"]) == "not known yet"
    assert [network.title(node) for node in ("x", "last", "result")] == ["Input x", "Dense 1", "Output result"]


@pytest.mark.parametrize("target", [Patch, OpPatch, ChainPatch])
def test_layers_are_pasted_into_networks_alone(target: type[Patch]) -> None:
    """Pasting layers into a patch changes nothing, and the message states what the clipboard contains."""
    patch, layers = target(), copied(small(), ["hidden", "last"])
    with pytest.raises(PatchError, match=r"clipboard must hold .*, got layers of a network"):
        paste(patch, layers)
    assert not patch.nodes
    network = small()
    added = paste(network, layers)
    assert [network.nodes[node].type for node in added] == ["net.dense"] * 2


def test_blocks_are_not_pasted_into_networks() -> None:
    """Blocks, ops and library calls can't be pasted into networks."""
    outer = Patch()
    outer.add("math.add", node_id="add")
    chain = ChainPatch()
    chain.add("chain.input", node_id="a")
    for text, words in ((copied(outer, ["add"]), "blocks"), (copied(chain, ["a"]), ChainPatch.holds)):
        network = small()
        with pytest.raises(PatchError, match=f"must hold layers of a network, got {words}"):
            paste(network, text)
        assert set(network.nodes) == NODES
