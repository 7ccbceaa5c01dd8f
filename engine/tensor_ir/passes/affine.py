"""Fuses several operations into one: layers with bias and activation on sparse columns, clamps, and errors."""

from __future__ import annotations

from collections.abc import Sequence

from warploom.engine.tensor_ir.graph import TensorNode
from warploom.engine.tensor_ir.operations.elementwise import Elementwise
from warploom.engine.tensor_ir.operations.fused import DualSparseAffineActivate, SparseAffineActivate
from warploom.engine.tensor_ir.operations.shaping import Concat
from warploom.engine.tensor_ir.operations.sparse import SparseMatMul
from warploom.engine.tensor_ir.passes.constants import constant_of
from warploom.engine.tensor_ir.passes.rewriting import NodeUses, rewrite
from warploom.engine.tensor_ir.types import FLOATS

#: Activations that the kernel for sparse columns applies.
_ACTIVATIONS = frozenset({"relu", "crelu", "screlu", "sqr_relu", "sigmoid", "tanh"})


def fuse_sparse_affine(wanted: Sequence[TensorNode]) -> list[TensorNode]:
    """Replace weights @ column + bias, for a sparse column, by one operation, which then takes in the activation."""
    return rewrite(wanted, _fuse_sparse)


def fuse_dual_sparse_affine(wanted: Sequence[TensorNode]) -> list[TensorNode]:
    """Replace two stacked sparse layers with the same weights by one operation."""
    return rewrite(wanted, _fuse_dual)


def hoist_past_concat(wanted: Sequence[TensorNode]) -> list[TensorNode]:
    """Replace f(concat(a, b)) by concat(f(a), f(b)), if f can then become part of the sparse layers a and b."""
    return rewrite(wanted, _hoist)


def fuse_clamps(wanted: Sequence[TensorNode]) -> list[TensorNode]:
    """Replace the maximum with 0 by relu, and with the minimum with 1 by crelu, which are activations of layers.

    Where an element is 0 or 1, the gradient is then 0 and no longer a half; a result -0.0 stays -0.0.
    """
    return rewrite(wanted, _fuse_clamp)


def fuse_errors(wanted: Sequence[TensorNode]) -> list[TensorNode]:
    """Replace the power of an absolute difference, |a - b| ** power, by one operation."""
    return rewrite(wanted, _fuse_error)


def _fuse_clamp(node: TensorNode, uses: NodeUses) -> TensorNode | None:
    if node.type.dtype not in FLOATS:
        return None
    clamped = _clamped(node, "maximum", 0.0)
    if clamped is not None:
        below = _clamped(clamped, "minimum", 1.0)
        return clamped.relu() if below is None or not uses.can_absorb(clamped) else below.crelu()
    clamped = _clamped(node, "minimum", 1.0)
    is_relu = clamped is not None and clamped.operation == Elementwise("relu") and uses.can_absorb(clamped)
    return clamped.inputs[0].crelu() if clamped is not None and is_relu else None


def _clamped(node: TensorNode, name: str, bound: float) -> TensorNode | None:
    """Return the operand whose maximum or minimum with a number a node is, if it has the same type."""
    if node.operation != Elementwise(name):
        return None
    for other, given in (node.inputs, node.inputs[::-1]):
        if constant_of(given) == bound and other.type == node.type:
            return other
    return None


def _fuse_sparse(node: TensorNode, uses: NodeUses) -> TensorNode | None:
    operation = node.operation
    if operation == Elementwise("add"):
        for product, bias in (node.inputs, node.inputs[::-1]):
            fits = product.type == node.type and not bias.type.batched
            if isinstance(product.operation, SparseMatMul) and fits and uses.can_absorb(product):
                layer = SparseAffineActivate(transpose_a=product.operation.transpose_a)
                return node.graph.add(layer, (*product.inputs, bias))
    elif isinstance(operation, Elementwise) and operation.name in _ACTIVATIONS:
        (product,) = node.inputs
        if _takes_activation(product, uses):
            layer = SparseAffineActivate(operation.name, product.operation.transpose_a)  # type: ignore[attr-defined]
            return node.graph.add(layer, product.inputs)
    return None


def _takes_activation(node: TensorNode, uses: NodeUses) -> bool:
    """Return whether a node is a sparse layer that can still take in an activation."""
    operation = node.operation
    is_bare = isinstance(operation, SparseAffineActivate) and operation.activation is None
    return (is_bare or isinstance(operation, SparseMatMul)) and uses.can_absorb(node)


def _fuse_dual(node: TensorNode, uses: NodeUses) -> TensorNode | None:
    if node.operation != Concat(0) or len(node.inputs) != 2:
        return None
    first, second = node.inputs
    operation = first.operation
    if not isinstance(operation, SparseAffineActivate) or operation != second.operation:
        return None
    weights, above, *bias = first.inputs
    others, below, *other_bias = second.inputs
    if weights is not others or bias != other_bias or not (uses.can_absorb(first) and uses.can_absorb(second)):
        return None
    dual = DualSparseAffineActivate(operation.activation, operation.transpose_a)
    return node.graph.add(dual, (weights, above, below, *bias))


def _hoist(node: TensorNode, uses: NodeUses) -> TensorNode | None:
    if not isinstance(node.operation, Elementwise) or node.operation.name not in _ACTIVATIONS:
        return None
    (joined,) = node.inputs
    if not isinstance(joined.operation, Concat) or not uses.can_absorb(joined):
        return None
    if not all(_takes_activation(layer, uses) for layer in joined.inputs):
        return None
    parts = [node.graph.add(node.operation, (layer,)) for layer in joined.inputs]
    return node.graph.add(joined.operation, parts)


def _fuse_error(node: TensorNode, uses: NodeUses) -> TensorNode | None:
    operation = node.operation
    if not isinstance(operation, Elementwise):
        return None
    if operation.name == "square":
        power = 2.0
    elif operation.name == "abs_pow":
        (power,) = operation.numbers
    else:
        return None
    (difference,) = node.inputs
    if difference.operation != Elementwise("sub") or not uses.can_absorb(difference):
        return None
    return node.graph.add(Elementwise("abs_power_error", (power,)), difference.inputs)
