"""Products of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from engine.libraries import blas
from engine.tensor_graphs.errors import InvalidOperation, ShapeMismatch
from engine.tensor_graphs.graph import Node, Operation
from engine.tensor_graphs.lowering.step import Step
from engine.tensor_graphs.operations.alignment import aligned
from engine.tensor_graphs.operations.reductions import broadcast_to
from engine.tensor_graphs.types import TensorType, broadcast_shapes, require_floats

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class MatMul(Operation):
    """a [..., m, k] times b [..., k, n], each transposed first if asked for; leading axes are broadcast.

    With `sum_batch`, the products of all examples are added up, and the result is not batched.
    """

    transpose_a: bool = False
    transpose_b: bool = False
    sum_batch: bool = False

    @property
    def label(self) -> str:
        """As instruction lists call it."""
        return "Matmul"

    def result(self, *inputs: TensorType) -> TensorType:
        """Return the product's type."""
        a, b = inputs
        require_floats(a, b)
        if len(a.shape) < 2 or len(b.shape) < 2:
            raise ShapeMismatch(f"matrices must have two axes or more, got {list(a.shape)} and {list(b.shape)}")
        if self.sum_batch and not (a.batched or b.batched):
            raise InvalidOperation(f"one operand must be batched to be summed over the batch, got {a} and {b}")
        m, k = _turned(a.shape, self.transpose_a)
        inner, n = _turned(b.shape, self.transpose_b)
        if k != inner:
            raise ShapeMismatch(f"matrices must fit each other, got {m} x {k} and {inner} x {n}")
        leading = broadcast_shapes(a.shape[:-2], b.shape[:-2])
        return TensorType((*leading, m, n), a.dtype, (a.batched or b.batched) and not self.sum_batch)

    def evaluate(self, *inputs: Array) -> Array:
        """Compute it with numpy."""
        a, b = aligned(inputs)
        product: Array = np.matmul(
            a.swapaxes(-1, -2) if self.transpose_a else a, b.swapaxes(-1, -2) if self.transpose_b else b
        )
        return product.sum(axis=0, keepdims=True, dtype=product.dtype) if self.sum_batch else product

    def backward(self, node: Node, gradient: Node) -> Sequence[Node | None]:
        """Return the products of the gradient with the other operand, over the batch as one for a weight."""
        a, b = node.inputs
        return product_gradients(self, a, b, gradient)

    def lower(self, step: Step) -> None:
        """One call of BLAS. A batch of columns times one matrix is one product of two matrices."""
        a, b = step.node.inputs
        if not a.type.batched and b.type.batched and len(b.type.stored_shape) == 1 and not self.transpose_b:
            call = blas.Gemm(False, not self.transpose_a)
            step.build.capture(call.on(a=step.input(1), b=step.input(0), out=step.out))
            return
        call = blas.Gemm(self.transpose_a, self.transpose_b)
        step.build.capture(call.on(a=step.input(0), b=step.input(1), out=step.out))


def product_gradients(product: MatMul, a: Node, b: Node, gradient: Node) -> tuple[Node, Node]:
    """Return the gradients of the operands of a product from that of its result."""
    if product.transpose_a:
        for_a = _product(b, gradient, a.type, product.transpose_b, True)
    else:
        for_a = _product(gradient, b, a.type, False, not product.transpose_b)
    if product.transpose_b:
        for_b = _product(gradient, a, b.type, True, product.transpose_a)
    else:
        for_b = _product(a, gradient, b.type, not product.transpose_a, False)
    return for_a, for_b


def _product(a: Node, b: Node, to: TensorType, transpose_a: bool, transpose_b: bool) -> Node:
    """Return the product that is the gradient of an operand of type `to`, summed over the batch if that isn't batched.

    Sums over leading axes along which the operand was broadcast are left to the caller.
    """
    batched = a.type.batched or b.type.batched
    product = a._apply(MatMul(transpose_a, transpose_b, sum_batch=batched and not to.batched), a, b)
    return broadcast_to(product, msgspec.structs.replace(product.type, batched=True)) if to.batched else product


def _turned(shape: Sequence[int], transposed: bool) -> tuple[int, int]:
    rows, columns = shape[-2:]
    return (columns, rows) if transposed else (rows, columns)
