"""Wiring: which value blocks run in which order, what they drive, and what is wrong with their connections."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from engine.blocktypes.block import Block
from engine.blocktypes.parameters import ParameterSpec
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


# Driving: one connection from a value output to a parameter, and how a value is made one that the parameter takes.


#: Gives a parameter a value that fits it.
Put = Callable[[Any], None]


class Parameters(Protocol):
    """What a value graph needs of the parameter store: it says what is driven, and the store writes the values."""

    @property
    def values(self) -> Mapping[str, Mapping[str, Any]]: ...
    def drive(self, node_id: str, name: str) -> Put: ...
    def release(self, node_id: str, name: str) -> None: ...


#: What a parameter without bounds of its own is kept within, so that every kernel takes it: what f32 and s32 hold.
_WIDEST: dict[str, tuple[float, float]] = {
    "float": (-3.4028234663852886e38, 3.4028234663852886e38),
    "int": (-(2**31), 2**31 - 1),
    "bool": (False, True),
}
_CONVERT: dict[str, Callable[[float], float]] = {"float": float, "int": round, "bool": bool}


class Drive:
    """A connection at work: `put` rounds a value, keeps it within the parameter's bounds, and passes on what is new."""

    __slots__ = ("_convert", "_high", "_low", "_put", "_type", "clamped", "connection", "value")

    def __init__(self, connection: Connection, spec: ParameterSpec, value: Any, put: Put) -> None:
        """`value` is what the parameter holds, and `put` gives it another."""
        low, high = _WIDEST[spec.type]
        self.connection = connection
        self.value = value
        self._put = put
        self._type = spec.type
        self._convert = _CONVERT[spec.type]
        self._low = low if spec.minimum is None else spec.minimum
        self._high = high if spec.maximum is None else spec.maximum
        #: 1 while the value is above what the parameter takes, -1 while it is below, else 0.
        self.clamped = 0

    def put(self, value: float) -> bool:
        """Give the parameter a finite value, if it has another; return whether `diagnostic` is another now."""
        taken: float = self._convert(value)
        clamped = 0
        if taken > self._high:
            taken, clamped = self._limit(self._high), 1
        elif taken < self._low:
            taken, clamped = self._limit(self._low), -1
        if self.value != taken:
            self.value = taken
            self._put(taken)
        if clamped == self.clamped:
            return False
        self.clamped = clamped
        return True

    @property
    def diagnostic(self) -> Diagnostic | None:
        """The warning of a value that does not fit, or None."""
        if not self.clamped:
            return None
        target, source = self.connection.target, self.connection.source
        rule, limit = ("most", self._high) if self.clamped > 0 else ("least", self._low)
        text = f"parameter {target.port} must be at {rule} {limit:.15g}, got {'more' if self.clamped > 0 else 'less'}"
        remedy = f"it is kept at that; bring {source} into its range, with a Map for instance"
        return warning(f"{text} from {source}", node=target.node, port=target.port, remedy=remedy)

    def _limit(self, limit: float) -> float:
        return int(limit) if self._type == "int" else float(limit)
