"""Each edit costs the least update level that is correct, and the result follows from the patch."""

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzzing import many
from tests.runtime.conftest import Kernels
from warploom import Engine, Patch, ProfilingLevel, UpdateLevel
from warploom.api import Block, BlockBuilder, Out, f32, param, port
from warploom.engine.diagnostics import PatchError, WarploomError
from warploom.engine.patch.changes import Node, NodeAdded, PortRef
from warploom.engine.protocol.messages import NodeState, Reset, SetProfiling

NONE, HOT, WARM, CODE, COLD = (UpdateLevel[name] for name in ("NONE", "HOT", "WARM", "CODE", "COLD"))


def numbers(*values: float) -> np.ndarray[Any, Any]:
    return np.array(values, np.float32)


def test_the_first_patch_of_the_contract() -> None:
    """The Saxpy of the documentation is built COLD, and a new value of its parameter is HOT."""
    patch = Patch()
    x = patch.add("io.array", data=np.arange(1024, dtype=np.float32))
    y = patch.add("io.array", data=np.ones(1024, np.float32))
    saxpy = patch.add("math.saxpy", a=3.0)
    patch.connect(x["out"], saxpy["x"])
    patch.connect(y["out"], saxpy["y"])
    with Engine(patch, device="host") as engine:
        report = engine.step()
        assert report.update_level is COLD
        assert np.array_equal(engine.read(saxpy["out"]), 3 * np.arange(1024, dtype=np.float32) + 1)
        patch.set(saxpy, a=4.0)
        assert engine.step().update_level is HOT
        assert np.array_equal(engine.read(saxpy["out"]), 4 * np.arange(1024, dtype=np.float32) + 1)
        assert engine.step().update_level is NONE


def scaled(values: np.ndarray[Any, Any]) -> tuple[Patch, PortRef]:
    """Return the output of an array that goes through test_run.scale."""
    patch = Patch()
    data = patch.add("io.array", node_id="data", data=values)
    scale = patch.add("test_run.scale", node_id="scale")
    patch.connect(data["out"], scale["x"])
    return patch, scale["out"]


def test_levels_of_single_edits(kernels: Kernels) -> None:
    """A move, a title, a file name or an unused value cost nothing, contents a write, and other edits a rebuild."""
    patch, out = scaled(numbers(1, 2, 3))
    save = patch.add("test_run.save", node_id="save")
    patch.connect(out, save["x"])
    with Engine(patch, device="host") as engine:
        levels = [engine.step().update_level]

        def after(**values: Any) -> UpdateLevel:
            name, value = next(iter(values.items()))
            node, _, parameter = name.partition("__")
            patch.set(node, **{parameter: value})
            return engine.step().update_level

        levels.append(after(scale__factor=5.0))
        levels.append(after(scale__unused=1.0))
        levels.append(after(save__file="other.npy"))
        patch.move("scale", (5.0, 5.0))
        patch.rename("scale", "New")
        levels.append(engine.step().update_level)
        assert levels == [COLD, HOT, NONE, NONE, NONE]
        assert np.array_equal(engine.read(out), numbers(5, 10, 15))
        assert after(data__data=numbers(4, 5, 6)) is WARM
        assert np.array_equal(engine.read(out), numbers(20, 25, 30))
        assert after(data__data=numbers(7)) is WARM
        assert np.array_equal(engine.read(out), numbers(35))
        assert engine.step().update_level is NONE


def test_undo_is_an_edit_like_any_other(kernels: Kernels) -> None:
    """Undoing a value is HOT, undoing a connection COLD, and the results follow."""
    patch, out = scaled(numbers(1))
    with Engine(patch, device="host") as engine:
        engine.step()
        patch.set("scale", factor=10.0)
        engine.step()
        patch.undo()
        assert engine.step().update_level is HOT
        assert engine.read(out) == 2
        patch.add("test_run.scale", node_id="more")
        patch.connect(out, patch["more"]["x"])
        assert engine.step().update_level is COLD
        assert engine.read(PortRef("more", "out")) == 4
        patch.undo()
        patch.undo()
        assert engine.step().update_level is COLD
        with pytest.raises(PatchError, match=r"port more\.out must be part of the running graph"):
            engine.read(PortRef("more", "out"))


