"""Reachability and postdominators in a graph of blocks; a set of blocks is the bits of one integer."""

from collections.abc import Iterable, Iterator, Sequence

_WORD_BITS = 256
_WORD = (1 << _WORD_BITS) - 1


class Reachability:
    """Answers questions about a graph given by the successors of each block, and keeps computed answers."""

    def __init__(self, successors: Sequence[Sequence[int]]) -> None:
        self.successors = successors
        self._following = [_set(items) for items in successors]
        self._reachable: dict[int, int] = {}
        self._postdominators: dict[int, dict[int, int]] = {}
        self._reaching: dict[int, int] = {}

    def reachable(self, start: int) -> int:
        """Return the blocks that can be reached from a block, including itself."""
        if start not in self._reachable:
            self._reachable[start] = self._spread(1 << start, -1)
        return self._reachable[start]

    def _spread(self, start: int, within: int) -> int:
        """Return the blocks that can be reached from `start` on paths inside `within`, including `start`."""
        found, pending = 0, start & within
        while pending:
            low = pending & -pending
            found |= low
            pending = (pending | self._following[low.bit_length() - 1]) & within & ~found
        return found

    def postdominators(self, end: int) -> dict[int, int]:
        """Return, for each block from which `end` can be reached, the blocks on every path from it to `end`."""
        known = self._postdominators.get(end)
        if known is not None:
            return known
        blocks = [index for index in range(len(self.successors)) if self.reachable(index) >> end & 1]
        everything = _set(blocks)
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
        self._reaching[end] = everything
        return found

    def divergent(self, branch: int, end: int) -> int:
        """Return the blocks on some but not all paths from a branch to `end`, up to where these paths meet again."""
        postdominators = self.postdominators(end)
        if branch not in postdominators:
            return 0
        meeting = postdominators[branch] & ~(1 << branch)
        return self._spread(self._following[branch], self._reaching[end] & ~meeting)


def _set(blocks: Iterable[int]) -> int:
    found = 0
    for block in blocks:
        found |= 1 << block
    return found


def members(bits: int) -> Iterator[int]:
    """Yield the blocks of a set."""
    start = 0
    while bits:  # word by word, since an operation on a long number takes time for each word
        word, bits = bits & _WORD, bits >> _WORD_BITS
        while word:
            low = word & -word
            yield start + low.bit_length() - 1
            word ^= low
        start += _WORD_BITS
