"""`Patch`: the document. Whoever edits a patch edits this object; canvas, engine and files follow its changes."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from engine.blocktypes.block import Block
from engine.blocktypes.catalogue import Catalogue, default_catalogue
from engine.blocktypes.parameters import ParameterSpec
from engine.diagnostics import PatchError
from engine.patch import rules
from engine.patch.applying import apply_change
from engine.patch.changes import (
    Change,
    Connected,
    Connection,
    Disconnected,
    Node,
    NodeAdded,
    NodeMoved,
    NodeRegionChanged,
    NodeRemoved,
    NodeRenamed,
    ParameterChanged,
    PortRef,
    Position,
    inverse,
)
from engine.patch.history import Edit, History
from engine.patch.index import PatchIndex
from engine.patch.node_ref import NodeRef
from engine.patch.pieces import copies, excerpt
from engine.patch.regions import TOP, RegionRefused, Scopes, branch_of, check_region, region_of

__all__ = ["NodeRef", "Patch"]

Listener = Callable[[Change], None]


class Patch:
    """Nodes, connections and parameter values, with undo.

    Edits either happen whole or raise PatchError and change nothing. Listeners hear every change, in order, on the
    thread that edits; a patch belongs to one thread.
    """

    def __init__(self, catalogue: Catalogue | None = None) -> None:
        self.catalogue = catalogue or default_catalogue()
        self.nodes: dict[str, Node] = {}
        self.history = History()
        #: Where the patch was loaded from or saved to; relative media paths start at its folder.
        self.path: Path | None = None
        self.extra: dict[str, Any] = {}
        #: True while listeners hear of changes that take an edit back, or bring it back.
        self.is_undoing = False
        self._by_target: dict[PortRef, Connection] = {}
        self._index = PatchIndex()
        self._listeners: list[Listener] = []
        self._open_edit: Edit | None = None

    # Looking

    @property
    def connections(self) -> list[Connection]:
        """Every connection, in the order in which they were made."""
        return list(self._by_target.values())

    @property
    def folder(self) -> Path:
        """Where relative media paths start: the file's folder, or the working directory before there is a file."""
        return self.path.resolve().parent if self.path else Path.cwd()

    def __getitem__(self, node_id: str) -> NodeRef:
        self._require(node_id)
        return NodeRef(self, node_id)

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
        found = self._require(_id(node))
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
        found = self._require(_id(region)).id
        return list(self._index.members(found))

    def as_changes(self) -> list[Change]:
        """Return the changes that make this patch from an empty one."""
        return [*map(NodeAdded, self.nodes.values()), *map(Connected, self._by_target.values())]

    def excerpt(self, node_ids: Collection[str]) -> Patch:
        """Return some nodes and the connections between them as a patch of its own, with nothing to undo.

        A node whose region is left out lies in the next region around it that is not.
        """
        part = Patch(self.catalogue)
        part.restore(excerpt(self, frozenset(node_ids)))
        return part

    # Editing

    def add(
        self,
        type_id: str,
        *,
        node_id: str | None = None,
        position: Position = (0.0, 0.0),
        title: str = "",
        region: NodeRef | str = TOP,
        **values: Any,
    ) -> NodeRef:
        """Place a block of type `type_id` with the given parameter values and return a handle on it.

        `region` is where it lies: a region block (its body), or a scope such as `choice.otherwise`.
        """
        block_type = self.catalogue.require(type_id)
        checked = {name: block_type.parameter(name).coerce(value) for name, value in values.items()}
        new_id = node_id or _free_id(type_id.rsplit(".", 1)[-1], self.nodes)
        if new_id in self.nodes:
            raise PatchError(f"node id must be new in the patch, got {new_id!r}")
        rules.check_node_id(new_id)
        node = Node(
            id=new_id,
            type=type_id,
            version=block_type.version,
            title=title,
            region=self._scope(new_id, region),
            position=position,
            parameters=checked,
        )
        self._do(f"Add {block_type.title}", NodeAdded(node))
        return NodeRef(self, new_id)

    def insert(
        self,
        other: Patch,
        *,
        offset: Position = (0.0, 0.0),
        name: str = "Insert",
        region: NodeRef | str = TOP,
    ) -> dict[str, str]:
        """Add the nodes and connections of another patch and return each node's new id by its old one.

        Nodes keep their ids where these are free, and stay in the regions that come along; the others go to `region`.
        Placeholders and what connects to them come along unchecked.
        """
        outer = self._scope("what is inserted", region)
        ids, changes = copies(other, offset, outer, _free_id, self.nodes)
        self._do(name, *changes)
        return ids

    def remove(self, node: NodeRef | str) -> None:
        """Take a node and its connections out of the patch; what lies in a region block stays, in the region around."""
        found = self._require(_id(node))
        members = [self.nodes[member] for member in self.members(found.id)]
        changes: list[Change] = [NodeRegionChanged(m.id, found.region, m.region) for m in members]
        changes += [Disconnected(c) for c in self.connections_of(found.id)]
        self._do(f"Delete {self.title(found.id)}", *changes, NodeRemoved(found))

    def connect(self, source: PortRef, target: PortRef) -> Connection:
        """Tie an output to an input, in place of what fed that input; ConnectionRefused says why it may not be."""
        connection = self.check_connection(source, target)
        existing = self._by_target.get(target)
        if existing == connection:
            return connection
        changes: list[Change] = [Disconnected(existing)] if existing else []
        self._do(f"Connect {connection}", *changes, Connected(connection))
        return connection

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

    def disconnect(self, connection: Connection | PortRef) -> None:
        """Take away a connection, given itself or the input it feeds."""
        target = connection.target if isinstance(connection, Connection) else connection
        existing = self._by_target.get(target)
        if existing is None or (isinstance(connection, Connection) and existing != connection):
            raise PatchError(f"connection must be in the patch, got {connection}")
        self._do(f"Disconnect {existing}", Disconnected(existing))

    def set(self, node: NodeRef | str, *, gesture: object = None, **values: Any) -> None:
        """Set parameters of a node; calls with the same `gesture` become one undo step."""
        found = self._require(_id(node))
        changes: list[Change] = []
        for name, value in values.items():
            checked = self._parameter(found, name).coerce(value)
            previous = found.parameters.get(name)
            if not _same(previous, checked):
                changes.append(ParameterChanged(found.id, name, checked, previous))
        names = ", ".join(values)
        self._do(f"Set {names} of {self.title(found.id)}", *changes, gesture=gesture)

    def reset(self, node: NodeRef | str, parameter: str) -> None:
        """Give a parameter its default back."""
        found = self._require(_id(node))
        if parameter in found.parameters:
            change = ParameterChanged(found.id, parameter, None, found.parameters[parameter])
            self._do(f"Reset {parameter} of {self.title(found.id)}", change)

    def move(self, node: NodeRef | str, position: Position, *, gesture: object = None) -> None:
        """Put a node elsewhere on the canvas."""
        found = self._require(_id(node))
        if position != found.position:
            change = NodeMoved(found.id, position, found.position)
            self._do(f"Move {self.title(found.id)}", change, gesture=gesture)

    def move_into(self, nodes: NodeRef | str | Collection[NodeRef | str], region: NodeRef | str) -> None:
        """Put one or several nodes into a region, or with "" outside all; what lies in a region block goes with it.

        RegionRefused when the region can't hold them, WouldCycle when the region would then depend on itself.
        """
        chosen = [nodes] if isinstance(nodes, (NodeRef, str)) else nodes
        found = [self._require(node_id) for node_id in dict.fromkeys(map(_id, chosen))]
        scope = self._scope(", ".join(node.id for node in found), region)
        changes = [NodeRegionChanged(n.id, scope, n.region) for n in found if n.region != scope]
        if not changes:
            return
        before = self.scopes
        after = Scopes({**before.scope_of, **{change.node: scope for change in changes}})
        after.chain(scope)
        rules.check_move(filter(self._orders, self._by_target.values()), before, after)
        where = f"into {self.title(region_of(scope))}" if scope else "out of its region"
        what = self.title(found[0].id) if len(found) == 1 else f"{len(found)} nodes"
        self._do(f"Move {what} {where}", *changes)

    def rename(self, node: NodeRef | str, title: str) -> None:
        """Give a node a title of its own; an empty one returns to the block type's."""
        found = self._require(_id(node))
        if title != found.title:
            self._do(f"Rename {self.title(found.id)}", NodeRenamed(found.id, title, found.title))

    @contextmanager
    def edit(self, name: str, *, gesture: object = None) -> Iterator[None]:
        """Make everything done inside one undo step; when it raises, what was done so far is taken back."""
        outer = self._open_edit
        edit = outer or Edit(name, gesture=gesture)
        self._open_edit, start = edit, len(edit.changes)
        try:
            yield
        except BaseException:
            while len(edit.changes) > start:
                self._apply(inverse(edit.changes.pop()))
            raise
        finally:
            self._open_edit = outer
            if outer is None:
                self.history.record(edit)

    def undo(self) -> str | None:
        """Take the last edit back; return its name, or None when there is none."""
        edit = self.history.take_undo()
        if edit is not None:
            self._repeat(list(map(inverse, reversed(edit.changes))))
        return edit.name if edit else None

    def redo(self) -> str | None:
        """Bring the last undone edit back; return its name, or None when there is none."""
        edit = self.history.take_redo()
        if edit is not None:
            self._repeat(edit.changes)
        return edit.name if edit else None

    # Listening

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` with every change from now on; return a function that ends it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    # Files build a patch from changes that they have checked themselves.
    def restore(self, changes: list[Change]) -> None:
        """Apply changes that are not an edit of a person: nothing to undo."""
        for change in changes:
            self._apply(change)

    def _repeat(self, changes: list[Change]) -> None:
        self.is_undoing = True
        try:
            for change in changes:
                self._apply(change)
        finally:
            self.is_undoing = False

    def _do(self, name: str, *changes: Change, gesture: object = None) -> None:
        with self.edit(name, gesture=gesture):
            for change in changes:
                if self._open_edit is not None:
                    self._open_edit.changes.append(change)
                self._apply(change)

    def _apply(self, change: Change) -> None:
        apply_change(self.nodes, self._by_target, change)
        self._index.follow(change)
        for listener in tuple(self._listeners):
            listener(change)

    def _scope(self, node: str, region: NodeRef | str) -> str:
        """Return the text of a scope that blocks may lie in; `node` is what a message calls the block."""
        scope = _id(region)
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


def _free_id(stem: str, taken: Collection[str]) -> str:
    if stem not in taken:
        return stem
    pattern = re.compile(rf"{re.escape(stem)}_(\d+)$")
    used = [int(match[1]) for name in taken if (match := pattern.match(name))]
    return f"{stem}_{max(used, default=1) + 1}"


def _id(node: NodeRef | str) -> str:
    return node if isinstance(node, str) else node.id


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return isinstance(a, np.ndarray) and a.dtype == b.dtype and np.array_equal(a, b)
    return type(a) is type(b) and bool(a == b)
