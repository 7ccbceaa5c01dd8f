"""Bypassed and disabled blocks: what a bypassed block passes through, and the part of a patch that the engine runs.

A *bypassed* block is left out, and what feeds one of its inputs feeds what its output fed: the patch runs as if the
block had been deleted and the chain healed. A *disabled* block is left out too, with every block that can't run without
it. (A *muted* node is something else: the engine leaves it out because the device failed in it.)
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from warploom.engine.blocktypes.block import Block, TypeOf
from warploom.engine.descriptions.ports import PortSpec
from warploom.engine.diagnostics import PatchError
from warploom.engine.patch import changes, rules
from warploom.engine.patch.changes import Change, Connection, Mode, Node, PortRef, Sentinel, inverse
from warploom.engine.patch.editing.applying import apply_change
from warploom.engine.patch.groups.contents import GroupedContents
from warploom.engine.patch.groups.flat import GROUP, HIDDEN
from warploom.engine.patch.organise.annotations import Annotation, RunOrder
from warploom.engine.patch.regions import Scopes, region_of


def pass_through(block_type: type[Block]) -> dict[str, str]:
    """Return the input that each output of a bypassed block takes its data from.

    A block type may declare them as `bypass_ports`. Otherwise an output takes the first input of its type and rank that
    no earlier output took; an input that is read in the next frame is none.
    """
    if block_type.bypass_ports:
        return dict(block_type.bypass_ports)
    inputs = [spec for spec in block_type.ports.values() if spec.is_input and not spec.delayed]
    found: dict[str, str] = {}
    for output in (spec for spec in block_type.ports.values() if not spec.is_input):
        taken = found.values()
        match = next((spec.name for spec in inputs if spec.name not in taken and _is_alike(output, spec)), None)
        if match is not None:
            found[output.name] = match
    return found


def _is_alike(output: PortSpec, spec: PortSpec) -> bool:
    if output.dtype.kind == "any":
        return output.dtype_rule == f"same({spec.name})"
    return output.dtype == spec.dtype and (None in (output.rank, spec.rank) or output.rank == spec.rank)


def _is_region(block_type: type[Block]) -> bool:
    return bool(block_type.regions) and block_type.id != GROUP


def check_bypass(title: str, block_type: type[Block] | None) -> None:
    """Raise PatchError with the reason if a block can't be bypassed: its first output must have an input to take."""
    if block_type is None:
        raise PatchError(f"{title} must be of a known block type to be bypassed; disable it instead")
    if _is_region(block_type):
        raise PatchError(f"{title} must not be a region to be bypassed, got one; disable it, or take its blocks out")
    outputs = [*(spec.name for spec in block_type.ports.values() if not spec.is_input), *block_type.values_out]
    if not outputs:
        raise PatchError(f"{title} must have an output to be bypassed, got none; disable it instead")
    passed = pass_through(block_type)
    if outputs[0] not in passed:
        raise PatchError(
            f"{title} must have an input of the type of its output '{outputs[0]}' to be bypassed, got none; "
            "disable it instead"
        )
    for output, name in passed.items():
        known = rules.find_end(block_type, name)
        if output not in outputs or known is None or not rules.is_target(known):
            raise PatchError(f"bypass_ports of {block_type.id} must lead from outputs to inputs, got {output}: {name}")


def healed(patch: GroupedContents, gone: Collection[str]) -> list[Connection]:
    """Return the connections that close the gaps that nodes of a patch leave, from what fed them to what they fed.

    Connections that the patch would refuse are left out: those of other types, and those between branches of a region.
    """
    ways = _Ways(patch, gone, leaves_groups=False)
    lines = (line for node in gone for line in patch.connections_of(node) if line.source.node == node)
    ends = ((ways.source(line.source), line.target) for line in lines if line.target.node not in gone)
    made = (Connection(source, target) for source, target in ends if source is not None)
    return [connection for connection in made if _is_allowed(patch, connection)]


def _is_allowed(patch: GroupedContents, connection: Connection) -> bool:
    source, target = patch.find_end(connection.source), patch.find_end(connection.target)
    if source is None or target is None or not rules.fits(source, target):
        return False
    return patch.is_value_connection(connection) or not patch.crosses_branches(connection)


