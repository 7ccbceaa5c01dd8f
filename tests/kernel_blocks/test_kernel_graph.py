"""`kernel.graph` makes a block of an op graph; any block can run one with `BlockBuilder.compute`."""

import numpy as np
import pytest

from warploom import Engine, Patch, UpdateLevel
from warploom.api import Block, BlockBuilder, In, OpGraph, OpGraphBuilder, Out, f32, param, port
from warploom.engine.device import optimiser
from warploom.engine.device.device import Device
from warploom.engine.ops import graph_to_json
from warploom.engine.patch.changes import ParameterChanged, PortRef
from warploom.engine.patch.files import dump_patch, parse_patch

SIZES = (1, 7, 1023, 1027)


def _scaled(factor: float = 2.0, *, beside: str = "op.add") -> OpGraph:
    """Return x * amplitude + y, and beside it the sum of x and y, or the result of `beside`."""
    g = OpGraphBuilder()
    x, y = g.add("op.input", "x"), g.add("op.input", "y")
    amplitude = g.add("op.parameter", "amplitude", default=factor, minimum=-8.0, maximum=8.0)
    total = g.add("op.multiply_add", a=x["value"], b=amplitude["out"], c=y["value"])
    g.add("op.output", "out", value=total["out"])
    g.add("op.output", "both", value=g.add(beside, a=x["value"], b=y["value"])["out"])
    return g.graph()


def _ramp(first: float = 0.5) -> OpGraph:
    """Return a graph without inputs: the index of each element along x, counted from `first`."""
    g = OpGraphBuilder()
    g.add("op.output", "out", value=g.add("op.add", a=g.add("op.index", "at")["index"], b=first)["out"])
    return g.graph()


@pytest.mark.parametrize("size", SIZES)
def test_a_graph_computes_each_element(device: Device, size: int) -> None:
    """A graph computes each element, and its ports and sliders have the names of its ops."""
    x, y = np.random.default_rng(size).normal(size=(2, size)).astype(np.float32)
    patch = Patch()
    node = patch.add("kernel.graph", graph=graph_to_json(_scaled()))
    for name, values in (("x", x), ("y", y)):
        patch.connect(patch.add("io.array", data=values)["out"], node[name])
    with Engine(patch, device=device) as engine:
        assert engine.step().diagnostics == ()
        np.testing.assert_array_equal(engine.read(node["both"]), x + y)
        patch.set(node, amplitude=-3.5)
        assert engine.step().update_level is UpdateLevel.HOT
        exact = x.astype(np.float64) * -3.5 + y
        np.testing.assert_allclose(engine.read(node["out"]), exact, rtol=1e-7, atol=1e-7)


def test_a_rewired_graph_runs_and_a_wrong_one_leaves_the_last_good_one() -> None:
    """A wrong graph is reported with its op while the last good one runs, and undo restores the previous graph."""
    patch = Patch()
    node = patch.add("kernel.graph", graph=graph_to_json(_ramp()), size=5)
    with Engine(patch, device="host") as engine:
        engine.step()
        np.testing.assert_array_equal(engine.read(node["out"]), np.arange(5) + 0.5)
        wrong = graph_to_json(_ramp())
        wrong["nodes"][0]["type"] = "op.nothing"
        patch.set(node, graph=wrong)
        reported = engine.step().diagnostics
        assert reported[0].node == node.id and "op.nothing" in reported[0].message
        np.testing.assert_array_equal(engine.read(node["out"]), np.arange(5) + 0.5)
        patch.undo()
        assert engine.step().diagnostics == ()


def test_a_rewired_graph_with_the_same_ports_is_swapped_into_the_running_graph(device: Device) -> None:
    """A rewired graph with the same ports is a CODE update, as predicted, and so is its undo; sliders stay."""
    x, y = np.random.default_rng(5).normal(size=(2, 1027)).astype(np.float32)
    patch = Patch()
    node = patch.add("kernel.graph", graph=graph_to_json(_scaled()), amplitude=0.25)
    for name, values in (("x", x), ("y", y)):
        patch.connect(patch.add("io.array", data=values)["out"], node[name])
    rewired = graph_to_json(_scaled(beside="op.subtract"))
    with Engine(patch, device=device) as engine:
        engine.step()
        running = engine.core.updates.compiled
        edit = ParameterChanged(node.id, "graph", rewired, patch.nodes[node.id].parameters["graph"])
        assert engine.cost_of(edit).level is UpdateLevel.CODE
        for change, both in ((lambda: patch.set(node, graph=rewired), x - y), (patch.undo, x + y)):
            change()
            report = engine.step()
            assert (report.update_level, report.diagnostics) == (UpdateLevel.CODE, ())
            np.testing.assert_array_equal(engine.read(node["both"]), both)
            np.testing.assert_array_equal(engine.read(node["out"]), x * np.float32(0.25) + y)
        assert engine.core.updates.compiled is running


def test_equal_graphs_share_one_module() -> None:
    """Nodes with equal graphs share one module."""
    patch = Patch()
    for _ in range(3):
        patch.add("kernel.graph", graph=graph_to_json(_ramp()), size=7)
    with Engine(patch, device="host") as engine:
        engine.step()
        loaded = engine.core.context.services.modules._loaded
        assert len(loaded) == 1


