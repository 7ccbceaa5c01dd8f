"""Makes the node of one operation: a kernel with its launch and arguments, a library call, a copy."""

import math
from collections.abc import Mapping, Sequence

import msgspec

from warploom.engine.compiler.checking.launches import blocks_at_once, cooperative, counted_launch, free
from warploom.engine.compiler.executable.arguments import ArgumentRecipe, Resources, TypedKernel, argument_recipe
from warploom.engine.compiler.operations import (
    FRAME,
    STATUS,
    ClearStatus,
    DownloadStatus,
    FusedEntry,
    Operation,
    Place,
    UploadFrame,
)
from warploom.engine.compiler.plan import Plan
from warploom.engine.descriptions.entries import (
    BufferArgument,
    CapturedCall,
    CaptureEntry,
    CopyEntry,
    FillEntry,
    FrameArgument,
    KernelEntry,
    ParameterArgument,
    ValueArgument,
    ValuePlace,
)
from warploom.engine.device.arguments import ArgumentError, ArgumentLayout, KernelArguments, layout_of, pack_arguments
from warploom.engine.device.device import Device
from warploom.engine.device.graph import Graph
from warploom.engine.device.nodes import CopyWork, MemsetWork
from warploom.engine.device.protocol import Capture, Condition, GraphNode, LaunchConfig, Memory, MemoryPart, part_of
from warploom.engine.diagnostics import DeviceError, GraphValidationError, Source, error
from warploom.engine.libraries.call import BoundCall, LibraryError, OperandMemory
from warploom.engine.patch.changes import PortRef

_NOT_ADDED = GraphNode(-1)
_NO_VALUES: Mapping[str, object] = {}
_NO_PARAMETERS: Mapping[str, Mapping[str, Sequence[ValuePlace]]] = {}


#: A kernel, its launch and arguments, their layout, and the indices of those that take each live parameter.
_Launch = tuple[TypedKernel, LaunchConfig, ArgumentRecipe, ArgumentLayout, Mapping[str, Sequence[ValuePlace]]]


class KernelNode(msgspec.Struct):
    """A kernel launch in the graph; `parameters` has the arguments that take each live parameter.

    Values are by block and name: a fused kernel takes those of several blocks.
    """

    node: str
    operation: int
    handle: GraphNode
    kernel: TypedKernel
    config: LaunchConfig
    arguments: KernelArguments
    parameters: Mapping[str, Mapping[str, Sequence[ValuePlace]]]


class CapturedNode(msgspec.Struct):
    """A captured node of the graph, and its captured work in the executable."""

    operation: int
    handle: GraphNode
    capture: Capture


class _Addresses(dict[PortRef, int]):
    """The addresses of allocations by owner, looked up on use."""

    def __init__(self, memory: Mapping[PortRef, Memory]) -> None:
        super().__init__()
        self._memory = memory

    def __missing__(self, owner: PortRef) -> int:
        found = self[owner] = self._memory[owner].pointer
        return found


