"""Dangling connections: those at a port that the block's type does not have any more. The rest runs without them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from engine.compiler.description import BlockNode
from engine.diagnostics import Diagnostic, warning
from engine.patch.changes import Connection, PortRef


def without_dangling(
    nodes: Mapping[str, BlockNode], connections: Iterable[Connection]
) -> tuple[tuple[Connection, ...], list[Diagnostic]]:
    """Return the connections whose ports are there, and a warning on the node that lacks one for each of the others.

    A connection at a block that could not be described is kept, so that what depends on the block is known.
    """
    kept, warnings = [], []
    for connection in connections:
        problem = _missing_end(nodes, connection)
        if problem is None:
            kept.append(connection)
        else:
            warnings.append(problem)
    return tuple(kept), warnings


def _missing_end(nodes: Mapping[str, BlockNode], connection: Connection) -> Diagnostic | None:
    source, target = nodes.get(connection.source.node), nodes.get(connection.target.node)
    if source is not None and connection.source.port not in source.description.rules.output_of:
        return _left_out(connection, connection.source, "output", source.description.rules.output_of)
    if target is not None and connection.target.port not in target.description.rules.input_of:
        return _left_out(connection, connection.target, "input", target.description.rules.input_of)
    return None


def _left_out(connection: Connection, end: PortRef, kind: str, ports: Iterable[str]) -> Diagnostic:
    return warning(
        f"connection {connection} must use an {kind} that {end.node} has, got {end.port!r}: it is left out",
        node=end.node,
        port=end.port,
        remedy=f"connect it to another {kind}, or delete it",
        expected=f"{kind}: {', '.join(ports) or 'none'}",
        found=end.port,
    )
