"""Changes: what happened to a patch, as plain structs.

Every edit is a list of changes, each with an inverse, so undo is the inverses in reverse order. The same structs go
to the engine's inbox and could travel over a pipe.
"""

from __future__ import annotations

from typing import Any

import msgspec

Position = tuple[float, float]


class PortRef(msgspec.Struct, frozen=True):
    """A port of a node in a patch."""

    node: str
    port: str

    def __str__(self) -> str:
        return f"{self.node}.{self.port}"


class Node(msgspec.Struct, kw_only=True, frozen=True):
    """A placed block: its type, where it is on the canvas, and the parameters that were set.

    `region` is the scope that it lies in: "" outside all regions, a region block's id for its body, "id.else" for the
    other branch. `extra` keeps fields of a newer file format, so that saving loses nothing.
    """

    id: str
    type: str
    version: int = 1
    title: str = ""
    region: str = ""
    position: Position = (0.0, 0.0)
    parameters: dict[str, Any] = {}
    extra: dict[str, Any] = {}


class Connection(msgspec.Struct, frozen=True):
    """An output port tied to an input port."""

    source: PortRef
    target: PortRef

    def __str__(self) -> str:
        return f"{self.source} -> {self.target}"


class NodeAdded(msgspec.Struct, frozen=True, tag=True):
    """A node came into the patch."""

    node: Node


class NodeRemoved(msgspec.Struct, frozen=True, tag=True):
    """A node left the patch; its connections left before it."""

    node: Node


class Connected(msgspec.Struct, frozen=True, tag=True):
    """A connection was made."""

    connection: Connection


class Disconnected(msgspec.Struct, frozen=True, tag=True):
    """A connection was taken away."""

    connection: Connection


class ParameterChanged(msgspec.Struct, frozen=True, tag=True):
    """A parameter has a new value; None stands for the block type's default."""

    node: str
    parameter: str
    value: Any
    previous: Any


class NodeMoved(msgspec.Struct, frozen=True, tag=True):
    """A node lies elsewhere on the canvas."""

    node: str
    position: Position
    previous: Position


class NodeRenamed(msgspec.Struct, frozen=True, tag=True):
    """A node has another title; its id stays."""

    node: str
    title: str
    previous: str


class NodeRegionChanged(msgspec.Struct, frozen=True, tag=True):
    """A node lies in another region, or in none."""

    node: str
    region: str
    previous: str


class BlockTypesChanged(msgspec.Struct, frozen=True, tag=True):
    """Block types came, went or are others; the patch is as it was, so that this is never part of an edit.

    Nodes of these types show and run the new version. `types` are ids.
    """

    types: frozenset[str]


Change = (
    NodeAdded
    | NodeRemoved
    | Connected
    | Disconnected
    | ParameterChanged
    | NodeMoved
    | NodeRenamed
    | NodeRegionChanged
    | BlockTypesChanged
)


def nodes_of(change: Change) -> tuple[str, ...]:
    """Return the nodes that a change concerns; one of block types concerns none by itself."""
    match change:
        case NodeAdded(node) | NodeRemoved(node):
            return (node.id,)
        case Connected(connection) | Disconnected(connection):
            return (connection.source.node, connection.target.node)
        case BlockTypesChanged():
            return ()
    return (change.node,)


def inverse(change: Change) -> Change:
    """Return the change that undoes `change`."""
    match change:
        case NodeAdded(node):
            return NodeRemoved(node)
        case NodeRemoved(node):
            return NodeAdded(node)
        case Connected(connection):
            return Disconnected(connection)
        case Disconnected(connection):
            return Connected(connection)
        case ParameterChanged(node, parameter, value, previous):
            return ParameterChanged(node, parameter, previous, value)
        case NodeMoved(node, position, previous):
            return NodeMoved(node, previous, position)
        case NodeRenamed(node, title, previous):
            return NodeRenamed(node, previous, title)
        case NodeRegionChanged(node, region, previous):
            return NodeRegionChanged(node, previous, region)
        case BlockTypesChanged():
            return change  # the types are what they are


def merge(first: Change, second: Change) -> Change | None:
    """Return one change that does both, when both set the same thing; else None."""
    match first, second:
        case ParameterChanged(node, name, _, previous), ParameterChanged() if (node, name) == (
            second.node,
            second.parameter,
        ):
            return ParameterChanged(node, name, second.value, previous)
        case NodeMoved(node, _, previous), NodeMoved() if node == second.node:
            return NodeMoved(node, second.position, previous)
        case NodeRenamed(node, _, previous), NodeRenamed() if node == second.node:
            return NodeRenamed(node, second.title, previous)
        case NodeRegionChanged(node, _, previous), NodeRegionChanged() if node == second.node:
            return NodeRegionChanged(node, second.region, previous)
    return None
