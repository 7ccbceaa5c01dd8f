"""Launches that suit the device: those that follow a count on the device, and those over elements."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from warploom import Engine, Patch
from warploom.api import Block, BlockBuilder, In, Kernel, Out, param, port, u32
from warploom.engine.blocktypes.describing import describe
from warploom.engine.compiler.checking.launches import BLOCKS_PER_CORE, counted_launch, free
from warploom.engine.device.device import DeviceInfo
from warploom.engine.device.host.device import HostDevice
from warploom.engine.device.launches import GRID_LIMITS, free_launch
from warploom.engine.device.occupancy import KernelResources, MultiprocessorLimits, occupancy
from warploom.engine.device.protocol import LaunchConfig
from warploom.engine.protocol.messages import KernelFilesChanged, NodeState

SOURCE = Path(__file__).with_name("counted.cu")
HOPPER = MultiprocessorLimits(2048, 32, 65536, 65536, 228 << 10, 1 << 10, 128)
GPU = DeviceInfo("cuda:0", "GPU", "sm_90", 1 << 30, 132, HOPPER)
HOST = DeviceInfo("host", "CPU", "compute_75", 1 << 30, 2)


class Visit(Block, id="test_counted.visit"):
    """Counts how often each element is visited, and the thread blocks."""

    count: In[u32] = port(optional=True, doc="How many elements.")
    visits: Out[u32] = port(shape="[capacity]", doc="Visits.")
    blocks: Out[u32] = port(shape="[1]", doc="Thread blocks that ran.")
    capacity: int = param(1000, min=1, structural=True, doc="Most elements.")
    threads: int = param(256, min=1, structural=True, doc="Threads of a thread block.")
    file: str = param(str(SOURCE), doc="Kernel file.")
    entry: str = param("visit", doc="Kernel.")

    def describe(self, build: BlockBuilder) -> None:
        build.fill(self.visits)
        build.fill(self.blocks)
        kernel = Kernel(self.file, self.entry)
        args = (self.count, self.visits, self.blocks, self.visits.size)
        build.launch(kernel, num_threads=self.visits.size, thread_block=self.threads, args=args, count=self.count)


def visit(capacity: int, count: int | None, cores: int = 2, **values: Any) -> tuple[np.ndarray[Any, Any], int]:
    """Return the visits of each element and the number of thread blocks in one frame."""
    patch = Patch()
    node = patch.add("test_counted.visit", capacity=capacity, **values)
    if count is not None:
        data = np.array([count], np.uint32)
        patch.connect(patch.add("io.array", data=data)["out"], node["count"])
    device = HostDevice(cores=cores)
    try:
        with Engine(patch, device=device) as engine:
            assert not engine.step().diagnostics
            return engine.read(node["visits"]), int(engine.read(node["blocks"])[0])
    finally:
        device.close()


@pytest.mark.parametrize(("capacity", "threads"), [(1, 256), (255, 256), (256, 256), (4097, 256), (9001, 32), (7, 1)])
@pytest.mark.parametrize("entry", ["visit", "visit_by_call"])
def test_each_element_below_the_count_is_visited_once(capacity: int, threads: int, entry: str) -> None:
    """Whether the count is zero, one, the capacity or more, the elements below it are visited once, and no others."""
    for count in (0, 1, capacity // 2, capacity - 1, capacity, capacity + 1, 2**32 - 1):
        visits, _ = visit(capacity, count, threads=threads, entry=entry)
        assert visits.tolist() == [1] * min(count, capacity) + [0] * max(capacity - count, 0)


@pytest.mark.parametrize("cores", [1, 2, 3])
def test_the_grid_is_what_runs_at_once(cores: int) -> None:
    """A counted launch uses a few thread blocks for each core, and no more than cover the capacity."""
    visits, blocks = visit(100_000, 70_000, cores=cores)
    assert blocks == cores * BLOCKS_PER_CORE
    assert visits.sum() == 70_000 == visits[:70_000].sum()
    assert visit(300, 300, cores=cores)[1] == 2


def test_without_a_count_everything_is_visited() -> None:
    """Without a count, the grid covers the capacity and each element is visited."""
    visits, blocks = visit(10_000, None)
    assert visits.tolist() == [1] * 10_000
    assert blocks == 40


def test_a_count_from_the_device_is_followed_in_a_loop() -> None:
    """A loop's index may be the count: the last of five iterations visits four elements."""
    patch = Patch()
    loop = patch.add("control.for", count=5)
    node = patch.add("test_counted.visit", region=loop, capacity=9000)
    patch.connect(loop["index"], node["count"])
    with Engine(patch, device="host") as engine:
        assert not engine.step().diagnostics
        assert engine.read(node["visits"]).tolist() == [1] * 4 + [0] * 8996


def test_a_kernel_that_does_not_loop_is_refused() -> None:
    """A kernel without a loop over its grid is an error at the count; another kernel corrects it."""
    patch = Patch()
    data = patch.add("io.array", data=np.array([9], np.uint32))
    node = patch.add("test_counted.visit", entry="visit_once")
    patch.connect(data["out"], node["count"])
    with Engine(patch, device="host") as engine:
        report = engine.step()
        (problem,) = report.diagnostics
        assert (problem.node, problem.port) == (node.id, "count")
        assert problem.message.startswith("kernel visit_once must loop over its grid to follow count")
        assert report.nodes[node.id].state is NodeState.ERROR
        patch.set(node, entry="visit")
        assert not engine.step().diagnostics
        assert engine.read(node["visits"]).sum() == 9


