"""Blocks come after their sources, and a block that changes its input in place after all other readers of the input."""

from collections.abc import Callable

import pytest

from tests.compiler.support import patch_blocks as blocks
from tests.compiler.support.descriptions import array, graph, i, node, o, source
from tests.compiler.support.regions import region, within
from warploom.engine.compiler.buffers import plan_buffers
from warploom.engine.compiler.checking.check import check_description
from warploom.engine.compiler.description import BlockNode, GraphDescription, Nesting
from warploom.engine.compiler.ordering import Order, order_blocks
from warploom.engine.descriptions.entries import RegionKind, SliceView
from warploom.engine.diagnostics import Diagnostic
from warploom.engine.types import u32

IN_PLACE = (i(), o(inplace="x"))


def ordered(patch: GraphDescription) -> tuple[Order, list[Diagnostic]]:
    """Return the blocks of each scope in their order, and the problems that allow no order."""
    checked = check_description(patch)
    assert not checked.errors
    return order_blocks(checked, plan_buffers(checked), Nesting(patch))


def test_order_follows_connections_and_names() -> None:
    """A block is one level below its lowest source, and names decide the order in a level."""
    patch = graph(
        node("d", i(), i("y"), o()),
        node("c", i(), o()),
        source("b", 4),
        source("a", 4),
        wires=["a.out c.x", "c.out d.x", "b.out d.y"],
    )
    assert ordered(patch) == ({"": ("a", "b", "c", "d")}, [])
    assert ordered(graph()) == ({}, [])


def test_a_writer_in_place_comes_after_all_readers() -> None:
    """A block that changes a buffer in place comes after the buffer's other readers."""
    patch = graph(
        source("s", 4),
        node("change", *IN_PLACE),
        node("read", i(), o()),
        node("after", i(), o()),
        wires=["s.out change.x", "s.out read.x", "change.out after.x"],
    )
    assert ordered(patch) == ({"": ("s", "read", "change", "after")}, [])


def test_two_writers_in_place_are_refused() -> None:
    """Two blocks that change one buffer in place are refused, with a Copy as the remedy."""
    patch = graph(source("s", 4), node("one", *IN_PLACE), node("two", *IN_PLACE), wires=["s.out one.x", "s.out two.x"])
    order, (problem,) = ordered(patch)
    assert order == {}
    assert (problem.node, problem.port) == ("two", "x")
    assert problem.message == "only one block may change s.out in place, got one and two"
    assert problem.remedy == "put a Copy block in front of one of them, or let them run in order"


def test_a_reader_that_needs_the_writers_result_is_refused() -> None:
    """A block that reads a buffer and also the result of its writer in place is refused, with a Copy as the remedy."""
    patch = graph(
        source("s", 4),
        node("change", *IN_PLACE),
        node("both", i(), i("y"), o()),
        wires=["s.out change.x", "s.out both.x", "change.out both.y"],
    )
    _, (problem,) = ordered(patch)
    assert (problem.node, problem.port) == ("both", "x")
    assert problem.message == (
        "both must read s.out before change changes it in place, got a connection from change to both"
    )
    assert problem.remedy == "put a Copy block between s.out and both"


def test_a_cycle_of_in_place_blocks_is_refused() -> None:
    """Two writers in place that each read what the other changes are refused as a cycle."""
    patch = graph(
        source("s", 4),
        source("t", 4),
        node("one", i(), i("y"), o(inplace="x")),
        node("two", i(), i("y"), o(inplace="x")),
        wires=["s.out one.x", "t.out one.y", "t.out two.x", "s.out two.y"],
    )
    order, (problem,) = ordered(patch)
    assert order == {}
    assert problem.message == "blocks that change buffers in place must have an order, got a cycle"
    assert "Copy" in problem.remedy


