"""Packing: finds an offset for every buffer. Buffers in use at the same time never overlap, and the total is small.

Buffers are placed by size, the largest first. Each goes into the tightest gap that the earlier ones leave; the gap may
be memory of buffers used before or after it (greedy by size, as in "Efficient Memory Management for Deep Neural Net
Inference", Pisarchyk and Lee, 2020). If many earlier buffers block it, `Cells` finds the gap. The largest buffers often
have one size, and a patch may have no others; they are placed in columns without a search.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from heapq import heappop, heappush

import msgspec

from warploom.engine.compiler.memory.reuse_order import ReuseOrder, SharingGroup

#: The most cells that are searched for a gap: the last ones.
_SEARCHED = 500


class Cells:
    """The arena, cut at every buffer's start and end, to search for gaps. Each piece has a mask of its buffers."""

    def __init__(self) -> None:
        self._starts = [0]
        self._masks: list[int] = []  # of the cell from each start to the next

    def add(self, buffer: int, start: int, end: int) -> None:
        """Record the place of a buffer."""
        first, last = self._cut(start), self._cut(end)
        bit = 1 << buffer
        for cell in range(first, last):
            self._masks[cell] |= bit

    def _cut(self, offset: int) -> int:
        """Return the cell that begins at an offset; create it if necessary."""
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

    def find(self, blocked: int, size: int) -> int:
        """Return the start of the tightest gap between the buffers in mask `blocked`."""
        starts, first = self._starts, max(len(self._masks) - _SEARCHED, 0)
        best = -1
        tightest, end = 0, starts[first]  # `end` is that of the last blocked cell
        for cell, mask in enumerate(self._masks[first:], first):
            if mask & blocked:
                gap = starts[cell] - end
                if gap >= size and (best < 0 or gap < tightest):
                    best, tightest = end, gap
                end = starts[cell + 1]
        return end if best < 0 else best


#: If more buffers than this block a gap, it is searched in the cells instead of between these buffers.
_MANY = 12
#: With at most this many buffers, they are also placed from first to last, and from last to first.
_FEW = 64

#: The offset of a buffer that has separate memory, beside the arena.
BESIDE = -1
#: The bytes beside the arena that are always tolerated.
LITTLE_BYTES = 1 << 18


class Packing(msgspec.Struct, frozen=True):
    """The offsets by buffer, and the bytes needed in total."""

    offsets: list[int]
    size_bytes: int


def pack_buffers(sizes: Sequence[int], reuse: ReuseOrder, groups: Sequence[SharingGroup]) -> Packing:
    """Return offsets for buffers of these sizes; each group has separate memory."""
    offsets = [0] * len(sizes)
    top = 0
    for group in groups:
        size_bytes = _pack_group(sizes, reuse, group, offsets)
        if top:
            for buffer in group.members:
                offsets[buffer] += top
        top += size_bytes
    return Packing(offsets, top)


def _pack_group(sizes: Sequence[int], reuse: ReuseOrder, group: SharingGroup, offsets: list[int]) -> int:
    members, least = group.members, group.peak_bytes
    if len(members) == 1:
        return sizes[members[0]]
    packer = _Packer(sizes, reuse)
    best = packer.run(sorted(members, key=lambda b: (-sizes[b], b)))
    if best.size_bytes > least and len(members) <= _FEW:
        tries = [_Packer(sizes, reuse).run(order) for order in (members, members[::-1])]
        best = min((best, *tries), key=lambda packing: packing.size_bytes)
    # Not where many buffers block each other, so that cells or columns were used.
    if best.size_bytes > least and packer.cells is None and packer.columns <= _MANY:
        other = _Packer(sizes, reuse, ceiling=least).run(members)
        best = min((best, other), key=lambda packing: packing.size_bytes)
    for buffer in members:
        offsets[buffer] = best.offsets[buffer]
    return best.size_bytes


class Arena(msgspec.Struct, frozen=True):
    """An earlier placement: the offsets of buffers that may stay, and the size. `grows` if a buffer has grown."""

    kept: Mapping[int, int]
    size_bytes: int
    grows: bool = False


