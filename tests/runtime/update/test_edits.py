"""After many edits in a row, each applied to the previous graph, the results are those of a new engine."""

import random
from contextlib import suppress

import numpy as np
import pytest

import tests.runtime.small_blocks  # noqa: F401 - defines block types
from tests.fuzzing import many
from tests.runtime.conftest import SCALE, Kernels
from tests.runtime.update.update_support import argument_blocks
from warploom import Engine, Patch, ProfilingLevel, UpdateLevel
from warploom.engine.device.device import Device
from warploom.engine.diagnostics import PatchError
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.document import NodeRef
from warploom.engine.protocol.messages import Reset

EDITS = many(32)
#: Frames between two comparisons.
STEPS = 4


class Editor:
    """Edits a patch as a person might, with kinds of edits that mostly leave it able to run."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self.patch = Patch()
        self._made = 0
        for values in ((1, 2, 3, 4), (5, 6, 7, 8)):
            self._add("io.array", data=np.array(values, np.float32))
        for _ in range(12):
            self.grow()

    def edit(self) -> None:
        """Do one edit, or a few at once; edits that the patch refuses are skipped."""
        for _ in range(self._chance.choice((1, 1, 1, 2, 3))):
            kind = self._chance.choice(("grow", "grow", "rewire", "rewire", "rewire", "remove", "set", "set", "undo"))
            with suppress(PatchError):  # such as a connection that would close a cycle
                getattr(self, kind)()

    def grow(self) -> None:
        """Add a block that reads an existing one."""
        kind = self._chance.choice(("saxpy", "add", "copy", "bump", "slice", "scale", "tell", "count"))
        if kind == "tell":
            self._add("test_run.tell")
        elif kind == "count":
            self._add("test_run.count", size=4)
        elif kind in ("saxpy", "add"):
            x, y = self._source(), self._source()
            node = self._add(f"math.{kind}")
            self.patch.connect(x, node["x"])
            self.patch.connect(y, node["y"])
        else:
            source = self._source()
            types = {
                "bump": "test_small.bump",
                "slice": "buffer.slice",
                "copy": "buffer.copy",
                "scale": "test_run.scale",
            }
            node = self._add(types[kind])
            self.patch.connect(source, node["x"])

    def rewire(self) -> None:
        """Connect an input to another source."""
        if self.patch.connections:
            old = self._chance.choice(sorted(self.patch.connections, key=str))
            source = self._source()
            self.patch.disconnect(old.target)
            self.patch.connect(source, old.target)

    def remove(self) -> None:
        """Delete a block that feeds nothing."""
        feeding = {connection.source.node for connection in self.patch.connections}
        ends = sorted(node for node in self.patch.nodes if node not in feeding)
        if len(self.patch.nodes) > 6 and ends:
            self.patch.remove(self._chance.choice(ends))

    def set(self) -> None:
        """Move a slider."""
        node = self._chance.choice(sorted(self.patch.nodes))
        names = {"math.saxpy": "a", "test_small.bump": "amount", "test_run.scale": "factor", "test_run.count": "step"}
        name = names.get(self.patch.nodes[node].type)
        if name:
            self.patch.set(node, **{name: float(self._chance.randrange(-8, 9))})

    def undo(self) -> None:
        """Take the last edit back."""
        if self._made > 14:
            self.patch.undo()

    def _add(self, type_id: str, **values: object) -> NodeRef:
        self._made += 1
        return self.patch.add(type_id, node_id=f"n{self._chance.randrange(10**4):04}_{self._made}", **values)

    def _source(self) -> PortRef:
        node = self._chance.choice(sorted(self.patch.nodes))
        return PortRef(node, "out")


def contents(engine: Engine, patch: Patch) -> dict[str, bytes]:
    """Return every block's output in the last frame."""
    return {node: engine.read(PortRef(node, "out")).tobytes() for node in sorted(patch.nodes)}


@pytest.mark.parametrize("profiling", [ProfilingLevel.PER_BLOCK, ProfilingLevel.PER_KERNEL, ProfilingLevel.SUMMARY])
def test_edits_in_a_row_give_what_a_fresh_engine_gives(
    kernels: Kernels, device: Device, profiling: ProfilingLevel
) -> None:
    """After edits of every kind, values, spans and memory in use equal those of a new engine."""
    editor = Editor(int(profiling))
    kept = 0
    with Engine(editor.patch, device=device, profiling=profiling) as engine:
        for number in range(EDITS):
            before = argument_blocks(engine)
            editor.edit()
            report = engine.step()
            while report.diagnostics:  # the last good graph has kept running
                editor.patch.undo()
                report = engine.step()
            updates = engine.core.updates
            assert updates.compiled is not None
            kept += report.update_level is UpdateLevel.COLD and not before.keys().isdisjoint(argument_blocks(engine))
            if number % STEPS:
                continue
            engine.post(Reset())
            engine.step()
            with Engine(editor.patch, device=device, profiling=profiling) as fresh:
                fresh.step()
                other = fresh.core.updates
                assert other.compiled is not None
                assert contents(engine, editor.patch) == contents(fresh, editor.patch)
                found, wanted = (e.core.profiler.profile().spans for e in (engine, fresh))
                assert [span.node for span in found] == [span.node for span in wanted]
                assert updates.compiled.plan.operations == other.compiled.plan.operations
    assert kept > EDITS // 5


