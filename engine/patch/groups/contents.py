"""`GroupedContents`: the contents of a patch that may have groups, and queries about these."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from warploom.engine.blocktypes.block import Block, block_types
from warploom.engine.catalogue.catalogue import Catalogue
from warploom.engine.descriptions.checks import shown
from warploom.engine.diagnostics import PatchError
from warploom.engine.patch import changes, rules
from warploom.engine.patch.changes import Change, Connection, Node, PortRef, Sentinel
from warploom.engine.patch.contents import NodeRef, PatchContents, named
from warploom.engine.patch.editing.applying import PatchIndex
from warploom.engine.patch.groups.flat import ENDS, GROUP, HIDDEN, INPUTS, Flat
from warploom.engine.patch.groups.types import FUNCTION, PORTS, group_type
from warploom.engine.patch.naming import Names
from warploom.engine.patch.organise.annotations import RunOrder


class GroupedContents(PatchContents):
    """The contents of a patch with groups, which rules and engines see without the groups.

    A node's *level* is the innermost group around it; connections stay in one level. A group's ports, and those of its
    ends inside, stand for ports of blocks: their *leaves*.
    """

    def __init__(self, catalogue: Catalogue | None = None) -> None:
        super().__init__(catalogue)
        #: The patch without its groups; None until it has one.
        self._flat: Flat | None = None
        #: The last change, as changes of the patch without groups.
        self._flat_changes: list[Change] = []
        #: The ids of all nodes, also of removed ones: no new node gets one of these, since the last good graph may
        #: still run the removed node.
        self._ids = Names()

    # Groups

    @property
    def has_groups(self) -> bool:
        """True when the patch has a group."""
        return self._flat is not None and bool(self._flat.hidden)

    @property
    def groups_edition(self) -> int:
        """A number that changes whenever groups, their ports or what these lead to may have changed."""
        return self.edition if self._flat is not None else 0

    def sentinel_of(self, port: PortRef) -> Sentinel | None:
        """Return the check of an output, which for a port of a group is that of a block's output; None if unchecked."""
        leaf = self.leaf(port)
        return self.sentinels.get(leaf) if leaf is not None else None

    def is_group(self, node: NodeRef | str) -> bool:
        """True for the node of a group."""
        return self._flat is not None and self._flat.hidden.get(self._id_of(node)) == GROUP

    def is_end(self, node: NodeRef | str) -> bool:
        """True for the node of a group's inputs or outputs."""
        return self._flat is not None and self._flat.hidden.get(self._id_of(node)) in ENDS

    def end_of(self, group: NodeRef | str, kind: str = INPUTS) -> str:
        """Return the node of a group's inputs, or of its outputs. Raise PatchError if it has none."""
        if not isinstance(kind, str) or kind not in ENDS:
            raise PatchError(f"kind of end must be one of {', '.join(ENDS)}, got {shown(kind)}")
        found = self._flat.end(self._id_of(group), kind) if self._flat is not None else None
        if found is None:
            raise PatchError(f"group must have its {kind.partition('.')[2]}, got {shown(self._id_of(group))}")
        return found

    def group_at(self, scope: str) -> str:
        """Return the innermost group around a scope; "" outside all groups."""
        if not isinstance(scope, str):
            raise PatchError(f"scope must be a text, got {shown(scope)}")
        return self._flat.group_of(scope) if self._flat is not None else ""

    def group_of(self, node: NodeRef | str) -> str:
        """Return the innermost group around a node; "" outside all groups."""
        return self.group_at(self._require(self._id_of(node)).region)

    def groups_around(self, node: NodeRef | str) -> list[str]:
        """Return the groups around a node, the outermost first."""
        group = self.group_of(node)
        return [*self.groups_around(group), group] if group else []

    def within(self, region: NodeRef | str) -> list[str]:
        """Return all nodes in a group or region, at any depth, each after the one that it lies in."""
        found = self.members(region)
        for node in found:  # which grows
            found += self.members(node)
        return found

    # Leaves

    def leaf(self, port: PortRef) -> PortRef | None:
        """Return the port of a block that a port stands for: itself, unless it is of a group or of one of its ends.

        An input stands for the first that it feeds. Return None if it leads to no block.
        """
        port = self.own(port)
        if self._flat is None or port.node not in self._flat.hidden:
            return port
        end = self.find_end(port)
        if end is None or not rules.is_target(end):
            return self._flat.source(port)
        return next(iter(self._flat.targets(port)), None)

    def leaves(self, node: str, parameter: str) -> list[tuple[str, str]]:
        """Return the parameters of blocks, by node and name, that a parameter sets: several for one of a group."""
        node, parameter = self._require(node).id, named(parameter)
        if self._flat is None or not self.is_group(node) or parameter not in self._known_type(node).parameters:
            return [(node, parameter)]
        return [(ref.node, ref.port) for ref in self._flat.targets(PortRef(node, parameter))] or [(node, parameter)]

    def link(self, port: PortRef) -> PortRef | None:
        """Return the input that an output of a group or of its inputs continues; None for other ports."""
        return self._flat.link(self.own(port)) if self._flat is not None else None

    def flat_targets(self, connection: Connection) -> list[PortRef]:
        """Return the inputs of blocks that a connection leads to, through ports of groups."""
        if not isinstance(connection, Connection):
            raise PatchError(f"connection must be one of the patch, got {shown(connection)}")
        target = self.own(connection.target)
        return [target] if self._flat is None else self._flat.targets(target)

    # The patch without groups

    def flat_changes(self) -> list[Change]:
        """Return the changes that make this patch from an empty one, but without its groups, as an engine runs it."""
        if self._flat is None:
            return self.as_changes()
        nodes = [node for node in self.nodes.values() if node.type not in HIDDEN]
        return [
            *(changes.NodeAdded(replace(node, region=self._flat.scope(node.region))) for node in nodes),
            *map(changes.Connected, self._flat.by_target.values()),
            *(changes.SentinelChanged(port, sentinel, None) for port, sentinel in self.sentinels.items()),
            *(changes.AnnotationChanged(order.key, order, None) for order in self.annotations_of(RunOrder)),
        ]

    def as_flat(self, change: Change) -> list[Change]:
        """Return what a change would be in the patch without groups."""
        if not isinstance(change, Change):
            raise PatchError(f"change must be one of a patch, got {shown(change)}")
        return [change] if self._flat is None else self._flat.shown(change)

    @property
    def _run_index(self) -> PatchIndex:
        return self._index if self._flat is None else self._flat.index

    # Contents

    def type_of(self, node: Node) -> type[Block] | None:
        """Return the block type of a node that is in the patch, or may be added; None when it is unknown."""
        if self._flat is None or not isinstance(node, Node) or node.id not in self._flat.hidden:
            return super().type_of(node)
        known, key = self._adapted.get(node.id), (self.edition, block_types.edition)
        if known is None or known[1] != key:
            made: type[Block] | None = group_type(node, self.nodes, self._flat, self._end_at)
            if known is not None and _is_same_type(made, known[2]):
                made = known[2]  # nodes keep their type
            known = self._adapted[node.id] = node, key, made
        return known[2]

    def value(self, node: NodeRef | str, parameter: str) -> Any:
        """Return a parameter's value: the value that was set, if the type accepts it, and otherwise the default.

        A group's parameter has the value of the first parameter that it sets.
        """
        if self._flat is not None and self.is_group(node):
            (leaf, name), *_ = self.leaves(self._id_of(node), parameter)
            return super().value(leaf, name)
        return super().value(node, parameter)

    def check_connection(self, source: PortRef, target: PortRef) -> Connection:
        """Return the connection that `connect` would make, or raise the error that it would raise."""
        if self._flat is None:
            return super().check_connection(source, target)
        connection = Connection(self._present(self.own(source)), self._present(self.own(target)))
        self._check_level(connection, self._flat)
        for pair in self._flat.pairs(connection):
            self._check_blocks(pair)
        return connection

    def check_sentinel(self, port: PortRef | Connection) -> PortRef:
        """Return the output for a sentinel to check. Raise a PatchError with the reason if it can't be checked.

        That is the output of a block, which a port of a group stands for.
        """
        if self._flat is None:
            return super().check_sentinel(port)
        if isinstance(port, Connection) and self._by_target.get(self.own(port.target)) != port:
            raise PatchError(f"sentinel must be of a connection in the patch, got {port}")
        found = self.leaf(port.source if isinstance(port, Connection) else port)
        if found is None:
            raise PatchError(f"sentinel must check the output of a block, got {port}, which leads to none")
        return super().check_sentinel(found)

    def fitting_ends(self, start: PortRef) -> set[PortRef]:
        """Return every end that a connection from or to `start` could have."""
        start = self.own(start)
        if self._flat is None:
            return super().fitting_ends(start)
        level, hidden = self._flat.level(start.node), self._flat.hidden
        here = {node for node in self.nodes if self._flat.level(node) == level}
        found = set() if start.node in hidden else {end for end in super().fitting_ends(start) if end.node in here}
        asked = here if start.node in hidden else here & hidden.keys()
        spec = self.find_end(start)
        if spec is None:
            return found
        for node in asked:
            for end in rules.ends_of(self._known_type(node)) if self.block_type(node) is not None else ():
                other = PortRef(node, end.name)
                try:
                    self.check_connection(*((other, start) if rules.is_target(spec) else (start, other)))
                except PatchError:
                    found.discard(other)
                else:
                    found.add(other)
        return found

    def _end_at(self, port: PortRef) -> rules.End | None:
        return rules.find_end(self._type_of(port.node), port.port)

    def _check_level(self, connection: Connection, flat: Flat) -> None:
        """Raise an error if a connection leaves its group, or only goes round through ports of groups."""
        source, target = connection.source, connection.target
        here, there = flat.level(source.node), flat.level(target.node)
        start = rules.require_end(source.node, self._known_type(source.node), source.port)
        end = rules.require_end(target.node, self._known_type(target.node), target.port)
        if here != there:
            raise rules.CrossesGroups(
                f"connection {connection} must stay in one group, got {here or 'no group'} and {there or 'no group'}; "
                "connect a port of the group, or its inputs or outputs inside"
            )
        if rules.is_target(start):
            raise rules.WrongDirection(f"source {source} must be an output, got an input or a parameter")
        if not rules.is_target(end) or (target.node in flat.hidden and target.port in (FUNCTION, PORTS)):
            raise rules.WrongDirection(f"target {target} must be an input, got another end")
        way, seen = source, {target}
        while (before := flat.link(way)) is not None:
            if before in seen:
                raise rules.WouldCycle(f"connection {connection} must not lead back to itself through a group")
            seen.add(before)
            known = self._by_target.get(before)
            if known is None:
                return
            way = known.source

    def _take(self, change: Change) -> None:
        super()._take(change)
        node = change.node if isinstance(change, changes.NodeAdded) else None
        if node is not None:
            self._ids.add(node.id)
        if self._flat is not None:
            self._flat_changes = self._flat.follow(change)
        elif node is not None and node.type in HIDDEN:
            self._flat, self._flat_changes = Flat(self._by_target), []
            for known in self.as_changes():
                self._flat.follow(known)

    def _is_structural(self, node: Node, parameter: str) -> bool:
        is_hidden = self._flat is not None and node.id in self._flat.hidden
        return is_hidden or super()._is_structural(node, parameter)


def _is_same_type(one: type[Block] | None, other: type[Block] | None) -> bool:
    return (
        one is not None
        and other is not None
        and (
            (one.title, one.ports, one.values_out, one.parameters)
            == (other.title, other.ports, other.values_out, other.parameters)
        )
    )
