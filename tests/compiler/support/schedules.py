"""Schedules made by hand or at random, and an interpreter that runs them in shared or in separate memory."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from msgspec.structs import replace

from warploom.engine.compiler.buffers import BufferPlan, Lifetime, PlannedBuffer
from warploom.engine.compiler.checking.layouts import Layout
from warploom.engine.compiler.memory.placement import Placement, place_buffers
from warploom.engine.compiler.operations import (
    Access,
    Operation,
    OperationSchedule,
    Place,
    RegionEntry,
    Scope,
    find_users,
)
from warploom.engine.descriptions.entries import BufferArgument, FillEntry, RegionKind
from warploom.engine.patch.changes import PortRef
from warploom.engine.types import u8

UNIT = 256
#: These tests don't depend on what an operation does.
WORK = FillEntry(BufferArgument("out", reads=False, writes=True), 0)


def b(node: str) -> PortRef:
    """Return the buffer of a block with a single buffer."""
    return PortRef(node, "out")


def access(reads: Iterable[PortRef], writes: Iterable[PortRef]) -> Access:
    """Return an access to the first bytes of buffers, each once."""
    read, written = (tuple(Place(o, 0, UNIT) for o in sorted(set(owners), key=str)) for owners in (reads, writes))
    return Access(read, written)


@dataclass
class Draft:
    """Builds a schedule in which every operation comes after those with which it shares a buffer."""

    operations: list[Operation] = field(default_factory=list)
    scopes: list[Scope] = field(default_factory=lambda: [Scope(-1, "", -1, ())])
    sizes: dict[PortRef, int] = field(default_factory=dict)
    lifetimes: dict[PortRef, Lifetime] = field(default_factory=dict)
    pinned: set[PortRef] = field(default_factory=set)
    #: The buffers that each operation reads and writes.
    touched: list[tuple[frozenset[PortRef], frozenset[PortRef]]] = field(default_factory=list)

    def op(self, node: str, reads: Sequence[str] = (), writes: Sequence[str] | None = None, scope: int = 0) -> int:
        """Add an operation of `node` that by default writes the node's own buffer; return its index."""
        written = [b(n) for n in ([node] if writes is None else writes)]
        return self._add(Operation(node, WORK, access([b(n) for n in reads], written), (), scope))

    def region(self, node: str, kind: RegionKind, condition: str, scope: int = 0) -> tuple[int, ...]:
        """Begin a region whose condition is computed from a buffer; return its scopes."""
        handle = [PortRef(node, "")]
        self._add(Operation(node, WORK, access([b(condition)], handle), (), scope))
        branches = {RegionKind.IF_ELSE: ("", "else"), RegionKind.SWITCH: ("", "1", "2")}.get(kind, ("",))
        numbers = tuple(len(self.scopes) + i for i in range(len(branches)))
        self._append(Operation(node, RegionEntry(kind, numbers), access(handle, ()), (), scope))
        for branch in branches:
            self.scopes.append(Scope(len(self.operations) - 1, f"{node}.{branch}" if branch else node, scope, ()))
        return numbers

    def end(self, scopes: Sequence[int]) -> None:
        """End a region: its accesses are those of its bodies."""
        index = self.scopes[scopes[0]].region
        old = self.operations[index]
        inside = [o for o in self.operations if o.scope in scopes]
        touched = access(old.reads.union(*(o.reads for o in inside)), old.writes.union(*(o.writes for o in inside)))
        changed = Operation(old.node, old.entry, touched, (), old.scope)
        self.operations[index] = replace(changed, after=self._dependencies(changed, index))
        self.touched[index] = changed.reads, changed.writes

    def _add(self, new: Operation) -> int:
        index = len(self.operations)
        after = self._dependencies(new, index)
        self._append(replace(new, after=after))
        return index

    def _append(self, new: Operation) -> None:
        self.operations.append(new)
        self.touched.append((new.reads, new.writes))

    def _dependencies(self, new: Operation, index: int) -> tuple[int, ...]:
        writes = new.writes
        touched = new.reads | writes
        return tuple(
            earlier
            for earlier, (old, (read, written)) in enumerate(
                zip(self.operations[:index], self.touched[:index], strict=True)
            )
            if old.scope == new.scope and not (written.isdisjoint(touched) and read.isdisjoint(writes))
        )

    def finished_scopes(self) -> list[Scope]:
        """Return the scopes with their operations."""
        members = [tuple(i for i, o in enumerate(self.operations) if o.scope == n) for n in range(len(self.scopes))]
        return [Scope(s.region, s.name, s.parent, inside) for s, inside in zip(self.scopes, members, strict=True)]

    def place(self, keep: Placement | None = None) -> Placement:
        """Return the placement of the buffers."""
        owners = [o for operation in self.operations for o in sorted(operation.writes | operation.reads, key=str)]
        allocations = {}
        for owner in dict.fromkeys(owners):
            if not owner.port:
                continue
            layout = Layout(u8, (self.sizes.get(owner, UNIT),))
            lifetime = self.lifetimes.get(owner, Lifetime.GRAPH)
            allocations[owner] = PlannedBuffer(owner, layout, lifetime, layout.size_bytes)
        plan = BufferPlan(allocations, {})
        schedule = OperationSchedule(tuple(self.operations), tuple(self.scopes), find_users(self.operations))
        return place_buffers(schedule, plan, frozenset(self.pinned), keep)


