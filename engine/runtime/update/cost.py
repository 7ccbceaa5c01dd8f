"""The cost of an edit, reported before the edit is made.

The patch is planned as it would be after the edit, and the plan decides the update level, as it does in an update. In a
patch of many blocks that would take too long, so an edit of its structure costs a rebuild at most.
"""

from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import cached_property
from pathlib import Path

import msgspec
from msgspec.structs import replace

from warploom.engine.blocktypes.block import Block
from warploom.engine.compiler.difference import plan_difference
from warploom.engine.compiler.inlining.inline import ParameterRef, changed_values, owner
from warploom.engine.compiler.plan import Plan
from warploom.engine.compiler.planning import plan_what_can_run
from warploom.engine.diagnostics import Severity, error
from warploom.engine.patch import changes
from warploom.engine.patch.changes import Change, Connection, Node, PortRef
from warploom.engine.patch.document import Patch
from warploom.engine.patch.editing.applying import apply_change
from warploom.engine.patch.organise.annotations import RunOrder
from warploom.engine.patch.rules import is_value_connection
from warploom.engine.protocol.messages import EditCost, KernelFilesChanged, SetProfiling, UpdateLevel
from warploom.engine.protocol.questions import CostedEdit
from warploom.engine.runtime.model.describe_patch import (
    PatchDescription,
    PatchSnapshot,
    PlacedNode,
    describe_patch,
    look_up,
    number_drives,
)
from warploom.engine.runtime.model.parameters import fit
from warploom.engine.runtime.update.prepare import level_of
from warploom.engine.user_code.limits import TimeLimits
from warploom.engine.user_code.runner import CodeRunner

#: Longest time of a block's `describe` for a cost, since a person waits for it.
PATIENCE_S = 0.25
#: A patch of more blocks is not planned only for a cost: that takes up to 20 us a block.
MOST_BLOCKS = 192


class Published(msgspec.Struct, frozen=True, dict=True):
    """A view of the running graph for other threads; the engine replaces it as a whole after each update.

    `estimates` are recent times of updates of each level, in nanoseconds. `kernel_files` are all files that loaded
    kernels depend on. `held` are the nodes that continue unchanged because of a mistake; None when there is none.
    """

    plan: Plan | None = None
    estimates: Mapping[UpdateLevel, int] = msgspec.field(default_factory=dict)
    kernel_files: frozenset[Path] = frozenset()
    held: frozenset[str] | None = frozenset()
    #: The nodes that are left out because the device failed in them.
    muted: frozenset[str] = frozenset()

    @property
    def is_blocked(self) -> bool:
        """True when a mistake in the patch keeps the graph from following all of it."""
        return self.held is None or bool(self.held)

    @cached_property
    def running(self) -> frozenset[str]:
        """The patch's nodes that run."""
        return frozenset(map(owner, self.plan.description.by_id)) if self.plan is not None else frozenset()

    def takes(self, node: str, parameter: str) -> bool:
        """True when a kernel takes the value of a live parameter."""
        plan = self.plan
        return plan is not None and any(
            _takes(plan, place) for place in plan.inlined.set_places({(node, parameter): 0})
        )


def _takes(plan: Plan, place: ParameterRef) -> bool:
    """True when a kernel of a block takes the value of its parameter."""
    block = plan.description.by_id.get(place[0])
    entries = block.description.all_entries if block is not None else ()
    return any(place[1] in getattr(entry, "live_parameters", ()) for entry in entries)


def cost_of(changes: Sequence[CostedEdit], patch: Patch, published: Published) -> EditCost:
    """Return the cost of changes that are made together; `patch` does not have them yet.

    Call it on the patch's thread, since it reads the patch. It takes up to a few milliseconds.
    """
    found = _Edits(patch, published, changes).cost()
    estimate = published.estimates.get(found.level) if found.level is not UpdateLevel.NONE else 0
    return EditCost(found.level, found.cause, estimate, found.at_most)


_FREE = EditCost(UpdateLevel.NONE, "the running graph stays the same")


