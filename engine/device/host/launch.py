"""The launch of one kernel: its checks, its launch record, and its faults as exceptions."""

import struct
from collections.abc import Collection, Mapping
from math import prod
from typing import Any

import numpy as np

from warploom.engine.device.arguments import KernelArguments
from warploom.engine.device.host.memory import AllocationTable
from warploom.engine.device.host.modules.module import HostKernel, own_kernel
from warploom.engine.device.host.pool import Pool, PoolWorker, workers_for
from warploom.engine.device.launches import check_shape, shared_memory_error
from warploom.engine.device.protocol import Dim3, LaunchConfig, LoadedKernel
from warploom.engine.device.slab import fresh_bytes
from warploom.engine.diagnostics import DeviceError, KernelFault
from warploom.engine.host_compiler import abi

#: The assumed time of a thread in a kernel that has not run yet.
THREAD_NS = 6
MAX_SHARED_BYTES = 227 << 10
#: All workers write to the last field, so nothing else may share its cache line.
_CACHE_LINE = 64
_RECORD_BYTES = 8 * abi.LAUNCH_FIELDS + _CACHE_LINE
#: The fields of a launch record before the arguments' sizes.
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
    """Return a host kernel that can be launched like this. Otherwise raise a DeviceError with the reason."""
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
        """Run every thread block. Raise KernelFault after a bad access, a trap or a stop."""
        pairs = table.snapshot()
        record = self.record
        record[abi.STOP] = pool.watchdog.address
        record[abi.ALLOCATIONS] = pairs.ctypes.data
        record[abi.ALLOCATION_COUNT] = len(pairs)
        record[abi.SERVICES] = pool.services.address
        record[abi.NEXT] = 0
        pool.services.begin(pairs)
        self.kernel.note(self.arguments)
        block_ns = self.kernel.block_ns if self.kernel.block_ns is not None else self._threads * THREAD_NS
        try:
            failed, busy_ns = pool.run(
                self._work,
                self.blocks,
                workers=workers_for(self.blocks * block_ns, self.blocks, pool.cores),
                spinning=(lambda: int(record[abi.NEXT])) if self.kernel.spins else None,
                in_parts=self.kernel.job is not None,
            )
        finally:
            pool.services.finish()
        self.kernel.block_ns = busy_ns / self.blocks
        self.kernel.look()
        if failed is not None:
            raise self.error(failed, pool, pairs)

    def _work(self, worker: PoolWorker, blocks: int, chunk: int) -> bool:
        function, address = self.kernel.function, self.arguments.address
        worker.prepare(self.shared_bytes, self.kernel.scratch_bytes, address)
        return bool(function(self._piece.address, address, worker.address, blocks, chunk) == 0)

    @property
    def work_ns(self) -> float | None:
        """The recent run time, on one worker or on several together; None before the first run."""
        return None if self.kernel.block_ns is None else self.blocks * self.kernel.block_ns

    def error(self, worker: PoolWorker, pool: Pool, pairs: Any) -> KernelFault:
        """Return the error for a worker's fault record; `pairs` are the allocations that the kernel could access."""
        stopped = pool.watchdog.explain(pool.stop_reason)
        assertion, pool.services.assertion = pool.services.assertion, ""
        kernel, shared = self.kernel, self.shared_bytes
        live = reachable(self.arguments.buffers, pool.services.live(pairs))
        return fault(kernel.name, self.config, shared, worker.record, kernel.lines, live, assertion, stopped)


#: The source file and line for each PTX line.
LineTable = Mapping[int, tuple[str, int]]

_PLAIN = {
    abi.TRAP: "ran a trap instruction",
    abi.DEADLOCK: "waits at a barrier that other threads can never reach",
    abi.ASSERT: "failed an assertion",
    abi.STACK_OVERFLOW: f"called device functions deeper than {abi.STACK_LIMIT >> 10} KiB of stack; use a loop",
}


