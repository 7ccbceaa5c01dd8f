"""An executable's program: the nodes of its graph as a list of instructions in memory.

Native code runs short kernels, fills, copies, and sections of parallel nodes; Python runs the rest. Python also runs
each kernel the first time, to measure it.
"""

import ctypes
import struct
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np
from msgspec.structs import replace

from warploom.engine.device import optimiser
from warploom.engine.device.host.events import own_capture
from warploom.engine.device.host.graph import stepper
from warploom.engine.device.host.graph.instructions import MOST_BYTES, Choice, instructions
from warploom.engine.device.host.graph.sections import Sections, rows_apart
from warploom.engine.device.host.launch import Launch, check_launch
from warploom.engine.device.host.memory import AllocationTable, HostPinnedArray, bytes_of, copy
from warploom.engine.device.host.modules.module import HostKernel
from warploom.engine.device.host.pool import WAKE_NS, Pool
from warploom.engine.device.nodes import (
    CapturedWork,
    CopyWork,
    KernelWork,
    MemsetWork,
    Work,
)
from warploom.engine.device.protocol import Capture, Condition, GraphNode, Memory, PinnedArray
from warploom.engine.device.tree import GraphTree
from warploom.engine.diagnostics import DeviceError
from warploom.engine.host_compiler import abi

#: The bytes that a fill or a copy moves in a nanosecond, until this is measured.
BYTES_PER_NS = 10
#: The shortest interval between measurements of kernels whose arguments keep changing.
REMEASURE_NS = 20_000_000
#: The shortest interval between looks at kernels that may have to be optimised again.
LOOK_NS = 100_000_000
#: The fields that are equal in the launch records of all kernels of a program.
_SHARED_FIELDS = (abi.ALLOCATIONS, abi.ALLOCATION_COUNT, abi.STOP, abi.SERVICES)
#: The format of one field of an instruction.
_FIELD = struct.Struct("<q")


