"""The memory of one compiled graph: claimed before it is built, given back when it has been replaced."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from engine.compiler.buffers import TRANSIENT, Lifetime, PlannedBuffer
from engine.compiler.operations import FRAME, STATUS
from engine.compiler.plan import Plan
from engine.device.memory import MemoryPart
from engine.device.protocol import Device, Memory, PinnedArray
from engine.diagnostics import DeviceError, GraphValidationError, error
from engine.patch.changes import PortRef
from engine.runtime.pool import BufferPool
from engine.runtime.states import State, StateStore

WORD_BYTES = 4


@dataclass
class GraphMemory:
    """Where each buffer of a plan lies, by owner, and what of it is to be given back to whom.

    `swapped` is where the buffers that change places lie in every other frame; `status` receives the status words.
    """

    by_owner: dict[PortRef, Memory]
    swapped: dict[PortRef, Memory] = field(default_factory=dict)
    states: dict[PortRef, State] = field(default_factory=dict)
    status: PinnedArray | None = None
    pooled: list[Memory] = field(default_factory=list)
    adopted: list[Memory] = field(default_factory=list)

    def release(self, pool: BufferPool) -> None:
        """Give back all but state, which outlives the graph; a second call does nothing."""
        for memory in self.pooled:
            pool.release(memory)
        for memory in self.adopted:
            memory.free()
        self.pooled.clear()
        self.adopted.clear()
        if self.status is not None:
            self.status.free()
            self.status = None

    def abandon(self, pool: BufferPool, store: StateStore) -> None:
        """Give back everything that was claimed for a graph that does not come to run."""
        store.abandon(self.states)
        self.states.clear()
        self.release(pool)


def allocate(plan: Plan, device: Device, pool: BufferPool, store: StateStore, frame: Memory) -> GraphMemory:
    """Claim memory for every buffer of a plan and upload what blocks provide.

    GraphValidationError with the node when a buffer does not fit, and then nothing is claimed.
    """
    claimed = GraphMemory({FRAME: frame})
    try:
        _allocate_transient(plan, pool, claimed)
        _allocate_status(plan, device, pool, claimed)
        for owner, buffer in plan.buffers.allocations.items():
            if owner not in claimed.by_owner:
                claimed.by_owner[owner] = _allocate_own(plan, owner, buffer, device, pool, store, claimed)
    except BaseException:
        claimed.abandon(pool, store)
        raise
    for target, source in plan.buffers.swaps.items():
        claimed.swapped[target] = claimed.by_owner[source]
        claimed.swapped[source] = claimed.by_owner[target]
    return claimed


def rebind(plan: Plan, device: Device, claimed: GraphMemory, owner: PortRef) -> Memory:
    """Adopt the array that a block names now for `owner`, in place of the one before."""
    block = plan.description.by_id[owner.node].description
    memory = device.adopt(block.externals[owner.port])
    claimed.adopted.append(memory)
    return memory


def _allocate_transient(plan: Plan, pool: BufferPool, claimed: GraphMemory) -> None:
    """Take one piece for all buffers that a frame makes anew, which share its bytes as they are placed."""
    placement = plan.placement
    if not placement.offsets:
        return
    try:
        arena = pool.acquire(placement.size_bytes, exact=True)
    except DeviceError as problem:
        allocations = plan.buffers.allocations
        largest = max(placement.offsets, key=lambda owner: allocations[owner].layout.size_bytes)
        raise _too_large(largest, allocations[largest], problem, placement.size_bytes) from problem
    claimed.pooled.append(arena)
    for owner, offset in placement.offsets.items():
        size = max(plan.buffers.allocations[owner].layout.size_bytes, 1)
        claimed.by_owner[owner] = MemoryPart(arena, offset, size)


def _allocate_status(plan: Plan, device: Device, pool: BufferPool, claimed: GraphMemory) -> None:
    words = [owner for owner, buffer in plan.buffers.allocations.items() if buffer.lifetime is Lifetime.STATUS]
    if not words:
        return
    memory = pool.acquire(WORD_BYTES * len(words))
    claimed.pooled.append(memory)
    claimed.status = device.pinned(np.zeros(len(words), np.uint32))
    claimed.by_owner[STATUS] = memory
    for number, owner in enumerate(words):
        claimed.by_owner[owner] = MemoryPart(memory, WORD_BYTES * number, WORD_BYTES)


def _allocate_own(
    plan: Plan,
    owner: PortRef,
    buffer: PlannedBuffer,
    device: Device,
    pool: BufferPool,
    store: StateStore,
    claimed: GraphMemory,
) -> Memory:
    if buffer.lifetime is Lifetime.EXTERNAL:
        return rebind(plan, device, claimed, owner)
    try:
        if buffer.lifetime is Lifetime.STATE:
            state = store.claim(owner, buffer.layout, buffer.initial)
            claimed.states[owner] = state
            return state.memory
        memory = pool.acquire(buffer.layout.size_bytes)
    except DeviceError as problem:
        raise _too_large(owner, buffer, problem) from problem
    claimed.pooled.append(memory)
    if buffer.lifetime is Lifetime.PROVIDED:
        device.write(memory, plan.description.by_id[owner.node].description.contents[owner.port])
    else:
        assert buffer.lifetime in TRANSIENT
    return memory


def _too_large(
    owner: PortRef, buffer: PlannedBuffer, problem: DeviceError, together: int | None = None
) -> GraphValidationError:
    size = buffer.layout.size_bytes
    whole = f" (with all others {together:,})" if together is not None and together != size else ""
    text = f"buffer of {size:,} bytes{whole} must fit on the device: {problem}"
    remedy = "make it smaller, or close what else uses the device's memory"
    return GraphValidationError([error(text, node=owner.node, port=owner.port, remedy=remedy)])


def status_words(plan: Plan, array: np.ndarray[Any, Any]) -> dict[PortRef, int]:
    """Return the value of every status word, by its buffer, from the array that was read back."""
    words = [owner for owner, buffer in plan.buffers.allocations.items() if buffer.lifetime is Lifetime.STATUS]
    return {owner: int(array[number]) for number, owner in enumerate(words)}