@dataclass
class Running:
    """What the engine runs, without groups, in the form of `PatchContents`; of the annotations, only orders count."""

    nodes: dict[str, Node]
    by_target: dict[PortRef, Connection]
    sentinels: dict[PortRef, Sentinel]
    annotations: dict[str, Annotation] = field(default_factory=dict)

    @classmethod
    def whole(cls, patch: GroupedContents) -> Running:
        """Return a patch as if no block was bypassed or disabled."""
        made = cls({}, {}, {})
        for change in patch.flat_changes():
            made.apply(change)
        return made

    def apply(self, change: Change) -> None:
        """Apply a change of the patch without groups."""
        apply_change(self.nodes, self.by_target, self.sentinels, self.annotations, change)

    @property
    def orders(self) -> dict[str, RunOrder]:
        """The orders of blocks that run, by key; a block that is left out passes them on."""
        following: dict[str, list[str]] = {}
        for note in self.annotations.values():
            if isinstance(note, RunOrder):
                following.setdefault(note.first, []).append(note.then)
        found: dict[str, RunOrder] = {}
        for first in filter(self.nodes.__contains__, following):  # in the order of the annotations, not of a set
            waiting, seen = list(following[first]), set[str]()
            while waiting:
                then = waiting.pop()
                if then in self.nodes:
                    order = RunOrder(first=first, then=then)
                    found[order.key] = order
                elif then not in seen:
                    seen.add(then)
                    waiting += following.get(then, ())
        return found

    @classmethod
    def of(cls, patch: GroupedContents) -> Running:
        """Return what the engine runs of a patch."""
        running = cls.whole(patch)
        if not patch.off:
            return running
        by_mode: dict[Mode, list[str]] = {Mode.BYPASSED: [], Mode.DISABLED: []}
        for node in patch.off:
            inside = patch.within(node) if patch.is_group(node) else ()
            by_mode[patch.nodes[node].mode] += [node, *inside]
        gone = set(by_mode[Mode.BYPASSED])
        if gone:
            ways = _Ways(patch, gone)
            known, running.by_target = running.by_target, {}
            for connection in patch.connections:
                for target in patch.flat_targets(connection):
                    source = ways.source(connection.source) if target.node not in gone else None
                    before = known.get(target)
                    if before is not None and before.source == source:
                        running.by_target[target] = before
                    elif source is not None and _is_allowed(patch, Connection(source, target)):
                        running.by_target[target] = Connection(source, target)
        running._leave_out(gone)
        if by_mode[Mode.DISABLED]:
            running._leave_out(_with_dependents(by_mode[Mode.DISABLED], running, patch.block_type))
        feeding = {connection.source for connection in running.by_target.values()}
        running.sentinels = {port: check for port, check in running.sentinels.items() if port in feeding}
        return running

    def _leave_out(self, nodes: Collection[str]) -> None:
        gone = set(nodes)
        self.nodes = {node: held for node, held in self.nodes.items() if node not in gone}
        kept = (c for c in self.by_target.values() if not gone & {c.source.node, c.target.node})
        self.by_target = {connection.target: connection for connection in kept}

    def as_changes(self) -> list[Change]:
        """Return the changes that make this from nothing."""
        return [
            *map(changes.NodeAdded, self.nodes.values()),
            *map(changes.Connected, self.by_target.values()),
            *(changes.SentinelChanged(port, check, None) for port, check in self.sentinels.items()),
            *(changes.AnnotationChanged(key, order, None) for key, order in self.orders.items()),
        ]


