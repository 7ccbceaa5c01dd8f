"""Wiring: which value blocks run in which order, what they drive, and what is wrong with their connections."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from engine.blocktypes.block import Block
from engine.diagnostics import Diagnostic, PatchError, warning
from engine.patch import rules
from engine.patch.changes import Connection, PortRef

#: Gives a node's block type, or None when it is not known.
TypeOf = Callable[[str], type[Block] | None]


@dataclass
class Wiring:
    """The value blocks in an order in which each comes after those that drive it, and the connections that work."""

    order: list[str]
    connections: list[Connection] = field(default_factory=list)
    problems: list[Diagnostic] = field(default_factory=list)


def wire(nodes: Iterable[str], connections: Iterable[Connection], type_of: TypeOf) -> Wiring:
    """Return how value blocks work together.

    `connections` are value connections. A patch from a file may hold some that no edit would make: they are left out,
    with a warning on the node. What ends at a block whose type is unknown is left out as well: that node says so.
    """
    found = Wiring([])
    for connection in connections:
        source, target = type_of(connection.source.node), type_of(connection.target.node)
        if source is None or target is None:
            continue
        try:
            rules.check_types(
                connection,
                rules.require_end(connection.source.node, source, connection.source.port),
                rules.require_end(connection.target.node, target, connection.target.port),
            )
        except rules.UnknownPort as problem:  # what another version of a block type had: the rest goes on
            found.problems.append(_dangling(connection, str(problem)))
        except PatchError as problem:
            found.problems.append(_refusal(connection, str(problem)))
        else:
            found.connections.append(connection)
    among = set(nodes := list(nodes))
    while True:
        inner = [c for c in found.connections if c.target.node in among]
        circle = rules.find_cycle((c.source.node, c.target.node) for c in inner)
        if circle is None:
            break
        ends = (circle[-2], circle[-1])
        closing = next(c for c in inner if (c.source.node, c.target.node) == ends)
        found.connections.remove(closing)
        found.problems.append(_refusal(closing, f"values must not go in a circle, got {' -> '.join(circle)}"))
    found.order = _ordered(nodes, inner)
    return found


def _dangling(connection: Connection, text: str) -> Diagnostic:
    target = connection.target
    remedy = f"connect {connection.source} to another parameter, or delete the connection"
    return warning(f"{text}: it is left out", node=target.node, port=target.port, remedy=remedy)


def _refusal(connection: Connection, text: str) -> Diagnostic:
    target = connection.target
    remedy = f"delete the connection from {connection.source}"
    return warning(text, node=target.node, port=target.port, remedy=remedy)


def _ordered(nodes: list[str], connections: list[Connection]) -> list[str]:
    """Return the nodes so that sources come first, and otherwise as they were placed."""
    feeding: dict[str, list[str]] = {}
    missing = dict.fromkeys(nodes, 0)
    for connection in connections:
        feeding.setdefault(connection.source.node, []).append(connection.target.node)
        missing[connection.target.node] += 1
    order = [node for node in nodes if not missing[node]]
    for node in order:  # which grows
        for following in feeding.get(node, ()):
            missing[following] -= 1
            if not missing[following]:
                order.append(following)
    return order


def driven_by(connections: Iterable[Connection]) -> Mapping[PortRef, list[Connection]]:
    """Return the connections by the output that they start from."""
    found: dict[PortRef, list[Connection]] = {}
    for connection in connections:
        found.setdefault(connection.source, []).append(connection)
    return found
