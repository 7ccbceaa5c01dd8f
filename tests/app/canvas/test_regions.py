"""Regions on the canvas: boxes that follow their blocks, and gestures that move blocks in and out."""

import time

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from tests.app.app_support import contrast
from tests.app.canvas.canvas_support import Hand, box, documented, place, shown
from tests.app.sample_blocks import KINDS, patch_with_region
from warploom.app.canvas.canvas import Canvas
from warploom.app.canvas.drawing.region_layout import EMPTY, INNER_MARGIN, MARGIN, STRIP, RegionLayout, region_layout
from warploom.app.canvas.drawing.region_painter import RegionAppearance
from warploom.app.canvas.notice import CanvasNotice
from warploom.app.theme.colours import DARK, LIGHT, Colours, mix, region_colours
from warploom.engine.catalogue.catalogue import Catalogue
from warploom.engine.patch.changes import Change, Node, NodeAdded, NodeMoved
from warploom.engine.patch.document import Patch

BOTH = pytest.mark.parametrize("theme", [DARK, LIGHT], ids=lambda theme: theme.name)


@pytest.fixture
def patch() -> Patch:
    """A patch with a block in a region, and blocks outside."""
    return patch_with_region()


def strip(hand: Hand, region: str) -> QPointF:
    """Return a point on the title strip of a region's box, beside the title."""
    rect = box(hand, region)
    return QPointF(rect.right() - 20, rect.top() + STRIP / 2)


def margins(outer: QRectF, inner: QRectF) -> tuple[float, float, float, float]:
    """Return the distances of the inner rectangle from the edges of the outer one."""
    return (
        inner.left() - outer.left(),
        inner.top() - outer.top(),
        outer.right() - inner.right(),
        outer.bottom() - inner.bottom(),
    )


# Positions of boxes


def test_a_box_lies_around_its_blocks(hand: Hand) -> None:
    """A box has a margin of 24 pixels around its blocks, and a title strip on top."""
    held = place(hand, "inner").united(place(hand, "loop"))
    assert margins(box(hand, "loop"), held) == (24, 40, 24, 24)


def test_a_box_follows_its_blocks(hand: Hand, patch: Patch, qtbot: QtBot) -> None:
    """A box fits its blocks again at the next turn of the event loop, however a block was moved."""
    before = box(hand, "loop")
    patch.move("inner", (-160, -240))
    layout = hand.scene.regions.views["loop"].layout
    qtbot.waitUntil(lambda: hand.scene.regions.views["loop"].layout != layout)
    assert box(hand, "loop").top() == before.top() - 200
    patch.undo()
    assert box(hand, "loop") == before


def test_a_nested_box_lies_inside_the_other(hand: Hand, patch: Patch) -> None:
    """A box encloses the boxes of nested regions and follows them."""
    patch.add("control.if", node_id="choice", position=(40, -40), region=patch["loop"])
    patch.add("test_canvas.count", node_id="deep", position=(40, 80), region=patch["choice"])
    assert min(margins(box(hand, "loop"), box(hand, "choice"))) >= MARGIN
    patch.move("deep", (800, 600))
    assert box(hand, "choice").contains(place(hand, "deep"))
    assert min(margins(box(hand, "loop"), box(hand, "choice"))) >= MARGIN
    views = hand.scene.regions.views
    assert views["loop"].zValue() < views["choice"].zValue() < -1


def test_a_loaded_patch_shows_its_boxes(canvas: Canvas, hand: Hand, patch: Patch) -> None:
    """A loaded patch shows its boxes, even if the file lists a member before its region block."""
    before = box(hand, "loop")
    nodes = dict(patch.nodes)
    again = Patch(patch.catalogue)
    again.restore([NodeAdded(nodes[node]) for node in sorted(nodes)])
    canvas.set_patch(again)
    assert box(hand, "loop") == before


def test_an_empty_region_keeps_a_place_for_blocks(hand: Hand, patch: Patch) -> None:
    """An empty region shows a slot beside its region block, which disappears once the region has blocks."""
    patch.add("control.while", node_id="empty", position=(-160, 300))
    layout = hand.scene.regions.layouts()["empty"]
    (slot,) = layout.slots
    assert slot.is_empty
    assert (slot.rect.width(), slot.rect.height()) >= EMPTY
    assert not slot.rect.intersects(place(hand, "empty"))
    hand.drag(hand.title("free"), slot.rect.center())
    assert patch.nodes["free"].region == "empty"
    assert not hand.scene.regions.layouts()["empty"].slots[0].is_empty