class _Ways:
    """Finds the output of another node that an output of any node has the elements of, without the `gone` nodes.

    With `leaves_groups`, ways lead through the ports of groups to blocks.
    """

    def __init__(self, patch: GroupedContents, gone: Collection[str], *, leaves_groups: bool = True) -> None:
        self._patch, self._gone, self._leaves_groups = patch, gone, leaves_groups
        self._known: dict[PortRef, PortRef | None] = {}

    def source(self, port: PortRef) -> PortRef | None:
        """Return that output; None when nothing feeds it."""
        way: list[tuple[PortRef, PortRef, PortRef]] = []  # outputs that pass on, their inputs, and what feeds these
        at = port
        while at not in self._known:
            self._known[at] = None  # for blocks that feed themselves
            if not self._passes_on(at.node):
                self._known[at] = at
                break
            before = self._entry(at) if at.node in self._gone else self._patch.link(at)
            fed = self._patch.source_of(before) if before is not None else None
            if before is None or fed is None:
                break
            way.append((at, before, fed))
            at = fed
        found = self._known[at]
        for at, before, fed in reversed(way):
            if found is not None and found != fed and at.node in self._gone:
                is_allowed = self._patch.find_end(before) is None or _is_allowed(self._patch, Connection(found, before))
                found = found if is_allowed else None
            self._known[at] = found
        return found

    def _passes_on(self, node: str) -> bool:
        patch = self._patch
        return node in self._gone or (self._leaves_groups and (patch.is_group(node) or patch.is_end(node)))

    def _entry(self, port: PortRef) -> PortRef | None:
        """Return the input that an output of a block that is gone takes its data from; a region has none.

        A block whose ports are unknown, since its type is missing or its formula is wrong, passes on its only
        connected input.
        """
        patch, node = self._patch, port.node
        block_type = patch.block_type(node)
        if block_type is not None and _is_region(block_type):
            return None
        if block_type is not None and patch.find_end(port) is not None:
            entry = pass_through(block_type).get(port.port)
            return PortRef(node, entry) if entry is not None else None
        inputs = (c for c in patch.connections_of(node) if c.target.node == node and not patch.is_value_connection(c))
        fed = [connection.target for connection in inputs]
        return fed[0] if len(fed) == 1 else None


def _with_dependents(off: Collection[str], running: Running, type_of: TypeOf) -> set[str]:
    """Return nodes with the blocks inside them, and with those whose required inputs they feed."""
    scopes = Scopes({node.id: node.region for node in running.nodes.values() if node.region})
    inside: dict[str, list[str]] = {}
    for held in running.nodes.values():
        for scope in scopes.chain(held.region):
            inside.setdefault(region_of(scope), []).append(held.id)
    fed: dict[str, list[Connection]] = {}
    for connection in running.by_target.values():
        fed.setdefault(connection.source.node, []).append(connection)
    found, waiting = set(off), list(off)
    while waiting:
        gone = waiting.pop()
        needing = [c.target.node for c in fed.get(gone, ()) if _is_required(c.target, type_of)]
        for other in (*needing, *inside.get(gone, ())):
            if other not in found:
                found.add(other)
                waiting.append(other)
    return found


def _is_required(target: PortRef, type_of: TypeOf) -> bool:
    spec = rules.find_end(type_of(target.node), target.port)
    return isinstance(spec, PortSpec) and not spec.optional


def left_out(patch: GroupedContents, running: Running | None = None) -> frozenset[str]:
    """Return the blocks that the engine does not run: bypassed and disabled ones, and those that can't run without.

    `running` is what it runs, if that is known.
    """
    if not patch.off:
        return frozenset()
    runs = (running or Running.of(patch)).nodes
    return frozenset(node.id for node in patch.nodes.values() if node.id not in runs and node.type not in HIDDEN)


