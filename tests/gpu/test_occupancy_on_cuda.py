"""The driver's occupancy, warnings about launches that leave the GPU idle, and launches that follow a count."""

import re
from pathlib import Path

import numpy as np
import pytest

from tests.compiler.executable.test_launches import Visit
from warploom import Engine, Patch
from warploom.api import Block, BlockBuilder, In, Kernel, Out, f32, port
from warploom.engine.device.device import Device
from warploom.engine.device.occupancy import occupancy
from warploom.engine.device.protocol import LaunchConfig
from warploom.engine.kernel_sources.cuda.nvrtc import compile_cuda

pytestmark = pytest.mark.gpu

# Each thread has 200 live values, of which the compiler may keep a limited number in registers.
HEAVY = """
extern "C" __global__ void __launch_bounds__(%(bounds)d) %(limit)s heavy(const float* x, float* out, int n)
{
    %(shared)s
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float values[200];
    #pragma unroll
    for (int k = 0; k < 200; ++k) values[k] = x[(i * 7 + k * 31) %% n];
    #pragma unroll 1
    for (int round = 0; round < n; ++round) {
        #pragma unroll
        for (int k = 0; k < 200; ++k) values[k] = values[k] * values[(k + 77) %% 200] + 0.5f;
    }
    float sum = 0;
    #pragma unroll
    for (int k = 0; k < 200; ++k) sum += values[k];
    %(use)s
    if (i < n) out[i] = sum;
}
"""


def heavy(registers: int, shared_bytes: int, bounds: int = 1024) -> str:
    """Return a kernel with about `registers` registers per thread, and some bytes of static shared memory."""
    return HEAVY % {
        "bounds": bounds,
        "limit": f"__maxnreg__({registers})" if bounds == 1024 else "",
        "shared": f"__shared__ char scratch[{shared_bytes}];" if shared_bytes else "",
        "use": f"scratch[threadIdx.x % {shared_bytes}] = sum; __syncthreads(); sum += scratch[0];"
        if shared_bytes
        else "",
    }


@pytest.mark.parametrize("shared_bytes", [0, 100, 1024, 10_000, 48 << 10])
@pytest.mark.parametrize("registers", [24, 32, 40, 56, 64, 72, 96, 128, 168, 255])
def test_occupancy_is_what_the_driver_says(cuda: Device, registers: int, shared_bytes: int) -> None:
    """Computed occupancy is that of `cuOccupancyMaxActiveBlocksPerMultiprocessor` for every size and dynamic memory."""
    from cuda.bindings import driver

    source = heavy(registers, shared_bytes).replace("__launch_bounds__(1024) ", "")
    image = compile_cuda(source, Path("heavy.cu"), cuda.info.architecture, [])
    kernel = cuda.load_module(image.cubin).kernel("heavy")  # type: ignore[arg-type]  # a CUBIN for this architecture
    limits = cuda.info.limits
    assert kernel.resources is not None and limits is not None
    assert kernel.resources.static_shared_bytes == shared_bytes
    assert kernel.resources.registers <= registers
    seen = set()
    for threads in (1, 31, 32, 33, 64, 96, 128, 160, 256, 384, 500, 512, 768, 1000, 1024):
        for dynamic in (0, 1, 1000, 16 << 10, 48 << 10, 100_000, 170_000):
            if threads > kernel.max_threads or shared_bytes + dynamic > 227 << 10:
                continue
            kernel.allow_shared(dynamic)  # type: ignore[attr-defined]  # only CUDA kernels have this method
            code, blocks = driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(kernel.handle, threads, dynamic)  # type: ignore[attr-defined]
            assert code == driver.CUresult.CUDA_SUCCESS
            found = occupancy(kernel.resources, limits, (threads, 1, 1), dynamic)
            assert found.thread_blocks == blocks, (kernel.resources, threads, dynamic)
            assert kernel.occupancy(LaunchConfig((1, 1, 1), (threads, 1, 1), dynamic)) == found
            seen.add(blocks)
    assert len(seen) > 3


def test_a_kernel_with_many_registers_gets_a_warning(tmp_path: Path) -> None:
    """A node whose kernel uses many registers gets a warning that states their number."""
    (tmp_path / "heavy.cu").write_text(heavy(255, 0, bounds=256))

    class Heavy(Block, id="test_gpu.heavy"):
        """A block whose kernel uses many registers."""

        x: In[f32] = port(doc="Numbers.")
        out: Out[f32] = port(shape="same(x)", doc="Numbers.")

        def describe(self, build: BlockBuilder) -> None:
            kernel = Kernel(str(tmp_path / "heavy.cu"), "heavy")
            build.launch(kernel, num_threads=1_000_000, args=(self.x, self.out, self.x.size))

    patch = Patch()
    node = patch.add("test_gpu.heavy")
    patch.connect(patch.add("io.array", data=np.zeros(100, np.float32))["out"], node["x"])
    with Engine(patch, device="cuda:0") as engine:
        (problem,) = engine.step().diagnostics
    assert problem.node == node.id
    told = re.fullmatch(
        r"kernel heavy uses (\d+) registers a thread: (\d+) of ([\d,]+) threads of a multiprocessor can run at once "
        r"\((\d+) %\)",
        problem.message,
    )
    assert told and 168 < int(told[1]) <= 255 and told[2] == "256"


@pytest.mark.parametrize("capacity", [1, 1000, 3_000_000])
def test_a_launch_follows_its_count(cuda: Device, capacity: int) -> None:
    """A launch visits each element below its count once, with as many thread blocks as the GPU can run at once."""
    assert cuda.info.limits is not None
    for count in (0, 1, capacity // 3, capacity, 2**32 - 1):
        patch = Patch()
        node = patch.add(Visit.id, capacity=capacity)
        patch.connect(patch.add("io.array", data=np.array([count], np.uint32))["out"], node["count"])
        with Engine(patch, device="cuda:0") as engine:
            assert not engine.step().diagnostics
            visits, blocks = engine.read(node["visits"]), int(engine.read(node["blocks"])[0])
        wanted = min(count, capacity)
        assert visits.sum() == wanted == visits[:wanted].sum()
        assert visits.max(initial=0) == min(wanted, 1)
        assert blocks == min(-(-capacity // 256), cuda.info.cores * cuda.info.limits.threads // 256)
