"""Graphs under construction."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cuda.bindings import driver

from engine.device.arguments import KernelArguments
from engine.device.cuda import nodes
from engine.device.cuda.assembly import Assembly, own_assembly
from engine.device.cuda.errors import check
from engine.device.cuda.executable import CudaExecutable
from engine.device.cuda.module import own_kernel
from engine.device.cuda.ownership import DriverObjects
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

_DOT_FLAGS = int(driver.CUgraphDebugDot_flags.CU_GRAPH_DEBUG_DOT_FLAGS_CONDITIONAL_NODE_PARAMS)


class CudaGraph:
    """A CUDA graph, or a body of a conditional node in one."""

    def __init__(self, assembly: Assembly, number: int) -> None:
        self._assembly = assembly
        self._number = number

    @classmethod
    def create(cls, resources: DriverObjects, context: Any) -> CudaGraph:
        """Make an empty graph."""
        return cls(Assembly(resources, context), ROOT)

    def add_kernel(
        self, kernel: LoadedKernel, config: LaunchConfig, arguments: KernelArguments, after: Sequence[GraphNode]
    ) -> GraphNode:
        """Add a kernel launch; DeviceError when the launch or the arguments do not fit the kernel."""
        return self._alive().add_kernel(self._number, KernelWork(own_kernel(kernel), config, arguments), after)

    def add_memset(self, target: Memory, value: int, size_bytes: int, after: Sequence[GraphNode]) -> GraphNode:
        """Add a fill of the first `size_bytes` of `target`; DeviceError when they are more than it has."""
        return self._add(MemsetWork(target, value, size_bytes), after)

    def add_copy(
        self, target: Memory | PinnedArray, source: Memory | PinnedArray, size_bytes: int, after: Sequence[GraphNode]
    ) -> GraphNode:
        """Add a copy between device memory and pinned arrays; DeviceError when either end is too small."""
        return self._add(CopyWork(target, source, size_bytes), after)

    def add_event_record(self, event: Event, after: Sequence[GraphNode]) -> GraphNode:
        """Add the recording of an event, which each launch of the graph does anew; DeviceError in a body."""
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
        condition = Condition(nodes.create_condition(assembly.native.graph(self._number), assembly.context, default))
        assembly.tree.add_condition(self._number, condition)
        return condition

    def add_conditional(
        self, kind: ConditionalKind, condition: Condition, after: Sequence[GraphNode]
    ) -> tuple[GraphNode, tuple[CudaGraph, ...]]:
        """Add a conditional node and return it with its empty bodies."""
        assembly = self._alive()
        node, bodies = assembly.tree.add_conditional(self._number, kind, condition, after)
        assembly.make(node)
        return node, tuple(CudaGraph(assembly, body) for body in bodies)

    def clone(self) -> CudaGraph:
        """Return a graph with the same nodes, to be changed apart from this one; DeviceError when it has conditions."""
        return CudaGraph(self.assembly.clone(), ROOT)

    def remove(self, node: GraphNode) -> None:
        """Take a node out of the graph; its number is not used again."""
        self._alive().remove(self._number, node)

    def set_after(self, node: GraphNode, after: Sequence[GraphNode]) -> None:
        """Have a node wait for these nodes instead of those before."""
        self._alive().set_after(self._number, node, after)

    def set_kernel(
        self, node: GraphNode, kernel: LoadedKernel, config: LaunchConfig, arguments: KernelArguments
    ) -> None:
        """Give a kernel node another function, launch or arguments; executables made before keep theirs."""
        self._alive().set_kernel(self._number, node, KernelWork(own_kernel(kernel), config, arguments))

    def instantiate(self) -> CudaExecutable:
        """Make an executable; it keeps the graph and its kernels as long as it needs them."""
        assembly = self.assembly
        assembly.tree.take_executable()
        assembly.refresh()
        handle = check(driver.cuGraphInstantiate(assembly.native.graph(ROOT), 0), "instantiating a graph")
        return CudaExecutable(handle, assembly)

    def dot(self) -> str:
        """Return CUDA's own description of the graph for Graphviz."""
        handle = self._alive().native.graph(self._number)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "graph.dot"
            check(driver.cuGraphDebugDotPrint(handle, str(path).encode(), _DOT_FLAGS), "describing a graph")
            return path.read_text(errors="replace")

    def destroy(self) -> None:
        """Let go of the graph; executables made from it stay valid. A second call does nothing."""
        if self._number != ROOT:
            raise DeviceError("body must be destroyed with its graph, got it alone")
        self._assembly.destroy()

    @property
    def assembly(self) -> Assembly:
        """The graph with everything in it; DeviceError for a body."""
        if self._number != ROOT:
            raise DeviceError("graph must be a whole one, got a body of a conditional node")
        return self._alive()

    def _add(self, work: Work, after: Sequence[GraphNode]) -> GraphNode:
        assembly = self._alive()
        node = assembly.tree.add(self._number, work, after)
        assembly.make(node)
        return node

    def _alive(self) -> Assembly:
        if self._assembly.is_destroyed:
            raise DeviceError("graph must be used before it is destroyed")
        return self._assembly
