"""The connection graph: the engine's copy of which output feeds which input."""

from __future__ import annotations

from collections.abc import Callable

from engine.patch.changes import Connection


class ConnectionGraph:
    """The connections in the order in which they came. `on_change` hears the connection that came or went."""

    def __init__(self, on_change: Callable[[Connection], None]) -> None:
        self._on_change = on_change
        self._connections: dict[Connection, None] = {}

    def connect(self, connection: Connection) -> None:
        """Add a connection."""
        self._connections[connection] = None
        self._on_change(connection)

    def disconnect(self, connection: Connection) -> None:
        """Take a connection away."""
        del self._connections[connection]
        self._on_change(connection)

    def __contains__(self, connection: Connection) -> bool:
        return connection in self._connections

    def all(self) -> tuple[Connection, ...]:
        """Return every connection."""
        return tuple(self._connections)
