"""The check of a whole patch: all problems of all phases at once, warnings, and delayed inputs."""

from typing import Any

from tests.compiler.support.descriptions import array, graph, i, launch, node, o, ref
from tests.compiler.support.regions import flag, messages, region
from warploom.engine.compiler.checking.check import check_description
from warploom.engine.compiler.description import BlockNode
from warploom.engine.descriptions.entries import ExtentArgument
from warploom.engine.descriptions.shapes.extents import Extent
from warploom.engine.diagnostics import GraphValidationError, Severity
from warploom.engine.types import any_type, s32, u32


def delay(name: str = "delay", **more: Any) -> BlockNode:
    """Return a block that outputs `x` of the previous frame, in the shape of `like` if that is connected."""
    return node(
        name,
        i("like", any_type, optional=True),
        i("x", any_type, delayed=True, **more),
        o("out", any_type, shape="same(like, x)", dtype_rule="same(like, x)"),
        entries=(),
    )


# All problems together


def test_problems_of_all_phases_are_found_together() -> None:
    """Mistakes in connections, inputs, cycles, shapes, grids and extents are reported together, each at its place."""
    ports = (i(), o())
    patch = graph(
        array("a", 4),
        node("ints", o("out", s32, shape="[4]")),
        node("typed", *ports),
        node("open", *ports),
        node("p", *ports),
        node("q", *ports),
        node("behind", *ports),
        node("shape", i(), o(shape="[N - 4]")),
        node("grid", *ports, entries=[launch(ports, "x", "out", threads=(0,))]),
        node("extent", *ports, entries=[launch(ports, "x", more=[ExtentArgument(Extent("x.dim1"))])]),
        node("block", *ports, entries=[launch(ports, "x", block=(64, 32, 1))]),
        node("last", *ports),
        wires=[
            "ints.out typed.x",
            "p.out q.x",
            "q.out p.x",
            "q.out behind.x",
            "a.out shape.x",
            "a.out grid.x",
            "a.out extent.x",
            "a.out block.x",
            "shape.out last.x",
        ],
    )
    checked = check_description(patch)
    assert [(d.node, d.port) for d in checked.errors] == [
        ("typed", "x"),
        ("open", "x"),
        ("q", "x"),
        ("shape", "out"),
        ("grid", None),
        ("extent", None),
        ("block", None),
    ]
    assert all(d.severity is Severity.ERROR and d.remedy and ", got " in d.message for d in checked.errors)
    assert set(checked.nodes) == {"a", "ints"}
    assert checked.errors[-1].message.startswith("thread_block of k must be at most 1024 threads")


def test_expected_and_found_are_reported_in_a_few_words() -> None:
    """A diagnostic states the expected and the actual type or shape in a few words."""
    patch = graph(
        node("ints", o("out", s32, shape="[4]")), array("a", 4), node("b", i(), i("y"), o()), node("c", i(rank=2)),
        wires=["ints.out b.x", "a.out c.x"],
    )  # fmt: skip
    assert [(d.port, d.expected, d.found) for d in check_description(patch).errors] == [
        ("x", "f32", "s32"),
        ("y", "a connection", "nothing"),
        ("x", "2 dimensions", "shape [4]"),
    ]


def test_an_input_has_one_connection() -> None:
    """A second connection to an input is an error that names both sources."""
    patch = graph(array("a", 4), array("b", 4), node("c", i(), o()), wires=["a.out c.x", "b.out c.x"])
    assert messages(patch) == [("c", "x", "input must have one connection, got a.out and b.out")]


def test_a_node_id_is_unique() -> None:
    """Two blocks with one id are an error."""
    assert messages(graph(array("a", 4), array("a", 4))) == [("a", None, "node id must be unique, got a twice")]


