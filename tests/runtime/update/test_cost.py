"""The cost of updates: predicted before an edit, and recorded after it."""

import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tests.runtime.small_blocks  # noqa: F401 - defines block types
from tests.benchmarks.first_frame import chain
from tests.fuzzing import many
from tests.runtime.conftest import SCALE, Kernels
from tests.runtime.update.test_edits import Editor
from warploom import Engine, Patch, ProfilingLevel, UpdateLevel
from warploom.api import Block, BlockBuilder, Kernel, Out, f32, param, port
from warploom.engine.compiler.executable.adjust import Adjustment
from warploom.engine.device.device import Device
from warploom.engine.diagnostics import DeviceError, PatchError
from warploom.engine.patch.changes import (
    BlockTypesChanged,
    Change,
    Connected,
    Connection,
    Node,
    NodeAdded,
    NodeMoved,
    NodeRemoved,
    NodeRenamed,
    ParameterChanged,
    PortRef,
)
from warploom.engine.protocol.messages import KernelFilesChanged, SetFusing, SetProfiling

EDITS = many(40)
NONE, HOT, WARM, CODE, COLD = (UpdateLevel[name] for name in ("NONE", "HOT", "WARM", "CODE", "COLD"))


def scaled() -> Patch:
    """An array, a block that scales it, and a block whose size is a parameter."""
    patch = Patch()
    data = patch.add("io.array", node_id="data", data=np.ones(8, np.float32))
    patch.connect(data["out"], patch.add("test_run.scale", node_id="scale")["x"])
    patch.add("test_small.make", node_id="make", count=60)
    return patch


# Predicted before


