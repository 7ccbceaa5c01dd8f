"""A kind of inner patch is one class, which its block type names; no other code knows of the kind.

The kind here is a group of blocks, with ends for its ports; its content composes the blocks.
"""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pytest

from warploom import Engine, UpdateLevel
from warploom.api import BlockBuilder, Interface, param
from warploom.app.edits.nodes import copied, paste
from warploom.app.view_models.lists.problems import place_title, with_op_problems
from warploom.engine.blocktypes.block import Block, block_types
from warploom.engine.blocktypes.parameters import ParameterSpec
from warploom.engine.catalogue.catalogue import Catalogue, default_catalogue
from warploom.engine.catalogue.fixed_catalogue import row_block
from warploom.engine.descriptions.ports import PortSpec
from warploom.engine.diagnostics import PatchError, error
from warploom.engine.inner_patches.chain import ChainPatch
from warploom.engine.inner_patches.editing import InnerEditing
from warploom.engine.inner_patches.op_patch import OpPatch
from warploom.engine.inner_patches.parts import Parts
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.composite import CompositeBuilder
from warploom.engine.patch.document import Patch
from warploom.engine.patch.inner_patch import InnerBlock, InnerPatch, inner_kind, open_inner
from warploom.engine.types import any_type

_NAME = [ParameterSpec("name", "str", "", "Its name.", structural=True)]
_GIVES = PortSpec("value", "out", any_type, "The value.", "data", dtype_rule="given")
_INPUT = row_block("test_kinds.input", "Input", "ends", "An input of the group.", [_GIVES], _NAME)
_TAKES = PortSpec("value", "in", any_type, "The value.", "same")
_OUTPUT = row_block("test_kinds.output", "Output", "ends", "An output of the group.", [_TAKES], _NAME)
_ENDS: dict[str, type[Block]] = {_INPUT.id: _INPUT, _OUTPUT.id: _OUTPUT}


class GroupCatalogue(Catalogue):
    """The library's block types, and the ends of a group."""

    def get(self, type_id: str) -> type[Block] | None:
        return _ENDS.get(type_id) or super().get(type_id)


class Group(Parts):
    """The blocks that a group composes."""

    def __init__(self, patch: InnerPatch) -> None:
        super().__init__(patch)
        self.nodes = [node for node in self._in_order("blocks") if node.type not in _ENDS]

    def composed(self, block: Block) -> CompositeBuilder:
        build, inputs = CompositeBuilder(block, ["graph"]), dict(self.ends(_INPUT.id))
        for node in self.nodes:
            build.add_child(node.type, node.id, **node.parameters)
        for node in self.nodes:
            for port, source in self._feeds[node.id].items():
                if source.node in inputs:
                    build.expose_input(inputs[source.node], PortRef(node.id, port))
                else:
                    build.connect_children(source, PortRef(node.id, port))
        for end, name in self.ends(_OUTPUT.id):
            build.expose_output(name, self._feeds[end]["value"])
        return build


class GroupPatch(InnerPatch):
    """The blocks of a group."""

    kind: ClassVar[str] = "group"
    holds: ClassVar[str] = "blocks of a group"
    own_types = _ENDS.keys()
    takes_blocks = True
    ends: ClassVar[Mapping[str, str]] = {_INPUT.id: "x", _OUTPUT.id: "result"}
    derived: ClassVar[str] = "group"

    def __init__(self) -> None:
        super().__init__(GroupCatalogue())

    @cached_property
    def group(self) -> Group:
        return Group(self)


@pytest.fixture(scope="module", autouse=True)
def group_block() -> Iterator[None]:
    """The block type that names the kind."""
    default_catalogue()

    class GroupBlock(InnerBlock, id="test_kinds.group", title="Group"):
        """Runs a group of blocks."""

        graph: dict[str, Any] = param({}, doc="The blocks.")

        @classmethod
        def inner_patch(cls) -> type[InnerPatch]:
            return GroupPatch

        @classmethod
        def interface(cls, values: Mapping[str, Any]) -> Interface:
            group = GroupPatch.parse(values["graph"]).group
            if group.problems:
                raise PatchError(group.problems[0].message)
            return Interface(tuple(group.composed(cls()).ports.values()), (), group)

        def describe(self, build: BlockBuilder) -> None:
            build.compose(self.content.composed(self).commit())

    yield
    block_types.commit({}, [GroupBlock.id])


