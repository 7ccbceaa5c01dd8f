"""What a CUDA graph is made of, beside the driver's own record of it."""

from __future__ import annotations

from typing import Any, NamedTuple

from cuda.bindings import driver

from engine.device.arguments import KernelArguments
from engine.device.cuda import nodes
from engine.device.cuda.errors import check
from engine.device.cuda.module import CudaKernel, own_kernel
from engine.device.cuda.ownership import Resources, Shared
from engine.device.nodes import ChildWork, ConditionalWork, CopyWork, EventWork, KernelWork, MemsetWork, Work
from engine.device.protocol import Graph, LaunchConfig, Node
from engine.device.tree import GraphTree
from engine.diagnostics import DeviceError


class KernelLaunch(NamedTuple):
    """A kernel node as it was added to its graph; `node` is the driver's name for it."""

    node: Any
    kernel: CudaKernel
    config: LaunchConfig
    arguments: KernelArguments


class Assembly:
    """A CUDA graph with every body and child graph in it; each of our nodes stands for one or more of the driver's."""

    def __init__(self, resources: Resources, context: Any) -> None:
        self.resources = resources
        self.context = context
        handle = check(driver.cuGraphCreate(0), "cuGraphCreate")
        self.shared = Shared(resources, lambda: check(driver.cuGraphDestroy(handle), "cuGraphDestroy"))
        self.tree = GraphTree()
        #: The driver's graph for each graph of the tree, and its nodes for each node.
        self.handles: list[Any] = [handle]
        self.nodes: list[list[Any]] = []
        self.launches: dict[Node, KernelLaunch] = {}
        self.is_destroyed = False

    def make(self, first: Node) -> None:
        """Make the driver's nodes for those of the tree from `first` on; when that fails, they are forgotten."""
        try:
            for record in self.tree.nodes[first:]:
                before = [handle for other in record.after for handle in self.nodes[other]]
                self.nodes.append(self._make(record.work, self.handles[record.graph], before))
        except BaseException:
            if len(self.nodes) > first:  # a child graph, which its nodes go with
                for handle in self.nodes[first]:
                    check(driver.cuGraphDestroyNode(handle), "cuGraphDestroyNode")
            for node in range(first, len(self.nodes)):
                if launch := self.launches.pop(Node(node), None):
                    launch.kernel.image.drop()
            del self.nodes[first:]
            self.tree.forget(first)
            del self.handles[len(self.tree.owners) :]
            raise

    def _make(self, work: Work, graph: Any, before: list[Any]) -> list[Any]:
        match work:
            case KernelWork(kernel=kernel, config=config, arguments=arguments):
                handle, own = nodes.add_kernel(graph, work, before), own_kernel(kernel)
                own.image.hold()
                self.launches[Node(len(self.nodes))] = KernelLaunch(handle, own, config, arguments)
                return [handle]
            case MemsetWork():
                return nodes.add_memset(graph, self.context, work, before)
            case CopyWork():
                return nodes.add_copy(graph, self.context, work, before)
            case EventWork():
                return [nodes.add_event(graph, work, before)]
            case ChildWork():
                handle, inside = nodes.add_child(graph, before)
                self.handles.append(inside)
                return [handle]
            case ConditionalWork():
                handle, bodies = nodes.add_conditional(graph, self.context, work, before)
                self.handles.extend(bodies)
                return [handle]


def own_assembly(graph: Graph, what: str) -> Assembly:
    """Return what a whole graph of this device is made of; DeviceError when it is another's, a body, or destroyed."""
    assembly = getattr(graph, "assembly", None)
    if not isinstance(assembly, Assembly):
        raise DeviceError(f"{what} must be a CUDA device's, got {type(graph).__name__}")
    return assembly
