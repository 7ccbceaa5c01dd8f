"""Reuse order: the buffers that may follow each buffer in the same memory, given the partial order of operations.

Buffer b may follow buffer a if every user of a is an ancestor of b's first writer. Then no schedule that a device may
choose uses both at the same time. Sets of buffers are bit masks, one bit per buffer, in the order of first writers.
"""

from collections.abc import Sequence
from functools import reduce
from itertools import accumulate
from operator import or_

import msgspec

from warploom.engine.compiler.operations import Operation, RegionEntry, Scope

#: The most followers that are searched for a buffer with several last users. Beyond that, less memory is shared.
_FIRST_FOLLOWERS = 16
#: If at most this many candidates for a group are left, each is tested separately.
_REST = 32


class ReuseOrder(msgspec.Struct, frozen=True):
    """Masks of the buffers that may come `after` each buffer, and of those that may come `before` it.

    Each set bit is certain. `after` is complete; `before` may lack buffers whose own `after` has the bit.
    """

    after: list[int]
    before: list[int]


class SharingGroup(msgspec.Struct, frozen=True):
    """Buffers that share memory with none outside the group, in order, and their smallest total size in bytes."""

    members: list[int]
    peak_bytes: int


def sharing_groups(order: ReuseOrder, sizes: Sequence[int], spans: Sequence[tuple[int, int]]) -> list[SharingGroup]:
    """Return the groups of buffers that share with each other, directly or through others.

    `spans` are the first and the last operation of each buffer, in the order of operations. Buffers that are in use at
    the same time when operations run in that order can't share in any order. This gives the peak.
    """
    groups: list[SharingGroup] = []
    seen = 0
    after, before = order.after, order.before
    sharing = reduce(or_, before, reduce(or_, after, 0))
    for buffer, mask in enumerate(after):
        if mask:
            sharing |= 1 << buffer
    for first in range(len(sizes)):
        if seen >> first & 1:
            continue
        group = waiting = 1 << first
        if not sharing & group:
            groups.append(SharingGroup([first], sizes[first]))
            continue
        searched = False
        # The first few buffers usually reach nearly all others. The rest is then tested in the other direction.
        while waiting and (left := sharing & ~(seen | group)):
            if not searched and left.bit_count() <= _REST:
                searched = True
                for buffer in _members(left, (left & -left).bit_length() - 1):
                    if (after[buffer] | before[buffer]) & group:
                        group |= 1 << buffer
                        waiting |= 1 << buffer
                continue
            buffer = waiting.bit_length() - 1
            more = (after[buffer] | before[buffer]) & ~group
            group |= more
            waiting = waiting ^ 1 << buffer | more
        seen |= group
        members = _members(group, first)
        groups.append(SharingGroup(members, _peak(members, sizes, spans)))
    return groups


def _members(group: int, first: int) -> list[int]:
    """Return the bits of a mask whose lowest bit is `first`."""
    digits = bin(group)[:1:-1]
    if 8 * group.bit_count() > len(digits):
        return [buffer for buffer, digit in enumerate(digits) if digit == "1"]
    members = [first]
    while (following := digits.find("1", members[-1] + 1)) >= 0:
        members.append(following)
    return members


def _peak(members: list[int], sizes: Sequence[int], spans: Sequence[tuple[int, int]]) -> int:
    if len(members) == 1:
        return sizes[members[0]]
    change = [0] * (max([spans[buffer][1] for buffer in members]) + 2)
    for buffer in members:
        first, last = spans[buffer]
        change[first] += sizes[buffer]
        change[last + 1] -= sizes[buffer]
    return max(accumulate(change))


def reuse_order(operations: Sequence[Operation], scopes: Sequence[Scope], users: Sequence[Sequence[int]]) -> ReuseOrder:
    """Return the reuse order of buffers. Each is given by its users: operations of its home scope, the writer first."""
    starts = [0] * len(operations)
    for buffer, found in enumerate(users):
        starts[found[0]] |= 1 << buffer
    following = _following(operations, scopes, starts)
    after: list[int] = []
    ends = [0] * len(operations)
    released = [0] * len(operations)
    for buffer, found in enumerate(users):
        mask = last = following[found[-1]]
        if len(found) > 2:
            for index in found[1:-1]:
                mask &= following[index]
        after.append(mask)
        if mask == last:
            ends[found[-1]] |= 1 << buffer
            continue
        # No single operation ends its use: it is free at the first operations that follow all its users.
        for _ in range(_FIRST_FOLLOWERS):
            if not mask:
                break
            first = users[(mask & -mask).bit_length() - 1][0]
            released[first] |= 1 << buffer
            mask &= ~(following[first] | starts[first])
    preceding = _preceding(operations, scopes, ends, released)
    return ReuseOrder(after, [preceding[found[0]] for found in users])


def _following(operations: Sequence[Operation], scopes: Sequence[Scope], starts: list[int]) -> list[int]:
    """Return, by operation, the buffers that are first written after the operation has ended."""
    following = [0] * len(operations)
    whole = list(starts)  # including those that start inside a region
    has_regions = len(scopes) > 1
    for index in range(len(operations) - 1, -1, -1):
        operation = operations[index]
        if has_regions and operation.scope:
            whole[scopes[operation.scope].region] |= whole[index]
        mask = following[index] | whole[index]
        if mask:
            for earlier in operation.after:
                following[earlier] |= mask
    if has_regions:
        later = _later_branches(operations)
        in_scope = _by_scope(operations, scopes, whole)
        for index, operation in enumerate(operations):
            if operation.scope:
                following[index] |= following[scopes[operation.scope].region]
                for scope in later.get(operation.scope, ()):
                    following[index] |= in_scope[scope]
    return following


def _preceding(
    operations: Sequence[Operation], scopes: Sequence[Scope], ends: list[int], released: list[int]
) -> list[int]:
    """Return, by operation, the buffers whose last use ends before the operation begins."""
    whole = list(ends)
    has_regions = len(scopes) > 1
    if has_regions:
        for index in range(len(operations) - 1, -1, -1):
            if operations[index].scope:
                whole[scopes[operations[index].scope].region] |= whole[index]
        sooner: dict[int, list[int]] = {}
        for first, others in _later_branches(operations).items():
            for other in others:
                sooner.setdefault(other, []).append(first)
        in_scope = _by_scope(operations, scopes, whole)
    preceding = released
    for index, operation in enumerate(operations):
        mask = preceding[index]
        for earlier in operation.after:
            mask |= preceding[earlier] | whole[earlier]
        if has_regions and operation.scope:
            mask |= preceding[scopes[operation.scope].region]
            for scope in sooner.get(operation.scope, ()):
                mask |= in_scope[scope]
        preceding[index] = mask
    return preceding


def _by_scope(operations: Sequence[Operation], scopes: Sequence[Scope], whole: list[int]) -> list[int]:
    masks = [0] * len(scopes)
    for operation, mask in zip(operations, whole, strict=True):
        masks[operation.scope] |= mask
    return masks


def _later_branches(operations: Sequence[Operation]) -> dict[int, tuple[int, ...]]:
    """Return the branches behind each branch of a region.

    Only one of them runs each time, so each may be treated as coming after those before it.
    """
    regions = [operation.entry for operation in operations if isinstance(operation.entry, RegionEntry)]
    return {scope: region.scopes[n:] for region in regions for n, scope in enumerate(region.scopes[:-1], 1)}
