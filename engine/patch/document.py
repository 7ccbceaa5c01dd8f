"""`Patch`: the document. Every edit of a patch is a method here, which makes the changes of that edit."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import count
from typing import Any, NamedTuple

from warploom.engine.blocktypes.adaptive import decides_interface
from warploom.engine.blocktypes.block import Block, block_types
from warploom.engine.blocktypes.parameters import ParameterSpec
from warploom.engine.blocktypes.vector_parameters import spread
from warploom.engine.catalogue.catalogue import Catalogue
from warploom.engine.descriptions.checks import SHOWN, shown
from warploom.engine.diagnostics import PatchError, cut
from warploom.engine.figures import plural
from warploom.engine.patch import changes, rules
from warploom.engine.patch.animation import edits as animation_edits
from warploom.engine.patch.animation.keys import Curve
from warploom.engine.patch.animation.timeline import TIMELINE, Timeline
from warploom.engine.patch.changes import (
    Change,
    Connection,
    Mode,
    Node,
    OwnPort,
    PortRef,
    Position,
    Sentinel,
    SentinelAction,
    make_sentinel,
)
from warploom.engine.patch.contents import NodeRef, PatchContents, named
from warploom.engine.patch.editing.comparison import difference
from warploom.engine.patch.editing.editable_patch import EditablePatch
from warploom.engine.patch.editing.excerpts import excerpt, insertion
from warploom.engine.patch.groups import edits as group_edits
from warploom.engine.patch.groups.flat import GROUP, INPUTS, OUTPUTS
from warploom.engine.patch.groups.functions import unlike
from warploom.engine.patch.groups.types import NEW
from warploom.engine.patch.organise.annotations import (
    Annotation,
    Dots,
    RunOrder,
    checked_annotation,
    is_same,
)
from warploom.engine.patch.organise.bypass import Running, check_bypass, healed
from warploom.engine.patch.organise.pins import Pin
from warploom.engine.patch.positions import checked_position
from warploom.engine.patch.regions import TOP, RegionRefused, Scopes, region_of, scope_text
from warploom.engine.types.bits import same_value

__all__ = ["NodeRef", "Patch"]


class _Target(NamedTuple):
    """What a value of a parameter sets: parameters of blocks, by node and name. It may decide ports of nodes."""

    spec: ParameterSpec
    leaves: list[tuple[str, str]]
    decides: bool


class Patch(EditablePatch):
    """Nodes, connections, parameter values and sentinels, with undo.

    An edit is applied completely, or raises PatchError and changes nothing. Listeners get every change, in order, on
    the thread that edits; a patch belongs to one thread.
    """

    def __init__(self, catalogue: Catalogue | None = None) -> None:
        super().__init__(catalogue)
        #: What was set, by node and parameter, and what it follows from.
        self._targets: dict[tuple[str, str], _Target] = {}
        self._follows: object = None

    def __getitem__(self, node_id: str) -> NodeRef:
        self._require(node_id)
        return NodeRef(self, node_id)

    def excerpt(self, node_ids: Collection[str], frames: Collection[str] = ()) -> Patch:
        """Return some nodes, with the connections between them and their sentinels, as a patch without undo steps.

        It also has the dots of these connections, the pins of these nodes, and the frames with the ids `frames`.
        If a node's region is not among them, the node moves to the innermost region around it that is.
        """
        each = [node.id for node in self._each(node_ids)]
        chosen = frozenset({*each, *(inner for node in each if self.is_group(node) for inner in self.within(node))})
        chosen = frozenset(node for node in chosen if not self.is_end(node) or self.group_of(node) in chosen)
        try:
            frames = frozenset(frames)
        except TypeError:
            raise PatchError(f"frames must be a list of ids, got {shown(frames)}") from None
        part = Patch(self.catalogue)
        part.restore(excerpt(self, chosen, frames))
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
        new_id = node_id or self._ids.free(self._stem_of(block_type, checked))
        rules.check_node_id(new_id)
        if new_id in self.nodes:
            raise PatchError(f"node id must be new in the patch, got {shown(new_id)}")
        node = Node(
            id=new_id,
            type=type_id,
            version=block_type.version,
            title=rules.checked_title(title),
            region=self._scope(new_id, region),
            position=checked_position(position),
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
        """Add another patch's contents, except bookmarks and presets. Return each node's new id by its old one.

        Nodes keep their ids if these are free. They stay in their regions if these are pasted too, and otherwise go to
        `region`. Placeholders and their connections are added unchecked.
        """
        _require_patch(other)
        outer, offset = self._scope("what is inserted", region), checked_position(offset)
        ids, made = insertion(self, other, offset, outer)
        added = [change.node for change in made if isinstance(change, changes.NodeAdded)]
        with self.edit(name):
            self._do(name, *made)
            self._do(name, *unlike(self, [node.id for node in added if node.type == GROUP]))
        return ids

    def become(self, other: PatchContents, name: str) -> None:
        """Make this patch equal to another one, in one undo step."""
        _require_patch(other)
        self._do(name, *difference(self, other))
        self.extra = other.extra

    def remove(self, nodes: NodeRef | str | Collection[NodeRef | str], *, heal: bool = False) -> None:
        """Remove nodes and their connections; blocks that stay move out of removed regions, to the region around.

        A group is removed with all blocks inside; `ungroup` keeps them. With `heal`, what fed the nodes feeds what they
        fed, as if they were bypassed.
        """
        found = self._each(nodes)
        if not isinstance(heal, bool):
            raise PatchError(f"heal must be True or False, got {shown(heal)}")
        if end := next((node.id for node in found if self.is_end(node.id)), None):
            raise PatchError(f"node to remove must not be the inputs or outputs of a group, got {end}")
        inside = (inner for node in found if self.is_group(node.id) for inner in self.within(node.id))
        gone = {node: self.nodes[node] for node in (*(node.id for node in found), *inside)}
        made: list[Change] = []
        for node in gone:
            for member in (self.nodes[member] for member in self.members(node) if member not in gone):
                around = (scope for scope in reversed(self.scopes.chain(member.region)) if region_of(scope) not in gone)
                made.append(changes.NodeRegionChanged(member.id, next(around, TOP), member.region))
        made += map(changes.Disconnected, dict.fromkeys(c for node in gone for c in self.connections_of(node)))
        made += [changes.SentinelChanged(p, None, s) for p, s in self.sentinels.items() if p.node in gone]
        # Undo adds the nodes in their former order, regions before the blocks in them.
        outermost_last = sorted(gone.values(), key=lambda node: len(self.scopes.chain(node.region)))[::-1]
        made += map(changes.NodeRemoved, outermost_last)
        closing = healed(self, gone) if heal else []
        with self.edit(f"Delete {self.title(found[0].id) if len(found) == 1 else plural(len(found), 'node')}"):
            self._do("", *made)
            for connection in closing:
                with suppress(PatchError):
                    self.connect(connection.source, connection.target)

    def group(self, nodes: NodeRef | str | Collection[NodeRef | str], title: str = "") -> NodeRef:
        """Put nodes into a new group, and return its node.

        Connections to other blocks lead through ports of the group, so nothing that runs changes. The nodes must lie in
        one region or group.
        """
        return NodeRef(self, group_edits.group(self, self._each(nodes), title))

    def ungroup(self, group: NodeRef | str) -> list[NodeRef]:
        """Dissolve a group: put its blocks into the scope around it, and return them."""
        return [NodeRef(self, node) for node in group_edits.ungroup(self, self._require(self._id_of(group)))]

    def without_groups(self) -> Patch:
        """Return the patch as if it had no groups: itself if it has none, else a copy of its blocks."""
        return self if self._flat is None else self._copy_of(self.flat_changes())

    def running(self) -> Patch:
        """Return the patch as an engine runs it, without groups and without blocks that are bypassed or disabled."""
        return self._copy_of(Running.of(self).as_changes()) if self.off else self.without_groups()

    def _copy_of(self, made: list[Change]) -> Patch:
        copy = Patch(self.catalogue)
        copy.path, copy.trusted, copy.file_digest = self.path, self.trusted, self.file_digest
        copy.restore(made)
        return copy

    def promote(self, port: PortRef, name: str = "") -> PortRef:
        """Add a port to the group around a node for one of its ports or parameters, and return the group's port.

        Give an output, an input that is not connected, or a parameter. A parameter of the group sets all parameters
        that its inputs inside feed.
        """
        group, made = group_edits.promote(self, self._present(self.own(port)), name)
        return OwnPort.of(self, group, made)

    def rename_port(self, port: PortRef, name: str) -> None:
        """Rename a port or parameter of a group; its connections stay."""
        group_edits.rename_port(self, *self._end_port(port), name)

    def remove_port(self, port: PortRef) -> None:
        """Remove a port or parameter of a group, with its connections."""
        group_edits.remove_port(self, *self._end_port(port))

    def _end_port(self, port: PortRef) -> tuple[str, str]:
        """Return the node of a group's inputs or outputs that has a port, and the port's name."""
        port = self.own(port)
        if self.is_group(port.node):
            spec = self.require_end(port.node, port.port)
            return self.end_of(port.node, INPUTS if rules.is_target(spec) else OUTPUTS), port.port
        if not self.is_end(port.node):
            raise PatchError(f"port must be of a group, or of its inputs or outputs, got {cut(str(port), SHOWN)}")
        return port.node, port.port

    def connect(self, source: PortRef, target: PortRef) -> Connection:
        """Connect an output to an input, replacing the input's connection.

        Raise ConnectionRefused if it is not allowed.
        """
        connection = self.check_connection(source, target)
        if NEW in (connection.source.port, connection.target.port):
            return group_edits.connect_new(self, connection)
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
        found = self.leaf(found) or found
        if found not in self.sentinels:
            raise PatchError(f"sentinel to remove must be in the patch, got none of {cut(str(found), SHOWN)}")
        self._do(f"Remove check of {found}", changes.SentinelChanged(found, None, self.sentinels[found]))

    def set(self, node: NodeRef | str, *, gesture: object = None, **values: Any) -> None:
        """Set parameters of a node; calls with the same `gesture` become one undo step."""
        node_id = self._id_of(node)
        made: list[changes.ParameterChanged] = []
        decides = False
        for target, value in self._targets_of(node_id, values):
            checked = target.spec.coerce(value)
            decides |= target.decides
            for leaf, parameter in target.leaves:
                previous = self.nodes[leaf].parameters.get(parameter)
                if not same_value(previous, checked):
                    made.append(changes.ParameterChanged(leaf, parameter, checked, previous))
        if decides:
            self._check_branches(made)
        if made:
            is_named = self._open_edit is not None
            if type(gesture).__hash__ is not None:  # otherwise it is refused below
                is_named = is_named or self.history.goes_on(gesture)
            name = "" if is_named else f"Set {', '.join(values)} of {self.title(node_id)}"
            self._do(name, *made, gesture=gesture)

    def _targets_of(self, node_id: str, values: Mapping[str, Any]) -> list[tuple[_Target, Any]]:
        """Return what each value sets; a vector sets its components."""
        follows = self.edition, block_types.edition, self.path, self.trusted
        if follows != self._follows:
            self._follows = follows
            self._targets.clear()
        try:
            if values:
                return [(self._targets[node_id, name], value) for name, value in values.items()]
        except KeyError:
            pass
        block_type, found = self._known_type(node_id), []
        if not spread(block_type.parameters, values).keys() <= block_type.parameters.keys():
            self._adapted.pop(node_id, None)  # a file that the type follows from may have the names by now
            block_type = self._known_type(node_id)
        for name, value in spread(block_type.parameters, values).items():
            spec = block_type.parameter(name)
            leaves = self.leaves(node_id, spec.name)
            target = _Target(spec, leaves, any(self.decides_interface(*leaf) for leaf in leaves))
            self._targets[node_id, name] = target
            found.append((target, value))
        return found

    def reset(self, node: NodeRef | str, parameter: str) -> None:
        """Reset a parameter to its default."""
        found, parameter = self._require(self._id_of(node)), named(parameter)
        places = [place for place in self.leaves(found.id, parameter) if place[1] in self.nodes[place[0]].parameters]
        made = [changes.ParameterChanged(node, name, None, self.nodes[node].parameters[name]) for node, name in places]
        self._check_branches(made)
        self._do(f"Reset {parameter} of {self.title(found.id)}", *made)

    def _check_branches(self, made: Iterable[changes.ParameterChanged]) -> None:
        """Raise RegionRefused if values would remove a branch of a region that blocks lie in."""
        after: dict[str, dict[str, Any]] = {}
        for change in made:
            node = self.nodes[change.node]
            if self._index.members(node.id) and self.decides_interface(node.id, change.parameter):
                after.setdefault(node.id, dict(node.parameters))[change.parameter] = change.value
        for node_id, values in after.items():
            held = {name: value for name, value in values.items() if value is not None}
            fresh, _ = self.catalogue.resolve(self.nodes[node_id].type, held, lambda: self.folder, trusted=self.trusted)
            before, kept = self.block_type(node_id), fresh.regions if fresh is not None else ()
            gone = {scope_text(node_id, name) for name in (before.regions if before else ()) if name not in kept}
            inside = [member for member in self.members(node_id) if self.nodes[member].region in gone]
            if inside:
                raise RegionRefused(
                    f"branches of {node_id} must keep those that hold blocks, got {inside[0]} in "
                    f"{self.nodes[inside[0]].region}; move it out first"
                )

    def order(self, first: NodeRef | str, then: NodeRef | str) -> None:
        """Let the block `first` end before the block `then` begins, in each frame, without a connection.

        Of two blocks in different regions, the regions around them are ordered. Raise OrderRefused if the two can't run
        one after the other, and WouldCycle if `first` must run after `then`.
        """
        ends = self._require(self._id_of(first)).id, self._require(self._id_of(then)).id
        self.annotate(RunOrder(first=ends[0], then=ends[1]), f"Run {self.title(ends[0])} before {self.title(ends[1])}")

    def remove_order(self, first: NodeRef | str, then: NodeRef | str) -> None:
        """Remove the order of two blocks. Raise PatchError if they have none."""
        ends = self._require(self._id_of(first)).id, self._require(self._id_of(then)).id
        key = RunOrder(first=ends[0], then=ends[1]).key
        if key not in self.annotations:
            raise PatchError(f"order to remove must be in the patch, got none of {ends[0]} before {ends[1]}")
        self.remove_annotation(key, f"Remove order of {self.title(ends[0])} and {self.title(ends[1])}")

    @property
    def orders(self) -> list[tuple[str, str]]:
        """The pairs of blocks of which the first runs before the second, without a connection."""
        return [(order.first, order.then) for order in self.annotations_of(RunOrder)]

    def animate(self, node: NodeRef | str, parameter: str, keys: object, *, gesture: object = None) -> Curve:
        """Let a live number or boolean follow keys, such as `[(0, 1.0), (2.5, 4.0, "hold")]`; () removes them.

        A key is `(seconds, value)`, with "hold", "linear" or "smooth" as the way to the next, or a `Key`. Return the
        keys as they are kept: sorted, with times in microseconds. Until the keys are removed, the value that was set
        does not count. Raise PatchError if a connection drives the parameter; one that is made later counts
        instead of the keys.
        """
        return animation_edits.animate(self, self._require(self._id_of(node)).id, named(parameter), keys, gesture)

    def curve(self, node: NodeRef | str, parameter: str) -> Curve:
        """Return the keys of a parameter, () for none; those of a group's parameter are of the first that it sets."""
        (leaf, name), *_ = self.leaves(self._id_of(node), named(parameter))
        return self.nodes[leaf].curves.get(self._renamed(self.nodes[leaf].type).get(name, name), ())

    @property
    def timeline(self) -> Timeline | None:
        """The timeline; None for a patch that plays on without one."""
        found = self.annotations.get(TIMELINE)
        return found if isinstance(found, Timeline) else None

    def set_timeline(self, *, gesture: object = None, **fields: Any) -> Timeline:
        """Make the patch a film, or change it: `rate`, `length`, `first`, `last`, `loop`, `every_frame`."""
        made = animation_edits.changed_timeline(self.timeline or Timeline(), fields)
        self.annotate(made, "Set timeline", gesture=gesture)
        return self.timeline or made

    def move(self, node: NodeRef | str, position: Position, *, gesture: object = None) -> None:
        """Move a node to another position on the canvas."""
        self.move_nodes({self._require(self._id_of(node)).id: position}, gesture=gesture)

    def move_nodes(self, positions: Mapping[str, Position], *, gesture: object = None) -> None:
        """Move nodes to other positions on the canvas, as one undo step."""
        if not isinstance(positions, Mapping):
            raise PatchError(f"positions must be a dict of them by node, got {shown(positions)}")
        places = [(self._require(node), checked_position(position)) for node, position in positions.items()]
        made = [changes.NodeMoved(node.id, place, node.position) for node, place in places if place != node.position]
        if made:
            self._do(f"Move {self._name_of(made)}", *made, gesture=gesture)

    def move_into(self, nodes: NodeRef | str | Collection[NodeRef | str], region: NodeRef | str) -> None:
        """Move nodes into a region, or with "" out of all regions. A region block's members move with it.

        Raise RegionRefused if the region can't hold them, and WouldCycle if the region would then depend on itself.
        """
        found = self._each(nodes)
        scope = self._scope(", ".join(node.id for node in found), region)
        made = [changes.NodeRegionChanged(n.id, scope, n.region) for n in found if n.region != scope]
        if not made:
            return
        moved = {change.node: scope for change in made}
        after = Scopes({**self.scopes.scope_of, **moved})
        after.chain(scope)
        if self._flat is None:
            rules.check_move(filter(self._orders, self._by_target.values()), self._index.orders, self.scopes, after)
        else:
            after = self._flat.scopes_with(moved)
            index = self._flat.index
            rules.check_move(filter(self._orders, self._flat.by_target.values()), index.orders, index.scopes, after)
        where = f"into {self.title(region_of(scope))}" if scope else "out of its region"
        what = self.title(found[0].id) if len(found) == 1 else f"{len(found)} nodes"
        with self.edit(f"Move {what} {where}"):
            group_edits.move(self, found, scope)

    def set_mode(self, nodes: NodeRef | str | Collection[NodeRef | str], mode: Mode | str) -> None:
        """Bypass or disable nodes ("bypassed", "disabled"), or use them again ("").

        Raise PatchError with the reason if one of them can't be bypassed.
        """
        if not self.takes_modes:
            raise PatchError("blocks to bypass or disable must be in a patch, got parts of a block")
        if not isinstance(mode, str) or mode not in list(Mode):
            raise PatchError(f"mode must be one of bypassed, disabled and '', got {shown(mode)}")
        wanted, found = Mode(mode), self._each(nodes)
        for node in found if wanted is Mode.BYPASSED else ():
            check_bypass(self.title(node.id), self.type_of(node))
        made = [changes.NodeModeChanged(node.id, wanted, node.mode) for node in found if node.mode is not wanted]
        if not made:
            return
        verb = {Mode.ACTIVE: "Use", Mode.BYPASSED: "Bypass", Mode.DISABLED: "Disable"}[wanted]
        what = self.title(found[0].id) if len(found) == 1 else f"{len(found)} nodes"
        self._do(f"{verb} {what}", *made)

    def set_colour(self, nodes: NodeRef | str | Collection[NodeRef | str], colour: str) -> None:
        """Give nodes one of the colours of frames on the canvas; "" restores that of their category."""
        found, colour = self._each(nodes), rules.checked_colour(colour)
        made = [changes.NodeColoured(node.id, colour, node.colour) for node in found if node.colour != colour]
        if made:
            self._do(f"Colour {self._name_of(made)}", *made)

    def set_comment(
        self, nodes: NodeRef | str | Collection[NodeRef | str], comment: str, *, gesture: object = None
    ) -> None:
        """Give nodes a comment, which the canvas shows in them; "" removes it."""
        found, comment = self._each(nodes), rules.checked_comment(comment)
        made = [changes.NodeCommented(node.id, comment, node.comment) for node in found if node.comment != comment]
        if made:
            self._do(f"Comment on {self._name_of(made)}", *made, gesture=gesture)

    def _name_of(self, made: Sequence[changes.NodeLooksChanged]) -> str:
        """Return the title of the node that changes are about, or the number of nodes."""
        return self.title(made[0].node) if len(made) == 1 else plural(len(made), "node")

    def annotate(self, note: Annotation, name: str | None = None, *, gesture: object = None) -> None:
        """Add a frame, the dots of a connection or another annotation, or replace that with the same key.

        `name` is the name of the undo step. A PatchError names a wrong field.
        """
        note = checked_annotation(note)
        if isinstance(note, Dots) and PortRef(note.node, note.port) not in self._by_target:
            raise PatchError(f"dots must be of a connection, got {note.node}.{note.port}, which nothing feeds")
        if isinstance(note, Pin):
            self.check_pin(PortRef(note.node, note.port))
        if isinstance(note, RunOrder):
            self.check_order(note.first, note.then)
        before = self.annotations.get(note.key)
        if not is_same(before, note):
            usual = f"{'Change' if before else 'Add'} {note.kind}"
            self._do(
                usual if name is None else name, changes.AnnotationChanged(note.key, note, before), gesture=gesture
            )

    def remove_annotation(self, key: str, name: str | None = None) -> None:
        """Remove a frame, the dots of a connection or another annotation by its key."""
        before = self.annotations.get(key) if isinstance(key, str) else None
        if before is None:
            raise PatchError(f"annotation to remove must be in the patch, got {shown(key)}")
        usual = f"Delete {before.kind}"
        self._do(usual if name is None else name, changes.AnnotationChanged(key, None, before))

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
        others = {name: value for name, value in values.items() if name not in deciding}
        specs = [(adapted.parameter(name), value) for name, value in spread(adapted.parameters, others).items()]
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

    def _stem_of(self, block_type: type[Block], values: Mapping[str, Any]) -> str:
        """Return the prefix of the id of a new node with these values."""
        if not block_type.is_adaptive:
            return self._stem(block_type.id)
        adapted, _ = self.catalogue.resolve(block_type.id, values, lambda: self.folder, trusted=self.trusted)
        return getattr(adapted, "stem", "") or self._stem(block_type.id)

    def _stem(self, type_id: str) -> str:
        """Return the prefix of the ids of new nodes of a type."""
        return type_id.rsplit(".", 1)[-1]


def _require_patch(other: object) -> None:
    if not isinstance(other, PatchContents):
        raise PatchError(f"other patch must be a Patch, got {shown(other)}")