def test_contents_that_a_block_provides_cannot_be_changed_in_place() -> None:
    """Changing provided contents in place is refused, with a Copy as the remedy."""
    patch = graph(array("a", 4), node("change", *IN_PLACE), wires=["a.out change.x"])
    _, (problem,) = ordered(patch)
    assert (problem.node, problem.port) == ("change", "x")
    assert problem.message == "contents of a.out must stay as they are, got change, which changes them in place"
    assert problem.remedy == "put a Copy block between a.out and change"


def test_a_chain_of_writers_has_an_order() -> None:
    """Several writers in place can follow each other, and a reader of one result comes before the next writer."""
    patch = graph(
        source("s", 4),
        node("one", *IN_PLACE),
        node("two", *IN_PLACE),
        node("middle", i(), o()),
        wires=["s.out one.x", "one.out two.x", "one.out middle.x"],
    )
    assert ordered(patch) == ({"": ("s", "one", "middle", "two")}, [])


# Views

_MADE = {"s": blocks.fresh(4, 8, 1), "change": blocks.scale(), "read": blocks.copy()}


def _rows(name: str, start: int, stop: int) -> BlockNode:
    return BlockNode(name, blocks.view(SliceView(0, start, stop)))


def test_blocks_on_parts_without_a_common_byte_need_no_order() -> None:
    """Two blocks may change two halves of a buffer in place; a third block that changes all of it is refused."""
    halves = [_rows("low", 0, 2), _rows("high", 2, 4), BlockNode("a", blocks.scale()), BlockNode("b", blocks.scale())]
    wires = ["s.out low.x", "s.out high.x", "low.out a.x", "high.out b.x"]
    patch = graph(BlockNode("s", _MADE["s"]), *halves, wires=wires)
    assert ordered(patch) == ({"": ("s", "high", "low", "a", "b")}, [])
    both = graph(BlockNode("s", _MADE["s"]), *halves, BlockNode("c", blocks.scale()), wires=[*wires, "s.out c.x"])
    _, problems = ordered(both)
    assert [d.message for d in problems] == [
        "only one block may change s.out in place, got a and c",
        "only one block may change s.out in place, got b and c",
    ]


def test_a_reader_through_a_view_comes_before_the_writer_in_place() -> None:
    """A reader through a chain of views comes before the block that changes the memory in place."""
    patch = graph(
        BlockNode("s", _MADE["s"]),
        _rows("u", 0, 3),
        _rows("v", 1, 2),
        BlockNode("z", blocks.copy()),
        BlockNode("change", blocks.scale()),
        wires=["s.out u.x", "u.out v.x", "v.out z.x", "s.out change.x"],
    )
    order, problems = ordered(patch)
    assert problems == []
    assert order[""].index("z") < order[""].index("change")


# Regions


def flag(name: str = "flag") -> BlockNode:
    """Return a block that outputs one word."""
    return node(name, o("out", u32, shape="[1]"))


CHOICE = (flag(), region("choice", RegionKind.IF_ELSE), source("s", 4))
TO_CHOICE = "flag.out choice.condition"


def test_a_connection_over_a_regions_border_orders_the_region() -> None:
    """A region comes after the sources of its blocks, and its blocks have their own order."""
    patch = graph(
        *CHOICE,
        within("choice", node("a", i(), o())),
        within("choice", node("b", i(), o())),
        within("choice.else", node("c", i(), o())),
        node("end", i(), o()),
        wires=[TO_CHOICE, "s.out b.x", "b.out a.x", "s.out c.x", "a.out end.x"],
    )
    order, problems = ordered(patch)
    assert problems == []
    assert order == {"": ("flag", "s", "choice", "end"), "choice": ("b", "a"), "choice.else": ("c",)}


def test_a_region_that_changes_a_buffer_comes_after_its_other_readers() -> None:
    """A region that changes a buffer comes after a reader of the buffer outside."""
    patch = graph(
        *CHOICE,
        within("choice", node("change", *IN_PLACE)),
        node("z", i(), o()),
        wires=[TO_CHOICE, "s.out change.x", "s.out z.x"],
    )
    order, problems = ordered(patch)
    assert problems == []
    assert order[""].index("z") < order[""].index("choice")


