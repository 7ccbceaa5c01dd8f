"""A plan as plain data: everything that a program needs to build its graph by calls of the CUDA driver."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from warploom.engine.compiler.buffers import Lifetime, PlannedBuffer
from warploom.engine.compiler.executable.arguments import argument_recipe
from warploom.engine.compiler.operations import (
    FRAME,
    STATUS,
    ClearStatus,
    DownloadStatus,
    FusedEntry,
    Operation,
    Place,
    RegionEntry,
    UploadFrame,
)
from warploom.engine.compiler.plan import Plan
from warploom.engine.descriptions.entries import (
    BufferArgument,
    CaptureEntry,
    ConditionArgument,
    CopyEntry,
    FillEntry,
    FrameArgument,
    KernelEntry,
    ParameterArgument,
    RegionKind,
    ValueArgument,
    VectorArgument,
)
from warploom.engine.device.arguments import components_of, format_of, layout_of, pack_vector
from warploom.engine.kernel_sources.element_types.declared import typed_parameters
from warploom.engine.kernel_sources.image import KernelImage
from warploom.engine.patch.changes import PortRef
from warploom.engine.ptx.grid_barriers import kernels_with_grid_barrier
from warploom.engine.ptx.tree import KernelParameter
from warploom.engine.runtime.check.kernel_checks import ImageOf
from warploom.engine.runtime.memory.state_store import filled
from warploom.engine.runtime.preview.outputs import displays, leaf_outputs
from warploom.engine.types.bits import same

#: The bytes of the frame uniforms.
FRAME_BYTES = 16
_REGIONS = {
    RegionKind.IF: "if",
    RegionKind.IF_ELSE: "if",
    RegionKind.SWITCH: "switch",
    RegionKind.WHILE: "while",
    RegionKind.FOR: "while",
}
Values = Mapping[str, Mapping[str, object]]


class ModuleData(msgspec.Struct):
    """A compiled kernel source: PTX, and the CUBIN as base64 if there is one."""

    label: str
    ptx: str
    cubin: str = ""


class BufferData(msgspec.Struct):
    """An allocation, with its first contents as base64; without them, zeros."""

    name: str
    size_bytes: int
    contents: str = ""


class OperationData(msgspec.Struct):
    """A node of the graph, which waits for the operations `after`.

    A "kernel" has an argument block, in which each of `addresses` (offset in the block, buffer, offset in the buffer)
    is to be written. A "fill" sets `size_bytes` bytes at `target` (buffer, offset), a "copy" also has a `source`. A
    "frame" uploads the frame uniforms to `target`. An "if" runs the first of its `bodies` if its condition is not 0,
    otherwise the second, if there is one; a "switch" runs the body whose index is the condition; a "while" repeats its
    body. "nothing" keeps the numbers of the operations.
    """

    kind: str
    node: str
    after: list[int]
    #: The body that it lies in; 0 is the graph itself.
    scope: int = 0
    bodies: list[int] = []
    #: The number of a condition; of a kernel that sets it, also the offset of the handle in the block.
    condition: tuple[int, int] = (-1, 0)
    module: int = -1
    entry: str = ""
    grid: tuple[int, int, int] = (1, 1, 1)
    thread_block: tuple[int, int, int] = (1, 1, 1)
    shared_bytes: int = 0
    #: The grid has at most as many thread blocks as the device runs at once.
    is_counted: bool = False
    #: The thread blocks wait for each other.
    is_cooperative: bool = False
    block: str = ""
    #: The offset of each argument in the block.
    offsets: list[int] = []
    sizes: list[int] = []
    addresses: list[tuple[int, int, int]] = []
    target: tuple[int, int] = (-1, 0)
    source: tuple[int, int] = (-1, 0)
    size_bytes: int = 0
    value: int = 0
    #: The bytes of a fill's value.
    width: int = 1


class ParameterData(msgspec.Struct):
    """A live parameter: each place of its value, as operation, offset and bytes, and as a format of `struct`.

    The format is "" for a value that is passed as bytes.
    """

    places: list[tuple[int, int, int, str]] = []


class OutputData(msgspec.Struct):
    """An output, as numpy's description of its elements, and where it lies; strides are in elements."""

    node: str
    port: str
    dtype: str
    components: list[int]
    shape: list[int]
    strides: list[int]
    buffer: int
    offset: int
    element_bytes: int
    span_bytes: int


class GraphData(msgspec.Struct):
    """A graph. In every other frame, the buffers in `swaps` change places."""

    architecture: str
    time_step_s: float
    frames: int
    modules: list[ModuleData] = []
    buffers: list[BufferData] = []
    operations: list[OperationData] = []
    parameters: dict[str, ParameterData] = {}
    outputs: list[OutputData] = []
    swaps: list[tuple[int, int]] = []