class _Edits:
    """Changes that are made together: to replace a connection is to remove one and to make another."""

    def __init__(self, patch: Patch, published: Published, edits: Sequence[CostedEdit]) -> None:
        self._patch, self._published = patch, published
        self._added = {c.node.id: c.node for c in edits if isinstance(c, changes.NodeAdded)}
        #: The changes after which the patch is planned again, and the last of them as text.
        self._structure: list[Change] = []
        self._cause = ""
        self._costs: list[EditCost] = []
        for edit in edits:
            self._add(edit)

    def cost(self) -> EditCost:
        """Return the highest cost of any change."""
        if self._structure:
            self._costs.append(self._tried())
        return max(self._costs, key=lambda cost: cost.level, default=_FREE)

    def _tried(self) -> EditCost:
        """Return the cost of the changes of the structure."""
        plan, trial = self._published.plan, None
        if plan is not None and max(len(self._patch.nodes), len(plan.description.nodes)) <= MOST_BLOCKS:
            published = self._published
            trial = _Trial(self._patch, plan, blocked=published.is_blocked, muted=published.muted)
        if trial is None or not trial.follow(self._structure):
            return EditCost(UpdateLevel.COLD, self._cause, at_most=True)
        level, mistake = trial.outcome()
        return EditCost(level, mistake or self._cause)

    def _add(self, edit: CostedEdit) -> None:
        published = self._published
        match edit:
            case changes.NodeAdded(node):
                if not self._is_value_block(node.id):
                    self._restructure(edit, f"block {node.id} is added")
            case changes.NodeRemoved(node):
                if self._is_value_block(node.id):
                    self._add_driven(node.id)
                else:
                    self._restructure(edit, f"block {node.id} is removed")
            case changes.Connected(connection) | changes.Disconnected(connection) if self._is_value(connection):
                if number_drives((connection,), self._type_of):
                    self._restructure(edit, f"drive {connection}, which a kernel may follow in the same frame")
                else:
                    self._write(connection.target)
            case changes.Connected(connection):
                self._restructure(edit, f"connection {connection}")
            case changes.Disconnected(connection):
                self._restructure(edit, f"{connection.target} is disconnected")
            case changes.ParameterChanged(node_id, name):
                self._add_parameter(edit, node_id, name)
            case changes.CurveChanged(node_id, name):
                self._write(PortRef(node_id, name), f"keys of {name} of {node_id}")
            case changes.SentinelChanged(port):
                self._restructure(edit, f"check of {port}")
            case changes.NodeRegionChanged(node_id):
                if not self._is_value_block(node_id):
                    self._restructure(edit, f"block {node_id} moves to another region")
            case changes.BlockTypesChanged(types):
                nodes = self._patch.nodes
                if any(nodes[n].type in types for n in published.running if n in nodes):
                    self._costs.append(EditCost(UpdateLevel.COLD, "block types changed", at_most=True))
            case KernelFilesChanged(paths):
                if used := paths & published.kernel_files:
                    cause = f"{min(path.name for path in used)} saved"
                    self._costs.append(EditCost(UpdateLevel.CODE, cause))
            case changes.AnnotationChanged(value=RunOrder()) | changes.AnnotationChanged(previous=RunOrder()):
                self._restructure(edit, f"order of {' and '.join(changes.nodes_of(edit))}")
            case SetProfiling() | changes.NodeLooksChanged() | changes.AnnotationChanged():
                pass  # the engine runs as before
            case changes.NodeModeChanged():
                pass  # the client asks for the changes of the part that runs

    def _restructure(self, change: Change, cause: str) -> None:
        self._structure.append(change)
        self._cause = cause

    def _write(self, target: PortRef, cause: str = "") -> None:
        """Add a value of a parameter, which a value block drives unless a `cause` is given."""
        if self._published.takes(target.node, target.port):
            cost = EditCost(UpdateLevel.HOT, cause or f"another value of {target}", at_most=not cause)
            self._costs.append(cost)

    def _type_of(self, node: str) -> type[Block] | None:
        placed = self._added.get(node) or self._patch.nodes.get(node)
        return self._patch.type_of(placed) if placed is not None else None

    def _is_value_block(self, node: str) -> bool:
        block_type = self._type_of(node)
        return block_type is not None and block_type.is_value

    def _is_value(self, connection: Connection) -> bool:
        ends = self._type_of(connection.source.node), self._type_of(connection.target.node)
        return is_value_connection(connection, *ends)

    def _add_parameter(self, change: Change, node: str, name: str) -> None:
        block_type = self._type_of(node)
        spec = block_type.parameters.get(name) if block_type is not None else None
        if block_type is None or spec is None:
            return
        if block_type.is_value:
            self._add_driven(node)
        elif spec.is_constant:  # not tried: a block may read the file of its kernel
            if node in self._published.running:
                self._costs.append(EditCost(UpdateLevel.CODE, f"{name} of {node}"))
        elif spec.structural:
            self._restructure(change, f"{name} of {node}")
        elif self._patch.source_of(PortRef(node, name)) is None:
            self._write(PortRef(node, name), f"{name} of {node}")

    def _add_driven(self, node: str) -> None:
        """Add the parameters that a value block drives, directly or through others."""
        waiting, seen = [node], {node}
        while waiting:
            for connection in self._patch.connections_of(waiting.pop()):
                target = connection.target
                if target.node in seen or connection.source.node not in seen:
                    continue
                self._write(target)
                seen.add(target.node)
                waiting.append(target.node)


