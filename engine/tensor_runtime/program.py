"""`Program`: the computation of some nodes, compiled to a graph on a device and launched with any buffers."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from math import gcd
from typing import NamedTuple

import numpy as np

from warploom.engine.compiler.difference import same_plan
from warploom.engine.compiler.executable.adjust import adjust_graph
from warploom.engine.compiler.executable.arguments import Resources
from warploom.engine.compiler.executable.clocks import ClockKernels, spans
from warploom.engine.compiler.executable.compiled_graph import CompiledGraph, compile_plan
from warploom.engine.compiler.executable.instrument import Instrumented
from warploom.engine.compiler.inspection.labels import what
from warploom.engine.compiler.operations import Operation
from warploom.engine.compiler.plan import Plan
from warploom.engine.compiler.planning import make_plan
from warploom.engine.device.protocol import Memory
from warploom.engine.device.releasing import release_all
from warploom.engine.diagnostics import GraphValidationError, WarploomError
from warploom.engine.patch.changes import PortRef
from warploom.engine.profiling.levels import ProfilingLevel
from warploom.engine.runtime.memory.graph_memory import GraphMemory, allocate_buffers
from warploom.engine.runtime.model.plan_kernels import PlanKernels
from warploom.engine.tensor_ir.errors import ExecutionFailed, ShapeMismatch
from warploom.engine.tensor_ir.graph import TensorNode
from warploom.engine.tensor_ir.types import TensorType
from warploom.engine.tensor_runtime.program_block import MEMORY, PROGRAM, ProgramBlock, Wanted
from warploom.engine.tensor_runtime.tensors import TensorBuffer, Tensors
from warploom.engine.types import DType, u32
from warploom.engine.types.layout import ALLOCATION_ALIGNMENT

#: The number of batch sizes for which a program stays compiled.
KEPT_SIZES = 4


class EntryTime(NamedTuple):
    """The time of one operation of a program, with the names of the nodes that it computes, and its kind of work."""

    nodes: tuple[str, ...]
    what: str
    time_ns: int


class Ancillary(NamedTuple):
    """A buffer that a program needs internally, with its type and the names of the nodes that write it first."""

    nodes: tuple[str, ...]
    dtype: DType
    shape: tuple[int, ...]
    size_bytes: int


class Program:
    """The computation of nodes from others, on a device. It is compiled for each batch size at the first run.

    `inputs` are nodes, including leaves, whose buffers are passed to `run`; `wanted` nodes are computed. Programs for
    graphs with the same structure can share one object, which keeps none of the nodes.
    """

    def __init__(
        self,
        tensors: Tensors,
        inputs: Sequence[TensorNode],
        wanted: Sequence[Wanted | TensorNode],
        *,
        is_loop: bool = False,
        names: Mapping[TensorNode, str] | None = None,
    ) -> None:
        """With `is_loop`, one launch can run the program several times in sequence. `names` are for `profile`."""
        stores = [item if isinstance(item, Wanted) else Wanted(item) for item in wanted]
        self.tensors = tensors
        self.input_types = tuple(node.type for node in inputs)
        #: The types of wanted nodes that have their own buffers, in order.
        self.output_types = tuple(store.node.type for store in stores if store.over is None)
        self._lowered = ProgramBlock(inputs, stores, names or {}, is_loop=is_loop)
        #: The number of turns of a loop in device memory, and as it was written last.
        self._turns = tensors.buffer(TensorType((1,), u32)) if is_loop else None
        self._last_turns = 0
        #: Compiled programs by batch size and alignments of the buffers.
        self._compiled: OrderedDict[tuple[int, Sequence[int]], _Compiled] = OrderedDict()

    def run(
        self, inputs: Sequence[TensorBuffer], outputs: Sequence[TensorBuffer], batch: int = 1, *, turns: int = 1
    ) -> None:
        """Launch the program. Results are ready after `Tensors.synchronize`, and for everything launched later.

        A loop runs `turns` times, and each turn reads the buffers that the turn before has replaced.

        Raise ShapeMismatch for a buffer of the wrong type or batch size, and ExecutionFailed if the device refuses it.
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
            if turns != self._last_turns:
                self._turns.write(np.array([turns]))
                self._last_turns = turns
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
        """Launch the program several times with a clock at each operation, and return the median times.

        Operations run one after the other, also those that could run at the same time. The clocks add some
        microseconds, and all operations of a loop are timed as one.
        """
        memories = [buffer.memory for buffer in (*inputs, *outputs)]
        if self._turns is not None:
            memories.append(self._turns.memory)
        plan = self._plan(batch, _alignments(memories))
        single = spans(plan, ProfilingLevel.PER_KERNEL)
        timed = [span for span in single if not plan.operations[span.operations[0]].scope]
        tensors, compiled = self.tensors, _Compiled(self.tensors, plan, memories)
        with ExitStack() as closing:
            closing.callback(compiled.close)
            (variant,), clock = compiled.graph.variants, ClockKernels(tensors.device)
            closing.callback(clock.unload)
            frame, status = tensors.services.uniforms.current, compiled.graph.status
            copied = Instrumented(plan, variant, tensors.device, frame, status, timed, clock, in_turn=True)
            closing.callback(copied.destroy)
            rows = []
            for _ in range(launches + 1):
                copied.launch(tensors.stream)
                tensors.synchronize()
                rows.append(copied.read()["busy_ns"])
        times_ns = np.median(rows[1:], axis=0)  # the first launch takes longer
        return [
            EntryTime(self._names(plan.operations[number]), what(plan, number), int(time_ns))
            for (_, (number,)), time_ns in zip(timed, times_ns, strict=True)
        ]

    def ancillary(self, batch: int = 1) -> list[Ancillary]:
        """Return the buffers between inputs and outputs for a batch size; most of them share memory."""
        plan, found = self.plan(batch), dict[PortRef, Ancillary]()
        for operation in plan.operations:
            for place in operation.access.writes:
                owner = place.owner
                if owner.node == PROGRAM and owner not in found:
                    layout = plan.buffers.allocations[owner].layout
                    names = self._names(operation)
                    found[owner] = Ancillary(names, layout.dtype, tuple(layout.shape), layout.size_bytes)
        return list(found.values())

    def _names(self, operation: Operation) -> tuple[str, ...]:
        """Return the names of the nodes that an operation of the plan computes."""
        is_own = operation.node == PROGRAM and operation.place >= 0
        return self._lowered.names[operation.place] if is_own else ()

    def plan(self, batch: int = 1) -> Plan:
        """Return the plan for a batch size, with its operations and buffers."""
        known = (compiled.graph.plan for (size, _), compiled in self._compiled.items() if size == batch)
        return next(known, None) or self._plan(batch, [])

    def close(self) -> None:
        """Free the program's device memory; the program can't run again."""
        turns = [self._turns.free] if self._turns is not None else []
        parts = [compiled.close for compiled in self._compiled.values()]
        self._turns = None
        self._compiled.clear()
        release_all(self.tensors.synchronize, *turns, *parts)

    def _plan(self, batch: int, alignments: Sequence[int]) -> Plan:
        types = (*self.input_types, *self.output_types)
        try:
            return make_plan(
                self._lowered.description(types, batch, alignments),
                fuses=False,
                workspace_of=self.tensors.services.workspace_bytes,
            )
        except GraphValidationError as problem:
            raise ExecutionFailed(f"program must compile, got: {problem}") from problem

    def _compile(self, batch: int, alignments: Sequence[int], memories: Sequence[Memory]) -> _Compiled:
        while len(self._compiled) >= KEPT_SIZES:
            self.tensors.synchronize()
            _, oldest = self._compiled.popitem(last=False)
            oldest.close()
        self.tensors.synchronize()  # zeroing the program's own buffers may be in progress
        try:
            compiled = _Compiled(self.tensors, self._plan(batch, alignments), memories)
        except ExecutionFailed:
            raise
        except WarploomError as problem:
            raise ExecutionFailed(f"program must compile, got: {problem}") from problem
        self._compiled[batch, alignments] = compiled
        return compiled


