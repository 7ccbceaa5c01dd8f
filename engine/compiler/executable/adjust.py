"""Adjusts a running graph in place: other functions, launches and addresses for its nodes.

Nothing is built. When anything else would have to change, such as the size of a copy, there is no adjustment, and the
graph is cloned or rebuilt.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from itertools import repeat
from typing import TYPE_CHECKING

import msgspec

from warploom.engine.compiler.description import BlockNode, GraphDescription
from warploom.engine.compiler.difference import Difference
from warploom.engine.compiler.executable.arguments import Resources, TypedKernel, can_replace
from warploom.engine.compiler.executable.nodes import CapturedNode, KernelNode, NodeMaker
from warploom.engine.compiler.operations import ClearStatus, DownloadStatus, FusedEntry, UploadFrame
from warploom.engine.compiler.plan import Plan
from warploom.engine.descriptions.entries import (
    BufferArgument,
    CaptureEntry,
    ConditionArgument,
    CopyEntry,
    FillEntry,
    KernelEntry,
    ParameterArgument,
    VectorArgument,
    buffer_arguments,
)
from warploom.engine.device.arguments import components_of
from warploom.engine.device.device import Device
from warploom.engine.device.nodes import CopyWork, MemsetWork
from warploom.engine.device.protocol import Capture, Condition, GraphNode, LaunchConfig, Memory
from warploom.engine.patch.changes import PortRef

if TYPE_CHECKING:
    from warploom.engine.compiler.executable.compiled_graph import CompiledGraph, Variant

#: The most nodes that are changed between two frames; swapping in a new graph delays a frame less than more updates.
MOST_CHANGES = 512


class NodeChange(msgspec.Struct, frozen=True):
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
        """Write the arguments and update the node. Raise DeviceError if the device refuses."""
        self._give(self.kernel, self.config, self.written)

    def revert(self) -> None:
        """Restore the node."""
        self._give(self.old_kernel, self.old_config, self.before)

    def _give(self, kernel: TypedKernel, config: LaunchConfig, written: Iterable[tuple[int, bytes]]) -> None:
        arguments = self.node.arguments
        block = arguments.memory.data
        for start, data in written:
            block[start : start + len(data)] = data
        arguments.version += 1
        self.node.kernel, self.node.config = kernel, config
        self.variant.update(self.node)


class Recapture(msgspec.Struct, frozen=True):
    """A captured node of the executable with another capture."""

    variant: Variant
    node: CapturedNode
    capture: Capture
    before: Capture

    def apply(self) -> None:
        """Update the node. Raise DeviceError if the device would need another graph."""
        self._give(self.capture)

    def revert(self) -> None:
        """Restore the node."""
        self._give(self.before)

    def _give(self, capture: Capture) -> None:
        self.variant.executable.update_captured(self.node.handle, capture)
        self.node.capture = capture


class Transfer(msgspec.Struct, frozen=True):
    """A fill or copy node of the executable with other memory."""

    variant: Variant
    operation: int
    handle: GraphNode
    work: MemsetWork | CopyWork
    before: MemsetWork | CopyWork

    def apply(self) -> None:
        """Update the node. Raise DeviceError if the device refuses."""
        self._give(self.work)

    def revert(self) -> None:
        """Restore the node."""
        self._give(self.before)

    def _give(self, work: MemsetWork | CopyWork) -> None:
        if isinstance(work, MemsetWork):
            self.variant.executable.move_fill(self.handle, work.target)
        else:
            self.variant.executable.move_copy(self.handle, work.target, work.source)


class Adjustment(msgspec.Struct, frozen=True):
    """The changes of the `running` graph for a plan: its memory by variant, and the changes of its nodes."""

    plan: Plan
    running: CompiledGraph
    memories: tuple[Mapping[PortRef, Memory], ...]
    changes: tuple[NodeChange | Recapture | Transfer, ...]

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
        return any(isinstance(change, Recapture) for change in self.changes)

    def apply(self) -> None:
        """Change the graph between two launches; if the device refuses, raise DeviceError and change nothing."""
        done: list[NodeChange | Recapture | Transfer] = []
        try:
            for change in self.changes:
                done.append(change)
                change.apply()
        except BaseException:
            with ExitStack() as taking_back:  # reverts in reverse order, and goes on if some fail
                for change in done:
                    taking_back.callback(change.revert)
            raise
        for change in self.changes:
            # The graph itself still has the previous launch, capture or memory.
            if isinstance(change, Transfer):
                change.variant.built.swapped.add(change.operation)
            elif isinstance(change, Recapture) or (
                change.config is not change.old_config or change.kernel is not change.old_kernel
            ):
                change.variant.built.swapped.add(change.node.operation)
        for variant, memory in zip(self.running.variants, self.memories, strict=True):
            variant.built.memory = memory
        self.running.plan = self.plan


def operations_in_place(changes: Difference) -> list[int] | None:
    """Return the operations to change in a running graph, so that it follows a plan; None if it must be built anew.

    Both plans must give the same graph nodes, up to functions, launches, addresses and numbers for them. The same
    buffers must matter for as long as before, since a graph decides only once whether a launch may be left out.
    """
    plan, before = changes.now, changes.before
    if plan is not before and not _is_same_graph(changes):
        return None
    found = []
    for index in sorted(changes.touched | changes.renewed):
        touched = index in changes.touched
        match plan.operations[index].entry:
            case KernelEntry():
                found.append(index)
            case CaptureEntry() as entry if touched or _does_otherwise(plan, before, index, entry):
                found.append(index)
            case FillEntry() | CopyEntry() as entry if _does_otherwise(plan, before, index, entry):
                return None
            case FillEntry() | CopyEntry() if touched:
                node = plan.description.by_id.get(plan.operations[index].node)
                if (
                    node is not None and node.group
                ):  # it may be in a child graph, of whose nodes the handles are not known
                    return None
                found.append(index)
            case UploadFrame() | ClearStatus() | DownloadStatus() if touched:
                return None
    if plan is not before and len(found) * (2 if plan.buffers.swaps else 1) > MOST_CHANGES:
        return None
    return found


def _is_same_graph(changes: Difference) -> bool:
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


def _does_otherwise(plan: Plan, before: Plan, index: int, entry: FillEntry | CopyEntry | CaptureEntry) -> bool:
    """True when a fill, a copy or a library call has other options or places, or the call has other layouts."""
    node, names = plan.operations[index].node, [argument.name for argument in buffer_arguments(entry)]
    now, then = plan.buffers.blocks[node], before.buffers.blocks[node]
    return (
        entry != before.operations[index].entry
        or any(now.places.get(name) != then.places.get(name) for name in names)
        or (
            isinstance(entry, CaptureEntry)
            and any(now.layouts.layouts.get(name) != then.layouts.layouts.get(name) for name in names)
        )
    )


def _is_same_turn(plan: Plan, before: Plan) -> bool:
    """True when the same buffers are swapped between frames, and both of each pair keep or change their layouts."""
    swaps, now, then = plan.buffers.swaps, plan.buffers.allocations, before.buffers.allocations
    return swaps == before.buffers.swaps and all(
        (now[target].layout == then[target].layout) == (now[source].layout == then[source].layout)
        for target, source in swaps.items()
    )


def adjust_graph(
    changes: Difference, device: Device, resources: Resources, running: CompiledGraph
) -> Adjustment | None:
    """Return the changes that turn a running graph into that of another plan; None if it must be built anew.

    It reads the running graph and does not touch it. Raise GraphValidationError, with the node, when a kernel does not
    take the arguments or the launch that its block passes.
    """
    indices = operations_in_place(changes)
    if indices is None:
        return None
    plan, memories = changes.now, resources.memories
    found: list[NodeChange | Recapture | Transfer] = []
    for variant, memory in zip(running.variants, memories, strict=True):
        maker = NodeMaker(plan, device, replace(resources, memory=memory))
        known = NodeMaker(changes.before, device, replace(resources, memory=variant.memory))
        nodes = {kernel.operation: kernel for kernel in variant.kernels}
        captured = {node.operation: node for node in variant.built.captured}
        for index in indices:
            entry = plan.operations[index].entry
            if isinstance(entry, CaptureEntry):
                call = captured[index]
                found.append(Recapture(variant, call, maker.capture(index, entry), call.capture))
                continue
            if isinstance(entry, FillEntry | CopyEntry):
                handle = variant.built.handles[index]
                found.append(Transfer(variant, index, handle, maker.transfer(index), known.transfer(index)))
                continue
            assert isinstance(entry, KernelEntry)
            node = nodes[index]
            if index not in changes.renewed:
                change = _readdressed(changes, variant, node, entry, memory)
            elif can_replace(resources.kernels[index], node.kernel):
                change = _change(variant, node, entry, maker.kernel(index, entry, Condition(0)))
            else:
                return None
            if change is not None:
                found.append(change)
    return Adjustment(plan, running, tuple(memories), tuple(found))


def _readdressed(
    changes: Difference, variant: Variant, node: KernelNode, entry: KernelEntry, memory: Mapping[PortRef, Memory]
) -> NodeChange | None:
    """Return the change of a kernel node in which at most the addresses of buffers differ."""
    buffers, layout, block = changes.now.buffers, node.arguments.layout, node.arguments.block
    origins = entry.origins if isinstance(entry, FusedEntry) else repeat(node.node)
    written, before = [], []
    for argument, name, start, size in zip(entry.arguments, origins, layout.offsets, layout.sizes, strict=False):
        place = buffers.find(name, argument.name) if isinstance(argument, BufferArgument) else None
        if place is not None and place.owner in changes.moved:
            written.append((start, (memory[place.owner].pointer + place.offset).to_bytes(size, "little")))
            before.append((start, block[start : start + size].tobytes()))
    if not written:
        return None
    kernel, config = node.kernel, node.config
    return NodeChange(variant, node, kernel, config, tuple(written), tuple(before), kernel, config)


def _change(variant: Variant, node: KernelNode, entry: KernelEntry, made: KernelNode) -> NodeChange | None:
    """Return the change of a kernel node to the kernel that was `made`. Live values are skipped, since they are up to
    date.
    """
    new, old = made.arguments.memory.tobytes(), node.arguments.memory.tobytes()
    written, before = [], []
    layout = node.arguments.layout
    places: list[tuple[int, int]] = []
    for argument, parameter in zip(entry.arguments, layout.parameters, strict=True):
        if isinstance(argument, VectorArgument):
            parts = zip(argument.components, components_of(parameter), strict=True)
            places += [(part.offset, part.size_bytes) for given, part in parts if not isinstance(given, str)]
        elif not isinstance(argument, ParameterArgument | ConditionArgument):
            places.append((parameter.offset, parameter.size_bytes))
    for start, size in places:
        for first in (start, layout.sizes_at + start):
            end = first + size
            if new[first:end] != old[first:end]:
                written.append((first, new[first:end]))
                before.append((first, old[first:end]))
    if not written and made.config == node.config and made.kernel is node.kernel:
        return None
    config = node.config if made.config == node.config else made.config
    return NodeChange(variant, node, made.kernel, config, tuple(written), tuple(before), node.kernel, node.config)
