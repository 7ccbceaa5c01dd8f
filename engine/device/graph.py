"""Graphs under construction: one class for both devices, over a small backend that creates the device's nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from msgspec.structs import replace

from warploom.engine.device.arguments import KernelArguments
from warploom.engine.device.nodes import CapturedWork, CopyWork, KernelWork, MemsetWork, NodeRecord, Work
from warploom.engine.device.protocol import (
    Capture,
    Condition,
    ConditionalKind,
    Executable,
    GraphNode,
    LaunchConfig,
    LoadedKernel,
    Memory,
    PinnedArray,
)
from warploom.engine.device.tree import ROOT, GraphTree
from warploom.engine.diagnostics import DeviceError


class GraphBackend(Protocol):
    """A device's part in one graph with all its bodies and child graphs.

    `tree` holds the nodes and the rules. A backend gets only requests that the rules allow. It checks the parts that
    depend on the device: the kernel, its launch and its arguments, and memory.
    """

    @property
    def tree(self) -> GraphTree: ...

    def create_condition(self, graph: int, default: int) -> Condition:
        """Create a condition in a graph of the tree."""
        ...

    def make(self, node: GraphNode, record: NodeRecord) -> None:
        """Create the device's nodes for a node of the tree; those for the nodes in `record.after` already exist."""
        ...

    def unmake(self, first: GraphNode) -> None:
        """Undo `make` for the nodes from `first` on, as far as they were created; the tree still has them."""
        ...

    def remove(self, works: Mapping[GraphNode, Work]) -> None:
        """Remove the device's nodes for a node, the first in `works`, and for the nodes inside it."""
        ...

    def change_order(self, node: GraphNode, gone: Sequence[GraphNode], added: Sequence[GraphNode]) -> None:
        """Remove the dependencies `gone` of a node, and add the dependencies `added`."""
        ...

    def set_kernel(self, node: GraphNode, old: KernelWork, new: KernelWork) -> None:
        """Change the launch of a kernel node; the tree still has the old launch."""
        ...

    def clone(self) -> GraphBackend:
        """Return a backend with a clone of the tree and the same nodes."""
        ...

    def instantiate(self) -> Executable: ...

    def destroy(self) -> None:
        """Release the resources that only the graph uses; executables keep their own."""
        ...


