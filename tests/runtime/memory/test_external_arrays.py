"""Buffers of the graph in arrays that the user owns, and composites that run as one child graph."""

import gc
import weakref
from collections.abc import Iterator

import numpy as np
import pytest

from tests.runtime.small_blocks import LENT, Array, array, bump, zeros
from tests.waiting import until
from warploom import Engine, Patch, ProfilingLevel, UpdateLevel
from warploom.api import Block, BlockBuilder, Composite, CompositeBuilder, Out, f32, param, port
from warploom.engine.compiler.executable.compiled_graph import Variant
from warploom.engine.compiler.executable.nodes import KernelNode
from warploom.engine.device.device import Device
from warploom.engine.device.external import describe_external
from warploom.engine.diagnostics import DeviceError
from warploom.engine.patch.document import NodeRef
from warploom.engine.protocol.messages import BufferReport


@pytest.fixture(autouse=True)
def nothing_lent() -> Iterator[None]:
    """Forget the lent arrays."""
    yield
    LENT.clear()


def lend(patch: Patch, *arrays: Array) -> NodeRef:
    """Place a block that outputs the first array; its parameter `which` chooses another one."""
    LENT.update(enumerate(arrays))
    return patch.add("test_small.lend")


def floats(*values: float) -> Array:
    """An array of f32."""
    return np.array(values, np.float32)


def test_the_engine_and_the_user_work_in_the_same_memory() -> None:
    """A block's change in place is in the user's array at once, and the user's change in the next frame."""
    mine = floats(1, 2, 3)
    patch = Patch()
    source = lend(patch, mine)
    changed = bump(patch, source)
    double = patch.add("math.scale_offset", scale=2.0)
    patch.connect(changed["out"], double["x"])
    with Engine(patch, device="host") as engine:
        report = engine.step()
        assert not report.diagnostics
        assert report.buffers[str(source["out"])] == BufferReport("f32", (3,), 12, 12, "external")
        assert mine.tolist() == [2, 3, 4]
        mine[:] = [10, 20, 30]
        engine.step()
        assert mine.tolist() == [11, 21, 31]
        assert engine.read(double["out"]).tolist() == [22, 42, 62]
        assert engine.read(source["out"]).tolist() == [11, 21, 31]
        mine[1] = -1
        assert engine.read(source["out"]).tolist() == [11, -1, 31]


def test_results_from_an_array_are_read_as_the_frame_had_them() -> None:
    """Reads have the frame's results even after the user wrote to the array and other buffers reused the memory."""
    mine = floats(1, 2, 3)
    patch = Patch()
    last = lend(patch, mine)
    chain = []
    for _ in range(6):
        chain.append(patch.add("math.scale_offset", scale=2.0))
        patch.connect(last["out"], chain[-1]["x"])
        last = chain[-1]
    with Engine(patch, device="host") as engine:
        engine.step()
        for power, node in enumerate(chain, 1):
            assert engine.read(node["out"]).tolist() == [2.0**power, 2 * 2.0**power, 3 * 2.0**power]


def test_another_array_of_the_same_layout_is_warm() -> None:
    """After a WARM update to another array, blocks read and write that array and no longer the old one."""
    arrays = [floats(1, 2), floats(10, 20), floats(100, 200)]
    patch = Patch()
    source = lend(patch, *arrays)
    changed = bump(patch, source)
    with Engine(patch, device="host") as engine:
        engine.step()
        for which in (1, 2, 0, 2):
            before = [a.copy() for a in arrays]
            patch.set(source, which=str(which))
            assert engine.step().update_level is UpdateLevel.WARM
            before[which] += 1
            assert [a.tolist() for a in arrays] == [a.tolist() for a in before]
            assert engine.read(changed["out"]).tolist() == before[which].tolist()
            assert engine.step().update_level is UpdateLevel.NONE
            assert arrays[which].tolist() == (before[which] + 1).tolist()


def test_another_array_is_seen_through_views_and_in_loops() -> None:
    """Another array reaches every kernel with the old address, at the right offset, in views and loops too."""
    arrays = [floats(1, 2, 3), floats(10, 20, 30)]
    patch = Patch()
    source = lend(patch, *arrays)
    part = patch.add("buffer.slice", start=1)
    patch.connect(source["out"], part["x"])
    loop = patch.add("control.for", count=2)
    last = bump(patch, part, loop)
    with Engine(patch, device="host") as engine:
        engine.step()
        patch.set(source, which="1")
        assert engine.step().update_level is UpdateLevel.WARM
        assert [a.tolist() for a in arrays] == [[1, 4, 5], [10, 22, 32]]
        assert engine.read(last["out"]).tolist() == [22, 32]


