"""Operations after a small edit: blocks whose accesses are the same keep theirs, with what these wait for.

What an operation waits for follows from the operations that touch the same bytes. So those of edited blocks are made
anew, those that touch bytes which an edited block writes (or did) look again for what they wait for, and so do those
that write what an edited block reads. It is for patches without regions and delays; what it gives is what `schedule`
would.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from engine.blocktypes.description import BlockDescription
from engine.blocktypes.entries import DelayEntry
from engine.compiler.amending.amendment import Amendment
from engine.compiler.buffers import BufferPlan, Lifetime, Place
from engine.compiler.description import GraphDescription
from engine.compiler.hazards import Hazards
from engine.compiler.operations import FRAME, DownloadStatus, Operation, RegionEntry, UploadFrame
from engine.compiler.ordering import Order
from engine.compiler.scheduling import touched_places
from engine.patch.changes import PortRef
from engine.patch.regions import TOP

#: Up to so many operations, or this share of them, may have to look again; with more, all are made anew.
_FEW = 64
_SHARE = 3

#: Stands for an operation until it is made.
_TO_MAKE = Operation("", UploadFrame(), frozenset(), frozenset(), ())

_Accesses = tuple[Collection[Place], Collection[Place]]


def amend_operations(
    description: GraphDescription,
    before: GraphDescription,
    base: tuple[Operation, ...],
    order: Order,
    buffers: BufferPlan,
    blocks: set[str],
    owners: set[PortRef],
) -> tuple[tuple[Operation, ...], Amendment] | None:
    """Return the operations now, and in what they differ from `base`, those before; None to make all anew.

    `blocks` are those to look at again, `owners` the buffers whose users may run in another order than before.
    """
    amending = _Amending(description, base, buffers, blocks)
    edited = _described_anew(description, before)
    if any(block.statuses for block in edited) or not amending.line_up(before, order, edited):
        return None
    amending.make_edited()
    if not amending.find_affected(owners):
        return None
    return amending.finish()


def _described_anew(description: GraphDescription, before: GraphDescription) -> list[BlockDescription]:
    """Return the descriptions that came, and those that went."""
    if description.nodes is before.nodes:
        return []
    now, then = description.by_id, before.by_id
    came = [n for n in description.nodes if (old := then.get(n.id)) is None or old.description is not n.description]
    went = [n for n in before.nodes if (new := now.get(n.id)) is None or new.description is not n.description]
    return [node.description for node in (*came, *went)]


class _Amending:
    def __init__(
        self, description: GraphDescription, base: tuple[Operation, ...], buffers: BufferPlan, blocks: set[str]
    ) -> None:
        self._description = description
        self._base = base
        self._buffers = buffers
        self._blocks = blocks
        self._frame: int | None = None
        #: By index, what an operation was in `base`, or -1.
        self._earlier: list[int] = []
        #: The operations of edited blocks: index, node and place among its entries.
        self._edited: list[tuple[int, str, int]] = []
        self._operations: list[Operation] = []
        self._accesses: dict[int, _Accesses] = {}
        self._again: set[int] = set()

    def line_up(self, before: GraphDescription, order: Order, edited: Iterable[BlockDescription]) -> bool:
        """Find which operations there are; False when those that are the graph's own become others."""
        base, by_id, then = self._base, self._description.by_id, before.by_id
        first: dict[str, int] = {}
        for index, operation in enumerate(base):
            if operation.node not in first:
                first[operation.node] = index
        own = [index for index, operation in enumerate(base) if not operation.node] if "" in first else []
        if any(block.uses_frame for block in edited):
            has_frame = any(isinstance(base[index].entry, UploadFrame) for index in own)
            if has_frame != any(node.description.uses_frame for node in self._description.nodes):
                return False
        ends = [index for index in own if isinstance(base[index].entry, DownloadStatus)]
        earlier = self._earlier
        earlier += own[: len(own) - len(ends)]
        self._frame = 0 if own and isinstance(base[own[0]].entry, UploadFrame) else None
        for node_id in order.get(TOP, ()):
            count, start = len(by_id[node_id].description.entries), first.get(node_id, -1)
            if node_id in self._blocks:
                known = len(then[node_id].description.entries) if node_id in then else 0
                for place in range(count):
                    self._edited.append((len(earlier), node_id, place))
                    earlier.append(start + place if place < known else -1)
            elif count == 1:
                earlier.append(start)
            else:
                earlier.extend(range(start, start + count))
        earlier.extend(ends)
        return True

    def make_edited(self) -> None:
        """Make the operations of edited blocks anew; they do not know yet what they wait for."""
        base, by_id, places = self._base, self._description.by_id, self._buffers.places
        self._operations = [base[index] if index >= 0 else _TO_MAKE for index in self._earlier]
        for index, node, place in self._edited:
            entry = by_id[node].description.entries[place]
            assert not isinstance(entry, DelayEntry)
            reads, writes = self._accesses[index] = touched_places(places, node, entry)
            read, written = frozenset([p.owner for p in reads]), frozenset([p.owner for p in writes])
            self._operations[index] = Operation(node, entry, read, written, (), 0, place)

    def find_affected(self, owners: set[PortRef]) -> bool:
        """Find who looks again for what it waits for; False when that is too many."""
        written = set(owners)
        read: set[PortRef] = set()
        gone = set(range(len(self._base))).difference(self._earlier) if self._may_lack() else set()
        edited = [self._operations[index] for index, _, _ in self._edited]
        edited += [self._base[i] for index, _, _ in self._edited if (i := self._earlier[index]) >= 0]
        for operation in (*edited, *(self._base[index] for index in gone)):
            written |= operation.writes
            read |= operation.reads
        read.discard(FRAME)  # which is written once, before all else
        read |= written
        again = {index for index, _, _ in self._edited}
        for index, operation in enumerate(self._operations):
            if not (read.isdisjoint(operation.writes) and written.isdisjoint(operation.reads)):
                again.add(index)
        self._again = again
        return len(again) <= max(_FEW, len(self._operations) // _SHARE)

    def finish(self) -> tuple[tuple[Operation, ...], Amendment]:
        """Have each operation wait for the right ones, and say what is other than before."""
        waits = self._replay()
        operations, earlier = self._operations, self._earlier
        is_shifted = earlier != list(range(len(self._base)))
        now = {old: new for new, old in enumerate(earlier) if old >= 0} if is_shifted else {}
        retied = set()
        for index, after in waits.items():
            made = operations[index]
            old = self._base[earlier[index]].after if earlier[index] >= 0 else ()
            before = {now.get(i, -1) for i in old} if is_shifted else set(old)
            if earlier[index] < 0 or before != set(after):
                retied.add(index)
            if made.after != after:
                operations[index] = _waiting(made, after)
        if is_shifted:
            for index, operation in enumerate(operations):
                if index not in waits and operation.after:
                    shifted = tuple([now[i] for i in operation.after])
                    if shifted != operation.after:
                        operations[index] = _waiting(operation, tuple(sorted(shifted)))
        renewed = frozenset(index for index, _, _ in self._edited)
        amendment = Amendment(self._base, earlier, renewed, frozenset(retied), frozenset(self._blocks))
        return tuple(operations), amendment

    def _may_lack(self) -> bool:
        return len(self._base) != len(self._earlier) or -1 in self._earlier

    def _replay(self) -> dict[int, tuple[int, ...]]:
        """Return what the affected operations wait for, from what all do with the bytes that these touch."""
        operations, again = self._operations, self._again
        allocations, provided = self._buffers.allocations, Lifetime.PROVIDED
        read: set[PortRef] = set()
        written: set[PortRef] = set()
        for index in again:
            read |= operations[index].reads
            written |= operations[index].writes
        # Nobody waits for a reader but who writes, and what is only uploaded nobody writes.
        read = {o for o in read if o in allocations and allocations[o].lifetime is not provided} | written
        hazards, waits = Hazards(), {}
        for index, operation in enumerate(operations):
            if index in again:
                reads, writes = self._places(index, operation)
                after = hazards.add(index, [p for p in reads if p.owner in read], writes)
                if self._frame is not None and index != self._frame and FRAME in operation.reads:
                    after = tuple(sorted({self._frame, *after}))
                waits[index] = after
            elif not (read.isdisjoint(operation.writes) and written.isdisjoint(operation.reads)):
                reads, writes = self._places(index, operation)
                hazards.add(index, [p for p in reads if p.owner in written], [p for p in writes if p.owner in read])
        return waits

    def _places(self, index: int, operation: Operation) -> _Accesses:
        found = self._accesses.get(index)
        if found is not None:
            return found
        places = self._buffers.places
        if operation.node:
            assert not isinstance(operation.entry, RegionEntry | UploadFrame) and not isinstance(
                operation.entry, DownloadStatus
            )
            return touched_places(places, operation.node, operation.entry)  # type: ignore[arg-type]
        if isinstance(operation.entry, UploadFrame):
            return (), (Place(FRAME, 0, 16),)
        status = [
            places[PortRef(node.id, status.buffer)]
            for node in self._description.nodes
            for status in node.description.statuses
        ]
        return (status, ()) if isinstance(operation.entry, DownloadStatus) else ((), status)


def _waiting(operation: Operation, after: tuple[int, ...]) -> Operation:
    """Return an operation that waits for others."""
    o = operation
    return Operation(o.node, o.entry, o.reads, o.writes, after, o.scope, o.place)
