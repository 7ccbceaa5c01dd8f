"""Edits of nodes, and nodes as text."""

from __future__ import annotations

import numpy as np
import pytest

from app.edits.nodes import copied, paste, snapped
from engine.diagnostics import PatchError
from engine.patch.changes import Connected, Connection, Node, NodeAdded, PortRef
from engine.patch.document import Patch


def test_positions_snap_to_the_nearest_multiple_of_eight() -> None:
    """Dragged nodes line up."""
    assert snapped(3.9, -12.1) == (0, -16)


def test_pasted_nodes_have_new_ids_and_the_connections_between_them(patch: Patch) -> None:
    """What was connected inside the selection is connected in the copy; nothing else is."""
    patch.connect(PortRef("source", "out"), PortRef("scale", "gain"))
    added = paste(patch, copied(patch, ["source", "scale"]))
    assert set(added) == {"source_2", "scale_2"}
    assert {str(c) for c in patch.connections_of("scale_2")} == {
        "source_2.out -> scale_2.x",
        "source_2.out -> scale_2.gain",
    }
    assert patch.nodes["scale_2"].position == (24, 24)


def test_the_copy_of_a_copy_is_counted_on(patch: Patch) -> None:
    """Ids stay short however often something is duplicated."""
    paste(patch, copied(patch, ["scale"]))
    assert paste(patch, copied(patch, ["scale_2"])) == ["scale_3"]


def test_a_paste_is_one_undo_step(patch: Patch) -> None:
    """Undo reverts all of it."""
    before = patch.nodes.copy()
    paste(patch, copied(patch, ["source", "scale"]), (100, 50))
    assert patch.nodes["source_2"].position == (100, 50)
    assert patch.undo() == "Paste"
    assert patch.nodes == before


def test_placeholders_survive_the_clipboard(patch: Patch) -> None:
    """A node of an unknown type is copied with its data and its connections."""
    old = Node(id="old", type="foo.bar", parameters={"data": np.arange(3), "mode": "x"})
    patch.restore([NodeAdded(old), Connected(Connection(PortRef("source", "out"), PortRef("old", "in")))])
    paste(patch, copied(patch, ["source", "old"]))
    copy = patch.nodes["old_2"]
    assert copy.type == "foo.bar"
    assert copy.parameters["mode"] == "x"
    np.testing.assert_array_equal(copy.parameters["data"], [0, 1, 2])
    assert patch.source_of(PortRef("old_2", "in")) == PortRef("source_2", "out")


@pytest.mark.parametrize("text", ["", "hello", "{}", '{"schema": 1}', '{"schema": 99, "nodes": []}'])
def test_text_that_is_no_patch_is_refused(patch: Patch, text: str) -> None:
    """Pasting prose changes nothing and says why."""
    with pytest.raises(PatchError, match="clipboard"):
        paste(patch, text)
    assert len(patch.nodes) == 3
