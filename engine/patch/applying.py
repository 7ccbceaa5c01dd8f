"""What a change does to the nodes and connections of a patch."""

from __future__ import annotations

from typing import Any

import msgspec

from engine.patch.changes import (
    Change,
    Connected,
    Connection,
    Disconnected,
    Node,
    NodeAdded,
    NodeMoved,
    NodeRegionChanged,
    NodeRemoved,
    NodeRenamed,
    ParameterChanged,
    PortRef,
)


def apply_change(nodes: dict[str, Node], connections: dict[PortRef, Connection], change: Change) -> None:
    """Follow one change: `nodes` are by id, `connections` by the input that they feed."""
    match change:
        case NodeAdded(node):
            nodes[node.id] = node
        case NodeRemoved(node):
            del nodes[node.id]
        case Connected(connection):
            connections[connection.target] = connection
        case Disconnected(connection):
            del connections[connection.target]
        case ParameterChanged(node_id, name, value):
            nodes[node_id] = _with_parameter(nodes[node_id], name, value)
        case NodeMoved(node_id, position):
            nodes[node_id] = msgspec.structs.replace(nodes[node_id], position=position)
        case NodeRenamed(node_id, title):
            nodes[node_id] = msgspec.structs.replace(nodes[node_id], title=title)
        case NodeRegionChanged(node_id, region):
            nodes[node_id] = msgspec.structs.replace(nodes[node_id], region=region)


def _with_parameter(node: Node, name: str, value: Any) -> Node:
    parameters = {key: kept for key, kept in node.parameters.items() if key != name}
    if value is not None:
        parameters[name] = value
    return msgspec.structs.replace(node, parameters=parameters)
