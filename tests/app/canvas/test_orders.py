"""A person gives blocks an order without a connection, and sees it as an arrow."""

import pytest

from tests.app.canvas.canvas_support import Hand, place
from warploom.app.canvas.canvas import Canvas
from warploom.engine.patch.document import Patch
from warploom.engine.patch.files import dump_patch


@pytest.fixture
def loose(canvas: Canvas, patch: Patch) -> Patch:
    """Three blocks without connections, whose names don't follow their places."""
    for node in list(patch.nodes):
        patch.remove(node)
    for name, x in (("a", 400), ("b", 0), ("c", 800)):
        patch.add("math.scale_offset", node_id=name, position=(x, 100))
    canvas.fit()
    return patch


def test_selected_blocks_run_from_left_to_right(hand: Hand, loose: Patch) -> None:
    """The command orders the selected blocks by their places in one undo step; arrows lead from block to block."""
    before = dump_patch(loose)
    hand.canvas.select(["a", "b", "c"])
    hand.canvas.edits.run_in_order()
    assert loose.orders == [("a", "c"), ("b", "a")]
    arrows = sorted(hand.scene.orders.lines(), key=lambda line: line.x1())
    for arrow, (first, then) in zip(arrows, ("ba", "ac"), strict=True):
        assert (arrow.x1(), arrow.x2()) == (place(hand, first).right(), place(hand, then).left())
    assert loose.undo() == "Run 3 blocks in order"
    assert dump_patch(loose) == before and not list(hand.scene.orders.lines())


def test_arrows_follow_blocks_and_go_with_them(hand: Hand, loose: Patch) -> None:
    """An arrow follows a moved block, goes with a removed one, and is not shown across a group's border."""
    loose.order("b", "c")
    loose.move("c", (0, 600))
    (arrow,) = hand.scene.orders.lines()
    assert (arrow.y1(), arrow.y2()) == (place(hand, "b").bottom(), place(hand, "c").top())
    loose.group(["c"])
    assert not list(hand.scene.orders.lines())
    loose.undo()
    loose.remove("b")
    assert not list(hand.scene.orders.lines())
    loose.undo()
    assert len(list(hand.scene.orders.lines())) == 1


def test_orders_are_removed_by_a_command(hand: Hand, loose: Patch) -> None:
    """Orders of selected blocks are removed together; a cycle is refused with its way."""
    reasons: list[str] = []
    hand.canvas.refused.connect(reasons.append)
    loose.order("c", "b")
    hand.canvas.select(["a", "b", "c"])
    hand.canvas.edits.run_in_order()
    assert loose.orders == [("c", "b")] and "must not close a cycle, got a -> c -> b -> a" in reasons[0]
    hand.canvas.select(["a"])
    assert not hand.canvas.edits.has_orders()
    hand.canvas.select(["b"])
    assert hand.canvas.edits.has_orders()
    hand.canvas.edits.remove_orders()
    assert loose.orders == [] and loose.undo() == "Remove orders of 1 block"
