"""Hazards: what an operation must wait for, by the bytes that it and earlier ones read and write."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from engine.compiler.buffers import Place
from engine.patch.changes import PortRef

#: An operation's index, and the first byte and the end of what it touched.
_Touch = tuple[int, int, int]


@dataclass(slots=True)
class _Buffer:
    """Who wrote which bytes of a buffer last, and who has read them since."""

    writers: list[_Touch]
    readers: list[_Touch]


class Hazards:
    """The accesses of one scope's operations so far: read after write, write after read, write after write."""

    def __init__(self) -> None:
        self._buffers: dict[PortRef, _Buffer] = {}

    def add(self, index: int, reads: Iterable[Place], writes: Iterable[Place]) -> tuple[int, ...]:
        """Enter an operation's accesses and return the operations of this scope that it must wait for, sorted."""
        after: set[int] = set()
        buffers = self._buffers
        for place in reads:
            buffer = buffers.get(place.owner)
            if buffer is None:
                buffer = buffers[place.owner] = _Buffer([], [])
            start, end = place.offset, place.offset + place.size_bytes
            for earlier, first, last in buffer.writers:
                if first < end and start < last:
                    after.add(earlier)
            buffer.readers.append((index, start, end))
        for place in writes:
            start, end = place.offset, place.offset + place.size_bytes
            buffer = buffers.get(place.owner)
            if buffer is None:
                buffers[place.owner] = _Buffer([(index, start, end)], [])
                continue
            for earlier, first, last in (*buffer.writers, *buffer.readers):
                if first < end and start < last:
                    after.add(earlier)
            # Who waits for this one waits for everything under it as well.
            buffer.writers = [touch for touch in buffer.writers if touch[1] < start or touch[2] > end]
            buffer.readers = [touch for touch in buffer.readers if touch[1] < start or touch[2] > end]
            buffer.writers.append((index, start, end))
        after.discard(index)
        return tuple(sorted(after))
