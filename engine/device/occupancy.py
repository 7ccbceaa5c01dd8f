"""Occupancy: how many threads of a kernel a multiprocessor can run at once, and which resource limits them.

The formulas are those of NVIDIA's occupancy calculator: a multiprocessor accepts whole thread blocks as long as warps,
registers and shared memory are left. Named barriers are ignored, since only kernels with hand-written barriers use
them up.
"""

from enum import StrEnum
from functools import lru_cache

import msgspec

WARP_THREADS = 32
#: Registers are allocated per warp, in units of this size (compute capability 7.5 and later).
REGISTER_UNIT = 256
#: The partitions of a multiprocessor, each with its share of the registers.
PARTITIONS = 4


class KernelResources(msgspec.Struct, frozen=True):
    """The resources of a compiled kernel: registers per thread, static shared bytes per thread block.

    A thread has `local_bytes` of private memory, for arrays and for values that did not fit into its registers.
    """

    registers: int
    static_shared_bytes: int
    local_bytes: int = 0


class MultiprocessorLimits(msgspec.Struct, frozen=True):
    """The resources of one multiprocessor, shared by all thread blocks that run on it at once.

    The system reserves `reserved_shared_bytes` for each thread block, and rounds a thread block's shared memory up to a
    multiple of `shared_unit` bytes. One thread block may have at most `block_registers` registers.
    """

    threads: int
    thread_blocks: int
    registers: int
    block_registers: int
    shared_bytes: int
    reserved_shared_bytes: int
    shared_unit: int


class Limit(StrEnum):
    """The resource that limits the number of thread blocks on a multiprocessor."""

    THREADS = "threads"  #: no warps are left for another thread block
    THREAD_BLOCKS = "thread blocks"  #: no more of them fit, however small they are
    REGISTERS = "registers"
    SHARED_MEMORY = "shared memory"


class Occupancy(msgspec.Struct, frozen=True):
    """The part of a launch that runs at once on one multiprocessor; a launch with 0 thread blocks fails."""

    thread_blocks: int
    active_threads: int
    max_threads: int
    limited_by: Limit

    @property
    def share(self) -> float:
        """Active threads as a share, from 0 to 1, of the threads that the multiprocessor can run."""
        return self.active_threads / self.max_threads


def shared_unit(capability: tuple[int, int]) -> int:
    """Return the unit, in bytes, to which shared memory is rounded up on a compute capability."""
    return 256 if capability < (8, 0) else 128


@lru_cache(maxsize=1024)
def occupancy(
    resources: KernelResources, limits: MultiprocessorLimits, thread_block: tuple[int, int, int], shared_bytes: int = 0
) -> Occupancy:
    """Return the occupancy of a launch with `shared_bytes` of dynamic shared memory.

    If several limits are equally tight, it names the first one in `Limit`.
    """
    threads = thread_block[0] * thread_block[1] * thread_block[2]
    warps = -(-threads // WARP_THREADS)
    most = {
        Limit.THREADS: limits.threads // WARP_THREADS // warps,
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
    of_warp = _round_up(registers * WARP_THREADS, REGISTER_UNIT)
    if of_warp * _round_up(warps, PARTITIONS) > limits.block_registers:
        return 0  # the hardware assumes that thread blocks are spread evenly over the partitions
    return limits.registers // PARTITIONS // of_warp * PARTITIONS // warps


def _round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit
