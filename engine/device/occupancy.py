"""Occupancy: how many threads of a kernel a multiprocessor can run at once, and what keeps it from running more.

The formulas are those of NVIDIA's occupancy calculator: a multiprocessor takes in whole thread blocks while it has
warps, registers and shared memory for one more. Named barriers, of which only kernels with hand-written ones use more
than a multiprocessor has for all its thread blocks, are left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

#: Registers are handed out to whole warps, so many at a time (compute capability 7.5 and later).
REGISTER_UNIT = 256
#: A multiprocessor consists of so many parts, each with its share of the registers.
PARTITIONS = 4


@dataclass(frozen=True)
class KernelResources:
    """What a compiled kernel takes: registers and local bytes of each thread, static shared bytes of a thread block."""

    registers: int
    static_shared_bytes: int
    local_bytes: int


@dataclass(frozen=True)
class MultiprocessorLimits:
    """What one multiprocessor has for all thread blocks that run on it at once.

    `reserved_shared_bytes` are taken by the system for each thread block; `shared_unit` is what a thread block's shared
    memory is rounded up to, in bytes. `block_registers` are the most that one thread block may have.
    """

    threads: int
    thread_blocks: int
    registers: int
    block_registers: int
    shared_bytes: int
    reserved_shared_bytes: int
    shared_unit: int
    warp_threads: int = 32


class Limit(StrEnum):
    """What keeps a multiprocessor from running more of a kernel."""

    THREADS = "threads"  #: it has no warps left for one more thread block
    THREAD_BLOCKS = "thread blocks"  #: it runs as many as it can, however small they are
    REGISTERS = "registers"
    SHARED_MEMORY = "shared memory"


@dataclass(frozen=True)
class Occupancy:
    """How much of a kernel runs at once on one multiprocessor; no thread block at all is a launch that must fail."""

    thread_blocks: int
    active_threads: int
    max_threads: int
    limited_by: Limit

    @property
    def share(self) -> float:
        """Active threads as a share of those that the multiprocessor could run, from 0 to 1."""
        return self.active_threads / self.max_threads


def shared_unit(capability: tuple[int, int]) -> int:
    """Return what shared memory is rounded up to on devices of a compute capability, in bytes."""
    return 256 if capability < (8, 0) else 128


@lru_cache(maxsize=1024)
def occupancy(
    resources: KernelResources, limits: MultiprocessorLimits, thread_block: tuple[int, int, int], shared_bytes: int = 0
) -> Occupancy:
    """Return the occupancy of a launch with `shared_bytes` of dynamic shared memory.

    Where several limits are the tightest, the first of `Limit` is named.
    """
    threads = thread_block[0] * thread_block[1] * thread_block[2]
    warps = -(-threads // limits.warp_threads)
    most = {
        Limit.THREADS: limits.threads // limits.warp_threads // warps,
        Limit.THREAD_BLOCKS: limits.thread_blocks,
        Limit.REGISTERS: _by_registers(resources.registers, warps, limits),
        Limit.SHARED_MEMORY: _by_shared_memory(resources.static_shared_bytes + shared_bytes, limits),
    }
    tightest = min(most, key=lambda limit: most[limit])
    blocks = most[tightest]
    return Occupancy(blocks, blocks * threads, limits.threads, tightest)


def _by_shared_memory(wanted_bytes: int, limits: MultiprocessorLimits) -> int:
    needed = _round_up(wanted_bytes + limits.reserved_shared_bytes, limits.shared_unit)
    return limits.shared_bytes // needed if needed else limits.thread_blocks


def _by_registers(registers: int, warps: int, limits: MultiprocessorLimits) -> int:
    if not registers:
        return limits.thread_blocks
    of_warp = _round_up(registers * limits.warp_threads, REGISTER_UNIT)
    if of_warp * _round_up(warps, PARTITIONS) > limits.block_registers:
        return 0  # the hardware counts a thread block as if it were spread over all parts evenly
    return limits.registers // PARTITIONS // of_warp * PARTITIONS // warps


def _round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit
