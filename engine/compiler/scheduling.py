"""Phase 5, operations: turns the blocks' entries into a flat list with explicit dependencies.

Dependencies follow from the bytes that operations read and write, in the blocks' order: read after write, write after
read, write after write. Operations that touch different bytes stay independent and may run in parallel. Seen from
outside, a region is one operation with the accesses of its bodies.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from warploom.engine.compiler.buffers import (
    FRAME_UPLOAD,
    TRANSIENT,
    BlockBuffers,
    BufferPlan,
    condition_place,
    entry_access,
    kept_name,
    order_place,
)
from warploom.engine.compiler.description import BlockNode, GraphDescription, Nesting, order_edges
from warploom.engine.compiler.hazards import PendingOperation, make_schedule
from warploom.engine.compiler.operations import (
    Access,
    AnyEntry,
    ClearStatus,
    DownloadStatus,
    OperationSchedule,
    Place,
    RegionEntry,
    UploadFrame,
)
from warploom.engine.compiler.ordering import Order
from warploom.engine.compiler.pixels import with_pixels
from warploom.engine.descriptions.entries import (
    BufferArgument,
    CopyEntry,
    DelayEntry,
    Entry,
    FillEntry,
    Kernel,
    KernelEntry,
    StatusKind,
    ValueArgument,
)
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.regions import TOP, scope_text
from warploom.engine.types import DType, nearest_number
from warploom.engine.types.bits import same

_KERNELS = {size: Kernel("control.cu", f"fill_{8 * size}") for size in (1, 2, 4, 8)}
_THREADS = 256


def region_outputs(
    description: GraphDescription, buffers: BufferPlan, nesting: Nesting, looked_at: Iterable[PortRef]
) -> dict[str, tuple[PortRef, ...]]:
    """Return, by region block, the buffers to fill before it, so that readers see the default when it is skipped.

    Such a buffer is written inside the region and read outside it. If it is inside several regions, it is filled before
    each region that does not contain the reader. `looked_at` ports are read at the end of the frame.
    """
    if nesting.is_flat:
        return {}
    readers: dict[PortRef, set[str]] = {}
    for connection in description.connections:
        owner = buffers.owner_of(connection.target)
        readers.setdefault(owner, set()).add(nesting.scope_of(connection.target.node))
    for port in looked_at:
        readers.setdefault(buffers.owner_of(port), set()).add(TOP)
    outputs: dict[str, dict[PortRef, None]] = {}
    for owner, buffer in buffers.allocations.items():
        scope = nesting.scope_of(owner.node)
        if scope == TOP or buffer.lifetime not in TRANSIENT:
            continue
        for reader in sorted(readers.get(owner, ())):
            for region in nesting.regions_between(scope, reader):
                outputs.setdefault(region, {})[owner] = None
    return {region: tuple(sorted(owners, key=lambda o: (o.node, o.port))) for region, owners in outputs.items()}


def default_of(description: GraphDescription, owner: PortRef) -> float:
    """Return the default number that a buffer holds when its block's region is skipped."""
    rule = description.by_id[owner.node].description.rules.output_of.get(owner.port)
    default = rule.spec.default if rule is not None else None
    return 0.0 if default is None else float(default)


def fill_entry(dtype: DType, elements: int, default: float, name: str) -> FillEntry | KernelEntry:
    """Return an entry that fills a buffer `name` with `default`, for any element type."""
    target = BufferArgument(name, reads=False, writes=True)
    if same(float(default), 0.0) or dtype.fields:
        return FillEntry(target, 0)
    number = nearest_number(dtype, default)
    bits = int.from_bytes(number.tobytes(), "little")
    count = elements * dtype.size_bytes // number.itemsize
    arguments = (target, ValueArgument(bits), ValueArgument(count))
    return KernelEntry(_KERNELS[number.itemsize], (count,), (_THREADS, 1, 1), arguments)


def schedule(
    description: GraphDescription,
    order: Order,
    buffers: BufferPlan,
    defaults: Mapping[str, tuple[PortRef, ...]],
    nesting: Nesting,
    previous: OperationSchedule | None = None,
) -> OperationSchedule:
    """Return the operations, each after its dependencies; `defaults` are the buffers to fill before each region.

    Operations that are unchanged since the `previous` schedule are the same objects.
    """
    scheduler = _Scheduler(description, order, buffers, defaults, order_edges(description, nesting))
    body = scheduler.open(TOP, -1, -1)
    scheduler.add_start(body)
    scheduler.add_blocks(body)
    scheduler.keep(body)
    scheduler.add_end(body)
    return make_schedule(scheduler.steps, scheduler.scopes, previous)


@dataclass
class _Body:
    """A scope whose operations are being added, and its delays that need copies."""

    number: int
    name: str
    delays: list[tuple[str, DelayEntry]]


