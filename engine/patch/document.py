"""`Patch`: the document. Every edit of a patch is a method here, which makes the changes of that edit."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from itertools import count
from typing import Any

import msgspec

from engine.blocktypes.adaptive import decides_interface
from engine.blocktypes.block import Block
from engine.descriptions.checks import SHOWN, shown
from engine.diagnostics import PatchError, cut
from engine.patch import changes, rules
from engine.patch.changes import (
    Change,
    Connection,
    Node,
    PortRef,
    Position,
    Sentinel,
    SentinelAction,
    make_sentinel,
)
from engine.patch.comparison import difference
from engine.patch.contents import NodeRef, PatchContents, named
from engine.patch.editing import EditablePatch
from engine.patch.regions import TOP, Scopes, branch_of, region_of, scope_text
from engine.types.bits import same_value

__all__ = ["NodeRef", "Patch"]


class Patch(EditablePatch):
    """Nodes, connections, parameter values and sentinels, with undo.

    An edit is applied completely, or raises PatchError and changes nothing. Listeners get every change, in order, on
    the thread that edits; a patch belongs to one thread.
    """

    def __getitem__(self, node_id: str) -> NodeRef:
        self._require(node_id)
        return NodeRef(self, node_id)

    def excerpt(self, node_ids: Collection[str]) -> Patch:
        """Return some nodes, with the connections between them and their sentinels, as a patch without undo steps.

        If a node's region is not among them, the node moves to the innermost region around it that is.
        """
        chosen = frozenset(node.id for node in self._each(node_ids))
        made: list[Change] = []
        for node in self.nodes.values():
            if node.id in chosen:
                around = (scope for scope in reversed(self.scopes.chain(node.region)) if region_of(scope) in chosen)
                made.append(changes.NodeAdded(msgspec.structs.replace(node, region=next(around, TOP))))
        inside = [c for c in self.connections if c.source.node in chosen and c.target.node in chosen]
        made += [changes.Connected(c) for c in inside]
        feeding = {c.source for c in inside}
        made += [changes.SentinelChanged(port, s, None) for port, s in self.sentinels.items() if port in feeding]
        part = Patch(self.catalogue)
        part.restore(made)
        return part

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
        """Place a block of type `type_id` with these parameter values, and return a handle on it.

        `region` is its scope: a region block (its body), or a scope such as `choice.otherwise`. A seed without a value
        gets the first number, from its default on, that no other node has. So the same script always makes the same
        patch.
        """
        block_type = self.catalogue.require(type_id)
        checked = self._fresh(block_type, values) | self._checked(block_type, values)
        if node_id is not None and not (isinstance(node_id, str) and node_id.isprintable()):
            raise PatchError(f"node id must be a text of printable characters, got {shown(node_id)}")
        new_id = node_id or _free_id(self._stem(type_id), self._gone | self.nodes.keys())
        rules.check_node_id(new_id)
        if new_id in self.nodes:
            raise PatchError(f"node id must be new in the patch, got {shown(new_id)}")
        node = Node(
            id=new_id,
            type=type_id,
            version=block_type.version,
            title=rules.checked_title(title),
            region=self._scope(new_id, region),
            position=rules.checked_position(position),
            parameters=checked,
        )
        self._do(f"Add {block_type.title}", changes.NodeAdded(node))
        return NodeRef(self, new_id)

    def insert(
        self,
        other: Patch,
        *,
        offset: Position = (0.0, 0.0),
        name: str = "Insert",
        region: NodeRef | str = TOP,
    ) -> dict[str, str]:
        """Add the nodes, connections and sentinels of another patch. Return each node's new id by its old one.

        Nodes keep their ids if these are free. They stay in their regions if these are pasted too, and otherwise go to
        `region`. Placeholders and their connections are added unchecked.
        """
        _require_patch(other)
        outer, offset = self._scope("what is inserted", region), rules.checked_position(offset)
        ids, changes = _copies(other, offset, outer, self.nodes, with_sentinels=self.takes_sentinels)
        self._do(name, *changes)
        return ids

    def become(self, other: PatchContents, name: str) -> None:
        """Make this patch equal to another one, in one undo step."""
        _require_patch(other)
        self._do(name, *difference(self, other))
        self.extra = other.extra

    def remove(self, node: NodeRef | str) -> None:
        """Remove a node and its connections; blocks inside a region block move to the region around it."""
        found = self._require(self._id_of(node))
        members = [self.nodes[member] for member in self.members(found.id)]
        made: list[Change] = [changes.NodeRegionChanged(m.id, found.region, m.region) for m in members]
        made += [changes.Disconnected(c) for c in self.connections_of(found.id)]
        made += [changes.SentinelChanged(p, None, s) for p, s in self.sentinels.items() if p.node == found.id]
        self._do(f"Delete {self.title(found.id)}", *made, changes.NodeRemoved(found))

    def connect(self, source: PortRef, target: PortRef) -> Connection:
        """Connect an output to an input, replacing the input's connection.

        Raise ConnectionRefused if it is not allowed.
        """
        connection = self.check_connection(source, target)
        existing = self._by_target.get(connection.target)
        if existing == connection:
            return connection
        made: list[Change] = [changes.Disconnected(existing)] if existing else []
        self._do(f"Connect {connection}", *made, changes.Connected(connection))
        return connection

    def disconnect(self, connection: Connection | PortRef) -> None:
        """Remove a connection, given as a connection or as the input that it feeds."""
        target = self.own(connection.target if isinstance(connection, Connection) else connection)
        existing = self._by_target.get(target)
        if existing is None or (isinstance(connection, Connection) and existing != connection):
            raise PatchError(f"connection must be in the patch, got {str(connection)[:SHOWN]}")
        self._do(f"Disconnect {existing}", changes.Disconnected(existing))

    def set_sentinel(
        self,
        port: PortRef | Connection,
        *,
        nan: bool = True,
        infinity: bool = True,
        minimum: float | None = None,
        maximum: float | None = None,
        action: SentinelAction | str = SentinelAction.MARK,
    ) -> Sentinel:
        """Check the elements in a connection in every frame, replacing an earlier check.

        `port` is the connection, or the output that feeds it: all connections of one output share its sentinel. An
        element is wrong if it is NaN, infinite, less than `minimum` or greater than `maximum`. With the `action`
        "mark", a wrong element gives the node a diagnostic; with "freeze", the engine also pauses after that very
        frame. When the last connection is removed, so is the sentinel. A PatchError names the wrong field, or the
        reason why the output can't be checked.
        """
        found = self.check_sentinel(port)
        given = {"nan": nan, "infinity": infinity, "minimum": minimum, "maximum": maximum, "action": action}
        sentinel = make_sentinel(**given, where=f"sentinel of {found}")
        if sentinel != self.sentinels.get(found):
            self._do(f"Check values of {found}", changes.SentinelChanged(found, sentinel, self.sentinels.get(found)))
        return sentinel

    def remove_sentinel(self, port: PortRef | Connection) -> None:
        """Stop checking an output, given as an output or as a connection that it feeds."""
        found = self._present(self.own(port.source if isinstance(port, Connection) else port))
        if found not in self.sentinels:
            raise PatchError(f"sentinel to remove must be in the patch, got none of {cut(str(found), SHOWN)}")
        self._do(f"Remove check of {found}", changes.SentinelChanged(found, None, self.sentinels[found]))

    def set(self, node: NodeRef | str, *, gesture: object = None, **values: Any) -> None:
        """Set parameters of a node; calls with the same `gesture` become one undo step."""
        found = self._require(self._id_of(node))
        made: list[Change] = []
        for name, value in values.items():
            spec = self.parameter(found.id, name)
            checked, previous = spec.coerce(value), found.parameters.get(spec.name)
            if not same_value(previous, checked):
                made.append(changes.ParameterChanged(found.id, spec.name, checked, previous))
        names = ", ".join(values)
        self._do(f"Set {names} of {self.title(found.id)}", *made, gesture=gesture)

    def reset(self, node: NodeRef | str, parameter: str) -> None:
        """Reset a parameter to its default."""
        found, parameter = self._require(self._id_of(node)), named(parameter)
        if parameter in found.parameters:
            change = changes.ParameterChanged(found.id, parameter, None, found.parameters[parameter])
            self._do(f"Reset {parameter} of {self.title(found.id)}", change)

    def move(self, node: NodeRef | str, position: Position, *, gesture: object = None) -> None:
        """Move a node to another position on the canvas."""
        found, position = self._require(self._id_of(node)), rules.checked_position(position)
        if position != found.position:
            change = changes.NodeMoved(found.id, position, found.position)
            self._do(f"Move {self.title(found.id)}", change, gesture=gesture)

    def move_into(self, nodes: NodeRef | str | Collection[NodeRef | str], region: NodeRef | str) -> None:
        """Move nodes into a region, or with "" out of all regions. A region block's members move with it.

        Raise RegionRefused if the region can't hold them, and WouldCycle if the region would then depend on itself.
        """
        found = self._each(nodes)
        scope = self._scope(", ".join(node.id for node in found), region)
        made = [changes.NodeRegionChanged(n.id, scope, n.region) for n in found if n.region != scope]
        if not made:
            return
        before = self.scopes
        after = Scopes({**before.scope_of, **{change.node: scope for change in made}})
        after.chain(scope)
        rules.check_move(filter(self._orders, self._by_target.values()), before, after)
        where = f"into {self.title(region_of(scope))}" if scope else "out of its region"
        what = self.title(found[0].id) if len(found) == 1 else f"{len(found)} nodes"
        self._do(f"Move {what} {where}", *made)

    def rename(self, node: NodeRef | str, title: str) -> None:
        """Set a node's title; an empty title restores the block type's."""
        found, title = self._require(self._id_of(node)), rules.checked_title(title)
        if title != found.title:
            self._do(f"Rename {self.title(found.id)}", changes.NodeRenamed(found.id, title, found.title))

    def _checked(self, block_type: type[Block], values: Mapping[str, Any]) -> dict[str, Any]:
        """Return a new node's values as its type accepts them; those that decide its interface are checked first."""
        deciding = {name: value for name, value in values.items() if decides_interface(block_type, name)}
        specs = [(block_type.parameter(name), value) for name, value in deciding.items()]
        checked = {spec.name: spec.coerce(value) for spec, value in specs}
        adapted, problem = self.catalogue.resolve(block_type.id, checked, lambda: self.folder, trusted=self.trusted)
        assert adapted is not None
        if problem is not None and adapted is block_type and block_type.is_adaptive and len(deciding) < len(values):
            raise PatchError(problem.message)  # the reason why the other parameters are unknown
        specs = [(adapted.parameter(name), value) for name, value in values.items() if name not in deciding]
        return {**checked, **{spec.name: spec.coerce(value) for spec, value in specs}}

    def _fresh(self, block_type: type[Block], given: Mapping[str, Any]) -> dict[str, int]:
        """Return unused values for a new node's `fresh` parameters that have no value and can't use the default."""
        missing = [spec for spec in block_type.parameters.values() if spec.fresh and spec.name not in given]
        if not missing:
            return {}
        types = ((node, self._type_of(node)) for node in self.nodes)
        taken = {
            self.value(node, spec.name)
            for node, held in types
            if held is not None
            for spec in held.parameters.values()
            if spec.fresh
        }
        found = {}
        for spec in missing:
            number = next(number for number in count(spec.default) if number not in taken)
            if number != spec.default and number <= (spec.maximum or number):
                found[spec.name] = number
        return found

    def _stem(self, type_id: str) -> str:
        """Return the prefix of the ids of new nodes of a type."""
        return type_id.rsplit(".", 1)[-1]


