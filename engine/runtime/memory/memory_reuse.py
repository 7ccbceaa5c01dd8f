"""Memory reuse: which memory of the running graph the next graph can use, for buffers that stay the same.

The two graphs never run at the same time, and transient buffers need no contents from before.
"""

from __future__ import annotations

from engine.compiler.buffers import TRANSIENT, Lifetime, PlannedBuffer
from engine.compiler.operations import STATUS
from engine.compiler.plan import Plan
from engine.patch.changes import PortRef
from engine.runtime.memory.graph_memory import GraphMemory


def keep_memory(plan: Plan, before: Plan, running: GraphMemory) -> GraphMemory:
    """Return what the graph of `plan` can use of the memory of the graph of `before`, borrowed until `take_over`."""
    claimed = GraphMemory({})
    _keep_arena(plan, before, running, claimed)
    _keep_status(plan, before, running, claimed)
    known, offsets, lasting = before.buffers.allocations, before.placement.offsets, plan.placement.lasting
    now, pooled, borrowed, by_owner = plan.placement.offsets, claimed.pooled, claimed.borrowed, claimed.by_owner
    provided, external = Lifetime.PROVIDED, Lifetime.EXTERNAL
    for owner, buffer in plan.buffers.allocations.items():
        lifetime = buffer.lifetime
        is_transient = lifetime in TRANSIENT
        if not is_transient and lifetime is not provided and lifetime is not external:
            continue  # the state store keeps state
        old = known.get(owner)
        if old is None or (old is not buffer and not _needs_the_same(old, buffer)) or owner in now or owner in offsets:
            continue
        if is_transient:
            if owner in lasting:
                continue  # read before it is written, so it must begin with zeros
        elif not _is_same_array(plan, before, owner, lifetime):
            continue
        memory = by_owner[owner] = running.by_owner[owner]
        borrowed.add(id(memory))
        if lifetime is external:
            claimed.adopted[owner] = memory
        else:
            pooled.append(memory)
    return claimed


def _keep_arena(plan: Plan, before: Plan, running: GraphMemory, claimed: GraphMemory) -> None:
    placement, earlier = plan.placement, before.placement
    arena = running.arena
    if arena is None or not placement.offsets or placement.size_bytes != earlier.size_bytes:
        return
    claimed.arena = arena
    claimed.pooled.append(arena)
    claimed.borrowed.add(id(arena))
    offsets, by_owner = earlier.offsets, running.by_owner
    now, then = plan.buffers.allocations, before.buffers.allocations
    for owner, offset in placement.offsets.items():
        if offsets.get(owner) == offset:
            old, new = then[owner], now[owner]
            if old is new or old.layout is new.layout or old.layout.size_bytes == new.layout.size_bytes:
                claimed.by_owner[owner] = by_owner[owner]


def _keep_status(plan: Plan, before: Plan, running: GraphMemory, claimed: GraphMemory) -> None:
    if running.status is None:
        return
    words = plan.status_owners
    if words and words == before.status_owners:
        memory = running.by_owner[STATUS]
        claimed.status = running.status
        claimed.pooled.append(memory)
        claimed.borrowed |= {id(memory), id(running.status)}
        for owner in (STATUS, *words):
            claimed.by_owner[owner] = running.by_owner[owner]


def _needs_the_same(old: PlannedBuffer, new: PlannedBuffer) -> bool:
    return old.lifetime is new.lifetime and old.layout == new.layout


def _is_same_array(plan: Plan, before: Plan, owner: PortRef, lifetime: Lifetime) -> bool:
    now, then = plan.description.by_id[owner.node].description, before.description.by_id[owner.node].description
    if lifetime is Lifetime.PROVIDED:
        return now.contents[owner.port] is then.contents[owner.port]
    return now.externals[owner.port] is then.externals[owner.port]
