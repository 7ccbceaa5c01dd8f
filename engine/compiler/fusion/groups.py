"""Groups: the operations that become one kernel.

A stage joins the group of the stages that read its output, if no one else reads that buffer, in this frame or after it,
and if the buffer can be recomputed: a later read runs the stage again. A group stands at the place of one of its
operations. Between that place and the own place of another operation of the group, no operation may change a buffer
that this one reads, or touch another buffer that it writes.

All stages that read the same buffer join one group, if they have the same launch. Reductions of the same buffer form
one group too, with any writer. Some stages stay in groups of their own, such as a reduction and a stage whose result
is stored. They compute the buffer again where that pays (`repeating.py`). A single stage is a group if the types of its
buffers, known by now, make its code faster.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from math import inf, prod

import msgspec

from warploom.engine.compiler.fusion.stages import Stage
from warploom.engine.compiler.operations import OperationSchedule
from warploom.engine.kernel_sources.sources import OpGraphSource
from warploom.engine.ops import OPS
from warploom.engine.patch.changes import PortRef

#: The most operations in a group, since the time to compile a kernel grows with them.
MOST_STAGES = 32


class FusedGroup(msgspec.Struct, frozen=True, gc=False):
    """Operations that become one kernel, in order, and the buffers between them, which are no longer stored.

    The kernel stands at the place of operation `place`. An operation that is computed again is in several groups.
    """

    members: tuple[int, ...]
    inner: tuple[PortRef, ...]
    place: int


def find_groups(
    schedule: OperationSchedule,
    stages: Mapping[int, Stage],
    unneeded: AbstractSet[PortRef],
    child_graphs: Mapping[str, str],
) -> list[FusedGroup]:
    """Return the groups; `stages` are the operations that may be fused, by index.

    `unneeded` are the buffers that need not be stored if nothing else reads them. `child_graphs` has, for each block,
    the child graph that it belongs to, or "".
    """
    search = _Search(schedule, stages, unneeded, child_graphs)
    for root in sorted(stages, reverse=True):
        search.grow(root)
    search.repeat()
    return [
        FusedGroup(tuple(sorted(it.members)), tuple(it.inner), it.place)
        for it in search.groups
        if len(it.members) > 1 or stages[it.root].is_specialised
    ]


class _Growing:
    """A group whose last operation is `root`, with the buffers that it reads and writes."""

    def __init__(self, root: int, reads: AbstractSet[PortRef], writes: AbstractSet[PortRef]) -> None:
        self.root, self.place, self.members = root, root, {root}
        self.reads, self.writes, self.inner = set(reads), set(writes), dict[PortRef, None]()

    def copy(self, place: int) -> _Growing:
        """Return an equal group that stands at another place."""
        made = _Growing(self.root, self.reads, self.writes)
        made.place, made.members, made.inner = place, set(self.members), dict(self.inner)
        return made


class _Search:
    def __init__(
        self,
        schedule: OperationSchedule,
        stages: Mapping[int, Stage],
        unneeded: AbstractSet[PortRef],
        child_graphs: Mapping[str, str],
    ) -> None:
        self._operations, self._users = schedule.operations, schedule.users
        self._stages, self._unneeded, self._child_graphs = stages, unneeded, child_graphs
        #: The groups so far, in descending order of roots; below, the groups of each operation.
        self.groups: list[_Growing] = []
        self._homes: dict[int, list[_Growing]] = {}
        #: For each buffer, the operations that touch it at another operation's place, as sorted pairs (place,
        #: operation).
        self._moved_users: dict[PortRef, list[tuple[int, int]]] = {}

    def grow(self, root: int) -> None:
        """Find the group whose last operation is `root`, unless `root` is in a group already. The group may hold only
        `root`.
        """
        if root in self._homes:
            return
        group = _Growing(root, self._operations[root].reads, self._operations[root].writes)
        while (larger := self._with_a_writer(group) or self._with_a_reader(group)) is not None:
            group = larger
        self.groups.append(group)
        for member in group.members:
            self._homes[member] = [group]
        self._note_places(group, group.members)

    def repeat(self) -> None:
        """Merge each group into all groups that read its one buffer, where computing the buffer again pays."""
        for group in list(self.groups):
            owner = next(iter(group.writes)) if len(group.writes) == 1 else None
            if owner not in self._unneeded or owner is None or self._stages[group.root].is_last:
                continue
            readers = self._users[owner][1:]
            if len(readers) > MOST_STAGES or not all(reader in self._homes for reader in readers):
                continue
            targets = list({id(home): home for reader in readers for home in self._homes[reader]}.values())
            if not targets or not all(self._may_take_in(target, group, owner) for target in targets):
                continue
            added = [group.reads - target.reads for target in targets]
            members = [self._stages[member] for member in group.members]
            if not is_worth_repeating(owner, members, self._stages[group.root], group.reads, added):
                continue
            for target in targets:
                target.members |= group.members
                target.reads = (target.reads | group.reads) - {owner}
                target.inner |= {**group.inner, owner: None}
                self._note_places(target, group.members)
            self._note_places(group, group.members, gone=True)
            for member in group.members:
                self._homes[member] = [home for home in self._homes[member] if home is not group] + targets
            self.groups.remove(group)

    def _with_a_writer(self, group: _Growing) -> _Growing | None:
        """Return the group with a buffer's last writer and its other readers, if the buffer then need not be stored."""
        writers = {self._users[owner][0]: owner for owner in group.reads & self._unneeded}
        for writer in sorted(writers, reverse=True):
            owner = writers[writer]
            if len(self._users[owner]) > MOST_STAGES:
                continue
            others = [reader for reader in self._users[owner][1:] if reader not in group.members]
            if not others and self._joins(writer, group, owner):
                return group
            if not others:
                continue
            for larger in self._moved(group, others):
                if all(self._joins(other, larger) for other in others) and self._joins(writer, larger, owner):
                    return larger
        return None

    def _with_a_reader(self, group: _Growing) -> _Growing | None:
        """Return the group with another reduction of the buffers that its reductions read, or another reader of a
        buffer.

        With one more reader in the group, fewer kernels need to compute that buffer again.
        """
        users, unneeded, stages = self._users, self._unneeded, self._stages
        if len(group.members) == MOST_STAGES:
            return None
        shared = {owner for owner in group.reads if len(users[owner]) <= MOST_STAGES}
        if not stages[group.root].is_last:
            shared = {owner for owner in shared & unneeded if users[owner][0] in stages}
        for other in sorted({user for owner in shared for user in users[owner]}, reverse=True):
            if other < group.root and other not in group.members:
                for larger in self._moved(group, [other]):
                    if self._joins(other, larger):
                        return larger
        return None

    def _moved(self, group: _Growing, others: list[int]) -> Iterator[_Growing]:
        """Yield copies of a group at its place and, if allowed, at the place of the first of other operations."""
        yield group.copy(group.place)
        if others and (place := min(others)) < group.place:
            moved = group.copy(place)
            made = ((member, self._operations[member]) for member in group.members)
            if all(
                self._may_move(member, o.reads - group.inner.keys(), o.writes - group.inner.keys(), moved)
                for member, o in made
            ):
                yield moved

    def _joins(self, index: int, group: _Growing, owner: PortRef | None = None) -> bool:
        """Add an operation to a group if the two may run together: it writes `owner`, or has the same launch."""
        stages, made = self._stages, self._operations[index]
        if index not in stages or index in self._homes or len(group.members) == MOST_STAGES:
            return False
        reads, others = made.reads, made.writes - {owner} if owner is not None else made.writes
        if owner is not None:
            if not self._is_passed_on(owner, group) or stages[index].is_last:
                return False
        elif stages[index].launch != stages[group.root].launch:
            return False
        if not self._may_run_with(index, group, reads, others):
            return False
        group.members.add(index)
        group.reads = (group.reads | reads) - {owner}
        group.writes |= others
        if owner is not None:
            group.inner[owner] = None
        return True

    def _may_take_in(self, group: _Growing, other: _Growing, owner: PortRef) -> bool:
        """True when a group may compute again the contents that another group writes to a buffer."""
        if group is other or len(group.members | other.members) > MOST_STAGES:
            return False
        return self._is_passed_on(owner, group) and self._may_run_with(other.place, group, other.reads, set())

    def _is_passed_on(self, owner: PortRef, group: _Growing) -> bool:
        """True when a buffer is written and read with one element type, in the shape that a group computes."""
        users = [index for index in self._users[owner] if index in self._stages]
        forms = {form for index in users for form in self._stages[index].forms(owner)}
        return len(forms) == 1 and {shape for _, shape in forms} == {self._stages[group.root].shape}

    def _may_run_with(
        self, start: int, group: _Growing, reads: AbstractSet[PortRef], writes: AbstractSet[PortRef]
    ) -> bool:
        """True when a group may do the work at place `start`, without a buffer between them."""
        made, last = self._operations[start], self._operations[group.root]
        if made.scope != last.scope or self._child_graphs[made.node] != self._child_graphs[last.node]:
            return False
        if not (writes.isdisjoint(group.reads | group.writes) and group.writes.isdisjoint(reads)):
            return False  # the threads of one kernel are not ordered
        return self._may_move(start, reads, writes, group)

    def _may_move(self, start: int, reads: AbstractSet[PortRef], writes: AbstractSet[PortRef], group: _Growing) -> bool:
        """True when the work at place `start` may move to a group's place, which is before or after it."""
        first, last = sorted((start, group.place))
        if last - first < 2:
            return True
        between = {user for touched in reads | writes for user in self._users_between(touched, first, last)}
        made = (self._operations[user] for user in between - group.members)
        return all(reads.isdisjoint(o.writes) and writes.isdisjoint(o.reads | o.writes) for o in made)

    def _users_between(self, owner: PortRef, first: int, last: int) -> Iterator[int]:
        """Yield the operations that touch a buffer between two places, at their own place or at a group's."""
        users, moved = self._users[owner], self._moved_users.get(owner, [])
        yield from users[bisect_right(users, first) : bisect_left(users, last)]
        for _, user in moved[bisect_left(moved, (first + 1, -1)) : bisect_left(moved, (last, -1))]:
            yield user

    def _note_places(self, group: _Growing, members: Iterable[int], *, gone: bool = False) -> None:
        """Record that operations stand at their group's place or, with `gone`, that they have left it."""
        for member in members:
            if member == group.place:
                continue
            for owner in self._operations[member].reads | self._operations[member].writes:
                moved = self._moved_users.setdefault(owner, [])
                if gone:
                    moved.remove((group.place, member))
                else:
                    insort(moved, (group.place, member))