def test_a_swapped_kernel_stays_through_an_edit(kernels: Kernels, device: Device) -> None:
    """A kernel that was swapped in, and live values, stay when an edit makes another graph."""
    patch = Patch()
    data = patch.add("io.array", data=np.array([1, 2], np.float32))
    scale = patch.add("test_run.scale", node_id="scale")
    patch.connect(data["out"], scale["x"])
    with Engine(patch, device=device) as engine:
        engine.step()
        patch.set("scale", factor=3.0)
        engine.step()
        engine.post(kernels.write("scale.cu", SCALE.replace("x[i] * factor", "x[i] * factor + 100")))
        assert engine.step().update_level is UpdateLevel.CODE
        for _ in range(3):
            before = argument_blocks(engine)
            patch.connect(scale["out"], patch.add("test_run.scale")["x"])
            assert engine.step().update_level is UpdateLevel.COLD
            assert not before.keys().isdisjoint(argument_blocks(engine))
            assert engine.read(scale["out"]).tolist() == [103, 106]
        patch.set("scale", factor=4.0)
        assert engine.step().update_level is UpdateLevel.HOT
        assert engine.read(scale["out"]).tolist() == [104, 108]


def test_memory_is_neither_lost_nor_given_back_twice(kernels: Kernels, device: Device) -> None:
    """After as many removals as additions, the same amount is in use; after closing, none is."""
    patch = Patch()
    data = patch.add("io.array", data=np.arange(512, dtype=np.float32))
    last = data
    for _ in range(6):
        node = patch.add("test_run.scale")
        patch.connect(last["out"], node["x"])
        last = node
    with Engine(patch, device=device) as engine:
        used = engine.step().statistics.pool_used_bytes
        for _ in range(20):
            extra = patch.add("test_run.scale")
            patch.connect(last["out"], extra["x"])
            engine.step()
            before = argument_blocks(engine)
            patch.remove(extra)
            report = engine.step()
            assert not before.keys().isdisjoint(argument_blocks(engine))
            assert report.statistics.pool_used_bytes == used
        pool = engine.core.context.services.pool
    assert (pool.used_bytes, pool.allocated_bytes) == (0, 0)


@pytest.mark.parametrize("gone", ["array", "array_2", "array_3", "bad", "good", "seen"])
def test_a_block_that_leaves_and_returns_at_once_keeps_its_warnings(gone: str) -> None:
    """A graph continues when a block leaves and returns at once, and its warnings and findings stay."""
    patch = Patch()
    for node, data in (("good", np.eye(2)), ("bad", -np.eye(2))):
        patch.connect(patch.add("io.array", data=data)["out"], patch.add("linalg.cholesky", node_id=node)["a"])
    numbers, seen = patch.add("io.array", data=np.ones(3)), patch.add("buffer.copy", node_id="seen")
    patch.connect(numbers["out"], seen["x"])
    patch.set_sentinel(numbers["out"], minimum=2.0)
    with Engine(patch, device="host") as engine:
        engine.step()
        patch.remove(gone)
        patch.undo()
        assert sorted(item.node or "" for item in engine.step().diagnostics) == ["array_3", "bad"]


def test_values_of_an_edit_arrive_with_the_rest_of_it(device: Device) -> None:
    """Values arrive with the rest of their edit, also if no build is needed or their node leaves and returns."""
    patch = Patch()
    ones = patch.add("io.array", data=np.ones(3, np.float32))
    slider, scale = patch.add("value.slider", setting=1.0, high=3.0), patch.add("math.scale_offset", scale=2.0)
    patch.connect(ones["out"], scale["x"])
    patch.connect(slider["value"], scale["scale"])
    with Engine(patch, device) as engine:
        engine.step()
        assert (engine.read(scale["out"]) == 3).all()
        patch.remove(slider)
        engine.step()
        assert (engine.read(scale["out"]) == 2).all()
        with patch.edit("move"):
            patch.set(scale, scale=4.0)
            patch.move(scale, (5.0, 5.0))
        engine.step()
        assert (engine.read(scale["out"]) == 4).all()
        with patch.edit("gone"):
            patch.set(scale, scale=5.0)
            patch.remove(scale)
        with patch.edit("back"):
            patch.undo()
            scale = patch[scale.id]
            patch.set(scale, scale=5.0)
        engine.step()
        assert (engine.read(scale["out"]) == 5).all()
