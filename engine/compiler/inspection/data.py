"""A plan as plain data, for another process and for files: operations, buffers, and where and when these are in use."""

import msgspec

from warploom.engine.compiler.buffers import Lifetime
from warploom.engine.compiler.inspection.labels import name, title, what
from warploom.engine.compiler.inspection.memory import memory_timeline
from warploom.engine.compiler.operations import ClearStatus, DownloadStatus, FusedEntry, RegionEntry, UploadFrame
from warploom.engine.compiler.plan import Plan
from warploom.engine.descriptions.entries import CaptureEntry, CopyEntry, FillEntry, KernelEntry


class PlannedOperation(msgspec.Struct, frozen=True):
    """One node of the device's graph.

    `kind` is kernel, fill, copy, captured, region, upload, clear or download. `name` is that of a kernel, else of the
    work. `nodes` are the blocks whose work it does: several for a fused kernel, none for work of the graph itself.
    `after` are the operations of the same body that it waits for. `region` is the operation around it, and `body` the
    name of its body there; -1 and "" at the top. `reads` and `writes` are buffers by their names.
    """

    kind: str
    name: str
    title: str
    work: str
    nodes: tuple[str, ...] = ()
    after: tuple[int, ...] = ()
    region: int = -1
    body: str = ""
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()


class PlannedMemory(msgspec.Struct, frozen=True):
    """One buffer, by the port that it is allocated for, "node.port"; `node` is empty for the graph's own.

    `first` and `last` are the operations of its first and last use. A buffer in the arena has an `offset` there, and
    `held_bytes` from it on; others have memory of their own, and the offset -1. `shares` are the buffers that share
    some of its bytes. A fused buffer is never stored, and holds no bytes.
    """

    name: str
    node: str
    port: str
    contents: str
    lifetime: str
    size_bytes: int
    held_bytes: int
    first: int
    last: int
    offset: int = -1
    shares: tuple[str, ...] = ()


class FramePlan(msgspec.Struct, frozen=True):
    """The operations of a frame in the plan's order, and its buffers: those that share memory first, by first use.

    `arena_bytes` is the memory that buffers share, `unshared_bytes` what they would need without sharing, and
    `own_bytes` the size of the others.
    """

    operations: tuple[PlannedOperation, ...]
    buffers: tuple[PlannedMemory, ...]
    arena_bytes: int
    unshared_bytes: int
    own_bytes: int


_KINDS = {
    KernelEntry: "kernel",
    FusedEntry: "kernel",
    FillEntry: "fill",
    CopyEntry: "copy",
    CaptureEntry: "captured",
    RegionEntry: "region",
    UploadFrame: "upload",
    ClearStatus: "clear",
    DownloadStatus: "download",
}


def frame_plan(plan: Plan) -> FramePlan:
    """Return a plan as data."""
    around = {
        index: (place, plan.scopes[body].name)
        for place, operation in enumerate(plan.operations)
        if isinstance(operation.entry, RegionEntry)
        for body in operation.entry.scopes
        for index in plan.scopes[body].members
    }
    operations = [
        PlannedOperation(
            kind=_KINDS[type(operation.entry)],
            name=name(plan, index),
            title=title(plan, index),
            work=what(plan, index),
            nodes=tuple(node for node in operation.nodes if node),
            after=operation.after,
            region=around.get(index, (-1, ""))[0],
            body=around.get(index, (-1, ""))[1],
            reads=tuple(sorted(map(str, operation.reads))),
            writes=tuple(sorted(map(str, operation.writes))),
        )
        for index, operation in enumerate(plan.operations)
    ]
    return FramePlan(
        tuple(operations),
        tuple(_buffers(plan)),
        plan.placement.size_bytes,
        plan.placement.unshared_bytes,
        sum(plan.own_sizes),
    )


def _buffers(plan: Plan) -> list[PlannedMemory]:
    placement, spans = plan.placement, memory_timeline(plan).spans
    used: dict[object, list[int]] = {}
    for index, operation in enumerate(plan.operations):
        for owner in operation.reads | operation.writes:
            used.setdefault(owner, []).append(index)
    last_of_all = max(len(plan.operations) - 1, 0)
    found = []
    for owner, buffer in plan.buffers.allocations.items():
        uses = used.get(owner, [])
        is_shared, is_fused = owner in placement.offsets, buffer.lifetime is Lifetime.FUSED
        # Memory of its own is never reused, so that a buffer with it is in use for the whole frame.
        first, last = spans[owner] if is_shared else (0, last_of_all)
        if is_fused:
            uses = uses or [index for index, each in enumerate(plan.operations) if owner.node in each.nodes]
            first, last = min(uses, default=0), max(uses, default=0)
        found.append(
            PlannedMemory(
                name=str(owner),
                node=owner.node,
                port=owner.port,
                contents=str(buffer.layout),
                lifetime=buffer.lifetime.value,
                size_bytes=buffer.layout.size_bytes,
                held_bytes=placement.sizes[owner] if is_shared else 0 if is_fused else buffer.size_bytes,
                first=first,
                last=last,
                offset=placement.offsets.get(owner, -1),
                shares=tuple(map(str, placement.sharers(owner))),
            )
        )
    return sorted(found, key=lambda each: (each.offset < 0, each.first, each.offset, each.name))
