"""Products with sparse columns, which hold ones in at most `nnz` rows and zeros elsewhere.

A column ends at the first row number below 0: what lies behind counts for nothing, as in bullet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from warploom.engine.tensor_ir.errors import InvalidOperation, ShapeMismatch
from warploom.engine.tensor_ir.graph import TensorNode, TensorOperation
from warploom.engine.tensor_ir.lowering.sparse import write_sparse_outer, write_sparse_product
from warploom.engine.tensor_ir.lowering.step import LoweringStep
from warploom.engine.tensor_ir.operations.indexing import Gather, ScatterAdd
from warploom.engine.tensor_ir.operations.reductions import for_each_example
from warploom.engine.tensor_ir.types import TensorType, require_floats
from warploom.engine.types import Array, DType, s32

if TYPE_CHECKING:
    from warploom.engine.ops.graph import OpPort
    from warploom.engine.tensor_ir.lowering.elements import Element


@dataclass(frozen=True)
class SparseMatMul(TensorOperation):
    """Weights [m, n] times a sparse column [n, 1]: the sum of the weights' columns at the rows with a one.

    With `transpose_a`, the weights are [n, m]. A row number that occurs twice counts twice.
    """

    transpose_a: bool = False

    def result(self, *inputs: TensorType) -> TensorType:
        """Return the type of the column [m, 1]."""
        weights, column = inputs
        rows = require_weights(weights, column, self.transpose_a)
        return TensorType((rows, 1), weights.dtype, column.batched)

    def evaluate(self, *inputs: Array) -> Array:
        """Compute the operation with numpy."""
        weights, column = inputs
        table = weights[0] if self.transpose_a else weights[0].T
        rows = Gather(0).evaluate(table[np.newaxis], _ended(column))
        summed: Array = rows.sum(axis=1, dtype=weights.dtype)
        return summed[..., np.newaxis]

    def backward(self, node: TensorNode, gradient: TensorNode) -> Sequence[TensorNode | None]:
        """Return the gradient of the weights; the column has none."""
        _, column = node.inputs
        return gradient._apply(SparseOuter(column.type.shape[0], self.transpose_a), gradient, column), None

    def lower(self, step: LoweringStep) -> None:
        """Write one kernel, after one that transposes the weights unless they are stored transposed."""
        write_sparse_product(step, (1,), transpose_a=self.transpose_a)


@dataclass(frozen=True)
class SparseOuter(TensorOperation):
    """A column [m, 1] times a transposed sparse column [n, 1], [m, n], added up over the batch.

    This is the gradient of the weights of `SparseMatMul`. With `transpose_a`, it is [n, m] like these. `size` is n.
    """

    size: int
    transpose_a: bool = False

    def result(self, *inputs: TensorType) -> TensorType:
        """Return the type of the weights."""
        dense, column = inputs
        require_floats(dense)
        require_column(column)
        if len(dense.shape) != 2 or dense.shape[1] != 1:
            raise ShapeMismatch(f"first operand must be a column, got {list(dense.shape)}")
        if column.shape[0] != self.size:
            raise ShapeMismatch(f"sparse column must have {self.size} rows, got {list(column.shape)}")
        shape = (dense.shape[0], self.size)
        return TensorType(shape[::-1] if self.transpose_a else shape, dense.dtype)

    def evaluate(self, *inputs: Array) -> Array:
        """Compute the operation with numpy."""
        dense, column = inputs
        rows = np.repeat(dense[:, np.newaxis, :, 0], column.shape[1], axis=1)
        total = ScatterAdd(0, self.size, sum_batch=True).evaluate(_ended(column), rows)
        return total if self.transpose_a else total.swapaxes(-1, -2)

    def backward(self, node: TensorNode, gradient: TensorNode) -> Sequence[TensorNode | None]:
        """Return the sum of the gradient's columns at the rows of the sparse column."""
        dense, column = node.inputs
        found = gradient._apply(SparseMatMul(self.transpose_a), gradient, column)
        return for_each_example(found, dense.type), None

    def lower(self, step: LoweringStep) -> None:
        """Sort the row numbers, and add up the columns of each."""
        write_sparse_outer(step, transpose_a=self.transpose_a)


@dataclass(frozen=True)
class SparseRows(TensorOperation):
    """The row numbers of a sparse column as a dense tensor: s32[nnz], as they are stored."""

    keeps_elements = True

    def result(self, *inputs: TensorType) -> TensorType:
        """Return the type of the row numbers."""
        (column,) = inputs
        require_column(column)
        return TensorType(column.stored_shape, s32, column.batched)

    def evaluate(self, *inputs: Array) -> Array:
        """Return the rows, which is how the column is stored."""
        return inputs[0]

    def element(self, at: Element) -> OpPort:
        """Return a row number."""
        return at.rows(0)


@dataclass(frozen=True)
class SparseColumn(TensorOperation):
    """A sparse column [size, 1], given by its row numbers: s32[nnz], up to the first one below 0."""

    keeps_elements = True

    size: int
    dtype: DType

    is_differentiable = False

    def result(self, *inputs: TensorType) -> TensorType:
        """Return the type of the column."""
        (rows,) = inputs
        if rows.dtype != s32 or len(rows.shape) != 1 or rows.nnz is not None:
            raise InvalidOperation(f"rows of a sparse column must be s32[nnz], got {rows}")
        return TensorType((self.size, 1), self.dtype, rows.batched, rows.shape[0])

    def evaluate(self, *inputs: Array) -> Array:
        """Return the rows, which is how the column is stored."""
        return inputs[0]


def _ended(rows: Array) -> Array:
    """Return the row numbers of columns with -1 behind the end of each."""
    ended: Array = np.where(np.logical_or.accumulate(rows < 0, axis=1), -1, rows)
    return ended


def require_column(column: TensorType) -> None:
    """Raise InvalidOperation for a tensor that isn't a sparse column."""
    if column.nnz is None:
        raise InvalidOperation(f"operand must be a sparse column, got {column}")


def require_weights(weights: TensorType, column: TensorType, transpose_a: bool) -> int:
    """Return the number of rows of the product of weights and a sparse column. Raise an error unless they fit."""
    require_floats(weights)
    require_column(column)
    if weights.batched or len(weights.shape) != 2:
        raise InvalidOperation(f"weights of a sparse column must be one matrix for all examples, got {weights}")
    rows, columns = weights.shape[::-1] if transpose_a else weights.shape
    if columns != column.shape[0]:
        raise ShapeMismatch(f"matrices must fit each other, got {rows} x {columns} and {column.shape[0]} x 1")
    return rows
