"""Phase 7, build: a `Plan` becomes a device graph, node by node, with profiling events where they are asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from engine.blocktypes.description import (
    Argument,
    BufferArgument,
    CopyEntry,
    ExtentArgument,
    FillEntry,
    FrameArgument,
    KernelEntry,
    ParameterArgument,
    ValueArgument,
)
from engine.blocktypes.shape_rules import evaluate_extent
from engine.compiler.plan import Plan
from engine.compiler.scheduling import FRAME, AnyOperation, Operation, UploadFrame
from engine.compiler.shapes import shape_context
from engine.device.arguments import KernelArguments
from engine.device.protocol import Device, Event, Graph, Kernel, LaunchConfig, Memory, Node, PinnedArray
from engine.diagnostics import DeviceError, GraphValidationError, error
from engine.patch.changes import PortRef
from engine.ptx.signature import KernelParameter


@dataclass(frozen=True)
class TypedKernel:
    """A loaded kernel with its parameters as its source types them, which a CUBIN alone does not tell."""

    kernel: Kernel
    parameters: tuple[KernelParameter, ...]


@dataclass
class KernelNode:
    """A kernel launch in the graph; `parameters` maps a live parameter to its argument's index."""

    node: str
    operation: int
    handle: Node
    kernel: TypedKernel
    config: LaunchConfig
    arguments: KernelArguments
    parameters: dict[str, list[int]]


@dataclass(frozen=True)
class Span:
    """The two events around a block or a kernel; `label` is the node id, or "node/entry" for one kernel."""

    label: str
    start: Event
    stop: Event


@dataclass
class Resources:
    """What the graph uses and did not make: memory by owner, kernels and parameter values by node, frame uniforms."""

    memory: Mapping[PortRef, Memory]
    kernels: Mapping[int, TypedKernel]  # by operation index
    values: Mapping[str, Mapping[str, object]]  # live parameters, by node and name
    frame: PinnedArray


@dataclass
class BuiltGraph:
    """The device graph before it is instantiated."""

    graph: Graph
    kernels: list[KernelNode] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)

    def destroy(self) -> None:
        """Give graph and events back."""
        self.graph.destroy()
        for span in self.spans:
            span.start.destroy()
            span.stop.destroy()


@dataclass(frozen=True)
class Address:
    """A device address as a kernel argument; 0 stands for an optional input that is not connected."""

    pointer: int


def build_graph(plan: Plan, device: Device, resources: Resources, spans: Mapping[int, str]) -> BuiltGraph:
    """Add a node for every operation; `spans` labels the operations to be timed, one span for each label.

    GraphValidationError, with the node, when a kernel does not take the arguments its block passes.
    """
    built = BuiltGraph(device.create_graph())
    try:
        _add_operations(plan, device, resources, spans, built)
    except BaseException:
        built.destroy()
        raise
    return built


def _add_operations(
    plan: Plan, device: Device, resources: Resources, spans: Mapping[int, str], built: BuiltGraph
) -> None:
    handles: list[Node] = []
    groups = _groups(spans)
    starts: dict[str, Node] = {}
    for index, operation in enumerate(plan.operations):
        after = [handles[i] for i in operation.after]
        label = spans.get(index)
        if label is not None:
            if label not in starts:
                start, stop = device.create_event(), device.create_event()
                built.spans.append(Span(label, start, stop))
                # The span starts when everything that the group waits for is done.
                outside = sorted({d for i in groups[label] for d in plan.operations[i].after if spans.get(d) != label})
                known = [handles[i] for i in outside if i < index]
                starts[label] = built.graph.add_event_record(start, known)
            after.append(starts[label])
        handles.append(_add_operation(plan, index, operation, built, resources, after))
        if label is not None and index == groups[label][-1]:
            ends = [handles[i] for i in groups[label]]
            built.graph.add_event_record(built.spans[list(starts).index(label)].stop, ends)


def _groups(spans: Mapping[int, str]) -> dict[str, list[int]]:
    groups: dict[str, list[int]] = {}
    for index, label in sorted(spans.items()):
        groups.setdefault(label, []).append(index)
    return groups


def _add_operation(
    plan: Plan, index: int, operation: AnyOperation, built: BuiltGraph, resources: Resources, after: Sequence[Node]
) -> Node:
    if isinstance(operation, UploadFrame):
        return built.graph.add_copy(resources.memory[FRAME], resources.frame, resources.frame.array.nbytes, after)
    match operation.entry:
        case KernelEntry() as entry:
            return _add_kernel(plan, index, operation, entry, built, resources, after)
        case FillEntry(target=target, value=value):
            owner = _owner(plan, operation, target)
            size = plan.layouts[PortRef(operation.node, target.name)].size_bytes
            return built.graph.add_memset(resources.memory[owner], value, size, after)
        case CopyEntry(target=target, source=source):
            sizes = [plan.layouts[PortRef(operation.node, a.name)].size_bytes for a in (target, source)]
            if sizes[0] != sizes[1]:
                raise _refused(operation, f"copy needs two buffers of one size, got {sizes[1]} and {sizes[0]} bytes")
            return built.graph.add_copy(
                resources.memory[_owner(plan, operation, target)],
                resources.memory[_owner(plan, operation, source)],
                sizes[0],
                after,
            )


def _add_kernel(
    plan: Plan,
    index: int,
    operation: Operation,
    entry: KernelEntry,
    built: BuiltGraph,
    resources: Resources,
    after: Sequence[Node],
) -> Node:
    typed, config = resources.kernels[index], plan.launches[index]
    kernel = typed.kernel
    threads = config.thread_block[0] * config.thread_block[1] * config.thread_block[2]
    if threads > kernel.max_threads:
        raise _refused(
            operation, f"thread_block of {kernel.name} must hold at most {kernel.max_threads}, got {threads}"
        )
    values = [_value(plan, operation, argument, resources) for argument in entry.arguments]
    try:
        arguments = KernelArguments(typed.parameters, values)
    except DeviceError as problem:
        raise _refused(operation, f"kernel {kernel.name}: {problem}") from None
    parameters: dict[str, list[int]] = {}
    for position, argument in enumerate(entry.arguments):
        if isinstance(argument, ParameterArgument):
            parameters.setdefault(argument.name, []).append(position)
    handle = built.graph.add_kernel(kernel, config, arguments, after)
    built.kernels.append(KernelNode(operation.node, index, handle, typed, config, arguments, parameters))
    return handle


def _value(plan: Plan, operation: Operation, argument: Argument, resources: Resources) -> object:
    match argument:
        case BufferArgument():
            owner = plan.buffers.owner_of.get(PortRef(operation.node, argument.name))
            return Address(resources.memory[owner].pointer if owner else 0)
        case ParameterArgument(name=name):
            return resources.values[operation.node][name]
        case ExtentArgument(extent=extent):
            return evaluate_extent(extent, shape_context(plan.description.by_id[operation.node], plan.layouts))
        case ValueArgument(value=value):
            return value
        case FrameArgument():
            return Address(resources.memory[FRAME].pointer)


def _owner(plan: Plan, operation: Operation, argument: BufferArgument) -> PortRef:
    return plan.buffers.owner_of[PortRef(operation.node, argument.name)]


def _refused(operation: Operation, message: str) -> GraphValidationError:
    return GraphValidationError(
        [error(message, node=operation.node, remedy="make the block's describe and its kernel agree")]
    )
