"""Groups: which operations become one kernel, at the place of the last of them.

A stage joins the group of those that read what it writes. That holds for a buffer that nobody else reads, in this frame
or after it, and that could be computed again: whoever reads it later has its stage run once more. Nothing between the
stage's own place and the group's may change what the stage reads, nor touch what else it writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet

import msgspec

from engine.compiler.fusion.stages import Stage
from engine.compiler.operations import Schedule
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


class _Growing(msgspec.Struct, gc=False):
    """A group whose last operation is `root`, with the buffers that it reads and writes."""

    root: int
    members: set[int]
    reads: set[PortRef]
    writes: set[PortRef]


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
        operation, inner = self._operations[root], dict[PortRef, None]()
        growing = _Growing(root, {root}, set(operation.reads), set(operation.writes))
        while len(growing.members) < MOST_STAGES and (found := self._next(growing)) is not None:
            owner, writer = found
            growing.members.add(writer)
            growing.reads = (growing.reads | self._operations[writer].reads) - {owner}
            growing.writes |= self._operations[writer].writes - {owner}
            inner[owner] = None
        self._taken |= growing.members
        return Group(tuple(sorted(growing.members)), tuple(inner)) if inner else None

    def _next(self, group: _Growing) -> tuple[PortRef, int] | None:
        """Return a buffer that need not be stored once its writer joins the group, and that writer: the last one."""
        writers = {self._users[owner][0]: owner for owner in group.reads & self._unneeded}
        for writer in sorted(writers, reverse=True):
            if self._may_join(writers[writer], writer, group):
                return writers[writer], writer
        return None

    def _may_join(self, owner: PortRef, writer: int, group: _Growing) -> bool:
        stages, readers, root = self._stages, self._users[owner][1:], group.root
        if writer not in stages or writer in self._taken or not group.members.issuperset(readers):
            return False
        if stages[writer].is_last:
            return False
        made, last = self._operations[writer], self._operations[root]
        if made.scope != last.scope or self._child_graphs[made.node] != self._child_graphs[last.node]:
            return False
        forms = {form for index in (writer, *readers) for form in stages[index].forms(owner)}
        if len(forms) > 1 or {shape for _, shape in forms} != {stages[root].shape}:
            return False
        reads, others = made.reads, made.writes - {owner}
        if not (others.isdisjoint(group.reads | group.writes) and group.writes.isdisjoint(reads)):
            return False  # the threads of one kernel have no order
        between = (
            self._operations[index]
            for touched in reads | others
            for index in self._users[touched]
            if writer < index < root and index not in group.members
        )
        return all(reads.isdisjoint(o.writes) and others.isdisjoint(o.reads | o.writes) for o in between)