class Drafter(Editor):
    """Edits a draft in more ways than `Editor`, and returns the changes."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        for size in (5, 70):
            self._add("test_small.make", count=size)
        self._slider = self._add("value.slider")
        self.changes: list[Change] = []
        self.patch.subscribe(self.changes.append)

    def edit(self) -> None:
        """Do one edit, or a few at once."""
        kinds = ["grow", "rewire", "remove", "set", "undo", "resize", "lay", "cut", "drive", "place", "replace"]
        for _ in range(self._chance.choice((1, 1, 1, 2))):
            with suppress(PatchError):
                getattr(self, self._chance.choice(kinds))()

    def resize(self) -> None:
        """Set the size of a block that makes numbers, possibly to its current size."""
        node = self._one_of("test_small.make")
        self.patch.set(node, count=self._chance.choice((1, 5, 60, 64, 65, 200)))

    def lay(self) -> None:
        """Move, rename and colour a node, and comment on it."""
        node = self._chance.choice(sorted(self.patch.nodes))
        self.patch.move(node, (self._chance.random(), 0.0))
        self.patch.rename(node, f"a name {self._chance.random()}")
        self.patch.set_colour(node, self._chance.choice(("blue", "")))
        self.patch.set_comment(node, f"a note {self._chance.random()}")

    def cut(self) -> None:
        """Remove a connection."""
        if self.patch.connections:
            self.patch.disconnect(self._chance.choice(sorted(self.patch.connections, key=str)))

    def drive(self) -> None:
        """Drive a parameter, or change its driver."""
        node = self._one_of("math.saxpy")
        self.patch.connect(self._slider["value"], PortRef(node, "a"))
        self.patch.set(self._slider, value=self._chance.random())

    def place(self) -> None:
        """Place a block, usually one that waits for its inputs."""
        self._add(self._chance.choice(("math.add", "test_run.scale", "test_small.make", "value.slider")))

    def replace(self) -> None:
        """Remove a block and restore it at once."""
        node = self._chance.choice(sorted(self.patch.nodes))
        self.patch.remove(node)
        self.patch.undo()

    def _one_of(self, type_id: str) -> str:
        found = sorted(n.id for n in self.patch.nodes.values() if n.type == type_id)
        if not found:
            raise PatchError(f"patch must have a {type_id}, got none")
        return self._chance.choice(found)


@pytest.mark.parametrize("seed", range(3))
def test_the_predicted_level_is_the_level_applied(kernels: Kernels, device: Device, seed: int) -> None:
    """The level predicted for a random edit is the level applied, or in rare cases an upper bound of it."""
    editor = Drafter(seed)
    patch = Patch()
    patch.restore(editor.patch.as_changes())
    unsure = 0
    with Engine(patch, device=device) as engine:
        engine.step()
        for number in range(EDITS):
            editor.changes.clear()
            editor.edit()
            changes = list(editor.changes)
            told = engine.cost_of(changes)
            patch.restore(changes)
            report = engine.step()
            assert told.level is report.update_level or (told.at_most and report.update_level < told.level), (
                number,
                told,
                changes,
                report.update_level,
                report.diagnostics,
            )
            unsure += told.at_most
            if report.update_level > HOT:
                assert report.updates[-1].cost_ns > 0
    assert unsure < EDITS // 2


def test_a_buffer_that_nothing_uses_yet_is_a_change_of_structure() -> None:
    """Both the prediction and the update are COLD, although the same kernels run in the same order."""

    class Roomy(Block, id="test_costs.roomy"):
        """Makes numbers, with or without a second buffer."""

        out: Out[f32] = port(shape="[3]", doc="All 7.")
        roomy: bool = param(False, structural=True, doc="With room.")

        def describe(self, build: BlockBuilder) -> None:
            if self.roomy:
                build.buffer("room", f32, "[3]")
            kernel = Kernel(str(Path(__file__).parents[1] / "small_blocks.cu"), "make")
            build.launch(kernel, num_threads=3, args=(self.out, 7.0, 3))

    patch = Patch()
    patch.add("test_costs.roomy", node_id="roomy")
    with Engine(patch, device="host") as engine:
        engine.step()
        for roomy in (True, False):
            assert engine.cost_of(ParameterChanged("roomy", "roomy", roomy, not roomy)).level is COLD
            patch.set("roomy", roomy=roomy)
            report = engine.step()
            assert report.update_level is COLD and not report.diagnostics


def test_a_copy_of_what_begins_with_zeros_moves_to_the_new_buffer(device: Device) -> None:
    """Resizing a copied buffer that begins with zeros is WARM, as predicted: the copy takes other addresses."""
    patch = Patch()
    data = patch.add("io.array", data=np.ones(4, np.float32))
    patch.connect(data["out"], patch.add("test_small.echo")["x"])
    patch.add("test_small.make", node_id="make", count=60)
    with Engine(patch, device=device) as engine:
        engine.step()
        told = engine.cost_of(ParameterChanged("make", "count", 61, 60))
        patch.set("make", count=61)
        assert told.level is engine.step().update_level is WARM


def test_levels_of_single_changes(kernels: Kernels, device: Device) -> None:
    """Costs are predicted for single changes without applying them, from the times of earlier updates."""
    patch = scaled()
    with Engine(patch, device=device) as engine:
        add = NodeAdded(Node(id="new", type="test_small.make"))
        assert engine.cost_of(add).level is COLD  # nothing runs yet
        engine.step()  # loads the kernels, so that edits find them loaded
        told = engine.cost_of(add)
        assert (told.level, told.cause, told.estimate_ns) == (COLD, "block new is added", None)
        alone = NodeAdded(Node(id="new", type="test_run.scale"))
        assert engine.cost_of(alone).level is NONE
        connected = Connected(Connection(PortRef("data", "out"), PortRef("new", "x")))
        assert engine.cost_of([alone, connected]).level is COLD
        removed = engine.cost_of(NodeRemoved(patch.nodes["data"]))
        assert (removed.level, removed.cause) == (NONE, "scale: required input 'x' must be connected, got nothing")
        assert engine.cost_of(NodeRemoved(patch.nodes["scale"])).level is COLD
        for change, level in (
            (NodeMoved("scale", (1.0, 1.0), (0.0, 0.0)), NONE),
            (NodeRenamed("scale", "other", ""), NONE),
            (ParameterChanged("scale", "factor", 3.0, 2.0), HOT),
            (ParameterChanged("scale", "unused", 3.0, 2.0), NONE),
            (ParameterChanged("make", "count", 61, 60), WARM),
            (ParameterChanged("data", "data", np.zeros(8, np.float32), None), WARM),
            (SetProfiling(ProfilingLevel.NONE), NONE),
            (KernelFilesChanged(frozenset({(kernels.folder / "scale.cu").resolve()})), CODE),
            (KernelFilesChanged(frozenset({(kernels.folder / "show.cu").resolve()})), NONE),
            (BlockTypesChanged(frozenset({"test_run.scale"})), COLD),
            (BlockTypesChanged(frozenset({"test_run.show"})), NONE),
        ):
            told = engine.cost_of(change)
            assert told.level is level, (change, told)
            assert told.estimate_ns == (0 if level is NONE else None)
        several = [ParameterChanged("scale", "factor", 3.0, 2.0), ParameterChanged("make", "count", 61, 60)]
        assert (engine.cost_of(several).level, engine.cost_of(several).cause) == (WARM, "count of make")
        report = engine.step()
        assert (report.update_level, report.updates) == (NONE, ())
        patch.set("make", count=61)
        edited = engine.step()
        told = engine.cost_of(ParameterChanged("make", "count", 62, 61))
        assert (told.level, told.estimate_ns) == (WARM, edited.updates[0].cost_ns)


def test_asking_takes_less_than_a_millisecond(device: Device) -> None:
    """Asking for the cost of a connection, a block or a live parameter takes under 1 ms at a thousand kernels."""
    patch = chain(1000)
    source = PortRef("saxpy_2", "out")
    with Engine(patch, device=device, profiling=ProfilingLevel.NONE) as engine:
        engine.step()
        for change in (
            Connected(Connection(source, PortRef("saxpy_9", "y"))),
            NodeAdded(Node(id="new", type="math.saxpy")),
            NodeRemoved(patch.nodes["saxpy_1000"]),
            ParameterChanged("saxpy_500", "a", 3.0, 1.0),
        ):
            times = []
            for _ in range(20):
                begun = time.thread_time()
                engine.cost_of(change)
                times.append(time.thread_time() - begun)
            assert min(times) < 1e-3, change
        assert engine.cost_of(NodeAdded(Node(id="new", type="math.saxpy"))).at_most  # too large a patch to be planned


# Recorded after


def test_records_name_the_author_and_the_cost(kernels: Kernels, device: Device) -> None:
    """A first build, an edit, its undo, a resize and a saved kernel leave records; a parameter write leaves none."""
    patch = scaled()
    with Engine(patch, device=device) as engine:

        def after(act: Any) -> tuple[str, str, str]:
            act()
            (record,) = engine.step().updates
            assert 0 < record.beside_ns + record.swap_ns <= record.cost_ns
            assert record.swap_ns > 0
            return record.level.name, record.source, record.cause

        assert after(lambda: None) == ("COLD", "engine", "first build")
        assert after(lambda: patch.add("test_small.make", node_id="other")) == ("COLD", "edit", "block other")
        assert after(patch.undo) == ("COLD", "undo", "removed block other")
        assert after(patch.redo) == ("COLD", "undo", "block other")
        assert after(lambda: patch.set("make", count=61)) == ("WARM", "edit", "count of make")
        assert after(patch.undo) == ("WARM", "undo", "count of make")
        saved = kernels.write("scale.cu", SCALE.replace("* factor", "+ factor"))
        assert after(lambda: engine.post(saved)) == ("CODE", "kernel file", "scale.cu saved")
        assert after(lambda: engine.post(SetFusing(False))) == ("COLD", "engine", "kernels no longer fused")
        patch.set("scale", factor=9.0)
        report = engine.step()
        assert (report.update_level, report.updates) == (HOT, ())


def test_a_function_that_the_device_does_not_swap_causes_a_rebuild(
    kernels: Kernels, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the device refuses to swap a function, the update is a COLD rebuild without an error."""
    patch = scaled()

    def refuse(*_: object) -> None:
        raise DeviceError("no")

    with Engine(patch, device=device) as engine:
        engine.step()
        monkeypatch.setattr(Adjustment, "apply", refuse)
        engine.post(kernels.write("scale.cu", SCALE.replace("* factor", "+ factor")))
        report = engine.step()
        assert report.update_level is COLD and not report.diagnostics
        assert report.updates[-1].source == "kernel file"
        assert engine.read(PortRef("scale", "out")).tolist() == [3.0] * 8