def needs_of_warploom(plan: Plan) -> dict[str, str]:
    """Return the blocks of a plan that only an engine runs, each with the reason."""
    why: dict[str, str] = {}
    for node in plan.description.nodes:
        block = node.description
        if block.feeds or block.watches or block.numbers:
            why.setdefault(node.id, "runs Python in each frame")
        elif block.externals:
            why.setdefault(node.id, "uses memory of another program")
    for operation in plan.operations:
        if isinstance(operation.entry, CaptureEntry):
            why.setdefault(operation.node, f"calls a library ({operation.entry.label})")
    return why


def graph_data(plan: Plan, values: Values, image_of: ImageOf, made: GraphData) -> GraphData:
    """Fill `made` with a plan whose kernels `image_of` returns, and return it. No block may need Warploom."""
    _Writer(plan, values, image_of, made).write()
    return made


class _Writer:
    def __init__(self, plan: Plan, values: Values, image_of: ImageOf, made: GraphData) -> None:
        self._plan, self._values, self._image_of, self._made = plan, values, image_of, made
        #: The buffer of each owner, with the offset in it.
        self._places: dict[PortRef, tuple[int, int]] = {}
        self._modules: dict[int, int] = {}
        #: The number of each region's condition.
        self._conditions: dict[str, int] = {}
        #: The number of each operation of the plan in the data, and the last operation in each loop's body.
        self._numbers: list[int] = []
        self._last: dict[int, int] = {}

    def write(self) -> None:
        plan, made = self._plan, self._made
        self._allocate()
        for index, operation in enumerate(plan.operations):
            after = [self._numbers[other] for other in operation.after]
            if operation.scope in self._last:
                after = [self._last[operation.scope]]
                self._last[operation.scope] = len(made.operations)
            self._numbers.append(len(made.operations))
            made.operations.append(self._operation(index, operation, after))
            if isinstance(operation.entry, RegionEntry) and operation.entry.kind.is_loop:
                self._begin_turn(operation.node, *operation.entry.scopes)
        for target, source in plan.buffers.swaps.items():
            made.swaps.append((self._places[target][0], self._places[source][0]))
        ports = [PortRef(node, display.buffer) for node, display in displays(plan)]
        for port in dict.fromkeys([*ports, *leaf_outputs(plan)]):
            made.outputs.append(self._output(port))

    def _allocate(self) -> None:
        plan = self._plan
        if plan.placement.offsets:
            arena = self._add("", plan.placement.size_bytes)
            self._places |= {owner: (arena, offset) for owner, offset in plan.placement.offsets.items()}
        if plan.status_places:
            status = self._add("", max(place.end for place in plan.status_places.values()))
            self._places[STATUS] = status, 0
            self._places |= {owner: (status, place.offset) for owner, place in plan.status_places.items()}
        self._places[FRAME] = self._add("", FRAME_BYTES), 0
        for owner, buffer in plan.buffers.allocations.items():
            if owner not in self._places and buffer.lifetime is not Lifetime.FUSED:
                size_bytes = buffer.layout.size_bytes
                self._places[owner] = self._add(str(owner), size_bytes, self._contents(owner, buffer)), 0

    def _add(self, name: str, size_bytes: int, contents: np.ndarray[Any, Any] | None = None) -> int:
        data = _text(np.ascontiguousarray(contents).tobytes()) if contents is not None else ""
        self._made.buffers.append(BufferData(name, size_bytes, data))
        return len(self._made.buffers) - 1

    def _contents(self, owner: PortRef, buffer: PlannedBuffer) -> np.ndarray[Any, Any] | None:
        block = self._plan.description.by_id[owner.node].description
        if buffer.lifetime is Lifetime.PROVIDED:
            return block.contents[owner.port]
        if buffer.lifetime is not Lifetime.STATE:
            return None
        if owner.port in block.initials:
            return block.initials[owner.port]
        return None if same(float(buffer.initial), 0.0) else filled(buffer.layout, buffer.initial)

    def _begin_turn(self, node: str, body: int) -> None:
        """Begin a loop's body, whose operations run one after another, with a fill of a byte that nobody reads.

        The driver faults or hangs where a kernel is alone in a body, or conditional nodes run beside each other: see
        `engine/device/cuda/README.md`.
        """
        self._last[body] = len(self._made.operations)
        target = self._add("", 1), 0
        self._made.operations.append(OperationData("fill", node, [], body, target=target, size_bytes=1))

    def _condition(self, region: str) -> int:
        return self._conditions.setdefault(region, len(self._conditions))

    def _operation(self, index: int, operation: Operation, after: list[int]) -> OperationData:
        made = OperationData("nothing", operation.node, after, operation.scope)
        match operation.entry:
            case RegionEntry(kind=kind, scopes=scopes):
                made.kind, made.bodies = _REGIONS[kind], list(scopes)
                made.condition = self._condition(operation.node), 0
            case KernelEntry() as entry:
                self._kernel(index, operation, entry, made)
            case FillEntry(target=target, value=value, width=width):
                made.kind, made.value, made.width = "fill", value, width
                made.target, made.size_bytes = self._named(operation, target)
            case CopyEntry(target=target, source=source):
                made.kind = "copy"
                made.target, made.size_bytes = self._named(operation, target)
                made.source, _ = self._named(operation, source)
            case UploadFrame():
                made.kind, made.target, made.size_bytes = "frame", self._places[FRAME], FRAME_BYTES
            case ClearStatus():
                made.kind, made.target = "fill", self._places[STATUS]
                made.size_bytes = self._made.buffers[made.target[0]].size_bytes
            case DownloadStatus():  # the engine's part, which reports counts
                pass
        return made

    def _kernel(self, index: int, operation: Operation, entry: KernelEntry, made: OperationData) -> None:
        block = self._plan.description.by_id[operation.node].description
        image = self._image_of(entry.kernel, block.kernel_folders)
        parameters = typed_parameters(image, entry.kernel.entry)
        layout, launch = layout_of(parameters), self._plan.launch(index)
        made.kind, made.module, made.entry = "kernel", self._module(image), entry.kernel.entry
        made.grid, made.thread_block, made.shared_bytes = launch.grid, launch.thread_block, launch.shared_bytes
        is_there = entry.count is not None and self._plan.buffers.find(operation.node, entry.count) is not None
        made.is_counted = is_there
        made.is_cooperative = entry.kernel.entry in kernels_with_grid_barrier(image.ptx)
        made.offsets, made.sizes = list(layout.offsets), list(layout.sizes)
        values = self._arguments(operation, entry, parameters, made)
        made.block = _text(layout.pack(values).block.tobytes())

    def _arguments(
        self, operation: Operation, entry: KernelEntry, parameters: Sequence[KernelParameter], made: OperationData
    ) -> list[object]:
        """Return the values of a kernel's arguments, with 0 for addresses, and note what lies where."""
        if isinstance(entry, FusedEntry):
            values: list[object] = [a.value if isinstance(a, ValueArgument) else 0 for a in entry.arguments]
            origins: Sequence[str] = entry.origins
            vectors: dict[int, tuple[str | int, ...]] = {}
        else:
            layouts = self._plan.buffers.blocks[operation.node].layouts
            recipe = argument_recipe(entry, operation.place, layouts, parameters)
            values, vectors = [*recipe.constants], {at: parts for at, _, parts in recipe.vectors}
            origins = [operation.node] * len(entry.arguments)
        for position, (node, argument, taken) in enumerate(zip(origins, entry.arguments, parameters, strict=True)):
            match argument:
                case BufferArgument(name=name):
                    place = self._plan.buffers.find(node, name)
                    if place is not None:
                        made.addresses.append((taken.offset, *self._at(place)))
                    values[position] = 0
                case FrameArgument():
                    made.addresses.append((taken.offset, *self._places[FRAME]))
                    values[position] = 0
                case ConditionArgument():
                    made.condition = self._condition(node), taken.offset
                    values[position] = 0
                case ParameterArgument(name=name):
                    values[position] = self._values[node][name]
                    self._place_value(node, name, taken)
                case VectorArgument():
                    parts = vectors[position]
                    numbers = [self._values[node][part] if isinstance(part, str) else part for part in parts]
                    values[position] = pack_vector(taken, numbers)
                    for part, component in zip(parts, components_of(taken), strict=True):
                        if isinstance(part, str):
                            self._place_value(node, part, component)
        return values

    def _place_value(self, node: str, name: str, taken: KernelParameter) -> None:
        """Note where the kernel of the next operation takes the value of a live parameter."""
        form = {"boolean": "?"}.get(taken.declared or "", format_of(taken) or "")
        known = self._made.parameters.setdefault(f"{node}.{name}", ParameterData([]))
        known.places.append((len(self._made.operations), taken.offset, taken.size_bytes, form))

    def _module(self, image: KernelImage) -> int:
        if id(image) not in self._modules:
            self._modules[id(image)] = len(self._made.modules)
            cubin = _text(image.cubin) if image.cubin is not None else ""
            self._made.modules.append(ModuleData(image.source.label, image.ptx, cubin))
        return self._modules[id(image)]

    def _at(self, place: Place) -> tuple[int, int]:
        buffer, offset = self._places[place.owner]
        return buffer, offset + place.offset

    def _named(self, operation: Operation, argument: BufferArgument) -> tuple[tuple[int, int], int]:
        place = self._plan.buffers.blocks[operation.node].places[argument.name]
        return self._at(place), place.size_bytes

    def _output(self, port: PortRef) -> OutputData:
        inner = self._plan.inlined.output(port)
        layout, place = self._plan.layouts[inner], self._plan.buffers.places[inner]
        base, components = layout.dtype.numpy.subdtype or (layout.dtype.numpy, ())
        text = base.str if base.fields is None else str(np.lib.format.dtype_to_descr(base))
        return OutputData(
            port.node,
            port.port,
            text,
            list(components),
            list(layout.shape),
            list(layout.element_strides),
            *self._at(place),
            layout.dtype.size_bytes,
            layout.span_bytes,
        )


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
