"""Programs on a device: a lowered tensor program is compiled to a graph once, and launched on any buffers."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import gcd, prod
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from engine.compiler.description import BlockNode, GraphDescription
from engine.compiler.difference import difference
from engine.compiler.executable.adjust import adjust_graph
from engine.compiler.executable.arguments import Resources
from engine.compiler.executable.compiled_graph import CompiledGraph, compile_plan
from engine.compiler.inspection.labels import what
from engine.compiler.operations import Operation
from engine.compiler.plan import Plan, make_plan
from engine.descriptions.builder import BlockBuilder
from engine.descriptions.description import BlockDescription
from engine.descriptions.extents import Extent
from engine.descriptions.handles import BufferHandle
from engine.descriptions.ports import PortSpec
from engine.descriptions.regions import describe_for
from engine.device.device import Device
from engine.device.external import ExternalArray
from engine.device.open import open_device
from engine.device.protocol import Memory
from engine.diagnostics import GraphValidationError, WarploomError
from engine.patch.changes import Connection, PortRef
from engine.patch.regions import TOP
from engine.runtime.memory.graph_memory import GraphMemory, allocate
from engine.runtime.model.context import DeviceServices
from engine.runtime.model.module_cache import PlanKernels
from engine.tensor_graphs.errors import ExecutionFailed, ShapeMismatch
from engine.tensor_graphs.graph import Node
from engine.tensor_graphs.lowering.program import Store, write_program
from engine.tensor_graphs.types import TensorType
from engine.types import DType, u32
from engine.types.layout import ALLOCATION_ALIGNMENT

#: How many batch sizes a program stays compiled for.
KEPT_SIZES = 4
#: The most turns of a loop in one launch.
MOST_TURNS = 2**31 - 1
_MEMORY, _PROGRAM, _LOOP = "memory", "program", "loop"


class Tensors:
    """What tensor programs use of one device: memory, kernels and libraries, which all of them share.

    One thread may use it at a time.
    """

    def __init__(self, device: Device | str = "auto") -> None:
        """`device` is one that is open, and stays so when this is closed, or the name of one to open."""
        self._owns_device = isinstance(device, str)
        self.device = open_device(device) if isinstance(device, str) else device
        self.device.activate()
        self.services = DeviceServices(self.device)
        self.stream = self.device.create_stream()
        self._is_closed = False

    def buffer(self, type_: TensorType, batch: int = 1) -> TensorBuffer:
        """Return zeroed memory for a tensor, of `batch` examples if it is batched."""
        layout = (*((batch,) if type_.batched else ()), *type_.stored_shape)
        size = max(prod(layout) * type_.stored_dtype.size_bytes, 1)
        return TensorBuffer(self, type_, layout, self.services.pool.acquire(size))

    def turns(self) -> Turns:
        """Return memory for the number of turns of a loop."""
        return Turns(self, self.services.pool.acquire(u32.size_bytes))

    def synchronize(self) -> None:
        """Wait for what was launched."""
        self.stream.synchronize()

    def close(self) -> None:
        """Free everything on the device."""
        if self._is_closed:
            return
        self._is_closed = True
        self.device.activate()
        self.stream.synchronize()
        self.stream.destroy()
        self.services.close()
        if self._owns_device:
            self.device.close()


@dataclass(frozen=True, eq=False)
class TensorBuffer:
    """Device memory of a tensor; `shape` is its shape in memory, the batch first."""

    tensors: Tensors
    type: TensorType
    shape: tuple[int, ...]
    memory: Memory
    #: Another library owns the memory.
    is_adopted: bool = False

    def write(self, array: np.ndarray[Any, Any]) -> None:
        """Copy an array of as many elements to it, after what was launched before."""
        found = np.ascontiguousarray(array, self.type.stored_dtype.numpy)
        if found.size != prod(self.shape):
            raise ShapeMismatch(f"array must have shape {list(self.shape)}, got {list(found.shape)}")
        self.tensors.synchronize()
        self.tensors.device.write(self.memory, found)

    def read(self) -> np.ndarray[Any, Any]:
        """Return a copy of its elements, in the tensor's own shape behind the batch axis, if it has one."""
        array = np.empty(self.shape, self.type.stored_dtype.numpy)
        self.tensors.synchronize()
        self.tensors.device.read(self.memory, array)
        if self.type.nnz is not None:
            return array
        return array.reshape((*self.shape[: self.type.batched], *self.type.shape))

    def free(self) -> None:
        """Give the memory back; no program may be running that uses it."""
        if self.is_adopted:
            self.memory.free()
        else:
            self.tensors.services.pool.release(self.memory)


