"""Launching one kernel: the checks, the launch record, and faults as exceptions."""

import struct
from math import prod
from typing import Any

import numpy as np

from engine.device.arguments import KernelArguments
from engine.device.host import faults
from engine.device.host.memory import AllocationTable
from engine.device.host.modules.module import HostKernel, own_kernel
from engine.device.host.pool import Pool, PoolWorker, workers_for
from engine.device.launches import check_shape, shared_memory_error
from engine.device.protocol import LaunchConfig, LoadedKernel
from engine.device.slab import fresh_bytes
from engine.diagnostics import DeviceError, KernelFault
from engine.host_compiler import abi

#: The time that a thread is expected to take in a kernel that has not run yet.
THREAD_NS = 6
MAX_SHARED_BYTES = 227 << 10
#: All workers write to the last field, so nothing else may lie in its cache line.
_CACHE_LINE = 64
_RECORD_BYTES = 8 * abi.LAUNCH_FIELDS + _CACHE_LINE
#: The fields of a launch record up to the size of the arguments.
_FIXED = struct.Struct(f"<{abi.ARGUMENT_BYTES + 1}q")


def check(kernel: HostKernel, config: LaunchConfig) -> None:
    """Raise DeviceError unless the kernel can be launched with this configuration."""
    signature = kernel.signature
    check_shape(kernel.name, config, signature.max_threads)
    if signature.required_threads is not None and tuple(config.thread_block) != signature.required_threads:
        raise DeviceError(
            f"thread block of kernel {kernel.name} must be {signature.required_threads}, got {config.thread_block}"
        )
    if config.shared_bytes + signature.shared_bytes > MAX_SHARED_BYTES:
        raise shared_memory_error(kernel.name, signature.shared_bytes, config.shared_bytes)


def check_launch(kernel: LoadedKernel, config: LaunchConfig, arguments: KernelArguments) -> HostKernel:
    """Return a kernel of the host that can be launched with these; DeviceError says why it can't."""
    own = own_kernel(kernel)
    if own.launched is not config:
        check(own, config)
        own.launched = config
    size = arguments.layout.size_bytes
    if size < own.parameter_bytes:
        raise DeviceError(f"kernel {own.name}: arguments must have {own.parameter_bytes} bytes, got {size}")
    return own


class Launch:
    """A kernel with its configuration and arguments, ready to run any number of times."""

    __slots__ = ("_piece", "_threads", "arguments", "blocks", "config", "kernel", "shared_bytes")

    def __init__(self, kernel: LoadedKernel, config: LaunchConfig, arguments: KernelArguments) -> None:
        self.kernel = check_launch(kernel, config, arguments)
        self.config = config
        self.arguments = arguments
        self.shared_bytes = self.kernel.static_shared_bytes + config.shared_bytes
        self.blocks = prod(config.grid)
        self._threads = prod(config.thread_block)
        self._piece = piece = fresh_bytes(_RECORD_BYTES)
        _FIXED.pack_into(piece.memory, piece.offset, *self.fields)

    @property
    def fields(self) -> tuple[int, ...]:
        """The launch record up to the size of the arguments."""
        size = self.arguments.layout.size_bytes
        return (*self.config.grid, *self.config.thread_block, self.shared_bytes, 0, 0, size)

    @property
    def record(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The launch record, in place."""
        return self._piece.bytes.view(np.int64)[: abi.LAUNCH_FIELDS]

    def run(self, pool: Pool, table: AllocationTable) -> None:
        """Run every thread block; KernelFault after a bad access, a trap or a stop."""
        pairs = table.snapshot()
        record = self.record
        record[abi.STOP] = pool.watchdog.address
        record[abi.ALLOCATIONS] = pairs.ctypes.data
        record[abi.ALLOCATION_COUNT] = len(pairs)
        record[abi.SERVICES] = pool.services.address
        record[abi.NEXT] = 0
        pool.services.begin(pairs)
        block_ns = self.kernel.block_ns if self.kernel.block_ns is not None else self._threads * THREAD_NS
        try:
            failed, busy_ns = pool.run(
                self._work,
                self.blocks,
                workers=workers_for(self.blocks * block_ns, self.blocks, pool.cores),
                spins=self.kernel.spins,
                in_parts=self.kernel.job is not None,
            )
        finally:
            pool.services.finish()
        self.kernel.block_ns = busy_ns / self.blocks
        if failed is not None:
            raise self.error(failed, pool, pairs)

    def _work(self, worker: PoolWorker, blocks: int, chunk: int) -> bool:
        function, address = self.kernel.function, self.arguments.address
        worker.prepare(self.shared_bytes, self.kernel.scratch_bytes, address)
        return bool(function(self._piece.address, address, worker.address, blocks, chunk) == 0)

    @property
    def work_ns(self) -> float | None:
        """The time that it took one worker of late, or several together; None before the kernel ran."""
        return None if self.kernel.block_ns is None else self.blocks * self.kernel.block_ns

    def error(self, worker: PoolWorker, pool: Pool, pairs: Any) -> KernelFault:
        """Return the error for a worker's fault record; `pairs` are the allocations that the kernel could use."""
        stopped = pool.watchdog.explain(pool.stop_reason)
        assertion, pool.services.assertion = pool.services.assertion, ""
        kernel, shared = self.kernel, self.shared_bytes
        live = faults.reachable(self.arguments.buffers, pool.services.live(pairs))
        return faults.fault(kernel.name, self.config, shared, worker.record, kernel.lines, live, assertion, stopped)
