"""A person organises a patch by mouse and keys: dots, bypass, healing, inserting, layout."""

from itertools import pairwise
from typing import Any

import pytest
from PySide6.QtCore import QPointF, Qt

from tests.app.app_support import make_report
from tests.app.canvas.canvas_support import Hand, place
from warploom.app.canvas.canvas import Canvas
from warploom.app.canvas.mark_form import MarkForm
from warploom.app.canvas.search.search_popup import SearchPopup
from warploom.app.view_models.lists.find import find
from warploom.app.view_models.tooltips import node_tooltip
from warploom.engine.drawings.rect import Rect
from warploom.engine.patch.changes import Mode, PortRef
from warploom.engine.patch.document import Patch
from warploom.engine.patch.files import dump_patch, parse_patch
from warploom.engine.patch.organise.annotations import Dots, Frame
from warploom.engine.protocol.messages import BufferReport, NodeState

NONE = Qt.KeyboardModifier.NoModifier


def middle(hand: Hand, patch: Patch) -> QPointF:
    """Return the middle of the patch's first connection."""
    point: QPointF = hand.scene.connections[patch.connections[0]].path().pointAtPercent(0.5)
    return point


@pytest.fixture
def chain(canvas: Canvas, patch: Patch) -> Patch:
    """A chain of three blocks at some distance, and a loose one below."""
    for node in list(patch.nodes):
        patch.remove(node)
    for number, name in enumerate("abc"):
        patch.add("math.scale_offset", node_id=name, position=(-320 + 280 * number, -100))
    patch.connect(PortRef("a", "out"), PortRef("b", "x"))
    patch.connect(PortRef("b", "out"), PortRef("c", "x"))
    patch.add("math.scale_offset", node_id="loose", position=(0, 100))
    canvas.fit()
    return patch


@pytest.mark.feature("dots")
def test_a_connection_is_bent_by_dragging_its_middle(hand: Hand, chain: Patch) -> None:
    """The drag is one undo step; a double click removes the dot, and dots move with both blocks."""
    before, target = dump_patch(chain), chain.connections[0].target
    at = middle(hand, chain)
    hand.drag(at, at + QPointF(0, 80))
    ((_, y),) = chain.dots(target)
    assert abs(y - at.y() - 80) <= 8
    hand.canvas.select(["a", "b"])
    hand.press(Qt.Key.Key_Down)
    assert chain.dots(target)[0][1] == y + 8
    dot = QPointF(*chain.dots(target)[0])
    hand.drag(dot, dot + QPointF(16, 16))
    assert chain.dots(target)[0][1] == y + 24
    hand.double_click(QPointF(*chain.dots(target)[0]))
    assert chain.annotations_of(Dots) == []
    for _ in range(4):
        chain.undo()
    assert dump_patch(chain) == before


def test_a_deleted_block_heals_its_chain(hand: Hand, chain: Patch) -> None:
    """Delete is one undo step."""
    before = dump_patch(chain)
    hand.click(hand.title("b"))
    hand.canvas.edits.delete()
    assert [str(c) for c in chain.connections] == ["a.out -> c.x"]
    chain.undo()
    assert dump_patch(chain) == before


@pytest.mark.feature("insert")
def test_a_block_dropped_on_a_connection_goes_in_and_says_so_before(hand: Hand, chain: Patch) -> None:
    """While it is held, the text names the connection; the drop is one undo step; a connected block does not go in."""
    before, at = dump_patch(chain), middle(hand, chain)
    hand.drag(hand.title("loose"), at + QPointF(0, 8), release=False)
    assert "Insert into a.out → b.x" in notice(hand).replace("->", "→")
    hand.release(at + QPointF(0, 8))
    assert {str(c) for c in chain.connections} == {"a.out -> loose.x", "loose.out -> b.x", "b.out -> c.x"}
    assert notice(hand) == ""
    edges = [(view.place.left(), view.place.right()) for view in map(hand.scene.nodes.get, ("a", "loose", "b", "c"))]
    assert all(left[1] < right[0] for left, right in pairwise(edges))  # those that follow have made room
    chain.undo()
    assert dump_patch(chain) == before


