"""Instantiated graphs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from cuda.bindings import driver

from engine.device.arguments import KernelArguments
from engine.device.cuda.errors import check
from engine.device.cuda.launch import KernelNodeParameters
from engine.device.cuda.module import CudaKernel, own_kernel
from engine.device.cuda.ownership import Resources, Shared
from engine.device.cuda.stream import own_stream
from engine.device.protocol import Kernel, LaunchConfig, Node, Stream
from engine.diagnostics import DeviceError


class KernelLaunch(NamedTuple):
    """A kernel node as it was added to its graph; `node` is the driver's name for it."""

    node: Any
    kernel: CudaKernel
    config: LaunchConfig
    arguments: KernelArguments


class CudaExecutable:
    """An instantiated graph, with prepared launch parameters for each kernel node that was updated once."""

    def __init__(self, resources: Resources, handle: Any, graph: Shared, launches: Mapping[Node, KernelLaunch]) -> None:
        # The driver names the nodes of an executable by those of the graph it came from, which so must outlive it.
        graph.hold()
        self._graph = graph
        self._handle = handle
        self._resources = resources
        self._token = resources.add(lambda: check(driver.cuGraphExecDestroy(handle), "cuGraphExecDestroy"))
        self._launches = dict(launches)
        self._prepared: dict[Node, KernelNodeParameters] = {}
        self._images = {node: launch.kernel.image for node, launch in launches.items()}
        for image in self._images.values():
            image.hold()
        self._destroyed = False

    def launch(self, stream: Stream) -> None:
        """Start the graph on `stream`; returns at once."""
        if self._destroyed:
            raise DeviceError("executable must be launched before it is destroyed")
        check(driver.cuGraphLaunch(self._handle, own_stream(stream).handle), "launching a graph")

    def update_kernel(self, node: Node, kernel: Kernel, config: LaunchConfig, arguments: KernelArguments) -> None:
        """Give a kernel node new arguments, a new launch or another function; DeviceError, and no change, if unfit.

        With the kernel, argument block and launch that it had before it costs one driver call: that is the way to
        pass on values that were written into the block.
        """
        prepared = self._prepared.get(node) or self._prepare(node)
        same_launch = config is prepared.config or config == prepared.config
        if same_launch and kernel is prepared.kernel and arguments is prepared.arguments:
            result = driver.cuGraphExecKernelNodeSetParams(self._handle, self._launches[node].node, prepared.native)
            check(result, "updating a kernel node")
            return
        own = own_kernel(kernel)
        changed = KernelNodeParameters(own, config, arguments)
        result = driver.cuGraphExecKernelNodeSetParams(self._handle, self._launches[node].node, changed.native)
        check(result, f"changing a kernel node from {prepared.kernel.name} to {own.name}")
        self._prepared[node] = changed
        own.image.hold()
        self._images[node].drop()
        self._images[node] = own.image

    def destroy(self) -> None:
        """Give it back; a launch that is running is finished first. A second call does nothing."""
        if not self._destroyed:
            self._destroyed = True
            self._resources.release(self._token)
            self._graph.drop()
            for image in self._images.values():
                image.drop()
            self._launches.clear()
            self._prepared.clear()

    def _prepare(self, node: Node) -> KernelNodeParameters:
        """Make a node's parameters on its first update: most nodes of a patch are never updated."""
        launch = self._launches.get(node)
        if launch is None:
            raise DeviceError(f"node {node} must be a kernel node of a live executable")
        prepared = self._prepared[node] = KernelNodeParameters(launch.kernel, launch.config, launch.arguments)
        return prepared