def test_many_edits_between_frames_cost_one_update(kernels: Kernels) -> None:
    """Many edits between two frames are one update, with the highest level of the edits."""
    patch, out = scaled(numbers(1, 2))
    with Engine(patch, device="host") as engine:
        engine.step()
        for value in range(100):
            patch.set("scale", factor=float(value))
        patch.set("data", data=numbers(3))
        report = engine.step()
        assert report.update_level is WARM
        assert len(report.updates) == 1
        assert report.updates[0].cause == "data of data"
        assert engine.read(out) == 99 * 3


# State


def counting(**values: Any) -> Patch:
    patch = Patch()
    patch.add("test_run.count", node_id="count", **values)
    return patch


COUNT = PortRef("count", "out")


def test_a_block_that_was_replaced_between_frames_has_its_own_values() -> None:
    """A new block has its own values, even if it has the id of a removed block."""
    patch = Patch()
    x = patch.add("io.array", data=numbers(1, 2, 3))
    patch.connect(x["out"], patch.add("math.scale_offset", node_id="scale", scale=2.0)["x"])
    with Engine(patch, device="host") as engine:
        engine.step()
        patch.remove("scale")
        patch.connect(x["out"], patch.add("math.scale_offset", node_id="scale", scale=5.0)["x"])
        assert engine.step().update_level is HOT
        assert engine.read(PortRef("scale", "out")).tolist() == [5, 10, 15]
        for _ in range(3):
            patch.undo()
        engine.step()
        assert engine.read(PortRef("scale", "out")).tolist() == [2, 4, 6]


def test_state_is_kept_from_frame_to_frame_and_over_rebuilds(kernels: Kernels) -> None:
    """A counter continues while a block is added, connected and disconnected."""
    patch = counting()
    with Engine(patch, device="host") as engine:
        for _ in range(3):
            engine.step()
        assert engine.read(COUNT).tolist() == [3, 3, 3]
        scale = patch.add("test_run.scale")
        patch.connect(COUNT, scale["x"])
        assert engine.step().update_level is COLD
        assert engine.read(COUNT).tolist() == [4, 4, 4]
        assert engine.read(scale["out"]).tolist() == [8, 8, 8]
        patch.disconnect(scale["x"])
        patch.remove(scale)
        engine.step()
        assert engine.read(COUNT).tolist() == [5, 5, 5]


def test_state_survives_being_disconnected_and_connected_again(kernels: Kernels) -> None:
    """A counter with an input continues after its input was removed and connected again."""
    patch = counting()
    data = patch.add("io.array", data=numbers(1))
    patch.connect(data["out"], patch["count"]["x"])
    with Engine(patch, device="host") as engine:
        engine.step()
        patch.disconnect(patch["count"]["x"])
        engine.step()
        patch.connect(data["out"], patch["count"]["x"])
        engine.step()
        assert engine.read(COUNT).tolist() == [3, 3, 3]


def test_state_starts_from_zero_when_its_shape_changes_and_on_reset(kernels: Kernels) -> None:
    """Old contents have no meaning in a new shape; Reset zeroes all state and the frame index."""
    patch = counting()
    with Engine(patch, device="host") as engine:
        engine.step()
        engine.step()
        patch.set("count", size=2)
        assert engine.step().update_level is WARM
        assert engine.read(COUNT).tolist() == [1, 1]
        engine.step()
        engine.post(Reset())
        report = engine.step()
        assert (report.frame, report.update_level) == (0, NONE)
        assert engine.read(COUNT).tolist() == [1, 1]


def test_state_of_a_removed_block_is_gone(kernels: Kernels) -> None:
    """A removed block's state is lost: undo restores the block with a counter at its start."""
    patch = counting()
    with Engine(patch, device="host") as engine:
        used = engine.step().statistics.pool_used_bytes
        patch.remove("count")
        report = engine.step()
        assert report.update_level is COLD
        assert report.nodes == {}
        assert report.statistics.pool_used_bytes < used
        patch.undo()
        assert engine.step().statistics.pool_used_bytes == used
        assert engine.read(COUNT).tolist() == [1, 1, 1]


# Errors


