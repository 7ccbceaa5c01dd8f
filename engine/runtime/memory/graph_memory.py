"""The memory of one compiled graph: claimed before the graph is built, released when it has been replaced."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from warploom.engine.compiler.buffers import TRANSIENT, Lifetime, PlannedBuffer
from warploom.engine.compiler.difference import Difference
from warploom.engine.compiler.operations import FRAME, STATUS
from warploom.engine.compiler.plan import Plan
from warploom.engine.device.device import Buffer, Device
from warploom.engine.device.protocol import Memory, MemoryPart, PinnedArray
from warploom.engine.device.releasing import release_all
from warploom.engine.diagnostics import DeviceError, Diagnostic, GraphValidationError, Source, error
from warploom.engine.figures import format_bytes
from warploom.engine.patch.changes import PortRef
from warploom.engine.profiling.side_work import SideKind, SideTimes
from warploom.engine.runtime.memory.buffer_pool import BufferPool, bucket_bytes, exact_bytes
from warploom.engine.runtime.memory.state_store import KeptState, StateStore

WORD_BYTES = 4


@dataclass
class GraphMemory:
    """The memory of each buffer of a plan, by owner, and the pool that it returns to.

    `swapped` is where buffers that swap places lie in every other frame; `status` receives the status words.
    """

    by_owner: dict[PortRef, Memory]
    swapped: dict[PortRef, Memory] = field(default_factory=dict)
    states: dict[PortRef, KeptState] = field(default_factory=dict)
    status: PinnedArray | None = None
    pooled: list[Memory] = field(default_factory=list)
    adopted: dict[PortRef, Memory] = field(default_factory=dict)
    #: Holds the buffers that share memory.
    arena: Memory | None = None
    #: Identities of memory that still belongs to another graph.
    borrowed: set[int] = field(default_factory=set)

    def take_over(self, old: GraphMemory) -> None:
        """Take over memory borrowed from `old`, whose rest can then be released."""
        old.borrowed, self.borrowed = self.borrowed, set()  # a running graph has borrowed nothing

    def release(self, pool: BufferPool) -> None:
        """Release everything but state, which outlives the graph; a second call does nothing."""
        borrowed = self.borrowed
        for memory in self.pooled:
            if id(memory) not in borrowed:
                pool.release(memory)
        own: list[Memory | PinnedArray] = [*self.adopted.values()]
        if self.status is not None:
            own.append(self.status)
        self.pooled.clear()
        self.adopted.clear()
        self.status = self.arena = None
        release_all(*(item.free for item in own if id(item) not in borrowed))

    def abandon(self, pool: BufferPool, store: StateStore) -> None:
        """Free all memory that was claimed for a graph that won't run."""
        store.abandon(self.states)
        self.states.clear()
        self.release(pool)


def allocate_buffers(
    plan: Plan,
    device: Device,
    pool: BufferPool,
    store: StateStore,
    frame: Memory,
    claimed: GraphMemory | None = None,
    times: SideTimes | None = None,
) -> GraphMemory:
    """Claim memory for every buffer of a plan and upload the contents that blocks provide.

    `claimed` is existing memory, from `keep_memory`; `times` takes how long uploads take. When something doesn't fit,
    raise GraphValidationError with its node and claim nothing.
    """
    claimed, times = claimed or GraphMemory({}), times or SideTimes()
    claimed.by_owner[FRAME] = frame
    try:
        _allocate_transient(plan, pool, claimed)
        _allocate_status(plan, device, pool, claimed)
        by_owner, anew = claimed.by_owner, store.restarting(plan)
        for owner, buffer in plan.buffers.allocations.items():
            if owner not in by_owner and buffer.lifetime is not Lifetime.FUSED:
                by_owner[owner] = _allocate_own(plan, owner, buffer, device, pool, store, anew, claimed, times)
    except BaseException:
        claimed.abandon(pool, store)
        raise
    for target, source in plan.buffers.swaps.items():
        claimed.swapped[target] = claimed.by_owner[source]
        claimed.swapped[source] = claimed.by_owner[target]
    return claimed


class MemoryRefused(GraphValidationError):
    """A plan needs more memory than there is."""


#: How many buffers are named when all together are too large.
MOST_NAMED = 3


