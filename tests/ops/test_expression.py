"""Expressions: their results, and the errors of wrong ones."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ops.reference import assert_same
from tests.ops.running import run
from warploom.engine.device.device import Device
from warploom.engine.ops import OpError, compile_graph
from warploom.engine.ops.expression import ExpressionError, function_names, parse_expression

_X = np.linspace(-3, 3, 1023, dtype=np.float32)
_K = np.arange(-511, 512, dtype=np.int32)
_F = np.float32


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x * freq + time", _X * _F(3) + _F(1.5)),
        ("-x ** 2 + 1", -(_X * _X) + _F(1)),
        ("abs(x) if x < -1 else x * 2", np.where(_X < -1, np.abs(_X), _X * _F(2))),
        ("1 < x < 2", (_X > 1) & (_X < 2)),
        ("not (x > 0 or k == 0) and True", ~((_X > 0) | (_K == 0))),
        ("k // 7 + k % 7 * (3 - 5)", _K // 7 + _K % 7 * -2),
        ("k / 4", (_K / 4).astype(np.float32)),
        ("k * 2.0", (_K * 2).astype(np.float32)),
        ("k * 2", _K * 2),
        ("(k & 255 ^ 3) << 2 >> 1 | 1", ((_K & 255 ^ 3) << 2 >> 1) | 1),
        ("min(x, 1, -1.5) + max(0, x)", np.minimum(np.minimum(_X, _F(1)), _F(-1.5)) + np.maximum(_F(0), _X)),
        ("clamp(x, -1, 1)", np.clip(_X, -1, 1)),
        (
            "x[i - 1] - x[i + 1]",
            np.pad(_X, 1, "edge")[:-2] - np.pad(_X, 1, "edge")[2:],
        ),
        ("vec(x, 2, 3).zyx", np.stack([np.full(1023, 3), np.full(1023, 2), _X], axis=-1).astype(np.float32)),
        ("length(vec(x, 4)).x", np.sqrt(_X * _X + _F(16))),
        ("int(x) + k", _X.astype(np.int32) + _K),
        ("a = x + 1\nb = a * a\na + b", (_X + _F(1)) + (_X + _F(1)) * (_X + _F(1))),
        ("  frame * 2 + pi", np.full(1023, _F(14) + _F(np.pi))),
        ("sqrt(freq*freq)", np.full(1023, 3, np.float32)),
        ("x if freq == 3 else exp(time + x)", _X),
        ("exp(x) if freq < 3 else (sqrt(x * x) + time if not freq == 4 else log(amp))", np.sqrt(_X * _X) + _F(1.5)),
        ('sample(x, (i - 5) / count + 0.5 / count, 0.5, boundary="wrap", filter="nearest")', np.roll(_X, 5)),
    ],
)
def test_expressions_compute_what_they_say(device: Device, text: str, expected: np.ndarray) -> None:
    """Each expression equals numpy's result, with unknown names as parameters."""
    graph = parse_expression(text, inputs={"x": "f32", "k": "s32"}, parameters={"freq": {"default": 3.0}})
    found = run(device, graph, {"x": _X, "k": _K}, 1023)["out"]
    assert_same(found, expected, text)


@pytest.mark.parametrize(
    ("text", "has_branch"), [("x if a == 1 else exp(x)", True), ("x if x == 1 else exp(x)", False)]
)
def test_a_function_that_no_thread_needs_is_not_computed(text: str, *, has_branch: bool) -> None:
    """If the parameters decide, a branch leaves out a function; if each element decides, both values are computed."""
    nodes = parse_expression(text, inputs={"x": "f32"}).nodes
    assert ("op.if" in {node.type for node in nodes}) is has_branch
    assert all(bool(node.region) is has_branch for node in nodes if node.type == "op.exp")


def test_unknown_names_become_parameters_and_pixels_are_known() -> None:
    """Unknown names become parameters in the order in which they appear; u and v are the position of the pixel."""
    kernel = compile_graph(parse_expression("vec(u * zoom, v * zoom, amp, 1)"))
    assert [item.name for item in kernel.parameters] == ["zoom", "amp"]
    assert kernel.rank == 2
    assert kernel.outputs[0].dtype == "float4"


@pytest.mark.parametrize(
    ("text", "message", "column"),
    [
        ("", "expression must not be empty", 1),
        ("x +", "expression must be written in Python's syntax", 4),
        ("1 + foo(x)", "function must be one of the ops, got 'foo'", 5),
        ("x + 'a'", "a literal must be a number, got 'a'", 5),
        ("x + sqrt", "sqrt must be called, as in sqrt(x)", 5),
        ("2 * clamp(1, 2, 3, 4)", "clamp must have 1 to 3 arguments, got 4", 5),
        ("3 + (x | 1)", "a must be a whole number, got f32", 6),
        ("x.q", "pattern must be 1 to 4 of the letters xyzw or rgba, got 'q'", 1),
        ("min(x)", "min must have 2 arguments, got 1", 1),
        ("lambda: 3", "expression must be made of numbers, names, operators and calls, got Lambda", 1),
        ("().__class__", "expression must be made of numbers, names, operators and calls, got Tuple", 1),
        ("sin(x, y='a')", "setting of sin must be one of precision, got 'y'", 10),
        ("1 + max(x, 1, y='a')", "setting of max must be left out, got 'y'", 17),
        ("simplex_noise(x, x, dimensions=4)", 'dimensions of simplex_noise must be one of "2", "3", got 4', 32),
        ("simplex_noise(x, dimensions=x + 1)", 'dimensions of simplex_noise must be one of "2", "3", got x + 1', 29),
        ('sin(x, precision="fast", precision="exact")', "precision of sin must be given once", 36),
        ("sin(**x)", "a call must be of the form name(a, b)", 1),
        ("x = 3", "the last line must be an expression", 1),
        ("y[3]", "only an input must be indexed", 1),
        ("1 << 70 << 1000000", "", 1),
        ("-" * 500 + "x", "", 1),
        ("(" * 5000, "", 1),
    ],
)
def test_a_wrong_expression_is_told_with_its_column(text: str, message: str, column: int) -> None:
    """A wrong expression is reported with its column, and never raises any other exception."""
    try:
        compile_graph(parse_expression(text, inputs={"x": "f32"}))
    except ExpressionError as problem:
        assert problem.errors[0].message.startswith(message)
        assert problem.column == column or not message
    else:
        assert not message


@given(st.text(alphabet=" x1.+-*/%()<>=&|~[],:'\"abcdefinot\n", max_size=40) | st.text(max_size=20))
def test_any_text_is_a_graph_or_an_error(text: str) -> None:
    """Any text is a graph or raises an OpError."""
    try:
        parse_expression(text, inputs={"x": "f32"})
    except OpError as problem:
        assert problem.errors


def test_every_function_has_help() -> None:
    """Every function has a help text."""
    assert {"abs", "min", "clamp", "length", "int", "sample", "vec"} < set(function_names())
    assert all(function_names().values())
