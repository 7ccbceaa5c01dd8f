"""Random networks give the same values and gradients before and after all passes."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.tensor_graphs.evaluation import evaluate
from engine.tensor_graphs.gradients import gradients
from engine.tensor_graphs.graph import Node, TensorGraph, no_grad
from engine.tensor_graphs.operations.leaves import Constant, Leaf
from engine.tensor_graphs.operations.reductions import broadcast_to
from engine.tensor_graphs.passes.pipeline import optimise
from engine.tensor_graphs.passes.rewriting import copied
from engine.tensor_graphs.passes.standard import FUNCTION_PASSES, NETWORK_PASSES
from engine.tensor_graphs.types import TensorType
from engine.types import f64
from tests.fuzzing import many

BATCH = 3
#: Functions without poles, so that values stay tame.
UNARY = ("neg", "abs", "sin", "tanh", "sigmoid", "relu", "crelu", "screlu", "square", "softplus", "gelu", "expm1")
BINARY = ("add", "sub", "mul", "maximum", "minimum")


@st.composite
def networks(draw: st.DrawFn) -> tuple[TensorGraph, list[Node], Node]:
    """Return a graph, its leaves, and a node in it that is one number."""
    graph = TensorGraph()
    sizes = st.sampled_from([1, 2, 3, 5])
    leaves = [_leaf(graph, "x0", (draw(sizes), 1), batched=True), _leaf(graph, "w0", (draw(sizes), 1), batched=False)]
    nodes = list(leaves)
    for number in range(draw(st.integers(1, 14))):
        node = draw(st.sampled_from(nodes))
        made = _grown(draw, graph, node, leaves, number + 1)
        nodes.append(made)
    found = nodes[-1]
    total = found if found.type.shape == (1, 1) else found.sum()
    return graph, leaves, total.sum_batch() if total.type.batched else total


def _leaf(graph: TensorGraph, name: str, shape: tuple[int, ...], *, batched: bool) -> Node:
    return graph.add(Leaf(TensorType(shape, f64, batched)), name=name, requires_grad=not batched)


def _grown(draw: st.DrawFn, graph: TensorGraph, node: Node, leaves: list[Node], number: int) -> Node:
    """Return something that is computed of a node [n, 1]."""
    size = node.type.shape[0]
    kind = draw(st.sampled_from(["affine", "affine", "unary", "unary", "binary", "constant", "copy", "quiet", "wide"]))
    if kind == "affine":
        outputs = draw(st.sampled_from([1, 2, 3, 5]))
        weights = _leaf(graph, f"w{number}", (outputs, size), batched=False)
        bias = _leaf(graph, f"b{number}", (outputs, 1), batched=False)
        leaves += [weights, bias]
        made = weights @ node + bias
        name = draw(st.sampled_from(["", *UNARY]))
        return made.elementwise(name) if name else made
    if kind == "unary":
        name = draw(st.sampled_from([*UNARY, "abs_pow"]))
        return node.abs_pow(draw(st.sampled_from([1.0, 2.0, 2.5]))) if name == "abs_pow" else node.elementwise(name)
    if kind == "binary":
        other = draw(st.sampled_from([n for n in leaves if n.type.shape in (node.type.shape, (1, 1))] or [node]))
        other = other * draw(st.sampled_from([1.0, 0.5, -2.0]))
        pair = (node, other) if draw(st.booleans()) else (other, node)
        return pair[0].elementwise(draw(st.sampled_from(BINARY)), pair[1])
    if kind == "constant":
        value = draw(st.sampled_from([0.0, 1.0, -1.0, 0.5]))
        operand = graph.add(Constant(value, TensorType((size, 1), f64))) if draw(st.booleans()) else value
        return node.elementwise(draw(st.sampled_from(BINARY)), operand)
    if kind == "copy":
        return node.copy() if draw(st.booleans()) else node.reshape(1, size).reshape(size, 1)
    if kind == "quiet":
        with no_grad():
            return draw(st.sampled_from([node * 1.0, node - node * 0.5, node.stop_gradient()]))
    return broadcast_to(node, TensorType(node.type.shape, f64, True)) + node


def _values(leaves: list[Node], seed: int) -> dict[Node, Any]:
    random = np.random.default_rng(seed)
    return {leaf: random.uniform(-1, 1, ((BATCH,) if leaf.type.batched else ()) + leaf.type.shape) for leaf in leaves}


@settings(max_examples=many(60), deadline=None)
@given(made=networks(), seed=st.integers(0, 9))
def test_values_and_gradients_stay(made: tuple[TensorGraph, list[Node], Node], seed: int) -> None:
    """Also when the passes run before differentiation, and again after it."""
    _, leaves, loss = made
    values = _values(leaves, seed)
    weights = [leaf for leaf in leaves if leaf.requires_grad]
    found = gradients(loss, weights) if loss.requires_grad else {}
    expected = evaluate([loss, *found.values()], values, BATCH)

    (simple,) = optimise([loss], NETWORK_PASSES)
    again = gradients(simple, weights) if simple.requires_grad else {}
    zeros = {weight: weight * 0.0 for weight in weights}
    wanted = [simple, *(again.get(weight, zeros[weight]) for weight in found)]
    for got, right in zip(evaluate(wanted, values, BATCH), expected, strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-9, atol=1e-9)

    copies = copied(wanted, TensorGraph(), differentiable=False)
    final = optimise([copies[node] for node in wanted], FUNCTION_PASSES)
    held = {copies[leaf]: value for leaf, value in values.items() if leaf in copies}
    for got, right in zip(evaluate(final, held, BATCH), expected, strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-9, atol=1e-9)
