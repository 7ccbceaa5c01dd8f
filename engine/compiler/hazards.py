"""Hazards: what an operation must wait for, by the bytes that it and earlier ones read and write."""

from __future__ import annotations

from engine.compiler.operations import Access, Place
from engine.patch.changes import PortRef

#: An operation's index and what it touched.
_Touch = tuple[int, Place]
#: The last writers of a buffer's bytes, and the readers since then.
_Buffer = tuple[list[_Touch], list[_Touch]]


class Hazards:
    """The accesses of one scope's operations so far: read after write, write after read, write after write."""

    def __init__(self) -> None:
        self._buffers: dict[PortRef, _Buffer] = {}

    def add(self, index: int, access: Access) -> tuple[int, ...]:
        """Enter an operation's accesses and return the operations of this scope that it must wait for, sorted."""
        after: list[int] = []
        buffers = self._buffers
        for place in access.reads:
            buffer = buffers.get(place.owner)
            if buffer is None:
                buffers[place.owner] = [], [(index, place)]
                continue
            writers, readers = buffer
            for earlier, other in writers:
                if other is place or _overlap(other, place):
                    after.append(earlier)
            readers.append((index, place))
        for place in access.writes:
            buffer = buffers.get(place.owner)
            if buffer is None:
                buffers[place.owner] = [(index, place)], []
                continue
            writers, readers = buffer
            for earlier, other in (*writers, *readers):
                if other is place or _overlap(other, place):
                    after.append(earlier)
            # An operation that waits for this one thereby waits for all that it covers.
            writers[:] = [touch for touch in writers if not _covers(place, touch[1])]
            readers[:] = [touch for touch in readers if not _covers(place, touch[1])]
            writers.append((index, place))
        if len(after) == 2:  # the most frequent case; making a set would take as long as all above
            first, second = after
            if first != second and first != index != second:
                return (first, second) if first < second else (second, first)
        elif not after or after == [index]:
            return ()
        elif len(after) == 1:
            return (after[0],)
        return tuple(sorted(set(after) - {index}))


def _overlap(a: Place, b: Place) -> bool:
    """Return whether two places of one buffer have a byte in common."""
    return a.offset < b.offset + b.size_bytes and b.offset < a.offset + a.size_bytes


def _covers(whole: Place, part: Place) -> bool:
    """Return whether every byte of one place of a buffer is in another."""
    return part is whole or (
        whole.offset <= part.offset and part.offset + part.size_bytes <= whole.offset + whole.size_bytes
    )
