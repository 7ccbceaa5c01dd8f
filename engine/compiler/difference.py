"""The difference between two plans, operation by operation, from which an executable graph is updated."""

from collections.abc import Hashable, Sequence
from functools import cached_property

import msgspec

from warploom.engine.compiler.buffers import TRANSIENT, BlockBuffers, Lifetime
from warploom.engine.compiler.operations import STATUS, AnyEntry, FusedEntry, Operation
from warploom.engine.compiler.plan import Plan
from warploom.engine.descriptions.entries import CaptureEntry, Kernel, KernelEntry
from warploom.engine.kernel_sources import op_graphs
from warploom.engine.kernel_sources.sources import OpGraphSource
from warploom.engine.patch.changes import PortRef
from warploom.engine.types.bits import same_array


class Difference(msgspec.Struct, frozen=True, dict=True):
    """The operations of the plan `before` compared with those of the plan `now`.

    `earlier` has the index in `before` of each operation, or -1. `gone` are the operations of `before` that `now`
    lacks. `renewed` operations may touch other bytes or have other launches; `retied` ones wait for others. A new
    operation is in both. `moved` are the buffers, by owner, that change their memory.
    """

    before: Plan
    now: Plan
    earlier: Sequence[int]
    gone: tuple[int, ...]
    renewed: frozenset[int]
    retied: frozenset[int]
    moved: frozenset[PortRef]

    @property
    def has_same_nodes(self) -> bool:
        """True when both plans give the same graph nodes, apart from their functions, launches, addresses and numbers.

        A library call may change its nodes too. That shows only when it is captured again.
        """
        operations, base = self.now.operations, self.before.operations
        return (
            len(operations) == len(base)
            and not self.retied
            and isinstance(self.earlier, range)
            and self.now.scopes == self.before.scopes
            and all(_is_same_node(operations[index], base[index]) for index in self.renewed)
        )

    @cached_property
    def touched(self) -> set[int]:
        """The operations that access a buffer that has moved."""
        users = self.now.schedule.users
        return {index for owner in self.moved for index in users.get(owner, ())}

    @cached_property
    def other_arrays(self) -> dict[PortRef, Lifetime]:
        """The buffers for which blocks now provide other arrays of the same layout, with their lifetimes.

        The arrays are contents, initial state, or the user's own memory.
        """
        bring = (Lifetime.PROVIDED, Lifetime.STATE, Lifetime.EXTERNAL)
        buffers = self.now.buffers.allocations.items() if self.moved else ()
        return {owner: buffer.lifetime for owner, buffer in buffers if owner in self.moved and buffer.lifetime in bring}

    @property
    def has_other_kernels(self) -> bool:
        """True when some operation launches a different kernel.

        Optimised code of an op graph takes its numbers as arguments, so another number needs no other kernel.
        """
        known = [index for index in self.renewed if self.earlier[index] >= 0]
        matches = ((self.now.operations[index], self.before.operations[self.earlier[index]]) for index in known)
        return any(
            isinstance(now.entry, KernelEntry)
            and isinstance(was.entry, KernelEntry)
            and _is_other(now.entry.kernel, was.entry.kernel)
            for now, was in matches
        )


def _is_other(now: Kernel, was: Kernel) -> bool:
    if isinstance(now.source, OpGraphSource) and isinstance(was.source, OpGraphSource):
        return op_graphs.shared(now.source) != op_graphs.shared(was.source)
    return now != was


def plan_difference(before: Plan, now: Plan) -> Difference:
    """Return the differences between a plan and an earlier one."""
    operations, base = now.operations, before.operations
    old_blocks = before.buffers.blocks
    changed = {
        node
        for node, block in now.buffers.blocks.items()
        if (old := old_blocks.get(node)) is not block and (old is None or not _is_same_block(old, block))
    }
    if now.unfused is not now.schedule:
        changed |= {o.node for o in operations if isinstance(o.entry, FusedEntry) and not changed.isdisjoint(o.nodes)}
    earlier = _line_up(before, now)
    is_shifted = not isinstance(earlier, range)
    renewed, retied = set(), set()
    for index, (operation, match) in enumerate(zip(operations, earlier, strict=True)):
        if match < 0:
            renewed.add(index)
            retied.add(index)
            continue
        was = base[match]
        if operation.node in changed or (operation is not was and _touches_others(operation, was)):
            renewed.add(index)
        if is_shifted:
            if operation.after or was.after:
                after = {earlier[other] for other in operation.after}
                if len(after) != len(was.after) or not after.issuperset(was.after):
                    retied.add(index)
        elif operation is not was and operation.after != was.after:
            retied.add(index)
    gone: tuple[int, ...] = ()
    if is_shifted:
        kept = set(earlier)
        gone = tuple([index for index in range(len(base)) if index not in kept])
    return Difference(before, now, earlier, gone, frozenset(renewed), frozenset(retied), _moved(before, now))