def test_shapes_that_must_broadcast_are_named_with_their_ports() -> None:
    """The error for shapes that don't broadcast names both ports with their shapes."""
    both = node("c", i("a"), i("b"), o(shape="broadcast(a, b)"))
    patch = graph(array("p", 3, 4), array("q", 5), both, wires=["p.out c.a", "q.out c.b"])
    assert messages(patch) == [("c", "out", "shapes must broadcast, got a [3, 4] and b [5]")]


def test_malformed_rules_are_errors_of_their_block() -> None:
    """Malformed rules in a description made by hand are errors of its block."""
    ports = (i(shape="[2"), o("first", shape="twice(x)"), o(shape="[1]"))
    bad = node("b", *ports, entries=[launch(ports, threads=(Extent("1 +"),))])
    assert messages(graph(array("a", 4), bad, wires=["a.out b.x"])) == [
        ("b", "first", "shape rule must be same, same(port), broadcast(a,b), scalar or [..], got 'twice(x)'"),
    ]
    alone = node("b", ports[2], entries=[launch(ports, threads=(Extent("1 +"),))])
    ((_, _, message),) = messages(graph(alone))
    assert message.startswith("'1 +' must be integer arithmetic")


def test_the_exception_carries_errors_and_warnings() -> None:
    """The exception carries the errors and the warnings of the check, and its text contains the errors."""
    checked = check_description(graph(node("open", i()), region("r"), flag(), wires=["flag.out r.condition"]))
    problem = GraphValidationError(checked.errors, checked.warnings)
    assert problem.errors == list(checked.errors)
    assert [d.node for d in problem.warnings] == ["r"]
    assert "required input 'x' must be connected" in str(problem)


# Warnings


def test_an_append_buffer_whose_count_nobody_reads_is_worth_a_warning() -> None:
    """Reading an append buffer without its count is a warning; reading both, or neither, is not."""
    fills = node("f", o(shape="[64]", append=True), o("out_count", u32, shape="[1]"))
    reader = node("r", i(), i("count", u32, optional=True), o())
    (found,) = check_description(graph(fills, reader, wires=["f.out r.x"])).warnings
    assert (found.severity, found.node, found.port) == (Severity.WARNING, "f", "out_count")
    assert check_description(graph(fills, reader, wires=["f.out r.x", "f.out_count r.count"])).warnings == ()
    assert check_description(graph(fills)).warnings == ()


# Delayed inputs


def test_feedback_through_a_delay_is_no_cycle() -> None:
    """Feedback through a delay is no cycle, and the delay's input has the shape of its output."""
    patch = graph(
        array("a", 5),
        delay(),
        node("sum", i(), i("y", shape="same(x)"), o()),
        wires=["a.out delay.like", "a.out sum.x", "delay.out sum.y", "sum.out delay.x"],
    )
    checked = check_description(patch)
    assert checked.errors == ()
    assert checked.layouts[ref("delay.x")].shape == checked.layouts[ref("delay.out")].shape == (5,)
    assert list(checked.nodes) == ["a", "delay", "sum"]


def test_a_delay_whose_shape_comes_from_itself_is_an_error() -> None:
    """A delay whose shape follows only from itself is an error that names the loop."""
    patch = graph(delay(), node("next", i("x", any_type), o()), wires=["delay.out next.x", "next.out delay.x"])
    ((_, _, message),) = messages(patch)
    assert message == "shapes must not follow from themselves, got delay -> next -> delay"
    straight = graph(array("a", 5), delay(), wires=["a.out delay.x"])
    assert check_description(straight).layouts[ref("delay.out")].shape == (5,)


def test_the_input_of_a_delay_is_checked_when_it_is_known() -> None:
    """A delay's input must have the shape of its output; otherwise, the error states both."""
    patch = graph(
        array("a", 5),
        delay(shape="same(like)"),
        node("more", i("x", any_type), o(shape="[2 * N]")),
        wires=["a.out delay.like", "delay.out more.x", "more.out delay.x"],
    )
    assert messages(patch) == [
        ("delay", "x", "input must be of shape [5] by its rule same(like), got [10] from more.out")
    ]
