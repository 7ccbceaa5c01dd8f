"""Adaptive block types: a node's ports and parameters follow from its values, in the document and in the engine."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from warploom import Engine, Patch, UpdateLevel
from warploom.api import Kernel, f32
from warploom.engine.blocktypes.adaptive import AdaptiveBlock, Interface, refresh
from warploom.engine.blocktypes.block import block_types
from warploom.engine.blocktypes.declarations import param
from warploom.engine.blocktypes.parameters import ParameterSpec
from warploom.engine.descriptions.builder import BlockBuilder
from warploom.engine.descriptions.handles import BufferHandle, ParameterHandle
from warploom.engine.descriptions.ports import PortSpec
from warploom.engine.diagnostics import PatchError
from warploom.engine.patch.changes import BlockTypesChanged, PortRef
from warploom.engine.patch.files import dump_patch, parse_patch
from warploom.engine.readings import Disk

SAXPY = Kernel("saxpy.cu", entry="saxpy")


def _input(name: str) -> PortSpec:
    return PortSpec(name, "in", f32, "A term.", "same")


@pytest.fixture(autouse=True)
def weighted() -> type[AdaptiveBlock]:
    """A type whose text names its inputs, each with a weight; the output is their weighted sum."""

    class Weighted(AdaptiveBlock, id="test.weighted"):
        """Add inputs with weights."""

        terms: str = param("", doc="Names of the inputs, or the file with them, after an @.")

        @classmethod
        def interface(cls, values: Mapping[str, Any]) -> Interface:
            text, files = values["terms"], frozenset[Path]()
            if text.startswith("@"):
                files = frozenset({Path(text[1:])})
                text = Path(text[1:]).read_text()
            if "!" in text:
                raise PatchError(f"terms must be names, got {text!r}")
            names = tuple(text.split())
            if not names:
                return Interface(files=files)
            out = PortSpec("out", "out", f32, "Weighted sum.", f"same({names[0]})")
            weights = [ParameterSpec(f"weight_{name}", "float", 1.0, "Its weight.") for name in names]
            return Interface((*map(_input, names), out), tuple(weights), names, title=f"Sum of {text}", files=files)

        def describe(self, build: BlockBuilder) -> None:
            if self.content is None:
                return
            out = BufferHandle("out")
            build.fill(out)
            for name in self.content:
                weight = ParameterHandle(f"weight_{name}")
                build.launch(SAXPY, num_threads=out.size, args=(BufferHandle(name), out, out, weight, out.size))

    return Weighted


def _patch(terms: str) -> Patch:
    patch = Patch()
    for name, start in (("x", 1), ("y", 10), ("z", 100)):
        patch.add("io.array", node_id=name, data=np.arange(start, start + 5, dtype=np.float32))
    patch.add("test.weighted", node_id="sum", terms=terms)
    for name in ("x", "y", "z"):
        if name in terms.split():
            patch.connect(patch[name]["out"], patch["sum"][name])
    return patch


def _ports(patch: Patch) -> list[str]:
    block_type = patch.block_type("sum")
    assert block_type is not None
    return list(block_type.ports)


X, Y, Z = (np.arange(start, start + 5, dtype=np.float32) for start in (1, 10, 100))


def test_values_of_a_node_give_it_ports_and_parameters() -> None:
    """The title, ports and parameters of a node follow from its own values, even for two nodes of one type."""
    patch = _patch("x y")
    patch.add("test.weighted", node_id="other", terms="z")
    assert _ports(patch) == ["x", "y", "out"]
    assert patch.title("sum") == "Sum of x y"
    patch.set("sum", weight_y=2.0)
    assert patch.value("sum", "weight_y") == 2.0
    with pytest.raises(PatchError, match="parameter must be one of terms, weight_z, got 'weight_x'"):
        patch.set("other", weight_x=2.0)
    assert list(patch.block_type("other").ports) == ["z", "out"]  # type: ignore[union-attr]


def test_nodes_with_equal_values_share_a_type() -> None:
    """Two nodes of one type with equal values have the same type object."""
    patch = _patch("x y")
    patch.add("test.weighted", node_id="twin", terms="x y")
    assert patch.block_type("sum") is patch.block_type("twin")


def test_add_takes_values_of_parameters_that_follow_from_others() -> None:
    """`Patch.add` accepts values of parameters that follow from other values in the same call, and no others."""
    patch = Patch()
    patch.add("test.weighted", node_id="sum", weight_x=3.0, terms="x")
    assert patch.value("sum", "weight_x") == 3.0
    with pytest.raises(PatchError, match="got 'weight_y'"):
        patch.add("test.weighted", terms="x", weight_y=3.0)


def test_another_value_and_its_undo_follow_in_the_engine() -> None:
    """Another value changes the ports, and its undo restores them with their connections."""
    patch = _patch("x y")
    with Engine(patch, device="host") as engine:
        assert engine.step().update_level is UpdateLevel.COLD
        patch.set("sum", weight_x=2.0)
        assert engine.step().update_level is UpdateLevel.HOT
        np.testing.assert_array_equal(engine.read(PortRef("sum", "out")), 2 * X + Y)
        with patch.edit("Use z"):
            patch.set("sum", terms="x z")
            patch.connect(patch["z"]["out"], patch["sum"]["z"])
        assert _ports(patch) == ["x", "z", "out"]
        assert engine.step().update_level is UpdateLevel.COLD
        np.testing.assert_array_equal(engine.read(PortRef("sum", "out")), 2 * X + Z)
        patch.undo()
        engine.step()
        np.testing.assert_array_equal(engine.read(PortRef("sum", "out")), 2 * X + Y)


def test_a_wrong_value_is_told_and_the_last_good_version_runs_on() -> None:
    """A wrong value is an error of its node, whose last good version runs on; a right value drops a connection."""
    patch = _patch("x y")
    with Engine(patch, device="host") as engine:
        engine.step()
        patch.set("sum", terms="x!")
        report = engine.step()
        assert [(d.node, d.message) for d in report.diagnostics] == [("sum", "terms must be names, got 'x!'")]
        np.testing.assert_array_equal(engine.read(PortRef("sum", "out")), X + Y)
        patch.set("sum", terms="x")
        report = engine.step()
        assert "sum.y" in report.diagnostics[0].message  # the connection that lost its port
        np.testing.assert_array_equal(engine.read(PortRef("sum", "out")), X)


def test_a_node_that_begins_with_a_wrong_value_can_be_mended() -> None:
    """A node that starts with a wrong value has no ports and shows the reason; a right value makes it run."""
    patch = _patch("!")
    assert _ports(patch) == []
    with Engine(patch, device="host") as engine:
        assert [d.message for d in engine.step().diagnostics] == ["terms must be names, got '!'"]
        patch.set("sum", terms="z")
        patch.connect(patch["z"]["out"], patch["sum"]["z"])
        assert engine.step().diagnostics == ()
        np.testing.assert_array_equal(engine.read(PortRef("sum", "out")), Z)


def test_a_file_keeps_what_follows_from_other_values() -> None:
    """Values and connections that follow from other values survive saving and loading."""
    patch = _patch("x y")
    patch.set("sum", weight_y=4.0)
    loaded = parse_patch(dump_patch(patch))
    assert dump_patch(loaded) == dump_patch(patch)
    with Engine(loaded, device="host") as engine:
        assert engine.step().diagnostics == ()
        np.testing.assert_array_equal(engine.read(PortRef("sum", "out")), X + 4 * Y)


def test_a_saved_file_changes_the_nodes_that_were_made_of_it(tmp_path: Path) -> None:
    """Saving a file that a value names changes the node; a wrong text keeps the last good interface."""
    names = tmp_path / "names.txt"
    names.write_text("x y")
    patch = _patch(f"@{names}")
    for name in ("x", "y"):
        patch.connect(patch[name]["out"], patch["sum"][name])
    before = patch.block_type("sum")
    (tmp_path / "other.txt").write_text("z")
    assert "test.weighted" not in refresh(Disk())
    with Engine(patch, device="host") as engine:
        engine.step()
        for text, expected, reported in (
            ("!", X + Y, ["terms must be names, got '!'"]),
            ("x", X, None),
            ("x y", X + Y, []),
        ):
            names.write_text(text)
            assert "test.weighted" in refresh(Disk())
            block_types.tell(["test.weighted"])
            patch.restore([BlockTypesChanged(frozenset({"test.weighted"}))])
            report = engine.step()
            if reported is not None:
                assert [d.message for d in report.diagnostics] == reported
            np.testing.assert_array_equal(engine.read(PortRef("sum", "out")), expected)
    assert _ports(patch) == ["x", "y", "out"]
    assert patch.block_type("sum").ports == before.ports  # type: ignore[union-attr]


def test_names_that_a_block_can_not_have_are_refused() -> None:
    """A port name that blocks use themselves is refused, and the message states the name."""
    patch = _patch("values")
    with Engine(patch, device="host") as engine:
        (reported,) = engine.step().diagnostics
    assert (
        reported.message
        == "block test.weighted: a port or parameter must have a name that blocks don't use themselves, got 'values'"
    )


def test_undo_of_a_value_that_has_come_to_decide_ports_changes_them() -> None:
    """A type is defined again, with ports that follow from a parameter that was a plain number before."""

    def define(*, structural: bool) -> None:
        class Counted(AdaptiveBlock, id="test.counted"):
            """Have as many weights as a number says."""

            count: int = param(0, min=0, max=9, structural=structural, doc="The number.")

            @classmethod
            def interface(cls, values: Mapping[str, Any]) -> Interface:
                weights = (ParameterSpec(f"w{i}", "float", 1.0, "A weight.") for i in range(values.get("count", 0)))
                return Interface(parameters=tuple(weights))

    define(structural=False)
    patch = Patch()
    node = patch.add("test.counted", count=1)
    patch.set(node, count=2)
    define(structural=True)
    for number, follow in ((2, lambda: None), (1, patch.undo), (2, patch.redo)):
        follow()
        block_type = patch.block_type(node.id)
        assert block_type is not None and len(block_type.parameters) == 1 + number


def test_a_name_that_a_file_has_got_since_can_be_set(tmp_path: Path) -> None:
    """Without a watcher, a type whose file has changed is resolved anew when a name is unknown."""
    names = tmp_path / "names.txt"
    names.write_text("x y")
    patch = Patch()
    patch.add("test.weighted", node_id="sum", terms=f"@{names}")
    patch.set("sum", weight_x=2.0)
    names.write_text("x y z")
    patch.set("sum", weight_x=3.0)
    patch.set("sum", weight_z=2.0)
    assert dict(patch.nodes["sum"].parameters) == {"terms": f"@{names}", "weight_x": 3.0, "weight_z": 2.0}
    with pytest.raises(PatchError, match="weight_q"):
        patch.set("sum", weight_q=2.0)