def same_plan(
    plan: Plan, *, renewed: frozenset[int] = frozenset(), moved: frozenset[PortRef] = frozenset()
) -> Difference:
    """Return a difference between a plan and itself, for updates that change only some kernels or addresses."""
    return Difference(plan, plan, range(len(plan.operations)), (), renewed, frozenset(), moved)


def _moved(before: Plan, now: Plan) -> frozenset[PortRef]:
    """Return the buffers of `now` whose memory differs from that in `before`, including the status words."""
    placed, known, allocations = now.placement, before.placement, before.buffers.allocations
    offsets, earlier, lasting = placed.offsets, known.offsets, placed.lasting
    has_arena, has_status = placed.size_bytes == known.size_bytes, now.status_places == before.status_places
    moved = [] if has_status else [STATUS]
    resized: list[PortRef] = []
    for owner, buffer in now.buffers.allocations.items():
        lifetime, old = buffer.lifetime, allocations.get(owner)
        if owner in offsets:
            stays = has_arena and earlier.get(owner) == offsets[owner]
        elif old is None or old.lifetime is not lifetime or owner in earlier:
            stays = False
        elif lifetime is Lifetime.STATUS:
            stays = has_status
        elif old.layout is not buffer.layout and old.layout != buffer.layout:
            stays = False
            resized.append(owner)
        elif lifetime in TRANSIENT:
            stays = owner not in lasting  # a lasting buffer is read before it is written, so it must begin with zeros
        else:
            stays = _holds_the_same(before, now, owner, lifetime)
        if not stays:
            moved.append(owner)
    return frozenset(now.restarting(resized).union(moved))


def _holds_the_same(before: Plan, now: Plan, owner: PortRef, lifetime: Lifetime) -> bool:
    """True when a block provides the same array for a buffer in both plans."""
    then, name = before.description.by_id[owner.node].description, owner.port
    block = now.description.by_id[owner.node].description
    if block is then or lifetime is Lifetime.FUSED:
        return True
    if lifetime is Lifetime.PROVIDED:
        return block.contents[name] is then.contents[name]
    if lifetime is Lifetime.EXTERNAL:
        return block.externals[name] is then.externals[name]
    initial, old = block.initials.get(name), then.initials.get(name)
    return initial is None or initial is old or (old is not None and same_array(initial, old))


def _is_same_block(old: BlockBuffers, new: BlockBuffers) -> bool:
    return old.layouts is new.layouts and old.region == new.region and old.places == new.places


def _touches_others(now: Operation, was: Operation) -> bool:
    others = now.access is not was.access and (now.reads != was.reads or now.writes != was.writes)
    return others or (now.entry is not was.entry and now.entry != was.entry)


def _line_up(before: Plan, now: Plan) -> Sequence[int]:
    """Return each operation's index in `before`, or -1; a range if every index is unchanged."""
    operations, base = now.operations, before.operations
    count = min(len(operations), len(base))
    start = next((index for index in range(count) if not _is_match(operations[index], base[index])), count)
    if start == len(operations) == len(base) and (len(now.scopes) == 1 or now.scopes == before.scopes):
        return range(count)
    known: dict[Hashable, list[int]] = {}
    for index in range(len(base) - 1, -1, -1):
        known.setdefault(_key(base[index], before), []).append(index)
    found = []
    for operation in operations:
        matches = known.get(_key(operation, now))
        found.append(matches.pop() if matches else -1)
    return found


def _is_match(operation: Operation, was: Operation) -> bool:
    return operation is was or (
        operation.node == was.node
        and operation.place == was.place
        and operation.scope == was.scope
        and (operation.place >= 0 or type(operation.entry) is type(was.entry))
    )


def _key(operation: Operation, plan: Plan) -> Hashable:
    """Return the key of an operation; several operations that the compiler added may share a key."""
    kind = type(operation.entry) if operation.place < 0 else None
    return operation.node, operation.place, plan.scopes[operation.scope].name, kind


def _is_same_node(now: Operation, was: Operation) -> bool:
    return now.reads == was.reads and now.writes == was.writes and _is_same_kind(now.entry, was.entry)


def _is_same_kind(now: AnyEntry, was: AnyEntry) -> bool:
    if isinstance(now, CaptureEntry) and isinstance(was, CaptureEntry):  # a call can be captured again
        return [a.name for a in now.buffers] == [a.name for a in was.buffers]
    if now is was or not (isinstance(now, KernelEntry) and isinstance(was, KernelEntry)):
        return now == was
    # A live parameter must keep its places, so that the known places stay valid.
    return (
        type(now) is type(was)
        and _origins(now) == _origins(was)
        and now.live_parameters == was.live_parameters
        and list(map(type, now.arguments)) == list(map(type, was.arguments))
        and [a.name for a in now.buffers] == [a.name for a in was.buffers]
    )


def _origins(entry: KernelEntry) -> tuple[str, ...]:
    return entry.origins if isinstance(entry, FusedEntry) else ()
