"""Shape rules evaluate to numpy's shapes or to Python's arithmetic."""

import math
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from warploom.engine.descriptions.shapes.extents import Extent, ShapeContext, ShapeRuleError
from warploom.engine.descriptions.shapes.shape_rules import check_rule, parse_rule
from warploom.engine.types import Shape

CONTEXT = ShapeContext(
    {"a": (7, 3), "b": (1, 3), "c": ()}, {"grid": (4, 5, 6), "line": (9,)}, {"width": 10, "height": 3}
)

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
    ("broadcast(c, b, a)", (7, 3)),
    ("same(b, a)", (1, 3)),
    ("same(2, a)", ()),
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
    ("[grid.stride0, grid.stride1, grid.stride2]", (30, 6, 1)),
    ("[a.stride0]", (3,)),
    ("[a.last0, a.last1, a.last2]", (3, 7, 1)),
    ("without(0, a)", (3,)),
    ("without(-1, grid)", (4, 5)),
    ("without(height - 2, grid)", (4, 6)),
    ("without(0, line)", (1,)),
    ("sized(-1, ceil(a.last0 / 2), a)", (7, 2)),
    ("sized(0, 7, grid)", (7, 5, 6)),
    ("joined(0, a, b)", (8, 3)),
    ("joined(-2, a, b, a)", (15, 3)),
    ("joined(1, a, a)", (7, 6)),
    ("stacked(0, a, a)", (2, 7, 3)),
    ("stacked(1, 0, a, a)", (7, 3, 3)),
    ("stacked(-1, a, a)", (7, 3, 2)),
    ("stacked(0, c, c)", (2,)),
    ("taken(0, a, grid)", (4, 5, 6, 3)),
    ("taken(-1, grid, a)", (4, 5, 7, 3)),
    ("taken(1, a, c)", (7,)),
    ("[a.laststride0, a.laststride1, a.laststride2 + 1]", (1, 3, 1)),
]


@pytest.mark.parametrize(("rule", "shape"), TABLE)
def test_rules_give_their_shapes(rule: str, shape: Shape) -> None:
    """Each form of the grammar evaluates to its shape, for inputs of rank 0 to 3."""
    assert parse_rule(rule).evaluate(CONTEXT) == shape
    check_rule(rule, frozenset(("a", "b", "c", "grid", "line")), frozenset(("width", "height")))


FAILING = [
    ("same(z)", "port in a shape must be one of a, b, c, grid, line, got 'z'"),
    ("same(3)", "input 3 must be one of 3 inputs, counted from 0"),
    ("broadcast(a, grid)", "shapes must broadcast, got a [7, 3] and grid [4, 5, 6]"),
    ("[a.dim2]", "a.dim2 must exist, got shape [7, 3]"),
    ("[N - 7]", "dimensions of [N - 7] must be at least 1, got [0]"),
    ("[N, 3 - N]", "dimensions of [N, 3 - N] must be at least 1, got [7, -4]"),
    ("[N // (N - 7)]", "shape rule '[N // (N - 7)]' must not divide by zero"),
    ("[N / 2]", "dimension must be integer arithmetic over ports and parameters, got N / 2"),
    ("[1.5]", "dimension must be integer arithmetic over ports and parameters, got 1.5"),
    ("[a.rank]", "dimension must be integer arithmetic over ports and parameters, got a.rank"),
    ("[__import__('os')]", "dimension must be integer arithmetic over ports and parameters, got __import__('os')"),
    ("[N ** 2]", "dimension must be integer arithmetic over ports and parameters, got N ** 2"),
    ("[a.dim0, z.dim0]", "port in a shape must be one of a, b, c, grid, line, got 'z'"),
    ("[depth]", "size in a shape must be a structural whole-number parameter (width, height), got 'depth'"),
    ("[b.stride2]", "b.stride2 must exist, got shape [1, 3]"),
    ("[True]", "dimension must be integer arithmetic over ports and parameters, got True"),
    ("[min()]", "dimension must be integer arithmetic over ports and parameters, got min()"),
    ("broadcast(0, 1, grid)", "shapes must broadcast, got a [7, 3] and b [1, 3] and grid [4, 5, 6]"),
    ("broadcast(a)", "shape rule must be same, same(port), broadcast(a,b), scalar or [..], got 'broadcast(a)'"),
    ("sized(2, 1, a)", "axis must be one of 2 axes of a, got 2"),
    ("sized(0, 0, a)", "dimensions of sized(0, 0, a) must be at least 1, got [0]"),
    ("without(2, a)", "axis must be one of 2 axes of a, got 2"),
    ("stacked(-4, a, a)", "axis must be one of 3 axes of a, got -4"),
    ("joined(0, a, grid)", "shapes must be equal except along axis 0, got a [7, 3] and grid [4, 5, 6]"),
    ("joined(1, a, b)", "shapes must be equal except along axis 1, got a [7, 3] and b [1, 3]"),
    ("stacked(0, a, b)", "shapes must be equal, got a [7, 3] and b [1, 3]"),
    ("joined(0)", "shape rule must be same, same(port), broadcast(a,b), scalar or [..], got 'joined(0)'"),
    ("same(a.b)", "shape rule must be same, same(port), broadcast(a,b), scalar or [..], got 'same(a.b)'"),
    ("[N", "shape rule must be same, same(port), broadcast(a,b), scalar or [..], got '[N'"),
    ("like(a)", "shape rule must be same, same(port), broadcast(a,b), scalar or [..], got 'like(a)'"),
]


