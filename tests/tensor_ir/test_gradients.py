"""Reverse-mode differentiation of whole graphs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from warploom.engine.tensor_ir.errors import InvalidOperation
from warploom.engine.tensor_ir.evaluation import evaluate
from warploom.engine.tensor_ir.gradients import gradients
from warploom.engine.tensor_ir.graph import (
    TensorGraph,
    TensorNode,
    TensorOperation,
    allow_tf32,
    no_grad,
    reachable_nodes,
)
from warploom.engine.tensor_ir.operations.leaves import Constant, Leaf
from warploom.engine.tensor_ir.operations.matrices import MatMul
from warploom.engine.tensor_ir.operations.sparse import SparseOuter
from warploom.engine.tensor_ir.passes.pipeline import PASSES, optimise
from warploom.engine.tensor_ir.types import TensorType
from warploom.engine.types import Array, Shape, f16, f64, s32


def leaf(graph: TensorGraph, shape: Shape, *, batched: bool = False, **options: Any) -> TensorNode:
    """Return a new leaf of f64."""
    return graph.add(Leaf(TensorType(shape, f64, batched)), **options)


def test_a_node_that_is_used_often_adds_up_its_gradients() -> None:
    """d(x * x + 3 x) / dx = 2 x + 3, with one term for each use."""
    graph = TensorGraph()
    x = leaf(graph, ())
    assert evaluate([gradients(x * x + x * 3.0, [x])[x]], {x: 5.0}) == [13]


def test_derivatives_of_any_order() -> None:
    """The derivatives of x to the power of 4 equal the closed forms, up to the fifth, which is 0."""
    graph = TensorGraph()
    x = leaf(graph, ())
    node, found = x**4, []
    for _ in range(4):
        node = gradients(node, [x])[x]
        found.append(float(evaluate([node], {x: 1.5})[0]))
    assert found == [13.5, 27, 36, 24]
    fifth = gradients(node, [x])[x]
    assert evaluate([fifth], {x: 1.5}) == [0]


def test_a_jacobian_has_a_row_for_each_seed() -> None:
    """The Jacobian of softmax is the closed form diag(p) - p p^T."""
    graph = TensorGraph()
    x, seed = leaf(graph, (5,)), leaf(graph, (5,))
    softmax = x.softmax()
    row = gradients(softmax, [x], seed)[x]
    value = np.random.default_rng(3).normal(size=5)
    jacobian = np.array([evaluate([row], {x: value, seed: unit})[0] for unit in np.eye(5)])
    p = np.exp(value) / np.exp(value).sum()
    np.testing.assert_allclose(jacobian, np.diag(p) - np.outer(p, p), atol=1e-15)


def test_a_hessian() -> None:
    """The Hessian of x^T A x + exp(b^T x) is A + A^T + exp(b^T x) b b^T."""
    graph = TensorGraph()
    x, matrix, b, seed = leaf(graph, (4, 1)), leaf(graph, (4, 4)), leaf(graph, (4, 1)), leaf(graph, (4, 1))
    node = (x.transpose() @ matrix @ x + (b.transpose() @ x).exp()).sum()
    row = gradients(gradients(node, [x])[x], [x], seed)[x]
    random = np.random.default_rng(5)
    values = {x: random.normal(size=(4, 1)), matrix: random.normal(size=(4, 4)), b: random.normal(size=(4, 1))}
    found = np.hstack([evaluate([row], {**values, seed: unit[:, None]})[0] for unit in np.eye(4)])
    a, c = values[matrix], values[b]
    np.testing.assert_allclose(found, a + a.T + np.exp(c.T @ values[x]) * c @ c.T, rtol=1e-12)


def test_no_gradient_passes_where_it_is_stopped() -> None:
    """stop_gradient, no_grad, a frozen leaf, a comparison and integers stop a gradient."""
    graph = TensorGraph()
    x, frozen = leaf(graph, (), name="x"), leaf(graph, (), name="frozen", requires_grad=False)
    with no_grad():
        inside = x * 2.0
    assert evaluate([gradients(x * x.stop_gradient(), [x])[x]], {x: 3.0}) == [3]
    assert evaluate([gradients(x * inside, [x])[x]], {x: 3.0}) == [6]
    assert evaluate([gradients(x * frozen, [x])[x]], {x: 3.0, frozen: 4.0}) == [4]
    whole = x.cast(s32).cast(f64)
    assert evaluate([gradients(x * whole, [x])[x]], {x: 3.7}) == [3]
    assert x.requires_grad
    assert not any(node.requires_grad for node in (frozen, inside, x.stop_gradient(), x.less(1.0), whole, frozen * 2.0))
    assert gradients(frozen * 2.0, [x]) == {}
    for node in (frozen, inside, x.cast(s32)):
        with pytest.raises(InvalidOperation, match="a gradient must be asked for floats that require one, got"):
            gradients(x * x, [node])


def test_no_grad_ends_with_its_block() -> None:
    """no_grad ends with its block, also if the block fails or is inside another one."""
    graph = TensorGraph()
    x = leaf(graph, ())
    with pytest.raises(ZeroDivisionError), no_grad():
        with no_grad():
            pass
        assert not (x * 2.0).requires_grad
        raise ZeroDivisionError
    assert (x * 2.0).requires_grad


def test_what_is_differentiated_is_one_number_or_has_a_seed() -> None:
    """Only floats that are one number, or that have a seed of their type, can be differentiated."""
    graph = TensorGraph()
    x, batched = leaf(graph, (3,), name="x"), leaf(graph, (), batched=True, name="batched")
    for node in (x, batched):
        with pytest.raises(InvalidOperation, match=r"must be one number that isn't batched, got .*; sum it, or"):
            gradients(node, [node])
    with pytest.raises(InvalidOperation, match=r"seed must have the type of the differentiated node, f64\[3\], got"):
        gradients(x, [x], batched)
    with pytest.raises(InvalidOperation, match="node to differentiate must have floats, got"):
        gradients(x.less(0.0), [x])
    assert gradients(x, [x], x) == {x: x}


def test_the_gradient_of_a_weight_is_one_product() -> None:
    """One product covers all examples, without transposed copies."""
    graph = TensorGraph()
    weights, x = leaf(graph, (4, 3)), leaf(graph, (3, 1), batched=True, requires_grad=False)
    column = graph.add(Leaf(TensorType((3, 1), f64, True, 2)))
    seed = leaf(graph, (4, 1), batched=True)
    dense = gradients(weights @ x, [weights], seed)[weights]
    assert (dense.operation, dense.inputs) == (MatMul(False, True, sum_batch=True), (seed, x))
    sparse = gradients(weights @ column, [weights], seed)[weights]
    assert (sparse.operation, sparse.inputs) == (SparseOuter(3), (seed, column))


def test_products_that_may_round_have_gradients_that_may() -> None:
    """Second gradients may round too, even after the passes and outside the context; other products stay exact."""
    graph = TensorGraph()
    weights, x, bias = leaf(graph, (4, 3)), leaf(graph, (3, 1), batched=True), leaf(graph, (4, 1))
    with allow_tf32():
        layer = (weights @ x + bias).relu()
    exact = weights @ x
    (simplified,) = optimise([layer], PASSES)
    for out, expected in ((layer, True), (simplified, True), (exact, False)):
        first = gradients(out.square().sum().sum_batch(), [weights, x])
        second = gradients(first[weights].square().sum(), [x])
        nodes = reachable_nodes([out, *first.values(), *second.values()])
        products = [node.operation for node in nodes if isinstance(node.operation, MatMul)]
        assert len(products) > 3
        assert {operation.allow_tf32 for operation in products} == {expected}


def test_a_bias_is_summed_over_examples_after_axes() -> None:
    """The gradient of a scalar bias is summed over each example's elements first, which leaves less for the batch."""
    graph = TensorGraph()
    bias, x = leaf(graph, ()), leaf(graph, (5, 3), batched=True)
    found = gradients((x + bias).sum().sum_batch(), [bias, x])
    assert found[bias].type == bias.type
    assert found[x].type == x.type
    value = np.zeros((7, 5, 3))
    assert evaluate([found[bias]], {x: value, bias: 0}) == [7 * 5 * 3]
    assert (evaluate([found[x]], {x: value, bias: 0})[0] == 1).all()


