"""Fusing: replaces each group of stages in a schedule by one operation, whose kernel does the work of all."""

from __future__ import annotations

import logging
from collections.abc import Hashable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache

import msgspec

from warploom.engine.compiler.buffers import BufferPlan, Lifetime
from warploom.engine.compiler.description import GraphDescription
from warploom.engine.compiler.fusion.groups import FusedGroup, find_groups
from warploom.engine.compiler.fusion.stages import Stage, extent, find_stage, thread_counts
from warploom.engine.compiler.hazards import PendingOperation, make_schedule
from warploom.engine.compiler.memory.placement import sharable
from warploom.engine.compiler.operations import Access, FusedEntry, Operation, OperationSchedule, RegionEntry, owners
from warploom.engine.descriptions.entries import (
    THREAD_BLOCKS,
    Argument,
    FrameArgument,
    Kernel,
    KernelEntry,
    ValueArgument,
)
from warploom.engine.kernel_sources import op_graphs
from warploom.engine.kernel_sources.sources import OpGraphSource
from warploom.engine.ops import FramePointer, GraphNumbers, OpArgument, OpExtent, OpKernel, compose
from warploom.engine.patch.changes import PortRef
from warploom.engine.processes.scope import Cancelled
from warploom.engine.types import Shape

_log = logging.getLogger(__name__)


def fuse(
    description: GraphDescription,
    schedule: OperationSchedule,
    buffers: BufferPlan,
    pinned: frozenset[PortRef],
    previous: OperationSchedule | None = None,
) -> tuple[OperationSchedule, BufferPlan]:
    """Return the schedule with fused operations, and the buffers that are no longer stored.

    `pinned` buffers are read after the frame. If nothing can be fused, the schedule itself is returned. Operations that
    equal those of the `previous` result are the same objects.
    """
    stages = _find_stages(description, schedule.operations, buffers)
    if not stages:
        return schedule, buffers
    unneeded, _, _ = sharable(schedule, buffers, pinned)
    child_graphs = {node.id: node.group for node in description.nodes}
    groups = find_groups(schedule, stages, frozenset(unneeded), child_graphs)
    made = _made(groups, [_entry(group, schedule.operations, stages) for group in groups])
    if not made:
        return schedule, buffers
    inner = {owner for group, _ in made.values() for owner in group.inner}
    allocations = {
        owner: msgspec.structs.replace(buffer, lifetime=Lifetime.FUSED) if owner in inner else buffer
        for owner, buffer in buffers.allocations.items()
    }
    return _rewrite(schedule, made, inner, previous), BufferPlan(allocations, buffers.blocks, buffers.swaps)


def _made(
    groups: Sequence[FusedGroup], entries: Sequence[FusedEntry | None]
) -> dict[int, tuple[FusedGroup, FusedEntry]]:
    """Return the groups that have a kernel, by their places.

    A group without a kernel reads its buffers from memory, so other groups that would recompute them get no kernel
    either.
    """
    stored: set[PortRef] = set()
    made = list(zip(groups, entries, strict=True))
    while refused := [group for group, entry in made if entry is None or not stored.isdisjoint(group.inner)]:
        stored |= {owner for group in refused for owner in group.inner}
        made = [(group, entry) for group, entry in made if group not in refused]
    return {group.place: (group, entry) for group, entry in made if entry is not None}


def _find_stages(
    description: GraphDescription, operations: Sequence[Operation], buffers: BufferPlan
) -> dict[int, Stage]:
    ordered = {node for pair in description.orders for node in pair}  # these are not computed among other blocks
    nodes = {node.id for node in description.nodes if node.description.has_op_graphs and node.id not in ordered}
    found: dict[int, Stage] = {}
    known: dict[tuple[int, int, int], Stage | None] = {}  # blocks with one description and layouts compute the same
    for index, operation in enumerate(operations):
        entry = operation.entry
        if operation.node in nodes and isinstance(entry, KernelEntry) and operation.place >= 0:
            block = buffers.blocks[operation.node]
            key = id(entry), operation.place, id(block.layouts)
            if key not in known:
                known[key] = find_stage(entry, operation.place, block)
            stage = known[key]
            if stage is not None:
                found[index] = stage if stage.buffers is block else msgspec.structs.replace(stage, buffers=block)
    return found


def _entry(group: FusedGroup, operations: Sequence[Operation], stages: Mapping[int, Stage]) -> FusedEntry | None:
    """Return the launch of a group's kernel; None if it has no kernel."""
    parts = [stages[index] for index in group.members]
    source = _composed(tuple([part.source for part in parts]), tuple(_links(group, parts).items()))
    if source is None:
        return None
    kernel, last = op_graphs.launched(source), parts[-1]
    threads, thread_block = thread_counts(last.shape, kernel), THREAD_BLOCKS[kernel.rank - 1]
    if threads is None:
        return None
    if last.is_last:
        threads, thread_block = last.threads, last.thread_block
    nodes = [operations[index].node for index in group.members]
    passed = [_passed(given, kernel, parts, nodes, last.shape) for given in kernel.arguments]
    return FusedEntry(
        Kernel(source, kernel.entry),
        threads,
        thread_block,
        tuple([argument for _, argument in passed]),
        parts=tuple([(operations[index].node, operations[index].place) for index in group.members]),
        origins=tuple([node for node, _ in passed]),
    )


