"""`verify_nodes`: rules for every graph, before a pass and after it."""

from __future__ import annotations

from collections.abc import Iterable

from engine.tensor_ir.errors import InvalidOperation, TensorError, TopologicalSortFailed
from engine.tensor_ir.graph import TensorNode, reachable_nodes


def verify_nodes(wanted: Iterable[TensorNode], where: str) -> None:
    """Derive the attributes of all nodes again; InvalidOperation when one of them is another, with the node's name.

    Those are its type, with shape, layout and whether it is batched, and whether a gradient is wanted of it. `where`
    says in the message when this was found. TopologicalSortFailed when a node doesn't follow its inputs.
    """
    for node in reachable_nodes(wanted):
        for other in node.inputs:
            if other.number >= node.number:
                raise TopologicalSortFailed(f"{where}: {node!r} must follow its inputs, got {other!r} after it")
            if other.graph is not node.graph:
                raise InvalidOperation(f"{where}: {node!r} must be of one graph with its inputs, got {other!r}")
        try:
            derived = node.operation.result(*(other.type for other in node.inputs))
        except TensorError as problem:
            raise type(problem)(f"{where}: {node!r} must be valid: {problem}") from None
        if derived != node.type:
            raise InvalidOperation(f"{where}: {node.label} must be {derived}, got {node.type}")
        if node.inputs and node.requires_grad and not needs_gradient(node):
            raise InvalidOperation(f"{where}: {node!r} must have an input of which a gradient is wanted")


def needs_gradient(node: TensorNode) -> bool:
    """Whether a gradient can pass through a node to one of its inputs."""
    return node.operation.is_differentiable and any(other.requires_grad for other in node.inputs)


def is_barrier(node: TensorNode) -> bool:
    """Whether no gradient passes through a node although one of its inputs wants one, as within `no_grad`."""
    return needs_gradient(node) and not node.requires_grad