class RunningChanges:
    """Turns the changes of a patch without its groups into those of the part that the engine runs.

    While no block is bypassed or disabled, they are the same.
    """

    def __init__(self, patch: GroupedContents) -> None:
        self._patch = patch
        self._running = Running.of(patch) if patch.off else None
        #: The edition of groups that `_running` follows from, since changes without groups don't show all of it.
        self._edition = patch.groups_edition
        self._has_other_types = False
        #: The nodes of the patch that do not run, whose state waits for them.
        self.left_out = left_out(patch, self._running)

    def retype(self) -> None:
        """Note that block types have changed, and with them what blocks pass through or need."""
        self._has_other_types = True

    def first(self) -> list[Change]:
        """Return the changes that make the running part from nothing."""
        return self._patch.flat_changes() if self._running is None else self._running.as_changes()

    def follow(self, made: list[Change]) -> list[Change]:
        """Return the changes of the running part for changes that the patch already has."""
        patch, before = self._patch, self._running
        if before is None and not patch.off:
            return made
        is_same = self._edition == patch.groups_edition and not self._has_other_types
        if before is None:
            before = self._before(made)
        elif is_same and all(map(self._is_light, made)):
            return self._light(before, made)
        self._edition, self._has_other_types = patch.groups_edition, False
        after = Running.of(patch)
        self._running = after if patch.off else None
        self.left_out = left_out(patch, self._running)
        return _difference(before, after, made)

    def would_follow(self, edits: Sequence[Change]) -> list[Change]:
        """Return the changes of the running part that edits would make. Raise PatchError if these don't fit."""
        patch = self._patch
        if not (patch.off or any(_needs_trial(edit, patch) for edit in edits)):
            return [flat for edit in edits for flat in patch.as_flat(edit)]
        trial, made = GroupedContents(patch.catalogue), list[Change]()
        for change in patch.as_changes():
            trial._take(change)
        for edit in edits:
            removed = trial.connections_of(edit.node.id) if isinstance(edit, changes.NodeRemoved) else ()
            for change in (*map(changes.Disconnected, removed), edit):
                trial._take(change)
                made += trial._flat_changes if trial._flat is not None else (change,)
        before = self._running if self._running is not None else Running.whole(patch)
        return _difference(before, Running.of(trial), made)

    def _is_light(self, change: Change) -> bool:
        """Return whether a change leaves the nodes and connections that run as they are."""
        match change:
            case changes.CurveChanged():
                return True
            case changes.ParameterChanged(node, name):
                return node in self._patch.nodes and not self._patch.decides_interface(node, name)
        return isinstance(change, changes.NodeLooksChanged)

    def _light(self, before: Running, made: list[Change]) -> list[Change]:
        """Return the changes of nodes that run, where no node or connection changes."""
        kept: list[Change] = []
        for change in made:
            if (
                isinstance(change, changes.ParameterChanged | changes.CurveChanged | changes.NodeLooksChanged)
                and change.node in before.nodes
            ):
                before.nodes[change.node] = changes.applied(before.nodes[change.node], change)
                kept.append(change)
        return kept

    def _before(self, made: list[Change]) -> Running:
        """Return the whole patch as it was before these changes."""
        found = Running.whole(self._patch)
        for change in reversed(made):
            found.apply(inverse(change))
        return found


def _needs_trial(edit: Change, patch: GroupedContents) -> bool:
    """Return whether what runs after an edit depends on modes or groups; trying takes 6 ms for a thousand nodes."""
    match edit:
        case changes.NodeAdded(node) if node.mode or node.type in HIDDEN:
            return True
        case changes.NodeAdded() | changes.NodeRemoved() | changes.NodeRegionChanged():
            return patch.has_groups
    return isinstance(edit, changes.NodeModeChanged)


def _difference(before: Running, after: Running, made: list[Change]) -> list[Change]:
    """Return the changes from `before` to `after`; those of single properties are among `made`."""
    renewed = {change.node.id for change in made if isinstance(change, changes.NodeRemoved)}
    kept = (before.nodes.keys() & after.nodes.keys()) - renewed
    stay = {
        c for t, c in before.by_target.items() if after.by_target.get(t) == c and {c.source.node, c.target.node} <= kept
    }
    checks = {port: check for port, check in before.sentinels.items() if port.node in kept}
    steps: list[Change] = [
        changes.SentinelChanged(port, None, check)
        for port, check in before.sentinels.items()
        if port not in checks or port not in after.sentinels
    ]
    had, has = before.orders, after.orders
    steps += [changes.AnnotationChanged(key, None, order) for key, order in had.items() if key not in has]
    steps += [changes.Disconnected(c) for c in before.by_target.values() if c not in stay]
    steps += [changes.NodeRemoved(node) for node in before.nodes.values() if node.id not in kept]
    steps += [changes.NodeAdded(node) for node in after.nodes.values() if node.id not in kept]
    single = (
        changes.ParameterChanged,
        changes.CurveChanged,
        changes.NodeLooksChanged,
        changes.NodeRegionChanged,
    )
    steps += [change for change in made if isinstance(change, single) and change.node in kept]
    steps += [changes.Connected(c) for c in after.by_target.values() if c not in stay]
    steps += [changes.AnnotationChanged(key, order, None) for key, order in has.items() if key not in had]
    now = after.sentinels.items()
    return [*steps, *(changes.SentinelChanged(p, s, checks.get(p)) for p, s in now if checks.get(p) != s)]
