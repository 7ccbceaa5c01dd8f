"""Computes constants in advance, and removes operations that don't change a tensor."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

import numpy as np

from warploom.engine.tensor_ir.evaluation import evaluate
from warploom.engine.tensor_ir.graph import TensorGraph, TensorNode
from warploom.engine.tensor_ir.operations.elementwise import Elementwise, ElementwiseOperation
from warploom.engine.tensor_ir.operations.leaves import Constant
from warploom.engine.tensor_ir.operations.reductions import BroadcastTo, broadcast_to
from warploom.engine.tensor_ir.passes.rewriting import NodeUses, rewrite
from warploom.engine.tensor_ir.types import TensorType

#: An operation that isn't element-wise is computed in advance if no operand has more elements than this.
MOST_ELEMENTS = 4096
#: Neutral elements: values of the left or right operand that leave the other operand unchanged.
_NEUTRAL = {"add": (0.0, 0.0), "sub": (None, 0.0), "mul": (1.0, 1.0), "div": (None, 1.0), "pow": (None, 1.0)}


def fold_constants(wanted: Sequence[TensorNode]) -> list[TensorNode]:
    """Replace operations on constants by a constant, x + 0, x - 0, x * 1, x / 1, x ** 1 by x, and x ** 2 by a square.

    A product with 0 stays, since the other factor may be infinite, and so does x * 3 * 2, since products are rounded.
    """
    return rewrite(wanted, _fold)


def constant_of(node: TensorNode) -> float | None:
    """Return the one value of all elements of a node, or None if it is unknown."""
    return node.operation.value if isinstance(node.operation, Constant) else None


def _fold(node: TensorNode, uses: NodeUses) -> TensorNode | None:
    operation, values = node.operation, [constant_of(other) for other in node.inputs]
    if isinstance(operation, BroadcastTo) and values[0] is not None:
        return _constant(node, values[0])
    if node.inputs and all(value is not None for value in values):
        value = _computed(node)
        return None if value is None else _constant(node, value)
    if operation == Elementwise("power", (1.0,)):
        return node.inputs[0]
    if operation == Elementwise("power", (2.0,)):
        return node.inputs[0].square()
    if isinstance(operation, Elementwise) and operation.name in _NEUTRAL:
        for side, neutral in enumerate(_NEUTRAL[operation.name]):
            if neutral is not None and values[side] == neutral:
                return broadcast_to(node.inputs[1 - side], node.type)
    return None


def _constant(node: TensorNode, value: float) -> TensorNode:
    return node.graph.add(Constant(value, node.type))


def _computed(node: TensorNode) -> float | None:
    """Return the one value of all elements of an operation on constants; None if values differ or are unknown."""
    if isinstance(node.operation, ElementwiseOperation):
        types = [TensorType((), other.type.dtype) for other in node.inputs]  # one element represents all
    elif node.type.batched or any(other.type.batched for other in node.inputs):
        return None
    else:
        types = [other.type for other in node.inputs]
        if sum(type_.size for type_ in [node.type, *types]) > MOST_ELEMENTS:
            return None
    scratch = TensorGraph()
    operands = [
        scratch.add(Constant(value, type_))
        for other, type_ in zip(node.inputs, types, strict=True)
        if (value := constant_of(other)) is not None
    ]
    (result,) = evaluate([scratch.add(node.operation, operands)], {})
    value = float(result.flat[0]) if result.size else 0.0
    return value if isfinite(value) and np.all(result == value) else None
