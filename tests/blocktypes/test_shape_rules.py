"""Shape rules give the shapes that numpy or arithmetic give."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.blocktypes.shape_rules import (
    Extent,
    ShapeContext,
    ShapeRuleError,
    check_rule,
    evaluate_extent,
    evaluate_shape,
)
from engine.types import Shape

CONTEXT = ShapeContext({"a": (7, 3), "b": (1, 3), "c": ()}, {"grid": (4, 5, 6)}, {"width": 10, "height": 3})

TABLE: list[tuple[str, Shape]] = [
    ("same", (7, 3)),
    ("same(b)", (1, 3)),
    ("same(1)", (1, 3)),
    ("same( a )", (7, 3)),
    ("same(c)", ()),
    ("same(grid)", (4, 5, 6)),
    ("broadcast(a,b)", (7, 3)),
    ("broadcast(0, 1)", (7, 3)),
    ("broadcast(a,c)", (7, 3)),
    ("scalar", ()),
    ("[N]", (7,)),
    ("[N, 16]", (7, 16)),
    ("[a.dim0, b.dim1]", (7, 3)),
    ("[a.size]", (21,)),
    ("[c.size]", (1,)),
    ("[height, width]", (3, 10)),
    ("[2 * N + 1, width // 4]", (15, 2)),
    ("[ceil(N / 2), ceil(width / 5)]", (4, 2)),
    ("[min(N, width), max(N, width, 20)]", (7, 20)),
    ("[N % 4]", (3,)),
    ("[(N - 1) * (width - N)]", (18,)),
    ("[-(-N // 2)]", (4,)),
    ("[]", ()),
]


@pytest.mark.parametrize(("rule", "shape"), TABLE)
def test_rules_give_their_shapes(rule: str, shape: Shape) -> None:
    """Each form of the grammar, on shapes of rank 0 to 3, and a definition may use it."""
    assert evaluate_shape(rule, CONTEXT) == shape
    check_rule(rule, frozenset(("a", "b", "c", "grid")), frozenset(("width", "height")))


FAILING = [
    ("same(z)", "'z' must be a port, got one of a, b, c, grid"),
    ("same(3)", "input 3 must exist, got 3 inputs"),
    ("broadcast(a, grid)", "shapes must broadcast, got [7, 3] and [4, 5, 6]"),
    ("[a.dim2]", "a.dim2 must exist, got shape [7, 3]"),
    ("[N - 7]", "dimensions of [N - 7] must be at least 1, got [0]"),
    ("[N, 3 - N]", "dimensions of [N, 3 - N] must be at least 1, got [7, -4]"),
    ("[N // (N - 7)]", "shape rule '[N // (N - 7)]' must not divide by zero"),
    ("[N / 2]", "dimension must be integer arithmetic over ports and parameters, got N / 2"),
    ("[1.5]", "dimension must be integer arithmetic over ports and parameters, got 1.5"),
    ("[a.rank]", "dimension must be integer arithmetic over ports and parameters, got a.rank"),
    ("[__import__('os')]", "dimension must be integer arithmetic over ports and parameters, got __import__('os')"),
    ("[N ** 2]", "dimension must be integer arithmetic over ports and parameters, got N ** 2"),
    ("like(a)", "shape rule must be same, same(port), broadcast(a,b), scalar or [..], got 'like(a)'"),
]


@pytest.mark.parametrize(("rule", "message"), FAILING)
def test_rules_that_cannot_hold_say_why(rule: str, message: str) -> None:
    """What was asked for and what there is are both named."""
    with pytest.raises(ShapeRuleError) as refused:
        evaluate_shape(rule, CONTEXT)
    assert str(refused.value) == message


def test_an_input_that_is_not_connected_has_no_shape_to_follow() -> None:
    """Inputs are counted as declared: an optional one that is left out does not make the next one the first."""
    context = ShapeContext({"mask": None, "x": (5,)}, {}, {})
    assert evaluate_shape("same(1)", context) == (5,)
    for rule in ("same", "same(mask)", "[N]", "[mask.size]"):
        with pytest.raises(ShapeRuleError, match="input mask must be connected, since a shape follows from it"):
            evaluate_shape(rule, context)


dims = st.integers(1, 4)
shapes = st.lists(dims, max_size=4).map(tuple)


@given(shapes, shapes)
def test_broadcast_agrees_with_numpy(a: Shape, b: Shape) -> None:
    """The same shape as numpy's, or an error where numpy has one."""
    context = ShapeContext({"a": a, "b": b}, {}, {})
    try:
        expected = np.broadcast_shapes(a, b)
    except ValueError:
        with pytest.raises(ShapeRuleError, match="shapes must broadcast"):
            evaluate_shape("broadcast(a,b)", context)
    else:
        assert evaluate_shape("broadcast(a,b)", context) == expected


@given(shapes.filter(len), st.integers(-20, 20), st.integers(1, 9))
def test_extents_compute_as_python_does(shape: Shape, k: int, d: int) -> None:
    """Arithmetic on `port.size` and `port.dim`, with numbers on either side, negative ones too."""
    context = ShapeContext({"x": shape}, {}, {})
    size, first = Extent("x.size"), Extent("x.dim0")
    n, m = math.prod(shape), shape[0]
    pairs = [
        (size + k, n + k),
        (k + size, k + n),
        (size - first, n - m),
        (k - size, k - n),
        (size * first, n * m),
        (k * size, k * n),
        (size // d, n // d),
        (size % d, n % d),
        (-(-size // d), math.ceil(n / d)),
        ((size + k) * d - first, (n + k) * d - m),
    ]
    assert [evaluate_extent(extent, context) for extent, _ in pairs] == [value for _, value in pairs]


def test_definitions_may_only_name_what_the_block_has() -> None:
    """Ports and structural whole numbers; "data" asks for nothing."""
    check_rule("data", frozenset(), frozenset())
    with pytest.raises(ShapeRuleError, match="must name ports or structural integer parameters, got q, z"):
        check_rule("[z, q.dim0, N]", frozenset("a"), frozenset())
