"""The op graph of each row of the table has numpy's results, also at kinks, infinities and NaN."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from tests.ops.running import run
from warploom.engine.device.device import Device
from warploom.engine.ops import OpGraphBuilder
from warploom.engine.tensor_ir.operations.elementwise import Elementwise
from warploom.engine.tensor_ir.operations.rules import RULES, Rule
from warploom.engine.types import Array

_SPECIAL = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, 2.0, -2.5, 3.0, 1e-30, -1e-30, 9.0, -9.0, 20.0, -20.0, 60.0, -60.0]
_SPECIAL += [300.0, -300.0, 3000.0, -3000.0, 1e30, -1e30, np.inf, -np.inf, np.nan]
_NUMBERS = {
    "power": (3.0, 2.0, 1.0, 0.5, -1.0, 0.0, 1.7),
    "abs_pow": (2.0, 1.0, 0.5, 2.5),
    "abs_power_error": (2.0, 1.5),
}


def _operations(arity: int) -> list[Elementwise]:
    """Return every row with this many operands, with several values if it has a number."""
    found = []
    for name, rule in RULES.items():
        if rule.arity == arity and rule.kind not in ("boolean", "choice"):
            choices = [(number,) for number in _NUMBERS.get(name, ())] or [(2.0, -0.5)[: rule.numbers]]
            found += [Elementwise(name, numbers) for numbers in choices]
    return found


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("arity", [1, 2])
def test_rows_are_written_as_they_are_evaluated(device: Device, dtype: str, arity: int) -> None:
    """Results equal numpy's to a few units in the last place, and are infinite or NaN in the same places."""
    wide = np.dtype({"f32": np.float32, "f64": np.float64}[dtype])
    operands = np.array(list(product(_SPECIAL, repeat=arity)), wide).T
    operations = _operations(arity)
    builder = OpGraphBuilder()
    inputs = [builder.add("op.input", f"x{at}", type=dtype)["value"] for at in range(arity)]
    for number, operation in enumerate(operations):
        is_truth = operation.rule.kind == "comparison"
        value = operation.emit(builder, *inputs)
        builder.add("op.output", f"out{number}", type="boolean" if is_truth else dtype, value=value)
    given = {f"x{at}": operand for at, operand in enumerate(operands)}
    found = run(device, builder.graph(), given, operands.shape[1])
    for number, operation in enumerate(operations):
        with np.errstate(all="ignore"):
            expected = operation.evaluate(*(operand[np.newaxis] for operand in operands))[0]
        tolerance = _tolerance(operation, wide)
        np.testing.assert_allclose(
            found[f"out{number}"], expected, rtol=tolerance, atol=np.finfo(wide).tiny, err_msg=str(operation)
        )


def _tolerance(operation: Elementwise, wide: np.dtype[Any]) -> float:
    """Return the allowed relative error.

    Functions have errors of two units at most. Where gelu is nearly 0, rounding its argument causes hundreds.
    """
    units = {"gelu": 1000, "gelu_tanh": 1000}.get(operation.name, 20)
    return 0.0 if operation.rule.kind == "comparison" else units * float(np.finfo(wide).eps)


def test_logic_and_choice(device: Device) -> None:
    """Logic for all combinations of booleans, and a choice between two numbers, equal numpy's."""
    truth = np.array(list(product([False, True], repeat=2))).T
    builder = OpGraphBuilder()
    inputs = [builder.add("op.input", f"x{at}", type="boolean")["value"] for at in range(2)]
    numbers = [builder.add("op.input", f"n{at}", type="f32")["value"] for at in range(2)]
    for name, rule in _logic().items():
        value = Elementwise(name).emit(builder, *inputs[: rule.arity])
        builder.add("op.output", name, type="boolean", value=value)
    builder.add("op.output", "where", type="f32", value=Elementwise("where").emit(builder, inputs[0], *numbers))
    given: dict[str, Array] = {"x0": truth[0], "x1": truth[1]}
    given |= {"n0": np.arange(4, dtype=np.float32), "n1": np.full(4, 9, np.float32)}
    found = run(device, builder.graph(), given, 4)
    for name, rule in _logic().items():
        np.testing.assert_array_equal(found[name], rule.evaluate(*truth[: rule.arity]), err_msg=name)
    np.testing.assert_array_equal(found["where"], [9, 9, 2, 3])


def _logic() -> dict[str, Rule]:
    return {name: rule for name, rule in RULES.items() if rule.kind == "boolean"}
