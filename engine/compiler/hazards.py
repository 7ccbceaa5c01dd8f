"""Hazards: finds an operation's dependencies from the bytes that it and earlier operations access."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence

from warploom.engine.compiler.operations import (
    Access,
    AnyEntry,
    Operation,
    OperationSchedule,
    Place,
    RegionEntry,
    Scope,
    Users,
    find_users,
    owners,
)
from warploom.engine.patch.changes import PortRef

#: An operation before its dependencies are known: its node, entry, access, scope and place.
PendingOperation = tuple[str, AnyEntry, Access, int, int]
#: An operation's index and its access.
_Touch = tuple[int, Place]
#: The last writers of a buffer's bytes, and the readers since then.
_Buffer = tuple[list[_Touch], list[_Touch]]


class Hazards:
    """The accesses of one scope's operations so far; they conflict as read after write, write after read or write."""

    def __init__(self) -> None:
        self._buffers: dict[PortRef, _Buffer] = {}

    def add(self, index: int, access: Access) -> tuple[int, ...]:
        """Enter an operation's accesses and return the operations of this scope that it must wait for, sorted."""
        after: list[int] = []
        buffers = self._buffers
        for place in access.reads:
            try:
                writers, readers = buffers[place.owner]
            except KeyError:  # rare: the buffer's first access
                buffers[place.owner] = [], [(index, place)]
                continue
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
            # Waiting for this operation implies waiting for all operations that it covers.
            writers[:] = [touch for touch in writers if not _covers(place, touch[1])]
            readers[:] = [touch for touch in readers if not _covers(place, touch[1])]
            writers.append((index, place))
        if len(after) == 2:  # the most frequent case; a set would take as long as all of the above
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


def make_schedule(
    steps: Sequence[PendingOperation], scopes: Iterable[tuple[int, str, int]], previous: OperationSchedule | None = None
) -> OperationSchedule:
    """Return operations with their dependencies; `scopes` has each scope's region, name and outer scope.

    Operations that are unchanged since the previous schedule are the same objects.
    """
    operations, users = tie(steps, previous)
    made = list(scopes)
    members: list[list[int]] = [[] for _ in made]
    for index, operation in enumerate(operations):
        members[operation.scope].append(index)
    return OperationSchedule(
        operations,
        tuple([Scope(*scope, tuple(inside)) for scope, inside in zip(made, members, strict=True)]),
        users,
    )


def partial_schedule(schedule: OperationSchedule, top: Collection[int]) -> OperationSchedule:
    """Return some operations of the top scope, including all operations inside regions, as a schedule of their own."""
    steps: list[PendingOperation] = []
    scopes = [(-1, schedule.scopes[0].name, -1)]
    inside = {0: 0}
    for index, operation in enumerate(schedule.operations):
        if operation.scope not in inside or (not operation.scope and index not in top):
            continue
        entry, scope = operation.entry, inside[operation.scope]
        if isinstance(entry, RegionEntry):
            first = len(scopes)
            inside |= {body: first + branch for branch, body in enumerate(entry.scopes)}
            scopes += [(len(steps), schedule.scopes[body].name, scope) for body in entry.scopes]
            entry = RegionEntry(entry.kind, tuple(range(first, len(scopes))))
        steps.append((operation.node, entry, operation.access, scope, operation.place))
    return make_schedule(steps, scopes)


def tie(
    steps: Sequence[PendingOperation], previous: OperationSchedule | None = None
) -> tuple[tuple[Operation, ...], Users]:
    """Return the operations with their dependencies, and the users of each buffer.

    Operations that are unchanged since the previous schedule are the same objects.
    """
    before = previous.operations if previous is not None else ()
    is_aligned = previous is not None and len(steps) == len(before)
    operations = list(before) if is_aligned else []
    earlier = {} if is_aligned else {id(operation.access): operation for operation in before}
    renewed: Collection[int] = range(len(steps))
    entered: Iterable[int] = renewed
    users: Users | None = None
    if previous is not None and is_aligned:
        users, renewed, entered = _affected(steps, previous)
    hazards: dict[int, Hazards] = defaultdict(Hazards)
    for index in entered:
        node, entry, access, scope, place = steps[index]
        after = hazards[scope].add(index, access)
        if index not in renewed:
            continue
        made = operations[index] if is_aligned else earlier.get(id(access))
        if made is None or made.access is not access or made.after != after or made.scope != scope:
            made = Operation(node, entry, access, after, scope, place)
        if is_aligned:
            operations[index] = made
        else:
            operations.append(made)
    return tuple(operations), find_users(operations) if users is None else users


def _affected(
    steps: Sequence[PendingOperation], previous: OperationSchedule
) -> tuple[Users | None, Collection[int], Iterable[int]]:
    """Return the users of each buffer, the steps whose dependencies may have changed, and all users of their buffers.

    The dependencies of an operation follow from the users of its buffers. So they may change only if one of these
    buffers has a user with changed accesses. If the first user of a buffer changes, no users are returned.
    """
    pairs = enumerate(zip(steps, previous.operations, strict=True))
    others = {i for i, (step, old) in pairs if step[2] is not old.access or step[3] != old.scope}
    if any(type(steps[i][1]) is RegionEntry for i in others):
        return None, range(len(steps)), range(len(steps))
    changed = owners([access for i in others for access in (steps[i][2], previous.operations[i].access)])
    added: dict[PortRef, list[int]] = {owner: [] for owner in changed}
    for i in others:
        for owner in owners([steps[i][2]]):
            added[owner].append(i)
    users = previous.users.copy()
    for owner, now in added.items():
        old = users.get(owner, [])
        users[owner] = sorted([*now, *[i for i in old if i not in others]])
        if users[owner][:1] != old[:1]:
            return None, range(len(steps)), range(len(steps))
    renewed = others.union(*[users[owner] for owner in changed])
    shared = owners([steps[i][2] for i in renewed])
    return users, renewed, sorted(set().union(*[users[owner] for owner in shared]))
