"""An executable's program: the nodes of its graph as a list of instructions in memory.

Native code runs short kernels, fills and copies; Python runs the rest. Python runs a kernel first, which shows how long
it takes; if that is short, native code runs it from then on.
"""

import struct
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

import numpy as np

from engine.device.host.events import HostEvent, own_capture
from engine.device.host.graph import stepper
from engine.device.host.launch import Launch, check_launch
from engine.device.host.memory import AllocationTable, bytes_of, copy
from engine.device.host.modules.module import HostKernel
from engine.device.host.pool import Pool
from engine.device.host.translate import abi
from engine.device.nodes import (
    CapturedWork,
    ChildWork,
    ConditionalWork,
    CopyWork,
    EventWork,
    KernelWork,
    MemsetWork,
    Work,
)
from engine.device.protocol import Capture, Condition, ConditionalKind, GraphNode
from engine.device.tree import ROOT, GraphTree
from engine.diagnostics import DeviceError

#: Python runs longer fills and copies: a microsecond more makes no difference to them.
MOST_BYTES = 1 << 20
#: The least time between two measurements of kernels whose arguments change all the time.
REMEASURE_NS = 20_000_000
#: The fields that are the same in the launch records of all kernels of a program.
_SHARED_FIELDS = (abi.ALLOCATIONS, abi.ALLOCATION_COUNT, abi.STOP, abi.SERVICES)
#: One field of an instruction.
_FIELD = struct.Struct("<q")


#: An operation of `stepper`, its node, and its first two fields; `Program` fills in those of kernels, fills and copies.
#: The stores with which every launch begins have no node.
GraphInstruction = tuple[int, GraphNode | None, int, int]


def instructions(tree: GraphTree, defaults: Mapping[Condition, int]) -> list[GraphInstruction]:
    """Return what a launch of the graph does, in an order that respects every dependency.

    That is the order in which the nodes were added to their graph or body, unless one waits for a later one.
    """
    writer = _Writer(tree)
    for condition, default in defaults.items():
        writer.done.append((stepper.STORE, None, condition, default))
    writer.graph(ROOT, in_loop=False)
    return writer.done


class _Writer:
    def __init__(self, tree: GraphTree) -> None:
        self.done: list[GraphInstruction] = []
        self._nodes = nodes = tree.nodes
        self._members: list[list[GraphNode]] = [[] for _ in tree.owners]
        for node in tree.order():
            self._members[nodes[node].graph].append(node)

    def graph(self, number: int, *, in_loop: bool) -> None:
        """Append the instructions of a graph of the tree."""
        for node in self._members[number]:
            work = self._nodes[node].work
            if type(work) is KernelWork:  # most nodes are
                self.done.append((stepper.KERNEL, node, 0, 0))
                continue
            match work:
                case MemsetWork(size_bytes=size):
                    if size:
                        self._write(stepper.FILL, node)
                case CopyWork(size_bytes=size):
                    if size:
                        self._write(stepper.COPY, node)
                case EventWork() | CapturedWork():
                    self._write(stepper.PYTHON, node)
                case ChildWork(graph=child):
                    self.graph(child, in_loop=in_loop)
                case ConditionalWork() if work.kind is ConditionalKind.WHILE:
                    self._while(node, work, in_loop=in_loop)
                case ConditionalWork():
                    self._if(node, work, in_loop=in_loop)

    def _while(self, node: GraphNode, work: ConditionalWork, *, in_loop: bool) -> None:
        if not in_loop:
            self._write(stepper.ENTER, node, node)
        begin = self._write(stepper.SKIP, node, work.condition)
        self.graph(work.first_body, in_loop=True)
        self._write(stepper.BACK, node, node, begin)
        self._aim(begin)
        if not in_loop:
            self._write(stepper.LEAVE, node)

    def _if(self, node: GraphNode, work: ConditionalWork, *, in_loop: bool) -> None:
        choice = self._write(stepper.SKIP, node, work.condition)
        self.graph(work.bodies[0], in_loop=in_loop)
        if work.kind is ConditionalKind.IF:
            self._aim(choice)
            return
        end = self._write(stepper.JUMP, node)
        self._aim(choice)
        self.graph(work.bodies[1], in_loop=in_loop)
        self.done[end] = stepper.JUMP, node, len(self.done), 0

    def _write(self, operation: int, node: GraphNode, a: int = 0, b: int = 0) -> int:
        self.done.append((operation, node, a, b))
        return len(self.done) - 1

    def _aim(self, skip: int) -> None:
        """Set the target of a skip to the next instruction."""
        operation, node, condition, _ = self.done[skip]
        self.done[skip] = operation, node, condition, len(self.done)