def test_a_missing_input_stops_nothing_and_reconnecting_heals(kernels: Kernels) -> None:
    """With a missing input the last good graph runs on, the node names the input, and other live values change."""
    patch, out = scaled(numbers(1, 2))
    patch.insert(counting())
    with Engine(patch, device="host") as engine:
        engine.step()
        patch.disconnect(patch["scale"]["x"])
        report = engine.step()
        assert report.update_level is NONE
        assert report.nodes["scale"].state is NodeState.ERROR
        assert (
            report.nodes["scale"].message
            == "required input 'x' must be connected, got nothing (connect an output of f32)"
        )
        assert report.nodes["data"].state is NodeState.OK
        patch.set("scale", factor=7.0)
        assert engine.step().update_level is HOT
        assert engine.read(out).tolist() == [7, 14]
        assert engine.read(COUNT).tolist() == [3, 3, 3]
        patch.connect(PortRef("data", "out"), patch["scale"]["x"])
        report = engine.step()
        assert (report.update_level, report.diagnostics) == (NONE, ())
        assert report.nodes["scale"].state is NodeState.OK


def test_a_new_block_waits_for_its_input_while_the_rest_is_rebuilt(kernels: Kernels) -> None:
    """A new block without its input is incomplete and its dependents are idle, while another new block runs."""
    patch, _ = scaled(numbers(1))
    with Engine(patch, device="host") as engine:
        engine.step()
        open_, behind = patch.add("test_run.scale", node_id="open"), patch.add("test_run.scale", node_id="behind")
        patch.connect(open_["out"], behind["x"])
        beside = patch.add("test_run.count", node_id="beside")
        report = engine.step()
        assert report.update_level is COLD
        states = {name: node.state.value for name, node in report.nodes.items()}
        assert states == {"data": "ok", "scale": "ok", "open": "incomplete", "behind": "idle", "beside": "ok"}
        assert report.nodes["behind"].message == "not running: it waits for open, which is incomplete"
        assert engine.read(beside["out"]).tolist() == [1, 1, 1]


def test_reading_a_port_that_is_not_there_says_why(kernels: Kernels) -> None:
    """Reading a port of a block that does not run is refused with the reason why the block does not run."""
    patch = Patch()
    patch.add("test_run.scale", node_id="scale")
    with Engine(patch, device="host") as engine:
        with pytest.raises(PatchError) as refused:
            engine.read(PortRef("scale", "out"))
        assert str(refused.value) == (
            "port scale.out must be part of the running graph: error: scale.x: required input 'x' must be connected, "
            "got nothing (connect an output of f32)"
        )
        with pytest.raises(PatchError, match=r"port gone\.out must be part of the running graph"):
            engine.read(PortRef("gone", "out"))


def test_reading_a_port_that_waits_for_another_block_names_that_block_alone() -> None:
    """The errors of other chains are not among the reasons."""
    patch = Patch()
    sums = []
    for typo in ("x +", "x *"):
        formula, total = patch.add("kernel.expression"), patch.add("reduce.sum")
        patch.connect(patch.add("buffer.constant")["out"], formula["x"])
        patch.connect(formula["out"], total["x"])
        patch.set(formula, expression=typo)
        sums.append(total)
    with Engine(patch, device="host") as engine, pytest.raises(PatchError) as refused:
        engine.read(sums[1]["out"])
    assert "expression_2: expression must be written" in str(refused.value)
    assert "expression:" not in str(refused.value)


def test_shapes_that_do_not_match_never_reach_a_kernel() -> None:
    """Saxpy of two sizes is an error on its node."""
    patch = Patch()
    x, y = (patch.add("io.array", data=np.ones(n, np.float32)) for n in (8, 4))
    saxpy = patch.add("math.saxpy")
    patch.connect(x["out"], saxpy["x"])
    patch.connect(y["out"], saxpy["y"])
    with Engine(patch, device="host") as engine:
        report = engine.step()
        assert report.nodes["saxpy"].state is NodeState.ERROR
        assert "input must be of shape [8] by its rule same(x), got [4]" in report.nodes["saxpy"].message


def test_a_value_that_a_kernel_cannot_take_is_an_error_on_the_node(kernels: Kernels) -> None:
    """A value that a kernel can't take is an error at the node; the last good value stays, and other edits apply."""
    patch, out = scaled(numbers(1))
    patch.insert(counting())
    with Engine(patch, device="host") as engine:
        engine.step()
        patch.set("scale", factor=1e39)
        patch.set("count", step=10.0)
        report = engine.step()
        assert report.nodes["scale"].state is NodeState.ERROR
        assert "argument" in report.nodes["scale"].message
        assert "must fit in a 4-byte float, got 1e+39" in report.nodes["scale"].message
        assert engine.read(out) == 2
        assert engine.read(COUNT).tolist() == [11, 11, 11]
        patch.set("scale", factor=3.0)
        engine.step()
        report = engine.step()
        assert report.nodes["scale"].state is NodeState.OK
        assert report.diagnostics == ()
        assert engine.read(out) == 3


