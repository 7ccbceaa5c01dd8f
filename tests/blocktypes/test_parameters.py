"""Parameters inside `describe`, and texts that are converted to their values."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from warploom.api import Block, BlockBuilder, In, f32, param, port
from warploom.engine.blocktypes.parameters import TYPES, ParameterSpec, parse_text
from warploom.engine.diagnostics import PatchError

OPERATIONS: list[Callable[[Any], object]] = [
    lambda a: a + 1,
    lambda a: 1 + a,
    lambda a: a - 1,
    lambda a: 2.0 * a,
    lambda a: np.float32(2) * a,
    lambda a: a / 2,
    lambda a: 1 // a,
    lambda a: a % 2,
    lambda a: a**2,
    lambda a: -a,
    abs,
    int,
    float,
    bool,
    lambda a: a < 1,
    lambda a: a >= 1,
    lambda a: a == 1,
    lambda a: a != 1,
    lambda a: [10, 20][a],
    lambda a: range(a),
]


@pytest.fixture
def block() -> Any:
    """A block with a live and a structural parameter."""

    class Sample(Block, id="test_parameters.sample"):
        """Multiply by numbers."""

        x: In[f32] = port(doc="X.")
        a: float = param(1.0, doc="A.")
        n: int = param(3, structural=True, doc="N.")

        def describe(self, build: BlockBuilder) -> None: ...

    return Sample("node", {"n": 4})


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_live_parameter_cannot_be_computed_with_and_says_why(block: Any, operation: Callable[[Any], object]) -> None:
    """Any expression of a live parameter in `describe` raises an error that suggests structural=True."""
    with pytest.raises(TypeError) as refused:
        operation(block.a)
    assert str(refused.value) == (
        "parameter a is live and must only be passed to a kernel; declare it with structural=True to compute with its "
        "value in describe"
    )


def test_a_structural_parameter_is_its_value(block: Any) -> None:
    """In `describe`, a structural parameter is a number that can be computed with."""
    assert block.n + 1 == 5


@pytest.mark.parametrize(
    ("hint", "text", "value"),
    [
        (float, "1e-3", 0.001),
        (float, "-2", -2.0),
        (int, "7", 7),
        (int, "7.0", 7),
        (bool, "on", True),
        (bool, "False", False),
        (str, "b", "b"),
        (Path, "a/b.png", "a/b.png"),
    ],
)
def test_typed_text_becomes_a_value_of_the_parameters_type(hint: type, text: str, value: object) -> None:
    """A text is converted to a value of the parameter's type."""
    default: Any = {float: 0.0, int: 0, bool: True, str: "", Path: ""}[hint]
    spec = ParameterSpec("a", TYPES[hint], default, "A.")
    assert parse_text(spec, text) == value
    assert type(parse_text(spec, text)) is type(value)


@pytest.mark.parametrize(
    ("hint", "text", "message"),
    [
        (float, "much", "parameter a must be a finite number, got 'much'"),
        (float, "nan", "parameter a must be a finite number, got "),
        (float, "inf", "parameter a must be a finite number, got "),
        (int, "1.5", "parameter a must be a whole number, got 1.5"),
        (bool, "maybe", "parameter a must be true or false, got 'maybe'"),
        (np.ndarray, "1", "parameter a must be set from Python, got text"),
    ],
)
def test_typed_text_that_does_not_fit_is_refused(hint: type, text: str, message: str) -> None:
    """The error for a text that does not fit states which values are accepted."""
    default: Any = {float: 0.0, int: 0, bool: True, np.ndarray: np.zeros(1)}[hint]
    spec = ParameterSpec("a", TYPES[hint], default, "A.")
    with pytest.raises(PatchError) as refused:
        parse_text(spec, text)
    assert str(refused.value).startswith(message)
