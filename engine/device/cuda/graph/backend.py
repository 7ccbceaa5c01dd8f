"""The CUDA backend of `engine.device.graph`, which creates and changes the driver's nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from itertools import pairwise, product
from typing import Any, Concatenate, ParamSpec, TypeVar

from cuda.bindings import driver

from warploom.engine.device.cuda.errors import check
from warploom.engine.device.cuda.graph import native_nodes
from warploom.engine.device.cuda.graph.executable import CudaExecutable
from warploom.engine.device.cuda.graph.native_graph import NativeGraph
from warploom.engine.device.cuda.launch import NativeLaunch
from warploom.engine.device.cuda.module import CudaKernel, own_kernel
from warploom.engine.device.cuda.ownership import DriverObjects, Holds
from warploom.engine.device.nodes import (
    CapturedWork,
    ChildWork,
    ConditionalWork,
    CopyWork,
    KernelWork,
    MemsetWork,
    NodeRecord,
    Work,
)
from warploom.engine.device.protocol import Condition, ConditionalKind, GraphNode, Memory
from warploom.engine.device.tree import ROOT, GraphTree

_WHILE = ConditionalKind.WHILE
#: Kinds of work that may start and end with the same kernel.
_LAUNCHING = (KernelWork, CapturedWork)
_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


def _alone(
    method: Callable[Concatenate[CudaGraphBackend, _Parameters], _Result],
) -> Callable[Concatenate[CudaGraphBackend, _Parameters], _Result]:
    """Run a method while no other thread makes driver calls for the graph, its clones or its original."""

    @wraps(method)
    def locked(self: CudaGraphBackend, /, *arguments: _Parameters.args, **more: _Parameters.kwargs) -> _Result:
        with self._native.lock:
            return method(self, *arguments, **more)

    return locked


class CudaGraphBackend:
    """A driver graph with every body and child graph in it. Each node of the tree has one or more driver nodes."""

    def __init__(
        self, objects: DriverObjects, context: Any, scratch: Memory, origin: CudaGraphBackend | None = None
    ) -> None:
        """`scratch` is memory whose contents don't matter; a clone has an `origin`."""
        self._objects, self._context, self._scratch = objects, context, scratch
        if origin is None:
            self.tree, self._images = GraphTree(), Holds()
            self._native = NativeGraph(objects, self.tree, check(driver.cuGraphCreate(0), "cuGraphCreate"))
            self._versions: dict[GraphNode, int] = {}
        else:
            self.tree = origin.tree.clone()
            self._native = origin._native.clone(self.tree)
            #: The modules whose kernels are in the graph.
            self._images = origin._images.copy()
            #: For each kernel node, the version of its argument block that the driver has copied.
            self._versions = origin._versions.copy()
        #: The structures passed to the driver for each kernel and launch, kept until there is an executable.
        self._launches: dict[tuple[int, int], NativeLaunch] = {}
        #: Programmatic edges of new nodes, which are passed to the driver together: for each graph of the tree, the
        #: driver nodes at both ends.
        self._untold: dict[int, tuple[list[Any], list[Any]]] = {}

    @_alone
    def clone(self) -> CudaGraphBackend:
        """Return a clone with the same node numbers. Raise DeviceError when the driver can't clone the graph."""
        self._tell_edges()
        return CudaGraphBackend(self._objects, self._context, self._scratch, self)

    @_alone
    def create_condition(self, graph: int, default: int) -> Condition:
        """Create a condition in a graph of the tree."""
        handle = self._native.graph(graph)
        return Condition(native_nodes.create_condition(handle, self._context, default))

    @_alone
    def make(self, node: GraphNode, record: NodeRecord) -> None:
        """Create the driver's nodes for a node of the tree. If they don't fit, raise DeviceError and change nothing."""
        native, work = self._native, record.work
        nodes = native.nodes
        before: list[Any] = []
        early: list[Any] = []  # the nodes that this one waits for by programmatic edges
        # In loops, edges are plain, since a kernel must be inactive when the next turn starts.
        waits = _waits(work) and not self.tree.repeats[record.graph]
        for other in record.after:
            handles = nodes[other] or native.nodes_of(other)
            if waits and _waits(self.tree.nodes[other].work):
                early += handles
            else:
                before += handles
        graph = native.graphs[record.graph]
        if graph is None:
            graph = native.graph(record.graph)
        if type(work) is KernelWork:
            kernel, version, parameters = self._launch(work)
            self._images.hold(kernel.image)  # from now on, no other thread can unload it
            result = driver.cuGraphAddKernelNode(graph, before, len(before), parameters)
            if result[0]:
                self._images.drop(kernel.image)
                check(result, f"adding kernel {kernel.name} to a graph")
            if early:
                befores, afters = self._untold.setdefault(record.graph, ([], []))
                befores += early
                afters += [result[1]] * len(early)
            self._versions[node] = version
            nodes.append([result[1]])
            if work.config.is_cooperative:
                native_nodes.set_cooperative(result[1], is_cooperative=True)
        else:
            nodes.append(self._make_other(work, graph, before))

    @_alone
    def unmake(self, first: GraphNode) -> None:
        """Destroy the device's nodes for the nodes from `first` on, and forget them.

        With a child graph or conditional node, the nodes inside it are destroyed too.
        """
        self._tell_edges()
        native, nodes = self._native, self._native.nodes
        if len(nodes) > first:  # destroying the first node also destroys the nodes inside it
            for handle in nodes[first] or []:
                check(driver.cuGraphDestroyNode(handle), "cuGraphDestroyNode")
        for index in range(first, len(nodes)):
            self._drop_kernel(GraphNode(index), self.tree.nodes[index].work)
        del nodes[first:]
        del native.graphs[sum(owner is None or owner < first for owner in self.tree.owners) :]

    @_alone
    def remove(self, works: Mapping[GraphNode, Work]) -> None:
        """Remove a node, and the nodes inside it."""
        self._tell_edges()
        native = self._native
        handles = native.nodes_of(next(iter(works)))
        native.find_in_clones(works)
        for handle in handles:
            check(driver.cuGraphDestroyNode(handle), "removing a node from a graph")
        for node, work in works.items():
            native.nodes[node] = []
            self._drop_kernel(node, work)

    @_alone
    def change_order(self, node: GraphNode, gone: Sequence[GraphNode], added: Sequence[GraphNode]) -> None:
        """Remove the dependencies `gone` of a node, and add the dependencies `added`."""
        self._tell_edges()
        self._depend(node, gone, remove=True)
        self._depend(node, added, remove=False)

    @_alone
    def set_kernel(self, node: GraphNode, old: KernelWork, new: KernelWork) -> None:
        """Give a kernel node another launch."""
        self._tell_edges()
        kernel, version, parameters = self._launch(new)
        (handle,) = self._native.nodes_of(node)
        with self._images.holding(kernel.image):
            result = driver.cuGraphKernelNodeSetParams(handle, parameters)
            check(result, f"giving a node of a graph kernel {kernel.name}")
            if new.config.is_cooperative is not old.config.is_cooperative:
                native_nodes.set_cooperative(handle, is_cooperative=new.config.is_cooperative)
        if _waits(old) != _waits(new):
            edges = [(other, node) for other in self.tree.nodes[node].after]
            edges += [(node, GraphNode(at)) for at, record in enumerate(self.tree.nodes) if node in record.after]
            self._change_edges(edges, {}, remove=True)
            self._change_edges(edges, {node: new})
        self._versions[node] = version
        self._images.drop(own_kernel(old.kernel).image)

    @_alone
    def instantiate(self) -> CudaExecutable:
        """Create an executable, which keeps the driver's graph and the modules alive."""
        self._tell_edges()
        self._refresh()
        self._order_loops()
        self._launches.clear()
        handle = check(driver.cuGraphInstantiate(self._native.graph(ROOT), 0), "instantiating a graph")
        return CudaExecutable(self._objects, handle, self._native, tuple(self.tree.nodes), self._images.copy())

    def destroy(self) -> None:
        """Release the driver's graph and the modules; executables keep their own resources."""
        self._native.shared.drop()
        self._images.clear()

    def _launch(self, work: KernelWork) -> tuple[CudaKernel, int, Any]:
        """Return a kernel, its launch in a structure that is valid until the next call, and the version of its values.

        The version is read first, so a value that another thread writes meanwhile counts as not passed on.
        """
        version = work.arguments.version
        kernel, config = own_kernel(work.kernel), work.config
        key = id(kernel), id(config)  # the launch keeps both alive
        launch = self._launches.get(key)
        if launch is None:
            launch = self._launches[key] = NativeLaunch()
        return kernel, version, launch.copy(kernel, config, work.arguments)

    def _tell_edges(self) -> None:
        """Add the programmatic edges of new nodes, since one call takes less time than one per node."""
        for number, (befores, afters) in self._untold.items():
            native_nodes.change_edges(self._native.graph(number), befores, afters, is_programmatic=True)
        self._untold.clear()

    def _refresh(self) -> None:
        """Let the driver copy argument blocks that were written since its last copy, for a new executable."""
        records = self.tree.nodes
        for node, version in self._versions.items():
            work = records[node].work
            assert isinstance(work, KernelWork)
            if work.arguments.version != version:
                _, self._versions[node], parameters = self._launch(work)
                (handle,) = self._native.nodes_of(node)
                check(driver.cuGraphKernelNodeSetParams(handle, parameters), "giving a node of a graph new arguments")

    def _order_loops(self) -> None:
        """Order parallel nodes in the body of a loop, as the driver requires; the tree does not show this order.

        Conditional nodes are put one after another, and no kernel may be both first and last. So the last such kernel
        is put after everything else in the body, or after a fill if it is alone there. Otherwise the next turn may
        start while a kernel is still active, which faults the GPU (Xid 13, SKEDCHECK22_INVALIDATE_ACTIVE_QMD), or a
        loop never ends. Seen on an H200 with driver 580: see README.md.
        """
        records = self.tree.nodes
        loops = [node.work for node in records if type(node.work) is ConditionalWork and node.work.kind is _WHILE]
        if not loops:
            return
        bodies: dict[int, list[GraphNode]] = {loop.first_body: [] for loop in loops}
        for node in self.tree.order():
            if records[node].graph in bodies:
                bodies[records[node].graph].append(node)
        for body, members in bodies.items():
            choices = [node for node in members if type(records[node].work) is ConditionalWork]
            for before, node in pairwise(choices):
                if before not in records[node].after:
                    self._depend(node, [before], remove=False)
            self._order_lone_kernels(body, members)

    def _order_lone_kernels(self, body: int, members: Sequence[GraphNode]) -> None:
        nodes = self.tree.nodes
        waited_for = {other for node in members for other in nodes[node].after}
        ends = [node for node in members if node not in waited_for]
        lone = [node for node in ends if not nodes[node].after and type(nodes[node].work) in _LAUNCHING]
        if lone and len(ends) > 1:
            self._depend(lone[-1], [node for node in ends if node != lone[-1]], remove=False)
        elif lone:
            graph, fill = self._native.graph(body), MemsetWork(self._scratch, 0, 1)
            before = native_nodes.add_memset(graph, self._context, fill, [])
            after = self._native.nodes_of(lone[0])
            check(driver.cuGraphAddDependencies(graph, before, after, None, 1), f"ordering node {lone[0]}")

    def _make_other(self, work: Work, graph: Any, before: list[Any]) -> list[Any]:
        match work:
            case MemsetWork():
                return native_nodes.add_memset(graph, self._context, work, before)
            case CopyWork():
                return native_nodes.add_copy(graph, self._context, work, before)
            case CapturedWork():
                return [native_nodes.add_captured(graph, work, before)]
            case ChildWork():
                handle, inside = native_nodes.add_child(graph, before)
                self._native.graphs.append(inside)
                return [handle]
            case ConditionalWork():
                handle, bodies = native_nodes.add_conditional(graph, self._context, work, before)
                self._native.graphs.extend(bodies)
                return [handle]
            case _:  # a node that was removed from a child graph
                return []

    def _depend(self, node: GraphNode, others: Sequence[GraphNode], *, remove: bool) -> None:
        """Add or remove dependencies of a node."""
        self._change_edges([(other, node) for other in others], {}, remove=remove)

    def _change_edges(
        self, edges: Sequence[tuple[GraphNode, GraphNode]], works: Mapping[GraphNode, Work], *, remove: bool = False
    ) -> None:
        """Add or remove edges; `works` are those that differ from the tree's."""
        nodes, native = self.tree.nodes, self._native
        for is_programmatic in (False, True):
            pairs: list[tuple[Any, Any]] = []
            for edge in edges:
                wait = all(_waits(works.get(node, nodes[node].work)) for node in edge)
                if is_programmatic is (wait and not self.tree.repeats[nodes[edge[1]].graph]):
                    pairs += product(*map(native.nodes_of, edge))
            if pairs:
                graph = native.graph(nodes[edges[0][1]].graph)
                befores, afters = zip(*pairs, strict=True)
                native_nodes.change_edges(
                    graph, list(befores), list(afters), is_programmatic=is_programmatic, remove=remove
                )

    def _drop_kernel(self, node: GraphNode, work: Work) -> None:
        if self._versions.pop(node, None) is not None:
            assert isinstance(work, KernelWork)
            self._images.drop(own_kernel(work.kernel).image)


def _waits(work: Work) -> bool:
    """Return whether a node is a kernel that waits. Outside loops, edges between two such kernels are programmatic.

    A cooperative launch counts as one that doesn't: its thread blocks must all fit beside those of earlier kernels.
    """
    if type(work) is not KernelWork or not isinstance(work.kernel, CudaKernel):
        return False
    return work.kernel.waits and not work.config.is_cooperative