def test_a_saved_kernel_must_loop_too(tmp_path: Path) -> None:
    """After a save that drops the kernel's loop, the last good kernel runs on, until a good one is saved."""
    path = tmp_path / "counted.cu"
    good = SOURCE.read_text()
    path.write_text(good)
    patch = Patch()
    data = patch.add("io.array", data=np.array([8000], np.uint32))
    node = patch.add("test_counted.visit", file=str(path), capacity=9000)
    patch.connect(data["out"], node["count"])
    changed = KernelFilesChanged(frozenset({path.resolve()}))
    with Engine(patch, device="host") as engine:
        assert not engine.step().diagnostics
        path.write_text(good.replace("void visit(", "void renamed(").replace("void visit_once(", "void visit("))
        engine.post(changed)
        problems = [engine.step().diagnostics for _ in range(3)][-1]
        assert ["must loop over its grid" in problem.message for problem in problems] == [True]
        assert engine.read(node["visits"]).sum() == 8000
        path.write_text(good)
        engine.post(changed)
        problems = [engine.step().diagnostics for _ in range(3)][-1]
        assert not problems
        assert engine.read(node["visits"]).sum() == 8000


@given(st.integers(1, 2**31 - 1), st.sampled_from([32, 128, 1024]), st.integers(16, 64), st.booleans())
def test_no_more_thread_blocks_than_before(grid: int, threads: int, registers: int, on_gpu: bool) -> None:
    """A counted grid is never larger than given, nor than the thread blocks that the GPU (9.0) or host runs at once."""
    config = LaunchConfig((grid, 1, 1), (threads, 1, 1))
    resources = KernelResources(registers, 0) if on_gpu else None
    found = counted_launch(config, resources, GPU if on_gpu else HOST)
    at_once = 2 * BLOCKS_PER_CORE
    if on_gpu:
        warps = threads // 32
        at_once = 132 * min(32, 64 // warps, 65536 // (-(-registers // 8) * 256) // 4 * 4 // warps)
    assert found == LaunchConfig((min(grid, at_once), 1, 1), (threads, 1, 1))


def test_shared_memory_counts() -> None:
    """With 115 KB of shared memory, one thread block runs per multiprocessor, since the system takes 1 KB for each."""
    config = LaunchConfig((10_000, 1, 1), (64, 1, 1), 115 << 10)
    assert counted_launch(config, KernelResources(32, 0), GPU).grid == (132, 1, 1)


@given(st.integers(1, 2**31 - 1), st.sampled_from([1, 2, 4]), st.integers(16, 255))
def test_a_free_launch_covers_the_elements(size: int, elements: int, registers: int) -> None:
    """The grid just covers the elements, with the thread block size for which most threads are active."""
    config = free(LaunchConfig((-(-size // 256), 1, 1), (256, 1, 1)))
    found = free_launch(config, elements, KernelResources(registers, 0), HOPPER)
    threads = found.thread_block[0]
    assert found.grid == (-(-(config.grid[0] * 256) // (threads * elements)), 1, 1)
    at_once = {n: occupancy(KernelResources(registers, 0), HOPPER, (n, 1, 1)).active_threads for n in (64, 128, 256)}
    assert threads == max(n for n in at_once if at_once[n] == max(at_once.values()))


def test_a_free_launch_over_a_picture_keeps_within_a_grid() -> None:
    """A free launch over a picture splits rows first; if the grid would be too high, it stays as requested."""
    heavy = KernelResources(72, 0)  # three thread blocks of 256 threads fit on a multiprocessor, or seven of 128
    low = LaunchConfig((8, 8, 1), (16, 16, 1))
    assert free_launch(low, 1, heavy, HOPPER) == LaunchConfig((8, 16, 1), (16, 8, 1))
    high = LaunchConfig((8, GRID_LIMITS[1], 1), (16, 16, 1))
    assert free_launch(high, 1, heavy, HOPPER) == high


_numbers = itertools.count()


def described(thread_block: Any, num_threads: Any, *, pass_count: bool) -> None:
    """Describe a block with one counted launch."""

    class Wrong(Block, id=f"test_counted.wrong_{next(_numbers)}"):
        """Launch with a count."""

        n: In[u32] = port(doc="Count.")
        out: Out[u32] = port(shape="[100]", doc="Result.")

        def describe(self, build: BlockBuilder) -> None:
            args = (self.n, self.out) if pass_count else (self.out,)
            kernel = Kernel(str(SOURCE), "visit")
            build.launch(kernel, num_threads=num_threads, thread_block=thread_block, args=args, count=self.n)

    describe(Wrong())


def test_a_count_needs_one_dimension_and_to_be_passed() -> None:
    """A count is refused if the launch has two dimensions, or if the count is not among the arguments."""
    described(64, 100, pass_count=True)
    with pytest.raises(ValueError, match=r"launch with a count must have one dimension, got \(\(10, 10\)"):
        described(None, (10, 10), pass_count=True)
    with pytest.raises(ValueError, match="must have one dimension"):
        described((8, 8), 100, pass_count=True)
    with pytest.raises(ValueError, match="count must be among args, for the kernel to read, got 'n' beside them"):
        described(64, 100, pass_count=False)