class Turns:
    """How often a loop runs, in device memory."""

    def __init__(self, tensors: Tensors, memory: Memory) -> None:
        self._tensors, self.memory, self._count = tensors, memory, 0

    def write(self, count: int) -> None:
        """Set it, unless it is set already."""
        if count != self._count:
            self._tensors.synchronize()
            self._tensors.device.write(self.memory, np.array([count], np.uint32))
            self._count = count

    def free(self) -> None:
        """Give the memory back."""
        self._tensors.services.pool.release(self.memory)


class Wanted(NamedTuple):
    """A node that a program computes; with `over`, its buffer is that of an input, which it replaces."""

    node: Node
    over: Node | None = None


class EntryTime(NamedTuple):
    """How long one operation of a program takes: the names of the nodes that it computes, and what it is."""

    nodes: tuple[str, ...]
    what: str
    time_ns: int


class Ancillary(NamedTuple):
    """A buffer of a program's own: the names of the nodes whose computation writes it first, and what it holds."""

    nodes: tuple[str, ...]
    dtype: DType
    shape: tuple[int, ...]
    size_bytes: int


class Program:
    """What computes nodes from others, on a device; it is compiled for each batch size when that is first run.

    `inputs` are nodes whose buffers `run` is given, leaves among them; `wanted` are computed. Programs for graphs of
    the same structure can share one object: it keeps none of the nodes.
    """

    def __init__(
        self,
        tensors: Tensors,
        inputs: Sequence[Node],
        wanted: Sequence[Wanted | Node],
        *,
        is_loop: bool = False,
        names: Mapping[Node, str] | None = None,
    ) -> None:
        """If it `is_loop`, one launch can run it several times, one after another. `names` are for `profile`."""
        stores = [item if isinstance(item, Wanted) else Wanted(item) for item in wanted]
        self.tensors = tensors
        self.input_types = tuple(node.type for node in inputs)
        #: The wanted nodes that have buffers of their own, in order.
        self.output_types = tuple(store.node.type for store in stores if store.over is None)
        self._lowered = _Lowered(inputs, stores, names or {}, is_loop=is_loop)
        self._turns = tensors.turns() if is_loop else None
        #: By batch size and alignments of the buffers.
        self._compiled: OrderedDict[tuple[int, Sequence[int]], _Compiled] = OrderedDict()

    def run(
        self, inputs: Sequence[TensorBuffer], outputs: Sequence[TensorBuffer], batch: int = 1, *, turns: int = 1
    ) -> None:
        """Launch it; the results are there after `Tensors.synchronize`, or for what is launched later.

        A loop runs so many `turns`, which read what the turn before has replaced.

        ShapeMismatch when a buffer is of another type or batch size; ExecutionFailed when the device can't do it.
        """
        for kind, types, buffers in (("input", self.input_types, inputs), ("output", self.output_types, outputs)):
            if len(types) != len(buffers):
                raise ShapeMismatch(f"program must be given {len(types)} {kind} buffers, got {len(buffers)}")
            for type_, buffer in zip(types, buffers, strict=True):
                if buffer.type is not type_ and buffer.type != type_:
                    raise ShapeMismatch(f"{kind} buffer must hold {type_}, got {buffer.type}")
                if type_.batched and buffer.shape[0] != batch:
                    raise ShapeMismatch(f"{kind} buffer must hold {batch} examples, got {buffer.shape[0]}")
        memories = [buffer.memory for buffer in (*inputs, *outputs)]
        if self._turns is not None:
            self._turns.write(turns)
            memories.append(self._turns.memory)
        elif turns != 1:
            raise ExecutionFailed(f"turns of a program that is no loop must be 1, got {turns}")
        key = batch, _alignments(memories)
        compiled = self._compiled.get(key)
        if compiled is None:
            compiled = self._compile(*key, memories)
        else:
            self._compiled.move_to_end(key)
            compiled.rebind(memories)
        compiled.graph.launch(self.tensors.stream)

    def profile(
        self, inputs: Sequence[TensorBuffer], outputs: Sequence[TensorBuffer], batch: int = 1, *, launches: int = 10
    ) -> list[EntryTime]:
        """Launch it several times with a clock at each operation, and return the median of each.

        The clocks themselves take some microseconds, and operations of a loop are timed as one.
        """
        memories = [buffer.memory for buffer in (*inputs, *outputs)]
        if self._turns is not None:
            memories.append(self._turns.memory)
        plan = self._plan(batch, _alignments(memories))
        timed = {number: str(number) for number, operation in enumerate(plan.operations) if operation.scope == 0}
        compiled = _Compiled(self.tensors, plan, memories, timed)
        try:
            times: dict[int, list[int]] = {number: [] for number in timed}
            for _ in range(launches + 1):  # the first takes longer
                compiled.graph.launch(self.tensors.stream)
                self.tensors.synchronize()
                for label, time_ns in compiled.graph.span_times().items():
                    times[int(label)].append(time_ns)
        finally:
            compiled.close()
        found = []
        for number, measured in times.items():
            operation = plan.operations[number]
            if measured:
                found.append(EntryTime(self._names(operation), what(plan, number), int(median(measured[1:]))))
        return found

    def ancillary(self, batch: int = 1) -> list[Ancillary]:
        """Return the buffers between inputs and outputs for a batch size; most share memory with each other."""
        plan, found = self.plan(batch), dict[PortRef, Ancillary]()
        for operation in plan.operations:
            for place in operation.access.writes:
                owner = place.owner
                if owner.node == _PROGRAM and owner not in found:
                    layout = plan.buffers.allocations[owner].layout
                    names = self._names(operation)
                    found[owner] = Ancillary(names, layout.dtype, tuple(layout.shape), layout.size_bytes)
        return list(found.values())

    def _names(self, operation: Operation) -> tuple[str, ...]:
        """Return the names of the nodes that an operation of the plan computes."""
        is_own = operation.node == _PROGRAM and operation.place >= 0
        return self._lowered.names[operation.place] if is_own else ()

    def plan(self, batch: int = 1) -> Plan:
        """Return how the program is compiled for a batch size: its operations and buffers."""
        known = (compiled.graph.plan for (size, _), compiled in self._compiled.items() if size == batch)
        return next(known, None) or self._plan(batch, [])

    def close(self) -> None:
        """Give back what it has on the device; it must not be run again."""
        self.tensors.synchronize()
        if self._turns is not None:
            self._turns.free()
            self._turns = None
        for compiled in self._compiled.values():
            compiled.close()
        self._compiled.clear()

    def _plan(self, batch: int, alignments: Sequence[int]) -> Plan:
        libraries = self.tensors.services.libraries
        types = (*self.input_types, *self.output_types)
        try:
            return make_plan(
                self._lowered.description(types, batch, alignments),
                fuses=False,
                workspace_of=libraries.workspace_bytes,
            )
        except GraphValidationError as problem:
            raise ExecutionFailed(f"program must compile, got: {problem}") from problem

    def _compile(self, batch: int, alignments: Sequence[int], memories: Sequence[Memory]) -> _Compiled:
        while len(self._compiled) >= KEPT_SIZES:
            self.tensors.synchronize()
            _, oldest = self._compiled.popitem(last=False)
            oldest.close()
        try:
            compiled = _Compiled(self.tensors, self._plan(batch, alignments), memories)
        except ExecutionFailed:
            raise
        except WarploomError as problem:
            raise ExecutionFailed(f"program must compile, got: {problem}") from problem
        self._compiled[batch, alignments] = compiled
        return compiled


