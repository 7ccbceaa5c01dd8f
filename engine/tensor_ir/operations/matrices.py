"""Matrix products."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from warploom.engine.libraries.blas import Gemm
from warploom.engine.tensor_ir.errors import InvalidOperation, ShapeMismatch
from warploom.engine.tensor_ir.graph import TensorNode, TensorOperation, is_tf32_allowed
from warploom.engine.tensor_ir.lowering.products import write_product
from warploom.engine.tensor_ir.lowering.step import LoweringStep
from warploom.engine.tensor_ir.operations.reductions import for_each_example
from warploom.engine.tensor_ir.operations.shaping import aligned
from warploom.engine.tensor_ir.types import TensorType, broadcast_shapes, require_floats
from warploom.engine.types import Array

if TYPE_CHECKING:
    from warploom.engine.ops.graph import OpPort
    from warploom.engine.tensor_ir.lowering.elements import Element


@dataclass(frozen=True)
class MatMul(TensorOperation):
    """a [..., m, k] times b [..., k, n], each transposed first if requested; leading axes are broadcast.

    With `sum_batch`, the products of all examples are added up, and the result is not batched. `allow_tf32` is
    explained at the context manager of that name.
    """

    moves_elements = True
    transpose_a: bool = False
    transpose_b: bool = False
    sum_batch: bool = False
    allow_tf32: bool = False

    @property
    def label(self) -> str:
        """The operation's name in instruction lists."""
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
        """Compute the operation with numpy."""
        a, b = aligned(inputs)
        product: Array = np.matmul(
            a.swapaxes(-1, -2) if self.transpose_a else a, b.swapaxes(-1, -2) if self.transpose_b else b
        )
        return product.sum(axis=0, keepdims=True, dtype=product.dtype) if self.sum_batch else product

    def backward(self, node: TensorNode, gradient: TensorNode) -> Sequence[TensorNode | None]:
        """Return the products of the gradient and the other operand, summed over the batch for a weight."""
        a, b = node.inputs
        return product_gradients(self, a, b, gradient)

    def is_elementwise(self, node: TensorNode) -> bool:
        """Return whether each element is a product of two numbers."""
        a = node.inputs[0].type.shape
        return not self.sum_batch and a[-2 if self.transpose_a else -1] == 1

    def element(self, at: Element) -> OpPort:
        """Multiply an element of the column by an element of the row."""
        *leading, row, column = at.place.axes
        front, (m, n) = at.node.type.shape[:-2], at.node.type.shape[-2:]
        a = at.place.at((*front, 1, m), (*leading, 0, row)) if self.transpose_a else None
        b = at.place.at((*front, n, 1), (*leading, column, 0)) if self.transpose_b else None
        return at.op(
            "multiply",
            a=at.input(0, a or at.place.at((*front, m, 1), (*leading, row, 0))),
            b=at.input(1, b or at.place.at((*front, 1, n), (*leading, 0, column))),
        )

    def lower(self, step: LoweringStep) -> None:
        """Write one BLAS call. A batch of columns times one matrix is a single product of two matrices."""
        call = Gemm(self.transpose_a, self.transpose_b, allow_tf32=self.allow_tf32)
        write_product(step, call, sum_batch=self.sum_batch)


def matrix_product() -> MatMul:
    """Return a product operation for the current context, which may round its factors under `allow_tf32`."""
    return MatMul(allow_tf32=is_tf32_allowed())


def product_gradients(
    product: MatMul, a: TensorNode, b: TensorNode, gradient: TensorNode
) -> tuple[TensorNode, TensorNode]:
    """Return the gradients of a product's operands from the gradient of its result."""
    turned_a, turned_b = product.transpose_a, product.transpose_b
    for_a = (b, gradient, turned_b, True) if turned_a else (gradient, b, False, not turned_b)
    for_b = (gradient, a, True, turned_a) if turned_b else (a, gradient, not turned_a, False)
    return _product(product, a.type, *for_a), _product(product, b.type, *for_b)


def _product(
    forward: MatMul, to: TensorType, a: TensorNode, b: TensorNode, transpose_a: bool, transpose_b: bool
) -> TensorNode:
    """Return the product that is the gradient of an operand of type `to`; unless batched, it is summed over the batch.

    Sums over leading axes that the operand was broadcast along are left to the caller.
    """
    batched = a.type.batched or b.type.batched
    operation = MatMul(transpose_a, transpose_b, batched and not to.batched, forward.allow_tf32)
    return for_each_example(a._apply(operation, a, b), to)


def _turned(shape: Sequence[int], transposed: bool) -> tuple[int, int]:
    rows, columns = shape[-2:]
    return (columns, rows) if transposed else (rows, columns)