def test_a_connection_between_branches_is_refused() -> None:
    """A connection from one branch to the other is refused, with a Select as the remedy."""
    patch = graph(
        *CHOICE,
        within("choice", node("a", i(), o())),
        within("choice.else", node("b", i(), o())),
        wires=[TO_CHOICE, "s.out a.x", "a.out b.x"],
    )
    _, (problem,) = ordered(patch)
    assert (problem.node, problem.port) == ("b", "x")
    assert problem.message == "b.x must be fed from its own branch or from outside choice, got a.out"
    assert "Select" in problem.remedy


@pytest.mark.parametrize("name", [str, lambda text: {"read": "z", "change": "a"}[text]], ids=["as it is", "reversed"])
def test_branches_may_change_the_same_buffer_and_are_one_writer_to_those_outside(name: Callable[[str], str]) -> None:
    """Two branches may change one buffer; a block behind them changes it after the readers of either result."""
    read, change = name("read"), name("change")
    patch = graph(
        *CHOICE,
        within("choice", node("one", *IN_PLACE)),
        within("choice.else", node("two", *IN_PLACE)),
        within("choice.else", node("three", *IN_PLACE)),
        node(change, *IN_PLACE),
        node(read, i(), o()),
        wires=[
            TO_CHOICE,
            "s.out one.x",
            "s.out two.x",
            "two.out three.x",
            f"one.out {change}.x",
            f"three.out {read}.x",
        ],
    )
    order, problems = ordered(patch)
    assert problems == []
    assert order[""].index(read) < order[""].index(change)


def test_two_blocks_after_a_region_must_not_change_what_either_branch_left() -> None:
    """Two blocks that change the results of two branches are refused, since both results are one buffer."""
    patch = graph(
        *CHOICE,
        within("choice", node("one", *IN_PLACE)),
        within("choice.else", node("two", *IN_PLACE)),
        node("a", *IN_PLACE),
        node("b", *IN_PLACE),
        wires=[TO_CHOICE, "s.out one.x", "s.out two.x", "one.out a.x", "two.out b.x"],
    )
    _, (problem,) = ordered(patch)
    assert problem.message == "only one block may change one.out in place, got a and b"


def test_a_loops_counter_stays_as_it_is_inside() -> None:
    """A loop's counter can be changed in place behind the loop, not inside it."""
    loop = region("loop", RegionKind.WHILE)
    change = node("change", i("x", u32), o("out", u32, inplace="x"))
    wires = ["flag.out loop.condition", "loop.index change.x"]
    _, (problem,) = ordered(graph(flag(), loop, within("loop", change), wires=wires))
    assert (problem.node, problem.port) == ("change", "x")
    assert problem.message.startswith(
        "loop.index must stay as it is inside loop, which counts its turns with it, got change"
    )
    assert ordered(graph(flag(), loop, change, wires=wires)) == ({"": ("flag", "loop", "change")}, [])


# Delays


def test_a_delay_keeps_what_nobody_changes_afterwards() -> None:
    """A buffer that a delay keeps until the next frame must not be changed in place."""
    patch = graph(
        BlockNode("s", blocks.fresh(1, 4, 0)),
        BlockNode("d", blocks.delay(0)),
        BlockNode("change", blocks.scale()),
        wires=["s.out d.like", "s.out d.x", "s.out change.x"],
    )
    _, (problem,) = ordered(patch)
    assert (problem.node, problem.port) == ("change", "x")
    assert problem.message.startswith("s.out must stay as it is, since d.x keeps it until the next frame, got change")


def test_a_connection_into_a_delay_orders_nothing() -> None:
    """A connection into a delay does not order its source before the delay."""
    patch = graph(
        BlockNode("s", blocks.fresh(1, 4, 0)),
        BlockNode("d", blocks.delay(0)),
        BlockNode("next", blocks.blend()),
        wires=["s.out d.like", "next.out d.x", "d.out next.x", "s.out next.y"],
    )
    assert ordered(patch) == ({"": ("s", "d", "next")}, [])