def test_another_array_that_a_copy_node_reads_is_warm(device: Device) -> None:
    """A copy node reads another array at once, in a loop too, and still does after a rebuild that leaves it alone."""
    arrays = [floats(1, 2), floats(10, 20)]
    lent = [device.upload(array) for array in arrays]
    patch = Patch()
    source = patch.add("io.external", array=lent[0])
    takes = [patch.add("test_small.take"), patch.add("test_small.take", region=patch.add("control.for", count=2))]
    for take in takes:
        patch.connect(source["out"], take["x"])
    with Engine(patch, device=device) as engine:
        engine.step()
        patch.set(source, array=lent[1])
        assert engine.step().update_level is UpdateLevel.WARM
        assert [engine.read(take["out"]).tolist() for take in takes] == [[10, 20]] * 2
        patch.remove(takes.pop())
        engine.step()
        lent[0].free()
        patch.add("buffer.constant", shape="3")
        assert engine.step().update_level is UpdateLevel.COLD
        assert engine.read(takes[0]["out"]).tolist() == [10, 20]
    lent[1].free()


def test_another_array_that_the_device_refuses_in_place_is_followed_by_a_rebuild(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """If the device refuses another array in place, kernels get the old address back before the rebuild."""
    arrays = [floats(1, 2), floats(10, 20)]
    patch = Patch()
    source = lend(patch, *arrays)
    last = bump(patch, bump(patch, source))
    update, calls = Variant.update, list[KernelNode]()

    def refuse(variant: Variant, node: KernelNode) -> None:
        calls.append(node)
        if len(calls) == 2:
            raise DeviceError("no")
        update(variant, node)

    with Engine(patch, device="host") as engine:
        engine.step()
        monkeypatch.setattr(Variant, "update", refuse)
        patch.set(source, which="1")
        report = engine.step()
        assert report.update_level is UpdateLevel.COLD and not report.diagnostics
        assert len(calls) == 4  # two updates and their reversal
        assert [a.tolist() for a in arrays] == [[3, 4], [12, 22]]
        assert engine.read(last["out"]).tolist() == [12, 22]


def test_an_array_in_place_of_contents_is_read_in_every_frame() -> None:
    """A graph that reads the user's memory is launched in each frame, and a graph of constants need not be."""

    class Either(Block, id="test_ext.either"):
        """Output numbers of its own, or the user's array."""

        out: Out[f32] = port(shape="[2]", doc="Numbers.")
        theirs: bool = param(False, structural=True, doc="Which.")

        def describe(self, build: BlockBuilder) -> None:
            if self.theirs:
                build.adopt(self.out, describe_external(mine))
            else:
                build.provide(self.out, floats(5, 6))

    mine, patch = floats(1, 2), Patch()
    source, scaled = patch.add("test_ext.either"), patch.add("math.scale_offset", scale=2.0)
    patch.connect(source["out"], scaled["x"])
    with Engine(patch, device="host") as engine:
        engine.step()
        for theirs in (True, False, True):
            patch.set(source, theirs=theirs)
            assert not engine.step().diagnostics
            compiled = engine.core.updates.compiled
            assert compiled is not None and compiled.is_still is not theirs
        mine[:] = 7
        engine.core.frame(free_running=True)
        assert engine.read(scaled["out"]).tolist() == [14, 14]


@pytest.mark.parametrize(
    "other",
    [floats(1, 2, 3, 4), np.array([1, 2, 3], np.float64), np.zeros((1, 3), np.float32), floats(1, 9, 2, 9, 3)[::2]],
)
def test_an_array_of_another_layout_is_taken_in_place(other: Array) -> None:
    """Another array may have another size, element type, rank or strides, which is a WARM update."""
    mine = floats(7, 8, 9)
    patch = Patch()
    source = lend(patch, mine, other)
    copy = patch.add("buffer.copy")
    patch.connect(source["out"], copy["x"])
    with Engine(patch, device="host") as engine:
        engine.step()
        for which, wanted in ((1, other), (0, mine)):
            patch.set(source, which=str(which))
            report = engine.step()
            assert report.update_level is UpdateLevel.WARM and not report.diagnostics
            assert engine.read(copy["out"]).dtype == wanted.dtype
            np.testing.assert_array_equal(engine.read(copy["out"]), wanted)
            np.testing.assert_array_equal(engine.read(source["out"]), wanted)


def test_unused_arrays_are_released() -> None:
    """After a thousand exchanges only the array in use is kept alive, and after closing none."""
    patch = Patch()
    source = lend(patch, floats(0, 0))
    bump(patch, source)
    seen = []
    with Engine(patch, device="host") as engine:
        for which in range(20):
            LENT[which] = floats(which, which)
            seen.append(weakref.ref(LENT[which]))
            patch.set(source, which=str(which))
            engine.step()
            LENT.pop(which - 1, None)
        gc.collect()
        assert [number for number, ref in enumerate(seen) if ref() is not None] == [19]
        LENT.clear()
    patch.remove(source)
    del engine
    # A thread that ends may still refer to an array.
    until(lambda: gc.collect() >= 0 and all(ref() is None for ref in seen))


def test_an_array_that_cannot_be_written_is_an_error_on_its_block() -> None:
    """An array that can't be written is an error while the last good graph runs, and a writable one clears it."""
    mine, locked = floats(1, 2), floats(5, 6)
    locked.flags.writeable = False
    patch = Patch()
    source = lend(patch, mine, locked, floats(3, 4))
    changed = bump(patch, source)
    with Engine(patch, device="host") as engine:
        engine.step()
        patch.set(source, which="1")
        report = engine.step()
        (problem,) = report.diagnostics
        assert problem.node == source.id and "writable" in problem.message
        mine[:] = 0
        engine.step()
        assert mine.tolist() == [1, 1] and locked.tolist() == [5, 6]
        patch.set(source, which="2")
        assert not engine.step().diagnostics
        assert engine.read(changed["out"]).tolist() == [4, 5]


def test_a_first_array_that_cannot_be_written_leaves_its_block_out() -> None:
    """A first array that can't be written is an error on its block, and a writable array clears the error."""
    locked = floats(5, 6)
    locked.flags.writeable = False
    patch = Patch()
    source = lend(patch, locked, floats(1, 2))
    bump(patch, source)
    with Engine(patch, device="host") as engine:
        assert [d.node for d in engine.step().diagnostics] == [source.id]
        patch.set(source, which="1")
        assert not engine.step().diagnostics
        assert LENT[1].tolist() == [2, 3]


def test_a_delay_of_an_array_keeps_what_it_was() -> None:
    """A delay of a user's array keeps the previous frame's value, even if the user writes in between."""
    patch = Patch()
    mine = floats(1, 2)
    source = lend(patch, mine, floats(10, 20))
    delay = patch.add("buffer.frame_delay")
    patch.connect(source["out"], delay["x"])
    with Engine(patch, device="host") as engine:
        found = []
        for frame in range(4):
            engine.step()
            found.append(engine.read(delay["out"]).tolist())
            mine[:] = 5
            if frame == 1:
                patch.set(source, which="1")
        assert found == [[0, 0], [1, 2], [5, 5], [10, 20]]


# Composites as child graphs


@pytest.fixture
def counting() -> type[Composite]:
    """Define a child graph with a delay inside that is fed back."""

    class Counting(Composite, id="test_small.counting", as_child_graph=True):
        """Adds `step` in each frame, starting at 2."""

        def compose(self, build: CompositeBuilder) -> None:
            like, delay = build.add_child("buffer.constant", "like"), build.add_child("buffer.frame_delay", initial=2.0)
            more, last = build.add_child("math.scale_offset", "more"), build.add_child("math.scale_offset", "last")
            build.connect_children(like["out"], delay["like"])
            build.connect_children(delay["out"], more["x"])
            build.connect_children(more["out"], last["x"])
            build.connect_children(last["out"], delay["x"])
            build.expose_output("out", last["out"])
            build.expose_parameter("step", more, "offset")

    return Counting


def test_a_round_inside_a_child_graph_takes_live_values(counting: type[Composite]) -> None:
    """In a child graph with a delay, each frame has the current live values, and the trace has every frame."""
    patch = Patch()
    node = patch.add("test_small.counting")
    with Engine(patch, device="host") as engine:
        total = 2
        for frame in range(7):
            patch.set(node, step=float(frame))
            report = engine.step()
            assert report.update_level is (UpdateLevel.HOT if frame else UpdateLevel.COLD)
            total += frame
            assert engine.read(node["out"]).tolist() == [total]
        assert child_graphs(engine) == 1
        assert len({piece.name for piece in engine.trace(2) if piece.name.startswith("frame ")}) == 2
        engine.step()
        assert engine.read(node["out"]).tolist() == [total + 3 * 6]


def child_graphs(engine: Engine) -> int:
    """Return how many groups of operations are one node of the running graph."""
    from warploom.engine.compiler.executable.build import units

    compiled = engine.core.updates.compiled
    assert compiled is not None
    return sum(
        len(unit) > 1 for unit in units(compiled.plan.operations, compiled.plan.scopes, compiled.plan.description)
    )


def test_a_composite_runs_as_one_child_graph() -> None:
    """Results and live parameters are the same as without a child graph; each change is one update."""
    patch = Patch()
    whole = patch.add("test_small.sum3", a=1.0, b=10.0, c=100.0)
    patch.connect(array(patch, 1, 2)["out"], whole["x"])
    after = patch.add("math.scale_offset", scale=2.0)
    patch.connect(whole["out"], after["x"])
    with Engine(patch, device="host") as engine:
        engine.step()
        assert child_graphs(engine) == 1
        assert engine.read(after["out"]).tolist() == [224, 226]
        for name, value in (("b", 0.0), ("a", -1.0), ("c", 1.0), ("b", 10.0)):
            patch.set(whole, **{name: value})
            assert engine.step().update_level is UpdateLevel.HOT
        assert engine.read(after["out"]).tolist() == [22, 24]
        assert engine.read(whole["out"]).tolist() == [11, 12]


def test_a_child_graph_is_timed_as_its_composite() -> None:
    """A child graph has one time, at its composite, whether blocks or kernels are measured."""
    patch = Patch()
    whole = patch.add("test_small.sum3")
    patch.connect(array(patch, 1, 2)["out"], whole["x"])
    for level in (ProfilingLevel.PER_BLOCK, ProfilingLevel.PER_KERNEL):
        with Engine(patch, device="host", profiling=level) as engine:
            for _ in range(2):
                report = engine.step()
            time_ns = report.nodes[whole.id].time_ns
            assert time_ns is not None and time_ns > 0
            assert engine.read(whole["out"]).tolist() == [4, 5]


def test_composites_in_a_row_are_a_child_graph_each() -> None:
    """Composites in a row are one child graph each, and each comes after the one that feeds it."""
    patch = Patch()
    last = array(patch, 0)
    for number in range(4):
        node = patch.add("test_small.sum3", a=float(number), b=0.0, c=0.0)
        patch.connect(last["out"], node["x"])
        last = node
    with Engine(patch, device="host") as engine:
        engine.step()
        assert child_graphs(engine) == 4
        assert engine.read(last["out"]).tolist() == [6]


def test_a_composite_in_a_loop_is_inlined() -> None:
    """A loop's body has the composite's blocks as nodes of its own; parameters stay HOT."""
    patch = Patch()
    total, loop = zeros(patch, 1), patch.add("control.for", count=3)
    whole = patch.add("test_small.sum3", region=loop)
    patch.connect(total["out"], whole["x"])
    store = patch.add("buffer.assign", region=loop)
    patch.connect(total["out"], store["target"])
    patch.connect(whole["out"], store["value"])
    with Engine(patch, device="host") as engine:
        engine.step()
        assert child_graphs(engine) == 0
        assert engine.read(store["out"]).tolist() == [9]
        patch.set(whole, b=5.0)
        assert engine.step().update_level is UpdateLevel.HOT
        assert engine.read(store["out"]).tolist() == [21]


def test_an_array_inside_a_child_graph_can_be_another() -> None:
    """Another array reaches the kernels of the child graph, or causes a rebuild where a copy node has the address."""
    arrays = [floats(1, 2), floats(10, 20)]
    patch = Patch()
    source = lend(patch, *arrays)
    whole = patch.add("test_small.sum3")
    patch.connect(source["out"], whole["x"])
    with Engine(patch, device="host") as engine:
        engine.step()
        for which, wanted in ((1, [13, 23]), (0, [4, 5])):
            patch.set(source, which=str(which))
            engine.step()
            assert engine.read(whole["out"]).tolist() == wanted
