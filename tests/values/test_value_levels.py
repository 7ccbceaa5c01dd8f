"""The cost of values in an engine: parameter writes where something changed, and never a rebuild."""

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.values.running import doubling
from warploom import Engine, Patch, ProfilingLevel, UpdateLevel
from warploom.api import (
    Block,
    BlockBuilder,
    Kernel,
    Out,
    f32,
    param,
    port,
)
from warploom.engine.device.host.graph.executable import HostExecutable


def test_values_never_cost_more_than_a_parameter_write() -> None:
    """Placing, connecting, moving, removing and undoing values costs at most a parameter write."""
    patch = Patch()
    saxpy = doubling(patch)
    condition = patch.add("buffer.constant", dtype="boolean", value=1.0)
    region = patch.add("control.if")
    patch.connect(condition["out"], region["condition"])
    levels: list[UpdateLevel] = []
    with Engine(patch, device="host") as engine:
        assert engine.step().update_level is UpdateLevel.COLD

        def edit(wanted: UpdateLevel) -> None:
            levels.append(engine.step().update_level)
            assert levels[-1] is wanted, len(levels)

        lfo = patch.add("value.lfo", frequency=1.0)
        edit(UpdateLevel.NONE)
        slider = patch.add("value.slider", setting=0.25)
        edit(UpdateLevel.NONE)
        connection = patch.connect(slider["value"], saxpy["a"])
        edit(UpdateLevel.HOT)
        edit(UpdateLevel.NONE)  # a value that stays the same is not written again
        patch.set(slider, setting=0.5)
        edit(UpdateLevel.HOT)
        patch.set(slider, setting=0.5, high=1.0)
        edit(UpdateLevel.NONE)
        patch.move_into(slider, region.body)
        edit(UpdateLevel.NONE)
        patch.connect(lfo["value"], slider["setting"])
        edit(UpdateLevel.HOT)
        patch.remove(lfo)
        edit(UpdateLevel.HOT)
        np.testing.assert_allclose(engine.read(saxpy["out"]), 0.5 * np.arange(1, 6))
        patch.disconnect(connection)
        edit(UpdateLevel.HOT)
        np.testing.assert_allclose(engine.read(saxpy["out"]), 2.0 * np.arange(1, 6))
        patch.undo()
        edit(UpdateLevel.HOT)
        np.testing.assert_allclose(engine.read(saxpy["out"]), 0.5 * np.arange(1, 6))


def test_one_driver_call_a_kernel_node(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any number of driven parameters of one kernel cost one refresh of it, or none if no value changed."""
    patch = Patch()
    emitter, forces = patch.add("particles.emitter", count=64), patch.add("particles.forces")
    patch.connect(emitter["particles"], forces["particles"])
    lfo = patch.add("value.lfo", frequency=1.0)
    for name in ("gravity", "wind_x", "wind_z", "attraction"):
        patch.connect(lfo["value"], forces[name])
    refreshed: list[int] = []
    original = HostExecutable.refresh

    def refresh(self: HostExecutable, nodes: Any) -> None:
        refreshed.append(len(nodes))
        original(self, nodes)

    monkeypatch.setattr(HostExecutable, "refresh", refresh)
    # Without profiling there is no measured copy to refresh.
    with Engine(patch, device="host", profiling=ProfilingLevel.NONE) as engine:
        engine.step()
        engine.step()  # the first frame resolves each parameter in the running graph
        for _ in range(3):
            refreshed.clear()
            assert engine.step().update_level is UpdateLevel.HOT
            assert sum(refreshed) == 1
        patch.set(lfo, frequency=0.0)
        engine.step()
        refreshed.clear()
        assert engine.step().update_level is UpdateLevel.NONE and not refreshed


def test_a_rebuild_starts_with_the_driven_values() -> None:
    """A new graph has the driven values in its first frame and follows them from then on."""
    patch = Patch()
    saxpy = doubling(patch)
    time = patch.add("value.time")
    patch.connect(time["frame"], saxpy["a"])
    with Engine(patch, device="host") as engine:
        for frame in range(6):
            if frame == 3:
                after = patch.add("math.scale_offset", scale=2.0)
                patch.connect(saxpy["out"], after["x"])
            level = engine.step().update_level
            assert level is (UpdateLevel.COLD if frame in (0, 3) else UpdateLevel.HOT)
            assert engine.read(saxpy["out"])[0] == frame
        assert engine.read(after["out"])[0] == 10


def test_values_are_those_of_the_frame_while_a_graph_is_built_beside() -> None:
    """While a graph is rebuilt, each launch still has the values of its own frame."""
    patch = Patch()
    saxpy = doubling(patch)
    text = patch.add("value.expression", text="1 + frame % 7")
    patch.connect(text["value"], saxpy["a"])
    with Engine(patch, device="host") as engine:
        engine.step()
        cuda = engine.core
        levels = []
        for frame in range(300):
            if frame % 40 == 10:
                after = patch.add("math.scale_offset")
                patch.connect(saxpy["out"], after["x"])
            levels.append(cuda.frame(free_running=True).update_level)
            assert cuda.results.read(saxpy["out"])[0] == cuda.context.value_graph.snapshot()["saxpy.a"], frame
            time.sleep(0.001)
    assert UpdateLevel.COLD in levels


def test_driven_values_do_not_try_a_refused_build_in_every_frame(tmp_path: Path) -> None:
    """While a kernel can't take a value, an LFO elsewhere starts no builds; an edit that corrects the value does."""
    (tmp_path / "small.cu").write_text(
        'extern "C" __global__ void small(float* out, unsigned char value) { out[0] = value; }'
    )

    class Small(Block, id="test_values.small"):
        """Take a value of one byte, without declaring its bounds."""

        out: Out[f32] = port(shape="[1]", doc="The value.")
        value: int = param(1, doc="The value.")
        kernel = Kernel(str(tmp_path / "small.cu"), "small")

        def describe(self, build: BlockBuilder) -> None:
            """One thread."""
            build.launch(self.kernel, num_threads=1, args=(self.out, self.value))

    patch = Patch()
    saxpy, small = doubling(patch), patch.add(Small.id, node_id="small")
    patch.connect(patch.add("value.lfo", frequency=2.0)["value"], saxpy["a"])
    slider = patch.add("value.slider", high=500.0, setting=0.1)
    patch.connect(slider["value"], small["value"])
    with Engine(patch, device="host") as engine:
        assert not engine.step().diagnostics
        patch.set(slider, setting=1.0)
        (told,) = engine.step().diagnostics
        assert told.node == "small" and "must fit in u8, got 500" in told.message
        builds = sum(engine.core.frame(free_running=True).preparing for _ in range(50))
        assert builds == 0 and engine.read(small["out"])[0] == 50
        patch.set(slider, setting=0.2)
        assert not engine.step().diagnostics
        assert engine.read(small["out"])[0] == 100
