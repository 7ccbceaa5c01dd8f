"""Cells: the arena cut at every buffer's start and end, with a mask of the buffers that lie in each piece."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

#: How many cells may be looked at for the best place: in all, and more for every buffer. Then a good one must do.
_BUDGET, _BUDGET_A_BUFFER = 10_000, 30
#: How many places next to buffers that are not in the way are tried for a good one.
_TRIES = 10


class Cells:
    """Where there is room between the buffers that are in another one's way."""

    def __init__(self, offsets: Sequence[int]) -> None:
        self._offsets = offsets
        self._starts = [0]
        self._masks: list[int] = []  # of the cell between each start and the next one
        self._budget = _BUDGET + _BUDGET_A_BUFFER * len(offsets)
        self._latest = 0

    def add(self, buffer: int, start: int, end: int) -> None:
        """Note where a buffer lies."""
        first, last = self._cut(start), self._cut(end)
        self._latest = start
        bit = 1 << buffer
        for cell in range(first, last):
            self._masks[cell] |= bit

    def _cut(self, offset: int) -> int:
        """Return the cell that begins at an offset, made if need be."""
        starts, masks = self._starts, self._masks
        if offset > starts[-1]:
            masks.append(0)
            starts.append(offset)
            return len(starts) - 1
        cell = bisect_left(starts, offset)
        if starts[cell] != offset:
            starts.insert(cell, offset)
            masks.insert(cell, masks[cell - 1])
        return cell

    def find(self, blocked: int, free: int, size: int) -> int:
        """Return the start of a gap between the buffers of the mask `blocked`; `free` are those not in the way."""
        if self._budget > 0:
            self._budget -= len(self._masks)
            return self._tightest(blocked, size)
        return self._near(blocked, free, size)

    def _tightest(self, blocked: int, size: int) -> int:
        starts = self._starts
        best = -1
        tightest = end = 0  # end of the last cell that is in the way
        for cell, mask in enumerate(self._masks):
            if mask & blocked:
                gap = starts[cell] - end
                if gap >= size and (best < 0 or gap < tightest):
                    best, tightest = end, gap
                end = starts[cell + 1]
        return end if best < 0 else best

    def _near(self, blocked: int, free: int, size: int) -> int:
        """Return a gap after the buffer placed last, or at one of the `free` buffers, or else the end of all."""
        starts, masks, count = self._starts, self._masks, len(self._masks)
        tries = _TRIES
        cell = bisect_right(starts, self._latest)
        while True:
            if cell < count and not masks[cell] & blocked:
                first, last = cell, cell + 1
                while first and not masks[first - 1] & blocked:
                    first -= 1
                while last < count and starts[last] - starts[first] < size and not masks[last] & blocked:
                    last += 1
                if starts[last] - starts[first] >= size:
                    return starts[first]
                for at in range(first, last):
                    free &= ~masks[at]
            elif cell < count:
                free &= ~masks[cell]
            if not free or not tries:
                return starts[-1]
            tries -= 1
            # From both ends in turn: the first ones and the last ones of those that are not in the way.
            buffer = (free if tries & 1 else free & -free).bit_length() - 1
            cell = bisect_right(starts, self._offsets[buffer]) - 1
            free &= ~(1 << buffer)
