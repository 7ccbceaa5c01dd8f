"""Element types, shapes and strides follow from the contents that blocks provide, along connections."""

from typing import Any

import numpy as np
import pytest

from tests.compiler.support.descriptions import array, graph, i, launch, node, o, ref
from warploom.engine.compiler.checking.check import check_description
from warploom.engine.compiler.checking.layouts import Layouts, node_layouts
from warploom.engine.compiler.description import BlockNode, GraphDescription
from warploom.engine.compiler.planning import make_plan
from warploom.engine.descriptions.description import BlockDescription
from warploom.engine.descriptions.entries import (
    BufferArgument,
    CopyEntry,
    DelayEntry,
    ExtentArgument,
    InternalBuffer,
    Requirement,
    ReshapeView,
    SliceView,
    Transform,
    TransposeView,
    View,
)
from warploom.engine.descriptions.shapes.extents import Extent
from warploom.engine.device.external import describe_external
from warploom.engine.diagnostics import Diagnostic
from warploom.engine.types import any_type, f32, float4, s32, uchar4
from warploom.engine.types.layout import Layout


def shapes(patch: GraphDescription) -> tuple[Layouts, list[Diagnostic]]:
    checked = check_description(patch)
    return checked.layouts, list(checked.errors)


def test_shapes_follow_rules_through_a_patch() -> None:
    """Inputs have the layouts of their sources; outputs and internal buffers have those of their rules."""
    patch = graph(
        array("a", 6, 4),
        node("half", i(), o(shape="[x.dim0 // 2, width]"), buffers=[InternalBuffer("own", s32, "[out.size]")], width=3),
        node("sum", i(), o(shape="scalar")),
        wires=["a.out half.x", "half.out sum.x"],
    )
    layouts, problems = shapes(patch)
    assert problems == []
    assert {str(port): (layout.dtype, layout.shape, layout.size_bytes) for port, layout in layouts.items()} == {
        "a.out": (f32, (6, 4), 96),
        "half.x": (f32, (6, 4), 96),
        "half.out": (f32, (3, 3), 36),
        "half.own": (s32, (9,), 36),
        "sum.x": (f32, (3, 3), 36),
        "sum.out": (f32, (), 4),
    }


def test_any_type_becomes_what_is_connected() -> None:
    """An output with the type rule "same(x)" has the element type of x."""
    through = node("b", i("x", any_type), o("out", any_type, dtype_rule="same(x)"))
    data = node(
        "a",
        o("out", any_type, shape="data", dtype_rule="data"),
        entries=(),
        contents={"out": np.ones((2, 3), np.int32)},
    )
    layouts, problems = shapes(graph(data, through, wires=["a.out b.x"]))
    assert problems == []
    assert layouts[ref("b.out")].dtype == s32


def test_type_mismatch_behind_any_type_is_found() -> None:
    """A wrong element type behind a block of any type is an error at the input that requires another."""
    data = node(
        "a", o("out", any_type, shape="data", dtype_rule="data"), entries=(), contents={"out": np.ones(3, np.int32)}
    )
    _, (problem,) = shapes(graph(data, node("b", i(), o()), wires=["a.out b.x"]))
    assert (problem.node, problem.port) == ("b", "x")
    assert problem.message == "elements must be f32, got s32 from a.out"


def test_rank_and_shape_of_inputs_are_checked() -> None:
    """An input of the wrong rank, or of another shape than its rule's, is an error at the input."""
    _, (problem,) = shapes(graph(array("a", 4), node("b", i(rank=2), o()), wires=["a.out b.x"]))
    assert problem.message == "input must have 2 dimensions, got shape [4] from a.out"
    binary = node("c", i(), i("y", shape="same(x)"), o())
    patch = graph(array("a", 8), array("b", 4), binary, wires=["a.out c.x", "b.out c.y"])
    _, (problem,) = shapes(patch)
    assert (problem.node, problem.port) == ("c", "y")
    assert problem.message == "input must be of shape [8] by its rule same(x), got [4] from b.out"
    assert (problem.expected, problem.found) == ("shape [8]", "[4]")