class _Scheduler:
    def __init__(
        self,
        description: GraphDescription,
        order: Order,
        buffers: BufferPlan,
        defaults: Mapping[str, tuple[PortRef, ...]],
        orders: Iterable[tuple[str, str]],
    ) -> None:
        self._before: dict[str, list[str]] = {}
        for first, then in orders:
            self._before.setdefault(then, []).append(first)
        self._orders_others = {first for firsts in self._before.values() for first in firsts}
        #: For each block with a block to run after it, the stand-ins that this one reads.
        self._ends: dict[str, tuple[Place, ...]] = {}
        self._description = description
        self._order = order
        self._buffers = buffers
        self._defaults = defaults
        self.steps: list[PendingOperation] = []
        #: The region operation of each scope, the scope's name, and the scope around it.
        self.scopes: list[tuple[int, str, int]] = []
        words = [
            buffers.blocks[node.id].places[status.buffer]
            for node in (description.nodes if any(kind.statuses for kind in description.kinds) else ())
            for status in node.description.statuses
        ]
        self._status = tuple(sorted(words, key=lambda place: (place.owner.node, place.owner.port)))

    def open(self, name: str, region: int, parent: int) -> _Body:
        """Begin a scope."""
        number = len(self.scopes)
        self.scopes.append((region, name, parent))
        return _Body(number, name, [])

    def keep(self, body: _Body) -> None:
        """Store the inputs of a scope's delays for the next turn or frame."""
        for node, delay in body.delays:
            kept = BufferArgument(kept_name(delay.target.name), reads=False, writes=True)
            self._add_move(body, node, CopyEntry(kept, delay.source))

    def add_start(self, body: _Body) -> None:
        """Add the start of every frame: upload the frame uniforms if kernels read them, and clear status words."""
        if any(kind.uses_frame for kind in self._description.kinds):
            self._add(body, "", UploadFrame(), FRAME_UPLOAD, -1)
        # Other words are written in every frame. Only a word in a region may be skipped, and checks add to the old
        # value.
        if self._status and any(
            status.kind in (StatusKind.STOPPED, StatusKind.CHECKED) or node.region != TOP
            for node in self._description.nodes
            for status in node.description.statuses
        ):
            self._add(body, "", ClearStatus(), Access((), self._status), -1)

    def add_end(self, body: _Body) -> None:
        """Add the end of every frame: the copy of the status words to the host."""
        if self._status:
            self._add(body, "", DownloadStatus(), Access(self._status, ()), -1)

    def add_blocks(self, body: _Body) -> None:
        """Add the operations of every block in the scope."""
        by_id, blocks = self._description.by_id, self._buffers.blocks
        members = self._order.get(body.name, ())
        for node_id in members:
            if by_id[node_id].description.delays:
                self._add_delays(body, node_id)
        for node_id in members:
            block, first = by_id[node_id].description, len(self.steps)
            self._add_entries(body, blocks[node_id], node_id, block.entries, 0)
            if block.control is not None:
                self._add_region(body, by_id[node_id], len(block.entries))
            if node_id in self._before or node_id in self._orders_others:
                self._wait_for_others(body, node_id, first)

    def _wait_for_others(self, body: _Body, node: str, first: int) -> None:
        """Let the operations of a block, from the index `first` on, wait for the blocks that it has to run after.

        They read stand-ins that are not memory, and each writes one for the blocks that have to run after this one. A
        block without operations passes on what it would wait for.
        """
        reads = tuple(dict.fromkeys(place for other in self._before.get(node, ()) for place in self._ends[other]))
        ends: list[Place] = []
        for index in range(first, len(self.steps)):
            owner, entry, access, scope, place = self.steps[index]
            if scope == body.number and place >= 0:
                own = (order_place(node, len(ends)),) if node in self._orders_others else ()
                self.steps[index] = owner, entry, Access((*access.reads, *reads), (*access.writes, *own)), scope, place
                ends += own
        self._ends[node] = tuple(ends) or reads

    def _add_entries(self, body: _Body, buffers: BlockBuffers, node: str, entries: Iterable[Entry], first: int) -> None:
        """Add operations of a block; `first` is the place of the first one."""
        for place, entry in enumerate(entries, first):
            if not isinstance(entry, DelayEntry):
                self._add(body, node, with_pixels(entry, buffers.layouts), buffers.accesses[place], place)

    def _add_delays(self, body: _Body, node: str) -> None:
        """Note the delays that need copies.

        In a region, first copy the contents kept from the last turn to their outputs.
        """
        for delay in self._description.by_id[node].description.delays:
            if self._buffers.find(node, kept_name(delay.target.name)) is None:
                continue
            body.delays.append((node, delay))
            if body.name != TOP:
                kept = BufferArgument(kept_name(delay.target.name), reads=True, writes=False)
                self._add_move(body, node, CopyEntry(delay.target, kept))

    def _add_region(self, body: _Body, node: BlockNode, place: int) -> None:
        control, buffers = node.description.control, self._buffers.blocks[node.id]
        assert control is not None
        for owner in self._defaults.get(node.id, ()):
            layout = self._buffers.allocations[owner].layout
            default = default_of(self._description, owner)
            fill = fill_entry(layout.dtype, layout.size_bytes // layout.dtype.size_bytes, default, owner.port)
            self._add_move(body, owner.node, fill)
        self._add_entries(body, buffers, node.id, control.begin, place)
        place += len(control.begin)
        index = len(self.steps)
        self._add(body, node.id, RegionEntry(control.kind, ()), Access((), ()), place)  # replaced below, with bodies
        inner: list[int] = []
        for branch in control.branches:
            inside = self.open(scope_text(node.id, branch), index, body.number)
            self.add_blocks(inside)
            self.keep(inside)
            self._add_entries(inside, buffers, node.id, control.turn, place + 1)
            inner.append(inside.number)
        touched = [access for _, _, access, scope, _ in self.steps[index + 1 :] if scope in inner]
        reads = dict.fromkeys(place for access in touched for place in access.reads)
        writes = dict.fromkeys(place for access in touched for place in access.writes)
        access = Access((*reads, condition_place(node.id)), tuple(writes))
        self.steps[index] = node.id, RegionEntry(control.kind, tuple(inner)), access, body.number, place

    def _add_move(self, body: _Body, node: str, entry: KernelEntry | FillEntry | CopyEntry) -> None:
        """Add an operation of the compiler for a block: a copy to one of its buffers, or a fill."""
        self._add(body, node, entry, entry_access(self._buffers, node, entry), -1)

    def _add(self, body: _Body, node: str, entry: AnyEntry, access: Access, place: int) -> None:
        self.steps.append((node, entry, access, body.number, place))
