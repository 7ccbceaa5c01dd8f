"""Runs programs on a device and compares their results with numpy's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from warploom.engine.tensor_ir.evaluation import evaluate
from warploom.engine.tensor_ir.graph import TensorGraph, TensorNode
from warploom.engine.tensor_ir.operations.leaves import Leaf
from warploom.engine.tensor_ir.types import TensorType
from warploom.engine.tensor_runtime.program import Program
from warploom.engine.tensor_runtime.program_block import Wanted
from warploom.engine.tensor_runtime.tensors import Tensors
from warploom.engine.types import Array, DType, bf16, f16, f32, f64, from_bf16, to_bf16

#: The allowed error of each type, relative to the largest number of a result.
TOLERANCE: Mapping[DType, float] = {f64: 1e-11, f32: 2e-5, f16: 4e-3, bf16: 3e-2}


def leaf(
    graph: TensorGraph, *shape: int, dtype: DType = f32, batched: bool = False, nnz: int | None = None
) -> TensorNode:
    """Return a new leaf."""
    return graph.add(Leaf(TensorType(shape, dtype, batched, nnz)))


def some(node: TensorNode, batch: int, random: np.random.Generator) -> Array:
    """Return random numbers for a leaf."""
    type_ = node.type
    shape = (*((batch,) if type_.batched else ()), *(type_.shape if type_.nnz is None else type_.stored_shape))
    if type_.nnz is not None:
        rows = [random.permutation(type_.shape[0])[: type_.nnz] for _ in range(shape[0] if type_.batched else 1)]
        found = np.array(rows, np.int32).reshape(shape)
        found[random.random(shape) < 0.2] = -1
        return found
    if type_.dtype.kind == "boolean":
        return random.random(shape) < 0.5
    if type_.dtype.kind == "integer":
        return random.integers(0, 20, shape).astype(type_.dtype.numpy)
    numbers = random.standard_normal(shape).astype(np.float64 if type_.dtype == f64 else np.float32)
    if type_.dtype == bf16:
        return from_bf16(to_bf16(numbers))
    return numbers.astype(np.float16).astype(np.float32) if type_.dtype == f16 else numbers


def computed(
    tensors: Tensors, values: Mapping[TensorNode, Array], wanted: Sequence[Wanted | TensorNode], batch: int = 1
) -> list[Array]:
    """Return the results of a program; for a result that replaces an input, return the input's contents afterwards."""
    program = Program(tensors, list(values), wanted)
    inputs = [tensors.buffer(node.type, batch) for node in values]
    outputs = [tensors.buffer(type_, batch) for type_ in program.output_types]
    try:
        for buffer, value in zip(inputs, values.values(), strict=True):
            buffer.write(to_bf16(value) if buffer.type.dtype == bf16 and buffer.type.nnz is None else value)
        program.run(inputs, outputs, batch)
        rest, found = iter(outputs), []
        for item in wanted:
            over = item.over if isinstance(item, Wanted) else None
            buffer = next(rest) if over is None else inputs[list(values).index(over)]
            array = buffer.read()
            found.append(from_bf16(array) if buffer.type.dtype == bf16 else array)
        return found
    finally:
        program.close()
        for buffer in (*inputs, *outputs):
            buffer.free()


def check(
    tensors: Tensors,
    wanted: Sequence[TensorNode],
    leaves: Sequence[TensorNode],
    batch: int = 1,
    seed: int = 0,
    scale: float = 1.0,
) -> None:
    """Compare a program's results for random numbers with numpy's."""
    random = np.random.default_rng(seed)
    values = {node: some(node, batch, random) for node in leaves}
    expected = evaluate(wanted, values, batch)
    for node, found, right in zip(wanted, computed(tensors, values, wanted, batch), expected, strict=True):
        assert found.shape == right.shape, node
        if right.dtype.kind in "biu":
            np.testing.assert_array_equal(found, right)
            continue
        finite = np.abs(right[np.isfinite(right)])
        most = max(float(finite.max()) if finite.size else 0.0, 1.0)
        np.testing.assert_allclose(
            found.astype(np.float64), right, rtol=0, atol=scale * TOLERANCE[node.type.dtype] * most, err_msg=repr(node)
        )
