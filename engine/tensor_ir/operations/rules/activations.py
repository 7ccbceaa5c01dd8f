"""Activation functions. At a kink, gradients are the same as torch's; those of crelu and screlu are 0."""

from __future__ import annotations

from collections.abc import Mapping
from math import pi, sqrt

import numpy as np

from warploom.engine.tensor_ir.graph import TensorNode
from warploom.engine.tensor_ir.operations.rules.arithmetic import erfc
from warploom.engine.tensor_ir.operations.rules.rule import GraphValue, Rule, from_input, from_output
from warploom.engine.types import Array

#: Constants of gelu's approximation by tanh. It uses sigmoid(2 u) for (1 + tanh(u)) / 2, which is also exact for very
#: negative u.
_SCALE, _CUBIC = 2 * sqrt(2 / pi), 0.044715


def _emit_relu(x: GraphValue) -> GraphValue:
    return (x < 0.0).choose(0.0, x)


def _emit_crelu(x: GraphValue) -> GraphValue:
    return (x < 0.0).choose(0.0, (x > 1.0).choose(1.0, x))


def _emit_screlu(x: GraphValue) -> GraphValue:
    y = _emit_crelu(x)
    return y * y


def _emit_sqr_relu(x: GraphValue) -> GraphValue:
    y = _emit_relu(x)
    return y * y


def _above(g: TensorNode, y: TensorNode) -> TensorNode:
    """Return the gradient where the result is above 0."""
    return y.less_equal(0.0).where(0.0, g)


def _between(g: TensorNode, y: TensorNode) -> TensorNode:
    """Return the gradient where the result is between 0 and 1."""
    return y.less_equal(0.0).elementwise("or", y.greater_equal(1.0)).where(0.0, g)


def _root(y: TensorNode) -> TensorNode:
    """Return the square root of a result, or 1 if the result is 0, so that no gradient is infinite."""
    return y.less_equal(0.0).where(1.0, y).sqrt()


def _emit_sigmoid(x: GraphValue) -> GraphValue:
    small = (-abs(x)).call("exp")
    return (x < 0.0).choose(small, 1.0) / (small + 1.0)


def _sigmoid(x: Array) -> Array:
    small = np.exp(-np.abs(x))
    found: Array = np.where(x < 0, small, np.ones_like(x)) / (1 + small)
    return found


def _emit_softplus(x: GraphValue) -> GraphValue:
    return _emit_relu(x) + (-abs(x)).call("exp").call("log1p")


def _gelu_gradient(g: TensorNode, x: TensorNode) -> TensorNode:
    below = (x * -sqrt(0.5)).elementwise("erfc") * 0.5
    density = (x.square() * -0.5).exp() * (1 / sqrt(2 * pi))
    return g * (below + x * density)


def _emit_gelu_tanh(x: GraphValue) -> GraphValue:
    return x * _emit_sigmoid((x + x * x * x * _CUBIC) * _SCALE)


def _gelu_tanh(x: Array) -> Array:
    found: Array = x * _sigmoid(_SCALE * (x + _CUBIC * x**3))
    return found


def _gelu_tanh_gradient(g: TensorNode, x: TensorNode) -> TensorNode:
    square = x.square()
    below = ((x + x * square * _CUBIC) * _SCALE).sigmoid()
    slope = (square * (3 * _CUBIC) + 1.0) * _SCALE
    return g * (below + x * (below * (1.0 - below)) * slope)


ACTIVATIONS: Mapping[str, Rule] = {
    "relu": from_output(_emit_relu, lambda x: np.maximum(x, 0), _above),
    "crelu": from_output(_emit_crelu, lambda x: np.clip(x, 0, 1), _between),
    "screlu": from_output(
        _emit_screlu, lambda x: np.square(np.clip(x, 0, 1)), lambda g, y: _between(g * (_root(y) * 2.0), y)
    ),
    "sqr_relu": from_output(
        _emit_sqr_relu, lambda x: np.square(np.maximum(x, 0)), lambda g, y: _above(g * (_root(y) * 2.0), y)
    ),
    "sigmoid": from_output(_emit_sigmoid, _sigmoid, lambda g, y: g * (y * (1.0 - y))),
    "softplus": from_input(
        _emit_softplus, lambda x: np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))), lambda g, x: g * x.sigmoid()
    ),
    "gelu": from_input(
        lambda x: x * 0.5 * (x * -sqrt(0.5)).call("erfc"),
        lambda x: 0.5 * x * erfc(x * -sqrt(0.5)),
        _gelu_gradient,
    ),
    "gelu_tanh": from_input(_emit_gelu_tanh, _gelu_tanh, _gelu_tanh_gradient),
}