@pytest.mark.parametrize(("rule", "message"), FAILING)
def test_rules_that_cannot_hold_say_why(rule: str, message: str) -> None:
    """The error for a rule that can't be satisfied states the requested and the existing values."""
    with pytest.raises(ShapeRuleError) as refused:
        parse_rule(rule).evaluate(CONTEXT)
    assert str(refused.value) == message


def test_an_input_that_is_not_connected_has_no_shape_to_follow() -> None:
    """A rule that follows an unconnected input is an error; the input still counts in positions."""
    context = ShapeContext({"mask": None, "x": (5,)}, {}, {})
    assert parse_rule("same(1)").evaluate(context) == (5,)
    for rule in ("same", "same(mask)", "[N]", "[mask.size]"):
        with pytest.raises(ShapeRuleError, match="input mask must be connected, since a shape follows from it"):
            parse_rule(rule).evaluate(context)


def test_optional_inputs_that_are_not_connected_are_not_joined() -> None:
    """A shape joins or stacks the connected inputs; the first one must be connected."""
    context = ShapeContext({"a": (2, 3), "b": None, "c": (4, 3), "d": (2, 3)}, {}, {})
    assert parse_rule("joined(0, a, b, c)").evaluate(context) == (6, 3)
    assert parse_rule("stacked(0, a, b, d)").evaluate(context) == (2, 2, 3)
    with pytest.raises(ShapeRuleError, match="input b must be connected, since a shape follows from it"):
        parse_rule("joined(0, b, a)").evaluate(context)


def test_same_of_several_is_the_first_that_is_connected() -> None:
    """`same` takes the first connected input; if none is connected, the error names the first."""
    context = ShapeContext({"like": None, "x": (5,), "y": (6, 2)}, {}, {})
    assert parse_rule("same(like, x)").evaluate(context) == (5,)
    assert parse_rule("same(y, x)").evaluate(context) == (6, 2)
    assert parse_rule("same(0, 2, x)").evaluate(context) == (6, 2)
    with pytest.raises(ShapeRuleError, match="input like must be connected, since a shape follows from it"):
        parse_rule("same(like)").evaluate(context)
    with pytest.raises(ShapeRuleError, match="input a must be connected, since a shape follows from it"):
        parse_rule("same(a, b)").evaluate(ShapeContext({"a": None, "b": None}, {}, {}))


def test_strides_are_those_of_the_layout_or_else_leave_no_gaps() -> None:
    """A view's strides are its own, and those of other buffers leave no gaps."""
    context = ShapeContext({"x": (4, 3), "y": (4, 3)}, {}, {}, {"y": (6, 2)})
    assert parse_rule("[x.stride0, y.stride0, y.stride1]").evaluate(context) == (3, 6, 2)
    assert (Extent("y.stride0") * Extent("y.dim0")).evaluate(context) == 24


