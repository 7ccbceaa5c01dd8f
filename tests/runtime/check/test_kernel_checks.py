"""Warnings about launches that leave a GPU idle, for kernels and a GPU with known limits."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.runtime.conftest import SCALE, Kernels
from warploom import Engine, Patch
from warploom.engine.compiler.executable.nodes import KernelNode
from warploom.engine.device.arguments import pack_arguments
from warploom.engine.device.device import DeviceInfo
from warploom.engine.device.host.device import HostDevice
from warploom.engine.device.host.modules.module import HostKernel
from warploom.engine.device.occupancy import KernelResources, MultiprocessorLimits, occupancy
from warploom.engine.device.protocol import GraphNode, LaunchConfig
from warploom.engine.diagnostics import Severity, Source
from warploom.engine.runtime.check.kernel_checks import launch_advice, launch_warnings

HOPPER = MultiprocessorLimits(2048, 32, 65536, 65536, 228 << 10, 1 << 10, 128)
GPU = DeviceInfo("cuda:0", "GPU", "sm_90", 1 << 30, 132, HOPPER)


def advice(grid: int, threads: int, registers: int = 32, static: int = 0, dynamic: int = 0) -> tuple[str, str] | None:
    """Return the warning for a launch on a GPU of compute capability 9.0 with 132 multiprocessors."""
    config = LaunchConfig((grid, 1, 1), (threads, 1, 1), dynamic)
    return advice_of(KernelResources(registers, static), config)


def advice_of(resources: KernelResources, config: LaunchConfig) -> tuple[str, str] | None:
    """Return the warning for a launch of a kernel with these registers and this shared memory."""
    found = occupancy(resources, HOPPER, config.thread_block, config.shared_bytes)
    return launch_advice("tile", resources, config, HOPPER, 132, found)


def node(name: str, kernel: Any, config: LaunchConfig, *, is_shipped: bool = False) -> KernelNode:
    """Return a kernel node of the graph."""
    typed: Any = SimpleNamespace(kernel=kernel, is_shipped=is_shipped)
    return KernelNode(name, 0, GraphNode(0), typed, config, pack_arguments((), ()), {})


def test_registers_are_named_with_their_remedy() -> None:
    """A kernel of 168 registers gets a warning with the share of threads that can run, and a remedy."""
    told = advice(10_000, 256, registers=168)
    assert told == (
        "kernel tile uses 168 registers a thread: 256 of 2,048 threads of a multiprocessor can run at once (12 %)",
        "keep fewer values at once, or have the compiler use fewer with __launch_bounds__(256, 2); "
        "with thread blocks of 192 threads, 384 would run",
    )


def test_shared_memory_is_named_with_its_size() -> None:
    """The warning counts static and dynamic shared memory together, and says how many threads can run."""
    told = advice(10_000, 128, static=10_000, dynamic=90_000)
    assert told is not None
    assert told[0] == (
        "kernel tile takes 100,000 bytes of shared memory for each thread block of 128: "
        "256 of 2,048 threads of a multiprocessor can run at once (12 %)"
    )
    assert "shared memory" in told[1]


def test_small_thread_blocks_are_named() -> None:
    """Thread blocks of 8 threads get a warning, since a multiprocessor runs at most 32 thread blocks at once."""
    told = advice(1_000_000, 8)
    assert told == (
        "kernel tile has thread blocks of 8 threads, 32 at most at once: "
        "256 of 2,048 threads of a multiprocessor can run at once (12 %)",
        "use thread blocks of at least 64 threads",
    )


def test_a_grid_that_leaves_most_multiprocessors_idle() -> None:
    """A grid of 20 large thread blocks gets a warning, since 112 of 132 multiprocessors have nothing to do."""
    assert advice(20, 1024) == (
        "grid of kernel tile has 20 thread blocks of 1,024 threads: 112 of 132 multiprocessors have nothing to do",
        "use thread blocks of 128 threads",
    )


@pytest.mark.parametrize(
    ("grid", "threads", "registers"),
    [
        (10_000, 256, 128),  # 25 % of the threads run
        (131, 256, 255),  # one thread block fewer than multiprocessors
        (1, 1, 255),  # one thread that prepares something
        (66, 1024, 32),  # half of the multiprocessors work
        (16, 1024, 32),  # too few threads for all multiprocessors
        (65, 256, 32),  # the same, with thread blocks of the usual size
        (10_000, 1024, 128),  # not one thread block fits: the launch itself is refused with a reason
    ],
)
def test_launches_that_get_no_advice(grid: int, threads: int, registers: int) -> None:
    """A launch that runs enough threads, or is too small to gain anything, gets no warning."""
    assert advice(grid, threads, registers=registers) is None


@given(st.integers(1, 10_000), st.integers(1, 256), st.integers(0, 64))
def test_usual_launches_are_quiet(grid: int, threads: int, registers: int) -> None:
    """Thread blocks of up to 256 threads get a warning only where few threads run and many are launched."""
    told = advice(grid, threads, registers=registers)
    found = occupancy(KernelResources(registers, 0), HOPPER, (threads, 1, 1))
    is_low = 4 * found.active_threads < found.max_threads and grid >= 132 * found.thread_blocks
    assert (told is not None) == is_low


@given(st.integers(1, 1024), st.integers(1, 255), st.integers(0, 227 << 10))
def test_the_suggested_thread_block_is_better(threads: int, registers: int, shared: int) -> None:
    """With the suggested thread block, more threads run than now, and as many as the warning says."""
    config = LaunchConfig((1_000_000, 1, 1), (threads, 1, 1), shared)
    resources = KernelResources(registers, 0)
    told = advice_of(resources, config)
    if told is None or "would run" not in told[1]:
        return
    size, promised = told[1].split("with thread blocks of ")[1].removesuffix(" would run").split(" threads, ")
    found = occupancy(resources, HOPPER, (int(size), 1, 1), shared)
    assert found.active_threads == int(promised.replace(",", ""))
    assert found.active_threads > occupancy(resources, HOPPER, (threads, 1, 1), shared).active_threads


def test_each_node_gets_a_warning_once() -> None:
    """A node launches one kernel twice and another node once: each has one warning, and none on the host.

    A kernel that came with Warploom has none either.
    """
    resources = KernelResources(255, 0)
    runs = occupancy(resources, HOPPER, (256, 1, 1))
    kernel = SimpleNamespace(name="tile", resources=resources, occupancy=lambda config: runs)
    config = LaunchConfig((1000, 1, 1), (256, 1, 1))
    nodes = [
        node("a", kernel, config),
        node("a", kernel, config),
        node("b", kernel, LaunchConfig((999, 1, 1), (256, 1, 1))),
    ]
    found = launch_warnings(nodes, GPU)
    assert [(item.node, item.severity) for item in found] == [("a", Severity.WARNING), ("b", Severity.WARNING)]
    assert launch_warnings(nodes, DeviceInfo("host", "CPU", "compute_75", 1 << 30, 2)) == []
    assert launch_warnings([node("a", kernel, replace(config, is_free=True))], GPU) == []
    assert launch_warnings([node("a", kernel, config, is_shipped=True)], GPU) == []
    unknown = SimpleNamespace(name="tile", resources=None)
    assert launch_warnings([node("a", unknown, config)], GPU) == []


class Pretending(HostDevice):
    """A host device with the limits of a GPU of one multiprocessor."""

    def __init__(self) -> None:
        super().__init__(cores=1)
        self.info = replace(self.info, limits=HOPPER, has_own_memory=True)


def test_a_warning_is_on_the_node_and_disappears_with_the_kernel(
    kernels: Kernels, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A warning appears with a built graph or a swapped kernel, stops nothing, and ends with the next good kernel."""
    registers = {"scale": 255}
    monkeypatch.setattr(
        HostKernel, "resources", property(lambda kernel: KernelResources(registers.get(kernel.name, 32), 0))
    )
    monkeypatch.setattr(
        HostKernel,
        "occupancy",
        lambda kernel, config: occupancy(kernel.resources, HOPPER, config.thread_block, config.shared_bytes),
    )
    patch = Patch()
    data = patch.add("io.array", data=np.arange(1024, dtype=np.float32))
    scale = patch.add("test_run.scale")
    patch.connect(data["out"], scale["x"])
    device = Pretending()
    try:
        with Engine(patch, device=device) as engine:
            (problem,) = engine.step().diagnostics
            assert (problem.node, problem.severity, problem.source) == (scale.id, Severity.WARNING, Source.OCCUPANCY)
            assert problem.message.startswith("kernel scale uses 255 registers a thread")
            assert engine.read(scale["out"])[5] == 10
            registers["scale"] = 32
            engine.post(kernels.write("scale.cu", SCALE.replace("factor;", "factor + 1;")))
            assert not engine.step().diagnostics
            assert engine.read(scale["out"])[5] == 11
    finally:
        device.close()
