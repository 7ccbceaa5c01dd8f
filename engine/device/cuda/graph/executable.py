"""Instantiated graphs, and updates of their nodes in place."""

from collections.abc import Collection, Iterable
from typing import Any

from cuda.bindings import driver
from msgspec.structs import replace

from warploom.engine.device.arguments import KernelArguments
from warploom.engine.device.cuda.errors import check
from warploom.engine.device.cuda.graph.capture import CudaCapture, own_capture
from warploom.engine.device.cuda.graph.many_updates import MANY, row, update_many
from warploom.engine.device.cuda.graph.native_graph import NativeGraph
from warploom.engine.device.cuda.graph.native_nodes import copy_parameters, fill_parameters
from warploom.engine.device.cuda.launch import NativeLaunch
from warploom.engine.device.cuda.memory import CudaPinnedArray
from warploom.engine.device.cuda.module import CudaKernel, own_kernel
from warploom.engine.device.cuda.ownership import DriverObjects, Holds
from warploom.engine.device.cuda.stream import CudaStream, own_stream
from warploom.engine.device.nodes import (
    CapturedWork,
    CopyWork,
    KernelWork,
    MemsetWork,
    NodeRecord,
    Work,
)
from warploom.engine.device.protocol import Capture, GraphNode, LaunchConfig, LoadedKernel, Memory, PinnedArray, Stream
from warploom.engine.diagnostics import DeviceError

#: The driver's handle of a kernel node, its launch, and the launch structure for the driver.
_Prepared = tuple[Any, NativeLaunch, Any]
_launch, _set_params = driver.cuGraphLaunch, driver.cuGraphExecKernelNodeSetParams