@dataclass(frozen=True)
class Doubled(TensorOperation):
    """Repeats each number twice; a custom operation whose gradient may have a wrong number of axes."""

    gradient: str

    def result(self, *inputs: TensorType) -> TensorType:
        """Return the type of pairs."""
        return inputs[0].with_shape((*inputs[0].shape, 2))

    def evaluate(self, *inputs: Array) -> Array:
        """Repeat each number."""
        return np.repeat(inputs[0][..., np.newaxis], 2, -1)

    def backward(self, node: TensorNode, gradient: TensorNode) -> Sequence[TensorNode | None]:
        """Return the sum of each pair, or a wrong gradient."""
        return {"right": [gradient.sum(-1)], "none": [None], "shape": [gradient], "two": [gradient] * 2}[self.gradient]


def test_gradients_have_the_element_type_of_their_node() -> None:
    """The gradient of a cast between floats has the element type of the operand."""
    graph = TensorGraph()
    x = graph.add(Leaf(TensorType((3,), f16)))
    found = gradients((x.cast(f64) * 3.0).sum(), [x])[x]
    assert found.type == x.type
    assert evaluate([found], {x: [1.0, 2.0, 3.0]})[0].tolist() == [3, 3, 3]


def test_operations_of_ones_own() -> None:
    """A user's operation is differentiated by its rule, and a gradient that can't fit is an error with its name."""
    graph = TensorGraph()
    x = leaf(graph, (3,), name="x")
    found = gradients((x.apply(Doubled("right")) * x.apply(Doubled("right"))).sum(), [x])[x]
    assert evaluate([found], {x: [1.0, 2, 3]})[0].tolist() == [4, 8, 12]
    assert gradients(x.apply(Doubled("none")).sum(), [x]) == {}
    with pytest.raises(InvalidOperation, match=r"Doubled.backward must give x: f64\[3\] a gradient of its type"):
        gradients(x.apply(Doubled("shape")).sum(), [x])
    with pytest.raises(InvalidOperation, match=r"Doubled.backward must give 1 gradients, one for each input, got 2"):
        gradients(x.apply(Doubled("two")).sum(), [x])


def test_an_operation_without_a_rule_is_named() -> None:
    """An operation without a gradient rule is an error when it is differentiated."""

    @dataclass(frozen=True)
    class Plain(TensorOperation):
        def result(self, *inputs: TensorType) -> TensorType:
            return inputs[0]

    graph = TensorGraph()
    x = leaf(graph, ())
    with pytest.raises(InvalidOperation, match="Plain must have a gradient rule to be differentiated"):
        gradients(x.apply(Plain()), [x])


def test_nothing_is_computed_twice_or_for_others() -> None:
    """The gradient of a sum of a thousand terms has a few nodes per term, and none for unwanted leaves."""
    graph = TensorGraph()
    x, y = leaf(graph, ()), leaf(graph, ())
    node = x
    for _ in range(1000):
        node = node * x + y
    before = len(graph.nodes)
    found = gradients(node, [x])[x]
    assert len(graph.nodes) - before < 6 * 1000
    assert len(reachable_nodes([found])) < 9 * 1000
    assert gradients(graph.add(Constant(2.0, TensorType((), f64))), [x]) == {}
