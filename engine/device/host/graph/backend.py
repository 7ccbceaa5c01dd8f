"""The host backend of `engine.device.graph`, which checks nodes and turns graphs into programs."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Mapping, Sequence

import numpy as np

from warploom.engine.device.host.events import own_capture
from warploom.engine.device.host.graph.executable import HostExecutable
from warploom.engine.device.host.graph.program import GraphProgram
from warploom.engine.device.host.launch import check_launch
from warploom.engine.device.host.memory import ALIGNMENT, AllocationTable, bytes_of
from warploom.engine.device.host.pool import Pool
from warploom.engine.device.nodes import CapturedWork, CopyWork, KernelWork, MemsetWork, NodeRecord, Work
from warploom.engine.device.protocol import Condition, GraphNode
from warploom.engine.device.tree import GraphTree


class HostCondition:
    """The value of a condition. Its address is the handle, which kernels may use as long as this object lives."""

    def __init__(self, table: AllocationTable, default: int) -> None:
        self.default = default
        self._value = np.zeros(2 * ALIGNMENT, np.uint8)  # with space after the value, like every allocation
        self.handle = Condition(int(self._value.ctypes.data))
        table.add(self.handle, 4)
        weakref.finalize(self, table.remove, self.handle, 4)


class HostGraphBackend:
    """Checks the work of a graph's nodes, and holds the graph's conditions."""

    def __init__(self, pool: Pool, table: AllocationTable) -> None:
        self.tree = GraphTree()
        self._pool, self._table = pool, table
        self._conditions: list[HostCondition] = []
        # The executables of a graph and of its clones share conditions and arguments, so only one runs at a time.
        self._lock = threading.Lock()

    def clone(self) -> HostGraphBackend:
        """Return a backend with the same nodes; a graph with conditions is never cloned."""
        twin = HostGraphBackend(self._pool, self._table)
        twin.tree = self.tree.clone()
        twin._lock = self._lock
        return twin

    def create_condition(self, graph: int, default: int) -> Condition:
        """Create a condition; its handle is the address of its value."""
        condition = HostCondition(self._table, default)
        self._conditions.append(condition)
        return condition.handle

    def make(self, node: GraphNode, record: NodeRecord) -> None:
        """Check a node's work."""
        work = record.work
        if type(work) is KernelWork:
            check_launch(work.kernel, work.config, work.arguments)
        elif type(work) is MemsetWork:
            bytes_of(work.target, work.size_bytes, "memset target")
        elif type(work) is CopyWork:
            bytes_of(work.target, work.size_bytes, "copy target")
            bytes_of(work.source, work.size_bytes, "copy source")
        elif type(work) is CapturedWork:
            own_capture(work.capture)

    def unmake(self, first: GraphNode) -> None:
        """Do nothing: nodes exist only in the tree."""

    def remove(self, works: Mapping[GraphNode, Work]) -> None:
        """Do nothing: nodes exist only in the tree."""

    def change_order(self, node: GraphNode, gone: Sequence[GraphNode], added: Sequence[GraphNode]) -> None:
        """Do nothing: `instantiate` reads the order from the tree."""

    def set_kernel(self, node: GraphNode, old: KernelWork, new: KernelWork) -> None:
        """Check a new launch of a kernel node."""
        check_launch(new.kernel, new.config, new.arguments)

    def instantiate(self) -> HostExecutable:
        """Create an executable, which keeps the conditions and kernels that it needs."""
        defaults = {condition.handle: condition.default for condition in self._conditions}
        program = GraphProgram(self.tree, defaults, self._pool, self._table)
        return HostExecutable(program, self._lock, tuple(self._conditions))

    def destroy(self) -> None:
        """Do nothing: resources that the executables don't use are freed with this object."""
