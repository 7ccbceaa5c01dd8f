"""Running a kernel of ops on arrays."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from engine.compiler.frame import Frame
from engine.device.device import Device
from engine.ops import (
    Extent,
    FramePointer,
    InputPointer,
    LiveParameter,
    OpGraph,
    OpKernel,
    OutputPointer,
    compile_graph,
)
from engine.types import NAMED

Arrays = Mapping[str, np.ndarray[Any, Any]]
#: What the frame's uniforms are in tests.
FRAME = np.array((7, 1.5, 0.25, 0), Frame.numpy)


def run(
    device: Device,
    graph: OpGraph | OpKernel,
    inputs: Arrays,
    shape: tuple[int, ...] | int,
    *,
    outputs: Arrays | None = None,
    thread_block: tuple[int, ...] = (),
    **parameters: float,
) -> dict[str, np.ndarray[Any, Any]]:
    """Return the outputs of a graph by name.

    `shape` is that of what is computed; an output is an array of zeros of that shape, or else what `outputs` has.
    """
    kernel = graph if isinstance(graph, OpKernel) else compile_graph(graph)
    sizes = (shape,) if isinstance(shape, int) else shape
    module = device.load_module(kernel.ptx)
    held = {name: np.ascontiguousarray(array) for name, array in inputs.items()}
    for port in kernel.outputs:
        dtype = NAMED[port.dtype].numpy
        held[port.name] = np.array((outputs or {}).get(port.name, np.zeros(sizes, dtype)))
    buffers = {name: device.upload(array) for name, array in held.items()}
    buffers["frame"] = device.upload(np.frombuffer(FRAME.tobytes(), np.uint32))
    values = {item.name: np.dtype(NAMED[item.dtype].numpy).type(item.default) for item in kernel.parameters}
    for name, number in parameters.items():
        values[name] = values[name].dtype.type(number)
    vectors = {port.name: NAMED[port.dtype].components > 1 for port in (*kernel.inputs, *kernel.outputs)}

    def argument(item: object) -> object:
        match item:
            case InputPointer(name, _) | OutputPointer(name, _):
                return buffers[name]
            case LiveParameter(name, _):
                return values[name]
            case FramePointer():
                return buffers["frame"]
            case Extent(kind, port):
                dims = held[port].shape[: -1 if vectors[port] else None] if port else sizes
                flipped = (*dims[::-1], 1, 1, 1)
                number = np.prod(dims) if kind == "size" else flipped[("width", "height", "depth").index(kind)]
                return np.int32(number)
        raise AssertionError(item)

    # In one dimension more, the leading axes of an array count as one.
    flat = sizes if len(sizes) <= kernel.rank else (*sizes[:0], int(np.prod(sizes)))
    axes = [int(n) for n in flat[::-1]] + [1, 1, 1]
    block = kernel.thread_block or (*thread_block, 1, 1)[:3] if thread_block or kernel.thread_block else None
    block = block or {1: (256, 1, 1), 2: (16, 8, 1), 3: (8, 4, 4)}[kernel.rank]
    per_thread = (kernel.elements_per_thread, 1, 1)
    grid = tuple(-(-n // (b * e)) for n, b, e in zip(axes[:3], block, per_thread, strict=True))
    device.launch(
        module.kernel(kernel.entry), grid=grid, thread_block=block, args=[argument(item) for item in kernel.arguments]
    )
    device.synchronize()
    results = {port.name: np.array(buffers[port.name].download()) for port in kernel.outputs}
    for buffer in buffers.values():
        buffer.free()
    return results