def require_memory(
    plan: Plan, device: Device, pool: BufferPool, kept: AbstractSet[PortRef], *, has_arena: bool = False
) -> None:
    """Raise MemoryRefused at the largest buffers when the plan needs more memory than there is.

    `kept` are the buffers that exist already; with `has_arena`, so does the memory that the others share.
    """
    if _total(plan, kept, has_arena=has_arena) <= pool.idle_bytes:  # asking how much is free takes long
        return
    available = device.memory_free_bytes + pool.idle_bytes
    if problems := out_of_memory_errors(plan, available, device.info.name, kept, has_arena=has_arena):
        raise MemoryRefused(problems)


def out_of_memory_errors(
    plan: Plan, available: int, device: str, kept: AbstractSet[PortRef] = frozenset(), *, has_arena: bool = False
) -> list[Diagnostic]:
    """Return an error at each of the largest buffers when a plan needs more than the `available` bytes of a device.

    It names as many as must be removed for the rest to fit, at most three. The last arguments are those of
    `require_memory`.
    """
    allocations, wanted = plan.buffers.allocations, _wanted(plan, kept, has_arena=has_arena)
    problems: list[Diagnostic] = []
    left = total = _total(plan, kept, has_arena=has_arena)
    for owner in sorted(wanted, key=lambda owner: allocations[owner].layout.size_bytes, reverse=True)[:MOST_NAMED]:
        if left <= available:
            break
        left -= wanted[owner]
        size = format_bytes(allocations[owner].layout.size_bytes)
        text = f"buffers must fit in the memory of {device}: all together need {format_bytes(total)}, "
        text += f"{format_bytes(available)} are there; this one is {size}"
        place = {
            "node": owner.node,
            "port": owner.port,
            "remedy": "make it smaller, or close other programs that use the memory",
            "source": Source.CAPACITY,
        }
        problems.append(error(text, expected=f"at most {format_bytes(available)}", found=format_bytes(total), **place))
    return problems


def _total(plan: Plan, kept: AbstractSet[PortRef], *, has_arena: bool) -> int:
    """Return the bytes that a plan has to allocate."""
    shared = plan.placement.offsets
    arena = exact_bytes(plan.placement.size_bytes) if shared and not has_arena else 0
    return arena + sum(_wanted(plan, kept | shared.keys(), has_arena=has_arena).values())


def _wanted(plan: Plan, kept: AbstractSet[PortRef], *, has_arena: bool) -> dict[PortRef, int]:
    """Return the bytes of each buffer that a plan has to allocate, by itself or in the arena."""
    shared = plan.placement.offsets
    there = kept | shared.keys() if has_arena else kept
    return {
        owner: bucket_bytes(buffer.layout.size_bytes)
        for owner, buffer in plan.buffers.allocations.items()
        if owner not in there and buffer.lifetime is not Lifetime.EXTERNAL and buffer.lifetime is not Lifetime.FUSED
    }


def _adopt_array(plan: Plan, device: Device, owner: PortRef) -> Memory:
    """Return the memory of the array that a block names for `owner`. Raise GraphValidationError if it can't be used."""
    array = plan.description.by_id[owner.node].description.externals[owner.port]
    if isinstance(array.keep, Buffer) and array.keep.device is not device:
        text = "buffer must be one of the engine's own device, got one of another engine, which may free it at any time"
        remedy = "upload its contents again: engine.device.upload(buffer.download())"
        found = error(text, node=owner.node, port=owner.port, remedy=remedy, source=Source.ENGINE)
        raise GraphValidationError([found])
    try:
        return device.adopt(array)
    except DeviceError as problem:
        remedy = "give the block an array in memory of the device that runs the patch"
        raise GraphValidationError([error(str(problem), node=owner.node, port=owner.port, remedy=remedy)]) from problem


def _allocate_transient(plan: Plan, pool: BufferPool, claimed: GraphMemory) -> None:
    """Claim the arena: one piece of memory for all transient buffers, which share its bytes as they are placed."""
    placement = plan.placement
    if not placement.offsets:
        return
    arena = claimed.arena
    try:
        if arena is None:
            arena = claimed.arena = pool.acquire(placement.size_bytes, exact=True)
            claimed.pooled.append(arena)
    except DeviceError as problem:
        allocations = plan.buffers.allocations
        largest = max(placement.offsets, key=lambda owner: allocations[owner].layout.size_bytes)
        raise _too_large(largest, allocations[largest], problem, placement.size_bytes) from problem
    by_owner, allocations = claimed.by_owner, plan.buffers.allocations
    for owner, offset in placement.offsets.items():
        if owner not in by_owner:
            by_owner[owner] = MemoryPart(arena, offset, allocations[owner].size_bytes or 1)