class CudaExecutable:
    """An instantiated graph, with prepared launch parameters for each kernel node that was updated before."""

    def __init__(
        self, objects: DriverObjects, handle: Any, native: NativeGraph, records: tuple[NodeRecord, ...], images: Holds
    ) -> None:
        # The driver identifies an executable's nodes by those of its graph, so the graph must outlive the executable.
        native.shared.hold()
        self._native = native
        self._lock = native.lock
        self._handle = handle
        self._objects = objects
        self._token = objects.add(lambda: check(driver.cuGraphExecDestroy(handle), "cuGraphExecDestroy"))
        self._records = records
        self._prepared: dict[GraphNode, _Prepared] = {}
        #: The `row` of each prepared node.
        self._rows: dict[GraphNode, bytes] = {}
        #: Copy parameters that `update_copy` passes to the driver, by node and address.
        self._copies: dict[tuple[GraphNode, int], tuple[Any, ...]] = {}
        self._images = images
        #: Captured work that replaces the work in the records; its libraries' plans must stay alive.
        self._captures: dict[GraphNode, CudaCapture] = {}
        #: The number of exchanged functions that the nodes have taken over.
        self._exchanges = 0
        self._destroyed = False

    def launch(self, stream: Stream) -> None:
        """Start the graph on `stream`, and return at once."""
        if self._destroyed:
            raise DeviceError("executable must not be launched after it was destroyed")
        if self._exchanges != self._objects.exchanges:
            self._follow_exchanges()
        on = stream if type(stream) is CudaStream else own_stream(stream)
        result = _launch(self._handle, on.handle)
        if result[0]:
            check(result, "launching a graph")

    def upload(self, stream: Stream) -> None:
        """Upload the graph to the device on `stream`, so that the first launch takes no longer than later ones."""
        if self._destroyed:
            raise DeviceError("executable must not be uploaded after it was destroyed")
        check(driver.cuGraphUpload(self._handle, own_stream(stream).handle), "uploading a graph")

    def update_kernel(
        self, node: GraphNode, kernel: LoadedKernel, config: LaunchConfig, arguments: KernelArguments
    ) -> None:
        """Give a kernel node new arguments, a new launch or another function. If these don't fit, change nothing.

        With the same kernel, argument block and launch as before, it costs one driver call, like `refresh`. Raise
        DeviceError for a misfit. A kernel that doesn't wait can't replace one that does, since its edges may be
        programmatic.
        """
        name, prepared, _ = self._prepared.get(node) or self._prepare(node)
        before = prepared.kernel
        assert before is not None
        same_launch = config is prepared.config or config == prepared.config
        if same_launch and kernel is before and arguments is prepared.arguments:
            self.refresh((node,))
            return
        own, changed = own_kernel(kernel), NativeLaunch()
        made = self._work(node)
        if isinstance(made, KernelWork) and isinstance(made.kernel, CudaKernel) and made.kernel.waits and not own.waits:
            raise DeviceError(
                f"kernel {own.name} must wait for the kernels before it (griddepcontrol.wait), "
                f"as {made.kernel.name} does"
            )
        if isinstance(made, KernelWork) and made.config.is_cooperative is not config.is_cooperative:
            raise DeviceError(f"launches of a node must all be cooperative or none, got another one of {own.name}")
        launch = changed.set(own, config, arguments)
        with self._images.holding(own.image), self._lock:
            result = driver.cuGraphExecKernelNodeSetParams(self._handle, name, launch)
            check(result, f"changing a kernel node from {before.name} to {own.name}")
        self._keep(node, name, changed)
        self._images.drop(before.image)

    def update_captured(self, node: GraphNode, capture: Capture) -> None:
        """Let a captured node do other work.

        If the library runs other kernels, raise DeviceError and change nothing.
        """
        if self._destroyed or not isinstance(self._work(node), CapturedWork):
            raise DeviceError(f"node {node} must be captured work of a live executable")
        own = own_capture(capture)
        with self._lock, own.lock:
            (name,) = self._native.nodes_of(node)
            result = driver.cuGraphExecChildGraphNodeSetParams(self._handle, name, own.handle)
        check(result, f"changing captured {own.label}")
        self._captures[node] = own

    def update_copy(self, node: GraphNode, source: PinnedArray) -> None:
        """Let a copy node that reads a pinned array read another one, from the next launch on."""
        assert isinstance(source, CudaPinnedArray)
        found = self._copies.get((node, source.address)) or self._prepare_copy(node, source)
        with self._lock:
            result = driver.cuGraphExecMemcpyNodeSetParams(self._handle, *found)
        if result[0]:
            check(result, "updating a copy node")

    def move_fill(self, node: GraphNode, target: Memory) -> None:
        """Let a fill node fill other memory, from the next launch on."""
        work = self._work(node)
        if self._destroyed or not isinstance(work, MemsetWork):
            raise DeviceError(f"node {node} must be a fill of a live executable")
        pieces = fill_parameters(replace(work, target=target))
        self._move(node, driver.cuGraphExecMemsetNodeSetParams, pieces, "giving a fill other memory")

    def move_copy(self, node: GraphNode, target: Memory | PinnedArray, source: Memory | PinnedArray) -> None:
        """Let a copy node use other memory, from the next launch on."""
        work = self._work(node)
        if self._destroyed or not isinstance(work, CopyWork):
            raise DeviceError(f"node {node} must be a copy of a live executable")
        pieces = copy_parameters(replace(work, target=target, source=source))
        self._move(node, driver.cuGraphExecMemcpyNodeSetParams, pieces, "giving a copy other memory")

    def _move(self, node: GraphNode, change: Any, pieces: Iterable[Any], what: str) -> None:
        made, context = [*pieces], check(driver.cuCtxGetCurrent(), "cuCtxGetCurrent")
        with self._lock:
            for name, piece in zip(self._native.nodes_of(node), made, strict=False):  # an empty fill has a node too
                check(change(self._handle, name, piece, context), what)

    def refresh(self, nodes: Collection[GraphNode]) -> None:
        """Let the driver copy the argument blocks of kernel nodes, by one driver call per node."""
        prepared, handle = self._prepared, self._handle
        if len(nodes) >= MANY:
            rows = self._rows
            try:
                chosen = [rows[node] for node in nodes]
            except KeyError:
                for node in nodes:
                    if node not in rows:
                        self._prepare(node)
                chosen = [rows[node] for node in nodes]
            with self._lock:
                update_many(handle, b"".join(chosen))
            return
        with self._lock:
            for node in nodes:
                name, _, native = prepared.get(node) or self._prepare(node)
                result = _set_params(handle, name, native)
                if result[0]:
                    check(result, "updating a kernel node")

    def _follow_exchanges(self) -> None:
        """Give nodes the new functions of kernels that were optimised meanwhile."""
        self._exchanges = self._objects.exchanges
        for index, record in enumerate(self._records):
            if not isinstance(record.work, KernelWork):
                continue
            node = GraphNode(index)
            prepared = self._prepared.get(node)
            kernel = own_kernel(record.work.kernel) if prepared is None else prepared[1].kernel
            if kernel is not None and kernel.is_exchanged:
                _, launch, _ = prepared or self._prepare(node)
                launch.follow_exchange()
                self.refresh((node,))

    def destroy(self) -> None:
        """Release the executable; the driver finishes a running launch first. A second call does nothing."""
        if not self._destroyed:
            self._destroyed = True
            self._objects.release(self._token)
            self._native.shared.drop()
            self._images.clear()
            self._prepared.clear()
            self._rows.clear()
            self._captures.clear()
            self._copies.clear()

    def _work(self, node: GraphNode) -> Work | None:
        return self._records[node].work if 0 <= node < len(self._records) else None

    def _prepare(self, node: GraphNode) -> _Prepared:
        """Prepare a node's launch parameters at its first update, since most nodes are never updated."""
        work = self._work(node)
        if self._destroyed or not isinstance(work, KernelWork):
            raise DeviceError(f"node {node} must be a kernel node of a live executable")
        prepared = NativeLaunch()
        prepared.set(own_kernel(work.kernel), work.config, work.arguments)
        with self._lock:
            (name,) = self._native.nodes_of(node)
        return self._keep(node, name, prepared)

    def _keep(self, node: GraphNode, name: Any, launch: NativeLaunch) -> _Prepared:
        self._prepared[node] = found = name, launch, launch.native
        self._rows[node] = row(name, launch.native)
        return found

    def _prepare_copy(self, node: GraphNode, source: CudaPinnedArray) -> tuple[Any, ...]:
        work = self._work(node)
        if self._destroyed or not isinstance(work, CopyWork) or not isinstance(work.source, CudaPinnedArray):
            raise DeviceError(f"node {node} must be a copy node of a live executable that reads a pinned array")
        with self._lock:
            (name,) = self._native.nodes_of(node)
        (copy,) = copy_parameters(replace(work, source=source))
        context = check(driver.cuCtxGetCurrent(), "cuCtxGetCurrent")
        self._copies[node, source.address] = found = name, copy, context
        return found
