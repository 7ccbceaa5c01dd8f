"""Composites run like the blocks that they contain, and edits cost the same."""

import threading
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest

import tests.runtime.small_blocks  # noqa: F401 - defines block types
from tests.runtime.conftest import SCALE, Kernels
from warploom import Engine, Patch, ProfilingLevel, UpdateLevel
from warploom.api import Composite, CompositeBuilder, param
from warploom.engine.diagnostics import KernelFault
from warploom.engine.patch.changes import PortRef
from warploom.engine.protocol.messages import NodeState
from warploom.engine.runtime.check.check_patch import check_patch


@pytest.fixture
def composites(kernels: Kernels) -> None:
    """Define a composite of two scales, and one of that composite and a third scale with a structural parameter."""

    class Twice(Composite, id="test_run.twice"):
        """Multiply by two factors."""

        def compose(self, build: CompositeBuilder) -> None:
            first, second = build.add_child("test_run.scale", "first"), build.add_child("test_run.scale", "second")
            build.connect_children(first["out"], second["x"])
            build.expose_input("numbers", first["x"])
            build.expose_output("products", second["out"])
            build.expose_output("halfway", first["out"])
            build.expose_parameter("a", first, "factor")
            build.expose_parameter("b", second, "factor")

    class Thrice(Composite, id="test_run.thrice"):
        """Multiply by three factors, the last one a power of ten."""

        power: int = param(1, min=0, max=3, structural=True, doc="Of ten.")

        def compose(self, build: CompositeBuilder) -> None:
            twice = build.add_child(Twice, b=5.0)
            last = build.add_child("test_run.scale", "last", factor=10.0**self.power)
            build.connect_children(twice["products"], last["x"])
            build.expose_input("x", twice["numbers"])
            build.expose_output("y", last["out"])
            build.expose_parameter("a", twice)


def numbers(*values: float) -> np.ndarray[Any, Any]:
    return np.array(values, np.float32)


def thrice(patch: Patch) -> PortRef:
    data = patch.add("io.array", node_id="data", data=numbers(1, 2, 3))
    node = patch.add("test_run.thrice", node_id="thrice", a=3.0)
    patch.connect(data["out"], node["x"])
    return node["y"]


def test_a_composite_computes_what_its_blocks_compute(composites: None) -> None:
    """Outputs of inner blocks are read by their own names, at any depth."""
    patch = Patch()
    out = thrice(patch)
    twice = patch.add("test_run.twice", a=0.5, b=4.0)
    patch.connect(out, twice["numbers"])
    with Engine(patch, device="host") as engine:
        report = engine.step()
        assert report.update_level is UpdateLevel.COLD
        assert report.diagnostics == ()
        assert np.array_equal(engine.read(out), numbers(150, 300, 450))
        assert np.array_equal(engine.read(twice["halfway"]), numbers(75, 150, 225))
        assert np.array_equal(engine.read(twice["products"]), numbers(300, 600, 900))
        assert set(report.nodes) == {"data", "thrice", twice.id}
        assert {node.state for node in report.nodes.values()} == {NodeState.OK}
        assert (report.nodes["thrice"].kernels, report.nodes[twice.id].kernels) == (3, 2)
        assert report.buffers["thrice.y"].shape == (3,)


def test_an_exposed_live_parameter_is_hot(composites: None) -> None:
    """A new value of an exposed live parameter, and its undo, reach the inner kernels as HOT updates."""
    patch = Patch()
    out = thrice(patch)
    with Engine(patch, device="host") as engine:
        engine.step()
        for a in (7.0, 0.5, 3.0):
            patch.set("thrice", a=a)
            assert engine.step().update_level is UpdateLevel.HOT
            assert np.array_equal(engine.read(out), numbers(50, 100, 150) * np.float32(a))


def test_a_structural_parameter_reaches_live_values_of_children(composites: None) -> None:
    """A structural parameter gives its inner kernels another number, and live values that were set before stay."""
    patch = Patch()
    out = thrice(patch)
    with Engine(patch, device="host") as engine:
        engine.step()
        patch.set("thrice", a=2.0)
        engine.step()
        patch.set("thrice", power=3)
        assert engine.step().update_level < UpdateLevel.COLD
        assert np.array_equal(engine.read(out), numbers(10_000, 20_000, 30_000))
        patch.set("thrice", power=0, a=1.0)
        engine.step()
        assert np.array_equal(engine.read(out), numbers(5, 10, 15))


