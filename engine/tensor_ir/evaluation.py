"""`evaluate`: computes a graph with numpy, node by node. It is the reference for devices' results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from warploom.engine.tensor_ir.errors import ExecutionFailed, ShapeMismatch
from warploom.engine.tensor_ir.graph import TensorNode, TensorOperation, reachable_nodes
from warploom.engine.tensor_ir.operations.leaves import BatchSize, Leaf, Numbers
from warploom.engine.types import Array, DType, bf16, f16, from_bf16, s32, to_bf16


def evaluate(
    wanted: Sequence[TensorNode], values: Mapping[TensorNode, npt.ArrayLike], batch: int | None = None
) -> list[Array]:
    """Compute nodes from the values of other nodes, such as leaves.

    Arrays have the node's shape, and a batch axis in front for a batched node; bf16 is passed and returned as f32. The
    batch size is that of the values. Without batched values, it is `batch`, or 1. Raise ShapeMismatch for a value of
    another shape, and ExecutionFailed for a leaf without a value.
    """
    held = {node: _given(node, np.asarray(value)) for node, value in values.items()}
    batch = _batch([(node, array) for node, array in held.items() if node.type.batched], batch)
    for node in reachable_nodes(wanted, held):
        held[node] = _computed(node, [held[other] for other in node.inputs], batch)
    return [held[node] if node.type.batched else held[node][0] for node in wanted]


def _given(node: TensorNode, value: Array) -> Array:
    """Return the value of a node, with a batch axis in front."""
    type_ = node.type
    shape = type_.shape if type_.nnz is None else type_.stored_shape
    array = value if type_.batched else value[np.newaxis]
    if array.ndim == 0 or array.shape[1:] != shape:
        behind = "behind the batch axis, " if type_.batched else ""
        raise ShapeMismatch(f"value of {node!r} must have, {behind}shape {list(shape)}, got {list(value.shape)}")
    return _rounded(array, type_.dtype if type_.nnz is None else s32)


def _batch(batched: Sequence[tuple[TensorNode, Array]], batch: int | None) -> int:
    """Return the number of examples; all batched values must agree on it."""
    for node, array in batched:
        if batch is not None and len(array) != batch:
            raise ShapeMismatch(f"value of {node!r} must have {batch} examples, as others have, got {len(array)}")
        batch = len(array)
    return 1 if batch is None else batch


def _computed(node: TensorNode, inputs: Sequence[Array], batch: int) -> Array:
    if isinstance(node.operation, Leaf):
        raise ExecutionFailed(f"leaf must have a value, got none for {node!r}")
    with np.errstate(all="ignore"):
        found = _told(node.operation, batch) if not node.inputs else node.operation.evaluate(*inputs)
    type_ = node.type
    shape, dtype = (type_.shape, type_.dtype) if type_.nnz is None else (type_.stored_shape, s32)
    return _rounded(np.broadcast_to(found, (batch if type_.batched else 1, *shape)), dtype)


def _told(operation: TensorOperation, batch: int) -> Array:
    """Return the value of a node without inputs; it may depend on the number of examples."""
    match operation:
        case BatchSize():
            return np.full(1, batch)
        case Numbers(type_):
            examples = batch if type_.batched else 1
            return np.arange(examples * type_.size).reshape(examples, *type_.shape)
    return operation.evaluate()


def _rounded(array: Array, dtype: DType) -> Array:
    """Return elements rounded to an element type; f16 and bf16 values are stored in f32."""
    with np.errstate(all="ignore"):
        if dtype == bf16:
            return from_bf16(to_bf16(array.astype(np.float32)))
        rounded = array.astype(dtype.numpy)
    return rounded.astype(np.float32) if dtype == f16 else rounded