def _passed(
    given: OpArgument, kernel: OpKernel, parts: Sequence[Stage], nodes: Sequence[str], shape: Shape
) -> tuple[str, Argument]:
    """Return the kernel's arguments for elements of `shape`, and the block of each port and parameter among them."""
    if isinstance(given, FramePointer):
        return nodes[-1], FrameArgument()
    if isinstance(given, GraphNumbers):
        return nodes[-1], ValueArgument(kernel.numbers)
    if isinstance(given, OpExtent) and not given.port:
        return nodes[-1], ValueArgument(extent(shape, given.kind))
    number, name = _number_and_name(given.port if isinstance(given, OpExtent) else given.name)
    if isinstance(given, OpExtent):
        return nodes[number], ValueArgument(extent(parts[number].layout(name).shape, given.kind))
    return nodes[number], parts[number].arguments[name]


def _links(group: FusedGroup, parts: Sequence[Stage]) -> dict[str, str]:
    """Return the source of each part's input: another part's output, or an earlier input that reads the same buffer."""
    links: dict[str, str] = {}
    known: dict[Hashable, str] = {}
    inner = set(group.inner)
    for number, part in enumerate(parts):
        for name, place in part.places():
            if place.owner in inner:
                source = known.setdefault(place.owner, f"s{number}.{name}")  # the writer comes before all readers
            elif part.reads(name):
                layout = part.layout(name)
                source = known.setdefault((place, layout.dtype, layout.shape), f"s{number}.{name}")
            else:
                continue
            if source != f"s{number}.{name}":
                links[f"s{number}.{name}"] = source
    return links


def node_of_line(entry: FusedEntry, line: int) -> str:
    """Return the block whose op a line of a fused kernel belongs to; lines are counted from 1, as in a fault."""
    source = entry.kernel.source
    assert isinstance(source, OpGraphSource)
    number, _ = _number_and_name(op_graphs.launched(source).ops[line - 1])
    return entry.parts[number][0]


def _number_and_name(text: str) -> tuple[int, str]:
    """Return the part that a name in a composed graph belongs to, and its name there."""
    part, _, name = text.partition("/")
    return int(part.removeprefix("s")), name


@lru_cache(maxsize=512)
def _composed(parts: tuple[OpGraphSource, ...], links: tuple[tuple[str, str], ...]) -> OpGraphSource | None:
    """Return graphs, named s0, s1 and so on, as one; None when the result is not an element-wise kernel.

    The names don't depend on blocks, so groups of the same graphs share a kernel.
    """
    try:
        graph = compose({f"s{n}": part.parsed() for n, part in enumerate(parts)}, dict(links))
        source = OpGraphSource.of(graph)
        kernel = op_graphs.launched(source)
    except Cancelled:  # which says nothing about the graphs
        raise
    except Exception:  # noqa: BLE001 - without fusing, the results are the same
        _log.exception("kernels can't be fused")
        return None
    return source if kernel.is_elementwise or any(output.is_aggregate for output in kernel.outputs) else None


def _rewrite(
    schedule: OperationSchedule,
    made: Mapping[int, tuple[FusedGroup, FusedEntry]],
    inner: AbstractSet[PortRef],
    previous: OperationSchedule | None,
) -> OperationSchedule:
    """Return the schedule with each group in the place of its last operation, without accesses to `inner` buffers."""
    operations = schedule.operations
    gone = {index for group, _ in made.values() for index in group.members} - made.keys()
    before = previous.operations if previous is not None else ()
    known = {(o.node, o.place): o for o in before if type(o.entry) is FusedEntry}
    steps: list[PendingOperation] = []
    numbers: dict[int, int] = {-1: -1}
    for index, operation in enumerate(operations):
        if index in gone:
            continue
        entry, access = operation.entry, operation.access
        if index in made:
            group, fused = made[index]
            operation = operations[group.members[-1]]
            entry, access = fused, _merged([operations[member].access for member in group.members], inner)
            was = known.get((operation.node, operation.place))
            if was is not None and was.entry == entry and was.access == access:
                entry, access = was.entry, was.access
        elif type(entry) is RegionEntry and not inner.isdisjoint(owners([access])):
            access = _merged([access], inner)
        numbers[index] = len(steps)
        steps.append((operation.node, entry, access, operation.scope, operation.place))
    scopes = [(numbers[scope.region], scope.name, scope.parent) for scope in schedule.scopes]
    return make_schedule(steps, scopes, previous)


def _merged(accesses: Iterable[Access], inner: AbstractSet[PortRef]) -> Access:
    """Return the accesses of several operations together, without the buffers between them."""
    accesses = tuple(accesses)
    reads = dict.fromkeys(place for access in accesses for place in access.reads if place.owner not in inner)
    writes = dict.fromkeys(place for access in accesses for place in access.writes if place.owner not in inner)
    return Access(tuple(reads), tuple(writes))
