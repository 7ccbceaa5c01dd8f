"""Products with sparse columns on a device equal numpy's."""

import numpy as np
import pytest

from tests.tensor_ir.lowering.running import check, computed, leaf, some
from warploom.engine.tensor_ir.evaluation import evaluate
from warploom.engine.tensor_ir.gradients import gradients
from warploom.engine.tensor_ir.graph import TensorGraph
from warploom.engine.tensor_ir.operations.fused import DualSparseAffineActivate, SparseAffineActivate
from warploom.engine.tensor_ir.operations.sparse import SparseMatMul, SparseOuter, SparseRows
from warploom.engine.tensor_runtime.program import Program
from warploom.engine.tensor_runtime.tensors import TensorBuffer, Tensors
from warploom.engine.types import DType, bf16, f16, f32, f64


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("batched", [False, True])
@pytest.mark.parametrize("width", [1, 3, 36, 65, 130, 300, 384])
def test_products_and_their_gradients(tensors: Tensors, transposed: bool, batched: bool, width: int) -> None:
    """Products and gradients equal numpy's for widths with any divisors, and for weights in either order."""
    graph = TensorGraph()
    weights = leaf(graph, *((50, width) if transposed else (width, 50)))
    column, shared = leaf(graph, 50, 1, batched=batched, nnz=9), leaf(graph, 50, 1, nnz=4)
    gradient, same = leaf(graph, width, 1, batched=batched), leaf(graph, width, 1)
    wanted = [graph.add(SparseMatMul(transposed), (weights, other)) for other in (column, shared)]
    wanted += [
        graph.add(SparseOuter(50, transposed), (dense, other))
        for dense in (gradient, same)
        for other in (column, shared)
    ]
    wanted.append(graph.add(SparseRows(), (column,)) * 2)
    for batch in (1, 2, 70):
        check(tensors, wanted, [weights, column, shared, gradient, same], batch, scale=3.0)


@pytest.mark.parametrize(
    ("dtype", "activation"),
    [
        *((f32, activation) for activation in (None, "relu", "sigmoid", "tanh", "screlu")),
        *((f64, activation) for activation in (None, "sigmoid")),
        *((f16, activation) for activation in ("relu", "tanh")),
        *((bf16, activation) for activation in (None, "screlu")),
    ],
    ids=str,
)
def test_biases_and_activations(tensors: Tensors, activation: str | None, dtype: DType) -> None:
    """Products with biases and activations equal numpy's, in one kernel or in two."""
    graph = TensorGraph()
    weights = leaf(graph, 12, 40, dtype=dtype)
    first, second = (leaf(graph, 40, 1, dtype=dtype, batched=batched, nnz=5) for batched in (True, False))
    biases = [
        leaf(graph, 12, 1, dtype=dtype),
        leaf(graph, 1, 1, dtype=dtype),
        leaf(graph, 12, 1, dtype=dtype, batched=True),
    ]
    wanted = [graph.add(SparseAffineActivate(activation), (weights, first))]
    for bias in biases:
        wanted.append(graph.add(SparseAffineActivate(activation), (weights, first, bias)))
        if not bias.type.batched:
            wanted.append(graph.add(DualSparseAffineActivate(activation), (weights, first, second, bias)))
    check(tensors, wanted, [weights, first, second, *biases], 6, scale=3.0)


def test_gradients_of_a_large_batch_are_the_same_bits_each_time(tensors: Tensors) -> None:
    """Gradients of a large batch, which is added up in groups of examples, equal numpy's and have the same bits each
    time; some rows have no entries, and one has very many.
    """
    graph = TensorGraph()
    weights, column = leaf(graph, 256, 30), leaf(graph, 30, 1, batched=True, nnz=6)
    out = graph.add(SparseMatMul(), (weights, column))
    loss = (out.square() * 0.5).sum().sum_batch()
    gradient = gradients(loss, [weights])[weights]
    random = np.random.default_rng(3)
    values = {weights: some(weights, 1, random), column: some(column, 3000, random)}
    values[column][:, 0], values[column][values[column] == 7] = 5, -1
    (first,), (again,) = (computed(tensors, values, [gradient], 3000) for _ in range(2))
    assert first.tobytes() == again.tobytes()
    np.testing.assert_allclose(first, evaluate([gradient], values)[0], rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("most", [1, 31, 32, 33, 70])
def test_entries_behind_the_end_of_a_row_have_no_gradient(tensors: Tensors, most: int) -> None:
    """A gradient is the sum over the entries before each row's first negative one, however many a row may have."""
    graph, random = TensorGraph(), np.random.default_rng(most)
    column = leaf(graph, 90, 1, batched=True, nnz=most)
    vectors = leaf(graph, 4, 1, batched=True)
    wanted = graph.add(SparseOuter(90, transpose_a=True), (vectors, column))
    rows = random.integers(0, 90, (37, most)).astype(np.int32)
    for row, end in zip(rows, random.integers(0, most + 1, 37), strict=True):
        row[end : end + 1] = -1 - end  # the entries behind it are still there
    values = {column: rows, vectors: random.normal(size=(37, 4, 1)).astype(np.float32)}
    (found,) = computed(tensors, values, [wanted], 37)
    expected = np.zeros((90, 4))
    for row, vector in zip(rows, values[vectors][..., 0], strict=True):
        for at in row:
            if at < 0:
                break
            expected[at] += vector
    np.testing.assert_allclose(found.reshape(90, 4), expected, atol=1e-4)


def test_buffers_need_no_alignment_beyond_that_of_their_elements(tensors: Tensors) -> None:
    """Results equal numpy's in buffers that are only aligned to their elements."""
    if tensors.device.info.name != "host":
        pytest.skip("takes numpy's memory in place")
    graph = TensorGraph()
    weights, column = leaf(graph, 50, 8), leaf(graph, 50, 1, batched=True, nnz=9)
    gradient = leaf(graph, 8, 1, batched=True)
    wanted = [
        graph.add(SparseMatMul(transpose_a=True), (weights, column)),
        graph.add(SparseOuter(50, transpose_a=True), (gradient, column)),
        weights @ gradient,
    ]
    random = np.random.default_rng(4)
    values = {node: some(node, 20, random) for node in (weights, column, gradient)}
    program = Program(tensors, list(values), wanted)
    arrays = [*values.values(), *(np.zeros(shape, np.float32) for shape in ((20, 8), (50, 8), (20, 50)))]
    buffers = []
    for array, type_ in zip(arrays, (*program.input_types, *program.output_types), strict=True):
        storage = np.empty(array.nbytes + 4, np.uint8)
        there = storage[4:].view(array.dtype).reshape(array.shape)
        there[...] = array
        buffers.append(TensorBuffer(tensors, type_, array.shape, tensors.device.adopt(there)))
    program.run(buffers[:3], buffers[3:], 20)
    for buffer, right in zip(buffers[3:], evaluate(wanted, values), strict=True):
        np.testing.assert_allclose(buffer.read().reshape(right.shape), right, atol=1e-4)
    program.close()
    for buffer in buffers:
        buffer.memory.free()
