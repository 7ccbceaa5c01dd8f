"""Wiring: the order of value blocks, the errors of their connections, and the active connections."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from typing import Any, Protocol

from warploom.engine.blocktypes.block import TypeOf
from warploom.engine.blocktypes.parameters import ParameterSpec, shown_number
from warploom.engine.diagnostics import Diagnostic, PatchError, warning
from warploom.engine.patch import rules
from warploom.engine.patch.changes import Connection, PortRef
from warploom.engine.types.bits import same


@dataclass
class ValueWiring:
    """The value blocks, each after those that drive it; the valid connections; and the errors of the others."""

    order: list[str]
    connections: list[Connection] = field(default_factory=list)
    problems: list[Diagnostic] = field(default_factory=list)


def wire_values(nodes: Iterable[str], connections: Iterable[Connection], type_of: TypeOf) -> ValueWiring:
    """Return the wiring of value blocks, and of the live blocks among `nodes`.

    `connections` are value connections. A patch from a file may have some that no edit could make. These are left out,
    with a warning on the node. Connections at blocks of unknown types are left out silently, since those nodes already
    have errors.
    """
    found = ValueWiring([])
    for connection in connections:
        source, target = type_of(connection.source.node), type_of(connection.target.node)
        if source is None or target is None:
            continue
        try:
            end = rules.require_end(connection.source.node, source, connection.source.port)
            rules.check_types(
                connection, end, rules.require_end(connection.target.node, target, connection.target.port)
            )
        except rules.UnknownPort as problem:  # another version of the block type had this output
            remedy = f"connect {connection.source} to another parameter, or delete the connection"
            found.problems.append(_left_out(connection, f"{problem}: it is left out", remedy))
        except PatchError as problem:
            found.problems.append(_left_out(connection, str(problem)))
        else:
            # Use the present name of the output.
            found.connections.append(Connection(PortRef(connection.source.node, end.name), connection.target))
    among = set(nodes := list(nodes))
    while True:
        inner = [c for c in found.connections if c.target.node in among]
        circle = rules.find_cycle((c.source.node, c.target.node) for c in inner)
        if circle is None:
            break
        ends = (circle[-2], circle[-1])
        closing = next(c for c in inner if (c.source.node, c.target.node) == ends)
        found.connections.remove(closing)
        found.problems.append(_left_out(closing, f"values must not go in a circle, got {' -> '.join(circle)}"))
    sorter = TopologicalSorter[str](dict.fromkeys(nodes, ()))  # keeps the order in which nodes were placed
    for connection in inner:
        if connection.source.node in among:  # a live block may be in the patch and not in the graph
            sorter.add(connection.target.node, connection.source.node)
    found.order = list(sorter.static_order())
    return found


def _left_out(connection: Connection, text: str, remedy: str = "") -> Diagnostic:
    target = connection.target
    remedy = remedy or f"delete the connection from {connection.source}"
    return warning(text, node=target.node, port=target.port, remedy=remedy)


#: Sets a parameter to a valid value.
Put = Callable[[Any], None]


class Parameters(Protocol):
    """The part of the parameter store that a value graph uses; only the store writes values."""

    @property
    def values(self) -> Mapping[str, Mapping[str, Any]]: ...
    def drive(self, node_id: str, name: str) -> Put: ...
    def release(self, node_id: str, name: str) -> None: ...


_CONVERT: dict[str, Callable[[float], float]] = {"float": float, "int": round, "bool": bool}


#: The source of the connection that stands for a parameter's keys.
KEYS = PortRef("", "keys")


class Drive:
    """An active connection, or a parameter's keys: `put` rounds a value, clamps it to the bounds, and passes on a new
    one.
    """

    __slots__ = ("_convert", "_high", "_low", "_put", "_type", "clamped", "connection", "value")

    def __init__(self, connection: Connection, spec: ParameterSpec, value: Any, put: Put) -> None:
        """`value` is the parameter's present value; `put` sets another."""
        self.connection = connection
        self.value = value
        self._put = put
        self._type = spec.type
        self._convert = _CONVERT[spec.type]
        self._low, self._high = spec.driven_range
        #: 1 if the value is above the parameter's bounds, -1 if it is below, otherwise 0.
        self.clamped = 0

    def put(self, value: float) -> bool:
        """Set the parameter to a finite value, unless it has this value already. Return whether `diagnostic` has
        changed.
        """
        taken: float = self._convert(value)
        clamped = 0
        if taken > self._high:
            taken, clamped = self._limit(self._high), 1
        elif taken < self._low:
            taken, clamped = self._limit(self._low), -1
        if not same(self.value, taken):
            self.value = taken
            self._put(taken)
        if clamped == self.clamped:
            return False
        self.clamped = clamped
        return True

    @property
    def diagnostic(self) -> Diagnostic | None:
        """The warning about a clamped value, or None."""
        if not self.clamped:
            return None
        target, source = self.connection.target, self.connection.source
        rule, limit = ("most", self._high) if self.clamped > 0 else ("least", self._low)
        found = "more" if self.clamped > 0 else "less"
        text = f"parameter {target.port} must be at {rule} {shown_number(limit)}, got {found}"
        if source == KEYS:
            remedy = "it is kept at that; bring the values and slopes of its keys into its range"
            return warning(f"{text} from its keys", node=target.node, port=target.port, remedy=remedy)
        remedy = f"it is kept at that; bring {source} into its range, with a Map for instance"
        return warning(f"{text} from {source}", node=target.node, port=target.port, remedy=remedy)

    def _limit(self, limit: float) -> float:
        return int(limit) if self._type == "int" else float(limit)
