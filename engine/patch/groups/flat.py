"""`Flat`: the patch as the engine runs it, without its groups.

A group has two *ends* inside, one node with its inputs and one with its outputs. A connection that leads to a group
continues from its inputs inside, and one that leads to the outputs inside continues outside.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from warploom.engine.patch import changes
from warploom.engine.patch.changes import Change, Connection, PortRef
from warploom.engine.patch.editing.applying import PatchIndex
from warploom.engine.patch.regions import Scopes, region_of

#: The types of a group's node, and of the nodes of its inputs and outputs inside.
GROUP, INPUTS, OUTPUTS = "patch.group", "patch.inputs", "patch.outputs"
ENDS = (INPUTS, OUTPUTS)
HIDDEN = (GROUP, *ENDS)


class Flat:
    """Follows the changes of a patch with groups, and makes those of the patch without them.

    `by_target` are the patch's connections, by input; it belongs to the patch.
    """

    def __init__(self, by_target: Mapping[PortRef, Connection]) -> None:
        #: The index of the patch without groups.
        self.index = PatchIndex()
        #: Its connections, by input.
        self.by_target: dict[PortRef, Connection] = {}
        self._stored = by_target
        self._scope_of: dict[str, str] = {}
        #: The groups and ends, with their types.
        self.hidden: dict[str, str] = {}
        self._ends: dict[tuple[str, str], str] = {}
        #: The inputs that each port of a group or an end feeds.
        self._fed: dict[PortRef, dict[PortRef, None]] = {}

    # Ports

    def end(self, group: str, kind: str) -> str | None:
        """Return the node of a group's inputs or outputs."""
        return self._ends.get((group, kind))

    def group_of(self, scope: str) -> str:
        """Return the innermost group around a scope; "" outside all groups."""
        while scope and self.hidden.get(region_of(scope)) != GROUP:
            scope = self._scope_of.get(region_of(scope), "")
        return region_of(scope)

    def level(self, node: str) -> str:
        """Return the innermost group around a node; "" outside all groups."""
        return self.group_of(self._scope_of.get(node, ""))

    def scope(self, scope: str) -> str:
        """Return the innermost scope that is, or contains, a scope and is not of a group."""
        while scope and self.hidden.get(region_of(scope)) == GROUP:
            scope = self._scope_of.get(region_of(scope), "")
        return scope

    def scopes_with(self, moved: Mapping[str, str]) -> Scopes:
        """Return the scopes without groups, once the scopes of some nodes have changed."""
        before = self._scope_of
        self._scope_of = {**before, **moved}
        try:
            return Scopes({node: self.scope(scope) for node, scope in self._scope_of.items()})
        finally:
            self._scope_of = before

    def link(self, port: PortRef) -> PortRef | None:
        """Return the input that an output of a group or of its inputs continues; None for other ports."""
        kind = self.hidden.get(port.node)
        node = self.end(port.node, OUTPUTS) if kind == GROUP else self.level(port.node) if kind == INPUTS else None
        return PortRef(node, port.port) if node else None

    def source(self, port: PortRef) -> PortRef | None:
        """Return the output of a block that an output of any node has the elements of; None when there is none."""
        seen = set()
        while port.node in self.hidden:
            before = self.link(port)
            connection = self._stored.get(before) if before is not None else None
            if connection is None or before in seen:
                return None
            seen.add(before)
            port = connection.source
        return port

    def targets(self, port: PortRef) -> list[PortRef]:
        """Return the inputs of blocks that an input of any node feeds."""
        found, seen, waiting = [], {port}, [port]
        while waiting:
            port = waiting.pop()
            kind = self.hidden.get(port.node)
            if kind is None:
                found.append(port)
                continue
            node = self.end(port.node, INPUTS) if kind == GROUP else self.level(port.node) if kind == OUTPUTS else None
            fed = self._fed.get(PortRef(node, port.port), ()) if node else ()
            waiting += [target for target in reversed(list(fed)) if target not in seen]
            seen.update(waiting)
        return found

    def pairs(self, connection: Connection) -> list[Connection]:
        """Return the connections between blocks that a connection makes."""
        source = self.source(connection.source)
        return [Connection(source, target) for target in self.targets(connection.target)] if source is not None else []

    # Changes

    def follow(self, change: Change) -> list[Change]:
        """Follow a change that the patch has applied; return the changes of the patch without groups."""
        found = list(self._flattened(change))
        for flat in found:
            self.index.follow(flat)
            match flat:
                case changes.Connected(connection):
                    self.by_target[connection.target] = connection
                case changes.Disconnected(connection):
                    self.by_target.pop(connection.target, None)
        return found

    def shown(self, change: Change) -> list[Change]:
        """Return what a change of a connection, a parameter or a place would be without groups."""
        match change:
            case changes.Connected(connection):
                return [*map(changes.Connected, self.pairs(connection))]
            case changes.Disconnected(connection):
                return [*map(changes.Disconnected, self.pairs(connection))]
        return [] if set(changes.nodes_of(change)) & self.hidden.keys() else [change]

    def _flattened(self, change: Change) -> Iterator[Change]:
        match change:
            case changes.NodeAdded(node) if node.type == GROUP:  # its blocks may be there already, as in a file
                before = {inner: self.scope(scope) for inner, scope in self._scope_of.items()}
                self._enter(node.id, node.type, node.region)
                yield from self._moved(before)
            case changes.NodeAdded(node):
                self._enter(node.id, node.type, node.region)
                if node.type not in HIDDEN:
                    yield changes.NodeAdded(replace(node, region=self.scope(node.region)))
            case changes.NodeRemoved(node):
                if node.type not in HIDDEN:
                    yield changes.NodeRemoved(replace(node, region=self.scope(node.region)))
                self._leave(node.id)
            case changes.NodeRegionChanged(node_id, region):
                kind = self.hidden.get(node_id, "")
                through = (
                    [c for c in self._stored.values() if node_id in (c.source.node, c.target.node)]
                    if kind in ENDS
                    else []
                )
                led = dict.fromkeys(pair for connection in through for pair in self.pairs(connection))
                nodes = [*self._scope_of, node_id] if kind == GROUP else [node_id]
                before = {node: self.scope(self._scope_of.get(node, "")) for node in nodes}
                self._leave(node_id)
                self._enter(node_id, kind, region)
                yield from self._moved(before)
                leads = dict.fromkeys(pair for connection in through for pair in self.pairs(connection))
                yield from (changes.Disconnected(pair) for pair in led if pair not in leads)
                yield from (changes.Connected(pair) for pair in leads if pair not in led)
            case changes.Connected(connection):
                if connection.source.node in self.hidden:
                    self._fed.setdefault(connection.source, {})[connection.target] = None
                yield from map(changes.Connected, self.pairs(connection))
            case changes.Disconnected(connection):
                yield from map(changes.Disconnected, self.pairs(connection))
                if connection.source.node in self.hidden:
                    self._fed[connection.source].pop(connection.target, None)
            case changes.SentinelChanged(port) if port.node in self.hidden:
                return  # in a file that a person has edited
            case _:
                yield from self.shown(change)

    def _moved(self, before: Mapping[str, str]) -> Iterator[Change]:
        """Yield the changes of blocks that had other scopes before."""
        for node, scope in before.items():
            now = self.scope(self._scope_of.get(node, ""))
            if node not in self.hidden and now != scope:
                yield changes.NodeRegionChanged(node, now, scope)

    def _enter(self, node: str, kind: str, scope: str) -> None:
        if scope:
            self._scope_of[node] = scope
        if kind in HIDDEN:
            self.hidden[node] = kind
        if kind in ENDS:
            self._ends[region_of(scope), kind] = node

    def _leave(self, node: str) -> None:
        scope, kind = self._scope_of.pop(node, ""), self.hidden.pop(node, "")
        if kind in ENDS and self._ends.get((region_of(scope), kind)) == node:
            del self._ends[region_of(scope), kind]
