"""Removes unneeded copies and common subexpressions, so that nothing is computed or rearranged twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from warploom.engine.tensor_ir.graph import TensorNode, TensorOperation
from warploom.engine.tensor_ir.operations.elementwise import Cast, Copy, Elementwise, ElementwiseOperation, StopGradient
from warploom.engine.tensor_ir.operations.leaves import Leaf
from warploom.engine.tensor_ir.operations.matrices import MatMul
from warploom.engine.tensor_ir.operations.reductions import BroadcastTo
from warploom.engine.tensor_ir.operations.shaping import Concat, Pad, Reshape, Slice, Transpose
from warploom.engine.tensor_ir.passes.rewriting import NodeUses, rewrite

#: Operations whose results are the same if the operands are exchanged.
_COMMUTATIVE = frozenset({"add", "mul", "maximum", "minimum", "equal", "not_equal", "and", "or", "xor"})


def remove_copies(wanted: Sequence[TensorNode]) -> list[TensorNode]:
    """Remove copies, casts and reshapes that change nothing, and join consecutive ones.

    Transposes of a product's operands become flags of the product, and redundant broadcasts are removed.
    """
    return rewrite(wanted, _remove)


def _remove(node: TensorNode, uses: NodeUses) -> TensorNode | None:
    match node.operation:
        case Copy() | Reshape() | BroadcastTo() | Cast() | Slice() | Pad() | Transpose() if _changes_nothing(node):
            return node.inputs[0]
        case Reshape() | Transpose():
            return _joined(node)
        case Slice():
            return _part(node)
        case MatMul():
            return _with_flags(node, node.operation)
        case ElementwiseOperation():
            return _without_broadcasts(node)
    return None


def _changes_nothing(node: TensorNode) -> bool:
    (given,) = node.inputs
    if isinstance(node.operation, StopGradient) and given.requires_grad:
        return False
    if isinstance(node.operation, Transpose):
        return list(node.operation.permutation) == sorted(node.operation.permutation)
    return node.type == given.type


def _joined(node: TensorNode) -> TensorNode | None:
    """Return one reshape or transpose in place of two."""
    (given,) = node.inputs
    operation, before = node.operation, given.operation
    if isinstance(operation, Reshape) and isinstance(before, Reshape):
        return node.graph.add(operation, given.inputs)
    if isinstance(operation, Transpose) and isinstance(before, Transpose):
        order = tuple([before.permutation[axis] for axis in operation.permutation])
        return node.graph.add(Transpose(order), given.inputs)
    return None


def _part(node: TensorNode) -> TensorNode | None:
    """Return the tensor that a slice cuts out of a concatenation."""
    (joined,) = node.inputs
    if not isinstance(joined.operation, Concat):
        return None
    axis, start = joined.operation.axis, 0
    for other in joined.inputs:
        starts = tuple(start if at == axis else 0 for at in range(len(other.type.shape)))
        if node.operation == Slice(starts, other.type.shape, (1,) * len(starts)) and node.type == other.type:
            return other
        start += other.type.shape[axis]
    return None


def _with_flags(node: TensorNode, operation: MatMul) -> TensorNode | None:
    """Return a matrix product whose flags replace the transposes of its operands."""
    flags = [operation.transpose_a, operation.transpose_b]
    inputs = list(node.inputs)
    for slot in (0, 1):
        if _swaps_rows_and_columns(inputs[slot].operation):
            inputs[slot], flags[slot] = inputs[slot].inputs[0], not flags[slot]
    if inputs == list(node.inputs):
        return None
    return node.graph.add(replace(operation, transpose_a=flags[0], transpose_b=flags[1]), inputs)


def _swaps_rows_and_columns(operation: TensorOperation) -> bool:
    if not isinstance(operation, Transpose) or len(operation.permutation) < 2:
        return False
    *leading, row, column = range(len(operation.permutation))
    return operation.permutation == (*leading, column, row)


def _without_broadcasts(node: TensorNode) -> TensorNode | None:
    """Return an element-wise operation on operands without their broadcasts, if the result is the same."""
    for slot, other in enumerate(node.inputs):
        if isinstance(other.operation, BroadcastTo):
            inputs = list(node.inputs)
            inputs[slot] = other.inputs[0]
            if node.operation.result(*(given.type for given in inputs)) == node.type:
                return node.graph.add(node.operation, inputs)
    return None


def share_common(wanted: Sequence[TensorNode]) -> list[TensorNode]:
    """Replace each node by the first one with the same operation and inputs; leaves always stay distinct.

    The order of inputs doesn't matter for sums, products and the like, whose results have the same bits either way.
    """
    found: dict[tuple[object, ...], TensorNode] = {}

    def share(node: TensorNode, uses: NodeUses) -> TensorNode | None:
        if isinstance(node.operation, Leaf):
            return None
        inputs = node.inputs
        if isinstance(node.operation, Elementwise) and node.operation.name in _COMMUTATIVE:
            inputs = tuple(sorted(inputs, key=lambda other: other.number))
        first = found.setdefault((*_key(node.operation), inputs, node.type, node.requires_grad), node)
        return None if first is node else first

    return rewrite(wanted, share)


def _key(operation: TensorOperation) -> tuple[object, ...]:
    """Return a key for an operation that equal operations share. As text, 0.0 and -0.0 differ."""
    return operation, repr(operation)