class _Trial:
    """A patch as it would be after changes, planned for the graph that runs `plan`.

    Kernels are not compiled, so mistakes in them are not found. When the graph is `blocked`, every block is described
    again.
    """

    def __init__(self, patch: Patch, plan: Plan, *, blocked: bool, muted: frozenset[str]) -> None:
        self._patch, self._plan, self._blocked, self._muted = patch, plan, blocked, muted
        self._placed: list[PlacedNode] = []
        self._nodes, self._sentinels = dict(patch.nodes), dict(patch.sentinels)
        self._by_target = {connection.target: connection for connection in patch.connections}

    def follow(self, edits: Sequence[Change]) -> bool:
        """Make the changes; False when they don't fit, or a block that reads a file would have to be described."""
        nodes = self._nodes
        try:
            for change in edits:
                apply_change(nodes, self._by_target, self._sentinels, {}, change)
        except KeyError:  # a node or a connection that is not there
            return False
        self._by_target = {t: c for t, c in self._by_target.items() if c.source.node in nodes and t.node in nodes}
        return all(map(self._place, nodes.values()))

    def outcome(self) -> tuple[UpdateLevel, str]:
        """Return the update that the graph would need, and the mistake that keeps the graph as it is, if any."""
        plan = self._plan.before_fusing  # compiling fused kernels takes too long
        running, sizes = (
            frozenset(plan.description.by_id),
            plan.workspaces,
        )  # only the device knows the workspaces of other calls
        described = self._described()
        partial = plan_what_can_run(
            described.inlined,
            described.problems,
            running,
            previous=plan,
            fuses=False,
            workspace_of=lambda call, _: sizes.get(call, 0),
            muted=self._muted,
        )
        errors = [item for item in partial.diagnostics if item.severity is Severity.ERROR]
        level = UpdateLevel.NONE
        if partial.plan is not None:
            level = level_of(plan_difference(plan, partial.plan))
            given = changed_values(plan.inlined, partial.plan.inlined, {})
            if level is UpdateLevel.NONE and any(_takes(partial.plan, place) for place in given):
                level = UpdateLevel.HOT
        elif not errors:
            errors = [error("the patch can't run")]
        if level > UpdateLevel.NONE or not errors or not (partial.held or partial.plan is None):
            return level, ""
        return level, f"{errors[0].node}: {errors[0].message}" if errors[0].node else errors[0].message

    def _place(self, node: Node) -> bool:
        """Place a block, with its running description if that stays valid; False when it would read a file."""
        block_type = self._patch.type_of(node)
        if block_type is None or block_type.is_value:
            return True
        known = self._plan.inlined.original.by_id.get(node.id) if node.id in self._plan.description.by_id else None
        if known is not None and not self._blocked and self._is_as_before(node, block_type):
            self._placed.append(PlacedNode(node.id, node.type, known.region, block=known).in_region(node.region))
            return True
        if any(spec.files.startswith("open") for spec in block_type.parameters.values()):
            return False
        placed = look_up(
            node.id,
            node.type,
            node.region,
            node.parameters,
            self._patch.catalogue,
            lambda: self._patch.folder,
            trusted=self._patch.trusted,
        )
        values, _ = fit(node.id, placed.specs, node.parameters, lambda: self._patch.folder)
        self._placed.append(replace(placed, values=values))
        return True

    def _described(self) -> PatchDescription:
        def type_of(node: str) -> type[Block] | None:
            return self._patch.type_of(self._nodes[node]) if node in self._nodes else None

        connections = self._by_target.values()
        values = {c for c in connections if is_value_connection(c, type_of(c.source.node), type_of(c.target.node))}
        wires, drives = (c for c in connections if c not in values), number_drives(values, type_of)
        feeding = {connection.source for connection in connections}
        sentinels = {port: check for port, check in self._sentinels.items() if port in feeding}
        limits = TimeLimits(PATIENCE_S, 2 * PATIENCE_S)
        with closing(CodeRunner(limits, limits)) as code:
            patch = PatchSnapshot(tuple(self._placed), tuple(wires), sentinels=sentinels, drives=drives)
            return describe_patch(patch, code)

    def _is_as_before(self, node: Node, block_type: type[Block]) -> bool:
        old = self._patch.nodes.get(node.id)
        if old is node:
            return True
        if old is None or old.type != node.type:
            return False
        structural = [name for name, spec in block_type.parameters.items() if spec.structural]
        return all(node.parameters.get(name) is old.parameters.get(name) for name in structural)
