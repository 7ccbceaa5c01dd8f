"""Products of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.libraries import blas
from engine.tensor_graphs.errors import ShapeMismatch
from engine.tensor_graphs.graph import Node, Operation
from engine.tensor_graphs.lowering.step import Step
from engine.tensor_graphs.types import TensorType, broadcast_shapes

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
        if a.dtype != b.dtype:
            raise ShapeMismatch(f"matrices must have one element type, got {a.dtype} and {b.dtype}")
        if len(a.shape) < 2 or len(b.shape) < 2:
            raise ShapeMismatch("operands must be matrices, of two axes or more")
        m, k = _turned(a.shape, self.transpose_a)
        inner, n = _turned(b.shape, self.transpose_b)
        if k != inner:
            raise ShapeMismatch(f"matrices must fit each other, got {m} x {k} and {inner} x {n}")
        leading = broadcast_shapes(a.shape[:-2], b.shape[:-2])
        return TensorType((*leading, m, n), a.dtype, (a.batched or b.batched) and not self.sum_batch)

    def evaluate(self, *inputs: Array) -> Array:
        """Compute it with numpy."""
        a, b = inputs
        product: Array = np.matmul(
            a.swapaxes(-1, -2) if self.transpose_a else a, b.swapaxes(-1, -2) if self.transpose_b else b
        )
        if self.sum_batch:
            product = product.sum(axis=0, dtype=product.dtype)
        return product

    def backward(self, node: Node, gradient: Node) -> Sequence[Node | None]:
        """Return the products of the gradient with the other operand; each is summed to its operand's type."""
        a, b = node.inputs
        for_a = gradient._apply(MatMul(False, not self.transpose_b), gradient, b)
        for_b = gradient._apply(MatMul(not self.transpose_a, False), a, gradient)
        if self.transpose_a:
            for_a = gradient._apply(MatMul(self.transpose_b, True), b, gradient)
        if self.transpose_b:
            for_b = gradient._apply(MatMul(True, self.transpose_a), gradient, a)
        return for_a, for_b

    def lower(self, step: Step) -> None:
        """One call of BLAS. A batch of columns times one matrix is one product of two matrices."""
        a, b = step.node.inputs
        if not a.type.batched and b.type.batched and len(b.type.stored_shape) == 1 and not self.transpose_b:
            call = blas.Gemm(False, not self.transpose_a)
            step.build.capture(call.on(a=step.input(1), b=step.input(0), out=step.out))
            return
        call = blas.Gemm(self.transpose_a, self.transpose_b)
        step.build.capture(call.on(a=step.input(0), b=step.input(1), out=step.out))


def _turned(shape: Sequence[int], transposed: bool) -> tuple[int, int]:
    rows, columns = shape[-2:]
    return (columns, rows) if transposed else (rows, columns)