class Graph:
    """A graph under construction, or the body of a conditional node inside one.

    `after` lists the nodes that must finish first; they belong to the same graph or body. Changes of a graph don't
    affect executables made from it earlier. A body is instantiated and destroyed together with its graph.
    """

    __slots__ = ("_backend", "_number", "_tree")

    def __init__(self, backend: GraphBackend, number: int = ROOT) -> None:
        self._backend = backend
        self._number = number
        self._tree = backend.tree

    def add_kernel(
        self, kernel: LoadedKernel, config: LaunchConfig, arguments: KernelArguments, after: Sequence[GraphNode]
    ) -> GraphNode:
        """Add a kernel launch. Raise DeviceError when the launch or the arguments don't fit the kernel."""
        return self._add(KernelWork(kernel, config, arguments), after)

    def add_memset(
        self, target: Memory, value: int, size_bytes: int, after: Sequence[GraphNode], width: int = 1
    ) -> GraphNode:
        """Set the first `size_bytes` bytes of `target` to `value`, a number of 1, 2 or 4 bytes (`width`)."""
        if width not in (1, 2, 4) or not 0 <= value < 256**width:
            raise DeviceError(f"fill value must be from 0 to {256**width - 1}, in 1, 2 or 4 bytes, got {value}")
        if size_bytes % width:
            raise DeviceError(f"fill must be of whole numbers of {width} bytes, got {size_bytes} bytes")
        return self._add(MemsetWork(target, value, size_bytes, width), after)

    def add_copy(
        self,
        target: Memory | PinnedArray,
        source: Memory | PinnedArray,
        size_bytes: int,
        after: Sequence[GraphNode],
    ) -> GraphNode:
        """Copy bytes between device memory and pinned arrays, in any direction."""
        return self._add(CopyWork(target, source, size_bytes), after)

    def add_captured(self, capture: Capture, after: Sequence[GraphNode]) -> GraphNode:
        """Add work recorded by `Device.capture`; the same capture may be added several times."""
        return self._add(CapturedWork(capture), after)

    def add_child(self, child: Graph, after: Sequence[GraphNode]) -> GraphNode:
        """Add copies of all nodes of another graph as one node. Raise DeviceError when that graph has conditions.

        Node `i` of `child` becomes node `added + 1 + i` of this graph, where `added` is the returned node.
        """
        self._check_live()
        if type(child) is not Graph or type(child._backend) is not type(self._backend):
            raise DeviceError("child graph must be of the same device, got another's")
        node = self._tree.add_child(self._number, child._whole("child graph"), after)
        self._make(node)
        return node

    def create_condition(self, default: int) -> Condition:
        """Create a condition for one conditional node of this graph or of a body inside it.

        Each launch of the whole graph sets it to `default` (0 to 2^32 - 1); after that, only kernels set it. If a loop
        lies inside another loop, a kernel must therefore set its condition again in each turn of the outer loop.
        """
        self._check_live()
        if not 0 <= default < 1 << 32:
            raise DeviceError(f"default of a condition must be from 0 to 2^32 - 1, got {default}")
        condition = self._backend.create_condition(self._number, default)
        self._tree.add_condition(self._number, condition)
        return condition

    def add_conditional(
        self, kind: ConditionalKind, condition: Condition, after: Sequence[GraphNode], *, bodies: int | None = None
    ) -> tuple[GraphNode, tuple[Graph, ...]]:
        """Add a conditional node. `bodies` is the number of bodies of a SWITCH; other kinds have theirs.

        Its bodies are empty graphs, which must be filled before the graph is instantiated.
        """
        self._check_live()
        node, numbers = self._tree.add_conditional(self._number, kind, condition, after, bodies)
        self._make(node)
        return node, tuple(Graph(self._backend, body) for body in numbers)

    def clone(self) -> Graph:
        """Return a whole graph with the same nodes and numbers. Later changes of one don't affect the other.

        Both have the same argument blocks. Raise DeviceError for a body, and for a graph with conditions, which CUDA
        can't clone.
        """
        self._whole("cloned graph")
        return Graph(self._backend.clone())

    def remove(self, *nodes: GraphNode) -> None:
        """Remove nodes, and the nodes inside child graphs. Nodes that waited for them no longer do.

        Their numbers are not reused. Raise DeviceError for a conditional node, and if the graph was instantiated: then
        remove the nodes from a clone. Removing several at once takes no longer than removing one.
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
        """Give a kernel node another function, launch or arguments. Existing executables keep theirs."""
        self._check_live()
        work = KernelWork(kernel, config, arguments)
        self._backend.set_kernel(node, self._tree.kernel(self._number, node), work)
        self._tree.set_work(node, work)

    def instantiate(self) -> Executable:
        """Create an executable, which begins with the current contents of the argument blocks.

        Raise DeviceError when a condition has no conditional node, or when nodes wait for each other in a cycle.
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
        """Let the backend create the tree's nodes from `first` on. If that fails, drop all of them."""
        tree, backend = self._tree, self._backend
        late: list[tuple[GraphNode, list[GraphNode]]] = []
        try:
            for index, record in enumerate(tree.nodes[first:], first):
                node = GraphNode(index)
                missing = [other for other in record.after if other >= node]
                if missing:  # the child graph has changed its order of nodes
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
        """Return the tree of a whole graph. Raise DeviceError for a body."""
        if self._number != ROOT:
            raise DeviceError(f"{what} must be a graph of its own, got the body of a conditional node")
        self._check_live()
        return self._tree

    def _check_live(self) -> None:
        if not self._tree.is_live:
            raise DeviceError("graph must not be used after it was destroyed")
