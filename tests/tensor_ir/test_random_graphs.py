"""Random graphs have numpy's results for each example."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.fuzzing import many
from tests.tensor_ir.operations.differences import Given, check_gradients
from warploom.engine.tensor_ir.errors import ShapeMismatch
from warploom.engine.tensor_ir.evaluation import evaluate
from warploom.engine.tensor_ir.gradients import gradients
from warploom.engine.tensor_ir.graph import TensorGraph, TensorNode
from warploom.engine.tensor_ir.operations.leaves import Leaf
from warploom.engine.tensor_ir.types import TensorType
from warploom.engine.types import Array, Shape, f64

BATCH = 3

_UNARY: Mapping[str, Callable[[Array], Array]] = {
    "neg": np.negative,
    "sin": np.sin,
    "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "square": np.square,
    "softplus": lambda x: np.log(1 + np.exp(x)),
}
_BINARY: Mapping[str, Callable[[Array, Array], Array]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
}


@dataclass(frozen=True)
class Value:
    """A node, with its values as one array per example, or as one array for all."""

    node: TensorNode
    examples: list[Array]

    def __post_init__(self) -> None:
        assert len(self.examples) == (BATCH if self.node.type.batched else 1)

    def example(self, number: int) -> Array:
        """Return the array of one example."""
        return self.examples[number if self.node.type.batched else 0]


def applied(compute: Callable[..., Any], node: TensorNode, *given: Value) -> Value:
    """Return a node with the results of `compute` for each example."""
    count = BATCH if any(each.node.type.batched for each in given) else 1
    return Value(node, [np.asarray(compute(*(each.example(n) for each in given))) for n in range(count)])


@st.composite
def programs(draw: st.DrawFn) -> tuple[dict[TensorNode, Array], list[Value]]:
    """Draw leaves with values, and all nodes that are computed from them."""
    graph = TensorGraph()
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    values, made = dict[TensorNode, Array](), list[Value]()
    for _ in range(draw(st.integers(1, 3))):
        shape = tuple(draw(st.lists(st.sampled_from([1, 2, 3]), max_size=3)))
        batched = draw(st.booleans())
        node = graph.add(Leaf(TensorType(shape, f64, batched)))
        values[node] = random.uniform(-1, 1, (*([BATCH] if batched else []), *shape))
        made.append(Value(node, list(values[node]) if batched else [values[node]]))
    for _ in range(draw(st.integers(1, 8))):
        made.append(_grown(draw, made))
    return values, made


def _grown(draw: st.DrawFn, made: list[Value]) -> Value:
    x, y = draw(st.sampled_from(made)), draw(st.sampled_from(made))
    shape: Shape = x.node.type.shape
    axes = range(len(shape))
    match draw(
        st.sampled_from(
            ["unary", "binary", "sum", "max", "turn", "reshape", "part", "join", "batch", "matmul", "softmax"]
        )
    ):
        case "binary":
            name = draw(st.sampled_from(sorted(_BINARY)))
            try:
                return applied(_BINARY[name], x.node.elementwise(name, y.node), x, y)
            except ShapeMismatch:
                return x
        case "sum":
            over = tuple(draw(st.sets(st.sampled_from(axes)))) if shape else ()
            keep = draw(st.booleans())
            return applied(lambda a: a.sum(over, keepdims=keep), x.node.sum(over, keepdims=keep), x)
        case "max" if shape:
            axis = draw(st.sampled_from(axes))
            return applied(lambda a: a.max(axis), x.node.max(axis), x)
        case "turn":
            order = draw(st.permutations(axes))
            return applied(lambda a: a.transpose(order), x.node.transpose(order), x)
        case "reshape":
            sizes = draw(st.permutations([*shape, 1]))
            return applied(lambda a: a.reshape(sizes), x.node.reshape(sizes), x)
        case "part" if shape:
            index = draw(st.integers(-shape[0], shape[0] - 1)) if draw(st.booleans()) else slice(None, None, 2)
            return applied(lambda a: a[index], x.node[index], x)
        case "join" if shape:
            axis = draw(st.sampled_from(axes))
            return applied(lambda a: np.concatenate([a, a], axis), x.node.concat(x.node, axis=axis), x)
        case "batch" if x.node.type.batched:
            return Value(x.node.sum_batch(), [np.sum(x.examples, axis=0)])
        case "matmul" if len(shape) > 1:
            return applied(lambda a: a @ np.swapaxes(a, -1, -2), x.node @ x.node.transpose((1, 0)), x)
        case "softmax" if shape:
            axis = draw(st.sampled_from(axes))
            return applied(lambda a: np.exp(a) / np.exp(a).sum(axis, keepdims=True), x.node.softmax(axis), x)
        case _:
            name = draw(st.sampled_from(sorted(_UNARY)))
            return applied(_UNARY[name], x.node.elementwise(name), x)


def _is_tame(value: Value) -> bool:
    return all(np.abs(example).max(initial=0) < 50 for example in value.examples)


@settings(max_examples=many(120), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(programs())
def test_random_graphs_are_those_of_numpy(program: tuple[dict[TensorNode, Array], list[Value]]) -> None:
    """Every node, whether batched or broadcast, has numpy's type and value."""
    leaves, made = program
    tame = [value for value in made if _is_tame(value)]
    for value, found in zip(tame, evaluate([value.node for value in tame], leaves, BATCH), strict=True):
        expected = np.array(value.examples) if value.node.type.batched else value.examples[0]
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@settings(max_examples=many(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(programs())
def test_gradients_of_random_graphs(program: tuple[dict[TensorNode, Array], list[Value]]) -> None:
    """Gradients equal central differences. Graphs with large values, or with ties in a maximum, are left out."""
    leaves, made = program
    assume(not any(node.operation.label == "ReduceMax" for node in made[0].node.graph.nodes))
    target = [value.node for value in made if _is_tame(value)][-1]
    given = [Given(leaf.type, value) for leaf, value in leaves.items()]

    def build(*others: TensorNode) -> TensorNode:
        """Copy the nodes that the target depends on."""
        copies = dict(zip(leaves, others, strict=True))
        for node in target.graph.nodes:
            if node not in copies:
                copies[node] = others[0].graph.add(node.operation, [copies[each] for each in node.inputs])
            if node is target:
                break
        return copies[target]

    check_gradients(build, given)
    assert set(gradients(target.sum().sum_batch() if target.type.batched else target.sum(), list(leaves))) <= set(
        leaves
    )
