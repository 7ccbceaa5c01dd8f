"""Losses and their gradients equal closed forms in float64."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.tensor_ir.networks.simulation import Simulation
from warploom.engine.tensor_ir.errors import ShapeMismatch
from warploom.engine.tensor_ir.graph import TensorNode
from warploom.engine.tensor_ir.networks import losses
from warploom.engine.tensor_ir.networks.builder import NetworkBuilder
from warploom.engine.tensor_ir.networks.network import build_network
from warploom.engine.types import Array, f64


def sigmoid(x: Array) -> Array:
    """Return 1 / (1 + exp(-x))."""
    return 1 / (1 + np.exp(-x))


def softmax(x: Array) -> Array:
    """Return exp(x) divided by its sum over each column."""
    size = np.exp(x - x.max(axis=1, keepdims=True))
    return size / size.sum(axis=1, keepdims=True)


def run(loss: Callable[[TensorNode, TensorNode], TensorNode], outputs: Array, targets: Array) -> tuple[Array, Array]:
    """Return a loss and its gradient for each output."""
    builder = NetworkBuilder(dtype=f64)
    weights = builder.weights("w", outputs.shape[1:], 1.0)
    scaled = builder.keep("scaled", builder.dense_input("x", outputs.shape[1:]) * weights)
    loss(scaled, builder.dense_input("t", targets.shape[1:]))
    network = Simulation(build_network(builder))
    network.run("forward", {"x": outputs, "t": targets})
    network.run("backward")
    return network["loss"], network["scaled.gradient"]


RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(5, 7, 1)) * 3
T = RANDOM.uniform(0, 2, size=(5, 7, 1))

CASES = [
    (losses.mean_error, lambda: (np.abs(X - T).mean(axis=(1, 2)), np.sign(X - T) / 7)),
    (losses.squared_error, lambda: (((X - T) ** 2).mean(axis=(1, 2)), 2 * (X - T) / 7)),
    (
        lambda x, t: losses.power_error(x, t, 2.6),
        lambda: ((np.abs(X - T) ** 2.6).mean(axis=(1, 2)), 2.6 * np.abs(X - T) ** 1.6 * np.sign(X - T) / 7),
    ),
    (
        losses.sigmoid_squared_error,
        lambda: (
            ((sigmoid(X) - T) ** 2).mean(axis=(1, 2)),
            2 * (sigmoid(X) - T) * sigmoid(X) * (1 - sigmoid(X)) / 7,
        ),
    ),
    (
        losses.softmax_cross_entropy,  # with targets that don't add up to 1
        lambda: (-(T * np.log(softmax(X))).sum(axis=(1, 2)), T.sum(axis=1, keepdims=True) * softmax(X) - T),
    ),
    (
        losses.binary_cross_entropy,
        lambda: (
            (-T * np.log(sigmoid(X)) - (1 - T) * np.log(1 - sigmoid(X))).mean(axis=(1, 2)),
            (sigmoid(X) - T) / 7,
        ),
    ),
]


@pytest.mark.parametrize(("loss", "expected"), CASES, ids=["mean", "squared", "power", "sigmoid", "softmax", "binary"])
def test_a_loss_and_its_gradient(
    loss: Callable[[TensorNode, TensorNode], TensorNode], expected: Callable[[], tuple[Array, Array]]
) -> None:
    """A loss is summed over the batch, and its gradient is that of the closed form."""
    found, gradient = run(loss, X, T)
    each, right = expected()
    np.testing.assert_allclose(found.item(), each.sum(), rtol=1e-12)
    np.testing.assert_allclose(gradient, right, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("loss", [losses.softmax_cross_entropy, losses.binary_cross_entropy])
def test_large_logits(loss: Callable[[TensorNode, TensorNode], TensorNode]) -> None:
    """Large logits neither overflow nor lose the gradient."""
    found, gradient = run(loss, np.array([[[800.0], [-800.0]]]), np.array([[[0.0], [1.0]]]))
    assert np.isfinite(found)
    assert np.all(np.isfinite(gradient))
    assert gradient[0, 0, 0] > 0 > gradient[0, 1, 0]


def test_shapes_must_be_the_same() -> None:
    """Targets of another shape are refused rather than broadcast."""
    with pytest.raises(ShapeMismatch, match=r"outputs and targets must have one shape, got \[7, 1\] and \[1, 1\]"):
        run(losses.squared_error, X, T[:, :1])
