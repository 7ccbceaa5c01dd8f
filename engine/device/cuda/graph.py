"""Graphs under construction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from cuda.bindings import driver

from engine.device.arguments import KernelArguments
from engine.device.cuda.errors import check
from engine.device.cuda.executable import CudaExecutable, KernelLaunch
from engine.device.cuda.launch import KernelNodeParameters
from engine.device.cuda.memory import CudaPinnedArray
from engine.device.cuda.module import own_kernel
from engine.device.cuda.ownership import Resources, Shared
from engine.device.cuda.stream import own_event
from engine.device.protocol import Event, Kernel, LaunchConfig, Memory, Node, PinnedArray
from engine.diagnostics import DeviceError

# A row of a driver copy must be shorter than 2 GiB, so longer fills and copies become several nodes side by side.
_PIECE_BYTES = 1 << 30


class CudaGraph:
    """A CUDA graph; each of our nodes stands for one or more of the driver's."""

    def __init__(self, resources: Resources, context: Any) -> None:
        self._resources = resources
        self._context = context
        handle = check(driver.cuGraphCreate(0), "cuGraphCreate")
        self._handle = handle
        self._shared = Shared(resources, lambda: check(driver.cuGraphDestroy(handle), "cuGraphDestroy"))
        self._nodes: list[list[Any]] = []
        self._launches: dict[Node, KernelLaunch] = {}
        self._destroyed = False

    def add_kernel(
        self, kernel: Kernel, config: LaunchConfig, arguments: KernelArguments, after: Sequence[Node]
    ) -> Node:
        """Add a kernel launch; DeviceError when the launch or the arguments do not fit the kernel."""
        own = own_kernel(kernel)
        before = self._before(after)
        native = KernelNodeParameters(own, config, arguments).native
        result = driver.cuGraphAddKernelNode(self._handle, before, len(before), native)
        handle = check(result, f"adding kernel {own.name} to a graph")
        own.image.hold()
        node = self._add([handle])
        self._launches[node] = KernelLaunch(handle, own, config, arguments)
        return node

    def add_memset(self, target: Memory, value: int, size_bytes: int, after: Sequence[Node]) -> Node:
        """Add a fill of the first `size_bytes` of `target`; DeviceError when they are more than it has."""
        if not 0 <= value <= 255:
            raise DeviceError(f"fill value must be from 0 to 255, got {value}")
        _check_size("fill", size_bytes, target.size_bytes)
        before = self._before(after)
        handles = []
        for offset, length in _pieces(size_bytes):
            fill = driver.CUDA_MEMSET_NODE_PARAMS()
            fill.dst, fill.value, fill.elementSize = target.pointer + offset, value, 1
            fill.width, fill.height, fill.pitch = length, 1, length
            result = driver.cuGraphAddMemsetNode(self._handle, before, len(before), fill, self._context)
            handles.append(check(result, f"adding a fill of {size_bytes} bytes to a graph"))
        return self._add(handles or [self._empty(before)])

    def add_copy(
        self, target: Memory | PinnedArray, source: Memory | PinnedArray, size_bytes: int, after: Sequence[Node]
    ) -> Node:
        """Add a copy between device memory and pinned arrays; DeviceError when either end is too small."""
        target_type, target_address, target_size = _place(target)
        source_type, source_address, source_size = _place(source)
        _check_size("copy", size_bytes, min(target_size, source_size))
        before = self._before(after)
        handles = []
        for offset, length in _pieces(size_bytes):
            copy = driver.CUDA_MEMCPY3D()
            copy.srcMemoryType, copy.dstMemoryType = source_type, target_type
            if source_type == driver.CUmemorytype.CU_MEMORYTYPE_HOST:
                copy.srcHost = source_address + offset
            else:
                copy.srcDevice = source_address + offset
            if target_type == driver.CUmemorytype.CU_MEMORYTYPE_HOST:
                copy.dstHost = target_address + offset
            else:
                copy.dstDevice = target_address + offset
            copy.srcPitch = copy.dstPitch = copy.WidthInBytes = length
            copy.srcHeight = copy.dstHeight = copy.Height = copy.Depth = 1
            result = driver.cuGraphAddMemcpyNode(self._handle, before, len(before), copy, self._context)
            handles.append(check(result, f"adding a copy of {size_bytes} bytes to a graph"))
        return self._add(handles or [self._empty(before)])

    def add_event_record(self, event: Event, after: Sequence[Node]) -> Node:
        """Add the recording of an event, which each launch of the graph does anew."""
        before = self._before(after)
        result = driver.cuGraphAddEventRecordNode(self._handle, before, len(before), own_event(event).handle)
        return self._add([check(result, "adding an event to a graph")])

    def instantiate(self) -> CudaExecutable:
        """Make an executable; it keeps the graph and its kernels as long as it needs them."""
        self._check_alive()
        handle = check(driver.cuGraphInstantiate(self._handle, 0), "instantiating a graph")
        return CudaExecutable(self._resources, handle, self._shared, self._launches)

    def destroy(self) -> None:
        """Let go of the graph; executables made from it stay valid. A second call does nothing."""
        if not self._destroyed:
            self._destroyed = True
            self._shared.drop()
            for launch in self._launches.values():
                launch.kernel.image.drop()

    def _before(self, after: Sequence[Node]) -> list[Any]:
        """Return the driver's nodes to wait for; it allows none to be named twice."""
        self._check_alive()
        for node in after:
            if not 0 <= node < len(self._nodes):
                raise DeviceError(f"node to wait for must be one of this graph's {len(self._nodes)}, got {node}")
        return [handle for node in dict.fromkeys(after) for handle in self._nodes[node]]

    def _empty(self, before: list[Any]) -> Any:
        return check(driver.cuGraphAddEmptyNode(self._handle, before, len(before)), "adding an empty node to a graph")

    def _add(self, handles: list[Any]) -> Node:
        self._nodes.append(handles)
        return Node(len(self._nodes) - 1)

    def _check_alive(self) -> None:
        if self._destroyed:
            raise DeviceError("graph must be used before it is destroyed")


def _pieces(size_bytes: int) -> Iterator[tuple[int, int]]:
    for offset in range(0, size_bytes, _PIECE_BYTES):
        yield offset, min(_PIECE_BYTES, size_bytes - offset)


def _place(end: Memory | PinnedArray) -> tuple[Any, int, int]:
    """Return the memory type, address and size in bytes of one end of a copy."""
    if isinstance(end, CudaPinnedArray):
        return driver.CUmemorytype.CU_MEMORYTYPE_HOST, end.address, end.array.nbytes
    pointer, size = getattr(end, "pointer", None), getattr(end, "size_bytes", None)
    if pointer is None or size is None:
        raise DeviceError(f"copy must be between device memory and pinned arrays, got {type(end).__name__}")
    return driver.CUmemorytype.CU_MEMORYTYPE_DEVICE, pointer, size


def _check_size(what: str, size_bytes: int, available: int) -> None:
    # Past its end lies other memory, or none: writing there changes another buffer or faults the GPU.
    if not 0 <= size_bytes <= available:
        raise DeviceError(f"{what} must be from 0 to {available} bytes, got {size_bytes}")
