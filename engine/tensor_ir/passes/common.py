"""Common subexpressions: what is computed twice is computed once."""

from __future__ import annotations

from collections.abc import Sequence

from engine.tensor_ir.graph import TensorNode, TensorOperation
from engine.tensor_ir.operations.leaves import Leaf
from engine.tensor_ir.passes.rewriting import NodeUses, rewrite


def share_common(wanted: Sequence[TensorNode]) -> list[TensorNode]:
    """Replace each node by the first one with the same operation and inputs; leaves are never the same."""
    found: dict[tuple[object, ...], TensorNode] = {}

    def share(node: TensorNode, uses: NodeUses) -> TensorNode | None:
        if isinstance(node.operation, Leaf):
            return None
        first = found.setdefault((*_key(node.operation), node.inputs, node.type, node.requires_grad), node)
        return None if first is node else first

    return rewrite(wanted, share)


def _key(operation: TensorOperation) -> tuple[object, ...]:
    """Return what equal operations have in common. As text, 0.0 is not -0.0."""
    return operation, repr(operation)
