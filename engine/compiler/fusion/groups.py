"""Groups: which operations become one kernel, at the place of the last of them.

A stage joins the group of those that read what it writes. That holds for a buffer that nobody else reads, in this frame
or after it, and that could be computed again: whoever reads it later has its stage run once more. Nothing between the
stage's own place and the group's may change what the stage reads, nor touch what else it writes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet

import msgspec

from engine.compiler.fusion.stages import Stage
from engine.compiler.operations import Operation, Place, Schedule
from engine.patch.changes import PortRef

#: The most operations in a group: the time to compile a kernel grows with them.
MOST_STAGES = 32


class Group(msgspec.Struct, frozen=True, gc=False):
    """Operations that become one kernel, in order, and the buffers between them, which are stored no more."""

    members: tuple[int, ...]
    inner: tuple[PortRef, ...]


def find_groups(
    schedule: Schedule, stages: Mapping[int, Stage], unneeded: AbstractSet[PortRef], child_graphs: Mapping[str, str]
) -> list[Group]:
    """Return the groups; `stages` are the operations that may be fused, by index.

    `unneeded` are the buffers that need not be stored if nothing else reads them. `child_graphs` names for each block
    the child graph that it goes to, "" for none.
    """
    search = _Search(schedule, stages, unneeded, child_graphs)
    return [group for root in sorted(stages, reverse=True) if (group := search.group(root)) is not None]


class _Search:
    def __init__(
        self,
        schedule: Schedule,
        stages: Mapping[int, Stage],
        unneeded: AbstractSet[PortRef],
        child_graphs: Mapping[str, str],
    ) -> None:
        self._operations, self._users = schedule.operations, schedule.users
        self._stages, self._unneeded, self._child_graphs = stages, unneeded, child_graphs
        self._taken: set[int] = set()

    def group(self, root: int) -> Group | None:
        """Return the group whose last operation is `root`, unless that stays alone or is in another group."""
        if root in self._taken:
            return None
        members, inner = {root}, dict[PortRef, None]()
        while len(members) < MOST_STAGES and (found := self._next(root, members)) is not None:
            owner, writer = found
            members.add(writer)
            inner[owner] = None
        self._taken |= members
        return Group(tuple(sorted(members)), tuple(inner)) if inner else None

    def _next(self, root: int, members: set[int]) -> tuple[PortRef, int] | None:
        """Return a buffer that need not be stored once its writer joins the group, and that writer: the last one."""
        read = {place.owner for index in members for place in self._operations[index].access.reads}
        writers = {self._users[owner][0]: owner for owner in read & self._unneeded}
        for writer in sorted(writers.keys() - members, reverse=True):
            if self._may_join(writers[writer], writer, root, members):
                return writers[writer], writer
        return None

    def _may_join(self, owner: PortRef, writer: int, root: int, members: set[int]) -> bool:
        stages, readers = self._stages, self._users[owner][1:]
        if writer not in stages or writer in self._taken or not members.issuperset(readers):
            return False
        made, last = self._operations[writer], self._operations[root]
        if made.scope != last.scope or self._child_graphs[made.node] != self._child_graphs[last.node]:
            return False
        forms = {form for index in (writer, *readers) for form in stages[index].forms(owner)}
        if len(forms) > 1 or {shape for _, shape in forms} != {stages[root].shape}:
            return False
        others = [place for place in made.access.writes if place.owner != owner]
        return not (
            any(_overlap(others, _touched(self._operations[index])) for index in members)
            or any(_overlap(self._operations[index].access.writes, made.access.reads) for index in members)
            or any(
                _overlap(others, _touched(other)) or _overlap(other.access.writes, made.access.reads)
                for other in self._between(writer, root, members, [*others, *made.access.reads])
            )
        )

    def _between(self, writer: int, root: int, members: set[int], places: Iterable[Place]) -> Iterator[Operation]:
        """Give the operations from the writer's place to the group's that touch the buffers of some places."""
        for owner in {place.owner for place in places}:
            for index in self._users[owner]:
                if writer < index < root and index not in members:
                    yield self._operations[index]


def _touched(operation: Operation) -> tuple[Place, ...]:
    return (*operation.access.reads, *operation.access.writes)


def _overlap(some: Iterable[Place], others: Collection[Place]) -> bool:
    return any(one.overlaps(other) for one in some for other in others)