def test_a_choice_has_a_place_for_each_branch(hand: Hand, patch: Patch) -> None:
    """A conditional region has a slot for each branch, and a dropped block joins the branch of its slot."""
    patch.add("control.if_else", node_id="choice", position=(-160, 300))
    for node, branch, scope in (("free", 1, "choice.else"), ("source", 0, "choice")):
        hand.drag(hand.title(node), hand.scene.regions.layouts()["choice"].slots[branch].rect.center())
        assert patch.nodes[node].region == scope
    then, other = hand.scene.regions.layouts()["choice"].slots
    assert then.rect.contains(place(hand, "source"))
    assert other.rect.contains(place(hand, "free"))
    assert box(hand, "choice").contains(then.rect.united(other.rect))


def test_a_switch_has_a_place_for_each_branch(hand: Hand, patch: Patch) -> None:
    """A Switch has a slot for each branch, also for one that is added while it is shown."""
    switch = patch.add("control.switch", node_id="choice", branches=2, position=(-160, 300))
    assert [slot.branch for slot in hand.scene.regions.layouts()["choice"].slots] == ["", "1"]
    patch.set(switch, branches=3)
    slots = hand.scene.regions.layouts()["choice"].slots
    assert [slot.branch for slot in slots] == ["", "1", "2"]
    hand.drag(hand.title("free"), slots[2].rect.center())
    assert patch.nodes["free"].region == "choice.2"
    assert patch.undo() == "Move 1 node into Switch Region, branch 2"
    patch.redo()
    assert hand.scene.regions.layouts()["choice"].slots[2].rect.contains(place(hand, "free"))


def test_a_region_of_an_unknown_type_shows_what_it_holds(canvas: Canvas, hand: Hand, patch: Patch) -> None:
    """A region block of an unknown type shows a box around its blocks; without blocks, it has no box."""
    changes = patch.as_changes()
    node = patch.nodes["loop"]
    changes = [c if not (isinstance(c, NodeAdded) and c.node is node) else NodeAdded(_retyped(node)) for c in changes]
    again = Patch(patch.catalogue)
    again.restore(changes)
    canvas.set_patch(again)
    assert box(hand, "loop").contains(place(hand, "inner"))
    again.move_into("inner", "")
    assert box(hand, "loop").isEmpty()


def _retyped(node: Node) -> Node:
    return msgspec.structs.replace(node, type="of_somebody_else.region")


@given(
    st.lists(st.tuples(*[st.integers(-500, 500)] * 2, *[st.integers(1, 300)] * 2), min_size=1, max_size=3),
    st.lists(st.booleans(), min_size=2, max_size=2),
)
def test_boxes_hold_all_and_empty_places_cover_nothing(
    rects: list[tuple[int, int, int, int]], filled: list[bool]
) -> None:
    """For all positions, a box contains its blocks and slots, and no empty slot covers a block."""
    block, *contents = [QRectF(*rect) for rect in rects]
    held = [QRectF(contents.pop()) if is_filled and contents else QRectF() for is_filled in filled]
    for branches in ({"": held[0]}, {"": held[0], "else": held[1]}):
        layout = region_layout(block, branches)
        assert [slot.branch for slot in layout.slots] == list(branches)
        assert layout.box.contains(block)
        for slot, content in zip(layout.slots, branches.values(), strict=True):
            assert layout.box.contains(slot.rect)
            assert slot.rect.contains(content) or content.isEmpty()
            if slot.is_empty:
                assert not any(slot.rect.intersects(rect) for rect in (block, *branches.values()) if not rect.isEmpty())
        _check_slots(layout)


def _check_slots(layout: RegionLayout) -> None:
    """Check that a drop in the middle of a slot joins the slot's branch, unless blocks of another branch are there."""
    for slot in layout.slots:
        others = [other for other in layout.slots if other is not slot]
        if not any(other.rect.contains(slot.rect.center()) for other in others):
            assert layout.slot_at(slot.rect.center()) is slot


# Dragging in and out