class GraphProgram:
    """The instructions of one executable, each identified by its index."""

    def __init__(
        self,
        tree: GraphTree,
        defaults: Mapping[Condition, int],
        pool: Pool,
        table: AllocationTable,
    ) -> None:
        self.pool, self.table = pool, table
        nodes, (rows, sections, choices) = tree.nodes, instructions(tree, defaults)
        self.end = len(rows)
        self.code = np.zeros((self.end + 1, stepper.FIELDS), np.int64)
        #: For each instruction, whether Python runs it; native code stops before it.
        self.in_python = [False] * self.end + [True]
        self._operations = [operation for operation, _, _, _ in rows]
        #: The graph's node of each instruction that has one.
        self.nodes = [node for _, node, _, _ in rows]
        #: The kernels' work, and the launches of those that Python has run.
        self._works: dict[int, KernelWork] = {
            index: work
            for index, (_, node, _, _) in enumerate(rows)
            if node is not None and type(work := nodes[node].work) is KernelWork
        }
        self._launches: dict[int, Launch] = {}
        #: Functions that Python calls for captured work, events, and its own fills and copies.
        self.actions: dict[int, Callable[[], None]] = {}
        self._transfers: dict[int, MemsetWork | CopyWork] = {}
        #: Native copies from or to pinned arrays.
        self._pinned: set[int] = set()
        self._indices: dict[GraphNode | None, int] = {rows[index][1]: index for index in self._works}
        self._captured: dict[GraphNode, int] = {
            node: index
            for index, (_, node, _, _) in enumerate(rows)
            if node is not None and type(nodes[node].work) is CapturedWork
        }
        #: The fills and copies of the graph, with their instructions.
        self._transfer_nodes: dict[GraphNode, tuple[int, MemsetWork | CopyWork]] = {
            node: (index, work)
            for index, (_, node, _, _) in enumerate(rows)
            if node is not None and isinstance(work := nodes[node].work, MemsetWork | CopyWork)
        }
        #: Kernels that call Python. They run one at a time, so that their prints don't mix.
        self._callers: set[int] = set()
        #: The time from which on a kernel with changed arguments is measured again.
        self._measure_ns = 0
        #: The number of the optimiser's jobs that had ended when the kernels' code was last written.
        self._jobs = optimiser.finished_jobs
        #: The time from which on a look is taken at what kernels need.
        self._look_ns = 0
        self._pairs: np.ndarray[Any, Any] | None = None
        # Single numbers are written through a memoryview, since writing them into the array takes ten times as long.
        self._code_memory = self.code.data.cast("B")
        for index, (operation, _, a, b) in enumerate(rows):
            if operation != stepper.KERNEL:
                self.code[index, :3] = operation, a, b
        self.sections = Sections(sections, self.code, self._operations, pool.cores)
        for index, (operation, node, _, _) in enumerate(rows):
            if node is not None and operation in (stepper.FILL, stepper.COPY, stepper.PYTHON):
                self._enter_other(index, nodes[node].work)
        self.actions |= {index: partial(self._choose, index + 1, choice) for index, choice in choices.items()}
        self._common = pool.watchdog.address, self.pool.services.address
        #: A launch record for each instruction; only kernels use theirs.
        self._records = rows_apart(self.end + 1)
        self._records_address = int(self._records.ctypes.data)
        #: The memory that a worker needs to run any of the kernels.
        self.shared_bytes = self.scratch_bytes = 0
        self._enter_kernels(self._works)

    def launch(self, index: int) -> Launch:
        """Return the launch record of a kernel; it is created on first use."""
        found = self._launches.get(index)
        if found is None:
            work = self._works[index]
            found = self._launches[index] = Launch(work.kernel, work.config, work.arguments)
        return found

    def revalue(self, nodes: Iterable[GraphNode]) -> None:
        """Note that the argument blocks of kernel nodes have new values; kernels read them in place.

        A kernel may run longer with other values. Most changes make no difference, but a dragged slider changes its
        value in every frame, so only one kernel is measured again per interval.
        """
        indices = self._indices
        for node in nodes:
            index = indices.get(node)
            if index is None:
                raise _no_kernel(node)
            self._remeasure(index)

    def replace(self, node: GraphNode, work: KernelWork) -> None:
        """Change the launch of a kernel node, or only its values. Raise DeviceError for other nodes."""
        index = self._indices.get(node)
        if index is None:
            raise _no_kernel(node)
        old = self._works[index]
        if old.kernel is work.kernel and old.arguments is work.arguments and old.config == work.config:
            self._remeasure(index)
            return
        check_launch(work.kernel, work.config, work.arguments)
        self._works[index] = work
        self._launches.pop(index, None)
        self._callers.discard(index)
        self._enter_kernels([index])

    def recapture(self, node: GraphNode, capture: Capture) -> None:
        """Let a captured node make another library call. Raise DeviceError for other nodes."""
        index = self._captured.get(node)
        if index is None:
            raise DeviceError(f"host: node {node} must be captured work of this graph")
        self.actions[index] = own_capture(capture).run

    def recopy(self, node: GraphNode, source: PinnedArray) -> None:
        """Let a copy node read another pinned array. Raise DeviceError for other nodes."""
        index, work = self._transfer_nodes.get(node, (0, None))
        if not isinstance(work, CopyWork) or not isinstance(work.source, HostPinnedArray):
            raise DeviceError(f"host: node {node} must be a copy node of this graph that reads a pinned array")
        self._enter_other(index, replace(work, source=source))

    def move_fill(self, node: GraphNode, target: Memory) -> None:
        """Let a fill node fill other memory. Raise DeviceError for other nodes."""
        index, work = self._transfer_nodes.get(node, (0, None))
        if not isinstance(work, MemsetWork):
            raise DeviceError(f"host: node {node} must be a fill of this graph")
        self._move(index, replace(work, target=target))

    def move_copy(self, node: GraphNode, target: Memory | PinnedArray, source: Memory | PinnedArray) -> None:
        """Let a copy node use other memory. Raise DeviceError for other nodes."""
        index, work = self._transfer_nodes.get(node, (0, None))
        if not isinstance(work, CopyWork):
            raise DeviceError(f"host: node {node} must be a copy of this graph")
        self._move(index, replace(work, target=target, source=source))

    def _move(self, index: int, work: MemsetWork | CopyWork) -> None:
        self._enter_other(index, work)
        self._pairs = None  # so that the next launch reads the addresses

    def _remeasure(self, index: int) -> None:
        if time.perf_counter_ns() >= self._measure_ns:
            self._measure_ns = time.perf_counter_ns() + REMEASURE_NS
            self._measure(index)

    def measure(self) -> None:
        """Let Python run all kernels in the next launch, since their run times may have changed."""
        for index in self._works:
            self._measure(index)

    def _measure(self, index: int) -> None:
        if not self.sections.is_on(index):  # the team measures every kernel at each run
            self._assign(index, in_python=True)

    def run_one(self, index: int) -> None:
        """Run one of Python's instructions."""
        if index not in self._works:
            self.actions[index]()
            return
        launch = self.launch(index)
        self.pool.services.callers.clear()
        launch.run(self.pool, self.table)
        if self.pool.services.callers:
            self._callers.add(index)
        self._place(index, launch)

    def note_calls(self) -> None:
        """Note the kernels that called Python; from now on, Python runs them."""
        for index in self.pool.services.callers:
            self._callers.add(index)
            self._place(index, self.launch(index))

    def learn(self) -> None:
        """Note the run times of kernels in the sections that ran, where these have changed."""
        for index, work_ns in self.sections.learn():
            if index in self._works:
                launch = self.launch(index)
                launch.kernel.block_ns = work_ns / launch.blocks
                self._place(index, launch)
            else:
                self.sections.note(index, work_ns, 1)

    def _place(self, index: int, launch: Launch) -> None:
        """Assign a measured kernel to Python or to native code."""
        work_ns, kernel = launch.work_ns, launch.kernel
        is_long = work_ns is None or work_ns >= WAKE_NS
        is_held = (
            work_ns is None
            or index in self._callers
            or (kernel.spins and launch.blocks > 1)
            or (is_long and kernel.job is not None)
        )
        self._assign(index, in_python=is_long or is_held, is_held=is_held)
        if work_ns is not None:
            self.sections.note(index, work_ns, launch.blocks)

    def begin(self) -> None:
        """Write the addresses of pinned arrays before a launch: freeing these does not change the table of allocations.

        Raise DeviceError when a copy uses a freed array.
        """
        for index in self._pinned:
            self._write_transfer(index, self._transfers[index])

    def refresh(self) -> np.ndarray[Any, Any]:
        """Update the tables that native code reads. Return the live allocations, to be kept alive during the run.

        Raise DeviceError when a fill or a copy uses freed memory.
        """
        pairs = self.table.snapshot()
        is_new = pairs is not self._pairs
        if is_new:
            for index, work in self._transfers.items():
                self._write_transfer(index, work)
            self._records[:, _SHARED_FIELDS] = pairs.ctypes.data, len(pairs), *self._common
            self._pairs = pairs
        if self._jobs != optimiser.finished_jobs:
            self._jobs = optimiser.finished_jobs
            for index in self._works:
                self._write_function(index)
        if time.perf_counter_ns() >= self._look_ns:
            self._look_ns = time.perf_counter_ns() + LOOK_NS
            for kernel in {work.kernel for work in self._works.values()}:
                assert isinstance(kernel, HostKernel)
                kernel.look()
        self.sections.refresh()
        return pairs

    def _choose(self, jump: int, choice: Choice) -> None:
        """Let a jump go to the body of a SWITCH that its condition chooses."""
        number = ctypes.c_uint32.from_address(choice.condition).value
        self.code[jump, 1] = choice.bodies[number] if number < len(choice.bodies) else choice.end

    def _enter_other(self, index: int, work: Work) -> None:
        match work:
            case CapturedWork(capture=capture):
                self.actions[index] = own_capture(capture).run
            case MemsetWork(width=1) | CopyWork() if work.size_bytes <= MOST_BYTES:
                self._transfers[index] = work
                ends = (work.target, work.source) if isinstance(work, CopyWork) else ()
                is_pinned = any(isinstance(end, HostPinnedArray) for end in ends)
                (self._pinned.add if is_pinned else self._pinned.discard)(index)
                self.sections.note(index, work.size_bytes / BYTES_PER_NS, 1)
                return
            case MemsetWork(target=target, value=value, size_bytes=size, width=width):
                numbers = np.dtype(f"<u{width}")
                self.actions[index] = lambda: bytes_of(target, size, "memset target").view(numbers).fill(value)
            case CopyWork():
                self.actions[index] = lambda: copy(*_ends(work))
        self.in_python[index] = True

    def _enter_kernels(self, indices: Collection[int]) -> None:
        """Write the instructions and launch records of kernels; most kernels of a graph have equal launches."""
        if not indices:
            return
        kinds: dict[tuple[int, int, int], int] = {}
        launches: list[Launch] = []
        kind_of, addresses = [], []
        for index in indices:
            work = self._works[index]
            arguments = work.arguments
            key = id(work.kernel), id(work.config), id(arguments.layout)
            kind = kinds.get(key)
            if kind is None:
                kind = kinds[key] = len(launches)
                launches.append(self.launch(index))
            kind_of.append(kind)
            addresses.append(arguments.address)
        at = np.fromiter(indices, np.int64)
        self._records[at, : abi.ARGUMENT_BYTES + 1] = np.array([launch.fields for launch in launches])[kind_of]
        self._pairs = None  # the new records lack the allocations
        code = [
            (stepper.KERNEL, launch.kernel.function_address, 0, 0, launch.blocks, launch.kernel.scratch_bytes)
            for launch in launches
        ]
        self.code[at] = np.array(code)[kind_of]
        self.code[at, 2] = self._records_address + self._records.strides[0] * at
        self.code[at, 3] = addresses
        self.shared_bytes = max(self.shared_bytes, *[launch.shared_bytes for launch in launches])
        self.scratch_bytes = max(self.scratch_bytes, *[launch.kernel.scratch_bytes for launch in launches])
        for index, kind in zip(indices, kind_of, strict=True):
            self._place(index, launches[kind])

    def _assign(self, index: int, *, in_python: bool, is_held: bool = True) -> None:
        """Assign a kernel to Python or to native code. A held kernel prevents its section from running in parallel."""
        self.in_python[index] = in_python
        self.sections.hold(index, is_held=is_held)
        operation = stepper.PYTHON if in_python else self._operations[index]
        _FIELD.pack_into(self._code_memory, 8 * stepper.FIELDS * index, operation)

    def _write_function(self, index: int) -> None:
        """Write the address of a kernel's code and the memory that it needs."""
        kernel = self._works[index].kernel
        assert isinstance(kernel, HostKernel)
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
    """Return the bytes of target and source. Raise DeviceError when either was freed."""
    return bytes_of(work.target, work.size_bytes, "copy target"), bytes_of(work.source, work.size_bytes, "copy source")


def _no_kernel(node: GraphNode) -> DeviceError:
    return DeviceError(f"host: updated node must be a kernel node of this graph, got {node}")
