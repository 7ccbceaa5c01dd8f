"""A node's face: what the canvas shows of it, as plain data made from the patch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from app.canvas.flow import flow_of
from app.theme.type_colours import Flow
from engine.blocktypes.block import Block
from engine.patch.changes import Connection
from engine.patch.document import Patch


@dataclass(frozen=True)
class PortFace:
    """A port as it is drawn. A dangling one is named by a connection, but the block type has no such port."""

    name: str
    is_input: bool
    flow: Flow
    optional: bool = False
    dangling: bool = False


@dataclass(frozen=True)
class NodeFace:
    """A node as it is drawn. A missing one stands for a block type that is not in the catalogue."""

    title: str
    category: str
    inputs: tuple[PortFace, ...]
    outputs: tuple[PortFace, ...]
    missing: bool = False

    def port(self, name: str, *, is_input: bool) -> PortFace | None:
        """Return a port by name and side, or None."""
        ports = self.inputs if is_input else self.outputs
        return next((port for port in ports if port.name == name), None)


def node_face(patch: Patch, node_id: str, connections: Iterable[Connection] | None = None) -> NodeFace:
    """Return the face of a node; `connections` are those of the node, when the caller knows them already."""
    block_type = patch.block_type(node_id)
    node = patch.nodes[node_id]
    used = patch.connections_of(node_id) if connections is None else connections
    inputs, outputs = _declared(block_type)
    known_inputs, known_outputs = {p.name for p in inputs}, {p.name for p in outputs}
    for connection in used:
        if connection.target.node == node_id and connection.target.port not in known_inputs:
            known_inputs.add(connection.target.port)
            inputs.append(PortFace(connection.target.port, True, Flow.ANY, dangling=True))
        if connection.source.node == node_id and connection.source.port not in known_outputs:
            known_outputs.add(connection.source.port)
            outputs.append(PortFace(connection.source.port, False, Flow.ANY, dangling=True))
    if block_type is None:
        title = node.title or f"Missing: {node.type}"
        return NodeFace(title, "", tuple(inputs), tuple(outputs), missing=True)
    return NodeFace(patch.title(node_id), block_type.category, tuple(inputs), tuple(outputs))


def _declared(block_type: type[Block] | None) -> tuple[list[PortFace], list[PortFace]]:
    if block_type is None:
        return [], []
    return (
        [PortFace(s.name, True, flow_of(block_type, s), s.optional) for s in block_type.inputs()],
        [PortFace(s.name, False, flow_of(block_type, s)) for s in block_type.outputs()],
    )