def test_an_extent_that_divides_by_zero_says_so() -> None:
    """A division by zero is a ShapeRuleError with the expression."""
    with pytest.raises(ShapeRuleError, match=re.escape("'(x.size // (x.size - 5))' must not divide by zero")):
        (Extent("x.size") // (Extent("x.size") - 5)).evaluate(ShapeContext({"x": (5,)}, {}, {}))


def test_a_rule_is_parsed_once() -> None:
    """Equal rule texts are parsed once, and a rule lists the names in its text."""
    assert parse_rule("[N, 16]") is parse_rule("[N, 16]")
    assert parse_rule("broadcast(a, b)").names == ("a", "b")
    assert set(parse_rule("[ceil(N / width), a.dim1]").names) == {"0", "width", "a"}
    assert parse_rule("same(like, x)").alternatives


dims = st.integers(1, 4)
shapes = st.lists(dims, max_size=4).map(tuple)


@given(shapes, shapes)
def test_broadcast_agrees_with_numpy(a: Shape, b: Shape) -> None:
    """`broadcast` of two inputs equals numpy's shape, or raises an error where numpy does."""
    context = ShapeContext({"a": a, "b": b}, {}, {})
    try:
        expected = np.broadcast_shapes(a, b)
    except ValueError:
        with pytest.raises(ShapeRuleError, match="shapes must broadcast"):
            parse_rule("broadcast(a,b)").evaluate(context)
    else:
        assert parse_rule("broadcast(a,b)").evaluate(context) == expected


@given(shapes.filter(len), st.integers(-20, 20), st.integers(1, 9))
def test_extents_compute_as_python_does(shape: Shape, k: int, d: int) -> None:
    """Arithmetic on extents equals Python's, negative numbers included."""
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
    assert [extent.evaluate(context) for extent, _ in pairs] == [value for _, value in pairs]


def test_definitions_may_only_name_what_the_block_has() -> None:
    """A rule may name only the block's ports and structural whole numbers; other names are refused together."""
    check_rule("data", frozenset(), frozenset())
    check_rule("view", frozenset(), frozenset())
    check_rule("same(2, a)", frozenset("a"), frozenset())
    with pytest.raises(ShapeRuleError, match="must name ports or structural integer parameters, got q, z"):
        check_rule("[z, q.dim0, N]", frozenset("a"), frozenset())


numbers = st.integers(-9, 9)
expressions = st.recursive(
    st.sampled_from(["N", "x.dim1", "x.size", "width"]) | numbers.map(str),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "//", "%"]), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        st.tuples(inner, inner).map(lambda t: f"ceil({t[0]} / {t[1]})"),
        st.tuples(st.sampled_from(["min", "max"]), inner, inner).map(lambda t: f"{t[0]}({t[1]}, {t[2]})"),
        inner.map(lambda text: f"-{text}"),
    ),
    max_leaves=8,
)


@given(expressions, dims, dims, numbers)
def test_arithmetic_is_pythons_over_whole_numbers(text: str, n: int, m: int, width: int) -> None:
    """Expressions equal exact fractions: `ceil(a / b)` rounds up for all signs, and division by zero is an error."""
    context = ShapeContext({"x": (n, m)}, {}, {"width": width})
    python = text.replace("x.dim1", str(m)).replace("x.size", str(n * m)).replace("N", str(n))
    python = re.sub(r"width|(?<![\w.])(\d+)", lambda match: f"Fraction({match[0]})", python)
    names = {"Fraction": Fraction, "ceil": lambda x: Fraction(math.ceil(x)), "min": min, "max": max, "width": width}
    try:
        expected = eval(python, {"__builtins__": {}}, names)
    except ZeroDivisionError:
        with pytest.raises(ShapeRuleError, match="must not divide by zero"):
            Extent(text).evaluate(context)
    else:
        assert Extent(text).evaluate(context) == expected
