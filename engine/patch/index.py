"""The index of a patch: what would take a walk over all of it to find."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from engine.patch.changes import (
    Change,
    Connected,
    Connection,
    Disconnected,
    NodeAdded,
    NodeRegionChanged,
    NodeRemoved,
)
from engine.patch.regions import Scopes, region_of


class PatchIndex:
    """The connections at each node, and which nodes lie in which region; it follows every change."""

    def __init__(self) -> None:
        self._touching: dict[str, dict[Connection, None]] = {}
        self._scope_of: dict[str, str] = {}
        self._members: dict[str, dict[str, None]] = {}
        self._scopes: Scopes | None = None  # made anew after a change

    def follow(self, change: Change) -> None:
        """Take note of a change that has been applied."""
        match change:
            case NodeAdded(node):
                self._lies_in(node.id, node.region)
            case NodeRemoved(node):
                self._lies_in(node.id, "")
                self._touching.pop(node.id, None)
            case NodeRegionChanged(node_id, region):
                self._lies_in(node_id, region)
            case Connected(connection):
                for node_id in _ends(connection):
                    self._touching.setdefault(node_id, {})[connection] = None
            case Disconnected(connection):
                for node_id in _ends(connection):
                    del self._touching[node_id][connection]

    def touching(self, node_id: str) -> Iterable[Connection]:
        """Return the connections that start or end at a node, in the order in which they were made."""
        return self._touching.get(node_id, ())

    @property
    def scopes(self) -> Scopes:
        """The scopes as they are now; later changes leave the result as it is."""
        if self._scopes is None:
            self._scopes = Scopes(self._scope_of.copy())
        return self._scopes

    def members(self, region: str) -> Iterable[str]:
        """Return the nodes that lie directly in a region block, in any of its branches."""
        return self._members.get(region, ())

    def following(self, node_id: str, counts: Callable[[Connection], bool]) -> Iterator[str]:
        """Give what comes right after a block or a region as a whole, along the connections that count."""
        scopes = self.scopes
        waiting = [node_id]
        while waiting:
            inner = waiting.pop()
            waiting += self.members(inner)
            for connection in self._touching.get(inner, ()):
                if connection.source.node == inner and counts(connection):
                    source, target = scopes.lift(inner, connection.target.node)
                    if source == node_id != target:
                        yield target

    def _lies_in(self, node_id: str, scope: str) -> None:
        before = self._scope_of.pop(node_id, "")
        if before or scope:
            self._scopes = None
        if before:
            del self._members[region_of(before)][node_id]
        if scope:
            self._scope_of[node_id] = scope
            self._members.setdefault(region_of(scope), {})[node_id] = None


def _ends(connection: Connection) -> set[str]:
    return {connection.source.node, connection.target.node}
