"""Element types and shapes spread from the contents that blocks provide along connections."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from engine.blocktypes.description import BlockDescription, InternalBuffer
from engine.compiler.description import BlockNode, GraphDescription
from engine.compiler.ordering import topological_levels
from engine.compiler.shapes import Layouts, propagate_shapes
from engine.diagnostics import Diagnostic
from engine.types import any_type, f32, float4, s32, uchar4
from tests.compiler.compiler_support import array, graph, i, node, o, ref


def shapes(patch: GraphDescription) -> tuple[Layouts, list[Diagnostic]]:
    levels, problems = topological_levels(patch)
    assert not problems
    return propagate_shapes(patch, levels)


def test_shapes_follow_rules_through_a_patch() -> None:
    """Inputs have their source's layout, outputs and internal buffers what their rules give."""
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
    """An output "same(x)" carries the element type of x."""
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
    """What validation could not see is an error here, at the input."""
    data = node(
        "a", o("out", any_type, shape="data", dtype_rule="data"), entries=(), contents={"out": np.ones(3, np.int32)}
    )
    _, (problem,) = shapes(graph(data, node("b", i(), o()), wires=["a.out b.x"]))
    assert (problem.node, problem.port) == ("b", "x")
    assert problem.message == "elements must be f32, got s32 from a.out"


def test_rank_and_shape_of_inputs_are_checked() -> None:
    """A kernel never reads past the end of a smaller operand."""
    _, (problem,) = shapes(graph(array("a", 4), node("b", i(rank=2), o()), wires=["a.out b.x"]))
    assert problem.message == "input must have 2 dimensions, got shape [4] from a.out"
    binary = node("c", i(), i("y", shape="same(x)"), o())
    patch = graph(array("a", 8), array("b", 4), binary, wires=["a.out c.x", "b.out c.y"])
    _, (problem,) = shapes(patch)
    assert (problem.node, problem.port) == ("c", "y")
    assert problem.message == "input must be of shape [8] by its rule same(x), got [4]"


def test_an_error_is_reported_once_where_it_is() -> None:
    """Blocks behind it have no error of their own."""
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
    """An optional first input that is left out is not replaced by the second."""
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
    (any_type, "bool", (5,), "array dtype must be one of "),
]


@pytest.mark.parametrize(("dtype", "numpy_type", "shape", "message"), CONTENTS)
def test_contents_must_fit_their_port(dtype: Any, numpy_type: str, shape: tuple[int, ...], message: str) -> None:
    """Vectors take their components from the last axis of the array."""
    port = o("out", dtype, shape="data", dtype_rule="data")
    patch = graph(node("a", port, entries=(), contents={"out": np.zeros(shape, numpy_type)}))
    layouts, problems = shapes(patch)
    if not message:
        assert problems == []
        assert layouts[ref("a.out")].shape == shape[:-1]
        assert layouts[ref("a.out")].size_bytes == np.zeros(shape, numpy_type).nbytes
    else:
        assert problems[0].message.startswith(message)


def test_contents_that_were_not_given_are_missed() -> None:
    """An output of shape "data" needs `build.provide`."""
    patch = graph(BlockNode("a", BlockDescription((o(shape="data"),), ())))
    _, (problem,) = shapes(patch)
    assert problem.message == "the block must provide the contents of this output, got none"


def test_a_bad_internal_buffer_is_named() -> None:
    """The message says which buffer of the block it is."""
    patch = graph(
        array("a", 4), node("b", i(), o(), buffers=[InternalBuffer("own", f32, "[x.dim1]")]), wires=["a.out b.x"]
    )
    _, (problem,) = shapes(patch)
    assert problem.message == "buffer own: x.dim1 must exist, got shape [4]"