class _Lowered:
    """The description of a program's block, whose ports are `x0`, `x1` and so on; it holds for every batch size."""

    def __init__(
        self, inputs: Sequence[Node], stores: Sequence[Wanted], names: Mapping[Node, str], *, is_loop: bool
    ) -> None:
        self._loop = _loop() if is_loop else None
        ports: list[PortSpec] = []
        targets: list[Store] = []
        placed = {node: BufferHandle(f"x{number}") for number, node in enumerate(inputs)}
        for node, handle in placed.items():
            ports.append(_port(handle.name, node.type))
        count = len(inputs)
        for number, store in enumerate(stores):
            if store.over is None:
                into = f"x{count}"
                ports.append(_port(into, store.node.type))
                count += 1
            else:
                into = placed[store.over].name
                if (store.node.type.size, store.node.type.batched) != (store.over.type.size, store.over.type.batched):
                    raise ShapeMismatch(f"what replaces {store.over!r} must be of its type, got {store.node!r}")
            ports.append(_port(f"y{number}", store.node.type, inplace=into))
            targets.append(Store(store.node, BufferHandle(f"y{number}"), store.over))
        build = BlockBuilder("tensor", {spec.name: spec for spec in ports}, (), {"batch": 1}, None)
        written = write_program(build, targets, placed, "batch")
        self._block = build.commit()
        #: The names of the nodes that each entry computes.
        self.names = [tuple([names.get(node, node.label) for node in nodes if node.inputs]) for nodes in written]

    def description(self, types: Sequence[TensorType], batch: int, alignments: Sequence[int]) -> GraphDescription:
        """Return the program for a batch size: its block, and one that has the memory of its ports.

        Memory is aligned as memory that is allocated, unless `alignments` say otherwise.
        """
        block = BlockDescription(
            self._block.ports,
            self._block.entries,
            self._block.buffers,
            structural=(("batch", batch),),
        )
        alignments = alignments or [ALLOCATION_ALIGNMENT] * len(types)
        arrays = {
            f"x{number}": _array(type_, batch, alignment)
            for number, (type_, alignment) in enumerate(zip(types, alignments, strict=False))
        }
        outputs = [
            PortSpec(name, "out", type_.stored_dtype, "", "data") for name, type_ in zip(arrays, types, strict=True)
        ]
        connections = [Connection(PortRef(_MEMORY, name), PortRef(_PROGRAM, name)) for name in arrays]
        nodes = [BlockNode(_PROGRAM, block, TOP if self._loop is None else _LOOP)]
        if self._loop is not None:
            turns = f"x{len(types)}"
            arrays[turns] = ExternalArray(0, u32.numpy, (1,), None, False, "", None)
            outputs.append(PortSpec(turns, "out", u32, "", "data"))
            connections.append(Connection(PortRef(_MEMORY, turns), PortRef(_LOOP, "turns")))
            nodes.append(BlockNode(_LOOP, self._loop))
        memory = BlockDescription(tuple(outputs), (), externals=arrays)
        return GraphDescription((BlockNode(_MEMORY, memory), *nodes), tuple(connections))


