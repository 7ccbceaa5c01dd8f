"""Operations that passes make from several others, because a device computes them as one.

Their gradients follow from their results, so a pass may create them before a graph is differentiated. The element-wise
fused operation, abs_power_error, is in the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from warploom.engine.tensor_ir.errors import InvalidOperation, ShapeMismatch
from warploom.engine.tensor_ir.graph import TensorNode, TensorOperation
from warploom.engine.tensor_ir.lowering.sparse import write_sparse_product
from warploom.engine.tensor_ir.lowering.step import LoweringStep
from warploom.engine.tensor_ir.operations.rules import RULES
from warploom.engine.tensor_ir.operations.shaping import aligned, slice_of
from warploom.engine.tensor_ir.operations.sparse import SparseMatMul, SparseOuter
from warploom.engine.tensor_ir.types import TensorType, broadcast_shapes, require_floats
from warploom.engine.types import Array

#: The activations that fused operations may have: those whose gradient follows from their result.
FUSIBLE = frozenset(name for name, rule in RULES.items() if rule.from_output is not None)


@dataclass(frozen=True)
class Activated(TensorOperation):
    """The common part of fused operations: a product, an optional bias, and an activation at the end."""

    activation: str | None = None

    def __post_init__(self) -> None:
        if self.activation is not None and self.activation not in FUSIBLE:
            raise InvalidOperation(f"activation must be one of {', '.join(sorted(FUSIBLE))}, got {self.activation!r}")

    def _activated(self, product: Array, bias: Sequence[Array]) -> Array:
        """Return the activation, if any, of a product plus its bias."""
        for each in bias:
            product = np.add(*aligned([product, each]))
        return product if self.activation is None else RULES[self.activation].evaluate(product)

    def _before(self, node: TensorNode, gradient: TensorNode) -> TensorNode:
        """Return the gradient of the activation's argument."""
        rule = None if self.activation is None else RULES[self.activation].from_output
        return gradient if rule is None else rule(gradient, node)


@dataclass(frozen=True)
class SparseAffineActivate(Activated):
    """activation(weights @ column + bias) for a sparse column; see `SparseMatMul`. The bias is optional."""

    transpose_a: bool = False

    def result(self, *inputs: TensorType) -> TensorType:
        """Return the product's type."""
        return _with_bias(SparseMatMul(self.transpose_a).result(*inputs[:2]), inputs[2:])

    def evaluate(self, *inputs: Array) -> Array:
        """Compute the operation with numpy."""
        return self._activated(SparseMatMul(self.transpose_a).evaluate(*inputs[:2]), inputs[2:])

    def backward(self, node: TensorNode, gradient: TensorNode) -> Sequence[TensorNode | None]:
        """Return the gradients of the weights and of the bias; the column has none."""
        before = self._before(node, gradient)
        _, column, *bias = node.inputs
        outer = SparseOuter(column.type.shape[0], self.transpose_a)
        return [before._apply(outer, before, column), None, *(before for _ in bias)]

    def lower(self, step: LoweringStep) -> None:
        """Write one kernel, after one that transposes the weights unless they are stored transposed."""
        bias = 2 if len(step.node.inputs) > 2 else None
        write_sparse_product(step, (1,), transpose_a=self.transpose_a, bias=bias, activation=self.activation)


@dataclass(frozen=True)
class DualSparseAffineActivate(Activated):
    """activation(weights @ first + bias) above activation(weights @ second + bias), for two sparse columns."""

    transpose_a: bool = False

    def result(self, *inputs: TensorType) -> TensorType:
        """Return the type of two stacked columns."""
        weights, first, second, *bias = inputs
        product = SparseMatMul(self.transpose_a)
        halves = [_with_bias(product.result(weights, column), bias) for column in (first, second)]
        rows = halves[0].shape[0]
        return TensorType((2 * rows, 1), weights.dtype, halves[0].batched or halves[1].batched)

    def evaluate(self, *inputs: Array) -> Array:
        """Compute the operation with numpy."""
        weights, first, second, *bias = inputs
        product = SparseMatMul(self.transpose_a)
        halves = [self._activated(product.evaluate(weights, column), bias) for column in (first, second)]
        (batch,) = np.broadcast_shapes(*(half.shape[:1] for half in halves))
        return np.concatenate([np.broadcast_to(half, (batch, *half.shape[1:])) for half in halves], axis=1)

    def backward(self, node: TensorNode, gradient: TensorNode) -> Sequence[TensorNode | None]:
        """Return the gradients of the weights and of the bias, summed over both halves; the columns have none."""
        before = self._before(node, gradient)
        _, first, second, *bias = node.inputs
        rows = node.type.shape[0] // 2
        above, below = slice_of(before, 0, 0, rows), slice_of(before, 0, rows, rows)
        outer = SparseOuter(first.type.shape[0], self.transpose_a)
        weights = above._apply(outer, above, first) + below._apply(outer, below, second)
        return [weights, None, None, *(above + below for _ in bias)]

    def lower(self, step: LoweringStep) -> None:
        """Write one kernel per column, after one that transposes the weights unless they are stored transposed."""
        bias = 3 if len(step.node.inputs) > 3 else None
        write_sparse_product(step, (1, 2), transpose_a=self.transpose_a, bias=bias, activation=self.activation)


def _with_bias(product: TensorType, bias: Sequence[TensorType]) -> TensorType:
    """Return the type of a product plus its bias, if any. Raise ShapeMismatch unless the bias fits."""
    if not bias:
        return product
    if len(bias) > 1:
        raise InvalidOperation(f"fused operations must have one bias or none, got {len(bias)}")
    require_floats(product, bias[0])
    if broadcast_shapes(product.shape, bias[0].shape) != product.shape:
        raise ShapeMismatch(f"bias must broadcast to the product {list(product.shape)}, got {list(bias[0].shape)}")
    return TensorType(product.shape, product.dtype, product.batched or bias[0].batched)
