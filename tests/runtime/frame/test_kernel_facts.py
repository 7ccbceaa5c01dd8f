"""Facts about kernels in profiles, besides their times."""

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from warploom import Engine, Patch, ProfilingLevel
from warploom.engine.device.occupancy import KernelResources, MultiprocessorLimits, occupancy
from warploom.engine.device.protocol import LaunchConfig
from warploom.engine.runtime.measure.kernel_facts import LaunchFacts

#: The limits of an H200.
LIMITS = MultiprocessorLimits(
    threads=2048,
    thread_blocks=32,
    registers=65536,
    block_registers=65536,
    shared_bytes=233472,
    reserved_shared_bytes=1024,
    shared_unit=128,
)


def node(resources: KernelResources | None, config: LaunchConfig, limits: MultiprocessorLimits | None) -> Any:
    """Return a kernel node of operation 3 with this launch, on a device with these limits."""

    def runs(launch: LaunchConfig) -> Any:
        return resources and limits and occupancy(resources, limits, launch.thread_block, launch.shared_bytes)

    kernel = SimpleNamespace(resources=resources, fit=lambda config: config, occupancy=runs)
    return SimpleNamespace(operation=3, config=config, kernel=SimpleNamespace(kernel=kernel))


def test_a_kernel_of_64_registers_runs_four_thread_blocks_at_once() -> None:
    """With 64 registers a thread, occupancy is 0.5 and limited by registers; shared memory is static plus dynamic."""
    config = LaunchConfig((100, 1, 1), (256, 1, 1), 512)
    facts = LaunchFacts().of([node(KernelResources(64, 1024, 16), config, LIMITS)])[3]
    assert (facts.grid, facts.thread_block) == ((100, 1, 1), (256, 1, 1))
    assert (facts.registers, facts.shared_bytes, facts.local_bytes) == (64, 1536, 16)
    assert (facts.occupancy, facts.limited_by) == (0.5, "registers")


def test_what_a_device_does_not_know_it_does_not_tell() -> None:
    """Without registers or multiprocessors, as on the host, or without limits, occupancy is unknown."""
    config = LaunchConfig((100, 1, 1), (256, 1, 1))
    facts = LaunchFacts().of([node(None, config, None)])[3]
    assert (facts.grid, facts.registers, facts.occupancy, facts.limited_by) == ((100, 1, 1), None, None, "")
    facts = LaunchFacts().of([node(KernelResources(64, 0), config, None)])[3]
    assert (facts.registers, facts.occupancy) == (64, None)


def test_facts_follow_a_new_launch_and_new_code() -> None:
    """Facts follow a new launch and new code, and unchanged facts are the same object."""
    facts, config = LaunchFacts(), LaunchConfig((100, 1, 1), (256, 1, 1))
    kernel = node(KernelResources(64, 0), config, LIMITS)
    first = facts.of([kernel])[3]
    assert facts.of([kernel])[3] is first
    kernel.config = LaunchConfig((50, 1, 1), (512, 1, 1))
    assert facts.of([kernel])[3].grid == (50, 1, 1)
    kernel.kernel.kernel.resources = KernelResources(32, 0)
    assert facts.of([kernel])[3].registers == 32


@pytest.mark.parametrize("level", [ProfilingLevel.PER_BLOCK, ProfilingLevel.PER_KERNEL])
def test_a_profile_tells_launches_and_bytes(level: ProfilingLevel) -> None:
    """A span has the bytes that its copy moves; its launch is shown only at the level of kernels."""
    patch = Patch()
    data = patch.add("io.array", data=np.arange(1001, dtype=np.float32))
    copy = patch.add("buffer.copy", node_id="copy")
    patch.connect(data["out"], copy["x"])
    with Engine(patch, "host", profiling=level) as engine:
        for _ in range(3):
            engine.step()
        (span,) = [span for span in engine.profile().spans if span.node == "copy"]
    assert span.moved_bytes == 2 * 4 * 1001
    assert span.bytes_per_s == pytest.approx(span.moved_bytes / (span.busy_ns * 1e-9))
    assert (span.kernel is not None) == (level is ProfilingLevel.PER_KERNEL)
    if span.kernel is not None:
        assert 16 * math.prod(span.kernel.grid) * math.prod(span.kernel.thread_block) >= 4 * 1001  # bytes of a thread
        assert span.kernel.registers is None