def _alignments(memories: Sequence[Memory]) -> Sequence[int]:
    """Return the alignment of each memory; nothing if all are aligned like allocated memory."""
    found = tuple([gcd(memory.pointer, ALLOCATION_ALIGNMENT) for memory in memories])
    return found if min(found, default=ALLOCATION_ALIGNMENT) < ALLOCATION_ALIGNMENT else ()


class _Compiled:
    """A program for one batch size as a graph, with the memory of its internal buffers."""

    def __init__(self, tensors: Tensors, plan: Plan, memories: Sequence[Memory]) -> None:
        self._tensors, services = tensors, tensors.services
        self._owners = [PortRef(MEMORY, f"x{number}") for number in range(len(memories))]
        self._bound = [memory.pointer for memory in memories]
        blocks = [node.description for node in plan.description.nodes]
        services.modules.load((kernel, block.kernel_folders) for block in blocks for kernel in block.kernels())
        claimed = GraphMemory(dict(zip(self._owners, memories, strict=True)))
        self._memory = allocate_buffers(
            plan, tensors.device, services.pool, services.states, services.frame_memory, claimed
        )
        try:
            self._resources = Resources(
                self._memory.by_owner,
                PlanKernels(plan, services.modules),
                {},
                services.uniforms.current,
                self._memory.status,
                libraries=services.libraries,
            )
            self.graph: CompiledGraph = compile_plan(plan, tensors.device, self._resources)
            self._memory.status = None  # freed together with the graph
        except BaseException:
            self._memory.abandon(services.pool, services.states)
            raise

    def rebind(self, memories: Sequence[Memory]) -> None:
        """Make the next launch use other memory, by updating the graph nodes that access it."""
        moved = {
            owner: memory
            for owner, memory, old in zip(self._owners, memories, self._bound, strict=True)
            if memory.pointer != old
        }
        if not moved:
            return
        self._memory.by_owner.update(moved)
        tensors, plan = self._tensors, self.graph.plan
        changes = same_plan(plan, moved=frozenset(moved))
        adjustment = adjust_graph(changes, tensors.device, self._resources, self.graph)
        if adjustment is None or adjustment.captures_again:
            tensors.synchronize()
        if adjustment is not None:
            adjustment.apply()
        else:
            fresh = compile_plan(plan, tensors.device, self._resources)
            self.graph.status = None  # freed together with the next graph
            old, self.graph = self.graph, fresh
            old.destroy()
        self._bound = [memory.pointer for memory in memories]

    def close(self) -> None:
        """Free the graph and its memory."""
        release_all(self.graph.destroy, partial(self._memory.release, self._tensors.services.pool))
