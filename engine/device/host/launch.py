"""Launching of one kernel: checks, the launch record, and faults as errors."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from engine.device.arguments import KernelArguments
from engine.device.host import faults
from engine.device.host.memory import AllocationTable
from engine.device.host.modules import HostKernel
from engine.device.host.pool import Pool, Worker
from engine.device.host.translate import abi
from engine.device.protocol import LaunchConfig
from engine.diagnostics import DeviceError, KernelFault

#: A kernel that ran before is worth waking other workers for when it takes longer than this; a new one when it has
#: more threads.
INLINE_NS = 50_000
INLINE_THREADS = 8192
MAX_SHARED_BYTES = 227 << 10
_MAX_THREADS_OF_AXIS = (1 << 31) - 1


def check(kernel: HostKernel, config: LaunchConfig) -> None:
    """DeviceError unless the kernel can be launched so."""
    threads = math.prod(config.thread_block)
    place = f"kernel {kernel.name}"
    if min(config.grid) < 1:
        raise DeviceError(f"{place}: grid must be at least 1 in each axis, got {config.grid}")
    if min(config.thread_block) < 1:
        raise DeviceError(f"{place}: thread block must be at least 1 in each axis, got {config.thread_block}")
    if threads > kernel.max_threads:
        raise DeviceError(f"{place}: thread block must have at most {kernel.max_threads} threads, got {threads}")
    required = kernel.signature.required_threads
    if required is not None and tuple(config.thread_block) != required:
        raise DeviceError(f"{place}: thread block must be {required}, got {config.thread_block}")
    for grid, block in zip(config.grid, config.thread_block, strict=True):
        if grid * block > _MAX_THREADS_OF_AXIS:
            raise DeviceError(f"{place}: threads of one axis must be at most 2^31 - 1, got {grid * block}")
    if math.prod(config.grid) > _MAX_THREADS_OF_AXIS:
        raise DeviceError(f"{place}: grid must have at most 2^31 - 1 thread blocks, got {math.prod(config.grid)}")
    shared = config.shared_bytes + kernel.signature.shared_bytes
    if config.shared_bytes < 0 or shared > MAX_SHARED_BYTES:
        raise DeviceError(f"{place}: shared memory must be 0 to {MAX_SHARED_BYTES} bytes, got {shared}")


class Launch:
    """A kernel with its launch and arguments, ready to run any number of times."""

    def __init__(self, kernel: HostKernel, config: LaunchConfig, arguments: KernelArguments) -> None:
        check(kernel, config)
        size = max((item.offset + item.size_bytes for item in kernel.parameters), default=0)
        if arguments.block.size < size:
            raise DeviceError(f"kernel {kernel.name}: arguments must have {size} bytes, got {arguments.block.size}")
        self.kernel = kernel
        self.config = config
        self.arguments = arguments
        static = kernel.signature.shared_bytes
        if kernel.signature.uses_dynamic_shared:
            static = -(-static // 16) * 16
        self.shared_bytes = static + config.shared_bytes
        self.blocks = math.prod(config.grid)
        self._threads = math.prod(config.thread_block)
        self.record = np.zeros(abi.LAUNCH_FIELDS, np.int64)
        self.record[list(abi.GRID)] = config.grid
        self.record[list(abi.THREAD_BLOCK)] = config.thread_block
        self.record[abi.SHARED_BYTES] = self.shared_bytes
        self.record[abi.ARGUMENT_BYTES] = arguments.block.size
        self._record_address = int(self.record.ctypes.data)

    def run(self, pool: Pool, table: AllocationTable) -> None:
        """Run every thread block; KernelFault after a bad access, a trap or a stop."""
        pairs = table.snapshot()
        self.record[abi.STOP] = pool.watchdog.address
        self.record[abi.ALLOCATIONS] = pairs.ctypes.data
        self.record[abi.ALLOCATION_COUNT] = len(pairs)
        self.record[abi.SERVICES] = pool.services.address
        self.record[abi.NEXT] = 0
        pool.services.begin(pairs)
        start_ns = time.perf_counter_ns()
        is_small = self.blocks * self._threads <= INLINE_THREADS
        if self.kernel.block_ns is not None:
            is_small = self.blocks * self.kernel.block_ns < INLINE_NS
        failed, workers = pool.run(
            self._work,
            self.blocks,
            is_small=is_small,
            spins=self.kernel.spins,
            in_parts=self.kernel.job is not None,
        )
        self.kernel.block_ns = (time.perf_counter_ns() - start_ns) * workers / self.blocks
        pool.services.finish()
        if failed is not None:
            raise self.error(failed, pool, pairs)

    def _work(self, worker: Worker, blocks: int, chunk: int) -> bool:
        address = self.arguments.address
        worker.prepare(self.shared_bytes, self.kernel.scratch_bytes, address)
        return bool(self.kernel.function(self._record_address, address, worker.address, blocks, chunk) == 0)

    @property
    def is_brief(self) -> bool:
        """Whether it is known to take less time than it takes to wake other workers."""
        block_ns = self.kernel.block_ns
        waits = self.kernel.spins and self.blocks > 1
        return block_ns is not None and self.blocks * block_ns < INLINE_NS and not waits

    def error(self, worker: Worker, pool: Pool, pairs: Any) -> KernelFault:
        """Return what a worker's fault record says; `pairs` are the allocations that the kernel was given."""
        name, config, record, lines = self.kernel.name, self.config, worker.record, self.kernel.lines
        if int(record[abi.FAULT_KIND]) & 0xFF == abi.STOPPED:
            dog = pool.watchdog
            return faults.stopped(name, config, record, lines, pool.stop_reason, dog.limit_s)
        assertion, pool.services.assertion = pool.services.assertion, ""
        return faults.fault(name, config, self.shared_bytes, record, lines, pairs, assertion)