def test_a_drop_in_a_box_moves_the_block_into_the_region(hand: Hand, patch: Patch) -> None:
    """A drop in a box changes position and region in one step, which can be undone and redone."""
    hand.drag(hand.title("free"), QPointF(-60, 40))
    assert patch.nodes["free"].region == "loop"
    assert box(hand, "loop").contains(place(hand, "free"))
    after = patch.nodes["free"]
    assert patch.undo() == "Move 1 node into For"
    assert (patch.nodes["free"].region, patch.nodes["free"].position) == ("", (200, 0))
    assert shown(hand.scene) == documented(patch)
    patch.redo()
    assert patch.nodes["free"] == after


def test_dragging_out_takes_the_block_out(hand: Hand, patch: Patch) -> None:
    """Dragging a block out of its box removes it from the region, and the box no longer encloses it."""
    hand.drag(hand.title("inner"), QPointF(250, 200))
    assert patch.nodes["inner"].region == ""
    assert not box(hand, "loop").intersects(place(hand, "inner"))
    assert patch.undo() == "Move 1 node out of the region"
    assert patch.nodes["inner"].region == "loop"
    assert box(hand, "loop").contains(place(hand, "inner"))


def test_a_block_at_the_edge_of_its_box_widens_it(hand: Hand, patch: Patch) -> None:
    """A block that still overlaps its box stays in the region, and the box grows."""
    before = box(hand, "loop")
    hand.drag(hand.title("inner"), QPointF(before.right() + 20, 0))
    assert patch.nodes["inner"].region == "loop"
    assert box(hand, "loop").right() > before.right()
    assert patch.undo() == "Move 1 node"


def test_a_drop_means_the_innermost_box(hand: Hand, patch: Patch) -> None:
    """A drop joins the innermost box at the pointer; a drag into the outer box leaves only the inner region."""
    patch.add("control.if", node_id="choice", position=(-160, 160), region=patch["loop"])
    hand.drag(hand.title("free"), hand.scene.regions.layouts()["choice"].slots[0].rect.center())
    assert patch.nodes["free"].region == "choice"
    patch.move("inner", (-160, -200))
    hand.drag(hand.title("free"), QPointF(-60, -100))
    assert patch.nodes["free"].region == "loop"


def test_all_selected_blocks_go_where_the_dragged_one_goes(canvas: Canvas, hand: Hand, patch: Patch) -> None:
    """All selected blocks join the dragged one's region, and a region block keeps its own blocks."""
    patch.add("control.while", node_id="other", position=(200, 160))
    patch.add("test_canvas.count", node_id="kept", position=(400, 160), region=patch["other"])
    canvas.select(["free", "other"])
    hand.drag(hand.title("free"), QPointF(-80, 10))
    assert {node.id: node.region for node in patch.nodes.values()} == {
        "source": "",
        "loop": "",
        "inner": "loop",
        "free": "loop",
        "other": "loop",
        "kept": "other",
    }
    assert box(hand, "loop").contains(box(hand, "other"))


def test_blocks_that_move_within_their_regions_stay_in_them(canvas: Canvas, hand: Hand, patch: Patch) -> None:
    """Moving the whole selection a little moves no block into a region, even if the pointer is over a box."""
    canvas.select(["inner", "source"])
    hand.drag(hand.title("inner"), hand.title("inner") + QPointF(16, 8))
    assert patch.nodes["source"].region == ""
    assert patch.nodes["inner"].region == "loop"
    assert patch.nodes["source"].position == (-384, 8)


def test_the_box_under_a_dragged_block_lights_up(hand: Hand) -> None:
    """The box under a dragged block is highlighted until the drag ends."""
    view = hand.scene.regions.views["loop"]
    hand.drag(hand.title("free"), QPointF(-60, 40), release=False)
    assert view.appearance == RegionAppearance(target="")
    hand.press(Qt.Key.Key_Escape)
    assert view.appearance == RegionAppearance(selected=False)


