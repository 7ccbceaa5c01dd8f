"""The canvas mirrors the patch, whether a person, a script or the engine edits it."""

from tests.app.canvas.canvas_support import Hand, documented, shown
from warploom.app.canvas.canvas import Canvas
from warploom.engine.catalogue.catalogue import Catalogue
from warploom.engine.patch.changes import Change, Connected, Connection, Node, NodeAdded, PortRef
from warploom.engine.patch.document import Patch


def test_edits_of_the_patch_appear_and_undo_takes_them_away(hand: Hand, patch: Patch) -> None:
    """After every edit, undo and redo, the view equals the patch."""
    new = patch.add("test_canvas.scale", position=(240, 80))
    patch.connect(PortRef("scale", "out"), new["x"])
    patch.connect(PortRef("source", "out"), new["x"])
    patch.move("count", (8, 400))
    patch.rename("scale", "Louder")
    patch.remove("source")
    assert shown(hand.scene) == documented(patch)
    while patch.undo():
        assert shown(hand.scene) == documented(patch)
    while patch.redo():
        assert shown(hand.scene) == documented(patch)
    assert hand.scene.nodes["scale"].model.title == "Louder"


def test_a_node_that_changes_its_region_stays_where_it_is(hand: Hand, patch: Patch) -> None:
    """A node that is moved to another region keeps its position and connections."""
    patch.restore([NodeAdded(Node(id="old", type="foo.loop"))])
    before = shown(hand.scene)
    patch.move_into(["source", "scale"], "old")
    assert shown(hand.scene) == before == documented(patch)
    patch.undo()
    assert shown(hand.scene) == before


def test_a_region_takes_its_blocks_out_of_the_last_group(hand: Hand, patch: Patch) -> None:
    """The blocks of a region come and go with it, also when the patch has no groups any more."""
    patch.restore([NodeAdded(Node(id="old", type="foo.loop"))])
    patch.add("test_canvas.scale", node_id="lone", region="old")
    group = patch.group(["old"])
    assert "lone" not in hand.scene.nodes
    patch.ungroup(group)
    assert shown(hand.scene) == documented(patch)
    while patch.undo():
        pass
    assert shown(hand.scene) == documented(patch)


def test_another_patch_replaces_the_view(canvas: Canvas, hand: Hand, patch: Patch) -> None:
    """A canvas that shows another patch no longer follows edits of the old one."""
    other = Patch(Catalogue())
    other.add("test_canvas.show", node_id="only")
    canvas.set_patch(other)
    patch.add("test_canvas.show")
    assert shown(hand.scene) == documented(other)
    canvas.set_patch(None)
    assert shown(hand.scene) == ({}, set())


def test_showing_a_patch_does_not_edit_it(canvas: Canvas, patch: Patch) -> None:
    """Showing a patch, selecting all of it, and painting it make no edits."""
    changes: list[Change] = []
    patch.subscribe(changes.append)
    before = patch.history.names
    canvas.set_patch(patch)
    canvas.select_all()
    canvas.fit()
    canvas.grab()
    assert changes == []
    assert patch.history.names == before


def test_a_dangling_port_comes_and_goes_with_its_connection(hand: Hand, patch: Patch) -> None:
    """A port that the node's type lacks is shown while a connection names it."""
    connection = Connection(PortRef("source", "out"), PortRef("scale", "gone"))
    patch.restore([Connected(connection)])
    assert hand.scene.nodes["scale"].ports["gone", True].model.dangling
    assert hand.scene.connections[connection].is_dangling
    patch.disconnect(connection)
    assert ("gone", True) not in hand.scene.nodes["scale"].ports


def test_a_placeholder_keeps_its_connections_in_view(hand: Hand, patch: Patch) -> None:
    """A node of a missing type is shown with its connections, and can be removed."""
    patch.restore(
        [
            NodeAdded(Node(id="old", type="foo.bar", position=(240, 0))),
            Connected(Connection(PortRef("scale", "out"), PortRef("old", "in"))),
        ]
    )
    assert shown(hand.scene) == documented(patch)
    hand.canvas.grab()
    patch.remove("old")
    assert shown(hand.scene) == documented(patch)
    patch.undo()
    assert shown(hand.scene) == documented(patch)
