"""The pure half of the compiler: from a `GraphDescription` to a `Plan`, with no device."""

from __future__ import annotations

import logging
import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import msgspec

from engine.compiler.buffers import BufferPlan, Lifetime, plan_buffers
from engine.compiler.checking.check import Checked, check
from engine.compiler.checking.launches import launch_config
from engine.compiler.checking.layouts import Layouts
from engine.compiler.description import GraphDescription, Nesting
from engine.compiler.fusion.fuse import fuse
from engine.compiler.hazards import part_of
from engine.compiler.inlining import Inlined, inline, owner
from engine.compiler.memory.placement import Placement, place_buffers
from engine.compiler.operations import STATUS, FusedEntry, Operation, Place, Schedule, Scope
from engine.compiler.ordering import Order, order_blocks
from engine.compiler.scheduling import region_outputs, schedule
from engine.compiler.verifying.verify import require_sound
from engine.descriptions.entries import CaptureEntry, KernelEntry, Status
from engine.device.protocol import LaunchConfig
from engine.diagnostics import Diagnostic, GraphValidationError, Source, error
from engine.libraries.call import LibraryCall, WorkspaceOf
from engine.patch.changes import PortRef
from engine.patch.regions import region_of

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Plan:
    """Everything about the graph that can be decided without a device.

    `description` holds plain blocks only; `inlined` leads from the patch's nodes, composites among them, to these.
    """

    description: GraphDescription
    inlined: Inlined
    checked: Checked
    order: Order
    buffers: BufferPlan
    schedule: Schedule
    placement: Placement
    #: What is read when a frame is done: displays, and outputs that feed nothing.
    looked_at: frozenset[PortRef]
    #: By region, the buffers that are filled before it, since they are read outside.
    defaults: Mapping[str, tuple[PortRef, ...]]
    #: The schedule before operations were fused; the same object where none was.
    unfused: Schedule

    @property
    def operations(self) -> tuple[Operation, ...]:
        """The graph's nodes to be."""
        return self.schedule.operations

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """The bodies that operations lie in."""
        return self.schedule.scopes

    @cached_property
    def before_fusing(self) -> Plan:
        """The same plan with each operation by itself; buffers that fused kernels don't store have no place in it."""
        if self.unfused is self.schedule:
            return self
        by_id, allocations = self.description.by_id, dict(self.buffers.allocations)
        for port, buffer in self.buffers.allocations.items():
            if buffer.lifetime is Lifetime.FUSED:
                lifetime = Lifetime.REGION if by_id[port.node].region else Lifetime.GRAPH
                allocations[port] = msgspec.structs.replace(buffer, lifetime=lifetime)
        return replace(self, buffers=replace(self.buffers, allocations=allocations), schedule=self.unfused)

    @property
    def own_sizes(self) -> list[int]:
        """The bytes of each buffer that has memory of its own."""
        buffers, shared = self.buffers.allocations.items(), self.placement.offsets
        return [b.layout.size_bytes for o, b in buffers if o not in shared and b.lifetime is not Lifetime.FUSED]

    @cached_property
    def nesting(self) -> Nesting:
        """The scopes of the blocks."""
        return Nesting(self.description)

    def is_filled(self, owner: PortRef) -> bool:
        """True when a buffer holds its default in a frame in which the regions around its block are skipped."""
        around = self.nesting.chain(self.nesting.scope_of(owner.node))[1:]
        return not around or owner in self.defaults.get(region_of(around[0]), ())

    def overwritten(self, owner: PortRef) -> bool:
        """True when a buffer need not hold its contents at the end of a frame: it is never stored, or shares memory."""
        buffer = self.buffers.allocations.get(owner)  # None for the graph's own
        return (buffer is not None and buffer.lifetime is Lifetime.FUSED) or self.placement.overwritten(owner)

    @cached_property
    def fused_into(self) -> dict[str, tuple[str, ...]]:
        """For each block of which other blocks' kernels do some or all of the work, these blocks."""
        found: dict[str, dict[str, None]] = {}
        for operation in self.operations if self.unfused is not self.schedule else ():
            if isinstance(operation.entry, FusedEntry):
                for node in operation.nodes:
                    if node != operation.node:
                        found.setdefault(node, {})[operation.node] = None
        return {node: tuple(others) for node, others in found.items()}

    @property
    def layouts(self) -> Layouts:
        """Element type and shape of every port and internal buffer."""
        return self.checked.layouts

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """Diagnostics that stop nothing from running."""
        return (*self.checked.warnings, *self.checked.advice)

    @cached_property
    def statuses(self) -> tuple[tuple[str, Status], ...]:
        """The status words that are read back after each frame, with their blocks."""
        return tuple((node.id, status) for node in self.description.nodes for status in node.description.statuses)

    @cached_property
    def freezes(self) -> bool:
        """True when what a frame finds may freeze it: then each frame must be looked at before the next one begins."""
        return any(kind.keeps for kind in self.description.kinds)

    @cached_property
    def status_places(self) -> dict[PortRef, Place]:
        """Where the buffers lie that are read back, in one piece of memory.

        The order of blocks does not count: a running graph is kept when the same blocks come in another order.
        """
        places: dict[PortRef, Place] = {}
        end = 0
        found = [port for port, buffer in self.buffers.allocations.items() if buffer.lifetime is Lifetime.STATUS]
        for port in sorted(found, key=lambda port: (port.node, port.port)):
            layout = self.buffers.allocations[port].layout
            start = -(-end // layout.dtype.alignment) * layout.dtype.alignment
            places[port] = Place(STATUS, start, layout.size_bytes)
            end = places[port].end
        return places

    @cached_property
    def launches(self) -> dict[int, LaunchConfig]:
        """The launch of every operation that is a kernel, by its index."""
        operations = self.operations
        return {i: self.launch(i) for i, o in enumerate(operations) if isinstance(o.entry, KernelEntry)}

    @property
    def workspaces(self) -> dict[LibraryCall, int]:
        """The scratch memory of the library calls, in bytes."""
        return {
            made.call: self.layouts[PortRef(operation.node, operation.entry.workspace.name)].size_bytes
            for operation in self.operations
            if isinstance(operation.entry, CaptureEntry)
            for made in operation.entry.calls
        }

    def part(self, top: Collection[int], wanted: PortRef) -> Plan:
        """Return the plan of some operations of the top scope; buffers but `wanted` share memory where they can."""
        schedule = part_of(self.schedule, top)
        placement = place_buffers(schedule, self.buffers, frozenset({wanted}))
        return replace(self, schedule=schedule, unfused=schedule, placement=placement)

    def launch(self, index: int) -> LaunchConfig:
        """Return the launch of an operation that is a kernel."""
        operation = self.operations[index]
        assert isinstance(operation.entry, KernelEntry)
        node = self.checked.nodes[operation.node]
        if isinstance(operation.entry, FusedEntry):
            return launch_config(operation.entry, node.context)
        return node.launches.get(operation.place) or launch_config(operation.entry, node.context)


def make_plan(
    description: GraphDescription,
    *,
    pinned: frozenset[PortRef] = frozenset(),
    previous: Plan | None = None,
    fuses: bool = True,
    shares: bool = True,
    workspace_of: WorkspaceOf | None = None,
) -> Plan:
    """Run the phases in order; GraphValidationError lists every problem.

    `pinned` are ports whose contents are to last to the end of the frame. With `previous`, the plan of an earlier
    version of the description, each phase keeps its results for blocks of which nothing that they follow from changed.
    Unless `fuses`, each operation stays by itself; unless `shares`, it does too, and each buffer has memory of its own,
    in which every port can be read after a frame. `workspace_of` tells the scratch memory that library calls need on
    the device; without it, none. With WARPLOOM_VERIFY=1 in the environment, the plan is verified, and BrokenPlan names
    the rules that it breaks.
    """
    inlined = inline(description)
    return _plan(inlined.description, inlined, pinned, previous, fuses, shares, workspace_of)


def _plan(
    description: GraphDescription,
    inlined: Inlined,
    pinned: frozenset[PortRef],
    previous: Plan | None,
    fuses: bool = False,
    shares: bool = True,
    workspace_of: WorkspaceOf | None = None,
) -> Plan:
    checked = check(description, previous.checked if previous is not None else None, workspace_of)
    if checked.errors:
        raise GraphValidationError(checked.errors, (*checked.warnings, *checked.advice))
    nesting = Nesting(description)
    buffers = plan_buffers(checked, previous.buffers if previous is not None else None)
    order, problems = order_blocks(checked, buffers, nesting)
    if problems:
        raise GraphValidationError(problems, (*checked.warnings, *checked.advice))
    looked = description.looked_at if shares else description.looked_at | description.outputs
    defaults = region_outputs(description, buffers, nesting, looked)
    unfused = schedule(description, order, buffers, defaults, previous.unfused if previous is not None else None)
    places = (buffers.find(port.node, port.port) for port in (pinned | looked | description.kept))
    lasting = frozenset([place.owner for place in places if place is not None] if shares else buffers.allocations)
    scheduled = unfused
    if fuses and shares:
        before = previous.schedule if previous is not None else None
        scheduled, buffers = fuse(description, unfused, buffers, lasting, before)
    keep = previous.placement if previous is not None else None
    placement = place_buffers(scheduled, buffers, lasting, keep)
    plan = Plan(description, inlined, checked, order, buffers, scheduled, placement, looked, defaults, unfused)
    if os.environ.get("WARPLOOM_VERIFY", "0") not in ("", "0"):
        require_sound(plan)
    return plan


@dataclass(frozen=True)
class PartialPlan:
    """The part of a description that can run, as a plan; None when that can't be told from what runs.

    `idle` are the blocks that are left out, `held` the patch's nodes that run on as they were.
    """

    plan: Plan | None
    diagnostics: list[Diagnostic] = field(default_factory=list)
    idle: frozenset[str] = frozenset()
    held: frozenset[str] = frozenset()


def plan_what_can_run(
    inlined: Inlined,
    problems: Iterable[Diagnostic],
    running: frozenset[str],
    *,
    pinned: frozenset[PortRef] = frozenset(),
    previous: Plan | None = None,
    fuses: bool = True,
    shares: bool = True,
    workspace_of: WorkspaceOf | None = None,
) -> PartialPlan:
    """Plan the blocks that have no error and depend on none that has.

    `inlined` is what `inline` gives for the whole description. `problems` are errors found before (a block that can't
    be described, a kernel that doesn't compile). A block that was just placed and has no input yet is left out and does
    not stop the rest. A block that is `running` now and would have to be left out is held: it runs on as it was in the
    `previous` plan, fed as it was, and so do the blocks before it when it doesn't fit to what they have become.
    """
    found = list(problems)
    description = inlined.description
    idle = description.dependents(item.node for item in found if item.node)
    held: set[str] = set()
    while True:
        held |= {owner(node) for node in idle & running}
        if held and previous is None:
            return PartialPlan(None, found, frozenset(idle))
        whole, left_out = inlined, idle
        if previous is not None and held:
            whole, left_out = _with_held(inlined, previous, idle, held)
            if more := description.dependents(_members(description, held)) - idle:
                idle |= more
                continue
        try:
            plan = _plan(whole.description.without(left_out), whole, pinned, previous, fuses, shares, workspace_of)
        except GraphValidationError as problem:
            at_held = {item.node for item in problem.errors if item.node and owner(item.node) in held}
            if at_held and previous is not None:  # which were sound, fed as they were
                before = {owner(c.source.node) for c in previous.description.connections if c.target.node in at_held}
                if before <= held:
                    return PartialPlan(None, found, frozenset(idle))
                held |= before
                continue
            at_nodes = [item.node for item in problem.errors if item.node]
            found += [item for item in problem.errors if item not in found]
            if not at_nodes:
                return PartialPlan(None, found, frozenset(idle))
            idle |= description.dependents(at_nodes)
        except Exception as problem:  # noqa: BLE001 - what a block says may be wrong in a way that no rule names
            culprit = _culprit(description.without(idle), inlined, previous)
            text = f"the patch must compile, got {type(problem).__name__}: {problem}"
            remedy = "mend the block that was changed last, or take it out"
            found.append(error(text, node=culprit, remedy=remedy, source=Source.ENGINE))
            _log.warning("a plan failed", exc_info=problem)
            if culprit is None:
                return PartialPlan(None, found, frozenset(idle))
            idle |= description.dependents([culprit])
        else:
            return PartialPlan(plan, [*found, *plan.checked.warnings], frozenset(idle), frozenset(held))


def _members(description: GraphDescription, nodes: Collection[str]) -> list[str]:
    """Return the blocks of some of the patch's nodes."""
    return [node.id for node in description.nodes if owner(node.id) in nodes]


def _with_held(inlined: Inlined, previous: Plan, idle: Collection[str], held: set[str]) -> tuple[Inlined, set[str]]:
    """Return a description in which the held nodes are as in the previous plan, and the blocks to leave out of it.

    `held` gets the nodes that they need and that are not in the new description any more, or can't run there.
    """
    new, old, running = inlined.original, previous.inlined.original, previous.description.by_id
    stopped = {owner(node) for node in idle}
    waiting = list(held)
    while waiting:
        node = waiting.pop()
        region = region_of(old.by_id[node].region) if node in old.by_id else ""
        needed = {c.source.node for c in old.connections if c.target.node == node} | ({region} if region else set())
        needed |= {inner.id for inner in old.nodes if inner.region and region_of(inner.region) == node}
        more = {n for n in needed if n in old.by_id and (n not in new.by_id or n in stopped)} - held
        held |= more
        waiting += more
    kept = [old.by_id.get(node.id, node) if node.id in held else node for node in new.nodes]
    kept += [node for node in old.nodes if node.id in held and node.id not in new.by_id]
    ids = {node.id for node in kept}
    connections = [c for c in new.connections if c.target.node not in held and c.source.node not in held]
    connections += [c for c in old.connections if c.target.node in held and c.source.node in ids]
    whole = inline(GraphDescription(tuple(kept), tuple(connections), new.sentinels))
    left_out = {node for node in idle if owner(node) not in held}
    left_out |= {node for node in _members(whole.description, held) if node not in running}
    return whole, left_out


def _culprit(description: GraphDescription, inlined: Inlined, previous: Plan | None) -> str | None:
    """Return the first block that is new or described anew and that can't be planned with what it depends on alone."""
    known = previous.description.by_id if previous is not None else {}
    below: dict[str, set[str]] = {}
    for node in description.nodes:
        if node.id not in known or known[node.id].description is not node.description:
            below[node.id] = description.dependents([node.id])
    for node_id in sorted(below, key=lambda node_id: len(below[node_id]), reverse=True):
        others = {other for other in below if other != node_id and node_id not in below[other]}
        try:
            _plan(description.without(description.dependents(others) - {node_id}), inlined, frozenset(), None)
        except GraphValidationError:
            continue
        except Exception:  # noqa: BLE001 - as the whole description did
            return node_id
    return None