def test_escape_ends_a_drag_of_nodes(hand: Hand, patch: Patch) -> None:
    """Escape during a drag of nodes restores all positions and makes no edit."""
    heard: list[Change] = []
    patch.subscribe(heard.append)
    before = box(hand, "loop")
    hand.drag(hand.title("inner"), QPointF(250, 200), release=False)
    assert not box(hand, "loop").intersects(place(hand, "inner"))
    hand.press(Qt.Key.Key_Escape)
    assert heard == []
    assert shown(hand.scene) == documented(patch)
    assert box(hand, "loop") == before
    hand.drag(hand.title("free"), hand.title("free") + QPointF(80, 160))
    assert [change.node for change in heard if isinstance(change, NodeMoved)] == ["free"]
    assert patch.nodes["free"].position == (280, 160)


def test_a_refused_drop_says_why_and_puts_the_block_back(canvas: Canvas, hand: Hand, patch: Patch) -> None:
    """The reason for a refused drop is shown during the drag, its box is marked, and the block returns."""
    patch.add("test_canvas.scale", node_id="last", position=(200, 200), region=patch["loop"])
    patch.connect(patch["inner"]["out"], patch["free"]["x"])
    patch.move_into("last", "")
    patch.connect(patch["free"]["out"], patch["last"]["x"])
    reasons: list[str] = []
    canvas.refused.connect(reasons.append)
    hand.drag(hand.title("last"), QPointF(-60, 40), release=False)
    notice = canvas.findChild(CanvasNotice)
    assert notice is not None
    assert notice.isVisible()
    assert "must not close a cycle" in notice.text()
    assert hand.scene.regions.views["loop"].appearance.refused
    hand.press(Qt.Key.Key_Escape)
    heard = len(patch.nodes), patch.history.undo_name
    hand.drag(hand.title("last"), QPointF(-60, 40))
    assert len(reasons) == 1
    assert "must not close a cycle" in reasons[0]
    assert (len(patch.nodes), patch.history.undo_name) == heard
    assert patch.nodes["last"].position == (200, 200)
    assert shown(hand.scene) == documented(patch)


# The region as a whole


def test_the_title_strip_selects_and_carries_the_region(canvas: Canvas, hand: Hand, patch: Patch) -> None:
    """A click on the title strip selects the region block, and a drag moves it with its blocks in one step."""
    hand.click(strip(hand, "loop"))
    assert canvas.selected() == ["loop"]
    assert hand.scene.regions.views["loop"].appearance.selected
    before = box(hand, "loop")
    hand.drag(strip(hand, "loop"), strip(hand, "loop") + QPointF(48, 96))
    assert box(hand, "loop") == before.translated(48, 96)
    assert patch.nodes["inner"].position == (-112, 56)
    assert patch.nodes["inner"].region == "loop"
    assert patch.undo() == "Move 2 nodes"
    assert box(hand, "loop") == before


def test_the_region_block_carries_what_it_holds(hand: Hand, patch: Patch) -> None:
    """A region block carries nested regions and their blocks along, also into another region."""
    patch.add("control.if", node_id="choice", position=(40, -40), region=patch["loop"])
    patch.add("test_canvas.count", node_id="deep", position=(40, 80), region=patch["choice"])
    patch.add("control.while", node_id="around", position=(-400, 240))
    target = hand.scene.regions.layouts()["around"].slots[0].rect.center()
    offset = place(hand, "deep").topLeft() - place(hand, "loop").topLeft()
    hand.drag(hand.title("loop"), target)
    assert place(hand, "deep").topLeft() - place(hand, "loop").topLeft() == offset
    assert [patch.nodes[n].region for n in ("loop", "choice", "deep")] == ["around", "loop", "choice"]
    assert box(hand, "around").contains(box(hand, "loop"))
    assert shown(hand.scene) == documented(patch)


def test_a_press_inside_a_box_selects_by_rubber_band(canvas: Canvas, hand: Hand) -> None:
    """A press inside a box starts a rubber band, as on the canvas."""
    rect = box(hand, "loop")
    hand.drag(rect.bottomRight() - QPointF(4, 4), rect.topLeft() + QPointF(4, STRIP + 4))
    assert canvas.selected() == ["loop", "inner"]


def test_the_menu_and_the_tooltip_of_the_strip_are_the_region_blocks(canvas: Canvas, hand: Hand) -> None:
    """A right click on the title strip selects the region block and requests its menu."""
    kinds: list[str] = []
    canvas.menu_requested.connect(lambda kind, _: kinds.append(kind))
    point = strip(hand, "loop")
    hand.drag(point, point, button=Qt.MouseButton.RightButton)
    assert kinds == ["node"]
    assert canvas.selected() == ["loop"]


