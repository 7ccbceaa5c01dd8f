"""Products of matrices on a device equal numpy's, for every layout of the operands in memory."""

from itertools import product

import pytest

from tests.tensor_ir.lowering.running import check, leaf
from warploom.engine.tensor_ir.graph import TensorGraph, TensorNode
from warploom.engine.tensor_ir.operations.matrices import MatMul
from warploom.engine.tensor_runtime.tensors import Tensors
from warploom.engine.types import DType, bf16, f16, f32, f64

SHAPES = [(1, 1, 1), (3, 5, 1), (1, 5, 3), (4, 1, 6), (4, 1, 1), (1, 7, 1), (5, 3, 4)]


def _products(
    batched: tuple[bool, bool], dtype: DType, *, sum_batch: bool
) -> tuple[list[TensorNode], list[TensorNode]]:
    """Return the products of all shapes and transpositions, and their operands."""
    graph, found, leaves = TensorGraph(), [], []
    for (m, k, n), turn_a, turn_b in product(SHAPES, (False, True), (False, True)):
        a = leaf(graph, *((k, m) if turn_a else (m, k)), dtype=dtype, batched=batched[0])
        b = leaf(graph, *((n, k) if turn_b else (k, n)), dtype=dtype, batched=batched[1])
        found.append(graph.add(MatMul(turn_a, turn_b, sum_batch), (a, b)))
        leaves += [a, b]
    return found, leaves


@pytest.mark.parametrize("batched", [(False, False), (True, False), (False, True), (True, True)], ids=str)
@pytest.mark.parametrize("batch", [1, 7])
def test_products_of_each_batching_and_transposition(tensors: Tensors, batched: tuple[bool, bool], batch: int) -> None:
    """Products equal numpy's for each shape and transposition, with one, both or no operand batched."""
    check(tensors, *_products(batched, f32, sum_batch=False), batch)


@pytest.mark.parametrize("batched", [(True, False), (False, True), (True, True)], ids=str)
def test_products_summed_over_the_batch(tensors: Tensors, batched: tuple[bool, bool]) -> None:
    """Sums of products over the batch, such as a weight's gradient, equal numpy's."""
    check(tensors, *_products(batched, f32, sum_batch=True), 5)


@pytest.mark.parametrize("dtype", [f64, f16, bf16], ids=str)
def test_products_of_other_elements(tensors: Tensors, dtype: DType) -> None:
    """Products of f16 and bf16 are summed in f32."""
    for sum_batch in (False, True):
        check(tensors, *_products((False, True), dtype, sum_batch=sum_batch), 3)


@pytest.mark.parametrize("batched", [(False, False), (True, False), (False, True), (True, True)], ids=str)
def test_leading_axes_are_broadcast(tensors: Tensors, batched: tuple[bool, bool]) -> None:
    """Leading axes repeat the product, and either operand may be repeated along the other's."""
    graph, found, leaves = TensorGraph(), [], []
    for a_leading, b_leading in [((2,), (2,)), ((2,), ()), ((), (2,)), ((3, 1), (1, 2)), ((1,), (4,)), ((2, 3), (3,))]:
        a, b = leaf(graph, *a_leading, 3, 5, batched=batched[0]), leaf(graph, *b_leading, 5, 2, batched=batched[1])
        found.append(a @ b)
        leaves += [a, b]
        if any(batched):
            found.append(graph.add(MatMul(sum_batch=True), (a, b)))
    check(tensors, found, leaves, 3)