#: The number of operations that take as long as moving one byte to or from memory. GPUs do about 15 f32 operations per
#: byte and CPUs about 5. But a buffer may lie in a cache, and an operation may be slower than an addition.
OPERATIONS_PER_BYTE = 2
#: Weights of ops by category, where they differ from one operation; a loop's number of turns is unknown.
_OPERATIONS = {"Kernel": 0.0, "Indices": 0.0, "Functions": 16.0, "Noise": 64.0, "Control": inf}


def is_worth_repeating(
    owner: PortRef,
    stages: Collection[Stage],
    writer: Stage,
    reads: Iterable[PortRef],
    added: Sequence[Iterable[PortRef]],
) -> bool:
    """True when the saved memory traffic outweighs the repeated operations.

    `stages` compute a buffer from the buffers `reads`; `writer`, the last of them, stores it. Each item of `added` is a
    kernel that would compute it again, given as the buffers that this kernel would have to read in addition.
    """
    sizes = {name: size for stage in stages for name, size in stage.sizes_bytes().items()}
    saved = sizes[owner] * (1 + len(added)) + sum(sizes.get(name, 0) for name in reads)
    saved -= sum(sizes.get(name, 0) for names in added for name in names)  # the frame uniforms are not a port
    repeated = sum(operations(stage.source) for stage in stages) * (len(added) - 1) if len(added) > 1 else 0
    return repeated * prod(writer.shape) * writer.components(owner) <= OPERATIONS_PER_BYTE * saved


@lru_cache(maxsize=512)
def operations(source: OpGraphSource) -> float:
    """Return roughly how many operations an op graph needs for one component of an element."""
    return sum(_OPERATIONS.get(OPS[node.type].category, 1.0) for node in source.parsed().nodes)
