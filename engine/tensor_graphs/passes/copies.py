"""Copies that nobody needs: of operations that only hand on or rearrange elements, as few as possible remain."""

from __future__ import annotations

from collections.abc import Sequence

from engine.tensor_graphs.graph import Node
from engine.tensor_graphs.operations.elementwise import Cast, Copy, ElementwiseOperation, StopGradient
from engine.tensor_graphs.operations.reductions import BroadcastTo
from engine.tensor_graphs.operations.shaping import Reshape
from engine.tensor_graphs.passes.rewriting import Uses, rewrite


def remove_copies(wanted: Sequence[Node]) -> list[Node]:
    """Remove copies, casts and reshapes that change nothing; join those that follow each other.

    Transposed matrices become flags of their product, and what is broadcast anyway isn't before.
    """
    return rewrite(wanted, _remove)


def _remove(node: Node, uses: Uses) -> Node | None:
    operation = node.operation
    if isinstance(operation, Copy | Reshape | BroadcastTo | Cast) and _changes_nothing(node):
        return node.inputs[0]
    if isinstance(operation, Reshape) and isinstance(node.inputs[0].operation, Reshape):
        return node.graph.add(operation, node.inputs[0].inputs)
    if isinstance(operation, ElementwiseOperation):
        return _without_broadcasts(node)
    return None


def _changes_nothing(node: Node) -> bool:
    (given,) = node.inputs
    if isinstance(node.operation, StopGradient) and given.requires_grad:
        return False
    return node.type == given.type


def _without_broadcasts(node: Node) -> Node | None:
    """Return an element-wise operation on operands as they were before they were broadcast, if it gives the same."""
    for slot, other in enumerate(node.inputs):
        if isinstance(other.operation, BroadcastTo):
            inputs = list(node.inputs)
            inputs[slot] = other.inputs[0]
            if node.operation.result(*(given.type for given in inputs)) == node.type:
                return node.graph.add(node.operation, inputs)
    return None
