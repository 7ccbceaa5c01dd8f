"""Uses: the operations that touch each buffer, lifted to the innermost scope that holds them all.

If a buffer outlives a region, a user inside it stands for the whole region: a loop's body reads the buffer again in the
next turn, so the buffer stays in use until the region ends.
"""

from collections.abc import Container, Sequence

import msgspec

from warploom.engine.compiler.operations import Operation, OperationSchedule, RegionEntry, Scope
from warploom.engine.patch.changes import PortRef


class BufferUses(msgspec.Struct, frozen=True):
    """The operations that touch each buffer, by owner.

    `users` are operations of the buffer's home scope, in order; a region stands for the users inside it. `fresh`
    buffers are first touched in their home scope, where their own block, fused or not, writes them or the graph clears
    them. Their old contents don't matter, since a block that needs them declares state.
    """

    users: dict[PortRef, list[int]]
    fresh: set[PortRef]


def buffer_uses(schedule: OperationSchedule, owners: Container[PortRef]) -> BufferUses:
    """Return the uses of those `owners` that some operation touches."""
    operations, scopes, _ = schedule
    users = {owner: found for owner, found in schedule.users.items() if owner in owners}
    fresh: set[PortRef] = set()
    for owner, found in users.items():
        first = operations[found[0]]
        if owner.node in first.nodes or not first.node:
            for place in first.access.writes:
                if place.owner == owner:
                    fresh.add(owner)
    if len(scopes) > 1:
        for owner, found in users.items():
            users[owner], first_is_home = _lift(found, operations, scopes)
            if not first_is_home:
                fresh.discard(owner)
    return BufferUses(users, fresh)


def _lift(found: list[int], operations: Sequence[Operation], scopes: Sequence[Scope]) -> tuple[list[int], bool]:
    """Return the users' representatives in their common scope, each once, and whether the first represents itself."""
    home = operations[found[0]].scope
    if all(operations[index].scope == home for index in found):
        return found, True
    home_chain = chain(home, scopes)
    for index in found:
        other = set(chain(operations[index].scope, scopes))
        home_chain = [scope for scope in home_chain if scope in other]
    home = home_chain[0]
    lifted = list(dict.fromkeys(lift(index, home, operations, scopes) for index in found))
    return lifted, lifted[0] == found[0]


def chain(scope: int, scopes: Sequence[Scope]) -> list[int]:
    """Return `scope` and the scopes around it, innermost first."""
    found = [scope]
    while scope:
        scope = scopes[scope].parent
        found.append(scope)
    return found


def lift(index: int, home: int, operations: Sequence[Operation], scopes: Sequence[Scope]) -> int:
    """Return the representative of operation `index` in scope `home`: itself, or the region around it."""
    while (scope := operations[index].scope) != home:
        index = scopes[scope].region
    return index


def lifetimes(
    operations: Sequence[Operation], scopes: Sequence[Scope], users: Sequence[Sequence[int]]
) -> list[tuple[int, int]]:
    """Return the first and the last operation, in the list's order, during which each buffer is in use.

    `users` are operations of the buffer's home scope; a region ends with the last operation inside it.
    """
    if len(scopes) == 1:
        return [(found[0], found[-1]) for found in users]
    last = list(range(len(operations)))
    for index in range(len(operations) - 1, -1, -1):
        if operations[index].scope:
            region = scopes[operations[index].scope].region
            last[region] = max(last[region], last[index])
    return [(found[0], last[found[-1]]) for found in users]


def may_miss_a_turn(index: int, operations: Sequence[Operation], scopes: Sequence[Scope]) -> bool:
    """Return whether an operation lies in a region inside a loop, so that it need not run in every turn."""
    regions = [scopes[scope].region for scope in chain(operations[index].scope, scopes) if scope]
    entries = [operations[region].entry for region in regions[1:]]
    return any(isinstance(entry, RegionEntry) and entry.kind.is_loop for entry in entries)