def test_an_error_is_reported_once_where_it_is() -> None:
    """An error is reported once, and blocks behind it have neither errors nor layouts."""
    patch = graph(
        array("a", 4),
        node("bad", i(), o(shape="[N - 4]")),
        node("after", i(), o()),
        node("fine", i(), o()),
        wires=["a.out bad.x", "bad.out after.x", "a.out fine.x"],
    )
    layouts, (problem,) = shapes(patch)
    assert (problem.node, problem.port) == ("bad", "out")
    assert problem.message == "dimensions of [N - 4] must be at least 1, got [0]"
    assert ref("after.out") not in layouts
    assert ref("fine.out") in layouts


def test_rules_count_inputs_as_they_are_declared() -> None:
    """`same` follows the first declared input, so it is an error if that input is unconnected."""
    ports = (i("mask", optional=True), i(), o(shape="same"))
    _, (problem,) = shapes(graph(array("a", 4), node("b", *ports), wires=["a.out b.x"]))
    assert problem.message == "input mask must be connected, since a shape follows from it"


CONTENTS: list[tuple[Any, str, tuple[int, ...], str]] = [
    (float4, "float32", (5, 7, 4), ""),
    (
        float4,
        "float32",
        (5, 7, 3),
        "contents must be float32 with elements of shape [4], got float32 of shape [5, 7, 3]",
    ),
    (float4, "float32", (), "contents must be float32 with elements of shape [4], got float32 of shape []"),
    (uchar4, "float32", (5, 4), "contents must be uint8 with elements of shape [4], got float32 of shape [5, 4]"),
    (f32, "float64", (5,), "contents must be float32 with elements of shape [], got float64 of shape [5]"),
    (any_type, "S3", (5,), "array dtype must be one of "),
]


@pytest.mark.parametrize(("dtype", "numpy_type", "shape", "message"), CONTENTS)
def test_contents_must_fit_their_port(dtype: Any, numpy_type: str, shape: tuple[int, ...], message: str) -> None:
    """Contents must have the port's type; vectors take their components from the last axis of the array."""
    port = o("out", dtype, shape="data", dtype_rule="data")
    patch = graph(node("a", port, entries=(), contents={"out": np.zeros(shape, numpy_type)}))
    layouts, problems = shapes(patch)
    if not message:
        assert problems == []
        assert layouts[ref("a.out")].shape == shape[:-1]
        assert layouts[ref("a.out")].size_bytes == np.zeros(shape, numpy_type).nbytes
    else:
        assert problems[0].message.startswith(message)


def test_missing_contents_are_an_error() -> None:
    """An output of shape "data" is refused if `describe` doesn't call `build.provide`."""
    patch = graph(BlockNode("a", BlockDescription((o(shape="data"),), ())))
    _, (problem,) = shapes(patch)
    assert problem.message == "describe must provide the contents of this output, got none"


def test_a_bad_internal_buffer_is_named() -> None:
    """The error for a wrong internal buffer names the buffer."""
    patch = graph(
        array("a", 4), node("b", i(), o(), buffers=[InternalBuffer("own", f32, "[x.dim1]")]), wires=["a.out b.x"]
    )
    _, (problem,) = shapes(patch)
    assert problem.message == "buffer own: x.dim1 must exist, got shape [4]"


# Views and strides


def view(name: str, transform: Transform, *, strided: bool = False, **more: Any) -> BlockNode:
    """Return a block whose output is a view of its input."""
    ports = (i("x", any_type, strided=strided), o("out", any_type, shape="view", dtype_rule="view", **more))
    return BlockNode(name, BlockDescription(ports, (), views=(View("out", "x", transform),)))