def _loop() -> BlockDescription:
    """Return a region that runs as often as its input says."""
    ports = {
        "turns": PortSpec("turns", "in", u32, "", "same"),
        "index": PortSpec("index", "out", u32, "", "[1]"),
    }
    build = BlockBuilder("tensor loop", ports, (), {}, None)
    describe_for(build, 0, BufferHandle("turns"), index=BufferHandle("index"), limit=Extent(str(MOST_TURNS)))
    return build.commit()


def _port(name: str, type_: TensorType, inplace: str | None = None) -> PortSpec:
    return PortSpec(name, "in" if inplace is None else "out", type_.stored_dtype, "", "same", inplace=inplace)


def _alignments(memories: Sequence[Memory]) -> Sequence[int]:
    """Return which alignment each memory has; none where all have that of memory that is allocated."""
    found = tuple([gcd(memory.pointer, ALLOCATION_ALIGNMENT) for memory in memories])
    return found if min(found, default=ALLOCATION_ALIGNMENT) < ALLOCATION_ALIGNMENT else ()


def _array(type_: TensorType, batch: int, alignment: int) -> ExternalArray:
    """Return an array that stands for memory that is told when the program is launched."""
    shape = (*((batch,) if type_.batched else ()), *type_.stored_shape)
    return ExternalArray(alignment, type_.stored_dtype.numpy, shape, None, False, "", None)


