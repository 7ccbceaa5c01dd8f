"""What is known of one node, as plain data."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

import msgspec

from engine.tensor_ir.graph import Node, Operation, Origin
from engine.tensor_ir.operations.leaves import Constant
from engine.tensor_ir.types import TensorType

#: Says of a node what only its owner knows, such as "computed"; "" for nothing.
Remark = Callable[[Node], str]


def no_remark(node: Node) -> str:
    """Say nothing."""
    return ""


class Role(Enum):
    """What a node is in its graph."""

    INPUT = "input"
    WEIGHT = "weight"  #: a leaf whose gradient is wanted
    CONSTANT = "constant"
    OPERATION = "operation"


class NodeInfo(msgspec.Struct, frozen=True):
    """A node by itself: `inputs` are the labels of its inputs, by slot."""

    number: int
    label: str
    operation: Operation
    role: Role
    type: TensorType
    inputs: tuple[str, ...]
    requires_grad: bool
    origin: Origin | None


def node_info(node: Node) -> NodeInfo:
    """Return what is known of a node."""
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


def role_of(node: Node) -> Role:
    """Return what a node is in its graph."""
    if node.inputs:
        return Role.OPERATION
    if isinstance(node.operation, Constant):
        return Role.CONSTANT
    return Role.WEIGHT if node.requires_grad else Role.INPUT
