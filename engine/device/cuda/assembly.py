"""What a CUDA graph is made of, beside the driver's own record of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cuda.bindings import driver

from engine.device.cuda import nodes
from engine.device.cuda.errors import check
from engine.device.cuda.launch import NativeLaunch
from engine.device.cuda.module import CudaKernel, own_kernel
from engine.device.cuda.native_graph import NativeGraph
from engine.device.cuda.ownership import DriverObjects, Holds, Shared
from engine.device.nodes import (
    ChildWork,
    ConditionalWork,
    CopyWork,
    EventWork,
    KernelWork,
    MemsetWork,
    NodeRecord,
    Work,
)
from engine.device.protocol import Graph, GraphNode
from engine.device.tree import GraphTree
from engine.diagnostics import DeviceError


class Assembly:
    """A CUDA graph with every body and child graph in it; each of our nodes stands for one or more of the driver's."""

    def __init__(self, resources: DriverObjects, context: Any, origin: Assembly | None = None) -> None:
        self.resources = resources
        self.context = context
        if origin is None:
            self.tree, self.images = GraphTree(), Holds()
            self.native = NativeGraph(resources, self.tree, check(driver.cuGraphCreate(0), "cuGraphCreate"))
            self.versions: dict[GraphNode, int] = {}
        else:
            self.tree = origin.tree.clone()
            self.native = origin.native.clone(self.tree)
            #: The modules of its kernels.
            self.images = origin.images.copy()
            #: For each kernel node, the version of the argument block that the driver has copied.
            self.versions = origin.versions.copy()
        self.is_destroyed = False
        self._launch = NativeLaunch()

    def clone(self) -> Assembly:
        """Return a copy with the same numbers of nodes; DeviceError where the driver makes none."""
        return Assembly(self.resources, self.context, self)

    def add_kernel(self, graph: int, work: KernelWork, after: Sequence[GraphNode]) -> GraphNode:
        """Add a kernel node; DeviceError, and no change, when the launch or the arguments do not fit the kernel."""
        kernel: CudaKernel = work.kernel  # type: ignore[assignment]  # which the graph has looked at
        arguments = work.arguments
        native = self._launch.copy(kernel, work.config, arguments)
        tree, native_graph = self.tree, self.native
        nodes = native_graph.nodes
        node = tree.add(graph, work, after)
        before: list[Any] = []
        for other in tree.nodes[node].after:
            before += nodes[other] or native_graph.nodes_of(other)
        handle = native_graph.graphs[graph]
        if handle is None:
            handle = native_graph.graph(graph)
        code, made = driver.cuGraphAddKernelNode(handle, before, len(before), native)
        if code:
            tree.forget(node)
            check((code, made), f"adding kernel {kernel.name} to a graph")
        nodes.append([made])
        self.images.hold(kernel.image)
        self.versions[node] = arguments.version
        return node

    def make(self, first: GraphNode) -> None:
        """Make the driver's nodes for those of the tree from `first` on; when that fails, they are forgotten."""
        nodes, late = self.native.nodes, []
        try:
            for record in self.tree.nodes[first:]:
                before: list[Any] = []
                index = len(nodes)
                for other in record.after:
                    if other < index:
                        before += self.native.nodes_of(other)
                    else:
                        late.append((GraphNode(index), other))
                nodes.append(self._make(record, before))
            for node, other in late:
                self._depend(node, [other], remove=False)
        except BaseException:
            if len(nodes) > first:  # a child graph, which its nodes go with
                for handle in nodes[first] or []:
                    check(driver.cuGraphDestroyNode(handle), "cuGraphDestroyNode")
            self._drop_kernels(range(first, len(nodes)))
            del nodes[first:]
            self.tree.forget(first)
            del self.native.graphs[len(self.tree.owners) :]
            raise

    def remove(self, graph: int, node: GraphNode) -> None:
        """Take a node out, with what is in it."""
        self.tree.record(graph, node, "removed node")
        handles, inside = self.native.nodes_of(node), self.tree.inside(node)
        works = [self.tree.nodes[index].work for index in inside]
        self.native.find_in_clones(inside)
        self.tree.remove(graph, node)
        for handle in handles:
            check(driver.cuGraphDestroyNode(handle), "removing a node from a graph")
        for index, work in zip(inside, works, strict=True):
            self.native.nodes[index] = []
            if isinstance(work, KernelWork):
                self.images.drop(own_image(work))
                del self.versions[GraphNode(index)]

    def set_after(self, graph: int, node: GraphNode, after: Sequence[GraphNode]) -> None:
        """Have a node wait for others than before."""
        gone, added = self.tree.set_after(graph, node, after)
        self._depend(node, gone, remove=True)
        self._depend(node, added, remove=False)

    def set_kernel(self, graph: int, node: GraphNode, work: KernelWork) -> None:
        """Give a kernel node another launch."""
        before = self.tree.kernel(graph, node)
        kernel = own_kernel(work.kernel)
        native = self._launch.copy(kernel, work.config, work.arguments)
        (handle,) = self.native.nodes_of(node)
        check(driver.cuGraphKernelNodeSetParams(handle, native), f"giving a node of a graph kernel {kernel.name}")
        self.tree.set_work(node, work)
        self.versions[node] = work.arguments.version
        self.images.hold(kernel.image)
        self.images.drop(own_image(before))

    def refresh(self) -> None:
        """Have the driver copy the argument blocks that were written since it did: an executable begins with them."""
        records = self.tree.nodes
        for node, version in self.versions.items():
            work = records[node].work
            assert isinstance(work, KernelWork)
            if work.arguments.version != version:
                native = self._launch.copy(own_kernel(work.kernel), work.config, work.arguments)
                (handle,) = self.native.nodes_of(node)
                check(driver.cuGraphKernelNodeSetParams(handle, native), "giving a node of a graph new arguments")
                self.versions[node] = work.arguments.version

    def destroy(self) -> None:
        """Let go of the graph and of its kernels; executables go on."""
        if not self.is_destroyed:
            self.is_destroyed = True
            self.native.shared.drop()
            self.images.clear()

    def _make(self, record: NodeRecord, before: list[Any]) -> list[Any]:
        work, graph = record.work, self.native.graph(record.graph)
        if type(work) is KernelWork:
            kernel = own_kernel(work.kernel)
            native = self._launch.copy(kernel, work.config, work.arguments)
            result = driver.cuGraphAddKernelNode(graph, before, len(before), native)
            if result[0]:
                check(result, f"adding kernel {kernel.name} to a graph")
            self.images.hold(kernel.image)
            self.versions[GraphNode(len(self.native.nodes))] = work.arguments.version
            return [result[1]]
        return self._make_other(work, graph, before)

    def _make_other(self, work: Work, graph: Any, before: list[Any]) -> list[Any]:
        match work:
            case MemsetWork():
                return nodes.add_memset(graph, self.context, work, before)
            case CopyWork():
                return nodes.add_copy(graph, self.context, work, before)
            case EventWork():
                return [nodes.add_event(graph, work, before)]
            case ChildWork():
                handle, inside = nodes.add_child(graph, before)
                self.native.graphs.append(inside)
                return [handle]
            case ConditionalWork():
                handle, bodies = nodes.add_conditional(graph, self.context, work, before)
                self.native.graphs.extend(bodies)
                return [handle]
            case _:  # a node that was removed from a child graph
                return []

    def _depend(self, node: GraphNode, others: Sequence[GraphNode], *, remove: bool) -> None:
        """Add dependencies of a node, or remove them."""
        own = self.native.nodes_of(node)
        pairs = [(before, after) for other in others for before in self.native.nodes_of(other) for after in own]
        if pairs:
            graph = self.native.graph(self.tree.nodes[node].graph)
            change = driver.cuGraphRemoveDependencies if remove else driver.cuGraphAddDependencies
            befores, afters = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
            check(change(graph, befores, afters, None, len(pairs)), f"changing what node {node} waits for")

    def _drop_kernels(self, indices: range) -> None:
        for index in indices:
            if self.versions.pop(GraphNode(index), None) is not None:
                work = self.tree.nodes[index].work
                assert isinstance(work, KernelWork)
                self.images.drop(own_image(work))


def own_image(work: KernelWork) -> Shared:
    """Return the module of a kernel that is in a graph already."""
    image: Shared = work.kernel.image  # type: ignore[attr-defined]  # checked when it was added
    return image


def own_assembly(graph: Graph, what: str) -> Assembly:
    """Return what a whole graph of this device is made of; DeviceError when it is another's, a body, or destroyed."""
    assembly = getattr(graph, "assembly", None)
    if not isinstance(assembly, Assembly):
        raise DeviceError(f"{what} must be a CUDA device's, got {type(graph).__name__}")
    return assembly
