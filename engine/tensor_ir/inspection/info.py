"""The facts of one node, as plain data."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

import msgspec

from engine.tensor_ir.graph import Origin, TensorNode, TensorOperation
from engine.tensor_ir.operations.leaves import Constant
from engine.tensor_ir.types import TensorType

#: Says of a node what only its owner knows, such as "computed"; "" for nothing.
Remark = Callable[[TensorNode], str]


def no_remark(node: TensorNode) -> str:
    """Say nothing."""
    return ""


class NodeRole(Enum):
    """What a node is in its graph."""

    INPUT = "input"
    WEIGHT = "weight"  #: a leaf whose gradient is wanted
    CONSTANT = "constant"
    OPERATION = "operation"


class NodeInfo(msgspec.Struct, frozen=True):
    """A node by itself: `inputs` are the labels of its inputs, by slot."""

    number: int
    label: str
    operation: TensorOperation
    role: NodeRole
    type: TensorType
    inputs: tuple[str, ...]
    requires_grad: bool
    origin: Origin | None


def node_info(node: TensorNode) -> NodeInfo:
    """Return the facts of a node."""
    return NodeInfo(
        node.number,
        node.label,
        node.operation,
        role_of(node),
        node.type,
        tuple(other.label for other in node.inputs),
        node.requires_grad,
        node.origin,
    )


def role_of(node: TensorNode) -> NodeRole:
    """Return what a node is in its graph."""
    if node.inputs:
        return NodeRole.OPERATION
    if isinstance(node.operation, Constant):
        return NodeRole.CONSTANT
    return NodeRole.WEIGHT if node.requires_grad else NodeRole.INPUT
