"""A `Plan`: everything about a graph that can be decided without a device."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property

import msgspec
from msgspec.structs import replace

from warploom.engine.compiler.buffers import BufferPlan, Lifetime
from warploom.engine.compiler.checking.check import Checked
from warploom.engine.compiler.checking.launches import covering_launch
from warploom.engine.compiler.checking.layouts import Layouts
from warploom.engine.compiler.column_names import Columns, column_names
from warploom.engine.compiler.description import GraphDescription, Nesting
from warploom.engine.compiler.hazards import partial_schedule
from warploom.engine.compiler.inlining.inline import Inlined
from warploom.engine.compiler.memory.placement import Placement, place_buffers
from warploom.engine.compiler.operations import STATUS, FusedEntry, Operation, OperationSchedule, Place, Scope
from warploom.engine.descriptions.entries import CaptureEntry, KernelEntry, Status
from warploom.engine.device.protocol import LaunchConfig
from warploom.engine.diagnostics import Diagnostic
from warploom.engine.libraries.call import LibraryCall
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.regions import region_of


class Plan(msgspec.Struct, frozen=True, dict=True, weakref=True):
    """Everything about the graph that can be decided without a device.

    `description` holds only plain blocks; `inlined` maps the patch's nodes, including composites, to these.
    """

    description: GraphDescription
    inlined: Inlined
    checked: Checked
    buffers: BufferPlan
    schedule: OperationSchedule
    placement: Placement
    #: Buffers that are read after a frame: displayed or watched ones, and unconnected outputs.
    looked_at: frozenset[PortRef]
    #: By region, the buffers that are filled before the region because blocks outside read them.
    defaults: Mapping[str, tuple[PortRef, ...]]
    #: The schedule before fusing; the same object if nothing was fused.
    unfused: OperationSchedule

    @property
    def operations(self) -> tuple[Operation, ...]:
        """The nodes of the graph to be built."""
        return self.schedule.operations

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """The bodies of operations."""
        return self.schedule.scopes

    @property
    def before_fusing(self) -> Plan:
        """This plan without fused operations; buffers that fused kernels don't store have no place in it."""
        # A plan that keeps itself is freed only by the garbage collector, which the engine runs rarely.
        return self if self.unfused is self.schedule else self._taken_apart

    @cached_property
    def _taken_apart(self) -> Plan:
        by_id, allocations = self.description.by_id, dict(self.buffers.allocations)
        for port, buffer in self.buffers.allocations.items():
            if buffer.lifetime is Lifetime.FUSED:
                lifetime = Lifetime.REGION if by_id[port.node].region else Lifetime.GRAPH
                allocations[port] = msgspec.structs.replace(buffer, lifetime=lifetime)
        return replace(self, buffers=replace(self.buffers, allocations=allocations), schedule=self.unfused)

    @property
    def own_sizes(self) -> list[int]:
        """The bytes of each buffer that has separate memory."""
        buffers, shared = self.buffers.allocations.items(), self.placement.offsets
        return [b.layout.size_bytes for o, b in buffers if o not in shared and b.lifetime is not Lifetime.FUSED]

    @cached_property
    def nesting(self) -> Nesting:
        """The scopes of the blocks."""
        return Nesting(self.description)

    def restarting(self, changed: Collection[PortRef]) -> set[PortRef]:
        """Return the state that begins again if the layouts of these buffers have changed: all state of their blocks.

        State that begins with arrays, such as weights, does not depend on other state of its block. Nor does an output
        that is state only because a delay keeps it.
        """
        if not changed:
            return set()
        kept, blocks = {*self.buffers.swaps.values()}, self.description.by_id
        buffers = self.buffers.allocations.items()
        states = {owner for owner, b in buffers if b.lifetime is Lifetime.STATE and owner not in kept}
        nodes = {owner.node for owner in states.intersection(changed) if not blocks[owner.node].description.initials}
        return {owner for owner in states if owner.node in nodes}

    def is_filled(self, owner: PortRef) -> bool:
        """True when a buffer holds its default after a frame that skips the regions around its block."""
        around = self.nesting.chain(self.nesting.scope_of(owner.node))[1:]
        return not around or owner in self.defaults.get(region_of(around[0]), ())

    def overwritten(self, owner: PortRef) -> bool:
        """True when a buffer may lose its contents by the end of a frame: it is never stored, or shares memory."""
        buffer = self.buffers.allocations.get(owner)  # None for the graph's own buffers
        return (buffer is not None and buffer.lifetime is Lifetime.FUSED) or self.placement.overwritten(owner)

    @cached_property
    def fused_into(self) -> dict[str, tuple[str, ...]]:
        """The blocks whose kernels do some or all of another block's work, by that block."""
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
        """Diagnostics that don't prevent running."""
        return (*self.checked.warnings, *self.checked.advice)

    @cached_property
    def columns(self) -> dict[PortRef, Columns]:
        """The names of the columns of ports that have some."""
        return column_names(self.description, self.layouts)

    @cached_property
    def statuses(self) -> tuple[tuple[str, Status], ...]:
        """The status words that are read back after each frame, with their blocks."""
        return tuple((node.id, status) for node in self.description.nodes for status in node.description.statuses)

    @cached_property
    def freezes(self) -> bool:
        """True when a sentinel may freeze a frame; then each frame must be checked before the next one begins."""
        return any(kind.keeps for kind in self.description.kinds)

    @cached_property
    def status_places(self) -> dict[PortRef, Place]:
        """The places of the buffers that are read back, in contiguous memory.

        They don't depend on the order of blocks, so that a running graph is kept when only that order changes.
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
        """Return the plan of some operations of the top scope; buffers except `wanted` share memory where possible."""
        schedule = partial_schedule(self.schedule, top)
        placement = place_buffers(schedule, self.buffers, frozenset({wanted}))
        return replace(self, schedule=schedule, unfused=schedule, placement=placement)

    def launch(self, index: int) -> LaunchConfig:
        """Return the launch of an operation that is a kernel."""
        operation = self.operations[index]
        assert isinstance(operation.entry, KernelEntry)
        node = self.checked.nodes[operation.node]
        if isinstance(operation.entry, FusedEntry):
            return covering_launch(operation.entry, node.context)
        return node.launches.get(operation.place) or covering_launch(operation.entry, node.context)