def _allocate_status(plan: Plan, device: Device, pool: BufferPool, claimed: GraphMemory) -> None:
    places = plan.status_places
    if not places or claimed.status is not None:
        return
    size_bytes = max(place.end for place in places.values())
    memory = pool.acquire(size_bytes)
    claimed.pooled.append(memory)
    claimed.status = device.pinned(np.zeros(size_bytes // WORD_BYTES, np.uint32))
    claimed.by_owner[STATUS] = memory
    for owner, place in places.items():
        claimed.by_owner[owner] = MemoryPart(memory, place.offset, place.size_bytes)


def _allocate_own(
    plan: Plan,
    owner: PortRef,
    buffer: PlannedBuffer,
    device: Device,
    pool: BufferPool,
    store: StateStore,
    anew: AbstractSet[PortRef],
    claimed: GraphMemory,
    times: SideTimes,
) -> Memory:
    if buffer.lifetime is Lifetime.EXTERNAL:
        claimed.adopted[owner] = _adopt_array(plan, device, owner)
        return claimed.adopted[owner]
    try:
        if buffer.lifetime is Lifetime.STATE:
            initials = plan.description.by_id[owner.node].description.initials
            initial = initials.get(owner.port, buffer.initial)
            state = store.claim(owner, buffer.layout, initial, anew=owner in anew)
            claimed.states[owner] = state
            return state.memory
        memory = pool.acquire(buffer.layout.size_bytes)
    except DeviceError as problem:
        raise _too_large(owner, buffer, problem) from problem
    claimed.pooled.append(memory)
    if buffer.lifetime is Lifetime.PROVIDED:
        contents = plan.description.by_id[owner.node].description.contents[owner.port]
        with times.timed(SideKind.UPLOAD, str(owner), contents.nbytes):
            device.write(memory, contents)
    else:
        assert buffer.lifetime in TRANSIENT
    return memory


def _too_large(
    owner: PortRef, buffer: PlannedBuffer, problem: DeviceError, together: int | None = None
) -> GraphValidationError:
    size = buffer.layout.size_bytes
    whole = f" (with all others {together:,})" if together is not None and together != size else ""
    text = f"buffer of {size:,} bytes{whole} must fit on the device: {problem}"
    remedy = "make it smaller, or close other programs that use the device's memory"
    return GraphValidationError([error(text, node=owner.node, port=owner.port, remedy=remedy, source=Source.CAPACITY)])


def status_words(plan: Plan, array: np.ndarray[Any, Any]) -> dict[PortRef, int]:
    """Return the value of every status word, by its buffer, from the array that was read back."""
    words, places = array.tolist(), plan.status_places.items()
    return {owner: words[place.offset // WORD_BYTES] for owner, place in places if place.size_bytes == WORD_BYTES}


def keep_memory(changes: Difference, running: GraphMemory) -> GraphMemory:
    """Return the memory of the running graph that the next one can use, borrowed until `take_over`.

    The two graphs never run at the same time, and transient buffers need no contents from before.
    """
    claimed, plan, moved = GraphMemory({}), changes.now, changes.moved
    placement, earlier, known = plan.placement, changes.before.placement, changes.before.buffers.allocations
    pooled, borrowed, by_owner, held = claimed.pooled, claimed.borrowed, claimed.by_owner, running.by_owner
    if running.arena is not None and placement.offsets and placement.size_bytes == earlier.size_bytes:
        claimed.arena = running.arena
        pooled.append(running.arena)
        borrowed.add(id(running.arena))
    if running.status is not None and STATUS not in moved and plan.status_places:
        claimed.status, by_owner[STATUS] = running.status, held[STATUS]
        pooled.append(held[STATUS])
        borrowed |= {id(held[STATUS]), id(running.status)}
    for owner, buffer in plan.buffers.allocations.items():
        lifetime = buffer.lifetime
        if owner in moved or lifetime is Lifetime.STATE or lifetime is Lifetime.FUSED:  # the state store keeps state
            continue
        if owner in placement.offsets:  # another size needs another part of the arena
            old = known[owner].layout
            if old is buffer.layout or old.size_bytes == buffer.layout.size_bytes:
                by_owner[owner] = held[owner]
            continue
        memory = by_owner[owner] = held[owner]
        if lifetime is Lifetime.STATUS:
            continue
        borrowed.add(id(memory))
        if lifetime is Lifetime.EXTERNAL:
            claimed.adopted[owner] = memory
        else:
            pooled.append(memory)
    return claimed
