"""An executable's instructions with all that they refer to, as `runner` goes through them.

Small kernels, fills and copies are done by native code, the rest by Python. A kernel is run by Python first, which
tells how long it takes, and by native code from then on when that is little.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from engine.device.host.events import HostEvent
from engine.device.host.graph import stepper
from engine.device.host.graph.instructions import instructions
from engine.device.host.launch import Launch
from engine.device.host.memory import AllocationTable, bytes_of, copy
from engine.device.host.pool import Pool
from engine.device.host.translate import abi
from engine.device.nodes import CopyWork, EventWork, MemsetWork, NodeRecord, Work
from engine.device.protocol import Condition, GraphNode
from engine.diagnostics import DeviceError

#: Longer fills and copies are called from Python: beside them a microsecond is nothing.
MOST_BYTES = 1 << 20
#: How long kernels whose values change all the time are taken to be as fast as they were.
REMEASURE_NS = 20_000_000
#: What the launch records of all kernels of a program have in common.
_SHARED_FIELDS = (abi.ALLOCATIONS, abi.ALLOCATION_COUNT, abi.STOP, abi.SERVICES)
#: One field of an instruction, and those of a kernel from the third on.
_FIELD = struct.Struct("<q")
_LAUNCH = struct.Struct(f"<{stepper.FIELDS - 2}q")


class Program:
    """The instructions of one executable; the index of an instruction is called its place."""

    def __init__(
        self,
        nodes: Sequence[NodeRecord],
        launches: Mapping[GraphNode, Launch],
        defaults: Mapping[Condition, int],
        pool: Pool,
        table: AllocationTable,
    ) -> None:
        self.pool, self.table = pool, table
        done = instructions(nodes, defaults)
        self.end = len(done)
        self.code = np.zeros((self.end + 1, stepper.FIELDS), np.int64)
        #: By place: whether Python does it. Native code stops there.
        self.by_hand = [False] * self.end + [True]
        self._operations = [operation for operation, *_ in done]
        self.launches: dict[int, Launch] = {}
        #: By place: what Python calls for fills, copies and events that it has to do.
        self.actions: dict[int, Callable[[], None]] = {}
        self._moves: dict[int, MemsetWork | CopyWork] = {}
        self._places: dict[GraphNode, int] = {}
        #: Places of kernels that call Python, which prints for one kernel at a time.
        self._callers: set[int] = set()
        #: When the next kernel may be measured because its values changed.
        self._measure_ns = 0
        #: Places of kernels for which there will be better code.
        self._unsettled: set[int] = set()
        self._pairs: np.ndarray[Any, Any] | None = None
        if done:
            self.code[: self.end, :3] = [(operation, a, b) for operation, _, a, b in done]
        # Single numbers are written here: into an array they would take ten times as long.
        self._code_memory = self.code.data.cast("B")
        for place, (operation, node, _, _) in enumerate(done):
            if operation == stepper.KERNEL and node is not None:
                self._places[node] = place
                self.launches[place] = launches[node]
            elif operation in (stepper.FILL, stepper.COPY, stepper.PYTHON) and node is not None:
                self._take(place, nodes[node].work)
        self._common = pool.watchdog.address, self.pool.services.address
        self._rows = {place: row for row, place in enumerate(self.launches)}
        self._records = np.zeros((max(1, len(self.launches)), abi.LAUNCH_FIELDS), np.int64)
        self._records_address = int(self._records.ctypes.data)
        self._records_memory = self._records.data.cast("B")
        #: What a worker must have for any of the kernels.
        self.shared_bytes = self.scratch_bytes = 0
        for place in self.launches:
            self._enter(place)

    def launch_of(self, node: GraphNode) -> Launch:
        """Return what a kernel node launches; DeviceError for other nodes."""
        place = self._places.get(node)
        if place is None:
            raise _no_kernel(node)
        return self.launches[place]

    def revalue(self, nodes: Iterable[GraphNode]) -> None:
        """Take notice that other values were written into the argument blocks of kernel nodes.

        They are read where they are; but the kernel may run longer with them. Values that are dragged change in every
        frame, and most make no difference, so the time is taken again only now and then, of one kernel.
        """
        places = self._places
        for node in nodes:
            place = places.get(node)
            if place is None:
                raise _no_kernel(node)
            if time.perf_counter_ns() >= self._measure_ns:
                self._remeasure(place)

    def replace(self, node: GraphNode, launch: Launch) -> None:
        """Give a kernel node another launch, or the same one with other arguments."""
        place = self._places[node]
        if self.launches[place] is launch:
            if time.perf_counter_ns() >= self._measure_ns:
                self._remeasure(place)
            return
        self.launches[place] = launch
        self._callers.discard(place)
        self._enter(place)

    def _remeasure(self, place: int) -> None:
        self._measure_ns = time.perf_counter_ns() + REMEASURE_NS
        self.measure(place)

    def measure(self, *places: int) -> None:
        """Run kernels from Python the next time: how long they take may have changed."""
        for place in places or self.launches:
            self._give(place, by_hand=True)

    def do(self, place: int) -> None:
        """Do what an instruction says that Python has to do."""
        launch = self.launches.get(place)
        if launch is None:
            self.actions[place]()
            return
        served = self.pool.services.served
        before = int(served[0])
        launch.run(self.pool, self.table)
        if served[0] != before:
            self._callers.add(place)
        self._choose(place)

    def has_called(self, place: int) -> None:
        """Note that a kernel has called Python: it is run from there from now on."""
        self._callers.add(place)
        self._give(place, by_hand=True)

    def refresh(self) -> np.ndarray[Any, Any]:
        """Bring up to date what native code looks at, and return the live allocations, which must be kept meanwhile.

        DeviceError when a fill or copy is of memory that was freed.
        """
        pairs = self.table.snapshot()
        is_new = pairs is not self._pairs
        for place, work in self._moves.items():
            if is_new or isinstance(work, CopyWork):  # the table does not tell when a pinned array is freed
                self._place_move(place, work)
        if is_new:
            self._records[:, _SHARED_FIELDS] = pairs.ctypes.data, len(pairs), *self._common
            self._pairs = pairs
        for place in tuple(self._unsettled):
            self._place_function(place)
        return pairs

    def _take(self, place: int, work: Work) -> None:
        match work:
            case EventWork(event=HostEvent() as event):
                self.actions[place] = event.reach
            case MemsetWork() | CopyWork() if work.size_bytes <= MOST_BYTES:
                self._moves[place] = work
                return
            case MemsetWork(target=target, value=value, size_bytes=size):
                self.actions[place] = lambda: bytes_of(target, size, "memset target").fill(value)
            case CopyWork():
                self.actions[place] = lambda: copy(*_ends(work))
        self._give(place, by_hand=True)

    def _enter(self, place: int) -> None:
        launch, row = self.launches[place], self._rows[place]
        start = 8 * abi.LAUNCH_FIELDS * row
        launch.copy_record(self._records_memory, start)
        self._pairs = None  # the record knows nothing of them yet
        scratch = launch.kernel.scratch_bytes
        fields = self._records_address + start, launch.arguments.address, launch.blocks, scratch
        _LAUNCH.pack_into(self._code_memory, 8 * (stepper.FIELDS * place + 2), *fields)
        if launch.shared_bytes > self.shared_bytes:
            self.shared_bytes = launch.shared_bytes
        if scratch > self.scratch_bytes:
            self.scratch_bytes = scratch
        self._place_function(place)
        self._choose(place)

    def _choose(self, place: int) -> None:
        self._give(place, by_hand=place in self._callers or not self.launches[place].is_brief)

    def _give(self, place: int, *, by_hand: bool) -> None:
        """Have Python do an instruction, or native code."""
        self.by_hand[place] = by_hand
        operation = stepper.PYTHON if by_hand else self._operations[place]
        _FIELD.pack_into(self._code_memory, 8 * stepper.FIELDS * place, operation)

    def _place_function(self, place: int) -> None:
        """Enter the address of a kernel's code; until it is the best there will be, it is looked up again."""
        kernel = self.launches[place].kernel
        (self._unsettled.discard if kernel.job is None else self._unsettled.add)(place)
        _FIELD.pack_into(self._code_memory, 8 * (stepper.FIELDS * place + 1), kernel.function_address)

    def _place_move(self, place: int, work: MemsetWork | CopyWork) -> None:
        if isinstance(work, MemsetWork):
            target = bytes_of(work.target, work.size_bytes, "memset target")
            self.code[place, 1:4] = target.ctypes.data, work.value, work.size_bytes
        else:
            target, source = _ends(work)
            self.code[place, 1:4] = target.ctypes.data, source.ctypes.data, work.size_bytes


def _ends(work: CopyWork) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return the bytes to copy to and those to copy from; DeviceError when they were freed."""
    return bytes_of(work.target, work.size_bytes, "copy target"), bytes_of(work.source, work.size_bytes, "copy source")


def _no_kernel(node: GraphNode) -> DeviceError:
    return DeviceError(f"host: updated node must be a kernel node of this graph, got {node}")
