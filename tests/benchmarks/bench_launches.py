"""Ways to launch an element-wise kernel and a reduction: `python -m tests.benchmarks.bench_launches [--device cuda:0]`.

The kernel is the chain of bench_fusion, in CUDA C++. The figures are in design/kernel_launches.md.
"""

import argparse
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import numpy as np

from tests.benchmarks.bench_fusion import LENGTH, milliseconds, texts
from warploom import open_device
from warploom.blocks.reduce.shares import reduction
from warploom.engine.device.device import Device
from warploom.engine.device.occupancy import occupancy
from warploom.engine.kernel_sources.cuda.nvrtc import compile_cuda
from warploom.engine.kernel_sources.loader import load_image
from warploom.engine.types import f32
from warploom.engine.types.element_numbers import element_number

COUNT, BATCH = 1 << 26, 10
THREADS = (128, 256, 512)
PARTS = (132, 256, 512, 1024, 2048, 4096)

_CODE = """
__device__ float chain(float x, float y) {{ {steps} return x; }}
__device__ float4 chain(float4 x, float4 y) {{
    return make_float4(chain(x.x, y.x), chain(x.y, y.y), chain(x.z, y.z), chain(x.w, y.w));
}}
template <typename T> __device__ void once(const T* x, const T* y, T* out, int count) {{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = chain(x[i], y[i]);
}}
template <typename T> __device__ void loop(const T* x, const T* y, T* out, int count) {{
    const int step = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) out[i] = chain(x[i], y[i]);
}}
#define KERNEL(name, how, T) \\
    extern "C" __global__ void name(const T* x, const T* y, T* out, int count) {{ how(x, y, out, count); }}
KERNEL(once1, once, float) KERNEL(once4, once, float4) KERNEL(loop1, loop, float) KERNEL(loop4, loop, float4)
"""


def chain_launches(device: Device) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield launches of the chain, by elements per thread, thread block, and whether the grid is limited to the thread
    blocks that run at once.
    """
    steps = " ".join(f"x = {text.replace('1.001', '1.001f').replace('-3.0', '-3.0f')};" for text in texts(LENGTH))
    image = compile_cuda(_CODE.format(steps=steps), Path("chain.cu"), device.info.architecture, [])
    module = device.load_module(image.cubin or image.ptx)
    x, y = (device.upload(np.random.default_rng(5).uniform(0.5, 1.5, COUNT).astype(np.float32)) for _ in range(2))
    out = device.allocate(4 * COUNT)
    for elements in (1, 4):
        for threads in THREADS:
            for name, said in (("once", "one pass"), ("loop", "grid-stride")):
                kernel, count = module.kernel(f"{name}{elements}"), COUNT // elements
                blocks = -(-count // threads)
                if name == "loop" and kernel.resources is not None and device.info.limits is not None:
                    held = occupancy(kernel.resources, device.info.limits, (threads, 1, 1)).thread_blocks
                    blocks = held * device.info.cores

                def launch(kernel=kernel, blocks=blocks, threads=threads, count=count) -> None:  # type: ignore[no-untyped-def]
                    arguments = [x, y, out, np.int32(count)]
                    device.launch(kernel, grid=(blocks,), thread_block=(threads,), args=arguments)

                yield f"{elements} a thread, {threads} threads, {said}", launch


def sum_launches(device: Device) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield launches of the first kernel of Sum, by the number of thread blocks that share the elements."""
    source = reduction("add", "x", "number", "parts", "f64")
    kernel = device.load_module(load_image(source, device.info.architecture).ptx).kernel("kernel")
    x = device.upload(np.ones(COUNT, np.float32))
    parts = device.allocate(8 * max(PARTS))
    for blocks in PARTS:

        def launch(blocks=blocks) -> None:  # type: ignore[no-untyped-def]
            arguments = [x, parts, np.uint32(element_number(f32)), np.int32(COUNT)]
            device.launch(kernel, grid=(blocks,), thread_block=(256,), args=arguments)

        yield f"sum, {blocks} thread blocks", launch


def main() -> None:
    """Print the time of each launch, and the bandwidth of its traffic."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda:0")
    with closing(open_device(parser.parse_args().device)) as device:
        print(f"device: {device.info.title}, {COUNT:,} f32")
        for launches, traffic in ((chain_launches, 12), (sum_launches, 4)):
            for name, launch in launches(device):
                taken = milliseconds(launch, device.synchronize, BATCH)
                print(f"  {name:44}{taken:8.4f} ms {traffic * COUNT / taken * 1e-9:7.2f} TB/s")


if __name__ == "__main__":
    main()
