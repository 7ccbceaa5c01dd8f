"""Runs kernels of ops on arrays."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from warploom.engine.compiler.frame import Frame
from warploom.engine.device.device import Device
from warploom.engine.device.protocol import BestCode
from warploom.engine.ops import (
    ElementNumber,
    FramePointer,
    GraphNumbers,
    InputPointer,
    LiveParameter,
    OpExtent,
    OpGraph,
    OpKernel,
    OutputPointer,
    compile_graph,
)
from warploom.engine.types import NAMED, dtype_of
from warploom.engine.types.element_numbers import element_number

Arrays = Mapping[str, np.ndarray[Any, Any]]
#: The frame uniforms in tests.
FRAME = np.array((7, 1.5, 0.25, 0), Frame.numpy)


def run(
    device: Device,
    graph: OpGraph | OpKernel,
    inputs: Arrays,
    shape: tuple[int, ...] | int,
    *,
    outputs: Arrays | None = None,
    offset: int = 0,
    thread_blocks: int = 1,
    is_inlined: bool = False,
    **parameters: float,
) -> dict[str, np.ndarray[Any, Any]]:
    """Return the outputs of a graph by name.

    The kernel's code is that which runs first after an edit or, with `is_inlined`, its inlined PTX.

    `shape` is the shape of the domain. An output begins as an array of zeros of that shape, or as the array in
    `outputs`. Every buffer begins `offset` bytes behind an aligned address. An aggregate has one element for each of
    the `thread_blocks`.
    """
    kernel = graph if isinstance(graph, OpKernel) else compile_graph(graph)
    sizes = (shape,) if isinstance(shape, int) else shape
    inlined = kernel.inlined_ptx
    module = device.load_module(inlined()) if is_inlined else device.load_module(kernel.ptx, best=BestCode(inlined))
    held = {name: np.ascontiguousarray(array) for name, array in inputs.items()}
    for port in kernel.outputs:
        empty = np.zeros(thread_blocks if port.is_aggregate else sizes, NAMED[port.dtype].numpy)
        held[port.name] = np.array((outputs or {}).get(port.name, empty))
    element = {port.name: NAMED.get(port.dtype) or dtype_of(held[port.name]) for port in kernel.inputs}
    element |= {port.name: NAMED[port.dtype] for port in kernel.outputs}
    starts = {name: offset if offset % dtype.alignment == 0 else 0 for name, dtype in element.items()}
    held["frame"], starts["frame"] = np.frombuffer(FRAME.tobytes(), np.uint32), 0
    raw = {name: np.frombuffer(bytes(starts[name]) + array.tobytes(), np.uint8) for name, array in held.items()}
    buffers = {name: device.upload(array) for name, array in raw.items()}
    pointers = {name: np.uint64(buffer.pointer + starts[name]) for name, buffer in buffers.items()}
    values = {item.name: np.dtype(NAMED[item.dtype].numpy).type(item.default) for item in kernel.parameters}
    for name, number in parameters.items():
        values[name] = values[name].dtype.type(number)

    def argument(item: object) -> object:
        match item:
            case InputPointer(name, _) | OutputPointer(name, _):
                return pointers[name]
            case LiveParameter(name, _):
                return values[name]
            case ElementNumber(name):
                return np.uint32(element_number(element[name]))
            case GraphNumbers():
                return kernel.numbers
            case FramePointer():
                return pointers["frame"]
            case OpExtent(kind, port):
                dims = held[port].shape[: -1 if element[port].components > 1 else None] if port else sizes
                flipped = (*dims[::-1], 1, 1, 1)
                number = np.prod(dims) if kind == "size" else flipped[("width", "height", "depth").index(kind)]
                return np.int32(number)
        raise AssertionError(item)

    # Axes beyond those that threads count are merged into one.
    counted = sizes if len(sizes) <= kernel.rank else (int(np.prod(sizes)),)
    axes = (*counted[::-1], 1, 1)[:3]
    block = kernel.thread_block or {1: (256, 1, 1), 2: (16, 8, 1), 3: (8, 4, 4)}[kernel.rank]
    per_thread = (kernel.elements_per_thread, 1, 1)
    grid = tuple(-(-n // (b * e)) for n, b, e in zip(axes, block, per_thread, strict=True))
    if any(port.is_aggregate for port in kernel.outputs):
        grid = (thread_blocks,)
    device.launch(
        module.kernel(kernel.entry), grid=grid, thread_block=block, args=[argument(item) for item in kernel.arguments]
    )
    device.synchronize()
    results = {}
    for port in kernel.outputs:
        found = np.array(buffers[port.name].download())[starts[port.name] :]
        results[port.name] = found.view(held[port.name].dtype).reshape(held[port.name].shape)
    for buffer in buffers.values():
        buffer.free()
    return results
