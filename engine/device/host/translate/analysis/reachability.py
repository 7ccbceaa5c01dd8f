"""Reachability and postdominators in a graph of blocks; a set of blocks is the bits of one integer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


class Reachability:
    """Answers about a graph that is given as the successors of each block; it keeps what it has computed."""

    def __init__(self, successors: Sequence[Sequence[int]]) -> None:
        self.successors = successors
        self._reachable: dict[int, int] = {}
        self._postdominators: dict[int, dict[int, int]] = {}

    def reachable(self, start: int) -> int:
        """Return the blocks that can be reached from a block, including itself."""
        if start not in self._reachable:
            found, pending = 1 << start, [start]
            while pending:
                for successor in self.successors[pending.pop()]:
                    if not found >> successor & 1:
                        found |= 1 << successor
                        pending.append(successor)
            self._reachable[start] = found
        return self._reachable[start]

    def postdominators(self, end: int) -> dict[int, int]:
        """Return, for each block from which `end` can be reached, the blocks on every path from it to `end`."""
        known = self._postdominators.get(end)
        if known is not None:
            return known
        blocks = [index for index in range(len(self.successors)) if self.reachable(index) >> end & 1]
        everything = sum(1 << index for index in blocks)
        found = dict.fromkeys(blocks, everything)
        found[end] = 1 << end
        changed = True
        while changed:
            changed = False
            for index in reversed(blocks):
                if index == end:
                    continue
                shared = everything
                for successor in self.successors[index]:
                    if successor in found:
                        shared &= found[successor]
                now = shared | 1 << index
                if now != found[index]:
                    found[index], changed = now, True
        self._postdominators[end] = found
        return found

    def divergent(self, branch: int, end: int) -> int:
        """Return the blocks on some but not all paths from a branch to `end`, up to where these paths meet again."""
        postdominators = self.postdominators(end)
        if branch not in postdominators:
            return 0
        meeting = postdominators[branch] & ~(1 << branch)
        found, pending = 0, [item for item in self.successors[branch] if item in postdominators]
        while pending:
            index = pending.pop()
            if not (found | meeting) >> index & 1:
                found |= 1 << index
                pending += [item for item in self.successors[index] if item in postdominators]
        return found


def members(bits: int) -> Iterator[int]:
    """Yield the blocks of a set."""
    while bits:
        low = bits & -bits
        yield low.bit_length() - 1
        bits ^= low
