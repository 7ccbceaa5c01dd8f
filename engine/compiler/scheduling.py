"""Phase 5, operations: the blocks' entries as a flat list with explicit dependencies.

Dependencies follow from the bytes that operations read and write (read after write, write after read, write after
write), in the blocks' order. Operations that touch different bytes stay independent and may run in parallel. A region
is one operation to those around it: it touches what its bodies touch.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

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
)
from engine.compiler.buffers import (
    FRAME_UPLOAD,
    TRANSIENT,
    BlockBuffers,
    BufferPlan,
    condition_place,
    entry_access,
    kept_name,
)
from engine.compiler.description import BlockNode, GraphDescription, Nesting
from engine.compiler.hazards import Hazards
from engine.compiler.operations import (
    Access,
    AnyEntry,
    ClearStatus,
    DownloadStatus,
    Operation,
    Place,
    RegionEntry,
    Schedule,
    Scope,
    UploadFrame,
    owners,
)
from engine.compiler.ordering import Order
from engine.patch.changes import PortRef
from engine.patch.regions import TOP, scope_text
from engine.types import DType, nearest_number
from engine.types.bits import same

_KERNELS = {size: Kernel("control.cu", f"fill_{8 * size}") for size in (1, 2, 4, 8)}
_THREADS = 256


def region_outputs(
    description: GraphDescription, buffers: BufferPlan, nesting: Nesting
) -> dict[str, tuple[PortRef, ...]]:
    """Return, by region block, the buffers to fill before it, so that a reader finds the default when it is skipped.

    These are made inside the region and read outside it; one inside several regions is filled before each of those that
    the reader is not in.
    """
    if nesting.is_flat:
        return {}
    readers: dict[PortRef, set[str]] = {}
    for connection in description.connections:
        owner = buffers.owner_of(connection.target)
        readers.setdefault(owner, set()).add(nesting.scope_of(connection.target.node))
    for port in description.looked_at:
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


def fill_entry(dtype: DType, elements: int, default: float, name: str) -> FillEntry | KernelEntry:
    """Return what fills a buffer called `name` with `default`: every number in it, whatever the element type."""
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
    previous: Sequence[Operation] = (),
) -> Schedule:
    """Return the operations, each after what it depends on; `defaults` are the buffers to fill before each region.

    Operations that are as they were among the `previous` ones are the same objects.
    """
    scheduler = _Scheduler(description, order, buffers, defaults)
    body = scheduler.open(TOP, -1, -1)
    scheduler.add_start(body)
    scheduler.add_blocks(body)
    scheduler.keep(body)
    scheduler.add_end(body)
    scheduler.close(body)
    return Schedule(_tied(scheduler.steps, len(scheduler.scopes), previous), tuple(scheduler.scopes))


#: An operation before it is known what it waits for: its node, entry, access, scope and place.
_Step = tuple[str, AnyEntry, Access, int, int]


def _tied(steps: Sequence[_Step], scopes: int, previous: Sequence[Operation]) -> tuple[Operation, ...]:
    """Return the operations, with what each waits for, which follows from what touches its buffers.

    Where as many operations as before touch their buffers in the same order, only those are looked at of which a buffer
    is touched otherwise; these wait for others that touch any of their buffers.
    """
    is_aligned = len(steps) == len(previous)
    operations = list(previous) if is_aligned else []
    renewed: Collection[int] = range(len(steps))
    entered: Iterable[int] = renewed
    if is_aligned:
        pairs = enumerate(zip(steps, previous, strict=True))
        others = [i for i, (step, old) in pairs if step[2] is not old.access or step[3] != old.scope]
        touched = owners([access for i in others for access in (steps[i][2], previous[i].access)])
        renewed = {i for i, step in enumerate(steps) if step[2].touches(touched)}.union(others)
        touched = owners([steps[i][2] for i in renewed])
        entered = [i for i, step in enumerate(steps) if step[2].touches(touched)]
    known = {} if is_aligned else {id(operation.access): operation for operation in previous}
    hazards = [Hazards() for _ in range(scopes)]
    for index in entered:
        node, entry, access, scope, place = steps[index]
        after = hazards[scope].add(index, access)
        if index not in renewed:
            continue
        made = previous[index] if is_aligned else known.get(id(access))
        if made is None or made.access is not access or made.after != after or made.scope != scope:
            made = Operation(node, entry, access, after, scope, place)
        if is_aligned:
            operations[index] = made
        else:
            operations.append(made)
    return tuple(operations)


@dataclass
class _Body:
    """A scope whose operations are being added, with the bytes they have touched."""

    number: int
    name: str
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
        self._defaults = defaults
        self.steps: list[_Step] = []
        self.scopes: list[Scope] = []
        words = [
            buffers.blocks[node.id].places[status.buffer]
            for node in (description.nodes if any(kind.statuses for kind in description.kinds) else ())
            for status in node.description.statuses
        ]
        self._status = tuple(sorted(words, key=lambda place: (place.owner.node, place.owner.port)))

    def open(self, name: str, region: int, parent: int) -> _Body:
        """Begin a scope."""
        number = len(self.scopes)
        self.scopes.append(Scope(region, name, parent, ()))
        return _Body(number, name, [], {}, {}, [])

    def keep(self, body: _Body) -> None:
        """Keep what the delays of a scope are to give in its next turn or frame."""
        for node, delay in body.delays:
            kept = BufferArgument(kept_name(delay), reads=False, writes=True)
            self._add_move(body, node, CopyEntry(kept, delay.source))

    def close(self, body: _Body) -> None:
        """End a scope."""
        scope = self.scopes[body.number]
        self.scopes[body.number] = Scope(scope.region, scope.name, scope.parent, tuple(body.members))

    def add_start(self, body: _Body) -> None:
        """Add what every frame begins with: the frame uniforms for the kernels that read them, cleared status words."""
        if any(kind.uses_frame for kind in self._description.kinds):
            self._add(body, "", UploadFrame(), FRAME_UPLOAD, -1)
        # Others are written in every frame: only one in a region may miss that.
        if self._status and any(
            status.kind is StatusKind.STOPPED or node.region != TOP
            for node in self._description.nodes
            for status in node.description.statuses
        ):
            self._add(body, "", ClearStatus(), Access((), self._status), -1)

    def add_end(self, body: _Body) -> None:
        """Add what every frame ends with: the status words go back to the host."""
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
            block = by_id[node_id].description
            self._add_entries(body, blocks[node_id], node_id, block.entries, 0)
            if block.control is not None:
                self._add_region(body, by_id[node_id], len(block.entries))

    def _add_entries(self, body: _Body, buffers: BlockBuffers, node: str, entries: Iterable[Entry], first: int) -> None:
        """Add operations of a block, of which `first` is the place of the first one."""
        for place, entry in enumerate(entries, first):
            if not isinstance(entry, DelayEntry):
                self._add(body, node, entry, buffers.accesses[place], place)

    def _add_delays(self, body: _Body, node: str) -> None:
        """Note the delays that copy; in a region their outputs get what the last turn kept, before anything else."""
        for delay in self._description.by_id[node].description.delays:
            if self._buffers.find(node, kept_name(delay)) is None:
                continue
            body.delays.append((node, delay))
            if body.name != TOP:
                kept = BufferArgument(kept_name(delay), reads=True, writes=False)
                self._add_move(body, node, CopyEntry(delay.target, kept))

    def _add_region(self, body: _Body, node: BlockNode, place: int) -> None:
        control, buffers = node.description.control, self._buffers.blocks[node.id]
        assert control is not None
        for owner in self._defaults.get(node.id, ()):
            layout = self._buffers.allocations[owner].layout
            rule = self._description.by_id[owner.node].description.rules.output_of.get(owner.port)
            default = rule.spec.default or 0.0 if rule is not None else 0.0
            fill = fill_entry(layout.dtype, layout.size_bytes // layout.dtype.size_bytes, default, owner.port)
            self._add_move(body, owner.node, fill)
        self._add_entries(body, buffers, node.id, control.begin, place)
        place += len(control.begin)
        index = len(self.steps)
        self.steps.append((node.id, RegionEntry(control.kind, ()), Access((), ()), body.number, place))
        inner: list[_Body] = []
        for branch in control.kind.branches:
            inside = self.open(scope_text(node.id, branch), index, body.number)
            self.add_blocks(inside)
            self.keep(inside)
            self._add_entries(inside, buffers, node.id, control.turn, place + 1)
            self.close(inside)
            inner.append(inside)
        entered = RegionEntry(control.kind, tuple(inside.number for inside in inner))
        reads = dict.fromkeys(touched for inside in inner for touched in inside.reads)
        writes = dict.fromkeys(touched for inside in inner for touched in inside.writes)
        access = Access((*reads, condition_place(node.id)), tuple(writes))
        self._add(body, node.id, entered, access, place, index)

    def _add_move(self, body: _Body, node: str, entry: KernelEntry | FillEntry | CopyEntry) -> None:
        """Add what the compiler does for a block: a copy or a fill of one of its buffers."""
        self._add(body, node, entry, entry_access(self._buffers, node, entry), -1)

    def _add(self, body: _Body, node: str, entry: AnyEntry, access: Access, place: int, region: int = -1) -> None:
        """Add an operation, or the `region` that an operation with this index stands for, with what it touches."""
        scope, step = body.number, (node, entry, access, body.number, place)
        body.members.append(len(self.steps) if region < 0 else region)
        if scope:  # the region around it touches what it touches
            body.reads.update(dict.fromkeys(access.reads))
            body.writes.update(dict.fromkeys(access.writes))
        if region < 0:
            self.steps.append(step)
        else:
            self.steps[region] = step
