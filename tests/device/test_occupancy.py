"""Computed occupancy against NVIDIA's calculator.

recorded/occupancy.csv holds the results of `cudaOccMaxActiveBlocksPerMultiprocessor` of cuda_occupancy.h (CUDA 13.0),
by registers per thread, thread block size and bytes of shared memory.
"""

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from warploom.engine.device.occupancy import KernelResources, Limit, MultiprocessorLimits, occupancy, shared_unit

#: CUDA C++ Programming Guide, technical specifications: threads, thread blocks and KB of shared memory per
#: multiprocessor, and the KB that the system reserves per thread block.
SPECIFICATIONS = {
    "7.5": (1024, 16, 64, 0),
    "8.0": (2048, 32, 164, 1),
    "8.6": (1536, 16, 100, 1),
    "8.7": (1536, 16, 164, 1),
    "8.9": (1536, 24, 100, 1),
    "9.0": (2048, 32, 228, 1),
    "10.0": (2048, 32, 228, 1),
    "12.0": (1536, 24, 100, 1),
}


def limits(capability: str) -> MultiprocessorLimits:
    """Return the limits of a compute capability."""
    threads, blocks, shared_kb, reserved_kb = SPECIFICATIONS[capability]
    major, minor = map(int, capability.split("."))
    unit = shared_unit((major, minor))
    return MultiprocessorLimits(threads, blocks, 65536, 65536, shared_kb << 10, reserved_kb << 10, unit)


def kernel(registers: int, static_shared_bytes: int = 0) -> KernelResources:
    """Return a kernel's resources."""
    return KernelResources(registers, static_shared_bytes)


@pytest.mark.parametrize("capability", SPECIFICATIONS)
def test_occupancy_is_what_nvidias_calculator_says(capability: str) -> None:
    """The number of thread blocks equals NVIDIA's, and the limiting resource is one that NVIDIA names."""
    with (Path(__file__).parent / "recorded" / "occupancy.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["capability"] == capability]
    assert len(rows) > 80
    for row in rows:
        registers, threads, shared = int(row["registers"]), int(row["threads"]), int(row["shared_bytes"])
        for static in (0, shared // 2, shared):
            found = occupancy(kernel(registers, static), limits(capability), (threads, 1, 1), shared - static)
            assert str(found.thread_blocks) == row["thread_blocks"], row
            assert found.limited_by in row["limits"].split("+"), row
            assert found.active_threads == found.thread_blocks * threads


@pytest.mark.parametrize(
    ("registers", "threads", "shared", "active", "cause"),
    [
        (32, 256, 0, 2048, Limit.THREADS),
        (255, 256, 0, 256, Limit.REGISTERS),
        (96, 512, 0, 512, Limit.REGISTERS),
        (32, 32, 0, 1024, Limit.THREAD_BLOCKS),
        (32, 128, 100 << 10, 256, Limit.SHARED_MEMORY),
        (32, 1024, 115 << 10, 1024, Limit.SHARED_MEMORY),
        (64, 32, 0, 1024, Limit.THREAD_BLOCKS),
        (128, 1024, 0, 0, Limit.REGISTERS),
    ],
)
def test_cases_by_hand(registers: int, threads: int, shared: int, active: int, cause: Limit) -> None:
    """Cases by hand for compute capability 9.0; the last kernel does not fit, since it needs 131,072 registers."""
    found = occupancy(kernel(registers), limits("9.0"), (threads, 1, 1), shared)
    assert (found.active_threads, found.max_threads) == (active, 2048)
    assert found.limited_by is cause
    assert found.share == active / 2048


SIZES = st.integers(1, 1024)
CAPABILITIES = st.sampled_from(sorted(SPECIFICATIONS))


@given(CAPABILITIES, st.integers(0, 255), SIZES, st.integers(0, 232448))
def test_a_multiprocessor_is_never_promised_more_than_it_has(
    capability: str, registers: int, threads: int, shared: int
) -> None:
    """The threads, registers and shared memory of all resident thread blocks fit on the multiprocessor."""
    has = limits(capability)
    found = occupancy(kernel(registers), has, (threads, 1, 1), shared)
    count = found.thread_blocks
    assert count * threads <= found.active_threads <= has.threads and count <= has.thread_blocks
    assert count * threads * registers <= has.registers
    assert count * (shared + has.reserved_shared_bytes) <= has.shared_bytes


@given(CAPABILITIES, st.integers(1, 254), SIZES, st.integers(0, 100_000))
def test_using_more_resources_never_raises_occupancy(
    capability: str, registers: int, threads: int, shared: int
) -> None:
    """More registers or shared memory never raise occupancy, and the shape of a thread block does not matter."""
    has = limits(capability)
    found = occupancy(kernel(registers), has, (threads, 1, 1), shared)
    assert occupancy(kernel(registers + 1), has, (threads, 1, 1), shared).thread_blocks <= found.thread_blocks
    assert occupancy(kernel(registers), has, (threads, 1, 1), shared + 1).thread_blocks <= found.thread_blocks
    assert occupancy(kernel(registers), has, (1, threads, 1), shared) == found
    roomy = replace(has, registers=2 * has.registers, block_registers=2 * has.block_registers)
    assert occupancy(kernel(registers), roomy, (threads, 1, 1), shared).thread_blocks >= found.thread_blocks
