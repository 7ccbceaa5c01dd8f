"""Ports and parameters that replace old names take over their values and connections, in files and running patches."""

from typing import Any

import numpy as np
import pytest

from warploom import Engine, Patch
from warploom.api import Block, BlockBuilder, CudaText, In, Kernel, Out, Value, ValueBlock, f32, param, port, value_port
from warploom.engine.blocktypes.declarations import BlockDefinitionError
from warploom.engine.diagnostics import Severity
from warploom.engine.patch.changes import BlockTypesChanged, PortRef
from warploom.engine.patch.files import dump_patch, parse_patch
from warploom.engine.runtime.check.check_patch import check_patch

KERNEL = Kernel(CudaText('extern "C" __global__ void make(float* out, float value) { *out = value; }'), "make")


def define(
    parameter: str = "amount", output: str = "out", old: tuple[str, ...] = (), *, structural: bool = False
) -> None:
    """Define a block, or its next version, with a parameter and an output of these names."""

    def describe(self: Any, build: BlockBuilder) -> None:
        made = getattr(self, output)
        build.launch(KERNEL, num_threads=1, args=(made, getattr(self, parameter)))

    names = {
        "__doc__": "Make a number.",
        "__annotations__": {output: Out[f32], parameter: float},
        output: port(shape="[1]", doc="The number.", replaces=old),
        parameter: param(2.0, doc="The number.", structural=structural, replaces=tuple(f"{name}_" for name in old)),
        "describe": describe,
        "__module__": __name__,
    }
    type("Renamed", (Block,), names, id="test_renames.made")


def define_value(output: str = "said", old: tuple[str, ...] = ()) -> None:
    """Define a value block, or its next version, with an output of this name that is always 7."""
    names = {
        "__doc__": "Give a number.",
        "__annotations__": {output: Value[float]},
        output: value_port(doc="The number.", replaces=old),
        "update": lambda self, now: setattr(self, output, 7.0),
        "__module__": __name__,
    }
    type("Say", (ValueBlock,), names, id="test_renames.say")


def patch_of(output: str, parameter: str) -> Patch:
    """Return a patch of a block with a set parameter, a reader of the block, and a block with a driven parameter."""
    define_value()
    patch = Patch()
    made = patch.add("test_renames.made", node_id="made", **{parameter: 3.0})
    driven = patch.add("test_renames.made", node_id="driven")
    patch.connect(patch.add("test_renames.say")["said"], driven[parameter])
    patch.connect(made[output], patch.add("buffer.copy", node_id="copy")["x"])
    return patch


def read(engine: Engine) -> list[float]:
    """Return the first numbers of the copy and of the driven block."""
    port = next(name for name in engine.patch.block_type("driven").ports)  # type: ignore[union-attr]
    return [engine.read(PortRef("copy", "out"))[0], engine.read(PortRef("driven", port))[0]]


@pytest.mark.parametrize("structural", [False, True])
def test_a_file_with_the_old_names_gives_the_same_numbers(structural: bool) -> None:
    """A file with the old names computes the same numbers, and is saved with the new names."""
    define("old_", "old", structural=False)
    text = dump_patch(patch_of("old", "old_"))
    define("new", "result", ("old",))
    define_value("spoken", ("said",))
    patch = parse_patch(text)
    assert (patch.value("made", "new"), patch.nodes["made"].parameters) == (3.0, {"new": 3.0})
    assert not check_patch(patch)
    assert "old" not in dump_patch(patch) and "said" not in dump_patch(patch)
    with Engine(patch, device="host") as engine:
        assert not engine.step().diagnostics
        assert read(engine) == [3.0, 7.0]


@pytest.mark.parametrize("is_followed", [True, False])
def test_a_running_patch_keeps_its_numbers(is_followed: bool) -> None:
    """A running patch keeps its numbers, whether or not its document follows the new version at once; undo works."""
    define("old_", "old")
    patch = patch_of("old", "old_")
    patch.set("made", old_=4.0)
    with Engine(patch, device="host") as engine:
        engine.step()
        define("new", "result", ("old",))
        define_value("spoken", ("said",))
        if is_followed:
            patch.restore([BlockTypesChanged(frozenset({"test_renames.made", "test_renames.say"}))])
            assert patch.nodes["made"].parameters == {"new": 4.0}
        assert not engine.step().diagnostics
        assert read(engine) == [4.0, 7.0]
        patch.undo()
        assert not engine.step().diagnostics
        assert read(engine) == [3.0, 7.0]
        patch.set("made", new=-0.0)
        engine.step()
        assert np.signbit(read(engine)[0])
        patch.disconnect(PortRef("driven", "new" if is_followed else "old_"))
        engine.step()
        assert read(engine)[1] == 2.0


def test_a_value_without_a_parameter_is_reported_and_kept() -> None:
    """The value of a removed parameter is a warning and is kept; resetting it ends the warning."""
    define("old_", "old")
    text = dump_patch(patch_of("old", "old_"))
    define("new", "old")
    patch = parse_patch(text)
    (reported,) = [item for item in check_patch(patch) if item.node == "made"]
    assert reported.severity is Severity.WARNING
    assert "got old_: its value 3.0 is kept and not used" in reported.message
    assert '"old_": 3.0' in dump_patch(patch)
    with Engine(patch, device="host") as engine:
        assert reported in engine.step().diagnostics
        patch.reset("made", "old_")
        assert not [item for item in engine.step().diagnostics if item.node == "made"]


def test_what_drove_a_parameter_that_is_gone_is_told_once() -> None:
    """A connection to a removed parameter is reported once, and the driven block uses its default."""
    define("old_", "old")
    patch = patch_of("old", "old_")
    patch.set("driven", old_=9.0)
    define("new", "old")
    with Engine(patch, device="host") as engine:
        for found in (check_patch(patch), engine.step().diagnostics):
            (reported,) = [item for item in found if item.node == "driven"]
            assert reported.message == "port of driven must be one of old, got 'old_': it is left out"
        assert read(engine)[1] == 2.0


def test_a_name_can_be_replaced_once_and_not_while_it_is_there() -> None:
    """Declaring that a port or parameter replaces an existing name, or one that is already replaced, is refused."""
    for old in (("new",), ("old", "old")):
        with pytest.raises(BlockDefinitionError, match="must replace a name that nothing else has or replaces"):
            define("new", "old_", tuple(old)) if old == ("new",) else define("x", "result", old)
    for taken in ("said", "rate"):
        with pytest.raises(BlockDefinitionError, match="must replace a name that nothing else has or replaces"):

            class Wrong(ValueBlock, id="test_renames.wrong"):
                """Replace what is there."""

                said: Value[float] = value_port(doc="A number.")
                told: Value[float] = value_port(doc="A number.", replaces=(taken,))
                rate: float = param(1.0, doc="A rate.")


class Reader(Block, id="test_renames.reader"):
    """Copy."""

    x: In[f32] = port(doc="Numbers.", replaces=("input",))
    out: Out[f32] = port(doc="The same.")

    def describe(self, build: BlockBuilder) -> None:
        """One copy."""
        build.copy(self.out, self.x)


def test_an_old_name_is_understood_by_edits() -> None:
    """`connect` accepts a port's old name, and the patch stores the new one."""
    patch = Patch()
    made, reader = patch.add("buffer.constant"), patch.add("test_renames.reader")
    assert patch.connect(made["out"], reader["input"]).target == PortRef(reader.id, "x")