class _Compiled:
    """A program for one batch size as a graph, with the memory of its own buffers."""

    def __init__(
        self, tensors: Tensors, plan: Plan, memories: Sequence[Memory], spans: Mapping[int, str] | None = None
    ) -> None:
        """`spans` are labels of operations to be timed, by their numbers."""
        self._tensors, services = tensors, tensors.services
        self._owners = [PortRef(_MEMORY, f"x{number}") for number in range(len(memories))]
        self._bound = [memory.pointer for memory in memories]
        blocks = [node.description for node in plan.description.nodes]
        services.modules.load((kernel, block.kernel_folders) for block in blocks for kernel in block.kernels())
        claimed = GraphMemory(dict(zip(self._owners, memories, strict=True)))
        self._memory = allocate(plan, tensors.device, services.pool, services.states, services.frame_memory, claimed)
        try:
            self._resources = Resources(
                self._memory.by_owner,
                PlanKernels(plan, services.modules),
                {},
                services.frame,
                self._memory.status,
                libraries=services.libraries,
            )
            self.graph: CompiledGraph = compile_plan(plan, tensors.device, self._resources, spans or {})
            self._memory.status = None  # it goes with the graph
        except BaseException:
            self._memory.abandon(services.pool, services.states)
            raise

    @cached_property
    def _unchanged(self) -> Any:
        return difference(self.graph.plan, self.graph.plan)

    def rebind(self, memories: Sequence[Memory]) -> None:
        """Have the next launch use other memory, by an update of what it touches."""
        pointers = [memory.pointer for memory in memories]
        if pointers == self._bound:
            return
        tensors, plan = self._tensors, self.graph.plan
        moved = {owner for owner, new, old in zip(self._owners, pointers, self._bound, strict=True) if new != old}
        for variant in self.graph.variants:  # which must not ask freed memory where it was
            variant.built.memory = {owner: place for owner, place in variant.memory.items() if owner not in moved}
        self._bound = pointers
        by_owner: Mapping[PortRef, Memory] = {
            **self._memory.by_owner,
            **dict(zip(self._owners, memories, strict=True)),
        }
        self._memory.by_owner = dict(by_owner)
        self._resources.memory = self._memory.by_owner
        adjustment = adjust_graph(self._unchanged, tensors.device, self._resources, self.graph)
        tensors.synchronize()
        if adjustment is not None:
            adjustment.apply()
            return
        self.graph.status = None  # it goes with the next one
        self.graph.destroy()
        self.graph = compile_plan(plan, tensors.device, self._resources, {})

    def close(self) -> None:
        """Give its memory back."""
        self.graph.destroy()
        self._memory.release(self._tensors.services.pool)