def repack(
    sizes: Sequence[int], reuse: ReuseOrder, groups: Sequence[SharingGroup], arena: Arena, enough: float
) -> Packing | None:
    """Return offsets in an earlier arena whose buffers stay where possible; None to place all buffers again.

    New buffers, and those that can't stay, lie beside the arena while they are few, so that no other buffer moves.
    After that they go into the arena's gaps, or behind it. If placing all buffers again saves more than a tenth, that
    is done; it is not tried if the size is at most `enough` bytes.
    """
    size_bytes, kept = arena.size_bytes, arena.kept
    packer = _Packer(sizes, reuse)
    others = [*(b for b in range(len(sizes)) if b not in kept), *packer.keep(kept)]
    if not arena.grows and sum(sizes[b] for b in others) <= max(size_bytes // 10, LITTLE_BYTES):
        offsets = packer.offsets
        for buffer in others:
            offsets[buffer] = BESIDE
    else:
        packing = packer.run(sorted(others, key=lambda b: (-sizes[b], b)))
        offsets, size_bytes = packing.offsets, max(packing.size_bytes, size_bytes)
    if size_bytes > enough and size_bytes > 1.1 * pack_buffers(sizes, reuse, groups).size_bytes:
        return None
    return Packing(offsets, size_bytes)


class _Packer:
    """The buffers that have an offset so far.

    With a `ceiling`, every second buffer hangs from the ceiling instead of standing on the ground, so that neighbours
    in a chain don't block each other.
    """

    def __init__(self, sizes: Sequence[int], reuse: ReuseOrder, ceiling: int = 0) -> None:
        self._sizes = sizes
        self._after, self._before = reuse.after, reuse.before
        self._ceiling = ceiling
        self.offsets = [0] * len(sizes)
        self._placed = 0
        self._top = 0
        self.cells: Cells | None = None
        self._hanging = 0
        self.columns = 0

    def run(self, order: Sequence[int]) -> Packing:
        """Place buffers in the given order, and return the packing."""
        if not self._placed and not self._ceiling:
            order = order[self._stack(order) :]
        sizes, offsets, after, before = self._sizes, self.offsets, self._after, self._before
        ceiling = self._ceiling
        for buffer in order:
            placed = self._placed
            free = placed & (after[buffer] | before[buffer])
            blocked = placed ^ free
            size = sizes[buffer]
            if not blocked:
                offset = 0
            elif not free and not ceiling:
                offset = self._top
            elif blocked.bit_count() > _MANY:
                offset = self._found_cells().find(blocked, size)
            elif ceiling and not self._hanging >> blocked.bit_length() - 1 & 1:
                offset = self._high_gap(blocked, size)
                self._hanging |= 1 << buffer
            else:
                offset = self._gap(blocked, size)
            offsets[buffer] = offset
            self._placed = placed | 1 << buffer
            if self.cells is not None:
                self.cells.add(buffer, offset, offset + size)
            if offset + size > self._top:
                self._top = offset + size
        return Packing(offsets, self._top)

    def _stack(self, order: Sequence[int]) -> int:
        """Place the first buffers, which have one size, in columns, and return their number.

        A buffer that may follow the last one of a column may follow all buffers in it, so one test finds a place.
        """
        sizes, offsets, before = self._sizes, self.offsets, self._before
        size = sizes[order[0]] if order else 0
        count = top = ends = placed = 0
        latest = -1
        for buffer in order:
            if sizes[buffer] != size or buffer < latest:
                break
            latest = buffer
            bit = 1 << buffer
            follows = before[buffer] & ends
            if follows:
                last = follows.bit_length() - 1
                offsets[buffer] = offsets[last]
                ends ^= 1 << last | bit
            else:
                offsets[buffer] = top
                top += size
                ends |= bit
                self.columns += 1
            placed |= bit
            count += 1
        self._placed, self._top = placed, top
        return count

    def keep(self, kept: Mapping[int, int]) -> list[int]:
        """Place the leading buffers that fit at these offsets, and return the others."""
        refused = []
        open_until: list[tuple[int, int]] = []  # end and index of buffers that reach beyond the current offset
        overlapping = placed = 0
        sizes, offsets, after, before = self._sizes, self.offsets, self._after, self._before
        for buffer in sorted(kept, key=kept.__getitem__):
            offset = kept[buffer]
            while open_until and open_until[0][0] <= offset:
                overlapping ^= 1 << heappop(open_until)[1]
            in_the_way = overlapping & ~(after[buffer] | before[buffer])
            while in_the_way and after[in_the_way.bit_length() - 1] >> buffer & 1:
                in_the_way ^= 1 << in_the_way.bit_length() - 1
            if in_the_way:
                refused.append(buffer)
                continue
            end = offset + sizes[buffer]
            heappush(open_until, (end, buffer))
            overlapping |= 1 << buffer
            offsets[buffer] = offset
            placed |= 1 << buffer
            self._top = max(self._top, end)
        self._placed = placed
        return refused

    def _found_cells(self) -> Cells:
        if self.cells is None:
            self.cells = Cells()
            for buffer in (b for b in range(len(self._sizes)) if self._placed >> b & 1):
                self.cells.add(buffer, self.offsets[buffer], self.offsets[buffer] + self._sizes[buffer])
        return self.cells

    def _gap(self, blocked: int, size: int) -> int:
        """Return the tightest place between the buffers of mask `blocked`; the end of the last one counts too."""
        offsets, sizes = self.offsets, self._sizes
        if blocked & (blocked - 1) == 0:
            only = blocked.bit_length() - 1
            return 0 if size <= offsets[only] else offsets[only] + sizes[only]
        spans = []
        while blocked:
            buffer = blocked.bit_length() - 1
            blocked ^= 1 << buffer
            spans.append((offsets[buffer], offsets[buffer] + sizes[buffer]))
        spans.sort()
        best = -1
        tightest = end = 0
        for start, stop in spans:
            gap = start - end
            if gap >= size and (best < 0 or gap < tightest):
                best, tightest = end, gap
            if stop > end:
                end = stop
        return end if best < 0 else best

    def _high_gap(self, blocked: int, size: int) -> int:
        """Return the highest place between the buffers of the mask and the ceiling; without one, the tightest place."""
        offsets, sizes = self.offsets, self._sizes
        spans = []
        rest = blocked
        while rest:
            buffer = rest.bit_length() - 1
            rest ^= 1 << buffer
            spans.append((offsets[buffer] + sizes[buffer], offsets[buffer]))
        spans.sort(reverse=True)
        top = self._ceiling
        for end, start in spans:
            if top - end >= size:
                return top - size
            top = min(top, start)
        return top - size if top >= size else self._gap(blocked, size)
