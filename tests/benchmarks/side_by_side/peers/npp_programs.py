"""What NPP does of the contests, by the engine's bindings: its filters as calls in a graph, and a kernel between them.

On the host device, scipy makes the same calls, so the program can be tried without a GPU.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import numpy as np

from tests.benchmarks.bench_blocks import EDGES
from tests.benchmarks.side_by_side.contest import Program
from warploom.engine.device.arguments import pack_arguments
from warploom.engine.device.device import Device
from warploom.engine.device.protocol import LaunchConfig
from warploom.engine.kernel_sources.cuda.nvrtc import compile_cuda
from warploom.engine.libraries.backend import open_libraries
from warploom.engine.libraries.call import BoundCall, OperandMemory
from warploom.engine.libraries.images import Filter
from warploom.engine.types import Array, f32, float4
from warploom.engine.types.layout import Layout

TONE = """
extern "C" __global__ void tone(const float* across, const float* down, float* out, float contrast, float grey, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = fmaxf((hypotf(across[i], down[i]) - grey) * contrast + grey, 0.0f);
}
"""


def photo(device: Device, given: Array, sigma: float, contrast: float, grey: float, opened: ExitStack) -> Program:
    """Blur a picture, search it for edges and tone it."""
    libraries = open_libraries(device)
    opened.callback(libraries.close)
    places = np.arange(-round(4 * sigma), round(4 * sigma) + 1)
    bell = np.exp(-0.5 * (places / sigma) ** 2)
    bell = (bell / bell.sum()).astype(np.float32)
    layout = Layout(float4, given.shape[:2])
    source, blurred, across, down, out = (device.upload(given.astype(np.float32)) for _ in range(5))
    steps = [(source, bell[None], across), (across, bell[:, None], blurred)]
    steps += [(blurred, edge[..., 0], to) for edge, to in zip(EDGES, (across, down), strict=True)]
    graph, workspace, last = device.create_graph(), device.allocate(1), []
    opened.callback(graph.destroy)
    for image, weights, to in steps:
        window = device.upload(np.ascontiguousarray(weights, np.float32))
        operands = {
            "image": OperandMemory(image.memory, layout),
            "weights": OperandMemory(window.memory, Layout(f32, weights.shape)),
            "out": OperandMemory(to.memory, layout),
        }
        opened.callback(window.free)
        call = BoundCall(Filter(), operands, {})
        last = [graph.add_captured(device.capture("filter", libraries.bind([call], workspace)), last)]
    compiled = compile_cuda(TONE, Path("tone.cu"), device.info.architecture, [])
    kernel = device.load_module(compiled.cubin or compiled.ptx).kernel("tone")
    arguments = pack_arguments(kernel.parameters, [across, down, out, contrast, grey, given.size])
    graph.add_kernel(kernel, LaunchConfig((-(-given.size // 256), 1, 1), (256, 1, 1)), arguments, last)
    for buffer in (source, blurred, across, down, out, workspace):
        opened.callback(buffer.free)
    executable, stream = graph.instantiate(), device.create_stream()
    opened.callback(executable.destroy)
    return Program(lambda: executable.launch(stream), stream.synchronize, lambda: out.download()[..., :3])
