"""Reductions on a device equal numpy's, and have the same bits each time."""

import numpy as np
import pytest

from tests.tensor_ir.lowering.running import check, computed, leaf, some
from warploom.engine.tensor_ir.graph import TensorGraph
from warploom.engine.tensor_ir.operations.reductions import LogSoftmax, Reduce, ReduceAcrossBatch, Reduction, Softmax
from warploom.engine.tensor_runtime.tensors import Tensors
from warploom.engine.types import DType, bf16, f16, f32, f64, s32, u8

OPERATIONS: tuple[Reduction, ...] = ("sum", "max", "min")


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("batched", [False, True])
def test_every_set_of_axes(tensors: Tensors, operation: Reduction, batched: bool) -> None:
    """A reduction over any set of axes equals numpy's."""
    graph = TensorGraph()
    x = leaf(graph, 3, 1, 5, 2, batched=batched)
    # The sets of all axes for sums; each other operation has half of them, since the loops are the same.
    chosen = {"sum": range(16), "max": range(0, 16, 2), "min": range(1, 16, 2)}[operation]
    sets = [tuple(axis for axis in range(4) if bits >> axis & 1) for bits in chosen]
    check(tensors, [graph.add(Reduce(operation, axes), (x,)) for axes in sets], [x], 7)


@pytest.mark.parametrize("dtype", [f32, f64, f16, bf16, s32, u8], ids=str)
def test_elements_of_each_type(tensors: Tensors, dtype: DType) -> None:
    """Reductions of each type equal numpy's; narrow floats are summed in f32, and integers wrap."""
    graph = TensorGraph()
    x, y = leaf(graph, 40, 3, dtype=dtype, batched=True), leaf(graph, 70, dtype=dtype)
    pairs = [
        (made, given)
        for operation in OPERATIONS
        for made, given in (
            (ReduceAcrossBatch(operation), x),
            (Reduce(operation, (0,)), x),
            (Reduce(operation, (1,)), x),
            (Reduce(operation, (0,)), y),
        )
    ]
    # Sums are added up in other types; the largest and smallest of f32 stand for those of the others along each axis.
    wanted = [
        graph.add(made, (given,)) for made, given in (pairs if dtype is f32 else [*pairs[:4], pairs[5], pairs[11]])
    ]
    check(tensors, wanted, [x, y], 9, scale=3.0)


@pytest.mark.parametrize("batch", [1, 2, 255, 257, 1000, 3001])
def test_sums_over_the_batch(tensors: Tensors, batch: int) -> None:
    """Sums over a batch of any size, which thread blocks share, equal numpy's."""
    graph = TensorGraph()
    x, column = leaf(graph, 33, 1, batched=True), leaf(graph, 1, 1, batched=True)
    loss = (column * 2.0 - 1.0).square()
    wanted = [graph.add(ReduceAcrossBatch(), (x,)), graph.add(ReduceAcrossBatch(), (loss,)), loss.exp()]
    check(tensors, wanted, [x, column], batch, scale=3.0)


def test_a_sum_of_what_is_repeated(tensors: Tensors) -> None:
    """Reductions of broadcast operands equal numpy's."""
    graph = TensorGraph()
    a, b = leaf(graph, 5, 1), leaf(graph, 1, 4)
    check(tensors, [graph.add(Reduce("sum", (0, 1)), (a * b,)), graph.add(Reduce("max", (0, 1)), (a + b,))], [a, b])


def test_long_rows_and_columns(tensors: Tensors) -> None:
    """Sums of rows and columns that exceed what a thread block reduces at once equal numpy's."""
    graph = TensorGraph()
    x = leaf(graph, 3, 2050)
    check(tensors, [graph.add(Reduce("sum", (1,)), (x,)), graph.add(Reduce("max", (0,)), (x,))], [x], scale=5.0)
    y = leaf(graph, 2050, 3)
    check(tensors, [graph.add(Reduce("sum", (0,)), (y,)), graph.add(Reduce("sum", (1,)), (y,))], [y], scale=5.0)


def test_the_largest_of_numbers_with_a_nan_is_nan(tensors: Tensors) -> None:
    """The largest of numbers with a NaN is NaN, as in numpy and torch."""
    graph = TensorGraph()
    x = leaf(graph, 2, 50)
    values = {x: np.ones((2, 50), np.float32)}
    values[x][1, 33] = np.nan
    (found,) = computed(tensors, values, [graph.add(Reduce("max", (1,)), (x,))])
    np.testing.assert_array_equal(found, [[1.0], [np.nan]])


def test_sums_are_the_same_bits_each_time(tensors: Tensors) -> None:
    """The same sum has the same bits each time."""
    graph = TensorGraph()
    x = leaf(graph, 37, 1, batched=True)
    values = {x: some(x, 2999, np.random.default_rng(1))}
    wanted = [graph.add(ReduceAcrossBatch(), (x,)), graph.add(ReduceAcrossBatch(), (x.sum(),))]
    first, again = (computed(tensors, values, wanted, 2999) for _ in range(2))
    for one, other in zip(first, again, strict=True):
        assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("dtype", [f32, f64, f16], ids=str)
@pytest.mark.parametrize("batched", [False, True])
def test_softmax_along_each_axis(tensors: Tensors, dtype: DType, batched: bool) -> None:
    """Softmax equals numpy's for short and long rows, and along axes that aren't the last."""
    graph = TensorGraph()
    x, long = leaf(graph, 3, 10, 4, dtype=dtype, batched=batched), leaf(graph, 2, 700, dtype=dtype, batched=batched)
    axes = range(3) if dtype is f32 else (1,)
    wanted = [graph.add(kind(axis), (x,)) for kind in (Softmax, LogSoftmax) for axis in axes]
    wanted += [graph.add(kind(1), (long * 30.0,)) for kind in (Softmax, LogSoftmax)]
    check(tensors, wanted, [x, long], 5)