def test_a_buffer_can_be_seen_in_another_shape_of_the_same_size() -> None:
    """A buffer may be seen in another shape of the same size; a shape of another size is an error."""

    def patch(shape: str) -> GraphDescription:
        seen = [InternalBuffer("own", s32, "[out.size]"), InternalBuffer("x_seen", f32, shape, of="x")]
        seen.append(InternalBuffer("own_seen", s32, shape, of="own"))
        return graph(array("a", 6, 4), node("b", i(), o(shape="same(x)"), buffers=seen), wires=["a.out b.x"])

    layouts, problems = shapes(patch("[2, x.size // 2]"))
    assert problems == []
    assert {name: str(layouts[ref(f"b.{name}")]) for name in ("x_seen", "own_seen")} == {
        "x_seen": "f32[2, 12]",
        "own_seen": "s32[2, 12]",
    }
    plan = make_plan(patch("[2, 12]"))
    assert plan.buffers.find("b", "x_seen") == plan.buffers.find("b", "x") == plan.buffers.find("a", "out")
    assert plan.buffers.find("b", "own_seen") == plan.buffers.find("b", "own")
    assert {owner.port for owner in plan.buffers.allocations} == {"out", "own"}
    _, problems = shapes(patch("[5]"))
    assert [problem.message for problem in problems] == [
        "buffer x_seen: shape must have as many elements as f32[6, 4], without gaps, got [5]",
        "buffer own_seen: shape must have as many elements as s32[24], without gaps, got [5]",
    ]


def test_a_view_owns_nothing_and_starts_where_its_transform_says() -> None:
    """A view's offset counts from its input, and a block that takes strides receives them as extents."""
    ports = (i(strided=True), o(shape="[x.dim0, x.dim1]"))
    entry = launch(
        ports, "x", "out", threads=(Extent("x.size"),), more=[ExtentArgument(Extent("x.stride0") + Extent("x.stride1"))]
    )
    patch = graph(
        array("a", 6, 4),
        view("v", SliceView(1, 1, 3)),
        node("n", *ports, entries=[entry]),
        wires=["a.out v.x", "v.out n.x"],
    )
    checked = check_description(patch)
    assert checked.errors == ()
    assert checked.layouts[ref("v.out")] == Layout(f32, (6, 2), (4, 1), 4)
    assert checked.nodes["v"].offsets == {"out": 4}
    assert checked.nodes["n"].extents == {0: {2: 5}}
    assert checked.nodes["n"].launches[0].grid == (1, 1, 1)


def test_a_layout_with_gaps_needs_a_port_that_takes_strides() -> None:
    """A view with gaps is refused by an input that doesn't take strides, and the remedy is a Copy."""
    patch = graph(
        array("a", 6, 4), view("v", TransposeView((1, 0))), node("n", i(), o()), wires=["a.out v.x", "v.out n.x"]
    )
    _, (problem,) = shapes(patch)
    assert (problem.node, problem.port) == ("n", "x")
    assert problem.message == "input must lie in memory without gaps, got a view with strides [1, 4] from v.out"
    assert problem.remedy == "put a Copy block in front of it"


def test_a_view_that_cannot_be_is_an_error_of_its_output() -> None:
    """Impossible views, views of another element type, and views that `describe` doesn't make are errors."""
    bad = graph(array("a", 6, 4), view("v", ReshapeView((5, 5))), wires=["a.out v.x"])
    _, (problem,) = shapes(bad)
    assert (problem.node, problem.port) == ("v", "out")
    assert problem.message == "a reshape must keep the 24 elements of [6, 4], got [5, 5]"
    typed = BlockDescription((i(), o(shape="view", dtype=s32)), (), views=(View("out", "x", ReshapeView((-1,))),))
    _, (problem,) = shapes(graph(array("a", 4), BlockNode("v", typed), wires=["a.out v.x"]))
    assert problem.message == "output must share memory with elements of s32, got f32"
    none = BlockDescription((i(), o(shape="view")), ())
    _, (problem,) = shapes(graph(array("a", 4), BlockNode("v", none), wires=["a.out v.x"]))
    assert problem.message == "describe must provide a view of this output, got none"


