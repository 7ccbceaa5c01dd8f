"""Commands for regions; placing, pasting and inserting blocks in them."""

import pytest
from PySide6.QtCore import QPointF

from tests.app.canvas.canvas_support import Hand, box, documented, place, shown
from tests.app.sample_blocks import KINDS, patch_with_region
from warploom.app.canvas.canvas import Canvas
from warploom.app.canvas.search.search_popup import SearchPopup
from warploom.app.edits import nodes as node_edits
from warploom.engine.patch.changes import Connection, PortRef
from warploom.engine.patch.document import Patch


@pytest.fixture
def patch() -> Patch:
    """A patch with a block in a region, and blocks outside."""
    return patch_with_region()


@pytest.mark.parametrize("kind", KINDS)
def test_wrapping_puts_the_selection_into_a_new_region(canvas: Canvas, hand: Hand, patch: Patch, kind: str) -> None:
    """Wrapping makes a region block in the selection's region, and moves the selection into it, in one step."""
    patch.add("test_canvas.scale", node_id="next", position=(40, -40), region=patch["loop"])
    patch.connect(patch["inner"]["out"], patch["next"]["x"])
    before = documented(patch)
    canvas.select(["inner", "next"])
    canvas.edits.wrap(kind.partition(".")[2])
    (made,) = canvas.selected()
    assert patch.nodes[made].type == kind
    assert patch.nodes[made].region == "loop"
    assert [patch.nodes[n].region for n in ("inner", "next")] == [made, made]
    assert box(hand, made).contains(place(hand, "inner").united(place(hand, "next")))
    assert not place(hand, made).intersects(place(hand, "inner").united(place(hand, "next")))
    assert len(patch.connections) == 1
    assert (patch.undo() or "").startswith("Wrap 2 nodes in ")
    assert documented(patch) == before
    assert [patch.nodes[n].region for n in ("inner", "next")] == ["loop", "loop"]


def test_a_new_region_block_covers_no_other_block(canvas: Canvas, hand: Hand, patch: Patch) -> None:
    """A new region block is placed above its blocks, or to their left or below them, and covers no other block."""
    places = []
    for _ in range(3):
        canvas.select(["free"])
        canvas.edits.wrap("if")
        (made,) = canvas.selected()
        places.append(place(hand, made))
        assert not any(place(hand, n).intersects(places[-1]) for n in patch.nodes if n != made)
        canvas.select(["free"])
        canvas.edits.take_out()
    above, left, below = places
    block = place(hand, "free")
    assert above.bottom() < block.top()
    assert left.right() < block.left()
    assert below.top() > block.bottom()


def test_wrapping_what_something_outside_lies_between_is_refused(canvas: Canvas, hand: Hand, patch: Patch) -> None:
    """Wrapping blocks is refused without a change if a block outside would have to run both after and before them."""
    patch.add("test_canvas.scale", node_id="last", position=(440, 0))
    patch.connect(patch["source"]["out"], patch["free"]["x"])
    patch.connect(patch["free"]["out"], patch["last"]["x"])
    before, reasons = documented(patch), list[str]()
    canvas.refused.connect(reasons.append)
    canvas.select(["source", "last"])
    canvas.edits.wrap("if")
    assert len(reasons) == 1
    assert "cycle" in reasons[0]
    assert documented(patch) == before == shown(hand.scene)


def test_blocks_move_into_regions_and_out_by_command(canvas: Canvas, patch: Patch) -> None:
    """A command moves blocks into any region on its list, which leaves out their own and the selected regions."""
    patch.add("control.if_else", node_id="choice", position=(200, 160))
    patch.add("control.for", node_id="for_2", position=(200, 300))
    canvas.select(["free"])
    assert canvas.edits.scopes_to_enter() == {
        "loop": "For (loop)",
        "choice": "If Else, then",
        "choice.else": "If Else, else",
        "for_2": "For (for_2)",
    }
    assert not canvas.edits.has_members()
    canvas.edits.move_into("choice.else")
    assert patch.nodes["free"].region == "choice.else"
    assert "choice.else" not in canvas.edits.scopes_to_enter()
    assert canvas.edits.has_members()
    canvas.edits.take_out()
    assert patch.nodes["free"].region == ""
    assert patch.undo() == "Take 1 node out of the region"
    canvas.select(["loop"])
    assert "loop" not in canvas.edits.scopes_to_enter()


def test_taking_out_goes_one_region_up(canvas: Canvas, patch: Patch) -> None:
    """Taking a block out moves it one region up; a region block that is taken out keeps its blocks."""
    patch.add("control.if", node_id="choice", region=patch["loop"])
    patch.add("test_canvas.count", node_id="deep", region=patch["choice"])
    canvas.select(["deep"])
    canvas.edits.take_out()
    assert patch.nodes["deep"].region == "loop"
    patch.undo()
    canvas.select(["choice", "deep"])
    canvas.edits.take_out()
    assert [patch.nodes[n].region for n in ("choice", "deep")] == ["", "choice"]


def test_blocks_placed_in_a_box_lie_in_the_region(canvas: Canvas, hand: Hand, patch: Patch) -> None:
    """Searched and pasted blocks belong to the box under the pointer, and duplicates to their originals' region."""
    canvas.open_search(hand.view.mapFromScene(QPointF(-60, 40)))
    popup = canvas.findChild(SearchPopup)
    assert popup is not None
    popup.field.setText("quokka that counts")
    popup.list.itemClicked.emit(popup.rows()[0], 0)
    (placed,) = canvas.selected()
    assert patch.nodes[placed].region == "loop"
    canvas.edits.duplicate()
    (copied,) = canvas.selected()
    assert patch.nodes[copied].region == "loop"
    canvas.select(["free"])
    canvas.edits.copy()
    hand.view.cursor_position = hand.view.mapFromScene(QPointF(-60, 40))
    canvas.edits.paste()
    (pasted,) = canvas.selected()
    assert patch.nodes[pasted].region == "loop"


def test_an_inserted_block_lies_where_the_connection_does(canvas: Canvas, patch: Patch) -> None:
    """A block inserted between two blocks of a region joins it; on a connection into a region, the pointer decides."""
    patch.add("test_canvas.scale", node_id="next", region=patch["loop"])
    inside = patch.connect(patch["inner"]["out"], patch["next"]["x"])
    into = patch.connect(patch["source"]["out"], patch["inner"]["x"])
    scale = patch.catalogue.require("test_canvas.scale")
    assert patch.nodes[node_edits.insert(patch, scale, (0, 0), inside)].region == "loop"
    outside = node_edits.insert(patch, scale, (0, 0), into)
    assert patch.nodes[outside].region == ""
    first = Connection(PortRef(outside, "out"), PortRef("inner", "x"))
    assert patch.nodes[node_edits.insert(patch, scale, (0, 0), first, "loop")].region == "loop"
