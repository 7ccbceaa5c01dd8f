"""The rules of connecting: one exception type for each reason a connection is refused."""

from __future__ import annotations

from collections.abc import Iterable

from engine.blocktypes.block import Block
from engine.blocktypes.ports import PortSpec
from engine.diagnostics import PatchError
from engine.patch.changes import Connection


class ConnectionRefused(PatchError):
    """A connection is not allowed; the text says why."""


class UnknownPort(ConnectionRefused):
    """The node has no such port."""


class WrongDirection(ConnectionRefused):
    """Both ends are inputs, or both are outputs."""


class TypeMismatch(ConnectionRefused):
    """The element types differ."""


class WouldCycle(ConnectionRefused):
    """The connection would make a block depend on itself."""


def require_port(node: str, block_type: type[Block], name: str) -> PortSpec:
    """Return a port's declaration; UnknownPort that lists the ports when there is none."""
    spec = block_type.ports.get(name)
    if spec is None:
        raise UnknownPort(f"port of {node} must be one of {', '.join(block_type.ports)}, got {name!r}")
    return spec


def check_types(connection: Connection, source: PortSpec, target: PortSpec) -> None:
    """Raise unless `source` is an output whose elements `target` takes."""
    if source.is_input:
        raise WrongDirection(f"source {connection.source} must be an output, got an input")
    if not target.is_input:
        raise WrongDirection(f"target {connection.target} must be an input, got an output")
    if "any" not in (source.dtype.kind, target.dtype.kind) and source.dtype != target.dtype:
        raise TypeMismatch(
            f"{connection.target} takes elements of {target.dtype}, got {source.dtype} from {connection.source}"
        )


def find_path(connections: Iterable[Connection], start: str, goal: str) -> list[str] | None:
    """Return the nodes on a way from `start` to `goal` along connections, both included, or None."""
    following: dict[str, list[str]] = {}
    for connection in connections:
        following.setdefault(connection.source.node, []).append(connection.target.node)
    came_from: dict[str, str | None] = {start: None}
    waiting = [start]
    while waiting:
        node = waiting.pop()
        if node == goal:
            path = [node]
            while (previous := came_from[path[-1]]) is not None:
                path.append(previous)
            return path[::-1]
        for following_node in following.get(node, ()):
            if following_node not in came_from:
                came_from[following_node] = node
                waiting.append(following_node)
    return None


def check_acyclic(connection: Connection, connections: Iterable[Connection]) -> None:
    """Raise WouldCycle, naming the nodes on the way, when `connection` would close a cycle."""
    path = find_path(connections, connection.target.node, connection.source.node)
    if path is not None:
        way = " -> ".join([connection.source.node, *path])
        raise WouldCycle(f"connection {connection} must not close a cycle, got {way}")
