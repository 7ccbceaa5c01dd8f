"""Adjusting: other functions, launches and addresses for the kernels and library calls of a running graph, in place.

Nothing is built. When anything else would have to change, such as a fill or a copy, there is no adjustment, and the
graph is cloned or rebuilt.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engine.compiler.buffers import TRANSIENT, Lifetime
from engine.compiler.description import BlockNode, GraphDescription
from engine.compiler.difference import Difference
from engine.compiler.executable.arguments import Resources, TypedKernel, has_same_layout
from engine.compiler.executable.nodes import CapturedNode, KernelNode, NodeMaker
from engine.compiler.operations import ClearStatus, DownloadStatus, Operation, RegionEntry, UploadFrame
from engine.compiler.plan import Plan
from engine.descriptions.entries import (
    CaptureEntry,
    ConditionArgument,
    CopyEntry,
    FillEntry,
    KernelEntry,
    ParameterArgument,
    buffer_arguments,
)
from engine.device.device import Device
from engine.device.protocol import Capture, Condition, LaunchConfig, Memory
from engine.patch.changes import PortRef

if TYPE_CHECKING:
    from engine.compiler.executable.compiled_graph import CompiledGraph, Variant

#: The most nodes that are changed between two frames; swapping in a new graph delays a frame less than more updates.
MOST_CHANGES = 512


@dataclass(frozen=True)
class NodeChange:
    """A kernel node of the executable with another function, another launch or other arguments.

    `written` are bytes by their offset in the argument block, `before` the previous bytes.
    """

    variant: Variant
    node: KernelNode
    kernel: TypedKernel
    config: LaunchConfig
    written: tuple[tuple[int, bytes], ...]
    before: tuple[tuple[int, bytes], ...]
    old_kernel: TypedKernel
    old_config: LaunchConfig

    def apply(self) -> None:
        """Write it and update the node; DeviceError when the device refuses."""
        self._give(self.kernel, self.config, self.written)

    def revert(self) -> None:
        """Make the node what it was."""
        self._give(self.old_kernel, self.old_config, self.before)

    def _give(self, kernel: TypedKernel, config: LaunchConfig, written: Iterable[tuple[int, bytes]]) -> None:
        arguments = self.node.arguments
        block = arguments.memory.data
        for start, data in written:
            block[start : start + len(data)] = data
        arguments.version += 1
        self.node.kernel, self.node.config = kernel, config
        self.variant.update(self.node)


@dataclass(frozen=True)
class Recapture:
    """A captured node of the executable that does something else."""

    variant: Variant
    node: CapturedNode
    capture: Capture
    before: Capture

    def apply(self) -> None:
        """Update the node; DeviceError when the device would need another graph for that."""
        self._give(self.capture)

    def revert(self) -> None:
        """Make the node what it was."""
        self._give(self.before)

    def _give(self, capture: Capture) -> None:
        self.variant.executable.update_captured(self.node.handle, capture)
        self.node.capture = capture


@dataclass(frozen=True)
class Adjustment:
    """The changes of the `running` graph for a plan: its memory by variant, and the changes of its nodes."""

    plan: Plan
    running: CompiledGraph
    memories: tuple[Mapping[PortRef, Memory], ...]
    changes: tuple[NodeChange | Recapture, ...]

    @property
    def kernels(self) -> list[NodeChange]:
        """The changes of kernel nodes."""
        return [change for change in self.changes if isinstance(change, NodeChange)]

    @property
    def swaps_code(self) -> bool:
        """True when some kernel gets another function."""
        return any(change.kernel is not change.old_kernel for change in self.kernels)

    @property
    def captures_again(self) -> bool:
        """True when some library call is captured again."""
        return len(self.kernels) < len(self.changes)

    def apply(self) -> None:
        """Change the graph, between two launches; DeviceError when the device refuses, and then it is as before."""
        done: list[NodeChange | Recapture] = []
        try:
            for change in self.changes:
                done.append(change)
                change.apply()
        except BaseException:
            with ExitStack() as taking_back:  # the last first, and all of them even if some fail
                for change in done:
                    taking_back.callback(change.revert)
            raise
        for change in self.changes:
            # The graph itself has the launch or the capture from before.
            if isinstance(change, Recapture) or (
                change.config is not change.old_config or change.kernel is not change.old_kernel
            ):
                change.variant.built.swapped.add(change.node.operation)
        for variant, memory in zip(self.running.variants, self.memories, strict=True):
            variant.built.memory = memory
        self.running.plan = self.plan


def is_adjustable(changes: Difference) -> bool:
    """True when both plans give the same graph nodes, up to functions, launches, addresses and numbers for them.

    The same buffers matter for as long as before: whether a launch may be left out is found once for a graph.
    """
    plan, before = changes.now, changes.before
    now, then = plan.description, before.description
    if not changes.has_same_nodes or now.by_id.keys() != then.by_id.keys():
        return False
    if now.connections is not then.connections and set(now.connections) != set(then.connections):
        return False
    if plan.statuses != before.statuses or plan.status_places != before.status_places:
        return False
    if any((node.region, node.group) != (old.region, old.group) for node, old in _pairs(now, then)):
        return False
    return _are_same_buffers(plan, before) and _is_same_turn(plan, before)


def _pairs(now: GraphDescription, then: GraphDescription) -> Iterator[tuple[BlockNode, BlockNode]]:
    """Yield the blocks that are not the same object as before, each with the previous one."""
    known = then.by_id
    return ((node, old) for node in now.nodes if node is not (old := known[node.id]))


def _are_same_buffers(plan: Plan, before: Plan) -> bool:
    """True when the same buffers are allocated, and the contents of each matter for as long as before."""
    now, then = plan.buffers.allocations, before.buffers.allocations
    return now.keys() == then.keys() and all(
        buffer is (old := then[owner]) or buffer.lifetime is old.lifetime for owner, buffer in now.items()
    )


def would_adjust(changes: Difference) -> bool:
    """Predict from plans alone whether `adjust_graph` finds an adjustment."""
    if not is_adjustable(changes):
        return False
    plan, before = changes.now, changes.before
    moved, count = _moving(plan, before), 0
    for index, operation in enumerate(plan.operations):
        entry, old = operation.entry, before.operations[index]
        touched = operation.access.touches(moved)
        if isinstance(entry, KernelEntry | CaptureEntry):
            count += touched or index in changes.renewed
        elif isinstance(entry, FillEntry | CopyEntry) and (
            entry != old.entry or touched or _others(plan, before, operation)
        ):
            return False
    return count * (2 if plan.buffers.swaps else 1) <= MOST_CHANGES


def _moving(plan: Plan, before: Plan) -> set[PortRef]:
    """Return the buffers that get other memory when a plan follows another."""
    now, then, found = plan.placement, before.placement, set()
    for owner, buffer in plan.buffers.allocations.items():
        if owner in now.offsets:
            stays = now.offsets[owner] == then.offsets.get(owner) and now.size_bytes == then.size_bytes
        else:
            stays = owner not in then.offsets and buffer.layout == before.buffers.allocations[owner].layout
            if buffer.lifetime in TRANSIENT:
                stays &= owner not in now.lasting  # it gets new memory, since it begins with zeros
            elif buffer.lifetime in (Lifetime.PROVIDED, Lifetime.EXTERNAL):
                block, old = plan.description.by_id[owner.node], before.description.by_id[owner.node]
                stays &= block.description is old.description
        if not stays:
            found.add(owner)
    return found


def _others(plan: Plan, before: Plan, operation: Operation) -> bool:
    """True when a fill or copy touches other bytes of its buffers than before."""
    assert isinstance(operation.entry, FillEntry | CopyEntry)
    names, node = [argument.name for argument in buffer_arguments(operation.entry)], operation.node
    return any(plan.buffers.find(node, name) != before.buffers.find(node, name) for name in names)


def _is_same_turn(plan: Plan, before: Plan) -> bool:
    """True when the same buffers change places between frames, and those that do are both new or both as they were."""
    swaps, now, then = plan.buffers.swaps, plan.buffers.allocations, before.buffers.allocations
    return swaps == before.buffers.swaps and all(
        (now[target].layout == then[target].layout) == (now[source].layout == then[source].layout)
        for target, source in swaps.items()
    )


def adjust_graph(
    changes: Difference, device: Device, resources: Resources, running: CompiledGraph
) -> Adjustment | None:
    """Return how a running graph becomes that of a plan for which `is_adjustable` is true; None to build it.

    It reads the running graph and does not touch it. GraphValidationError, with the node, when a kernel does not take
    the arguments or the launch that its block passes.
    """
    if resources.status is not running.status or bool(resources.swapped) != (len(running.variants) == 2):
        return None
    memories = resources.memories
    found: list[NodeChange | Recapture] = []
    for variant, memory in zip(running.variants, memories, strict=True):
        more = _Adjusting(changes, device, resources, variant, memory).run()
        if more is None:
            return None
        found += more
        if len(found) > MOST_CHANGES:
            return None
    return Adjustment(changes.now, running, tuple(memories), tuple(found))


class _Adjusting:
    """The changes of one executable."""

    def __init__(
        self,
        changes: Difference,
        device: Device,
        resources: Resources,
        variant: Variant,
        memory: Mapping[PortRef, Memory],
    ) -> None:
        self._plan = plan = changes.now
        self._before = changes.before
        self._renewed = changes.renewed
        self._kernels = resources.kernels
        self._variant = variant
        self._maker = NodeMaker(plan, device, replace(resources, memory=memory))
        known = variant.memory
        self._moved = {
            owner
            for owner, place in memory.items()
            if (old := known.get(owner)) is not place and (old is None or old.pointer != place.pointer)
        }

    def run(self) -> list[NodeChange | Recapture] | None:
        plan, base = self._plan, self._before.operations
        nodes = {kernel.operation: kernel for kernel in self._variant.kernels}
        captured = {node.operation: node for node in self._variant.built.captured}
        changes: list[NodeChange | Recapture] = []
        for index, operation in enumerate(plan.operations):
            if not self._may_differ(index):
                continue
            entry = operation.entry
            if isinstance(entry, KernelEntry):
                node = nodes[index]
                if not has_same_layout(self._kernels[index], node.kernel):
                    return None
                change = self._change(node, entry)
                if change is not None:
                    changes.append(change)
            elif isinstance(entry, CaptureEntry):
                if self._captures_otherwise(index, entry):
                    found = captured[index]
                    changes.append(Recapture(self._variant, found, self._maker.capture(index, entry), found.capture))
            elif isinstance(entry, RegionEntry):
                pass
            elif isinstance(entry, UploadFrame | ClearStatus | DownloadStatus):
                if operation.access.touches(self._moved):
                    return None
            elif base[index].entry != entry or self._lies_elsewhere(index):
                return None
        return changes

    def _may_differ(self, index: int) -> bool:
        return index in self._renewed or self._touches_moved(index)

    def _captures_otherwise(self, index: int, entry: CaptureEntry) -> bool:
        """True when a library call has other options than before, or other bytes."""
        node, names = self._plan.operations[index].node, [argument.name for argument in entry.buffers]
        blocks = self._plan.buffers.blocks[node], self._before.buffers.blocks[node]
        now, then = ([(b.places.get(name), b.layouts.layouts.get(name)) for name in names] for b in blocks)
        return entry != self._before.operations[index].entry or now != then or self._touches_moved(index)

    def _touches_moved(self, index: int) -> bool:
        return self._plan.operations[index].access.touches(self._moved)

    def _lies_elsewhere(self, index: int) -> bool:
        """True when a fill or copy touches other bytes than before."""
        return self._touches_moved(index) or _others(self._plan, self._before, self._plan.operations[index])

    def _change(self, node: KernelNode, entry: KernelEntry) -> NodeChange | None:
        """Return the change of a kernel node. Live values are skipped, since they are always up to date."""
        made = self._maker.kernel(node.operation, entry, Condition(0))
        new, old = made.arguments.memory.tobytes(), node.arguments.memory.tobytes()
        written, before = [], []
        layout = node.arguments.layout
        for argument, start, size in zip(entry.arguments, layout.offsets, layout.sizes, strict=True):
            if isinstance(argument, ParameterArgument | ConditionArgument):
                continue
            for first in (start, layout.sizes_at + start):
                end = first + size
                if new[first:end] != old[first:end]:
                    written.append((first, new[first:end]))
                    before.append((first, old[first:end]))
        if not written and made.config == node.config and made.kernel is node.kernel:
            return None
        config = node.config if made.config == node.config else made.config
        return NodeChange(
            self._variant, node, made.kernel, config, tuple(written), tuple(before), node.kernel, node.config
        )