@pytest.mark.parametrize("count", [0, 5])
def test_a_parameter_that_is_exposed_by_another_child_leaves_nothing_behind(kernels: Kernels, count: int) -> None:
    """The child whose parameter was set has its own value again, even if nothing is rebuilt or only sizes change."""

    class Routed(Composite, id="test_run.routed"):
        """Multiplies by a factor, first or last."""

        last: bool = param(False, structural=True, doc="Where.")
        count: int = param(3, min=1, structural=True, doc="How many.")

        def compose(self, build: CompositeBuilder) -> None:
            made = build.add_child("test_small.make", count=self.count, value=1.0)
            first, last = build.add_child("test_run.scale", "one"), build.add_child("test_run.scale", "two")
            build.connect_children(made["out"], first["x"])
            build.connect_children(first["out"], last["x"])
            build.expose_output("y", last["out"])
            build.expose_parameter("factor", last if self.last else first, default=2.0)

    patch = Patch()
    node = patch.add("test_run.routed", node_id="routed")
    with Engine(patch, device="host") as engine:
        own = engine.step() and engine.read(node["y"])[0] / 2  # the factor of the other child
        patch.set("routed", factor=7.0)
        engine.step()
        for number, last in enumerate((True, False, True)):
            patch.set("routed", last=last, count=3 + count * number)
            assert engine.step().update_level is UpdateLevel.WARM or not (count and number)
            assert np.array_equal(engine.read(node["y"]), np.full(3 + count * number, 7 * own, np.float32))
            patch.set("routed", factor=2.0)
            engine.step()
            patch.set("routed", factor=7.0)
            engine.step()


@pytest.mark.parametrize("power", [2, 1])
def test_a_live_value_set_while_a_structure_is_looked_at_stays(composites: None, power: int) -> None:
    """A live value that is set while its composite is described is not overwritten."""
    patch, gate = Patch(), threading.Event()
    out = thrice(patch)
    with Engine(patch, device="host") as engine, ExitStack() as closing:
        closing.callback(gate.set)
        engine.step()
        updates = engine.core.updates
        patch.set("thrice", a=4.0)
        patch.set("thrice", power=power)
        updates._worker._thread.submit(gate.wait)  # the description waits behind it
        engine.core.frame(free_running=True)
        assert updates.preparing
        patch.set("thrice", a=6.0)
        gate.set()
        while updates.pending:
            engine.core.frame(free_running=True)
        assert np.array_equal(engine.read(out), numbers(3, 6, 9) * np.float32(10**power * 10))


def test_a_live_value_set_together_with_a_rebuild_is_kept(composites: None, kernels: Kernels) -> None:
    """A live value and a new block in one frame both take effect."""
    patch = Patch()
    out = thrice(patch)
    with Engine(patch, device="host") as engine:
        engine.step()
        more = patch.add("test_run.scale", factor=2.0)
        patch.connect(out, more["x"])
        patch.set("thrice", a=4.0)
        assert engine.step().update_level is UpdateLevel.COLD
        assert np.array_equal(engine.read(more["out"]), numbers(400, 800, 1200))


@pytest.fixture
def power(kernels: Kernels) -> None:
    """Define a composite that multiplies its numbers by a factor several times, in a loop."""

    class Power(Composite, id="test_run.power"):
        """Multiply again and again."""

        def compose(self, build: CompositeBuilder) -> None:
            value, loop = build.add_child("buffer.copy", "value"), build.add_child("control.for", "loop", count=3)
            scale = build.add_child("test_run.scale", "scale", region=loop)
            keep = build.add_child("buffer.assign", "keep", region=loop)
            build.connect_children(value["out"], scale["x"])
            build.connect_children(value["out"], keep["target"])
            build.connect_children(scale["out"], keep["value"])
            build.expose_input("x", value["x"])
            build.expose_output("y", keep["out"])
            build.expose_parameter("times", loop, "count")
            build.expose_parameter("factor", scale)


