"""Tensors of consecutive numbers, and sparse columns made of row numbers."""

from __future__ import annotations

import numpy as np
import pytest

from tests.tensor_ir.lowering.running import check, computed, leaf
from warploom.engine.tensor_ir.errors import InvalidOperation
from warploom.engine.tensor_ir.evaluation import evaluate
from warploom.engine.tensor_ir.graph import TensorGraph
from warploom.engine.tensor_ir.operations.leaves import Numbers
from warploom.engine.tensor_ir.operations.sparse import SparseColumn
from warploom.engine.tensor_ir.types import TensorType
from warploom.engine.tensor_runtime.tensors import Tensors
from warploom.engine.types import DType, f16, f32, f64, s32


@pytest.mark.parametrize("dtype", [f16, f32, f64, s32], ids=str)
@pytest.mark.parametrize("shape", [(), (1,), (5,), (3, 4), (2, 3, 1)])
@pytest.mark.parametrize("batched", [False, True])
def test_numbers_go_through_the_whole_tensor(
    tensors: Tensors, dtype: DType, shape: tuple[int, ...], batched: bool
) -> None:
    """Numbers count through the whole tensor, and the batch is the slowest axis."""
    for batch in (1, 7):
        node = TensorGraph().add(Numbers(TensorType(shape, dtype, batched)))
        (found,) = computed(tensors, {}, [node], batch)
        whole = (batch, *shape) if batched else shape
        expected = np.arange(np.prod(whole, dtype=int)).reshape(whole)
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(evaluate([node], {}, batch)[0], expected)


def test_numbers_in_a_kernel_with_others(tensors: Tensors) -> None:
    """Products and sums with consecutive numbers equal numpy's in one kernel with other operations."""
    graph = TensorGraph()
    x = leaf(graph, 4, 3, batched=True)
    row, example = graph.add(Numbers(TensorType((4, 1)))), graph.add(Numbers(TensorType((), batched=True)))
    check(tensors, [x * row + example, row.sum(), (example * x).sum_batch()], [x], batch=5)


def test_a_sparse_column_of_row_numbers(tensors: Tensors) -> None:
    """A sparse column of computed rows is multiplied like one that is an input."""
    graph = TensorGraph()
    weights, rows = leaf(graph, 6, 9), leaf(graph, 4, dtype=s32, batched=True)
    given = np.array([[0, 8, 3, -1], [-1, -1, -1, -1], [2, 1, 0, 5]], np.int32)
    values = {weights: np.random.default_rng(0).normal(size=(6, 9)).astype(np.float32), rows: given}
    product = weights @ graph.add(SparseColumn(9, f32), (rows,))
    (found,) = computed(tensors, values, [product], 3)
    padded = np.concatenate([values[weights], np.zeros((6, 1), np.float32)], axis=1)
    expected = padded[:, given].sum(axis=2).T[:, :, np.newaxis]
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    np.testing.assert_allclose(evaluate([product], values)[0], expected, rtol=1e-5)


def test_rows_of_a_sparse_column_are_whole() -> None:
    """Rows of a sparse column that are no whole numbers, or have several axes, are refused."""
    graph = TensorGraph()
    for wrong in (leaf(graph, 4), leaf(graph, 4, 1, dtype=s32)):
        with pytest.raises(InvalidOperation, match=r"rows of a sparse column must be s32\[nnz\], got"):
            graph.add(SparseColumn(9, f32), (wrong,))
