"""Graphs of the host device, under construction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from engine.device.arguments import KernelArguments
from engine.device.dot import dot
from engine.device.host.graph.assembly import HostAssembly, HostCondition, own_assembly
from engine.device.host.graph.executable import HostExecutable
from engine.device.host.launch import Launch
from engine.device.host.modules.module import own_kernel
from engine.device.nodes import CopyWork, EventWork, KernelWork, MemsetWork, Work
from engine.device.protocol import (
    Condition,
    ConditionalKind,
    Event,
    Graph,
    GraphNode,
    LaunchConfig,
    LoadedKernel,
    Memory,
    PinnedArray,
)
from engine.device.tree import ROOT
from engine.diagnostics import DeviceError

if TYPE_CHECKING:
    from engine.device.host.device import HostDevice


class HostGraph:
    """A graph, or a body of a conditional node in one."""

    def __init__(self, assembly: HostAssembly, number: int) -> None:
        self._assembly = assembly
        self._number = number

    @classmethod
    def create(cls, device: HostDevice) -> HostGraph:
        """Make an empty graph."""
        return cls(HostAssembly(device), ROOT)

    def add_kernel(
        self, kernel: LoadedKernel, config: LaunchConfig, arguments: KernelArguments, after: Sequence[GraphNode]
    ) -> GraphNode:
        """Add a kernel launch."""
        assembly, own = self._alive(), own_kernel(kernel)
        launch = Launch(own, config, arguments)
        node = assembly.tree.add(self._number, KernelWork(own, config, arguments), after)
        assembly.launches[node] = launch
        return node

    def add_memset(self, target: Memory, value: int, size_bytes: int, after: Sequence[GraphNode]) -> GraphNode:
        """Add a node that sets bytes."""
        return self._add(MemsetWork(target, value, size_bytes), after)

    def add_copy(
        self, target: Memory | PinnedArray, source: Memory | PinnedArray, size_bytes: int, after: Sequence[GraphNode]
    ) -> GraphNode:
        """Add a node that copies bytes between device memory and pinned arrays in any direction."""
        return self._add(CopyWork(target, source, size_bytes), after)

    def add_event_record(self, event: Event, after: Sequence[GraphNode]) -> GraphNode:
        """Add a node that takes an event's time; DeviceError in a body, as on CUDA."""
        return self._add(EventWork(event), after)

    def add_child(self, child: Graph, after: Sequence[GraphNode]) -> GraphNode:
        """Add all nodes of another graph as one; node `i` of it becomes node `added + 1 + i` of this graph."""
        own = own_assembly(child, "child graph")
        assembly = self._alive()
        node = assembly.tree.add_child(self._number, own.tree, after)
        assembly.make(node)
        return node

    def create_condition(self, default: int) -> Condition:
        """Make a condition, which each launch of the whole graph sets to `default`."""
        assembly = self._alive()
        condition = HostCondition(assembly.device.table, default)
        assembly.conditions[condition.handle] = condition
        assembly.tree.add_condition(self._number, condition.handle)
        return condition.handle

    def add_conditional(
        self, kind: ConditionalKind, condition: Condition, after: Sequence[GraphNode]
    ) -> tuple[GraphNode, tuple[HostGraph, ...]]:
        """Add a conditional node and return it with its empty bodies."""
        assembly = self._alive()
        node, bodies = assembly.tree.add_conditional(self._number, kind, condition, after)
        return node, tuple(HostGraph(assembly, body) for body in bodies)

    def clone(self) -> HostGraph:
        """Return a graph with the same nodes, to be changed apart from this one; DeviceError when it has conditions."""
        return HostGraph(self.assembly.clone(), ROOT)

    def remove(self, node: GraphNode) -> None:
        """Take a node out of the graph; its number is not used again."""
        assembly = self._alive()
        for gone in assembly.tree.remove(self._number, node):
            assembly.launches.pop(GraphNode(gone), None)

    def set_after(self, node: GraphNode, after: Sequence[GraphNode]) -> None:
        """Have a node wait for these nodes instead of those before."""
        self._alive().tree.set_after(self._number, node, after)

    def set_kernel(
        self, node: GraphNode, kernel: LoadedKernel, config: LaunchConfig, arguments: KernelArguments
    ) -> None:
        """Give a kernel node another function, launch or arguments; executables made before keep theirs."""
        assembly = self._alive()
        assembly.tree.kernel(self._number, node)
        assembly.launches[node] = Launch(own_kernel(kernel), config, arguments)
        assembly.tree.set_work(node, KernelWork(kernel, config, arguments))

    def instantiate(self) -> HostExecutable:
        """Return an executable; later changes of this graph do not reach it."""
        assembly = self.assembly
        assembly.tree.take_executable()
        return HostExecutable(assembly)

    def dot(self) -> str:
        """Return the graph in the language of Graphviz."""
        return dot(self._alive().tree, self._number)

    def destroy(self) -> None:
        """Let go of the graph; executables made from it stay valid. A second call does nothing."""
        if self._number != ROOT:
            raise DeviceError("host: body must be destroyed with its graph, got it alone")
        self._assembly.is_destroyed = True

    @property
    def assembly(self) -> HostAssembly:
        """The graph with everything in it; DeviceError for a body."""
        if self._number != ROOT:
            raise DeviceError("host: graph must be a whole one, got a body of a conditional node")
        return self._alive()

    def _add(self, work: Work, after: Sequence[GraphNode]) -> GraphNode:
        assembly = self._alive()
        node = assembly.tree.add(self._number, work, after)
        assembly.make(node)
        return node

    def _alive(self) -> HostAssembly:
        if self._assembly.is_destroyed:
            raise DeviceError("host: graph must be used before it is destroyed")
        return self._assembly