def test_a_region_inside_a_composite_runs(power: None) -> None:
    """A loop runs three times, then as often as a live parameter says."""
    patch = Patch()
    data = patch.add("io.array", data=numbers(1, 2, 3))
    node = patch.add("test_run.power", node_id="power")
    patch.connect(data["out"], node["x"])
    with Engine(patch, device="host") as engine:
        assert engine.step().diagnostics == ()
        assert np.array_equal(engine.read(node["y"]), numbers(8, 16, 24))
        for times, factor in ((5, 2.0), (1, 7.0), (0, 7.0)):
            patch.set(node, times=times, factor=factor)
            assert engine.step().update_level is UpdateLevel.HOT
            assert np.array_equal(engine.read(node["y"]), numbers(1, 2, 3) * np.float32(factor) ** times)


def test_a_composite_with_a_loop_runs_inside_a_loop_of_the_patch(power: None) -> None:
    """A composite with a loop runs inside a loop of the patch, and moving it out is one rebuild."""
    patch = Patch()
    data = patch.add("io.array", data=numbers(1, 2, 3))
    value = patch.add("buffer.copy", node_id="value")
    loop = patch.add("control.for", node_id="loop", count=2)
    inner = patch.add("test_run.power", node_id="power", region=loop)
    keep = patch.add("buffer.assign", node_id="keep", region=loop)
    patch.connect(data["out"], value["x"])
    patch.connect(value["out"], inner["x"])
    patch.connect(value["out"], keep["target"])
    patch.connect(inner["y"], keep["value"])
    with Engine(patch, device="host") as engine:
        assert engine.step().diagnostics == ()
        assert np.array_equal(engine.read(keep["out"]), numbers(64, 128, 192))
        patch.move_into([inner, keep], "")
        assert engine.step().update_level is UpdateLevel.COLD
        assert np.array_equal(engine.read(keep["out"]), numbers(8, 16, 24))
        patch.undo()
        engine.step()
        assert np.array_equal(engine.read(keep["out"]), numbers(64, 128, 192))


def test_errors_inside_a_composite_are_reported_at_it(composites: None) -> None:
    """A missing input is reported on the visible node, at the exposed port."""
    patch = Patch()
    patch.add("test_run.thrice", node_id="alone")
    (problem,) = check_patch(patch)
    assert (problem.node, problem.port) == ("alone", "x")
    with Engine(patch, device="host") as engine:
        report = engine.step()
        assert report.nodes["alone"].state is NodeState.INCOMPLETE
        assert [(d.node, d.port) for d in report.diagnostics] == [("alone", "x")]


def test_a_broken_kernel_inside_is_reported_at_the_composite(composites: None, kernels: Kernels) -> None:
    """A broken kernel inside a composite is reported at the composite while the last good version runs."""
    patch = Patch()
    out = thrice(patch)
    with Engine(patch, device="host") as engine:
        engine.step()
        engine.post(kernels.write("scale.cu", "no kernel"))
        report = engine.step()
        assert {d.node for d in report.diagnostics} == {"thrice"}
        assert np.array_equal(engine.read(out), numbers(150, 300, 450))
    assert {d.node for d in check_patch(patch)} == {"thrice"}


def test_a_composite_is_timed_as_a_whole(composites: None) -> None:
    """A composite has a measured time of its own."""
    patch = Patch()
    thrice(patch)
    with Engine(patch, device="host", profiling=ProfilingLevel.PER_BLOCK) as engine:
        report = engine.step()
        assert (report.nodes["thrice"].time_ns or 0) > 0


@pytest.mark.parametrize("fuse", [True, False])
def test_a_kernel_that_fails_inside_a_composite_is_an_error_of_the_composite(
    composites: None, kernels: Kernels, fuse: bool
) -> None:
    """A kernel that fails inside a composite is an error of the composite that names the inner block."""
    kernels.write("scale.cu", SCALE.replace("out[i] =", "out[i + (1 << 28)] ="))
    patch = Patch()
    thrice(patch)
    with Engine(patch, device="host", fuse=fuse) as engine:
        with pytest.raises(KernelFault):
            engine.step()
        report = engine.take_report()
        assert report is not None
        assert [item.node for item in report.diagnostics] == ["thrice"]
        assert report.nodes["thrice"].state is NodeState.ERROR
        assert report.nodes["thrice"].message.startswith("twice/first: ")
