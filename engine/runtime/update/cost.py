"""The cost of an edit, reported before the edit is made.

A small patch is planned as it would be after the edit. A larger edit is estimated by the blocks that it touches, which
takes no longer in a patch of a thousand blocks; the level is then the highest possible one.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from msgspec.structs import replace

from engine.blocktypes.block import Block
from engine.compiler.difference import plan_difference
from engine.compiler.executable.adjust import operations_in_place
from engine.compiler.inlining import owner
from engine.compiler.plan import Plan
from engine.compiler.planning import plan_what_can_run
from engine.descriptions.description import BlockDescription
from engine.diagnostics import Severity, error
from engine.patch import changes
from engine.patch.applying import apply_change
from engine.patch.changes import Change, Connection, Node, PortRef
from engine.patch.document import Patch
from engine.patch.rules import is_value_connection
from engine.patch.sentinels import Sentinel
from engine.protocol.messages import EditCost, KernelFilesChanged, SetProfiling, UpdateLevel
from engine.protocol.questions import CostedEdit
from engine.runtime.model.describe_patch import PatchDescription, PatchSnapshot, PlacedNode, describe_patch, look_up
from engine.runtime.model.parameters import fit
from engine.runtime.update.prepare import same_structure
from engine.user_code.limits import TimeLimits
from engine.user_code.runner import CodeRunner

#: Longest time of a block's `describe` for a cost, since a person waits for it.
PATIENCE_S = 0.25
#: A patch of more blocks is not planned only for a cost: that takes up to 20 us a block.
MOST_BLOCKS = 48


@dataclass(frozen=True)
class Published:
    """A view of the running graph for other threads; the engine replaces it as a whole after each update.

    `estimates` are recent times of updates of each level, in nanoseconds. `kernel_files` are all files that loaded
    kernels depend on. `held` are the nodes that run on as they were because of a mistake; None when all do.
    """

    plan: Plan | None = None
    estimates: Mapping[UpdateLevel, int] = field(default_factory=dict)
    kernel_files: frozenset[Path] = frozenset()
    held: frozenset[str] | None = frozenset()

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
        if self.plan is None:
            return False
        by_id = self.plan.description.by_id
        return any(
            name in getattr(entry, "live_parameters", ())
            for block, name in self.plan.inlined.set_places({(node, parameter): None})
            if block in by_id
            for entry in by_id[block].description.all_entries
        )


def cost_of(changes: Sequence[CostedEdit], patch: Patch, published: Published) -> EditCost:
    """Return the cost of changes that are made together; `patch` does not have them yet.

    Call it on the patch's thread, since it reads the patch. It takes less than a millisecond.
    """
    found = _Estimate(patch, published, changes).cost()
    if found.level is UpdateLevel.NONE:
        return EditCost(found.level, found.cause, 0, found.at_most)
    return EditCost(found.level, found.cause, published.estimates.get(found.level), found.at_most)


_FREE = EditCost(UpdateLevel.NONE, "nothing that runs changes")


class _Estimate:
    """The cost of changes taken together: to replace a connection is to remove one and to make another."""

    def __init__(self, patch: Patch, published: Published, edits: Sequence[CostedEdit]) -> None:
        self._patch, self._published, self._changes = patch, published, edits
        self._added = {c.node.id: c.node for c in edits if isinstance(c, changes.NodeAdded)}
        self._removed = {c.node.id for c in edits if isinstance(c, changes.NodeRemoved)}
        #: The inputs whose connections change, and their sources afterwards.
        self._sources: dict[PortRef, PortRef | None] = {}
        #: The cost of structural changes, if they have no mistake, and of the others.
        self._structure: list[EditCost] = []
        self._other: list[EditCost] = []

    def cost(self) -> EditCost:
        """Return the highest cost of any change."""
        for change in self._changes:
            self._add(change)
        for node in self._removed & self._patch.nodes.keys():  # its connections go with it
            for connection in self._patch.connections_of(node):
                self._sources.setdefault(connection.target, None)
        self._add_connections()
        if self._structure:
            self._other.append(self._tried(max(self._structure, key=lambda cost: cost.level)))
        return max(self._other, key=lambda cost: cost.level, default=_FREE)

    def _tried(self, estimate: EditCost) -> EditCost:
        """Return the cost of the structural changes, by a trial where that is cheap."""
        published = self._published
        if published.plan is None:
            return estimate
        edits = [
            c for c in self._changes if not isinstance(c, KernelFilesChanged | SetProfiling | changes.BlockTypesChanged)
        ]
        outcome = try_changes(self._patch, edits, published.plan, blocked=published.is_blocked)
        if outcome is None:
            return EditCost(estimate.level, estimate.cause, at_most=estimate.level > UpdateLevel.NONE)
        is_refused = outcome.cause and estimate.level > UpdateLevel.NONE
        return EditCost(outcome.level, outcome.cause if is_refused else estimate.cause)

    def _add(self, change: CostedEdit) -> None:
        published = self._published
        match change:
            case changes.NodeAdded(node):
                if not self._is_value_block(node.id):
                    self._restructure(UpdateLevel.NONE, f"block {node.id} waits for a connection")
            case changes.NodeRemoved(node):
                runs = node.id in published.running
                self._restructure(UpdateLevel.COLD if runs else UpdateLevel.NONE, f"block {node.id} is removed")
            case changes.Connected(connection) | changes.Disconnected(connection) if self._is_value(connection):
                if published.takes(connection.target.node, connection.target.port):
                    self._write(f"another value of {connection.target}", at_most=True)
            case changes.Connected(connection):
                self._sources[connection.target] = connection.source
            case changes.Disconnected(connection):
                self._sources[connection.target] = None
            case changes.ParameterChanged(node_id, name):
                self._add_parameter(node_id, name)
            case changes.SentinelChanged(port, value, previous):
                if value is not None and previous is not None and value.freezes == previous.freezes:
                    self._write(f"other bounds of the check of {port}", at_most=port.node not in published.running)
                else:
                    runs = port.node in published.running
                    self._restructure(UpdateLevel.COLD if runs else UpdateLevel.NONE, f"check of {port}")
            case changes.NodeRegionChanged(node_id):
                if not self._is_value_block(node_id):
                    runs = node_id in published.running
                    level = UpdateLevel.COLD if runs else UpdateLevel.NONE
                    self._restructure(level, f"block {node_id} moves to another region")
            case changes.BlockTypesChanged(types):
                nodes = self._patch.nodes
                if any(nodes[n].type in types for n in published.running if n in nodes):
                    self._other.append(EditCost(UpdateLevel.COLD, "block types changed", at_most=True))
            case KernelFilesChanged(paths):
                if used := paths & published.kernel_files:
                    cause = f"{min(path.name for path in used)} saved"
                    self._other.append(EditCost(UpdateLevel.CODE, cause))
            case SetProfiling() | changes.NodeMoved() | changes.NodeRenamed():
                pass  # the engine runs the same

    def _restructure(self, level: UpdateLevel, cause: str) -> None:
        self._structure.append(EditCost(level, cause))

    def _write(self, cause: str, *, at_most: bool = False) -> None:
        self._other.append(EditCost(UpdateLevel.HOT, cause, at_most=at_most))

    def _type_of(self, node: str) -> type[Block] | None:
        placed = self._added.get(node) or self._patch.nodes.get(node)
        return self._patch.type_of(placed) if placed is not None else None

    def _is_value_block(self, node: str) -> bool:
        block_type = self._type_of(node)
        return block_type is not None and block_type.is_value

    def _is_value(self, connection: Connection) -> bool:
        ends = self._type_of(connection.source.node), self._type_of(connection.target.node)
        return is_value_connection(connection, *ends)

    def _add_connections(self) -> None:
        running = self._published.running - self._removed
        missing = [t for t, source in self._sources.items() if t.node in running and not source and self._needs(t)]
        for target, source in self._sources.items():
            if target in missing:  # a running block never stops because of a mistake: it keeps running unchanged
                self._restructure(UpdateLevel.NONE, f"{target} waits for a connection")
                continue
            runs = target.node in running and source != self._patch.source_of(target)
            cause = f"connection {source} -> {target}" if source else f"{target} is disconnected"
            self._restructure(UpdateLevel.COLD if runs else UpdateLevel.NONE, cause)
        ready = dict.fromkeys(running, True)
        candidates = {*self._added, *(target.node for target in self._sources)} - running - self._removed
        for node in sorted(candidates):
            if self._is_ready(node, ready):
                self._restructure(UpdateLevel.COLD, f"block {node} is added")

    def _needs(self, target: PortRef) -> bool:
        block_type = self._type_of(target.node)
        spec = block_type.ports.get(target.port) if block_type is not None else None
        return spec is not None and not spec.optional

    def _source_of(self, target: PortRef) -> PortRef | None:
        return self._sources[target] if target in self._sources else self._patch.source_of(target)

    def _is_ready(self, node: str, known: dict[str, bool]) -> bool:
        """True when a block will have everything that it needs to run."""
        if node in known:
            return known[node]
        known[node] = True  # until an input is missing: blocks may feed each other through a delay
        block_type = self._type_of(node)
        ready = block_type is not None and not block_type.is_value and node not in self._removed
        for spec in block_type.inputs() if block_type is not None and ready else ():
            source = self._source_of(PortRef(node, spec.name))
            ready &= spec.optional if source is None else self._is_ready(source.node, known)
        known[node] = ready
        return ready

    def _add_parameter(self, node: str, name: str) -> None:
        block_type, published = self._type_of(node), self._published
        spec = block_type.parameters.get(name) if block_type is not None else None
        if block_type is None or spec is None or node in self._added:
            return
        if block_type.is_value:
            self._add_driven(node)
        elif spec.is_constant:
            if node in published.running:
                self._other.append(EditCost(UpdateLevel.CODE, f"{name} of {node}"))
        elif spec.structural:
            self._restructure(UpdateLevel.COLD, f"{name} of {node}")
        elif self._patch.source_of(PortRef(node, name)) is None and published.takes(node, name):
            self._write(f"{name} of {node}")

    def _add_driven(self, node: str) -> None:
        """Add the parameters that a value block drives, directly or through others."""
        waiting, seen = [node], {node}
        while waiting:
            for connection in self._patch.connections_of(waiting.pop()):
                target = connection.target
                if target.node in seen or connection.source.node not in seen:
                    continue
                if self._published.takes(target.node, target.port):
                    self._write(f"another value of {target}", at_most=True)
                seen.add(target.node)
                waiting.append(target.node)


def try_changes(patch: Patch, changes: Iterable[Change], plan: Plan, *, blocked: bool) -> EditCost | None:
    """Plan a patch with changes; return the update that its graph, which runs `plan`, would need, or None if not tried.

    The cause is the mistake that keeps the graph as it is, if any. It is not tried with many blocks, nor when a
    block that reads a file would be described. When the graph is `blocked`, every block is described again. Kernels are
    not compiled, so mistakes in them are not found.
    """
    if max(len(patch.nodes), len(plan.description.nodes)) > MOST_BLOCKS:
        return None
    nodes, sentinels = dict(patch.nodes), dict(patch.sentinels)
    by_target = {connection.target: connection for connection in patch.connections}
    try:
        for change in changes:
            apply_change(nodes, by_target, sentinels, change)
    except KeyError:  # a node or a connection that is not there
        return None
    by_target = {t: c for t, c in by_target.items() if c.source.node in nodes and t.node in nodes}
    trial = _Trial(patch, plan, blocked=blocked)
    if not all(map(trial.place, nodes.values())):
        return None
    feeding = {connection.source for connection in by_target.values()}
    return trial.outcome(by_target, nodes, {port: check for port, check in sentinels.items() if port in feeding})


class _Trial:
    """A patch as it would be."""

    def __init__(self, patch: Patch, plan: Plan, *, blocked: bool) -> None:
        self._patch, self._plan, self._blocked = patch, plan, blocked
        self._nodes: list[PlacedNode] = []

    def place(self, node: Node) -> bool:
        """Place a block, with the description that runs if that stays; False when it would read a file."""
        block_type = self._patch.type_of(node)
        if block_type is None or block_type.is_value:
            return True
        known = self._plan.description.by_id.get(node.id)
        if known is not None and not self._blocked and self._is_as_before(node, block_type):
            self._nodes.append(PlacedNode(node.id, node.type, known.region, block=known).in_region(node.region))
            return True
        if any(spec.files.startswith("open") for spec in block_type.parameters.values()):
            return False
        placed = look_up(
            node.id, node.type, node.region, node.parameters, self._patch.catalogue, lambda: self._patch.folder
        )
        values, _ = fit(node.id, placed.specs, node.parameters, lambda: self._patch.folder)
        self._nodes.append(replace(placed, values=values))
        return True

    def outcome(
        self, by_target: dict[PortRef, Connection], nodes: dict[str, Node], sentinels: dict[PortRef, Sentinel]
    ) -> EditCost:
        """Plan the placed blocks and compare the plan with the running one."""

        def type_of(node: str) -> type[Block] | None:
            return self._patch.type_of(nodes[node]) if node in nodes else None

        wires = tuple(
            c for c in by_target.values() if not is_value_connection(c, type_of(c.source.node), type_of(c.target.node))
        )
        # Compiling fused kernels takes too long for an estimate.
        described, plan = (
            self._described(PatchSnapshot(tuple(self._nodes), wires, sentinels=sentinels)),
            self._plan.before_fusing,
        )
        running = frozenset(plan.description.by_id)
        sizes = plan.workspaces  # those of other calls only the device knows
        partial = plan_what_can_run(
            described.inlined,
            described.problems,
            running,
            previous=plan,
            fuses=False,
            workspace_of=lambda call, _: sizes.get(call, 0),
        )
        if partial.plan is None:
            errors = [item for item in partial.diagnostics if item.severity is Severity.ERROR]
            first = errors[0] if errors else error("the patch can't run")
            return EditCost(UpdateLevel.NONE, f"{first.node}: {first.message}" if first.node else first.message)
        errors = [item for item in partial.diagnostics if item.severity is Severity.ERROR]
        if errors and partial.held and same_structure(plan, partial.plan):
            return EditCost(UpdateLevel.NONE, f"{errors[0].node}: {errors[0].message}")
        if same_structure(plan, partial.plan):
            now, then = partial.plan.description.by_id, plan.description.by_id
            provides = any(_provides_other(now[node].description, then[node].description) for node in now)
            return EditCost(UpdateLevel.WARM if provides else UpdateLevel.NONE, "")
        changes = plan_difference(plan, partial.plan)
        if operations_in_place(changes) is None:
            return EditCost(UpdateLevel.COLD, "")
        if changes.has_other_kernels:
            return EditCost(UpdateLevel.CODE, "")
        return EditCost(UpdateLevel.RECAPTURE if changes.captures_again else UpdateLevel.WARM, "")

    @staticmethod
    def _described(patch: PatchSnapshot) -> PatchDescription:
        with closing(CodeRunner(TimeLimits(PATIENCE_S, 2 * PATIENCE_S))) as code:
            return describe_patch(patch, code)

    def _is_as_before(self, node: Node, block_type: type[Block]) -> bool:
        old = self._patch.nodes.get(node.id)
        if old is node:
            return True
        if old is None or old.type != node.type:
            return False
        structural = [name for name, spec in block_type.parameters.items() if spec.structural]
        return all(node.parameters.get(name) is old.parameters.get(name) for name in structural)


def _provides_other(new: BlockDescription, old: BlockDescription) -> bool:
    """True when a block provides other arrays than the running graph holds."""
    if new is old:
        return False
    contents = any(array is not old.contents.get(name) for name, array in new.contents.items())
    return contents or any(array is not old.externals.get(name) for name, array in new.externals.items())
