"""An op graph that is opened as a patch and the patch around it receive each other's edits."""

from typing import Any

import pytest

from warploom.engine.diagnostics import PatchError
from warploom.engine.inner_patches.editing import InnerEditing
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.document import Patch

_GRAPH: dict[str, Any] = {
    "nodes": [
        {"id": "x", "type": "op.input", "position": [0, 0]},
        {"id": "times", "type": "op.multiply", "position": [200, 0], "parameters": {"b": 2.0}},
        {"id": "out", "type": "op.output", "position": [400, 0]},
    ],
    "connections": [
        {"source": "times.out", "target": "out.value"},
        {"source": "x.value", "target": "times.a"},
    ],
}


@pytest.fixture
def outer() -> Patch:
    """A patch with a kernel of three ops."""
    patch = Patch()
    patch.add("kernel.graph", node_id="kernel", graph=_GRAPH)
    return patch


def test_edits_inside_are_edits_of_the_block_that_undo_takes_back(outer: Patch) -> None:
    editing = InnerEditing(outer, "kernel")
    inner = editing.patch
    states = [outer.value("kernel", "graph")]

    def made() -> None:
        assert outer.value("kernel", "graph") == inner.json()
        states.append(outer.value("kernel", "graph"))

    loop = inner.add("op.for", position=(8, 8))
    made()
    inner.move_into("times", loop)
    made()
    inner.disconnect(PortRef("out", "value"))
    made()
    inner.set("times", b=4.0)
    made()
    with inner.edit("Delete 2 nodes"):
        inner.remove("x")
        inner.remove(loop)
    made()
    inner.rename("times", "Louder")
    made()
    inner.move("times", (40, 48))
    made()
    assert outer.history.undo_name == "Move Louder in Kernel"
    for state in reversed(states[:-1]):
        outer.undo()
        assert outer.value("kernel", "graph") == state == inner.json()
    for state in states[1:]:
        outer.redo()
        assert outer.value("kernel", "graph") == state == inner.json()


def test_a_node_that_comes_back_has_its_place_among_the_ports(outer: Patch) -> None:
    editing = InnerEditing(outer, "kernel")
    editing.patch.add("op.input", node_id="y")
    editing.patch.add("op.output", node_id="second")
    editing.patch.remove("x")
    outer.undo()
    assert list(editing.patch.nodes) == ["x", "times", "out", "y", "second"]


def test_a_drag_is_one_step_around_as_it_is_inside(outer: Patch) -> None:
    editing, before = InnerEditing(outer, "kernel"), len(outer.history.names)
    for value in (1.0, 2.0, 3.0):
        editing.patch.set("times", gesture="drag", b=value)
    assert len(outer.history.names) == before + 1
    outer.undo()
    assert editing.patch.value("times", "b") == 2.0


def test_an_edit_that_fails_changes_nothing_around(outer: Patch) -> None:
    editing, before = InnerEditing(outer, "kernel"), outer.history.names
    with pytest.raises(PatchError), editing.patch.edit("Fails"):
        editing.patch.set("times", b=9.0)
        editing.patch.set("times", b="no number")
    assert outer.history.names == before
    assert outer.value("kernel", "graph") == _GRAPH


def test_what_others_write_is_shown_and_ends_in_no_edit(outer: Patch) -> None:
    editing = InnerEditing(outer, "kernel")
    outer.set("kernel", graph={**_GRAPH, "connections": []})
    assert editing.patch.connections == []
    assert outer.history.names[-1] == "Set graph of Kernel"


@pytest.mark.parametrize("lose", [lambda p: p.remove("kernel"), lambda p: p.set("kernel", graph={"nodes": 1})])
def test_editing_ends_with_the_graph(outer: Patch, lose: Any) -> None:
    reasons: list[str] = []
    editing = InnerEditing(outer, "kernel", reasons.append)
    lose(outer)
    assert len(reasons) == 1
    editing.patch.set("times", b=7.0)  # editing has ended: nothing follows this edit


def test_the_blocks_ports_follow_the_ops(outer: Patch) -> None:
    editing = InnerEditing(outer, "kernel")
    gain = editing.patch.add("op.parameter", name="gain", default=3.0)
    editing.patch.connect(gain["out"], PortRef("times", "b"))
    assert outer.value("kernel", "gain") == 3.0
    editing.patch.disconnect(PortRef("out", "value"))
    assert [port.name for port in outer.block_type("kernel").outputs()] == ["out"]  # type: ignore[union-attr]
