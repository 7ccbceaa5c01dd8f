"""Which blocks follow which in a graph of blocks; sets of blocks are the bits of one number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


class Ways:
    """The ways through a graph that is given as the successors of each block."""

    def __init__(self, following: Sequence[Sequence[int]]) -> None:
        self.following = following
        self._after: dict[int, int] = {}
        self._always: dict[int, dict[int, int]] = {}

    def reach(self, start: int) -> int:
        """Return the blocks that may run from a block on, itself among them."""
        if start not in self._after:
            found, pending = 1 << start, [start]
            while pending:
                for following in self.following[pending.pop()]:
                    if not found >> following & 1:
                        found |= 1 << following
                        pending.append(following)
            self._after[start] = found
        return self._after[start]

    def always(self, end: int) -> dict[int, int]:
        """Return, for each block from which `end` can be reached, the blocks on every way there: its postdominators."""
        known = self._always.get(end)
        if known is not None:
            return known
        blocks = [index for index in range(len(self.following)) if self.reach(index) >> end & 1]
        everything = sum(1 << index for index in blocks)
        always = dict.fromkeys(blocks, everything)
        always[end] = 1 << end
        changed = True
        while changed:
            changed = False
            for index in reversed(blocks):
                if index == end:
                    continue
                shared = everything
                for following in self.following[index]:
                    if following in always:
                        shared &= always[following]
                now = shared | 1 << index
                if now != always[index]:
                    always[index], changed = now, True
        self._always[end] = always
        return always

    def apart(self, source: int, end: int) -> int:
        """Return the blocks on ways from a branch to `end`, up to where all of these ways meet again."""
        always = self.always(end)
        if source not in always:
            return 0
        meeting = always[source] & ~(1 << source)
        found = 0
        pending = [following for following in self.following[source] if following in always]
        while pending:
            index = pending.pop()
            if not (found | meeting) >> index & 1:
                found |= 1 << index
                pending += [following for following in self.following[index] if following in always]
        return found


def members(bits: int) -> Iterator[int]:
    """Yield the blocks of a set."""
    while bits:
        low = bits & -bits
        yield low.bit_length() - 1
        bits ^= low
