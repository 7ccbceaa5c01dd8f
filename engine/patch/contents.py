"""`PatchContents`: what a patch holds, and what can be asked of it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from engine.blocktypes.block import Block
from engine.blocktypes.parameters import ParameterSpec
from engine.catalogue.catalogue import Catalogue, default_catalogue
from engine.diagnostics import PatchError
from engine.patch import rules
from engine.patch.applying import apply_change
from engine.patch.changes import Change, Connected, Connection, Node, NodeAdded, PortRef
from engine.patch.index import PatchIndex
from engine.patch.node_ref import NodeRef
from engine.patch.regions import RegionRefused, Scopes, branch_of, check_region, region_of


class PatchContents:
    """Nodes, connections and parameter values, each found without a walk over all of them.

    Questions about nodes that are not there raise PatchError.
    """

    def __init__(self, catalogue: Catalogue | None = None) -> None:
        self.catalogue = catalogue or default_catalogue()
        self.nodes: dict[str, Node] = {}
        #: Where the patch was loaded from or saved to; relative media paths start at its folder.
        self.path: Path | None = None
        self.extra: dict[str, Any] = {}
        self._by_target: dict[PortRef, Connection] = {}
        self._index = PatchIndex()

    @property
    def connections(self) -> list[Connection]:
        """Every connection, in the order in which they were made."""
        return list(self._by_target.values())

    @property
    def folder(self) -> Path:
        """Where relative media paths start: the file's folder, or the working directory before there is a file."""
        return self.path.resolve().parent if self.path else Path.cwd()

    def source_of(self, target: PortRef) -> PortRef | None:
        """Return the output that feeds an input, or None."""
        connection = self._by_target.get(target)
        return connection.source if connection else None

    def is_value_connection(self, connection: Connection) -> bool:
        """True when a connection drives a parameter with a value, and so is nothing that the compiler sees."""
        ends = self._type_of(connection.source.node), self._type_of(connection.target.node)
        return rules.is_value_connection(connection, *ends)

    def connections_of(self, node_id: str) -> list[Connection]:
        """Return the connections that start or end at a node."""
        return list(self._index.touching(node_id))

    def block_type(self, node_id: str) -> type[Block] | None:
        """Return a node's block type, or None when it is not in the catalogue."""
        return self.catalogue.get(self._require(node_id).type)

    def value(self, node: NodeRef | str, parameter: str) -> Any:
        """Return a parameter's value: what was set, or its default, which also stands in for what its type refuses."""
        found = self._require(id_of(node))
        if parameter not in found.parameters:
            return self._parameter(found, parameter).default
        block_type = self._type_of(found.id)
        spec = block_type.parameters.get(parameter) if block_type is not None else None
        if spec is None:
            return found.parameters[parameter]
        try:
            return spec.coerce(found.parameters[parameter])
        except PatchError:  # it was set when the type was another
            return spec.default

    def title(self, node_id: str) -> str:
        """Return what the canvas calls a node."""
        node = self._require(node_id)
        block_type = self.catalogue.get(node.type)
        return node.title or (block_type.title if block_type else node.type)

    @property
    def scopes(self) -> Scopes:
        """Which blocks lie in which regions."""
        return self._index.scopes

    def members(self, region: NodeRef | str) -> list[str]:
        """Return the nodes that lie directly in a region block, in any of its branches."""
        found = self._require(id_of(region)).id
        return list(self._index.members(found))

    def as_changes(self) -> list[Change]:
        """Return the changes that make this patch from an empty one."""
        return [*map(NodeAdded, self.nodes.values()), *map(Connected, self._by_target.values())]

    def check_connection(self, source: PortRef, target: PortRef) -> Connection:
        """Return the connection that `connect` would make, or raise what it would raise."""
        connection = Connection(source, target)
        source_type, target_type = self._known_type(source.node), self._known_type(target.node)
        rules.check_types(
            connection,
            rules.require_end(source.node, source_type, source.port),
            rules.require_end(target.node, target_type, target.port),
        )
        scopes = self.scopes
        if rules.is_value_connection(connection, source_type, target_type):
            rules.check_values_acyclic(connection, partial(self._values_feed, replaced=target))
        elif self._orders(connection):
            rules.check_branches(connection, scopes)
            # What the connection replaces does not count.
            counts = partial(self._orders, replaced=target)
            rules.check_acyclic(connection, lambda node: self._index.following(node, counts), scopes)
        return connection

    def _take(self, change: Change) -> None:
        """Hold what a change leaves."""
        apply_change(self.nodes, self._by_target, change)
        self._index.follow(change)

    def _scope(self, node: str, region: NodeRef | str) -> str:
        """Return the text of a scope that blocks may lie in; `node` is what a message calls the block."""
        scope = id_of(region)
        if scope:
            owner = region_of(scope)
            if owner not in self.nodes:
                raise RegionRefused(f"region of {node} must be a node of the patch, got {owner!r}")
            check_region(node, owner, self.block_type(owner), branch_of(scope))
        return scope

    def _orders(self, connection: Connection, replaced: PortRef | None = None) -> bool:
        """True unless a connection goes to `replaced` or to an input not needed in the same frame, or is of values."""
        if connection.target == replaced or self.is_value_connection(connection):
            return False
        block_type = self._type_of(connection.target.node)
        spec = block_type.ports.get(connection.target.port) if block_type else None
        return spec is None or not spec.delayed

    def _values_feed(self, node_id: str, replaced: PortRef) -> Iterator[str]:
        """Give the blocks that the outputs of a value block lead to, without what feeds `replaced`."""
        block_type = self._type_of(node_id)
        if block_type is not None and block_type.is_value:
            for connection in self._index.touching(node_id):
                if connection.source.node == node_id and connection.target != replaced:
                    yield connection.target.node

    def _require(self, node_id: str) -> Node:
        try:
            return self.nodes[node_id]
        except KeyError:
            known = ", ".join(self.nodes) or "no nodes"
            raise PatchError(f"node must be one of {known}, got {node_id!r}") from None

    def _type_of(self, node_id: str) -> type[Block] | None:
        node = self.nodes.get(node_id)
        return self.catalogue.get(node.type) if node else None

    def _known_type(self, node_id: str) -> type[Block]:
        return self.catalogue.require(self._require(node_id).type)

    def _parameter(self, node: Node, name: str) -> ParameterSpec:
        return self.catalogue.require(node.type).parameter(name)


def id_of(node: NodeRef | str) -> str:
    """Return a node's id, given itself or a handle on the node."""
    return node if isinstance(node, str) else node.id
