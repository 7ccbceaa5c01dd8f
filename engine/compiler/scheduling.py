"""Phase 5, operations: the blocks' entries as a flat list with explicit dependencies.

Dependencies follow from the bytes that operations read and write (read after write, write after read, write after
write), in the blocks' order. Operations that touch different bytes stay independent and may run in parallel. A region
is one operation to those around it: it touches what its bodies touch.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from operator import attrgetter

from engine.blocktypes.entries import (
    BufferArgument,
    CopyEntry,
    DelayEntry,
    Entry,
    FillEntry,
    Kernel,
    KernelEntry,
    StatusKind,
    ValueArgument,
    buffer_arguments,
)
from engine.compiler.buffers import TRANSIENT, BufferPlan, Place, kept_name
from engine.compiler.description import BlockNode, GraphDescription, Nesting
from engine.compiler.hazards import Hazards
from engine.compiler.operations import (
    FRAME,
    AnyEntry,
    ClearStatus,
    DownloadStatus,
    Operation,
    RegionEntry,
    Schedule,
    Scope,
    UploadFrame,
)
from engine.compiler.ordering import Order
from engine.patch.changes import PortRef
from engine.patch.regions import TOP, scope_text
from engine.types import DType, nearest_number

# Defaults: what the outputs of a region hold when it is skipped, so that whoever reads them finds what is declared.
#
# A buffer that is made inside a region and read outside it is filled before the region; so is one inside several
# regions, before each of those that the reader is not in.


_KERNELS = {size: Kernel("control.cu", f"fill_{8 * size}") for size in (1, 2, 4, 8)}
_THREADS = 256


def region_outputs(
    description: GraphDescription, buffers: BufferPlan, nesting: Nesting
) -> dict[str, tuple[PortRef, ...]]:
    """Return, by region block, the buffers to fill before it."""
    if nesting.is_flat:
        return {}
    readers: dict[PortRef, set[str]] = {}
    for connection in description.connections:
        place = buffers.places.get(connection.target)
        if place is not None:
            readers.setdefault(place.owner, set()).add(nesting.scope_of(connection.target.node))
    for port in (port for node in description.nodes for port in description.looked_at_in(node)):
        readers.setdefault(buffers.places[port].owner, set()).add(TOP)
    outputs: dict[str, dict[PortRef, None]] = {}
    for owner, buffer in buffers.allocations.items():
        scope = nesting.scope_of(owner.node)
        if scope == TOP or buffer.lifetime not in TRANSIENT:
            continue
        for reader in sorted(readers.get(owner, ())):
            for region in nesting.regions_between(scope, reader):
                outputs.setdefault(region, {})[owner] = None
    return {region: tuple(sorted(owners, key=lambda o: (o.node, o.port))) for region, owners in outputs.items()}


def fill_entry(dtype: DType, elements: int, default: float, name: str) -> FillEntry | KernelEntry:
    """Return what fills a buffer called `name` with `default`: every number in it, whatever the element type."""
    target = BufferArgument(name, reads=False, writes=True)
    if default == 0 or dtype.fields:
        return FillEntry(target, 0)
    number = nearest_number(dtype, default)
    bits = int.from_bytes(number.tobytes(), "little")
    count = elements * dtype.size_bytes // number.itemsize
    arguments = (target, ValueArgument(bits), ValueArgument(count))
    return KernelEntry(_KERNELS[number.itemsize], (count,), (_THREADS, 1, 1), arguments)


_FRAME_PLACE = Place(FRAME, 0, 16)
_NONE: tuple[Place, ...] = ()
_owner = attrgetter("owner")


def schedule(
    description: GraphDescription, order: Order, buffers: BufferPlan, defaults: Mapping[str, tuple[PortRef, ...]]
) -> Schedule:
    """Return the operations, each after what it depends on; `defaults` are the buffers to fill before each region."""
    scheduler = _Scheduler(description, order, buffers, defaults)
    body = scheduler.open(TOP, -1, -1)
    scheduler.add_start(body)
    scheduler.add_blocks(body)
    scheduler.keep(body)
    scheduler.add_end(body)
    scheduler.close(body)
    return Schedule(tuple(scheduler.operations), tuple(scheduler.scopes))


@dataclass
class _Body:
    """A scope whose operations are being added, with the bytes they have touched."""

    number: int
    name: str
    hazards: Hazards
    members: list[int]
    reads: dict[Place, None]
    writes: dict[Place, None]
    delays: list[tuple[str, DelayEntry]]


class _Scheduler:
    def __init__(
        self,
        description: GraphDescription,
        order: Order,
        buffers: BufferPlan,
        defaults: Mapping[str, tuple[PortRef, ...]],
    ) -> None:
        self._description = description
        self._order = order
        self._buffers = buffers
        self._places = buffers.places
        self._defaults = defaults
        self.operations: list[Operation] = []
        self.scopes: list[Scope] = []
        self._status = tuple(
            self._places[PortRef(node.id, status.buffer)]
            for node in description.nodes
            for status in node.description.statuses
        )

    def open(self, name: str, region: int, parent: int) -> _Body:
        """Begin a scope."""
        number = len(self.scopes)
        self.scopes.append(Scope(region, name, parent, ()))
        return _Body(number, name, Hazards(), [], {}, {}, [])

    def keep(self, body: _Body) -> None:
        """Keep what the delays of a scope are to give in its next turn or frame."""
        for node, delay in body.delays:
            kept = BufferArgument(kept_name(delay), reads=False, writes=True)
            entry = CopyEntry(kept, delay.source)
            self._add(body, node, entry, *self._touched(node, entry), -1)

    def close(self, body: _Body) -> None:
        """End a scope."""
        scope = self.scopes[body.number]
        self.scopes[body.number] = Scope(scope.region, scope.name, scope.parent, tuple(body.members))

    def add_start(self, body: _Body) -> None:
        """Add what every frame begins with: the frame uniforms for the kernels that read them, cleared status words."""
        if any(node.description.uses_frame for node in self._description.nodes):
            self._add(body, "", UploadFrame(), _NONE, (_FRAME_PLACE,), -1)
        # Others are written in every frame: only one in a region may miss that.
        may_last = any(
            status.kind is StatusKind.STOPPED or node.region != TOP
            for node in self._description.nodes
            for status in node.description.statuses
        )
        if may_last:
            self._add(body, "", ClearStatus(), _NONE, self._status, -1)

    def add_end(self, body: _Body) -> None:
        """Add what every frame ends with: the status words go back to the host."""
        if self._status:
            self._add(body, "", DownloadStatus(), self._status, _NONE, -1)

    def add_blocks(self, body: _Body) -> None:
        """Add the operations of every block in the scope."""
        by_id, operations = self._description.by_id, self.operations
        self._add_delays(body)
        for node_id in self._order.get(body.name, ()):
            node = by_id[node_id]
            block = node.description
            for place, entry in enumerate(block.entries):
                if not isinstance(entry, DelayEntry):
                    touched = self._touched(node_id, entry)
                    operations.append(self._made(len(operations), body, node_id, entry, *touched, place))
            if block.control is not None:
                self._add_region(body, node, len(block.entries))

    def _add_delays(self, body: _Body) -> None:
        """Find the delays that copy; in a region their outputs get what the last turn kept, before anything else."""
        by_id = self._description.by_id
        for node_id in self._order.get(body.name, ()):
            for delay in by_id[node_id].description.delays:
                if PortRef(node_id, kept_name(delay)) not in self._places:
                    continue
                body.delays.append((node_id, delay))
                if body.name != TOP:
                    entry = CopyEntry(delay.target, BufferArgument(kept_name(delay), reads=True, writes=False))
                    self._add(body, node_id, entry, *self._touched(node_id, entry), -1)

    def _add_entry(self, body: _Body, node: str, entry: Entry, place: int) -> None:
        if not isinstance(entry, DelayEntry):
            self._add(body, node, entry, *self._touched(node, entry), place)

    def _add_region(self, body: _Body, node: BlockNode, place: int) -> None:
        control = node.description.control
        assert control is not None
        for owner in self._defaults.get(node.id, ()):
            layout = self._buffers.allocations[owner].layout
            spec = next(
                (s for s in self._description.by_id[owner.node].description.outputs if s.name == owner.port), None
            )
            default = spec.default or 0.0 if spec is not None else 0.0
            fill = fill_entry(layout.dtype, layout.size_bytes // layout.dtype.size_bytes, default, owner.port)
            self._add(body, owner.node, fill, _NONE, (self._places[owner],), -1)
        for offset, entry in enumerate(control.begin):
            self._add_entry(body, node.id, entry, place + offset)
        index = len(self.operations)
        self.operations.append(Operation(node.id, RegionEntry(control.kind, ()), frozenset(), frozenset(), ()))
        place += len(control.begin)
        inner: list[_Body] = []
        for branch in control.kind.branches:
            inside = self.open(scope_text(node.id, branch), index, body.number)
            self.add_blocks(inside)
            self.keep(inside)
            for offset, entry in enumerate(control.turn):
                self._add_entry(inside, node.id, entry, place + 1 + offset)
            self.close(inside)
            inner.append(inside)
        entered = RegionEntry(control.kind, tuple(inside.number for inside in inner))
        reads = dict.fromkeys(touched for inside in inner for touched in inside.reads)
        writes = dict.fromkeys(touched for inside in inner for touched in inside.writes)
        touched = (*reads, _condition(node.id)), tuple(writes)
        self.operations[index] = self._made(index, body, node.id, entered, *touched, place)

    def _touched(self, node: str, entry: Entry) -> tuple[list[Place], list[Place]]:
        return touched_places(self._places, node, entry)

    def _add(
        self, body: _Body, node: str, entry: AnyEntry, reads: Collection[Place], writes: Collection[Place], place: int
    ) -> None:
        self.operations.append(self._made(len(self.operations), body, node, entry, reads, writes, place))

    def _made(
        self,
        index: int,
        body: _Body,
        node: str,
        entry: AnyEntry,
        reads: Collection[Place],
        writes: Collection[Place],
        place: int,
    ) -> Operation:
        """Return an operation, after having entered what it touches."""
        after = body.hazards.add(index, reads, writes)
        body.members.append(index)
        if body.number:  # the region around it touches what it touches
            body.reads.update(dict.fromkeys(reads))
            body.writes.update(dict.fromkeys(writes))
        read, written = frozenset(map(_owner, reads)), frozenset(map(_owner, writes))
        return Operation(node, entry, read, written, after, body.number, place)


def _condition(region: str) -> Place:
    """Return what stands for a region's condition, which is no memory but is written and read like a buffer."""
    return Place(PortRef(region, ""), 0, 8)


def touched_places(places: Mapping[PortRef, Place], node: str, entry: Entry) -> tuple[list[Place], list[Place]]:
    """Return what an entry of a block reads and writes."""
    reads: list[Place] = []
    writes: list[Place] = []
    for argument in entry.buffers if type(entry) is KernelEntry else buffer_arguments(entry):
        place = places.get(PortRef(node, argument.name))
        if place is not None:
            if argument.reads:
                reads.append(place)
            if argument.writes:
                writes.append(place)
    if isinstance(entry, KernelEntry):
        if entry.uses_frame:
            reads.append(_FRAME_PLACE)
        if entry.sets_condition:
            writes.append(_condition(node))
    return reads, writes