class NodeMaker:
    """Makes the nodes of a plan's operations, except those of regions."""

    def __init__(self, plan: Plan, device: Device, resources: Resources) -> None:
        self._plan = plan
        self._operations, self._blocks = plan.operations, plan.buffers.blocks
        self._device = device
        self._resources = resources
        self._addresses: Mapping[PortRef, int] = _Addresses(resources.memory)
        #: Kernel, launch and arguments by entry and layouts, which blocks of one description share.
        self._launches: dict[tuple[int, int], _Launch] = {}
        #: Sizes of buffers as arguments, by recipe and kind.
        self._sizes: dict[tuple[int, tuple[int, ...]], bytes] = {}

    def read_addresses(self) -> None:
        """Look up all addresses at once, for a graph that has most of the buffers."""
        addresses: dict[PortRef, int] = {}
        pointers: dict[int, int] = {}  # of whole allocations, each of which holds many buffers
        for owner, memory in self._resources.memory.items():
            if isinstance(memory, MemoryPart):
                whole = pointers.get(id(memory.whole))
                if whole is None:
                    whole = pointers[id(memory.whole)] = memory.whole.pointer
                addresses[owner] = whole + memory.offset
            else:
                addresses[owner] = memory.pointer
        self._addresses = addresses

    def kernel(self, index: int, entry: KernelEntry, condition: Condition | None) -> KernelNode:
        """Return the launch and arguments of a kernel that is not in a graph yet.

        Raise GraphValidationError, with the node, when the kernel does not take the arguments its block passes.
        """
        if isinstance(entry, FusedEntry):
            return self._fused(index, entry)
        operation = self._operations[index]
        node = operation.node
        buffers = self._blocks[node]
        key = id(entry), id(buffers.layouts)  # the plan keeps both objects alive
        known = self._launches.get(key)
        typed = self._resources.kernels[index] if known is None else known[0]
        try:
            if known is None:
                recipe = argument_recipe(entry, operation.place, buffers.layouts, typed.parameters)
                launch, layout = self._launch(index, entry, typed), layout_of(typed.parameters)
                known = self._launches[key] = typed, launch, recipe, layout, entry.live_parameters
            typed, config, recipe, layout, live = known
            given = self._resources.values[node] if live else _NO_VALUES
            arguments = layout.pack(recipe.values(buffers.places, self._addresses, given, condition))
            if self._device.info.checks_accesses:
                arguments.limit(self._sizes_of(recipe, layout, buffers.places))
        except ArgumentError as problem:
            raise _refused(operation, f"kernel {typed.kernel.name}: {problem}") from None
        parameters = {node: live} if live else _NO_PARAMETERS
        return KernelNode(node, index, _NOT_ADDED, typed, config, arguments, parameters)

    def _sizes_of(self, recipe: ArgumentRecipe, layout: ArgumentLayout, places: Mapping[str, Place]) -> bytes:
        """Return the sizes of the buffers among a launch's arguments; they are equal for most blocks of one kind."""
        key = id(recipe), tuple([places[name].size_bytes for _, name in recipe.buffers])
        found = self._sizes.get(key)
        if found is None:
            frame = self._resources.frame.array.nbytes if recipe.frames else 0
            positions = [position for position, _ in recipe.buffers]
            sizes = [*zip(positions, key[1], strict=True), *((position, frame) for position in recipe.frames)]
            found = self._sizes[key] = layout.extents(sizes)
        return found

    def _fused(self, index: int, entry: FusedEntry) -> KernelNode:
        operation, typed = self._operations[index], self._resources.kernels[index]
        values: list[object] = []
        sizes: list[tuple[int, int]] = []
        for node, argument in zip(entry.origins, entry.arguments, strict=True):
            match argument:
                case BufferArgument(name=name):
                    place = self._blocks[node].places[name]
                    sizes.append((len(values), place.size_bytes))
                    values.append(self._addresses[place.owner] + place.offset)
                case ParameterArgument(name=name):
                    values.append(self._resources.values[node][name])
                case ValueArgument(value=number):
                    values.append(number)
                case FrameArgument():
                    sizes.append((len(values), self._resources.frame.array.nbytes))
                    values.append(self._addresses[FRAME])
        try:
            config = self._launch(index, entry, typed)
            arguments = pack_arguments(typed.parameters, values)
            arguments.limit(arguments.layout.extents(sizes))
        except ArgumentError as problem:
            raise _refused(operation, f"kernel {typed.kernel.name}: {problem}") from None
        return KernelNode(operation.node, index, _NOT_ADDED, typed, config, arguments, entry.live_places)

    def _launch(self, index: int, entry: KernelEntry, typed: TypedKernel) -> LaunchConfig:
        """Return the launch of a kernel. Raise GraphValidationError if the kernel can't run so many threads."""
        operation, kernel, config = self._plan.operations[index], typed.kernel, self._plan.launch(index)
        if entry.count is not None and self._plan.buffers.find(operation.node, entry.count) is not None:
            config = counted_launch(config, kernel.resources, self._device.info)
        if typed.is_free:
            config = free(config)
        x, y, z = config.thread_block
        if x * y * z > typed.max_threads:
            text = f"thread_block of {kernel.name} must hold at most {typed.max_threads}, got {x * y * z}"
            raise _refused(operation, text)
        if typed.is_cooperative:
            config = cooperative(config)
            blocks, most = math.prod(config.grid), self._device.info.waiting_blocks
            if most is None:
                most = blocks_at_once(config, kernel.resources, self._device.info)
            if most is not None and blocks > most:
                text = f"grid of {kernel.name} must have at most {most} thread blocks, since they wait for each other, "
                remedy = "launch fewer threads, and let each compute several elements"
                raise _refused(operation, f"{text}got {blocks}", remedy)
        return config

    def capture(self, index: int, entry: CaptureEntry) -> Capture:
        """Capture library calls. Raise GraphValidationError, with the node, when a library refuses them."""
        operation, libraries = self._operations[index], self._resources.libraries
        assert libraries is not None
        layouts = self._blocks[operation.node].layouts.layouts
        calls = []
        for made in entry.calls:
            operands = {
                slot: OperandMemory(self._place(operation, given)[0], layouts[given.name])
                for slot, given in made.operands
                if given.name in layouts
            }
            calls.append(BoundCall(made.call, operands, self._numbers(operation, made)))
        try:
            issue = libraries().bind(calls, self._place(operation, entry.workspace)[0])
            return self._device.capture(entry.label, issue)
        except LibraryError as problem:
            raise _refused(operation, str(problem), problem.remedy) from None
        except DeviceError as problem:
            if type(problem) is not DeviceError:  # a device fault, which this call did not cause
                raise
            raise _refused(operation, str(problem), "make the buffers smaller, or change the call") from problem

    def _numbers(self, operation: Operation, made: CapturedCall) -> Mapping[str, float] | Mapping[str, Memory]:
        known: dict[str, float] = {}
        stored: dict[str, Memory] = {}
        for index, (name, number) in enumerate(made.numbers):
            if isinstance(number, BufferArgument):
                stored[name] = self._place(operation, number)[0]
            elif made.stored is not None:
                stored[name] = part_of(self._place(operation, made.stored)[0], 16 * index, 16)
            else:
                known[name] = number
        return stored or known

    def add_captured(self, graph: Graph, index: int, entry: CaptureEntry, after: Sequence[GraphNode]) -> CapturedNode:
        """Capture library calls and add their node."""
        capture = self.capture(index, entry)
        return CapturedNode(index, graph.add_captured(capture, after), capture)

    def add(self, graph: Graph, index: int, after: Sequence[GraphNode]) -> GraphNode:
        """Add the node of an operation that is neither a kernel nor a library call nor a region."""
        match self.transfer(index):
            case MemsetWork(target=target, value=value, size_bytes=size, width=width):
                if size % width:
                    text = f"fill of {width}-byte numbers needs a buffer of whole ones, got {size} bytes"
                    raise _refused(self._operations[index], text)
                return graph.add_memset(target, value, size, after, width)
            case CopyWork(target=to, source=origin, size_bytes=size):
                return graph.add_copy(to, origin, size, after)

    def transfer(self, index: int) -> MemsetWork | CopyWork:
        """Return the work of a fill or copy. Raise GraphValidationError for buffers of different sizes."""
        resources, operation = self._resources, self._plan.operations[index]
        match operation.entry:
            case FillEntry(target=target, value=value, width=width):
                memory, size = self._place(operation, target)
                return MemsetWork(memory, value, size, width)
            case CopyEntry(target=target, source=source):
                to, size = self._place(operation, target)
                origin, available = self._place(operation, source)
                if size != available:
                    text = f"copy needs two buffers of one size, got {available} and {size} bytes"
                    raise _refused(operation, text)
                return CopyWork(to, origin, size)
            case UploadFrame():
                return CopyWork(resources.memory[FRAME], resources.frame, resources.frame.array.nbytes)
            case ClearStatus():
                return MemsetWork(resources.memory[STATUS], 0, resources.memory[STATUS].size_bytes)
            case DownloadStatus():
                assert resources.status is not None
                size = resources.status.array.nbytes
                return CopyWork(resources.status, resources.memory[STATUS], size)
        raise TypeError(f"operation {index} must be a fill or a copy, got {operation.entry}")

    def _place(self, operation: Operation, argument: BufferArgument) -> tuple[Memory, int]:
        """Return the memory of a port or internal buffer, and its size in bytes."""
        place = self._plan.buffers.blocks[operation.node].places[argument.name]
        memory = self._resources.memory[place.owner]
        whole = place.offset == 0
        return memory if whole else part_of(memory, place.offset, place.size_bytes), place.size_bytes


def unexpected(problem: Exception, operation: Operation) -> GraphValidationError:
    """Return an error that names the block whose operation failed for a reason that no check covers."""
    said = f"block must be built, got {type(problem).__name__}: {problem}"
    return GraphValidationError(
        [error(said, node=operation.node or None, remedy="change the block, or take it out", source=Source.LAUNCH)]
    )


def _refused(
    operation: Operation, message: str, remedy: str = "make the block's describe and its kernel agree"
) -> GraphValidationError:
    return GraphValidationError([error(message, node=operation.node, remedy=remedy, source=Source.LAUNCH)])
