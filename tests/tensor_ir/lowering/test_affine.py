"""Affine operations with activations, and softmax, have numpy's results on a device."""

import pytest

from engine.tensor_ir.graph import TensorGraph
from engine.tensor_ir.operations.fused import Affine
from engine.tensor_ir.operations.reductions import LogSoftmax, Softmax
from engine.tensor_runtime.tensors import Tensors
from engine.types import DType, bf16, f16, f32, f64
from tests.tensor_ir.lowering.running import check, leaf


@pytest.mark.parametrize("activation", [None, "relu", "sigmoid"])
@pytest.mark.parametrize("dtype", [f32, f64, f16, bf16], ids=str)
@pytest.mark.parametrize("batched", [False, True])
def test_biases_and_activations(tensors: Tensors, activation: str | None, dtype: DType, batched: bool) -> None:
    """Results agree, whether BLAS's product includes a bias and activation or another kernel follows."""
    graph = TensorGraph()
    weights, turned, row = (
        leaf(graph, 8, 5, dtype=dtype),
        leaf(graph, 5, 8, dtype=dtype),
        leaf(graph, 1, 5, dtype=dtype),
    )
    x, rows = leaf(graph, 5, 1, dtype=dtype, batched=batched), leaf(graph, 3, 5, dtype=dtype, batched=batched)
    bias, one, many = (leaf(graph, *shape, dtype=dtype) for shape in ((8, 1), (1, 1), (1, 8)))
    wanted = [
        graph.add(Affine(activation), (weights, x)),
        graph.add(Affine(activation), (weights, x, bias)),
        graph.add(Affine(activation, transpose_a=True), (turned, x, bias)),
        graph.add(Affine(activation), (weights, x, one)),
        graph.add(Affine(activation), (row, x, one)),
        graph.add(Affine(activation), (rows, turned, many)),
        graph.add(Affine(activation, transpose_b=True), (rows, weights, one)),
    ]
    for batch in (1, 9):
        check(tensors, wanted, [weights, turned, row, x, rows, bias, one, many], batch)


@pytest.mark.parametrize("dtype", [f32, f64, f16], ids=str)
@pytest.mark.parametrize("batched", [False, True])
def test_softmax_along_each_axis(tensors: Tensors, dtype: DType, batched: bool) -> None:
    """Softmax works on short and long rows, and along axes that aren't the last."""
    graph = TensorGraph()
    x, long = leaf(graph, 3, 10, 4, dtype=dtype, batched=batched), leaf(graph, 2, 700, dtype=dtype, batched=batched)
    wanted = [graph.add(kind(axis), (x,)) for kind in (Softmax, LogSoftmax) for axis in range(3)]
    wanted += [graph.add(kind(1), (long * 30.0,)) for kind in (Softmax, LogSoftmax)]
    check(tensors, wanted, [x, long], 5)
