"""`verify_nodes`: checks that hold for every graph, before and after a pass."""

from __future__ import annotations

from collections.abc import Iterable

from warploom.engine.tensor_ir.errors import InvalidOperation, TensorError, TopologicalSortFailed
from warploom.engine.tensor_ir.graph import TensorNode, reachable_nodes


def verify_nodes(wanted: Iterable[TensorNode], where: str) -> None:
    """Derive the attributes of all nodes again. Raise InvalidOperation, with the node's name, if one differs.

    The attributes are the type, with shape, layout and whether it is batched, and whether it needs a gradient. The
    message names the place `where` the check was made. Raise TopologicalSortFailed if a node doesn't follow its inputs.
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
    """Whether a node stops gradients although one of its inputs needs one, as within `no_grad`."""
    return needs_gradient(node) and not node.requires_grad
