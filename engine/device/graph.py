"""Graphs under construction: one class for both devices, over a small backend that makes the device's nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from msgspec.structs import replace

from engine.device.arguments import KernelArguments
from engine.device.nodes import CapturedWork, CopyWork, EventWork, KernelWork, MemsetWork, NodeRecord, Work
from engine.device.protocol import (
    Capture,
    Condition,
    ConditionalKind,
    Event,
    Executable,
    GraphNode,
    LaunchConfig,
    LoadedKernel,
    Memory,
    PinnedArray,
)
from engine.device.tree import ROOT, GraphTree
from engine.diagnostics import DeviceError


class GraphBackend(Protocol):
    """A device's work for one graph with all its bodies and child graphs.

    `tree` holds the nodes and the rules. A backend is asked only for what the rules allow, and checks what depends on
    the device: the kernel, its launch and its arguments, memory and events.
    """

    @property
    def tree(self) -> GraphTree: ...

    def create_condition(self, graph: int, default: int) -> Condition:
        """Make a condition in a graph of the tree."""
        ...

    def make(self, node: GraphNode, record: NodeRecord) -> None:
        """Make the device's nodes for a node of the tree; those of the nodes in `record.after` exist already."""
        ...

    def unmake(self, first: GraphNode) -> None:
        """Undo `make` for the nodes from `first` on, as far as they were made; the tree still has them."""
        ...

    def remove(self, works: Mapping[GraphNode, Work]) -> None:
        """Remove the device's nodes for a node, the first in `works`, and for the nodes in it."""
        ...

    def change_order(self, node: GraphNode, gone: Sequence[GraphNode], added: Sequence[GraphNode]) -> None:
        """Remove the dependencies `gone` of a node, and add the dependencies `added`."""
        ...

    def set_kernel(self, node: GraphNode, old: KernelWork, new: KernelWork) -> None:
        """Give a kernel node another launch; the tree still has the old one."""
        ...

    def clone(self) -> GraphBackend:
        """Return a backend with a clone of the tree and the same nodes."""
        ...

    def instantiate(self) -> Executable: ...

    def destroy(self) -> None:
        """Release what only the graph uses; executables keep what they need."""
        ...


