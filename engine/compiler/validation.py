"""Phase 1, validation: ports exist, element types match, required inputs are connected, nothing depends on itself.

Every problem is found in one go. What can only be known with shapes is checked where shapes are propagated.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.blocktypes.description import KernelEntry, buffer_arguments
from engine.blocktypes.ports import PortSpec
from engine.compiler.description import BlockNode, GraphDescription
from engine.diagnostics import Diagnostic, error
from engine.patch.changes import Connection, PortRef
from engine.patch.rules import find_path


def validate(description: GraphDescription) -> list[Diagnostic]:
    """Return every error that can be seen without shapes; an empty list when there is none."""
    problems: list[Diagnostic] = []
    for connection in description.connections:
        problems += _check_connection(description, connection)
    for node in description.nodes:
        problems += _check_inputs(description, node)
        problems += _check_buffers(description, node)
    problems += _check_cycles(description)
    return problems


def _spec(description: GraphDescription, port: PortRef) -> PortSpec | None:
    node = description.by_id.get(port.node)
    return next((p for p in node.description.ports if p.name == port.port), None) if node else None


def _check_connection(description: GraphDescription, connection: Connection) -> list[Diagnostic]:
    source, target = _spec(description, connection.source), _spec(description, connection.target)
    for end, spec, direction in ((connection.source, source, "output"), (connection.target, target, "input")):
        if spec is None or spec.is_input != (direction == "input"):
            return [
                error(
                    f"connection {connection} must use an {direction} port that the block has, got {end}",
                    node=connection.target.node,
                    port=connection.target.port,
                    remedy="delete the connection, or connect it to a port that exists",
                )
            ]
    assert source and target
    if "any" not in (source.dtype.kind, target.dtype.kind) and source.dtype != target.dtype:
        return [type_mismatch(connection, str(source.dtype), str(target.dtype))]
    return []


def type_mismatch(connection: Connection, got: str, expected: str) -> Diagnostic:
    """Return the diagnostic of a connection whose ends carry different element types."""
    return error(
        f"elements must be {expected}, got {got} from {connection.source}",
        node=connection.target.node,
        port=connection.target.port,
        remedy="connect an output of that type, or convert in between",
    )


def _check_inputs(description: GraphDescription, node: BlockNode) -> list[Diagnostic]:
    return [
        error(
            f"required input '{spec.name}' must be connected, got nothing",
            node=node.id,
            port=spec.name,
            remedy=f"connect an output of {spec.dtype}",
        )
        for spec in node.description.ports
        if spec.is_input and not spec.optional and PortRef(node.id, spec.name) not in description.source_of
    ]


def _check_buffers(description: GraphDescription, node: BlockNode) -> list[Diagnostic]:
    """Only a kernel can do without an optional input; what is filled, copied or shown must be there."""
    needed = {display.buffer for display in node.description.displays}
    for entry in node.description.entries:
        if not isinstance(entry, KernelEntry):
            needed |= {argument.name for argument in buffer_arguments(entry)}
    return [
        error(
            f"optional input '{spec.name}' must be connected to be filled, copied or shown, got nothing",
            node=node.id,
            port=spec.name,
            remedy=f"connect an output of {spec.dtype}",
        )
        for spec in node.description.ports
        if spec.optional and spec.name in needed and PortRef(node.id, spec.name) not in description.source_of
    ]


def _check_cycles(description: GraphDescription) -> list[Diagnostic]:
    """One diagnostic a cycle, at the node of the cycle that comes first, naming the whole way round."""
    problems = []
    reported: set[str] = set()
    circular = _between_cycles(description.connections)
    for connection in circular:
        if connection.source.node in reported:
            continue
        path = find_path(circular, connection.target.node, connection.source.node)
        if path is not None:
            reported.update(path)
            way = " -> ".join([connection.source.node, *path])
            problems.append(
                error(
                    f"blocks must not depend on themselves, got {way}",
                    node=connection.target.node,
                    port=connection.target.port,
                    remedy="delete one of these connections",
                )
            )
    return problems


def _between_cycles(connections: Sequence[Connection]) -> list[Connection]:
    """Return the connections on cycles and on the ways between cycles: none in a patch that is right.

    Nodes that nothing feeds are taken away until there are none, then nodes that feed nothing.
    """
    left = list(connections)
    for start, end in (("source", "target"), ("target", "source")):
        following: dict[str, list[str]] = {}
        count: dict[str, int] = {}
        for connection in left:
            here, there = getattr(connection, start).node, getattr(connection, end).node
            following.setdefault(here, []).append(there)
            count[there] = count.get(there, 0) + 1
        free = [node for node in following if node not in count]
        gone = set(free)
        while free:
            for node in following.get(free.pop(), ()):
                count[node] -= 1
                if count[node] == 0:
                    free.append(node)
                    gone.add(node)
        left = [connection for connection in left if getattr(connection, start).node not in gone]
    return left
