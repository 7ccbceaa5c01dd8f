"""Kernels, and helpers that build graphs with bodies, for the graph tests on every device."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np

from warploom.engine.device.arguments import KernelArguments, pack_arguments
from warploom.engine.device.device import Buffer, Device
from warploom.engine.device.graph import Graph
from warploom.engine.device.protocol import Executable, GraphNode, LaunchConfig
from warploom.engine.kernel_sources.cuda.nvrtc import compile_cuda

SOURCE = """
extern "C" __device__ __cudart_builtin__ void cudaGraphSetConditional(unsigned long long handle, unsigned value);

extern "C" __global__ void add(int* out, int value) { *out += value; }
extern "C" __global__ void multiply(int* out, int value) { *out *= value; }

extern "C" __global__ void mix(unsigned* out, unsigned value) { *out = 31 * *out + value; }

// Appends a digit, so that a number tells the order of things.
extern "C" __global__ void digit(long long* out, int value) { *out = 10 * *out + value; }

extern "C" __global__ void set(unsigned long long condition, int value) { cudaGraphSetConditional(condition, value); }

// Counts up, and goes on while there are fewer than the limit.
extern "C" __global__ void count_to(unsigned long long condition, int* out, int limit)
{
    *out += 1;
    cudaGraphSetConditional(condition, *out < limit);
}

// The same with a counter that starts over once it is there.
extern "C" __global__ void turn(unsigned long long condition, int* counter, int turns)
{
    *counter = *counter + 1 < turns ? *counter + 1 : 0;
    cudaGraphSetConditional(condition, *counter != 0);
}

// Goes on when *value is even.
extern "C" __global__ void if_even(unsigned long long condition, const unsigned* value)
{
    cudaGraphSetConditional(condition, *value % 2 == 0);
}

// Sets the condition to *value modulo a number.
extern "C" __global__ void modulo(unsigned long long condition, const unsigned* value, unsigned number)
{
    cudaGraphSetConditional(condition, *value % number);
}

// Only one thread of many finds what it looks for and says so.
extern "C" __global__ void found(unsigned long long condition, const int* values, int wanted)
{
    if (values[blockIdx.x * blockDim.x + threadIdx.x] == wanted) cudaGraphSetConditional(condition, 1);
}
"""
ONE = LaunchConfig((1, 1, 1), (1, 1, 1))


@cache
def _compiled(source: str, architecture: str) -> bytes | str:
    compiled = compile_cuda(source, Path("graphs.cu"), architecture, [])
    return compiled.cubin or compiled.ptx


class Kernels:
    """The kernels above, loaded on a device, and helpers that add them to graphs."""

    def __init__(self, device: Device, source: str = SOURCE) -> None:
        self.device = device
        self.module = device.load_module(_compiled(source, device.info.architecture))
        self.stream = device.create_stream()

    def arguments(self, name: str, *values: object) -> KernelArguments:
        """Return a kernel's argument block with these values."""
        return pack_arguments(self.module.kernel(name).parameters, values)

    def add(
        self,
        graph: Graph,
        name: str,
        *values: object,
        after: Sequence[GraphNode] = (),
        config: LaunchConfig = ONE,
    ) -> GraphNode:
        """Add a kernel node, with one thread by default."""
        return graph.add_kernel(self.module.kernel(name), config, self.arguments(name, *values), after)

    def update(self, executable: Executable, node: GraphNode, name: str, *values: object) -> None:
        """Give an executable's node another kernel or other arguments."""
        executable.update_kernel(node, self.module.kernel(name), ONE, self.arguments(name, *values))

    def number(self, value: int, dtype: type = np.int32) -> Buffer:
        """Return a buffer of one number."""
        return self.device.upload(np.array([value], dtype))

    def run(self, made: Graph | Executable, *read: Buffer) -> list[int]:
        """Launch a graph once and return the contents of the buffers."""
        executable = made.instantiate() if hasattr(made, "instantiate") else made
        executable.launch(self.stream)
        self.stream.synchronize()
        return [int(buffer.download()[0]) for buffer in read]
