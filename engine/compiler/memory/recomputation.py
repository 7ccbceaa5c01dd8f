"""Recomputation: finds the operations to run again for a buffer whose contents were overwritten.

They run in private memory: buffers that they write are private, all others are read in place. Buffers that can't be
recomputed are found before memory is shared. An operation runs only once if it changes lasting memory, or reads data
that changes later in the frame; the buffers that it writes are not overwritten.
"""

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet

from warploom.engine.compiler.operations import Operation
from warploom.engine.patch.changes import PortRef


def once_only(operations: Sequence[Operation], lasting: AbstractSet[PortRef]) -> frozenset[PortRef]:
    """Return the buffers whose contents can be computed only once per frame.

    `lasting` buffers hold data from before the frame: state, the user's arrays, buffers that are read before written.
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
                # A condition is not memory, so it can't be read again.
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
    """Return the operations of the top scope that recompute `owner`'s contents, in order; regions count as wholes.

    Return None if that would change `lasting` memory, or needs its contents from before the frame's end; `once_only`
    are the buffers for which that is known.
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
                # The operation that sets a condition must run again.
                if read.port and read not in private and found[-1] < index and not overwritten(read):
                    continue
                if read in lasting:
                    return None
                wanted.update(writer for writer in found if writer < index)
        waiting = sorted(wanted - needed)
        needed |= wanted
    return tuple(sorted(needed))