def test_a_first_value_that_a_kernel_cannot_take_can_be_mended(kernels: Kernels) -> None:
    """If a first value can't be taken, nothing runs until a better value starts the patch."""
    patch, out = scaled(numbers(1))
    patch.set("scale", factor=-1e300)
    with Engine(patch, device="host") as engine:
        assert engine.step().nodes["scale"].state is NodeState.ERROR
        patch.set("scale", factor=4.0)
        assert engine.step().update_level is COLD
        assert engine.read(out) == 4


def test_times_that_are_no_longer_measured_are_not_shown(kernels: Kernels) -> None:
    """Times return when measuring starts again."""
    patch = Patch()
    patch.add("test_run.count", node_id="count")
    with Engine(patch, device="host", profiling=ProfilingLevel.PER_BLOCK) as engine:
        assert engine.step().nodes["count"].time_ns is not None
        for level in (ProfilingLevel.NONE, ProfilingLevel.SUMMARY, ProfilingLevel.PER_KERNEL, ProfilingLevel.NONE):
            engine.post(SetProfiling(level))
            report = engine.step()
            assert (report.nodes["count"].time_ns is not None) is (level >= ProfilingLevel.PER_BLOCK)
            assert (report.statistics.launch_ns is not None) is (level >= ProfilingLevel.SUMMARY)


def test_profiling_during_an_error_measures_the_last_good_graph(kernels: Kernels) -> None:
    """During an error the last good graph is measured, and so is the block with the error."""
    patch, out = scaled(numbers(1))
    with Engine(patch, device="host", profiling=ProfilingLevel.NONE) as engine:
        engine.step()
        patch.disconnect(patch["scale"]["x"])
        engine.post(SetProfiling(ProfilingLevel.PER_KERNEL))
        engine.step()
        held = engine.step().nodes["scale"]
        assert held.state is NodeState.ERROR
        assert (held.time_ns or 0) > 0
        patch.connect(PortRef("data", "out"), patch["scale"]["x"])
        engine.step()
        assert (engine.step().nodes["scale"].time_ns or 0) > 0
        assert engine.read(out) == 2


def test_describe_that_raises_is_an_error_on_its_node() -> None:
    """A describe that raises is an error on its node, which ends with a better value."""

    class Fragile(Block, id="test_run.fragile"):
        """Fails at some sizes."""

        out: Out[f32] = port(shape="[size]", doc="Zeros.")
        size: int = param(0, structural=True, doc="Size.")

        def describe(self, build: BlockBuilder) -> None:
            build.fill(self.out, int(0.5 / self.size))

    patch = Patch()
    patch.add("test_run.fragile", node_id="n")
    with Engine(patch, device="host") as engine:
        report = engine.step()
        assert report.nodes["n"].state is NodeState.ERROR
        message = report.nodes["n"].message
        assert message.startswith("describe of test_run.fragile raised ZeroDivisionError: float division by zero (")
        assert message.endswith(") (correct the block's code and save it)")
        patch.set("n", size=2)
        assert engine.step().nodes["n"].state is NodeState.OK
        assert engine.read(PortRef("n", "out")).tolist() == [0, 0]


def test_an_unknown_block_type_is_an_error_on_its_node(kernels: Kernels) -> None:
    """Blocks that do not depend on the unknown one run."""
    patch, out = scaled(numbers(1))
    patch.restore([NodeAdded(Node(id="gone", type="no.such"))])
    with Engine(patch, device="host") as engine:
        report = engine.step()
        assert report.nodes["gone"].state is NodeState.ERROR
        assert report.nodes["gone"].message.startswith("block type must be in the catalogue, got no.such")
        assert engine.read(out) == 2


def test_a_value_that_nothing_could_check_is_an_error_on_its_node(kernels: Kernels) -> None:
    """A value that its type refuses, set while the type was unknown, is an error, and the default stands in."""
    patch = Patch()
    patch.restore([NodeAdded(Node(id="n", type="test_run.count", parameters={"size": "many"}))])
    with Engine(patch, device="host") as engine:
        report = engine.step()
        assert report.nodes["n"].state is NodeState.ERROR
        assert report.nodes["n"].message == (
            "parameter size must be a whole number, got 'many'; its default 3 stands in (set size again)"
        )


