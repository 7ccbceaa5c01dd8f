"""Recomputation: which operations to run again for the contents of a buffer that another one has overwritten.

They run in private memory: a buffer that one of them writes is private, every other is read where it lies. Contents
that can't be recomputed are found before memory is shared: an operation that changes lasting memory, or reads what is
changed later in the frame, runs only once, and what it writes is not overwritten.
"""

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet

from engine.compiler.operations import Operation
from engine.patch.changes import PortRef


def once_only(operations: Sequence[Operation], lasting: AbstractSet[PortRef]) -> frozenset[PortRef]:
    """Return the buffers whose contents can be computed only once a frame.

    `lasting` buffers have contents from before the frame: state, the user's arrays, what is read before it is written.
    """
    if lasting.isdisjoint([place.owner for operation in operations for place in operation.access.writes]):
        return frozenset()
    top = [(index, operation) for index, operation in enumerate(operations) if not operation.scope]
    last_writer = {owner: index for index, operation in top for owner in operation.writes}
    lost = set(lasting)
    while True:
        before = len(lost)
        for index, operation in top:
            if not lost.isdisjoint(operation.writes) or any(
                # A condition is no memory that could be read again.
                owner in lost and (not owner.port or last_writer.get(owner, -1) >= index)
                for owner in operation.reads
            ):
                lost |= operation.writes
        if len(lost) == before:
            return frozenset(lost - lasting)


def recomputation(
    operations: Sequence[Operation],
    lasting: AbstractSet[PortRef],
    overwritten: Callable[[PortRef], bool],
    owner: PortRef,
) -> tuple[int, ...] | None:
    """Return the operations of the top scope, regions as wholes, that recompute `owner`'s contents, in order.

    None when that would change `lasting` memory or needs what it held before the frame's end; `once_only` names the
    buffers for which that is so.
    """
    top = [(index, operation) for index, operation in enumerate(operations) if not operation.scope]
    writers: dict[PortRef, list[int]] = {}
    for index, operation in top:
        for written in operation.writes:
            writers.setdefault(written, []).append(index)
    needed = set(writers.get(owner, ()))
    waiting = list(needed)
    private: set[PortRef] = set()
    while waiting:
        for index in waiting:
            private |= operations[index].writes
        if not lasting.isdisjoint(private):
            return None
        wanted: set[int] = set()
        for index in needed:
            for read in operations[index].reads:
                found = writers.get(read, [])
                if not found:
                    continue
                # The operation that sets a condition has to run again.
                if read.port and read not in private and found[-1] < index and not overwritten(read):
                    continue
                if read in lasting:
                    return None
                wanted.update(writer for writer in found if writer < index)
        waiting = sorted(wanted - needed)
        needed |= wanted
    return tuple(sorted(needed))