def notice(hand: Hand) -> str:
    """Return the text at the pointer; "" while there is none."""
    shown: Any = hand.canvas._notice
    return str(shown.text()) if shown.isVisible() else ""


def test_bypassed_and_disabled_blocks_are_marked(hand: Hand, chain: Patch) -> None:
    """The command again uses the block again."""
    hand.click(hand.title("b"))
    hand.canvas.organise.bypass()
    assert hand.scene.nodes["b"].model.mode is Mode.BYPASSED
    hand.canvas.organise.disable()
    assert hand.scene.nodes["b"].model.mode is Mode.DISABLED
    hand.canvas.organise.disable()
    assert chain.nodes["b"].mode is Mode.ACTIVE


def test_a_block_that_cannot_be_bypassed_says_why(hand: Hand, chain: Patch) -> None:
    """Nothing changes."""
    array = chain.add("io.array", position=(300, 200))
    hand.canvas.select([array.id])
    hand.canvas.organise.bypass()
    assert "must have an input of the type of its output 'out' to be bypassed" in notice(hand)


def test_tab_offers_what_fits_the_selected_block_and_connects_it(hand: Hand, chain: Patch) -> None:
    """The new block is right of it, connected, and covers no other block."""
    hand.canvas.select(["c"])
    hand.canvas.open_search()
    popup = hand.canvas.findChild(SearchPopup)
    assert popup is not None and popup.isVisible()
    popup.field.setText("scale offset")
    first = popup.rows()[0].data(0, Qt.ItemDataRole.UserRole)
    assert first.id == "math.scale_offset"
    popup.chosen.emit(first)
    (new,) = chain.nodes.keys() - {"a", "b", "c", "loose"}
    assert chain.source_of(PortRef(new, "x")) == PortRef("c", "out")
    assert place(hand, new).left() > place(hand, "c").right()


def test_a_new_block_never_covers_another(hand: Hand, chain: Patch) -> None:
    """Blocks placed or pasted at a block go beside it."""
    search = hand.canvas.search
    for _ in range(3):
        search.open(chain, hand.view.mapFromScene(place(hand, "b").center()), place(hand, "b").center(), None)
        search.popup.chosen.emit(chain.block_type("b"))
    hand.canvas.select(["a", "b", "c"])
    hand.canvas.edits.duplicate()
    found = [Rect(*view.place.getRect()) for view in hand.scene.nodes.values()]
    assert not any(one.overlaps(other) for i, one in enumerate(found) for other in found[:i])


def test_used_blocks_come_first(hand: Hand, chain: Patch) -> None:
    """Of the blocks that fit equally well, those that the patch has come before the rest."""
    hand.canvas.search_for(PortRef("c", "out"))
    popup = hand.canvas.findChild(SearchPopup)
    assert popup is not None
    assert popup.rows()[0].data(0, Qt.ItemDataRole.UserRole).id == "math.scale_offset"


def test_a_selection_is_laid_out(hand: Hand, chain: Patch) -> None:
    """Blocks stand in a row, in one undo step."""
    for node in "abc":
        chain.move(node, (0.0, 0.0))
    names = len(chain.history.names)
    hand.canvas.select("abc")
    hand.canvas.organise.lay_out()
    assert len(chain.history.names) == names + 1
    assert place(hand, "a").right() < place(hand, "b").left() < place(hand, "b").right() < place(hand, "c").left()


def framed(hand: Hand) -> Frame:
    """Return the only frame of the patch."""
    (frame,) = hand.canvas.patch.annotations_of(Frame)
    return frame