def test_fills_and_copies_go_over_whole_buffers() -> None:
    """Fills and copies need buffers without gaps, and copies two buffers of one size."""
    ports = (i(), o(shape="[N * 2]"))
    copy = CopyEntry(BufferArgument("out", False, True), BufferArgument("x", True, False))
    _, (problem,) = shapes(graph(array("a", 4), node("c", *ports, entries=[copy]), wires=["a.out c.x"]))
    assert problem.message == "copy needs two buffers of one size, got 16 bytes in x and 32 in out"
    ports = (i(strided=True), o(shape="[2]"))
    patch = graph(
        array("a", 4),
        view("v", SliceView(0, 0, 4, 2)),
        node("c", *ports, entries=[copy]),
        wires=["a.out v.x", "v.out c.x"],
    )
    _, (problem,) = shapes(patch)
    assert problem.message == "'x' must lie in memory without gaps to be filled or copied, got strides [2]"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (((4,), "uint32"), "elements must be f32, got u32"),
        (((2,), "float64"), "elements must be f32, got f64"),
        (((2, 2), "float32"), "input of a delay must have shape [4], as out has, got shape [2, 2]"),
    ],
)
def test_a_delay_gives_what_it_was_given(given: tuple[tuple[int, ...], str], told: str) -> None:
    """A delay's input must have its output's type and shape; an equal number of bytes is not enough."""
    ports = (i("like"), i(delayed=True, dtype=any_type), o(shape="same(like)"))
    keeps = DelayEntry(BufferArgument("out", False, True), BufferArgument("x", True, False))
    shape, dtype = given
    delayed = node("d", *ports, entries=[keeps])
    data = o(dtype=any_type, shape="data", dtype_rule="data")
    other = node("b", data, entries=(), contents={"out": np.ones(shape, dtype)})
    _, (problem,) = shapes(graph(array("a", 4), other, delayed, wires=["a.out d.like", "b.out d.x"]))
    assert (problem.port, problem.message) == ("x", f"{told} from b.out")


def test_memory_of_the_users_own_gives_its_shape_and_strides() -> None:
    """The shape and strides are those of the user's array, and an array of another type is refused."""
    owner = np.zeros((6, 8), np.float32)

    def external(array: np.ndarray[Any, Any], dtype: Any) -> BlockNode:
        described = {"out": describe_external(array)}
        return BlockNode("a", BlockDescription((o("out", dtype, shape="data"),), (), externals=described))

    layouts, problems = shapes(graph(external(owner[::2, 1:5], f32)))
    assert problems == []
    assert (layouts[ref("a.out")].shape, layouts[ref("a.out")].strides) == ((3, 4), (16, 1))
    _, (problem,) = shapes(graph(external(owner, s32)))
    assert problem.message == "array must be int32 with elements of shape [], got float32 of shape [6, 8]"


# Outputs


def test_an_in_place_output_keeps_its_inputs_element_type() -> None:
    """An in-place output must have the element type of its input."""
    _, (problem,) = shapes(graph(array("a", 4), node("b", i(), o("out", s32, inplace="x")), wires=["a.out b.x"]))
    assert (problem.port, problem.message) == ("out", "output must share memory with elements of s32, got f32")


def test_an_output_has_the_rank_that_it_declares() -> None:
    """An output must have its declared rank."""
    _, (problem,) = shapes(graph(array("a", 4), node("b", i(), o(rank=2)), wires=["a.out b.x"]))
    assert (problem.port, problem.message) == ("out", "output must have 2 dimensions, got shape [4]")


def test_requirements_must_hold() -> None:
    """A requirement that does not hold is an error at its port, with the requirement's own message."""
    ports = (i(), o(shape="scalar"))
    asks = BlockDescription(ports, (), requirements=(Requirement(Extent("x.size") - 5, "x must have 5 elements", "x"),))
    assert shapes(graph(array("a", 5), BlockNode("b", asks), wires=["a.out b.x"]))[1] == []
    _, (problem,) = shapes(graph(array("a", 4), BlockNode("b", asks), wires=["a.out b.x"]))
    assert (problem.node, problem.port, problem.message) == ("b", "x", "x must have 5 elements")


def test_layouts_follow_from_the_description_and_the_inputs_alone() -> None:
    """A description and the inputs' layouts alone determine the layouts of a block."""
    block = node("b", i(), o(shape="[2 * N]")).description
    made = node_layouts(block, (Layout(f32, (3,)),))
    assert made == node_layouts(block, (Layout(f32, (3,)),))
    assert made.layouts == {"x": Layout(f32, (3,)), "out": Layout(f32, (6,))}