def random_draft(random: Random, count: int) -> Draft:
    """Return a schedule of about `count` operations with regions, in-place changes, state and buffers of many sizes."""
    draft = Draft()
    seen = ["s0", "s1"]
    for name in seen[: random.randint(0, 2)]:
        draft.lifetimes[b(name)] = Lifetime.STATE
    seen = [owner.node for owner in draft.lifetimes]
    counter = iter(range(10**6))

    def fill(scope: int, visible: list[str], budget: int, depth: int) -> None:
        while budget > 0:
            budget -= 1
            name = f"n{next(counter)}"
            reads = random.sample(visible[-6:], min(len(visible[-6:]), random.randint(0, 3)))
            draft.sizes[b(name)] = UNIT * random.choice([1, 1, 2, 3, 5])
            chance = random.random()
            if chance < 0.15 and visible:
                changed = random.choice(visible)
                draft.op(name, [*reads, changed], random.choice([[changed], [changed, name]]), scope)
                if b(name) in draft.operations[-1].writes:
                    visible.append(name)
            elif chance < 0.3 and visible and depth < 3 and budget > 2:
                output = f"{name}_result"
                draft.op(output, [], None, scope)
                inside = draft.region(name, random.choice(list(RegionKind)), random.choice(visible), scope)
                share = random.randint(1, budget)
                for branch in inside:
                    local = [*visible, output]
                    fill(branch, local, share, depth + 1)
                    draft.op(output, [random.choice(local)], None, branch)
                draft.end(inside)
                visible.append(output)
                budget -= share
            else:
                # The block declares an inner buffer as read, although it reads nothing of the last frame.
                draft.op(name, [*reads, name] if chance > 0.9 else reads, None, scope)
                visible.append(name)

    fill(0, seen, count, 0)
    draft.pinned = {b(n) for n in seen if random.random() < 0.1}
    return draft


class Memory:
    """Contents by owner, in separate memory or in an arena whose units each record their last writer."""

    def __init__(self, placement: Placement | None = None) -> None:
        self.placement = placement
        self.separate: dict[PortRef, Any] = {}
        self.arena: dict[int, Any] = {}

    def write(self, owner: PortRef, value: Any) -> None:
        """Overwrite a whole buffer."""
        if self.placement is None or owner not in self.placement.offsets:
            self.separate[owner] = value
            return
        for unit in self._units(owner):
            self.arena[unit] = (owner, value)

    def read(self, owner: PortRef) -> Any:
        """Return the contents of a buffer, or "torn" if another buffer overwrote a part of it."""
        if self.placement is None or owner not in self.placement.offsets:
            return self.separate.get(owner)
        found = {self.arena.get(unit) for unit in self._units(owner)}
        (only,) = found if len(found) == 1 else [None]
        return only[1] if only is not None and only[0] == owner else "torn"

    def _units(self, owner: PortRef) -> range:
        assert self.placement is not None
        start = self.placement.offsets[owner]
        return range(start // UNIT, (start + self.placement.sizes[owner]) // UNIT)


@dataclass
class Run:
    """One frame, with the buffers that it wrote."""

    draft: Draft
    read: Callable[[PortRef], Any]
    write: Callable[[PortRef, Any], None]
    random: Random
    written: set[PortRef] = field(default_factory=set)
    read_values: dict[tuple[int, int], tuple[Any, ...]] = field(default_factory=dict)
    turns: dict[int, int] = field(default_factory=dict)

    def scope(self, number: int, only: Sequence[int] | None = None) -> None:
        """Run a scope's operations in an order that their dependencies allow."""
        operations = self.draft.operations
        waiting = [i for i, o in enumerate(operations) if o.scope == number and (only is None or i in only)]
        while waiting:
            ready = [i for i in waiting if not set(operations[i].after) & set(waiting)]
            index = self.random.choice(ready)
            waiting.remove(index)
            self._operation(index)

    def _operation(self, index: int) -> None:
        operation = self.draft.operations[index]
        if isinstance(operation.entry, RegionEntry):
            condition = self.read(PortRef(operation.node, ""))
            if operation.entry.kind.is_loop:
                for _ in range(condition % 3):
                    self.scope(operation.entry.scopes[0])
            elif condition % 2:
                self.scope(operation.entry.scopes[0])
            elif len(operation.entry.scopes) == 2:
                self.scope(operation.entry.scopes[1])
            return
        turn = self.turns[index] = self.turns.get(index, -1) + 1
        reads = [owner for owner in operation.reads if owner.node != operation.node]
        values = tuple(self.read(owner) for owner in sorted(reads, key=str))
        self.read_values[index, turn] = values
        for owner in operation.writes:
            self.write(owner, hash((index, owner.node, values)))
            self.written.add(owner)