def doubled() -> GroupPatch:
    """Return a group that doubles its input."""
    group = GroupPatch()
    x = group.add(_INPUT.id)
    double = group.add("math.scale_offset", node_id="double", scale=2.0, offset=0.0)
    group.connect(x["value"], double["x"])
    group.connect(double["out"], group.add(_OUTPUT.id)["value"])
    return group


@pytest.fixture
def outer() -> Patch:
    """A patch with a group that doubles 0, 1, 2 and 3."""
    patch = Patch()
    numbers = patch.add("io.array", data=np.arange(4, dtype=np.float32))
    group = patch.add("test_kinds.group", node_id="group", graph=doubled().json())
    patch.connect(numbers["out"], group["x"])
    return patch


def test_a_patch_of_a_new_kind_runs_and_is_edited_while_it_does(outer: Patch) -> None:
    with Engine(outer, device="host") as engine:
        engine.step()
        assert engine.read(outer["group"]["result"]).tolist() == [0, 2, 4, 6]
        editing = InnerEditing(outer, "group")
        editing.patch.set("double", offset=1.0)
        engine.step()
        assert engine.read(outer["group"]["result"]).tolist() == [1, 3, 5, 7]
        assert outer.undo() == "Set offset of Scale Offset in Group"
        assert editing.patch.value("double", "offset") == 0.0
        assert engine.step().update_level < UpdateLevel.COLD
        assert engine.read(outer["group"]["result"]).tolist() == [0, 2, 4, 6]


def test_the_ports_outside_follow_the_ends(outer: Patch) -> None:
    group = InnerEditing(outer, "group").patch
    seen = group.add(_OUTPUT.id, node_id="seen")
    group.connect(group["double"]["out"], seen["value"])
    assert place_title(outer, "group/seen") == "Group › Output seen"
    group.set(seen, name="again")
    block_type = outer.block_type("group")
    assert block_type is not None and list(block_type.ports) == ["x", "result", "again"]


def test_its_problems_stand_at_its_nodes(outer: Patch) -> None:
    stored = doubled().json()
    stored["connections"][0]["source"] = "double.out"
    outer.set("group", graph=stored)
    text = "blocks must not wait for each other in a circle"
    assert [found.node for found in with_op_problems(outer, [error(text, node="group")])] == ["group/double"]


def test_its_nodes_are_pasted_where_they_belong(outer: Patch) -> None:
    ends = copied(doubled(), ["x", "double"])
    for target, wanted in ((Patch(), "blocks"), (OpPatch(), OpPatch.holds), (ChainPatch(), ChainPatch.holds)):
        with pytest.raises(PatchError, match=f"clipboard must hold {wanted}, got blocks of a group"):
            paste(target, ends)
    group = doubled()
    assert set(paste(group, ends)) == {"x_2", "double_2"}
    assert paste(group, copied(outer, ["array"])) == ["array"]
    ops = OpPatch()
    ops.add("op.add", node_id="add")
    with pytest.raises(PatchError, match="clipboard must hold blocks of a group, got ops of a kernel"):
        paste(group, copied(ops, ["add"]))


def test_a_block_without_a_patch_says_so(outer: Patch) -> None:
    """A block without an inner patch, a block that is gone, and a type without a parameter for a patch are refused."""
    outer.add("math.add", node_id="add")
    outer.add("kernel.expression", node_id="formula")
    for node in ("add", "formula", "gone"):
        assert inner_kind(outer, node) is None
        with pytest.raises(PatchError, match=f"block must hold a patch to open, got {node}"):
            open_inner(outer, node)
    assert inner_kind(outer, "group") is GroupPatch
