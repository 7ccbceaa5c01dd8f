"""Operations that move elements, or look them up by indices, have numpy's results on a device."""

import numpy as np
import pytest

from tests.tensor_ir.lowering.running import check, computed, leaf, some
from warploom.engine.tensor_ir.graph import TensorGraph
from warploom.engine.tensor_ir.operations.indexing import Gather, ScatterAdd
from warploom.engine.tensor_ir.operations.reductions import BroadcastTo
from warploom.engine.tensor_ir.operations.shaping import Concat, Pad, Reshape, Slice, Transpose
from warploom.engine.tensor_ir.types import TensorType
from warploom.engine.tensor_runtime.tensors import Tensors
from warploom.engine.types import DType, bf16, boolean, f16, f32, f64, s32, s64, u8


@pytest.mark.parametrize("batched", [False, True])
def test_elements_are_moved(tensors: Tensors, batched: bool) -> None:
    """Elements are moved by a kernel of their own, or by the kernel that computes them."""
    graph = TensorGraph()
    x, y = leaf(graph, 3, 4, 5, batched=batched), leaf(graph, 3, 2, 5)
    turned = graph.add(Transpose((2, 1, 0)), (x,))
    wanted = [
        graph.add(Transpose((2, 0, 1)), (x,)),
        graph.add(Concat(1), (x, y, x * 2.0)),
        graph.add(Slice((1, 0, 1), (2, 2, 2), (1, 2, 2)), (x,)),
        graph.add(Pad((1, 0, 2), (0, 2, 1), (0, 1, 2), 7.0), (x.exp(),)),
        graph.add(Reshape((12, 5)), (turned.sin(),)),
        graph.add(Slice((1, 0, 0), (4, 4, 3), (1, 1, 1)), (graph.add(Pad((2, 1, 0), (0, 1, 0), (0, 0, 0)), (x,)),)),
        (graph.add(Reshape((4, 3, 5)), (x,)) * 2.0 + graph.add(Transpose((1, 0, 2)), (x,))).relu(),
        graph.add(BroadcastTo(TensorType((2, 3, 2, 5), f32, batched)), (y,)),
    ]
    for batch in (1, 7):
        check(tensors, wanted, [x, y], batch)


@pytest.mark.parametrize("dtype", [f64, f16, bf16, s32, u8, boolean, s64], ids=str)
def test_elements_of_each_type_are_moved(tensors: Tensors, dtype: DType) -> None:
    """Moving elements loses no bits, for any type."""
    graph = TensorGraph()
    x = leaf(graph, 3, 4, dtype=dtype, batched=True)
    turned = graph.add(Transpose((1, 0)), (x,))
    wanted = [turned, graph.add(Concat(0), (x, x)), graph.add(Pad((0, 1), (1, 0), (0, 0)), (x,)), x.reshape(12)]
    check(tensors, wanted, [x], 3)


@pytest.mark.parametrize("shared", [(False, False), (True, False), (False, True), (True, True)], ids=str)
@pytest.mark.parametrize("dtype", [s32, s64], ids=str)
def test_elements_are_found_and_added_by_indices(tensors: Tensors, shared: tuple[bool, bool], dtype: DType) -> None:
    """Gather and scatter equal numpy's with shared or separate tables and indices, some out of range."""
    graph = TensorGraph()
    indices = leaf(graph, 2, 3, dtype=dtype, batched=not shared[0])
    for axis in range(3):
        table = leaf(graph, 12, 14, 13, batched=not shared[1])
        shape = [4, 5, 6]
        shape[axis : axis + 1] = [2, 3]
        updates = leaf(graph, *shape, batched=not shared[1])
        wanted = [graph.add(Gather(axis), (table, indices)), graph.add(ScatterAdd(axis, 16), (indices, updates))]
        if not all(shared):
            wanted.append(graph.add(ScatterAdd(axis, 16, sum_batch=True), (indices, updates)))
        check(tensors, wanted, [table, indices, updates], 5)


@pytest.mark.parametrize("size", [3, 5000])
def test_sums_by_many_indices(tensors: Tensors, size: int) -> None:
    """Few keys have many entries each, and many keys few; sums have the same bits each time."""
    graph = TensorGraph()
    indices, updates = leaf(graph, 2001, dtype=s32), leaf(graph, 2001, 3)
    added = graph.add(ScatterAdd(0, size), (indices, updates))
    random = np.random.default_rng(2)
    numbers = random.integers(-1, size + 1, 2001).astype(np.int32)
    values = {indices: numbers, updates: some(updates, 1, random)}
    (first,), (again,) = (computed(tensors, values, [added]) for _ in range(2))
    assert first.tobytes() == again.tobytes()
    expected = np.zeros((size, 3))
    inside = (numbers >= 0) & (numbers < size)
    np.add.at(expected, numbers[inside], values[updates][inside])
    np.testing.assert_allclose(first, expected, atol=1e-4)
