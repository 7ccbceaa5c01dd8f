"""Blocks come in levels; a block that changes its input in place comes after everything else that reads it."""

from __future__ import annotations

from engine.compiler.ordering import topological_levels
from tests.compiler.compiler_support import array, graph, i, node, o, source

IN_PLACE = (i(), o(inplace="x"))


def test_levels_follow_connections_and_names() -> None:
    """A block is one level below the last of its sources; within a level names decide."""
    patch = graph(
        node("d", i(), i("y"), o()),
        node("c", i(), o()),
        source("b", 4),
        source("a", 4),
        wires=["a.out c.x", "c.out d.x", "b.out d.y"],
    )
    assert topological_levels(patch) == ((("a", "b"), ("c",), ("d",)), [])
    assert topological_levels(graph()) == ((), [])


def test_a_writer_in_place_comes_after_all_readers() -> None:
    """The readers see the buffer as its owner made it."""
    patch = graph(
        source("s", 4),
        node("change", *IN_PLACE),
        node("read", i(), o()),
        node("after", i(), o()),
        wires=["s.out change.x", "s.out read.x", "change.out after.x"],
    )
    levels, problems = topological_levels(patch)
    assert problems == []
    assert levels == (("s",), ("read",), ("change",), ("after",))


def test_two_writers_in_place_are_refused() -> None:
    """Neither may have the buffer; a copy for one of them helps."""
    patch = graph(source("s", 4), node("one", *IN_PLACE), node("two", *IN_PLACE), wires=["s.out one.x", "s.out two.x"])
    levels, (problem,) = topological_levels(patch)
    assert levels == ()
    assert (problem.node, problem.port) == ("two", "x")
    assert problem.message == "one block must change s.out in place, got one and two"
    assert problem.remedy == "put a Copy block in front of one of them"


def test_a_reader_that_needs_the_writers_result_is_refused() -> None:
    """It would have to come before and after; a copy of the original helps."""
    patch = graph(
        source("s", 4),
        node("change", *IN_PLACE),
        node("both", i(), i("y"), o()),
        wires=["s.out change.x", "s.out both.x", "change.out both.y"],
    )
    _, (problem,) = topological_levels(patch)
    assert (problem.node, problem.port) == ("both", "x")
    assert problem.message == (
        "both must read s.out before change changes it in place, got a connection from change to both"
    )
    assert problem.remedy == "put a Copy block between s.out and both"


def test_a_circle_of_in_place_blocks_is_refused() -> None:
    """Two writers that each read what the other changes have no order, though no connection closes a cycle."""
    patch = graph(
        source("s", 4),
        source("t", 4),
        node("one", i(), i("y"), o(inplace="x")),
        node("two", i(), i("y"), o(inplace="x")),
        wires=["s.out one.x", "t.out one.y", "t.out two.x", "s.out two.y"],
    )
    levels, (problem,) = topological_levels(patch)
    assert levels == ()
    assert problem.message == "in-place blocks must have an order, got a circle"
    assert "Copy" in problem.remedy


def test_contents_that_a_block_provides_cannot_be_changed_in_place() -> None:
    """They are uploaded once: the second frame would start from what the first one left."""
    patch = graph(array("a", 4), node("change", *IN_PLACE), wires=["a.out change.x"])
    _, (problem,) = topological_levels(patch)
    assert (problem.node, problem.port) == ("change", "x")
    assert problem.message == "contents of a.out must stay as they are, got change, which changes them in place"
    assert problem.remedy == "put a Copy block between a.out and change"


def test_a_chain_of_writers_has_an_order() -> None:
    """Each one changes what the one before left; a reader in the middle sees that step."""
    patch = graph(
        source("s", 4),
        node("one", *IN_PLACE),
        node("two", *IN_PLACE),
        node("middle", i(), o()),
        wires=["s.out one.x", "one.out two.x", "one.out middle.x"],
    )
    assert topological_levels(patch) == ((("s",), ("one",), ("middle",), ("two",)), [])