def test_an_empty_patch_runs_and_can_grow(kernels: Kernels) -> None:
    """An empty patch has no errors."""
    patch = Patch()
    with Engine(patch, device="host") as engine:
        report = engine.step()
        assert (report.update_level, report.diagnostics, report.nodes) == (COLD, (), {})
        patch.insert(counting())
        engine.step()
        assert engine.read(COUNT).tolist() == [1, 1, 1]


# Reports


def test_reports_say_what_runs(kernels: Kernels) -> None:
    """Reports have frame numbers, kernels and times of nodes, sizes of buffers, and totals of the engine."""
    patch, _ = scaled(numbers(1, 2, 3))
    with Engine(patch, device="host") as engine:
        reports = [engine.step() for _ in range(3)]
        assert [r.frame for r in reports] == [0, 1, 2]
        report = reports[-1]
        assert report.nodes["scale"].kernels == 1
        assert report.nodes["data"].kernels == 0
        assert (report.nodes["scale"].time_ns or 0) > 0 and (report.statistics.launch_ns or 0) > 0
        buffer = report.buffers["scale.out"]
        assert (buffer.dtype, buffer.shape, buffer.size_bytes, buffer.allocated_bytes) == ("f32", (3,), 12, 256)
        assert (report.statistics.device, report.statistics.blocks, report.statistics.kernels) == ("host", 2, 1)


def test_frame_uniforms_count_frames_and_time(kernels: Kernels) -> None:
    """Frame k is at k times the time step."""
    patch = Patch()
    tell = patch.add("test_run.tell")
    with Engine(patch, device="host", time_step_s=0.25) as engine:
        for frame in range(3):
            engine.step()
            assert engine.read(tell["out"]).tolist() == [frame, frame * 0.25, 0.25]


def test_vectors_have_an_axis_of_their_own() -> None:
    """A float4 image is read as height, width, 4."""
    pixels = np.random.default_rng(1).random((3, 5, 4), dtype=np.float32)
    patch = Patch()
    image = patch.add("io.image_array", data=pixels)
    with Engine(patch, device="host") as engine:
        engine.step()
        assert np.array_equal(engine.read(image["out"]), pixels)


# Law


@settings(max_examples=many(15), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edits=st.lists(st.tuples(st.sampled_from(("factor", "step", "both")), st.floats(-4, 4, width=32)), max_size=8))
def test_hot_updates_give_what_a_cold_rebuild_gives(kernels: Kernels, edits: list[tuple[str, float]]) -> None:
    """After random HOT edits, outputs equal those of a new engine on the edited patch."""
    patch = counting()
    scale = patch.add("test_run.scale")
    patch.connect(COUNT, scale["x"])
    with Engine(patch, device="host") as engine:
        engine.step()
        for name, value in edits:
            if name != "step":
                patch.set("scale", factor=value)
            if name != "factor":
                patch.set("count", step=value)
            assert engine.step().update_level in (HOT, NONE)
        engine.post(Reset())
        engine.step()
        lived = engine.read(scale["out"])
    with Engine(patch, device="host") as engine:
        engine.step()
        assert np.array_equal(engine.read(scale["out"]), lived)


# Closing


def test_a_closed_engine_says_so_and_can_be_closed_again(kernels: Kernels) -> None:
    """Every call of a closed engine raises the same error, and the patch can still be edited."""
    patch, out = scaled(numbers(1))
    engine = Engine(patch, device="host")
    engine.step()
    engine.close()
    engine.close()
    for call in (engine.step, engine.start, engine.save_outputs, lambda: engine.read(out)):
        with pytest.raises(WarploomError, match="engine must be open, got one that was closed"):
            call()
    patch.set("scale", factor=3.0)


def test_a_device_passed_to_an_engine_stays_open(kernels: Kernels) -> None:
    """Two engines can use one device, and all of its memory is freed."""
    from warploom.engine.device.open import open_device

    device = open_device("host")
    patch, out = scaled(numbers(1, 2))
    other, other_out = scaled(numbers(5))
    with Engine(patch, device=device) as one, Engine(other, device=device) as two:
        one.step()
        two.step()
        assert (one.read(out).tolist(), two.read(other_out).tolist()) == ([2, 4], [10])
    buffer = device.upload(numbers(3))
    assert buffer.download().tolist() == [3]
    device.close()
