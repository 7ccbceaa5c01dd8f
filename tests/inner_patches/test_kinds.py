"""A kind of inner patch is one class that its block type names: nothing else has to know of it."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, ClassVar

import pytest

from app.edits.nodes import copied, paste
from app.view_models.ops.problems import place_title, with_op_problems
from engine.api import Interface, param
from engine.blocktypes.block import block_types
from engine.catalogue.catalogue import default_catalogue
from engine.catalogue.fixed_catalogue import FixedCatalogue, row_block
from engine.descriptions.ports import PortSpec
from engine.diagnostics import Diagnostic, PatchError, error
from engine.inner_patches.chain import ChainPatch
from engine.inner_patches.editing import InnerEditing
from engine.inner_patches.op_patch import OpPatch
from engine.patch.document import Patch
from engine.patch.inner_patch import InnerBlock, InnerPatch, inner_kind, open_inner
from engine.types import f32

_NOTE = row_block("notes.note", "Note", "notes", "A note.", [PortSpec("out", "out", f32, "The note.", "")], [])


class NotesPatch(InnerPatch):
    """Notes that stand beside each other."""

    kind: ClassVar[str] = "page"
    holds: ClassVar[str] = "notes"
    own_types: ClassVar[Collection[str]] = ("notes.note",)
    ends: ClassVar[Mapping[str, str]] = {}
    derived: ClassVar[str] = "unused"

    def __init__(self) -> None:
        super().__init__(FixedCatalogue("a note", {"notes.note": _NOTE}, ["notes.note"]))

    @property
    def problems(self) -> Collection[Diagnostic]:
        """Three notes are too many."""
        return [error("note must be one of two, got more", node=node) for node in list(self.nodes)[2:]]

    @property
    def live(self) -> Collection[str]:
        """All notes."""
        return self.nodes


@pytest.fixture
def outer() -> Iterator[Patch]:
    """A patch with a block that holds notes."""
    default_catalogue()

    class Page(InnerBlock, id="test_kinds.page"):
        """Hold notes."""

        inner_patch: ClassVar[type[InnerPatch]] = NotesPatch
        graph: dict[str, Any] = param({}, doc="The notes.")

        @classmethod
        def interface(cls, values: Mapping[str, Any]) -> Interface:
            """An input for each note."""
            notes = NotesPatch.parse(values["graph"]).nodes
            return Interface(tuple(PortSpec(name, "in", f32, "A note.", "same") for name in notes))

    patch = Patch()
    patch.add(Page.id, node_id="page")
    yield patch
    block_types.commit({}, [Page.id])


def test_the_patch_of_a_new_kind_opens_and_the_block_follows_it(outer: Patch) -> None:
    assert inner_kind(outer, "page") is NotesPatch
    editing = InnerEditing(outer, "page")
    first = editing.patch.add("notes.note", node_id="first")
    block_type = outer.block_type("page")
    assert block_type is not None and list(block_type.ports) == ["first"]
    assert outer.history.undo_name == "Add Note in Page"
    editing.patch.rename(first, "Milk")
    assert place_title(outer, "page/first") == "Page › Milk"
    outer.undo()
    outer.undo()
    assert not editing.patch.nodes


def test_its_problems_stand_at_its_nodes(outer: Patch) -> None:
    editing = InnerEditing(outer, "page")
    for name in ("a", "b", "c"):
        editing.patch.add("notes.note", node_id=name)
    around = error("note must be one of two, got more", node="page")
    assert [found.node for found in with_op_problems(outer, [around])] == ["page/c"]


def test_its_nodes_are_pasted_where_they_belong(outer: Patch) -> None:
    notes = NotesPatch()
    notes.add("notes.note", node_id="a")
    text = copied(notes, ["a"])
    for target, wanted in ((Patch(), "blocks"), (OpPatch(), OpPatch.holds), (ChainPatch(), ChainPatch.holds)):
        with pytest.raises(PatchError, match=f"clipboard must hold {wanted}, got notes"):
            paste(target, text)
    with pytest.raises(PatchError, match="clipboard must hold notes, got blocks"):
        paste(notes, copied(outer, ["page"]))
    assert paste(notes, text) == ["a_2"]


def test_a_block_without_a_patch_says_so(outer: Patch) -> None:
    """Also one that is gone, and a type that has no parameter for a patch."""
    outer.add("math.add", node_id="add")
    outer.add("kernel.expression", node_id="formula")
    for node in ("add", "formula", "gone"):
        assert inner_kind(outer, node) is None
        with pytest.raises(PatchError, match=f"block must hold a patch to open, got {node}"):
            open_inner(outer, node)
