"""The driver's nodes for fills, copies, events, captured work, child graphs and conditional nodes."""

from collections.abc import Iterator
from typing import Any

from cuda.bindings import driver

from warploom.engine.device.cuda.errors import check
from warploom.engine.device.cuda.graph.capture import own_capture
from warploom.engine.device.cuda.memory import CudaPinnedArray, copy_address
from warploom.engine.device.nodes import CapturedWork, ConditionalWork, CopyWork, MemsetWork
from warploom.engine.device.protocol import ConditionalKind, Memory, PinnedArray
from warploom.engine.diagnostics import DeviceError

# A row of a driver copy must be shorter than 2 GiB, so longer fills and copies become several parallel nodes.
PIECE_BYTES = 1 << 30

_KINDS = {
    ConditionalKind.IF: driver.CUgraphConditionalNodeType.CU_GRAPH_COND_TYPE_IF,
    ConditionalKind.IF_ELSE: driver.CUgraphConditionalNodeType.CU_GRAPH_COND_TYPE_IF,
    ConditionalKind.WHILE: driver.CUgraphConditionalNodeType.CU_GRAPH_COND_TYPE_WHILE,
    ConditionalKind.SWITCH: driver.CUgraphConditionalNodeType.CU_GRAPH_COND_TYPE_SWITCH,
}

#: A node behind such an edge starts when all thread blocks of the kernel before it have started, and then waits.
_PROGRAMMATIC = driver.CUgraphEdgeData()
_PROGRAMMATIC.type = int(driver.CUgraphDependencyType.CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC)
_PROGRAMMATIC.from_port = 2  # CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER


def change_edges(
    graph: Any, before: list[Any], after: list[Any], *, is_programmatic: bool, remove: bool = False
) -> None:
    """Add or remove dependencies between nodes, one pair at each index of both lists."""
    change = driver.cuGraphRemoveDependencies if remove else driver.cuGraphAddDependencies
    kind = [_PROGRAMMATIC] * len(before) if is_programmatic else None
    check(change(graph, before, after, kind, len(before)), "changing what a node of a graph waits for")


def set_cooperative(node: Any, *, is_cooperative: bool) -> None:
    """Set whether all thread blocks of a kernel node run at once, so that they can wait for each other."""
    value = driver.CUkernelNodeAttrValue()
    value.cooperative = int(is_cooperative)
    which = driver.CUkernelNodeAttrID.CU_LAUNCH_ATTRIBUTE_COOPERATIVE
    check(
        driver.cuGraphKernelNodeSetAttribute(node, which, value), "setting that thread blocks of a kernel run at once"
    )


def fill_parameters(work: MemsetWork) -> Iterator[Any]:
    """Yield the driver's parameters for each piece of a fill. Raise DeviceError when the memory is too small."""
    if not 0 <= work.size_bytes <= work.target.size_bytes:
        raise DeviceError(f"fill must be from 0 to {work.target.size_bytes} bytes, got {work.size_bytes}")
    for offset, length in _pieces(work.size_bytes):
        fill = driver.CUDA_MEMSET_NODE_PARAMS()
        fill.dst, fill.value, fill.elementSize = work.target.pointer + offset, work.value, work.width
        fill.width, fill.height, fill.pitch = length // work.width, 1, length
        yield fill


def add_memset(graph: Any, context: Any, work: MemsetWork, before: list[Any]) -> list[Any]:
    """Add nodes that fill memory. Raise DeviceError when the memory is too small."""
    handles = []
    for fill in fill_parameters(work):
        result = driver.cuGraphAddMemsetNode(graph, before, len(before), fill, context)
        handles.append(check(result, f"adding a fill of {work.size_bytes} bytes to a graph"))
    return handles or [_add_empty(graph, before)]


def copy_parameters(work: CopyWork) -> Iterator[Any]:
    """Yield the driver's parameters for each piece of a copy. Raise DeviceError when either end is too small."""
    target_type, source_type = _memory_type(work.target), _memory_type(work.source)
    target_address = copy_address(work.target, work.size_bytes, "copy target")
    source_address = copy_address(work.source, work.size_bytes, "copy source")
    for offset, length in _pieces(work.size_bytes):
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
        yield copy


def add_copy(graph: Any, context: Any, work: CopyWork, before: list[Any]) -> list[Any]:
    """Add nodes that copy between device memory and pinned arrays. Raise DeviceError if either end is too small."""
    handles = []
    for copy in copy_parameters(work):
        result = driver.cuGraphAddMemcpyNode(graph, before, len(before), copy, context)
        handles.append(check(result, f"adding a copy of {work.size_bytes} bytes to a graph"))
    return handles or [_add_empty(graph, before)]


def add_child(graph: Any, before: list[Any]) -> tuple[Any, Any]:
    """Add a child graph node. Return it with its graph, which is empty.

    The driver copies a given graph, and does not return the nodes of the copy. Nodes that are added to the copy later
    have handles, with which they can be updated in an executable.
    """
    empty = check(driver.cuGraphCreate(0), "cuGraphCreate")
    try:
        node = check(driver.cuGraphAddChildGraphNode(graph, before, len(before), empty), "adding a child graph")
    finally:
        check(driver.cuGraphDestroy(empty), "cuGraphDestroy")
    return node, check(driver.cuGraphChildGraphNodeGetGraph(node), "cuGraphChildGraphNodeGetGraph")


def add_captured(graph: Any, work: CapturedWork, before: list[Any]) -> Any:
    """Add a copy of a captured graph as a child graph."""
    capture = own_capture(work.capture)
    with capture.lock:
        result = driver.cuGraphAddChildGraphNode(graph, before, len(before), capture.handle)
    return check(result, f"adding {capture.label} to a graph")


def create_condition(graph: Any, context: Any, default: int) -> int:
    """Create a condition that every launch sets to `default`. Return its handle."""
    flags = driver.CU_GRAPH_COND_ASSIGN_DEFAULT
    return int(check(driver.cuGraphConditionalHandleCreate(graph, context, default, flags), "making a condition"))


def add_conditional(graph: Any, context: Any, work: ConditionalWork, before: list[Any]) -> tuple[Any, list[Any]]:
    """Add a conditional node. Return it with its bodies, which belong to the driver."""
    parameters: Any = driver.CUgraphNodeParams()
    parameters.type = driver.CUgraphNodeType.CU_GRAPH_NODE_TYPE_CONDITIONAL
    parameters.conditional.handle = driver.CUgraphConditionalHandle(work.condition)
    parameters.conditional.type = _KINDS[work.kind]
    parameters.conditional.size = len(work.bodies)
    parameters.conditional.ctx = context
    result = driver.cuGraphAddNode(graph, before, None, len(before), parameters)
    node = check(result, f"adding a conditional {work.kind.value} to a graph")
    # The bodies in the parameters are views of the driver's own array.
    return node, [driver.CUgraph(int(body)) for body in parameters.conditional.phGraph_out]


def _add_empty(graph: Any, before: list[Any]) -> Any:
    return check(driver.cuGraphAddEmptyNode(graph, before, len(before)), "adding an empty node to a graph")


def _pieces(size_bytes: int) -> Iterator[tuple[int, int]]:
    for offset in range(0, size_bytes, PIECE_BYTES):
        yield offset, min(PIECE_BYTES, size_bytes - offset)


def _memory_type(end: Memory | PinnedArray) -> Any:
    types = driver.CUmemorytype
    return types.CU_MEMORYTYPE_HOST if isinstance(end, CudaPinnedArray) else types.CU_MEMORYTYPE_DEVICE