def test_a_frame_holds_moves_and_is_resized_with_its_blocks(hand: Hand, chain: Patch) -> None:
    """A frame around a selection takes its blocks and dots along; each drag is one undo step."""
    before = dump_patch(chain)
    hand.canvas.organise.set_dots(chain.connections[0], [(0, -40)], "Add dot")
    hand.canvas.select(["a", "b"])
    hand.canvas.organise.add_frame(QPointF())
    frame, steps = framed(hand), len(chain.history.names)
    assert frame.holds(chain.nodes["a"].position, (10, 10))
    at = QPointF(frame.position[0] + 60, frame.position[1] + 12)
    places = {node: chain.nodes[node].position for node in "abc"}
    hand.drag(at, at + QPointF(40, 80))
    assert len(chain.history.names) == steps + 1
    assert framed(hand).position == (frame.position[0] + 40, frame.position[1] + 80)
    assert chain.nodes["a"].position == (places["a"][0] + 40, places["a"][1] + 80)
    assert chain.nodes["c"].position == places["c"]
    assert chain.dots(chain.connections[0].target) == ((40, 40),)
    corner = QPointF(framed(hand).position[0] + frame.size[0], framed(hand).position[1] + frame.size[1])
    hand.drag(corner, corner + QPointF(32, 16))
    wider, higher = (now - before for now, before in zip(framed(hand).size, frame.size, strict=True))
    assert abs(wider - 32) <= 8 and abs(higher - 16) <= 8
    for _ in range(4):
        chain.undo()
    assert dump_patch(chain) == before
    assert not hand.scene.frames.views


def test_a_frame_is_renamed_coloured_copied_and_deleted(hand: Hand, chain: Patch) -> None:
    """A copy has the blocks in it too; Delete removes the frame and leaves its blocks."""
    hand.canvas.select(["loose"])
    hand.canvas.add_frame()
    form = hand.canvas.findChild(MarkForm)
    assert form is not None
    form.title.setText("Tone")
    form.comment.setPlainText("What it does")
    form.colours.button(2).click()
    form.accept()
    assert (framed(hand).title, framed(hand).comment, framed(hand).colour) == ("Tone", "What it does", "teal")
    assert [hit.id for hit in find(chain, "teal")] == [framed(hand).id]
    hand.click(QPointF(framed(hand).position[0] + 60, framed(hand).position[1] + 12))
    assert hand.scene.frames.selected() == [framed(hand).id]
    hand.canvas.edits.duplicate()
    assert [frame.title for frame in chain.annotations_of(Frame)] == ["Tone", "Tone"]
    assert len(chain.nodes) == 5
    chain.undo()
    hand.scene.frames.select([framed(hand).id])
    hand.canvas.edits.delete()
    assert not chain.annotations_of(Frame)
    assert len(chain.nodes) == 4


def test_a_frame_in_a_group_is_shown_there_and_comes_out_with_ungroup(hand: Hand, chain: Patch) -> None:
    """Each group has its own frames."""
    group = chain.group(["a", "b"])
    hand.canvas.set_patch(chain, group.id)
    hand.canvas.select(["a"])
    hand.canvas.add_frame()
    assert framed(hand).group == group.id
    hand.canvas.set_patch(chain)
    assert not hand.scene.frames.views
    chain.ungroup(group)
    assert list(hand.scene.frames.views) == [framed(hand).id]
    chain.undo()
    chain.remove(group)
    assert not chain.annotations_of(Frame)


def test_blocks_that_need_a_disabled_one_fade_and_say_why(hand: Hand, chain: Patch) -> None:
    """Reports have no state of blocks that don't run; tooltips name the reason."""
    hand.canvas.select(["a"])
    hand.canvas.organise.disable()
    hand.canvas.show_report(make_report())
    assert hand.scene.nodes["c"].appearance.state is NodeState.IDLE
    assert hand.scene.nodes["loose"].appearance.state is NodeState.OK
    assert "Left out, since a block that it needs is disabled." in node_tooltip(chain, "c", None)
    hand.canvas.organise.disable()
    hand.canvas.organise.bypass()
    assert "Bypassed: out takes what feeds x." in node_tooltip(chain, "a", None)


