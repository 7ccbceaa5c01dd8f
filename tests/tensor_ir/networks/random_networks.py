"""Random networks, made by a builder."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from warploom.engine.tensor_ir.graph import TensorNode, no_grad
from warploom.engine.tensor_ir.networks.builder import NetworkBuilder
from warploom.engine.tensor_ir.operations.leaves import Constant
from warploom.engine.tensor_ir.operations.reductions import broadcast_to
from warploom.engine.tensor_ir.types import TensorType
from warploom.engine.types import f64

#: Functions without poles, so that values stay small.
UNARY = ("neg", "abs", "sin", "tanh", "sigmoid", "relu", "crelu", "screlu", "square", "softplus", "gelu", "expm1")
BINARY = ("add", "sub", "mul", "maximum", "minimum")
SIZES = (1, 2, 3, 5)


@st.composite
def networks(draw: st.DrawFn, most: int = 14, builder: type[NetworkBuilder] = NetworkBuilder) -> NetworkBuilder:
    """Draw a builder of an input x0, weights, and up to `most` operations, whose root is one number."""
    made = builder(dtype=f64, seed=draw(st.integers(0, 9)))
    nodes = [
        made.dense_input("x0", (draw(st.sampled_from(SIZES)), 1)),
        made.weights("w0", (draw(st.sampled_from(SIZES)), 1), "uniform"),
    ]
    for number in range(draw(st.integers(1, most))):
        nodes.append(_grown(draw, made, draw(st.sampled_from(nodes)), number + 1))
    found = nodes[-1]
    made.root = found * 1.0 if found.type.shape == (1, 1) else found.sum()
    return made


def _grown(draw: st.DrawFn, builder: NetworkBuilder, node: TensorNode, number: int) -> TensorNode:
    """Return a random operation on a node [n, 1]."""
    size = node.type.shape[0]
    kind = draw(st.sampled_from(["affine", "affine", "unary", "unary", "binary", "constant", "copy", "quiet", "wide"]))
    if kind == "affine":
        made = builder.affine(f"l{number}", size, draw(st.sampled_from(SIZES)), "uniform", "uniform").forward(node)
        name = draw(st.sampled_from(["", *UNARY]))
        return made.elementwise(name) if name else made
    if kind == "unary":
        name = draw(st.sampled_from([*UNARY, "abs_pow"]))
        return node.abs_pow(draw(st.sampled_from([1.0, 2.0, 2.5]))) if name == "abs_pow" else node.elementwise(name)
    if kind == "binary":
        leaves = [*builder.inputs.values(), *builder.trained.values()]
        other = draw(st.sampled_from([n for n in leaves if n.type.shape in (node.type.shape, (1, 1))] or [node]))
        other = other * draw(st.sampled_from([1.0, 0.5, -2.0]))
        pair = (node, other) if draw(st.booleans()) else (other, node)
        return pair[0].elementwise(draw(st.sampled_from(BINARY)), pair[1])
    if kind == "constant":
        value = draw(st.sampled_from([0.0, 1.0, -1.0, 0.5]))
        operand = builder.apply(Constant(value, TensorType((size, 1), f64))) if draw(st.booleans()) else value
        return node.elementwise(draw(st.sampled_from(BINARY)), operand)
    if kind == "copy":
        return node.copy() if draw(st.booleans()) else node.reshape(1, size).reshape(size, 1)
    if kind == "quiet":
        with no_grad():
            return draw(st.sampled_from([node * 1.0, node - node * 0.5, node.stop_gradient()]))
    return broadcast_to(node, TensorType(node.type.shape, f64, True)) + node


def batch_of(builder: NetworkBuilder, count: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Return examples of the input."""
    shape = builder.inputs["x0"].type.shape
    return np.random.default_rng(count).uniform(-1, 1, (count, *shape))
