"""What a graph of the host device is made of."""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING

import numpy as np

from engine.device.host.events import HostEvent
from engine.device.host.launch import Launch
from engine.device.host.memory import ALIGNMENT, AllocationTable, bytes_of
from engine.device.host.modules.module import own_kernel
from engine.device.nodes import CopyWork, EventWork, KernelWork, MemsetWork, Work
from engine.device.protocol import Condition, Graph, GraphNode
from engine.device.tree import GraphTree
from engine.diagnostics import DeviceError

if TYPE_CHECKING:
    from engine.device.host.device import HostDevice


class HostCondition:
    """The value of a condition; kernels may use its address, which is its handle, as long as this object lives."""

    def __init__(self, table: AllocationTable, default: int) -> None:
        if not 0 <= default < 1 << 32:
            raise DeviceError(f"host: default of a condition must be from 0 to 2^32 - 1, got {default}")
        self.default = default
        self._value = np.zeros(2 * ALIGNMENT, np.uint8)  # with room behind, as for every allocation
        self.handle = Condition(int(self._value.ctypes.data))
        table.add(self.handle, 4)
        weakref.finalize(self, table.remove, self.handle)


class HostAssembly:
    """The nodes of a graph with those of its bodies and child graphs; `launches` are the kernel nodes, ready to run."""

    def __init__(self, device: HostDevice) -> None:
        self.device = device
        self.tree = GraphTree()
        self.launches: dict[GraphNode, Launch] = {}
        self.conditions: dict[Condition, HostCondition] = {}
        #: Executables of one graph and of its clones share conditions and launches, so one runs at a time.
        self.lock = threading.Lock()
        self.is_destroyed = False

    def clone(self) -> HostAssembly:
        """Return one with the same launches that can be changed apart from this one."""
        twin = HostAssembly(self.device)
        twin.tree = self.tree.clone()
        twin.launches = self.launches.copy()
        twin.lock = self.lock
        return twin

    def make(self, first: GraphNode) -> None:
        """Check the tree's nodes from `first` on and make their launches; when one is unfit, they are forgotten."""
        try:
            for index, record in enumerate(self.tree.nodes[first:], first):
                self._make(GraphNode(index), record.work)
        except BaseException:
            for index in range(first, len(self.tree.nodes)):
                self.launches.pop(GraphNode(index), None)
            self.tree.forget(first)
            raise

    def _make(self, node: GraphNode, work: Work) -> None:
        match work:
            case KernelWork(kernel=kernel, config=config, arguments=arguments):
                self.launches[node] = Launch(own_kernel(kernel), config, arguments)
            case MemsetWork(target=target, value=value, size_bytes=size):
                if not 0 <= value <= 255:
                    raise DeviceError(f"host: memset value must be 0 to 255, got {value}")
                bytes_of(target, size, "memset target")
            case CopyWork(target=target, source=source, size_bytes=size):
                bytes_of(target, size, "copy target")
                bytes_of(source, size, "copy source")
            case EventWork(event=event):
                assert isinstance(event, HostEvent)


def own_assembly(graph: Graph, what: str) -> HostAssembly:
    """Return what a whole graph of the host is made of; DeviceError when it is another's, a body, or destroyed."""
    assembly = getattr(graph, "assembly", None)
    if not isinstance(assembly, HostAssembly):
        raise DeviceError(f"host: {what} must be the host device's, got {type(graph).__name__}")
    return assembly
