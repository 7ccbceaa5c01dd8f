"""Losses. Each takes outputs and targets of one shape, and returns one number per example, [1, 1] batched."""

from __future__ import annotations

from warploom.engine.descriptions.checks import shown
from warploom.engine.tensor_ir.errors import InvalidOperation, ShapeMismatch
from warploom.engine.tensor_ir.graph import TensorNode
from warploom.engine.tensor_ir.types import real_number


def power_error(outputs: TensorNode, targets: TensorNode, power: float = 2.0) -> TensorNode:
    """Return the mean of |outputs - targets| ** power; the power is above 0."""
    _check(outputs, targets)
    if real_number("power", power) <= 0:
        raise InvalidOperation(f"power must be above 0, got {power}")
    return _mean((outputs - targets).abs_pow(power))


def mean_error(outputs: TensorNode, targets: TensorNode) -> TensorNode:
    """Return the mean of |outputs - targets|."""
    return power_error(outputs, targets, 1.0)


def squared_error(outputs: TensorNode, targets: TensorNode) -> TensorNode:
    """Return the mean of (outputs - targets) ** 2."""
    return power_error(outputs, targets, 2.0)


def sigmoid_squared_error(logits: TensorNode, targets: TensorNode) -> TensorNode:
    """Return the mean of (sigmoid(logits) - targets) ** 2."""
    _check(logits, targets)
    return squared_error(logits.sigmoid(), targets)


def softmax_cross_entropy(logits: TensorNode, targets: TensorNode) -> TensorNode:
    """Return -sum(targets * log(softmax(logits))), over the elements of each example.

    Targets are probabilities or any other weights, and need not add up to 1. The gradient of the logits is
    sum(targets) * softmax(logits) - targets.
    """
    _check(logits, targets)
    size = logits.type.size
    flat, wanted = logits.reshape((size, 1)), targets.reshape((size, 1))
    return -(wanted * flat.log_softmax(0)).sum(axis=0, keepdims=True)


def binary_cross_entropy(logits: TensorNode, targets: TensorNode) -> TensorNode:
    """Return the mean of -t * log(sigmoid(x)) - (1 - t) * log(1 - sigmoid(x)), without overflow for any logit x."""
    _check(logits, targets)
    return _mean(logits.softplus() - logits * targets)


def _mean(errors: TensorNode) -> TensorNode:
    size = errors.type.size
    return errors if errors.type.shape == (1, 1) else errors.reshape((size, 1)).mean(axis=0, keepdims=True)


def _check(outputs: TensorNode, targets: TensorNode) -> None:
    for name, node in (("outputs", outputs), ("targets", targets)):
        if not isinstance(node, TensorNode):
            raise InvalidOperation(f"{name} of a loss must be a node of a builder, got {shown(node)}")
    if outputs.type.shape != targets.type.shape:
        shapes = f"{list(outputs.type.shape)} and {list(targets.type.shape)}"
        raise ShapeMismatch(f"outputs and targets must have one shape, got {shapes}")
