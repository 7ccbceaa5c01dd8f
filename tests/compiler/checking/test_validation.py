"""All mistakes in connections, inputs and cycles are reported at once."""

import itertools
import sys
from graphlib import CycleError, TopologicalSorter

from hypothesis import given
from hypothesis import strategies as st

from tests.compiler.support.descriptions import array, graph, i, node, o
from warploom.engine.compiler.checking.check import check_description
from warploom.engine.compiler.description import GraphDescription
from warploom.engine.descriptions.entries import BufferArgument, CopyEntry, Display, FillEntry
from warploom.engine.diagnostics import Diagnostic
from warploom.engine.types import any_type, s32


def validate(patch: GraphDescription) -> list[Diagnostic]:
    return list(check_description(patch).errors)


def test_a_right_patch_has_no_problems() -> None:
    """A patch whose required inputs are connected has no problems, nor has an empty one."""
    patch = graph(array("a", 4), node("b", i(), i("y", optional=True), o()), wires=["a.out b.x"])
    assert validate(patch) == []
    assert validate(graph()) == []


def test_all_problems_are_found_in_one_go() -> None:
    """Wrong types, open inputs, unknown ports and cycles are reported together, each with a remedy."""
    patch = graph(
        array("a", 4),
        node("ints", o("out", s32, shape="[4]")),
        node("typed", i()),
        node("open", i(), i("y")),
        node("p", i(), o()),
        node("q", i(), o()),
        wires=["ints.out typed.x", "a.result open.x", "p.out q.x", "q.out p.x"],
    )
    assert [(d.node, d.port, d.message, d.remedy) for d in validate(patch)] == [
        (
            "typed",
            "x",
            "elements must be f32, got s32 from ints.out",
            "connect an output of that type, or convert in between",
        ),
        (
            "open",
            "x",
            "connection a.result -> open.x must use an output port that the block has, got a.result",
            "delete the connection, or connect it to a port that exists",
        ),
        ("open", "y", "required input 'y' must be connected, got nothing", "connect an output of f32"),
        ("q", "x", "blocks must not depend on themselves, got p -> q -> p", "delete one of these connections"),
    ]


def test_an_output_is_no_target_and_an_input_no_source() -> None:
    """A connection to an output, or from an input, is refused with the port's name."""
    patch = graph(array("a", 4), array("b", 4), node("c", i(), o()), wires=["a.out b.out", "c.x c.x"])
    messages = [d.message for d in validate(patch)]
    assert messages[0] == "connection a.out -> b.out must use an input port that the block has, got b.out"
    assert messages[1] == "connection c.x -> c.x must use an output port that the block has, got c.x"


def test_two_separate_cycles_are_two_problems() -> None:
    """Two separate cycles are reported once each, however many connections close them."""
    nodes = [node(name, i(), i("y", optional=True), o()) for name in "abcd"]
    patch = graph(*nodes, wires=["a.out b.x", "b.out a.x", "b.out a.y", "c.out d.x", "d.out c.x"])
    ways = [d.message.partition("got ")[2] for d in validate(patch)]
    assert ways == ["a -> b -> a", "c -> d -> c"]


@given(st.sets(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=12))
def test_a_patch_is_circular_exactly_when_it_has_no_order(pairs: set[tuple[int, int]]) -> None:
    """A cycle is reported exactly if TopologicalSorter finds no order, and every reported cycle exists."""
    nodes = [node(f"n{k}", *(i(f"x{j}", optional=True) for j in range(7)), o(shape="[4]")) for k in range(7)]
    patch = graph(*nodes, wires=[f"n{a}.out n{b}.x{a}" for a, b in pairs])
    problems = validate(patch)
    try:
        TopologicalSorter({k: [a for a, b in pairs if b == k] for k in range(7)}).prepare()
    except CycleError:
        assert problems
    else:
        assert problems == []
    for problem in problems:
        way = [int(name[1:]) for name in problem.message.partition("got ")[2].split(" -> ")]
        assert way[0] == way[-1]
        assert set(itertools.pairwise(way)) <= pairs


def test_a_long_chain_is_checked_in_linear_time() -> None:
    """Ten times as many blocks take at most eleven times as many calls."""

    def calls(count: int) -> int:
        nodes = [array("n0", 4), *(node(f"n{k}", i(), o()) for k in range(1, count))]
        patch = graph(*nodes, wires=[f"n{k}.out n{k + 1}.x" for k in range(count - 1)])
        events: list[str] = []
        sys.setprofile(lambda frame, event, argument: events.append(event))
        try:
            problems = validate(patch)
        finally:
            sys.setprofile(None)
        assert problems == []
        return len(events)

    assert calls(2000) < 11 * calls(200)


def test_any_type_takes_every_element_type() -> None:
    """Before shapes are known, an input of any type may have any source."""
    assert validate(graph(array("a", 4), node("b", i("x", any_type)), wires=["a.out b.x"])) == []


def test_an_optional_input_must_be_there_to_be_copied_filled_or_shown() -> None:
    """An optional input that is filled, copied or shown must be connected."""
    optional = i(optional=True)
    read, write = BufferArgument("x", True, False), BufferArgument("x", False, True)
    cases = [
        node("n", optional, o(shape="[4]"), entries=[CopyEntry(BufferArgument("out", False, True), read)]),
        node("n", optional, entries=[FillEntry(write, 0)]),
        node("n", optional, entries=[], displays=[Display("x")]),
    ]
    for case in cases:
        (problem,) = validate(graph(case))
        assert (problem.node, problem.port) == ("n", "x")
        assert problem.message == "optional input 'x' must be connected to be filled, copied or shown, got nothing"
        assert validate(graph(array("a", 4), case, wires=["a.out n.x"])) == []
