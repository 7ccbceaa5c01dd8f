"""Evaluation of graphs with numpy."""

import numpy as np
import pytest

from warploom.engine.tensor_ir.errors import ExecutionFailed, ShapeMismatch
from warploom.engine.tensor_ir.evaluation import evaluate
from warploom.engine.tensor_ir.graph import TensorGraph
from warploom.engine.tensor_ir.operations.indexing import ScatterAdd
from warploom.engine.tensor_ir.operations.leaves import BatchSize, Constant, Leaf
from warploom.engine.tensor_ir.operations.reductions import BroadcastTo
from warploom.engine.tensor_ir.operations.sparse import SparseMatMul, SparseOuter
from warploom.engine.tensor_ir.types import TensorType
from warploom.engine.types import bf16, f16, f32, f64, s32


def test_examples_are_computed_each_by_itself() -> None:
    """A batched product equals numpy's for each example, with the unbatched operand shared."""
    graph = TensorGraph()
    weights = graph.add(Leaf(TensorType((2, 3), f64)))
    x = graph.add(Leaf(TensorType((3, 1), f64, batched=True)))
    w, xs = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(4, 3, 1)
    product, total = evaluate([weights @ x, (weights @ x).sum_batch()], {weights: w, x: xs})
    np.testing.assert_array_equal(product, [w @ each for each in xs])
    np.testing.assert_array_equal(total, sum(w @ each for each in xs))


def test_the_batch_size_is_that_of_the_values() -> None:
    """Without batched values the batch size is an argument; sizes must agree."""
    graph = TensorGraph()
    x = graph.add(Leaf(TensorType((), f32, batched=True)), name="x")
    y = graph.add(Leaf(TensorType((2,), f32, batched=True)), name="y")
    size, ones = graph.add(BatchSize(f32)), graph.add(Constant(1.0, TensorType((2,), f32, batched=True)))
    assert evaluate([size, x.mean_batch()], {x: [1, 2, 6]}) == [3, 3]
    np.testing.assert_array_equal(evaluate([ones, ones.sum_batch()], {}, 2)[0], np.ones((2, 2)))
    assert evaluate([size], {}) == [1]
    with pytest.raises(
        ShapeMismatch, match=r"value of y: f32\[2\], batched must have 3 examples, as others have, got 1"
    ):
        evaluate([y], {x: [1, 2, 3], y: [[1, 2]]})
    with pytest.raises(ShapeMismatch, match=r"must have, behind the batch axis, shape \[2\], got \[3\]"):
        evaluate([y], {y: [1, 2, 3]})
    with pytest.raises(ExecutionFailed, match="leaf must have a value, got none for x"):
        evaluate([x + y], {y: [[1, 2]]})


def test_results_are_rounded_to_the_element_type() -> None:
    """f16 and bf16 are computed as f32 and rounded after each operation; overflow is infinity without a warning."""
    graph = TensorGraph()
    for dtype, third in ((f16, 0.333251953125), (bf16, 0.333984375)):
        x = graph.add(Leaf(TensorType((), dtype)))
        quotient, back = evaluate([x / 3.0, x / 3.0 * 3.0], {x: 1.0})
        assert (quotient, quotient.dtype) == (third, np.float32)
        assert back == 1.0
        total = evaluate([graph.add(Constant(1.0, TensorType((4096,), dtype))).sum()], {})
        assert total == [4096]
    x = graph.add(Leaf(TensorType((), f32)))
    assert evaluate([x.exp(), x.exp() - x.exp()], {x: 1000})[0] == np.inf


def test_rows_out_of_range_count_for_nothing() -> None:
    """Gather, scatter-add and sparse products ignore rows out of range; a row that is named twice counts twice."""
    graph = TensorGraph()
    rows = graph.add(Leaf(TensorType((4,), s32)))
    table, weights = (graph.add(Leaf(TensorType(shape, f64))) for shape in ((3,), (2, 3)))
    column = graph.add(Leaf(TensorType((3, 1), f64, batched=True, nnz=4)))
    gradient = graph.add(Leaf(TensorType((2, 1), f64, batched=True)))
    values = {
        rows: [2, -1, 2, 3],
        table: [10, 20, 30],
        weights: [[1, 2, 3], [4, 5, 6]],
        column: [[0, 0, -1, -1], [2, 1, 7, -5]],
        gradient: [[[1], [10]], [[100], [1000]]],
    }
    wanted = [
        table.gather(rows),
        rows.apply(ScatterAdd(0, 3), graph.add(Constant(1.0, TensorType((4,), f64)))),
        weights @ column,
        gradient.apply(SparseOuter(3), column),
    ]
    found = [array.tolist() for array in evaluate(wanted, values)]
    assert found == [[30, 0, 30, 0], [0, 0, 2], [[[2], [8]], [[5], [11]]], [[2, 100, 100], [20, 1000, 1000]]]
    assert isinstance(wanted[2].operation, SparseMatMul)


def test_tensors_without_elements() -> None:
    """Sums over no elements are 0, and empty tensors keep their shapes."""
    graph = TensorGraph()
    x = graph.add(Leaf(TensorType((0, 3), f64, batched=True)))
    y = graph.add(Leaf(TensorType((3, 0), f64)))
    values = {x: np.zeros((2, 0, 3)), y: np.zeros((3, 0))}
    total, product, outer, softmax = evaluate([x.sum(0), x @ y, y @ x, x.softmax(0)], values)
    assert (total.shape, product.shape, outer.shape, softmax.shape) == ((2, 3), (2, 0, 0), (2, 3, 3), (2, 0, 3))
    assert not total.any()
    assert not outer.any()
    (none,) = evaluate([x.sum_batch()], {x: np.zeros((0, 0, 3))})
    assert none.shape == (0, 3)


def test_repeating_and_summing_over_the_batch_multiplies() -> None:
    """Repeating a tensor over the batch and summing multiplies it by the number of examples."""
    graph = TensorGraph()
    x = graph.add(Leaf(TensorType((2,), f64)))
    repeated = x.apply(BroadcastTo(TensorType((2,), f64, batched=True)))
    assert evaluate([repeated.sum_batch()], {x: [1, 2]}, 5)[0].tolist() == [5, 10]
