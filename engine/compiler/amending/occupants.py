"""Occupants: who lay last at each byte of the arena, as buffers come one after the other."""

from __future__ import annotations

from bisect import bisect_right


class Occupants:
    """Stretches of the arena, each up to the next, with the number of the buffer that lay there last."""

    def __init__(self) -> None:
        self._starts = [0]
        self._who = [-1]

    def at(self, start: int, end: int) -> set[int]:
        """Return who lay last at any byte from `start` to `end`."""
        first = bisect_right(self._starts, start) - 1
        last = first + 1
        while last < len(self._starts) and self._starts[last] < end:
            last += 1
        found = set(self._who[first:last])
        found.discard(-1)
        return found

    def enter(self, number: int, start: int, end: int) -> None:
        """Let a buffer lie from `start` to `end`."""
        starts, who = self._starts, self._who
        first = bisect_right(starts, start) - 1
        last = bisect_right(starts, end, first) - 1
        new_starts, new_who = [start], [number]
        if starts[first] < start:
            new_starts, new_who = [starts[first], start], [who[first], number]
        if starts[last] != end:  # the stretch in which it ends goes on behind it
            new_starts.append(end)
            new_who.append(who[last])
            last += 1
        starts[first:last] = new_starts
        who[first:last] = new_who
