"""Reverse-mode differentiation. Gradients are ordinary nodes, so they can be differentiated again."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from warploom.engine.tensor_ir.errors import InvalidOperation, ShapeMismatch
from warploom.engine.tensor_ir.graph import TensorNode, made_for, reachable_nodes
from warploom.engine.tensor_ir.operations.leaves import Constant
from warploom.engine.tensor_ir.operations.reductions import sum_to
from warploom.engine.tensor_ir.types import FLOATS, TensorType, broadcast_shapes


def gradients(
    of: TensorNode, wanted: Sequence[TensorNode], seed: TensorNode | None = None
) -> Mapping[TensorNode, TensorNode]:
    """Return the gradient of `of` with respect to each wanted node. Nodes that it doesn't depend on are left out.

    `seed` is the gradient of `of`, and has the same type. Without it, `of` must be a single number that isn't batched,
    and the seed is 1. Raise InvalidOperation for a wanted node that requires no gradient.
    """
    for node in wanted:
        if not node.requires_grad:
            raise InvalidOperation(
                f"a gradient must be asked for floats that require one, got {node!r}, which is frozen, not a float, or "
                "made under no_grad or by an operation without a gradient"
            )
    if of.type.dtype not in FLOATS:
        raise InvalidOperation(f"node to differentiate must have floats, got {of!r}")
    if seed is None:
        if of.type.size != 1 or of.type.batched:
            raise InvalidOperation(
                f"node to differentiate must be one number that isn't batched, got {of!r}; sum it, or give the seed"
            )
        seed = of.graph.add(Constant(1.0, TensorType(of.type.shape, of.type.dtype)))
    elif seed.type != of.type:
        raise InvalidOperation(f"seed must have the type of the differentiated node, {of.type}, got {seed!r}")
    order = reachable_nodes([of])
    leading = _leading_to(order, set(wanted))
    found: dict[TensorNode, TensorNode] = {of: seed}
    for node in reversed(order):
        gradient = found.get(node)
        if gradient is None or node not in leading or not any(other in leading for other in node.inputs):
            continue
        with made_for(node.parts):
            parts = node.operation.backward(node, gradient)
            if len(parts) != len(node.inputs):
                label, count = node.operation.label, len(node.inputs)
                raise InvalidOperation(
                    f"{label}.backward must give {count} gradients, one for each input, got {len(parts)}"
                )
            for other, part in zip(node.inputs, parts, strict=True):
                if part is None or other not in leading:
                    continue
                part = _fitting(part, other, node)
                found[other] = found[other] + part if other in found else part
    return {node: found[node] for node in wanted if node in found}


def _leading_to(order: Sequence[TensorNode], wanted: Collection[TensorNode]) -> set[TensorNode]:
    """Return the wanted nodes, and the nodes through which a gradient reaches them."""
    found: set[TensorNode] = set()
    for node in order:
        if node in wanted or (node.requires_grad and any(other in found for other in node.inputs)):
            found.add(node)
    return found


def _fitting(part: TensorNode, other: TensorNode, node: TensorNode) -> TensorNode:
    """Return an input's gradient, summed to the input's type. Raise InvalidOperation when it does not fit."""
    given, wanted = part.type, other.type
    try:
        broadcasts = broadcast_shapes(given.shape, wanted.shape) == given.shape
    except ShapeMismatch:
        broadcasts = False
    if not broadcasts or given.dtype != wanted.dtype or (wanted.batched and not given.batched):
        raise InvalidOperation(
            f"{node.operation.label}.backward must give {other!r} a gradient of its type, got {given}"
        )
    return sum_to(part, wanted)
