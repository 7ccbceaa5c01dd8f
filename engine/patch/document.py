"""`Patch`: the document. Whoever edits a patch edits this object; canvas, engine and files follow its changes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from engine.blocktypes.block import Block
from engine.blocktypes.catalogue import Catalogue, default_catalogue
from engine.blocktypes.parameters import ParameterSpec
from engine.diagnostics import PatchError
from engine.patch import rules
from engine.patch.changes import (
    Change,
    Connected,
    Connection,
    Disconnected,
    Node,
    NodeAdded,
    NodeMoved,
    NodeRemoved,
    NodeRenamed,
    ParameterChanged,
    PortRef,
    Position,
    inverse,
)
from engine.patch.history import Edit, History

Listener = Callable[[Change], None]


class NodeRef:
    """A handle on a node of a patch: `ref["port"]` is a port, `ref.id` the node's id."""

    __slots__ = ("id", "patch")

    def __init__(self, patch: Patch, node_id: str) -> None:
        self.patch = patch
        self.id = node_id

    def __getitem__(self, port: str) -> PortRef:
        block_type = self.patch.block_type(self.id)
        if block_type is not None:
            rules.require_port(self.id, block_type, port)
        return PortRef(self.id, port)

    def __repr__(self) -> str:
        node = self.patch.nodes.get(self.id)
        return f"<node {self.id}: {node.type if node else 'removed'}>"


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
        self._by_target: dict[PortRef, Connection] = {}
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

    def connections_of(self, node_id: str) -> list[Connection]:
        """Return the connections that start or end at a node."""
        return [c for c in self._by_target.values() if node_id in (c.source.node, c.target.node)]

    def block_type(self, node_id: str) -> type[Block] | None:
        """Return a node's block type, or None when it is not in the catalogue."""
        return self.catalogue.get(self._require(node_id).type)

    def value(self, node: NodeRef | str, parameter: str) -> Any:
        """Return a parameter's value: what was set, or its default."""
        found = self._require(_id(node))
        if parameter in found.parameters:
            return found.parameters[parameter]
        return self._parameter(found, parameter).default

    def title(self, node_id: str) -> str:
        """Return what the canvas calls a node."""
        node = self._require(node_id)
        block_type = self.catalogue.get(node.type)
        return node.title or (block_type.title if block_type else node.type)

    def as_changes(self) -> list[Change]:
        """Return the changes that make this patch from an empty one."""
        return [*map(NodeAdded, self.nodes.values()), *map(Connected, self._by_target.values())]

    # Editing

    def add(
        self,
        type_id: str,
        *,
        node_id: str | None = None,
        position: Position = (0.0, 0.0),
        title: str = "",
        **values: Any,
    ) -> NodeRef:
        """Place a block of type `type_id` with the given parameter values and return a handle on it."""
        block_type = self.catalogue.require(type_id)
        checked = {name: block_type.parameter(name).coerce(value) for name, value in values.items()}
        new_id = node_id or self._free_id(type_id.rsplit(".", 1)[-1])
        if new_id in self.nodes:
            raise PatchError(f"node id must be new in the patch, got {new_id!r}")
        if "." in new_id:
            raise PatchError(f"node id must not hold a dot, which separates node and port, got {new_id!r}")
        node = Node(
            id=new_id, type=type_id, version=block_type.version, title=title, position=position, parameters=checked
        )
        self._do(f"Add {block_type.title}", NodeAdded(node))
        return NodeRef(self, new_id)

    def insert(self, other: Patch, *, offset: Position = (0.0, 0.0), name: str = "Insert") -> dict[str, str]:
        """Add the nodes and connections of another patch and return each node's new id by its old one.

        Nodes keep their ids where these are free. Placeholders and what connects to them come along unchecked.
        """
        ids: dict[str, str] = {}
        with self.edit(name):
            for node in other.nodes.values():
                x, y = node.position
                taken = node.id in self.nodes
                ids[node.id] = self._free_id(re.sub(r"_\d+$", "", node.id)) if taken else node.id
                copy = msgspec.structs.replace(node, id=ids[node.id], position=(x + offset[0], y + offset[1]))
                self._do(name, NodeAdded(copy))
            for connection in other.connections:
                source, target = connection.source, connection.target
                copied = Connection(PortRef(ids[source.node], source.port), PortRef(ids[target.node], target.port))
                self._do(name, Connected(copied))
        return ids

    def remove(self, node: NodeRef | str) -> None:
        """Take a node and its connections out of the patch."""
        found = self._require(_id(node))
        changes: list[Change] = [Disconnected(c) for c in self.connections_of(found.id)]
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
            rules.require_port(source.node, source_type, source.port),
            rules.require_port(target.node, target_type, target.port),
        )
        others = (c for c in self._by_target.values() if c.target != target)
        rules.check_acyclic(connection, others)
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
        for change in reversed(edit.changes) if edit else ():
            self._apply(inverse(change))
        return edit.name if edit else None

    def redo(self) -> str | None:
        """Bring the last undone edit back; return its name, or None when there is none."""
        edit = self.history.take_redo()
        for change in edit.changes if edit else ():
            self._apply(change)
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

    def _do(self, name: str, *changes: Change, gesture: object = None) -> None:
        with self.edit(name, gesture=gesture):
            for change in changes:
                if self._open_edit is not None:
                    self._open_edit.changes.append(change)
                self._apply(change)

    def _apply(self, change: Change) -> None:
        match change:
            case NodeAdded(node):
                self.nodes[node.id] = node
            case NodeRemoved(node):
                del self.nodes[node.id]
            case Connected(connection):
                self._by_target[connection.target] = connection
            case Disconnected(connection):
                del self._by_target[connection.target]
            case ParameterChanged(node_id, name, value):
                node = self.nodes[node_id]
                parameters: Mapping[str, Any] = {k: v for k, v in node.parameters.items() if k != name}
                if value is not None:
                    parameters = {**parameters, name: value}
                self.nodes[node_id] = msgspec.structs.replace(node, parameters=dict(parameters))
            case NodeMoved(node_id, position):
                self.nodes[node_id] = msgspec.structs.replace(self.nodes[node_id], position=position)
            case NodeRenamed(node_id, title):
                self.nodes[node_id] = msgspec.structs.replace(self.nodes[node_id], title=title)
        for listener in tuple(self._listeners):
            listener(change)

    def _require(self, node_id: str) -> Node:
        try:
            return self.nodes[node_id]
        except KeyError:
            known = ", ".join(self.nodes) or "no nodes"
            raise PatchError(f"node must be one of {known}, got {node_id!r}") from None

    def _known_type(self, node_id: str) -> type[Block]:
        return self.catalogue.require(self._require(node_id).type)

    def _parameter(self, node: Node, name: str) -> ParameterSpec:
        return self.catalogue.require(node.type).parameter(name)

    def _free_id(self, stem: str) -> str:
        if stem not in self.nodes:
            return stem
        pattern = re.compile(rf"{re.escape(stem)}_(\d+)$")
        used = [int(match[1]) for name in self.nodes if (match := pattern.match(name))]
        return f"{stem}_{max(used, default=1) + 1}"


def _id(node: NodeRef | str) -> str:
    return node if isinstance(node, str) else node.id


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return isinstance(a, np.ndarray) and a.dtype == b.dtype and np.array_equal(a, b)
    return type(a) is type(b) and bool(a == b)
