"""Expressions: their values, and the texts that are refused."""

import math
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.values.running import STEP_S, place, record
from warploom.blocks.value.arithmetic import FUNCTIONS, Arithmetic
from warploom.blocks.value.expression import NAMES, Expression
from warploom.engine.blocktypes.updated_blocks import Moment
from warploom.engine.diagnostics import PatchError


def value(text: str, **given_values: float) -> float:
    """Return the value of a line of arithmetic."""
    arithmetic = Arithmetic(text, NAMES)
    arithmetic.names.update(given_values)
    return arithmetic.value()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 2 * 3", 7.0),
        ("(1 + 2) * -3", -9.0),
        ("7 // 2 + 7 % 4 - -7 // 2", 10.0),
        ("2 ** 10 ** 0", 2.0),
        ("-2 ** 2", -4.0),
        ("a * sin(t) + b", 2.5 * math.sin(3.0) + 1.0),
        ("1 < 2 < 3", 1.0),
        ("not a > 2", 0.0),
        ("a > 2 and b", 1.0),
        ("10 if b > 1 else 20", 20.0),
        ("clamp(a, 0, 1) + mix(10, 20, 0.25)", 13.5),
        ("step(1, b) + smoothstep(0, 1, 0.5)", 1.5),
        ("min(3, a, 4) + max(1, 2)", 4.5),
        ("fract(-0.25) + round(2.5) + sign(-a) + floor(-0.5)", 0.75),
        ("hypot(3, 4) + atan2(0, 1) + pow(2, 3) + log(e) + cos(pi) + tau / pi", 15.0),
        ("frame % 7", 4.0),
        (" a ", 2.5),
    ],
)
def test_line_of_arithmetic(text: str, expected: float) -> None:
    """A line of arithmetic has the value that was computed by hand."""
    assert value(text, a=2.5, b=1.0, t=3.0, frame=11.0) == pytest.approx(expected)


NUMBERS = st.floats(-100, 100).map(lambda x: round(x, 3))
#: Pairs of texts: one as a person writes it, one for numpy, which can't subtract the booleans of comparisons.
LEAVES = st.one_of(NUMBERS.map(lambda x: f"({x!r})"), st.sampled_from(["a", "b", "t"])).map(lambda text: (text, text))
LINES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*"]), inner).map(
            lambda p: tuple(f"({left} {p[1]} {right})" for left, right in zip(p[0], p[2], strict=True))
        ),
        st.tuples(inner, st.sampled_from(["<", ">=", "=="]), inner).map(
            lambda p: (f"({p[0][0]} {p[1]} {p[2][0]})", f"float64({p[0][1]} {p[1]} {p[2][1]})")
        ),
        st.tuples(st.sampled_from(["abs", "cos", "sin", "floor"]), inner).map(
            lambda p: tuple(f"{p[0]}({text})" for text in p[1])
        ),
        st.tuples(inner, inner, inner).map(
            lambda p: tuple(f"({x} if {condition} else {y})" for x, condition, y in zip(*p, strict=True))
        ),
    ),
    max_leaves=12,
)


@given(LINES, NUMBERS, NUMBERS, NUMBERS)
def test_every_line_is_what_numpy_makes_of_it(texts: tuple[str, str], a: float, b: float, t: float) -> None:
    """Every line has the value that numpy computes from the same text, with float64 numbers and its own functions."""
    scope: dict[str, Any] = {"a": np.float64(a), "b": np.float64(b), "t": np.float64(t), "float64": np.float64}
    scope |= {name: getattr(np, name) for name in ("abs", "cos", "sin", "floor")}
    assert value(texts[0], a=a, b=b, t=t) == pytest.approx(float(eval(texts[1], scope)), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "must be arithmetic such as"),
        ("a +", r"expression must be arithmetic, got 'a \+'"),
        ("a b", "must be arithmetic"),
        ("x * 2", "name must be one of a, b, c, d, t, dt, frame, pi, tau, e or a function, got 'x'"),
        ("__import__('os')", "function must be one of"),
        ("a.real", "got 'a.real'"),
        ("[1, 2]", r"got '\[1, 2\]'"),
        ("'text'", "must hold numbers only, got 'text'"),
        ("1j", "must hold numbers only"),
        ("1 / 1e400", "must hold finite numbers"),
        ("lambda: 1", "got 'lambda: 1'"),
        ("(a := 3)", "got"),
        ("a if b", "must be arithmetic"),
        ("sin()", "sin must have 1 arguments, got 0"),
        ("min(1)", "min must have at least 2 arguments, got 1"),
        ("sin(x=1)", "must be numbers"),
        ("min(*a)", "must be"),
        ("sin(1)(2)", "function must be one of"),
        ("a @ b", "must be arithmetic"),
        ("a << 2", "must be arithmetic"),
        ("a in b", "must be arithmetic"),
        ("(" * 400 + "1" + ")" * 400, "must be"),
        ("1+" * 600 + "1", "at most 1000 characters"),
        ("f'{a}'", "must be arithmetic"),
        ("a\x00", "must be"),
        ("1e999 * 0", "must have a value|finite"),
    ],
)
def test_anything_else_is_refused_in_words(text: str, told: str) -> None:
    """Any text that isn't arithmetic is refused, and the message quotes the offending part."""
    with pytest.raises(PatchError, match=told):
        Arithmetic(text, NAMES).value()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("1 / a", "1 / a must have a value, got a division by zero at a = 0"),
        ("log(a)", "must have a value"),
        ("(a - 1) ** 0.5", "must have a value, got math domain error at a = 0"),
        ("exp(1000)", "must have a value"),
        ("9 ** 9 ** 9 ** 9", "must have a value"),
        ("floor(1e300) ** floor(1e300)", "must have a value"),
        ("a % a", "division by zero|must have a value"),
    ],
)
def test_a_line_without_a_value_says_for_which_numbers(text: str, told: str) -> None:
    """A line without a value is refused at once with its numbers, since powers are computed in floats."""
    start = time.thread_time()
    with pytest.raises(PatchError, match=told):
        value(text)
    assert time.thread_time() - start < 1


def test_a_function_used_as_a_number_is_refused() -> None:
    """`sin` without arguments is refused."""
    with pytest.raises(PatchError, match="function sin must be followed by numbers in brackets, got none"):
        value("sin + 1")


def test_the_help_names_every_function() -> None:
    """The help of the block names every function."""
    assert all(name in (Expression.__doc__ or "") for name in FUNCTIONS)


def test_expression_block_follows_its_text_and_the_clock() -> None:
    """In the block's expression, t, dt and frame are those of the current moment."""
    block = place("value.expression", text="a * t + 1000 * frame + b * dt", a=2.0, b=6.0)
    frames = np.arange(10)
    np.testing.assert_allclose(record(block, 10), 2 * frames * STEP_S + 1000 * frames + 0.1)
    block.set("text", "c - d")
    block.set("c", 5.0)
    block.check()
    block.update(Moment())
    assert block.value == 5.0  # type: ignore[attr-defined]