def test_deleting_a_region_block_keeps_its_blocks(canvas: Canvas, hand: Hand, patch: Patch) -> None:
    """Deleting a region block removes its box and keeps its blocks, and undo restores the box."""
    before = box(hand, "loop")
    canvas.select(["loop"])
    canvas.edits.delete()
    assert patch.nodes["inner"].region == ""
    assert box(hand, "loop").isEmpty()
    patch.undo()
    assert patch.nodes["inner"].region == "loop"
    assert box(hand, "loop") == before


def test_a_title_of_its_own_is_shown_on_the_box(hand: Hand, patch: Patch) -> None:
    """A box shows the region block's own title and the kind of region."""
    patch.rename("loop", "Sub-steps")
    model = hand.scene.regions.views["loop"].model
    assert (model.title, model.kind_title) == ("Sub-steps", "For")


def test_fit_shows_whole_boxes(canvas: Canvas, hand: Hand, patch: Patch) -> None:
    """Fit shows whole boxes, including their title strips."""
    patch.move("inner", (-3000, -2000))
    canvas.fit()
    visible = hand.view.mapToScene(hand.view.viewport().rect()).boundingRect()
    assert visible.contains(box(hand, "loop"))


# Looks


@BOTH
@pytest.mark.parametrize("kind", [*KINDS, "of_somebody_else.region"])
def test_titles_are_legible_on_boxes_in_boxes(theme: Colours, kind: str) -> None:
    """On boxes nested four deep, body text has a contrast of 4.5:1 on title strips, and dim text 3:1 inside."""
    colours = region_colours(kind, theme)
    ground = theme.canvas
    for _ in range(4):
        assert contrast(colours.line, theme.canvas) >= 2
        ground = mix(ground, colours.fill, colours.fill_opacity)
        on_strip = mix(ground, colours.fill, colours.strip_opacity)
        assert contrast(theme.text, on_strip) >= 4.5
        assert contrast(theme.text_dim, ground) >= 3


def test_kinds_of_regions_differ_in_colour() -> None:
    """The kinds of regions have different colours in both themes."""
    for theme in (DARK, LIGHT):
        assert len({region_colours(kind, theme).line for kind in KINDS}) == len(KINDS)


def test_boxes_are_painted_at_every_zoom(canvas: Canvas, hand: Hand, patch: Patch) -> None:
    """A box is visible in its own colour at every zoom from 5 % to 250 %."""
    patch.add("control.if_else", node_id="choice", position=(-160, 300))
    for zoom in (0.05, 0.2, 0.5, 1.0, 2.5):
        canvas.view.set_zoom(zoom)
        for region in ("loop", "choice"):
            point = box(hand, region).bottomLeft() + QPointF(12, -12)
            hand.view.centerOn(point)
            QApplication.processEvents()
            picture = canvas.grab().toImage()
            seen = picture.pixelColor(hand.view.mapFromScene(point))
            assert seen != picture.pixelColor(hand.view.mapFromScene(point - QPointF(200 / zoom, 0)))
            assert seen.saturation() > 10


# Scale


def test_boxes_follow_in_a_large_patch(canvas: Canvas, hand: Hand) -> None:
    """With 1000 blocks in 50 regions, the boxes follow a move of a region's blocks within 0.1 s."""
    patch = Patch(Catalogue())
    with patch.edit("Build"):
        for region in range(50):
            around = patch[f"r{region - 1}"] if region % 5 else ""
            loop = patch.add("control.for", node_id=f"r{region}", position=(0, region * 160), region=around)
            for index in range(19):
                patch.add("test_canvas.scale", position=(240 + index * 200, region * 160), region=loop)
    start = time.thread_time()
    canvas.set_patch(patch)
    canvas.fit()
    canvas.grab()
    assert time.thread_time() - start < 10
    start = time.thread_time()
    for step in range(60):
        with patch.edit("Move"):
            for node in patch.members("r12"):
                patch.move(node, (step * 8, 80))
        hand.scene.regions.settle()
    assert time.thread_time() - start < 60 * 0.1
    assert min(margins(box(hand, "r11"), box(hand, "r12"))) >= INNER_MARGIN