def test_a_file_keeps_the_graph() -> None:
    """A patch's JSON includes the graph, and a loaded patch computes the same."""
    patch = Patch()
    node = patch.add("kernel.graph", graph=graph_to_json(_ramp()), size=3)
    loaded = parse_patch(dump_patch(patch))
    assert dump_patch(loaded) == dump_patch(patch)
    with Engine(loaded, device="host") as engine:
        engine.step()
        np.testing.assert_array_equal(engine.read(PortRef(node.id, "out")), [0.5, 1.5, 2.5])


def test_any_block_may_compute_a_graph(device: Device) -> None:
    """`build.compute` takes a graph whose names are those of the block's ports and parameters."""

    class Louder(Block, id="test.louder"):
        """Scale x and add y."""

        x: In[f32] = port(doc="Scaled.")
        y: In[f32] = port(shape="same(x)", doc="Added.")
        out: Out[f32] = port(shape="same(x)", doc="Result.")
        both: Out[f32] = port(shape="same(x)", doc="Sum.")
        amplitude: float = param(2.0, doc="Scale.")

        def describe(self, build: BlockBuilder) -> None:
            build.compute(_scaled(), over=self.x)

    patch = Patch()
    node = patch.add("test.louder", amplitude=4.0)
    ones = patch.add("io.array", data=np.ones((3, 5), np.float32))
    for name in ("x", "y"):
        patch.connect(ones["out"], node[name])
    with Engine(patch, device=device) as engine:
        assert engine.step().diagnostics == ()
        np.testing.assert_array_equal(engine.read(node["out"]), np.full((3, 5), 5.0))


def _waves(offset: float, name: str = "moved") -> OpGraph:
    """Return the sine of each index plus an offset; `name` is the name of an op."""
    g = OpGraphBuilder()
    moved = g.add("op.add", name, a=g.add("op.index", "at")["index"], b=offset)
    g.add("op.output", "out", value=g.add("op.sin", x=moved["out"])["out"])
    return g.graph()


def test_the_last_of_several_edits_is_optimised_first(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Optimised code gives the same bits, and the queue keeps no compiles of older edits."""
    queue = optimiser.OptimiserQueue(0)
    monkeypatch.setattr(optimiser, "QUEUE", queue)
    patch = Patch()
    node = patch.add("kernel.graph", graph=graph_to_json(_waves(0.5)), size=1027)
    with Engine(patch, device=device) as engine:
        engine.step()
        first = len(queue._jobs)  # includes compiles of the engine's own kernels
        for offset in (1.5, 7.5, 1e4 + 0.5, 1e6 + 0.5):
            patch.set(node, graph=graph_to_json(_waves(offset, f"by{offset:.0f}")))
            assert engine.step().update_level is UpdateLevel.CODE
        before = engine.read(node["out"])
        angles = np.arange(1027, dtype=np.float32) + np.float32(1e6 + 0.5)
        np.testing.assert_allclose(before, np.sin(angles.astype(np.float64)), rtol=0, atol=1e-6)
        assert len(queue._jobs) <= first + 1
        queue._jobs[-1].run()
        engine.step()
        assert engine.read(node["out"]).tobytes() == before.tobytes()


def test_optimised_code_is_told_other_numbers(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until optimised code runs, a new number in a graph compiles again; afterwards it is passed to the kernel."""
    queue = optimiser.OptimiserQueue(0)
    monkeypatch.setattr(optimiser, "QUEUE", queue)
    patch = Patch()
    nodes = [patch.add("kernel.graph", graph=graph_to_json(_ramp(first)), size=7) for first in (0.5, 8.5)]
    with Engine(patch, device=device) as engine:

        def becomes(level: UpdateLevel, *firsts: float) -> None:
            assert engine.step().update_level is level
            for node, first in zip(nodes, firsts, strict=True):
                expected = np.arange(7, dtype=np.float32) + np.float32(first)
                assert engine.read(node["out"]).tobytes() == expected.tobytes()

        becomes(UpdateLevel.COLD, 0.5, 8.5)
        patch.set(nodes[0], graph=graph_to_json(_ramp(0.25)))
        becomes(UpdateLevel.CODE, 0.25, 8.5)
        queue._jobs[-1].run()
        becomes(UpdateLevel.NONE, 0.25, 8.5)
        for first in (1e-3, -1.5, 0.25):
            before, after = patch.nodes[nodes[0].id].parameters["graph"], graph_to_json(_ramp(first))
            assert engine.cost_of(ParameterChanged(nodes[0].id, "graph", after, before)).level is UpdateLevel.WARM
            patch.set(nodes[0], graph=after)
            becomes(UpdateLevel.WARM, first, 8.5)
        waiting = len(queue._jobs)
        patch.set(nodes[1], graph=graph_to_json(_ramp(-0.125)))
        becomes(UpdateLevel.CODE, 0.25, -0.125)  # reuses the other node's code, and compiles nothing
        patch.set(nodes[1], graph=graph_to_json(_ramp(3.75)))
        becomes(UpdateLevel.WARM, 0.25, 3.75)
        assert len(queue._jobs) <= waiting
