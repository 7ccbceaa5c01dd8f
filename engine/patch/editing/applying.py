"""Applies changes to nodes and connections: checks whether one fits, and keeps an index for questions about them."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping

from warploom.engine.diagnostics import Diagnostic, PatchError, error
from warploom.engine.patch import changes, rules
from warploom.engine.patch.changes import Change, Connection, Node, PortRef, Sentinel, nodes_of
from warploom.engine.patch.organise.annotations import Annotation, RunOrder
from warploom.engine.patch.regions import Scopes, region_of


def check_change(change: Change, nodes: Container[str], connections: Mapping[PortRef, Connection]) -> None:
    """Raise PatchError unless a change fits a patch with these nodes, by id, and connections, by input.

    Another thread may have removed the change's node, or added it already.
    """
    match change:
        # The most frequent changes come first: sliders make them all the time, and opening a patch makes thousands.
        case changes.ParameterChanged(node_id, name):
            if node_id not in nodes:
                raise _misfit(change, f"a node of the patch, got {name} of {node_id}, which is not in it")
        case changes.Connected():
            connection = change.connection
            source, target = connection.source, connection.target
            if source.node not in nodes or target.node not in nodes:
                missing = source.node if source.node not in nodes else target.node
                raise _misfit(change, f"nodes of the patch, got {connection}, and {missing} is not in it")
            if target in connections:
                known = connections[target].source
                raise _misfit(change, f"an input that is free, got {connection}, and {known} feeds it")
        case changes.NodeAdded():
            node_id = change.node.id
            rules.check_node_id(node_id)
            if node_id in nodes:
                raise _misfit(change, f"a node that is new, got {node_id}, which is in the patch")
        case changes.Disconnected(connection):
            if connections.get(connection.target) != connection:
                raise _misfit(change, f"a connection of the patch, got {connection}, which is not in it")
        case changes.AnnotationChanged() | changes.BlockTypesChanged():
            pass
        case _:
            (node_id,) = nodes_of(change)
            if node_id not in nodes:
                raise _misfit(change, f"a node of the patch, got {node_id}, which is not in it")


def _misfit(change: Change, rule: str) -> PatchError:
    return PatchError(f"{type(change).__name__} must name {rule}")


def not_applied(change: Change, problem: PatchError) -> Diagnostic:
    """Return the diagnostic for a change that was not applied, at the change's node."""
    node = next(iter(nodes_of(change)), None)
    return error(str(problem), node=node, remedy="it is left out; look whether somebody else edits the same patch")


def apply_change(
    nodes: dict[str, Node],
    connections: dict[PortRef, Connection],
    sentinels: dict[PortRef, Sentinel],
    annotations: dict[str, Annotation],
    change: Change,
) -> None:
    """Apply a change; `nodes` are by id, `connections` by input, `sentinels` by output, `annotations` by key."""
    match change:
        case changes.ParameterChanged(node_id):
            nodes[node_id] = changes.applied(nodes[node_id], change)
        case changes.NodeAdded(node):
            nodes[node.id] = node
        case changes.NodeRemoved(node):
            del nodes[node.id]
        case changes.Connected(connection):
            connections[connection.target] = connection
        case changes.Disconnected(connection):
            del connections[connection.target]
        case changes.SentinelChanged(port, value):
            if value is None:
                sentinels.pop(port, None)
            else:
                sentinels[port] = value
        case changes.AnnotationChanged(key, made):
            if made is None:
                annotations.pop(key, None)
            else:
                annotations[key] = made
        case changes.BlockTypesChanged():
            pass
        case _:
            nodes[change.node] = changes.applied(nodes[change.node], change)


class PatchIndex:
    """The connections of each node and the nodes in each region, found without searching the patch."""

    def __init__(self) -> None:
        self._touching: dict[str, dict[Connection, None]] = {}
        self._scope_of: dict[str, str] = {}
        self._members: dict[str, dict[str, None]] = {}
        #: The blocks that have an order with each block, and the pairs of all orders.
        self._ordered: dict[str, set[str]] = {}
        self.orders: dict[tuple[str, str], None] = {}
        self._scopes: Scopes | None = None  # None after a change

    def follow(self, change: Change) -> None:
        """Update the index after a change."""
        match change:
            case changes.ParameterChanged():
                pass
            case changes.NodeAdded(node):
                self._lies_in(node.id, node.region)
            case changes.NodeRemoved(node):
                self._lies_in(node.id, "")
                self._touching.pop(node.id, None)
            case changes.NodeRegionChanged(node_id, region):
                self._lies_in(node_id, region)
            case changes.Connected(connection):
                for end in (connection.source, connection.target):
                    known = self._touching.get(end.node)
                    if known is None:
                        known = self._touching[end.node] = {}
                    known[connection] = None
            case changes.Disconnected(connection):
                for end in (connection.source, connection.target):
                    self._touching[end.node].pop(connection, None)
            case changes.AnnotationChanged(_, made, previous):
                if isinstance(previous, RunOrder):
                    self.orders.pop((previous.first, previous.then), None)
                    for one, other in ((previous.first, previous.then), (previous.then, previous.first)):
                        self._ordered.get(one, set()).discard(other)
                if isinstance(made, RunOrder):
                    self.orders[made.first, made.then] = None
                    self._ordered.setdefault(made.first, set()).add(made.then)
                    self._ordered.setdefault(made.then, set()).add(made.first)

    def touching(self, node_id: str) -> list[Connection]:
        """Return the connections that start or end at a node, oldest first."""
        return list(self._touching.get(node_id, ()))

    @property
    def scopes(self) -> Scopes:
        """A copy of the current scopes, which later changes don't affect."""
        if self._scopes is None:
            self._scopes = Scopes(self._scope_of.copy())
        return self._scopes

    def members(self, region: str) -> Iterable[str]:
        """Return the nodes directly in a region block, in any of its branches."""
        return self._members.get(region, ())

    def following(
        self, node_id: str, counts: Callable[[Connection], bool], *, backwards: bool = False
    ) -> Iterator[str]:
        """Yield the direct successors of a block or region along orders and these connections.

        `backwards` gives predecessors.
        """
        scopes = self.scopes
        waiting = [node_id]
        while waiting:
            inner = waiting.pop()
            waiting += self.members(inner)
            for connection in self._touching.get(inner, ()):
                near, far = connection.source.node, connection.target.node
                if backwards:
                    near, far = far, near
                if near == inner and counts(connection):
                    here, there = scopes.lift(inner, far)
                    if here == node_id != there:
                        yield there
            for far in self._ordered.get(inner, ()):
                if ((far, inner) if backwards else (inner, far)) in self.orders:
                    here, there = scopes.lift(inner, far)
                    if here == node_id != there:
                        yield there

    def _lies_in(self, node_id: str, scope: str) -> None:
        before = self._scope_of.pop(node_id, "")
        if before or scope:
            self._scopes = None
        if before:
            del self._members[region_of(before)][node_id]
        if scope:
            self._scope_of[node_id] = scope
            self._members.setdefault(region_of(scope), {})[node_id] = None