def test_the_layout_leaves_room_for_thumbnails(canvas: Canvas, hand: Hand, chain: Patch) -> None:
    """Blocks are laid out below the thumbnails of others; without thumbnails, they are closer."""
    chain.remove("c")
    chain.add("math.scale_offset", node_id="d", position=(40, 200))
    chain.connect(PortRef("a", "out"), PortRef("d", "x"))
    picture = BufferReport("float4", (64, 64), 2**16, 2**16)
    canvas.show_report(make_report(buffers={f"{node}.out": picture for node in chain.nodes}))

    def gap() -> float:
        canvas.select([])
        canvas.organise.lay_out()
        upper, lower = sorted((place(hand, node) for node in "bd"), key=lambda rect: rect.top())
        return lower.top() - upper.bottom()

    closer = gap()
    canvas.thumbnails.set_shown(True)
    assert gap() >= min(place(hand, "b").width(), 110) + 5 > closer


@pytest.mark.feature("marks")
def test_blocks_have_a_comment_and_a_colour(hand: Hand, chain: Patch) -> None:
    """Both are set for all selected blocks at once, and copied, saved, found and undone; a longer title makes room."""
    chain.move("loose", (chain.nodes["b"].position[0], place(hand, "b").bottom() + 16))
    below = place(hand, "loose")
    before = dump_patch(chain)
    hand.canvas.select(["a", "b"])
    hand.canvas.organise.mark()
    form = hand.canvas.findChild(MarkForm)
    assert form is not None
    form.comment.setPlainText("Bright parts\nonly")
    form.colours.button(2).click()
    form.accept()
    assert [(chain.nodes[n].comment, chain.nodes[n].colour) for n in "abc"] == [("Bright parts\nonly", "teal")] * 2 + [
        ("", "")
    ]
    assert place(hand, "a").height() > place(hand, "c").height()
    assert place(hand, "loose").top() > place(hand, "b").bottom() > below.top()  # it makes room for its comment
    assert [hit.id for hit in find(chain, "bright parts")] == ["a", "b"] == [hit.id for hit in find(chain, "teal")]
    assert "Bright parts" in node_tooltip(chain, "a", None)
    chain.set_comment("a", "Another")
    hand.canvas.organise.mark()
    form = hand.canvas.findChildren(MarkForm)[-1]
    form.accept()
    assert [chain.nodes[n].comment for n in "ab"] == ["Another", "Bright parts\nonly"]  # nothing was changed
    hand.canvas.organise.mark()
    form = hand.canvas.findChildren(MarkForm)[-1]
    form.clear.click()
    form.accept()
    assert [chain.nodes[n].comment for n in "ab"] == ["", ""]
    chain.undo()
    chain.undo()
    hand.canvas.edits.duplicate()
    copy = parse_patch(dump_patch(chain))
    assert [node.comment for node in copy.nodes.values()].count("Bright parts\nonly") == 4
    assert (chain.undo(), chain.undo(), dump_patch(chain)) == (
        "Duplicate",
        "Change comment and colour of 2 blocks",
        before,
    )
    hand.canvas.organise.rename(chain, "b", "A title that is longer than before, and needs more room")
    assert place(hand, "b").right() < place(hand, "c").left()
    chain.undo()
    assert dump_patch(chain) == before
    chain.add("math.scale_offset", node_id="deep", position=(below.left(), below.bottom() + 16))
    hand.canvas.organise.comment(chain, ["b", "loose"], "Bright parts\nonly")  # a column, which moves apart
    assert place(hand, "b").bottom() < place(hand, "loose").top()
    assert place(hand, "loose").bottom() < place(hand, "deep").top()