class Program:
    """The instructions of one executable; an instruction is named by its index."""

    def __init__(
        self,
        tree: GraphTree,
        defaults: Mapping[Condition, int],
        pool: Pool,
        table: AllocationTable,
    ) -> None:
        self.pool, self.table = pool, table
        nodes, rows = tree.nodes, instructions(tree, defaults)
        self.end = len(rows)
        self.code = np.zeros((self.end + 1, stepper.FIELDS), np.int64)
        #: For each instruction, whether Python runs it; native code stops there.
        self.in_python = [False] * self.end + [True]
        self._operations = [operation for operation, _, _, _ in rows]
        #: What the kernels launch, and these launches for those that Python has run.
        self._works: dict[int, KernelWork] = {
            index: work
            for index, (_, node, _, _) in enumerate(rows)
            if node is not None and type(work := nodes[node].work) is KernelWork
        }
        self._launches: dict[int, Launch] = {}
        #: What Python calls for captured work, events, and the fills and copies that it runs.
        self.actions: dict[int, Callable[[], None]] = {}
        self._transfers: dict[int, MemsetWork | CopyWork] = {}
        self._indices: dict[GraphNode | None, int] = {rows[index][1]: index for index in self._works}
        self._captured: dict[GraphNode, int] = {
            node: index
            for index, (_, node, _, _) in enumerate(rows)
            if node is not None and type(nodes[node].work) is CapturedWork
        }
        #: Kernels that call Python, which prints for one kernel at a time.
        self._callers: set[int] = set()
        #: The time from which on a kernel is measured again when its arguments change.
        self._measure_ns = 0
        #: Kernels whose optimised code is not there yet.
        self._unoptimised: set[int] = set()
        self._pairs: np.ndarray[Any, Any] | None = None
        # Single numbers are written by way of a memoryview: into the array they would take ten times as long.
        self._code_memory = self.code.data.cast("B")
        for index, (operation, node, a, b) in enumerate(rows):
            if operation != stepper.KERNEL:
                self.code[index, :3] = operation, a, b
                if node is not None and operation in (stepper.FILL, stepper.COPY, stepper.PYTHON):
                    self._enter_other(index, nodes[node].work)
        self._common = pool.watchdog.address, self.pool.services.address
        #: A launch record for each instruction, of which kernels use theirs.
        self._records = np.zeros((self.end + 1, abi.LAUNCH_FIELDS), np.int64)
        self._records_address = int(self._records.ctypes.data)
        #: The memory that a worker needs for any of the kernels.
        self.shared_bytes = self.scratch_bytes = 0
        self._enter_kernels(self._works)

    def launch(self, index: int) -> Launch:
        """Return the launch of a kernel, which is made when it is first asked for."""
        found = self._launches.get(index)
        if found is None:
            work = self._works[index]
            found = self._launches[index] = Launch(work.kernel, work.config, work.arguments)
        return found

    def revalue(self, nodes: Iterable[GraphNode]) -> None:
        """Note that the argument blocks of kernel nodes have other values; kernels read them in place.

        A kernel may run longer with other values. Most changes make no difference, and a dragged slider changes its
        value in every frame, so only one kernel is measured again at each interval.
        """
        indices = self._indices
        for node in nodes:
            index = indices.get(node)
            if index is None:
                raise _no_kernel(node)
            if time.perf_counter_ns() >= self._measure_ns:
                self._remeasure(index)

    def replace(self, node: GraphNode, work: KernelWork) -> None:
        """Give a kernel node another launch, or the same one with other values; DeviceError for other nodes."""
        index = self._indices.get(node)
        if index is None:
            raise _no_kernel(node)
        old = self._works[index]
        if old.kernel is work.kernel and old.arguments is work.arguments and old.config == work.config:
            if time.perf_counter_ns() >= self._measure_ns:
                self._remeasure(index)
            return
        check_launch(work.kernel, work.config, work.arguments)
        self._works[index] = work
        self._launches.pop(index, None)
        self._callers.discard(index)
        self._enter_kernels([index])

    def recapture(self, node: GraphNode, capture: Capture) -> None:
        """Let a captured node call a library otherwise; DeviceError for other nodes."""
        index = self._captured.get(node)
        if index is None:
            raise DeviceError(f"host: node {node} must be captured work of this graph")
        self.actions[index] = own_capture(capture).run

    def _remeasure(self, index: int) -> None:
        self._measure_ns = time.perf_counter_ns() + REMEASURE_NS
        self.measure(index)

    def measure(self, *indices: int) -> None:
        """Let Python run these kernels, or all, the next time, since their run time may have changed."""
        for index in indices or self._works:
            self._assign(index, in_python=True)

    def run_one(self, index: int) -> None:
        """Run one of the instructions that Python runs."""
        if index not in self._works:
            self.actions[index]()
            return
        launch = self.launch(index)
        served = self.pool.services.served
        before = int(served[0])
        launch.run(self.pool, self.table)
        if served[0] != before:
            self._callers.add(index)
        self._assign(index, in_python=index in self._callers or not launch.is_brief)

    def note_call(self, index: int) -> None:
        """Note that a kernel called Python, which runs it from now on."""
        self._callers.add(index)
        self._assign(index, in_python=True)

    def refresh(self) -> np.ndarray[Any, Any]:
        """Update what native code reads; return the live allocations, which the caller must keep during the run.

        DeviceError when a fill or a copy uses freed memory.
        """
        pairs = self.table.snapshot()
        is_new = pairs is not self._pairs
        for index, work in self._transfers.items():
            if is_new or isinstance(work, CopyWork):  # freeing a pinned array does not change the table
                self._write_transfer(index, work)
        if is_new:
            self._records[:, _SHARED_FIELDS] = pairs.ctypes.data, len(pairs), *self._common
            self._pairs = pairs
        for index in tuple(self._unoptimised):
            self._write_function(index)
        return pairs

    def _enter_other(self, index: int, work: Work) -> None:
        match work:
            case EventWork(event=HostEvent() as event):
                self.actions[index] = event.reach
            case CapturedWork(capture=capture):
                self.actions[index] = own_capture(capture).run
            case MemsetWork() | CopyWork() if work.size_bytes <= MOST_BYTES:
                self._transfers[index] = work
                return
            case MemsetWork(target=target, value=value, size_bytes=size):
                self.actions[index] = lambda: bytes_of(target, size, "memset target").fill(value)
            case CopyWork():
                self.actions[index] = lambda: copy(*_ends(work))
        self._assign(index, in_python=True)

    def _enter_kernels(self, indices: Collection[int]) -> None:
        """Write the instructions and launch records of kernels; most of a graph's are launched alike."""
        if not indices:
            return
        kinds: dict[tuple[int, int, int], int] = {}
        launches: list[Launch] = []
        is_brief: list[bool] = []
        kind_of, addresses = [], []
        for index in indices:
            work = self._works[index]
            arguments = work.arguments
            key = id(work.kernel), id(work.config), id(arguments.layout)
            kind = kinds.get(key)
            if kind is None:
                kind = kinds[key] = len(launches)
                launches.append(self.launch(index))
                is_brief.append(launches[kind].is_brief)
            kind_of.append(kind)
            addresses.append(arguments.address)
            self.in_python[index] = not is_brief[kind]
            if launches[kind].kernel.job is not None:
                self._unoptimised.add(index)
        at = np.fromiter(indices, np.int64)
        self._records[at, : abi.ARGUMENT_BYTES + 1] = np.array([launch.fields for launch in launches])[kind_of]
        self._pairs = None  # they are missing in the records
        code = [
            (
                stepper.KERNEL if brief else stepper.PYTHON,
                launch.kernel.function_address,
                0,
                0,
                launch.blocks,
                launch.kernel.scratch_bytes,
            )
            for launch, brief in zip(launches, is_brief, strict=True)
        ]
        self.code[at] = np.array(code)[kind_of]
        self.code[at, 2] = self._records_address + 8 * abi.LAUNCH_FIELDS * at
        self.code[at, 3] = addresses
        self.shared_bytes = max(self.shared_bytes, *[launch.shared_bytes for launch in launches])
        self.scratch_bytes = max(self.scratch_bytes, *[launch.kernel.scratch_bytes for launch in launches])

    def _assign(self, index: int, *, in_python: bool) -> None:
        """Let Python or native code run an instruction."""
        self.in_python[index] = in_python
        operation = stepper.PYTHON if in_python else self._operations[index]
        _FIELD.pack_into(self._code_memory, 8 * stepper.FIELDS * index, operation)

    def _write_function(self, index: int) -> None:
        """Write the address of a kernel's code and its memory; again until the optimised code is there."""
        kernel = self._works[index].kernel
        assert isinstance(kernel, HostKernel)
        (self._unoptimised.discard if kernel.job is None else self._unoptimised.add)(index)
        _FIELD.pack_into(self._code_memory, 8 * (stepper.FIELDS * index + 1), kernel.function_address)
        _FIELD.pack_into(self._code_memory, 8 * (stepper.FIELDS * index + 5), kernel.scratch_bytes)
        self.scratch_bytes = max(self.scratch_bytes, kernel.scratch_bytes)

    def _write_transfer(self, index: int, work: MemsetWork | CopyWork) -> None:
        if isinstance(work, MemsetWork):
            target = bytes_of(work.target, work.size_bytes, "memset target")
            self.code[index, 1:4] = target.ctypes.data, work.value, work.size_bytes
        else:
            target, source = _ends(work)
            self.code[index, 1:4] = target.ctypes.data, source.ctypes.data, work.size_bytes


def _ends(work: CopyWork) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return the target's and the source's bytes; DeviceError when they were freed."""
    return bytes_of(work.target, work.size_bytes, "copy target"), bytes_of(work.source, work.size_bytes, "copy source")


def _no_kernel(node: GraphNode) -> DeviceError:
    return DeviceError(f"host: updated node must be a kernel node of this graph, got {node}")