def _copies(
    patch: Patch, offset: Position, region: str, taken: Collection[str], *, with_sentinels: bool
) -> tuple[dict[str, str], list[Change]]:
    """Return a new id for each node of `patch`, and the changes that add copies to another patch.

    `taken` are ids in use in that patch. Nodes outside all regions go to `region`.
    """
    ids: dict[str, str] = {}
    used = set(taken)
    for node in patch.nodes.values():
        ids[node.id] = _free_id(re.sub(r"_\d+$", "", node.id), used) if node.id in used else node.id
        used.add(ids[node.id])
    made: list[Change] = []
    for node in patch.nodes.values():
        inside = scope_text(ids[region_of(node.region)], branch_of(node.region)) if node.region else region
        position = rules.checked_position((node.position[0] + offset[0], node.position[1] + offset[1]))
        made.append(changes.NodeAdded(msgspec.structs.replace(node, id=ids[node.id], position=position, region=inside)))
    for connection in patch.connections:
        source, target = connection.source, connection.target
        copied = Connection(PortRef(ids[source.node], source.port), PortRef(ids[target.node], target.port))
        made.append(changes.Connected(copied))
    for port, sentinel in patch.sentinels.items() if with_sentinels else ():
        made.append(changes.SentinelChanged(PortRef(ids[port.node], port.port), sentinel, None))
    return ids, made


def _require_patch(other: object) -> None:
    if not isinstance(other, PatchContents):
        raise PatchError(f"other patch must be a Patch, got {shown(other)}")


def _free_id(stem: str, taken: Collection[str]) -> str:
    """Return an unused id: the stem itself, or the stem with the next number."""
    if stem not in taken:
        return stem
    pattern = re.compile(rf"{re.escape(stem)}_(\d+)$")
    used = [int(match[1]) for name in taken if (match := pattern.match(name))]
    return f"{stem}_{max(used, default=1) + 1}"
