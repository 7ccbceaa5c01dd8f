"""Gradients of every operation, and their gradients, equal central differences."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from tests.tensor_ir.operations.cases import Case, all_cases, elementwise_cases, tensor
from tests.tensor_ir.operations.differences import check_gradients, floats
from warploom.engine.tensor_ir.evaluation import evaluate
from warploom.engine.tensor_ir.gradients import gradients
from warploom.engine.tensor_ir.graph import TensorGraph, TensorNode, TensorOperation
from warploom.engine.tensor_ir.operations.elementwise import Elementwise
from warploom.engine.tensor_ir.operations.leaves import Leaf
from warploom.engine.tensor_ir.operations.rules import RULES
from warploom.engine.tensor_ir.types import TensorType
from warploom.engine.types import Array, f64


@pytest.mark.parametrize("case", all_cases(), ids=str)
def test_gradients_are_those_of_central_differences(case: Case) -> None:
    """First and second gradients equal central differences for each operand, batched or broadcast."""
    check_gradients(case.build, case.given, order=2)


def test_every_differentiable_row_has_a_case() -> None:
    """Exactly the differentiable rows of the table have cases."""
    tested = {case.name for case in elementwise_cases()}
    for name, rule in RULES.items():
        differentiable = Elementwise(name, (1.0,) * rule.numbers).is_differentiable
        assert differentiable == any(each == name or each.startswith(f"{name}_") for each in tested)


@dataclass(frozen=True)
class Wrong(TensorOperation):
    """The square, with a gradient that may be wrong."""

    factor: float
    is_cut: bool = False

    def result(self, *inputs: TensorType) -> TensorType:
        """Return the operand's type."""
        return inputs[0]

    def evaluate(self, *inputs: Array) -> Array:
        """Return the square."""
        return inputs[0] * inputs[0]

    def backward(self, node: TensorNode, gradient: TensorNode) -> list[TensorNode | None]:
        """Return a multiple of the gradient, optionally detached from the operand."""
        (x,) = node.inputs
        return [gradient * ((x.stop_gradient() if self.is_cut else x) * self.factor)]


def test_a_wrong_rule_is_found() -> None:
    """A gradient rule that is off by a thousandth, or detached, fails the check that the right rule passes."""
    given = [floats(np.random.default_rng(1), tensor((5,)), 3)]
    check_gradients(lambda x: x.apply(Wrong(2.0)), given, order=2)
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        check_gradients(lambda x: x.apply(Wrong(2.002)), given)
    check_gradients(lambda x: x.apply(Wrong(2.0, is_cut=True)), given)
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        check_gradients(lambda x: x.apply(Wrong(2.0, is_cut=True)), given, order=2)


def test_each_operation_has_a_case_whose_gradient_is_not_0() -> None:
    """A case with a zero gradient would hide a missing rule; only x to the power of 0 depends on nothing."""
    largest: dict[str, float] = {}
    for case in all_cases():
        graph = TensorGraph()
        leaves = [graph.add(Leaf(each.type)) for each in case.given]
        node = case.build(*leaves)
        seed = graph.add(Leaf(node.type))
        found = gradients(node, [leaf for leaf in leaves if leaf.type.nnz is None and leaf.type.dtype == f64], seed)
        values: dict[TensorNode, Any] = {leaf: each.value for leaf, each in zip(leaves, case.given, strict=True)}
        (value,) = evaluate([node], values)
        values[seed] = np.random.default_rng(1).uniform(size=value.shape)
        for gradient in evaluate(list(found.values()), values):
            largest[case.name] = max(largest.get(case.name, 0.0), float(np.abs(gradient).max()))
    assert {name for name, size in largest.items() if size < 0.01} == {"power_0"}
