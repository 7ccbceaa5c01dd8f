"""Messages about kernels that failed or were stopped: what happened, where in the source, and in which thread."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from engine.device.host import watchdog
from engine.device.host.translate import abi
from engine.device.protocol import Dim3, LaunchConfig
from engine.diagnostics import KernelFault

#: The source file and line for each PTX line.
Lines = Mapping[int, tuple[str, int]]

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
    lines: Lines,
    pairs: Any,
    assertion: str = "",
) -> KernelFault:
    """Return the error for a worker's fault record.

    `pairs` are the launch's live allocations, (first address, size); `assertion` is the text of a failed `assert`.
    """
    kind, size = int(record[abi.FAULT_KIND]) & 0xFF, int(record[abi.FAULT_KIND]) >> abi.SIZE_SHIFT
    line, address = int(record[abi.FAULT_LINE]), int(record[abi.FAULT_ADDRESS])
    thread = position(int(record[abi.FAULT_THREAD]), config.thread_block)
    block = position(int(record[abi.FAULT_BLOCK]), config.grid)
    if kind in (abi.BAD_ADDRESS, abi.BAD_SHARED, abi.BAD_LOCAL):
        address &= (1 << 64) - 1
        what = _access(kind, size, address, shared_bytes, pairs)
    elif kind == abi.BAD_CALL:
        what = f"called {address:#x}, which is no function of a fitting shape"
    else:
        what = _PLAIN[kind] + (f" {assertion}" if kind == abi.ASSERT and assertion else "")
    file, source_line = lines.get(line, (None, None))
    where = f"PTX line {line}" + (f" ({file}:{source_line})" if file else "")
    return KernelFault(
        f"kernel {kernel}, {where}: thread {thread} of thread block {block} {what}",
        kernel=kernel,
        ptx_line=line,
        source_file=file,
        source_line=source_line,
        thread=thread,
        thread_block=block,
        address=address if kind in (abi.BAD_ADDRESS, abi.BAD_SHARED, abi.BAD_LOCAL) else None,
    )


def stopped(
    kernel: str, config: LaunchConfig, record: np.ndarray[Any, Any], lines: Lines, reason: int, limit_s: float | None
) -> KernelFault:
    """Return the error for a kernel that was stopped."""
    line = int(record[abi.FAULT_LINE])
    file, source_line = lines.get(line, (None, None))
    inside = f", at PTX line {line}" + (f" ({file}:{source_line})" if file else "") if line else ""
    why = {
        watchdog.TIME_LIMIT: f"by the time limit of {limit_s:g} s" if limit_s is not None else "",
        watchdog.INTERRUPTED: "because that was asked for",
        watchdog.CLOSED: "because the device was closed",
    }.get(reason, "")
    remedy = "; give it less work or end its loop" if reason == watchdog.TIME_LIMIT else ""
    return KernelFault(
        f"kernel {kernel} was stopped {why}{inside}{remedy}",
        kernel=kernel,
        ptx_line=line or None,
        source_file=file,
        source_line=source_line,
        thread=position(int(record[abi.FAULT_THREAD]), config.thread_block) if line else None,
        thread_block=position(int(record[abi.FAULT_BLOCK]), config.grid),
    )


def position(linear: int, size: Dim3) -> Dim3:
    """Return the position in a box of this size that has a linear number."""
    return (linear % size[0], linear // size[0] % size[1], linear // (size[0] * size[1]))


def _access(kind: int, size: int, address: int, shared_bytes: int, pairs: Any) -> str:
    if size and address % size:
        place = {abi.BAD_SHARED: " of shared memory", abi.BAD_LOCAL: " of local memory"}.get(kind, "")
        return f"used the address {address:#x}{place} for {size} bytes, which is not a multiple of {size} (misaligned)"
    if kind == abi.BAD_SHARED:
        return f"used {size} bytes at byte {address} of shared memory, which has {shared_bytes} bytes"
    if kind == abi.BAD_LOCAL and address > abi.MAX_LOCAL_BYTES:  # in a device function, addresses are not offsets
        return f"used the address {address:#x} for {size} bytes, which is in no local memory"
    if kind == abi.BAD_LOCAL:
        return f"used {size} bytes at byte {address} of local memory, which is past its end"
    return f"used the address {address:#x} for {size} bytes, {_nearest(address, size, pairs)}"


def _nearest(address: int, size: int, pairs: Any) -> str:
    """Return where an address lies relative to the nearest allocation."""
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