class Graph:
    """A graph under construction, or a body of a conditional node in one.

    `after` lists the nodes that must finish first; they belong to the same graph or body. Changes of a graph don't
    reach the executables that were made of it before. A body is instantiated and destroyed with its graph.
    """

    __slots__ = ("_backend", "_number", "_tree")

    def __init__(self, backend: GraphBackend, number: int = ROOT) -> None:
        self._backend = backend
        self._number = number
        self._tree = backend.tree

    def add_kernel(
        self, kernel: LoadedKernel, config: LaunchConfig, arguments: KernelArguments, after: Sequence[GraphNode]
    ) -> GraphNode:
        """Add a kernel launch; DeviceError when the launch or the arguments don't fit the kernel."""
        return self._add(KernelWork(kernel, config, arguments), after)

    def add_memset(self, target: Memory, value: int, size_bytes: int, after: Sequence[GraphNode]) -> GraphNode:
        """Set the first `size_bytes` bytes of `target` to `value` (0 to 255)."""
        if not 0 <= value <= 255:
            raise DeviceError(f"fill value must be from 0 to 255, got {value}")
        return self._add(MemsetWork(target, value, size_bytes), after)

    def add_copy(
        self,
        target: Memory | PinnedArray,
        source: Memory | PinnedArray,
        size_bytes: int,
        after: Sequence[GraphNode],
    ) -> GraphNode:
        """Copy bytes between device memory and pinned arrays in any direction."""
        return self._add(CopyWork(target, source, size_bytes), after)

    def add_event_record(self, event: Event, after: Sequence[GraphNode]) -> GraphNode:
        """Record an event at every launch; DeviceError in a body, where CUDA allows none."""
        return self._add(EventWork(event), after)

    def add_captured(self, capture: Capture, after: Sequence[GraphNode]) -> GraphNode:
        """Add what `Device.capture` returned; the same capture may be added several times."""
        return self._add(CapturedWork(capture), after)

    def add_child(self, child: Graph, after: Sequence[GraphNode]) -> GraphNode:
        """Add copies of all nodes of another graph as one node; DeviceError when it has conditions.

        Node `i` of `child` is node `added + 1 + i` of this graph, where `added` is the node that is returned.
        """
        self._check_live()
        if type(child) is not Graph or type(child._backend) is not type(self._backend):
            raise DeviceError("child graph must be of the same device, got another's")
        node = self._tree.add_child(self._number, child._whole("child graph"), after)
        self._make(node)
        return node

    def create_condition(self, default: int) -> Condition:
        """Make a condition for one conditional node of this graph or of a body in it.

        Each launch of the whole graph sets it to `default` (0 to 2^32 - 1); after that, only kernels set it. The
        condition of a loop inside another loop must therefore be set again by a kernel at each turn of the outer one.
        """
        self._check_live()
        if not 0 <= default < 1 << 32:
            raise DeviceError(f"default of a condition must be from 0 to 2^32 - 1, got {default}")
        condition = self._backend.create_condition(self._number, default)
        self._tree.add_condition(self._number, condition)
        return condition

    def add_conditional(
        self, kind: ConditionalKind, condition: Condition, after: Sequence[GraphNode]
    ) -> tuple[GraphNode, tuple[Graph, ...]]:
        """Add a conditional node; its bodies are empty graphs, to be filled before the whole is instantiated."""
        self._check_live()
        node, bodies = self._tree.add_conditional(self._number, kind, condition, after)
        self._make(node)
        return node, tuple(Graph(self._backend, body) for body in bodies)

    def clone(self) -> Graph:
        """Return a whole graph with the same nodes and numbers; changes of one don't reach the other.

        Both have the same argument blocks. DeviceError for a body, and when there are conditions, which CUDA cannot
        clone.
        """
        self._whole("cloned graph")
        return Graph(self._backend.clone())

    def remove(self, *nodes: GraphNode) -> None:
        """Remove nodes, with the nodes in them when they are child graphs; nodes that waited for them no longer do.

        Their numbers are not used again. DeviceError for a conditional node, and when the graph was instantiated:
        remove nodes from a clone then. Several at once take no longer than one.
        """
        self._check_live()
        for works in self._tree.remove(self._number, tuple(dict.fromkeys(nodes))):
            self._backend.remove(works)

    def set_after(self, node: GraphNode, after: Sequence[GraphNode]) -> None:
        """Let a node wait for exactly these nodes, which may have been added after it."""
        self._check_live()
        self._backend.change_order(node, *self._tree.set_after(self._number, node, after))

    def set_kernel(
        self, node: GraphNode, kernel: LoadedKernel, config: LaunchConfig, arguments: KernelArguments
    ) -> None:
        """Give a kernel node another function, launch or arguments; executables made before keep theirs."""
        self._check_live()
        work = KernelWork(kernel, config, arguments)
        self._backend.set_kernel(node, self._tree.kernel(self._number, node), work)
        self._tree.set_work(node, work)

    def instantiate(self) -> Executable:
        """Make an executable, which begins with what the argument blocks hold now.

        DeviceError when a condition has no conditional node, or when nodes wait for each other in a circle.
        """
        self._whole("instantiated graph").take_executable()
        return self._backend.instantiate()

    def destroy(self) -> None:
        """Release the graph; executables made from it stay valid. A second call does nothing."""
        if self._number != ROOT:
            raise DeviceError("body must be destroyed with its graph, not alone")
        if self._tree.is_live:
            self._tree.is_live = False
            self._backend.destroy()

    def _add(self, work: Work, after: Sequence[GraphNode]) -> GraphNode:
        tree = self._tree
        if not tree.is_live:
            self._check_live()
        node = tree.add(self._number, work, after)
        try:
            self._backend.make(node, tree.nodes[node])
        except BaseException:
            tree.forget(node)
            raise
        return node

    def _make(self, first: GraphNode) -> None:
        """Let the backend make the tree's nodes from `first` on; when that fails, all of them are dropped."""
        tree, backend = self._tree, self._backend
        late: list[tuple[GraphNode, list[GraphNode]]] = []
        try:
            for index, record in enumerate(tree.nodes[first:], first):
                node = GraphNode(index)
                missing = [other for other in record.after if other >= node]
                if missing:  # their order was changed in the child graph
                    late.append((node, missing))
                    record = replace(record, after=tuple(other for other in record.after if other < node))
                backend.make(node, record)
            for node, missing in late:
                backend.change_order(node, (), missing)
        except BaseException:
            backend.unmake(first)
            tree.forget(first)
            raise

    def _whole(self, what: str) -> GraphTree:
        """Return the tree of a whole graph; DeviceError for a body."""
        if self._number != ROOT:
            raise DeviceError(f"{what} must be a graph of its own, got the body of a conditional node")
        self._check_live()
        return self._tree

    def _check_live(self) -> None:
        if not self._tree.is_live:
            raise DeviceError("graph must not be used after it was destroyed")