def fault(
    kernel: str,
    config: LaunchConfig,
    shared_bytes: int,
    record: np.ndarray[Any, Any],
    lines: LineTable,
    pairs: Any,
    assertion: str,
    stopped: str,
) -> KernelFault:
    """Return the error for a worker's fault record.

    `pairs` are the live allocations during the launch, (first address, size); `assertion` is the text of a failed
    `assert`; `stopped` is the reason why kernels were stopped, if any.
    """
    kind, size = int(record[abi.FAULT_KIND]) & 0xFF, int(record[abi.FAULT_KIND]) >> abi.SIZE_SHIFT
    line, address = int(record[abi.FAULT_LINE]), int(record[abi.FAULT_ADDRESS])
    if kind == abi.STOPPED:
        line = line or int(record[abi.POINT_LINE])
    thread = position(int(record[abi.FAULT_THREAD]), config.thread_block)
    block = position(int(record[abi.FAULT_BLOCK]), config.grid)
    is_access = kind in (abi.BAD_ADDRESS, abi.BAD_SHARED, abi.BAD_LOCAL)
    is_over_limit = kind == abi.STOPPED and stopped.startswith("by")  # stopped by the time limit, not by a person
    file, source_line = lines.get(line, (None, None))
    where = f"PTX line {line}" + (f" ({file}:{source_line})" if file else "")
    if is_access:
        address &= (1 << 64) - 1
    if kind == abi.STOPPED:
        remedy = "; give it less work, end its loop or raise the limit" if is_over_limit else ""
        message = f"kernel {kernel} was stopped {stopped}" + (f", at {where}" if line else "") + remedy
    else:
        what = _failure(kind, size, address, shared_bytes, pairs, assertion)
        message = f"kernel {kernel}, {where}: thread {thread} of thread block {block} {what}"
    return KernelFault(
        message,
        kernel=kernel,
        ptx_line=line or None,
        source_file=file,
        source_line=source_line,
        thread=thread if record[abi.FAULT_LINE] or kind != abi.STOPPED else None,
        thread_block=block,
        address=address if is_access else None,
        is_over_limit=is_over_limit,
    )


def position(linear: int, size: Dim3) -> Dim3:
    """Return the position of the element with a linear number in a box of this size."""
    return (linear % size[0], linear // size[0] % size[1], linear // (size[0] * size[1]))


def _failure(kind: int, size: int, address: int, shared_bytes: int, pairs: Any, assertion: str) -> str:
    if kind == abi.BAD_CALL:
        return f"called {address:#x}, which is no function of a fitting shape"
    if kind == abi.BAD_FREE:
        return (
            f"freed the address {address & ((1 << 64) - 1):#x}, which is no block of the device heap, or freed already"
        )
    if kind == abi.BAD_BARRIER:
        return f"used the barrier {address}, which must be 0 to {abi.LAST_BARRIER}"
    if kind == abi.BAD_MEMBERS:
        return f"named the members {address:#010x} of its warp without itself; the mask must have the thread's own lane"
    if kind == abi.BAD_BARRIER_COUNT:
        return f"named {address} threads for a barrier, which must be a multiple of 32"
    if kind in _PLAIN:
        return _PLAIN[kind] + (f" {assertion}" if kind == abi.ASSERT and assertion else "")
    if size and address % size:
        place = {
            abi.BAD_SHARED: " of shared memory",
            abi.BAD_LOCAL: " of local memory",
            abi.BAD_PARAMETER: " of the parameters",
        }.get(kind, "")
        return f"used the address {address:#x}{place} for {size} bytes, which is not a multiple of {size} (misaligned)"
    if kind == abi.BAD_PARAMETER:
        return f"used {size} bytes at byte {address} of the kernel's parameters, which is outside them"
    if kind == abi.BAD_SHARED:
        return f"used {size} bytes at byte {address} of shared memory, which has {shared_bytes} bytes"
    if kind == abi.BAD_LOCAL and address > abi.MAX_LOCAL_BYTES:  # in a device function, addresses are not offsets
        return f"used the address {address:#x} for {size} bytes, which is in no local memory"
    if kind == abi.BAD_LOCAL:
        return f"used {size} bytes at byte {address} of local memory, which is past its end"
    return f"used the address {address:#x} for {size} bytes, {_nearest(address, size, pairs)}"


def reachable(buffers: Collection[tuple[int, int]], pairs: Any) -> list[tuple[int, int]]:
    """Return the memory that a launch may access: its buffers, and allocations that contain none of them."""
    found = [(int(first), int(size)) for first, size in pairs]
    others = [(first, size) for first, size in found if not any(0 <= at - first < size for at, _ in buffers)]
    return sorted({*buffers, *others})


def _nearest(address: int, size: int, pairs: Any) -> str:
    """Return a description of an address relative to the nearest allocation."""
    best: tuple[int, str] | None = None
    for first, length in ((int(first), int(length)) for first, length in pairs):
        name = f"the allocation of {length} bytes at {first:#x}"
        if address < first:
            found = (first - address, f"{first - address} bytes before {name}")
        elif address + size <= first + length:
            found = (0, f"which is not in the buffer that its pointer argument points to but in {name}")
        elif address < first + length:
            found = (0, f"which reaches {address + size - first - length} bytes past the end of {name}")
        else:
            distance = address - first - length
            found = (distance, f"{distance} bytes past the end of {name}")
        best = min(best, found) if best else found
    if best is None:
        return "and nothing is allocated"
    return best[1] if best[1].startswith("which") else f"which is in no live buffer: {best[1]}, the nearest one"
