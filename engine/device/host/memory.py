"""The host's device memory: allocations, pinned arrays, and the sorted table of memory that kernels may access."""

from __future__ import annotations

import bisect
import ctypes
import os
import threading
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any
from weakref import ref

import numpy as np

from warploom.engine.device.external import ExternalArray, writable_bytes
from warploom.engine.device.protocol import MemoryPart
from warploom.engine.diagnostics import DeviceError

#: The alignment that CUDA guarantees; it also keeps vector accesses aligned.
ALIGNMENT = 256
ENDED = "host: memory must not be used after it was freed or its device was closed"


class AllocationTable:
    """The live address ranges that kernels may access, sorted.

    `snapshot` returns an array of (first address, size) pairs. It is replaced but never changed, so a running kernel
    keeps the array that it started with.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()  # the garbage collector may remove a range at any time
        #: The objects that keep allocations and other libraries' memory alive until they are freed.
        self._owners: set[HostMemory] = set()
        #: (first address, size); ranges of other libraries may overlap.
        self._ranges: list[tuple[int, int]] = []
        self._pairs: np.ndarray[Any, Any] | None = None

    def add(self, first: int, size_bytes: int, owner: HostMemory | None = None) -> None:
        """Add a range, with the memory object to keep alive, if any."""
        with self._lock:
            if owner is not None:
                self._owners.add(owner)
            bisect.insort(self._ranges, (first, size_bytes))
            self._pairs = None

    def remove(self, first: int, size_bytes: int, owner: HostMemory | None = None) -> None:
        """Remove a range."""
        with self._lock:
            if owner is not None:
                self._owners.remove(owner)
            del self._ranges[bisect.bisect_left(self._ranges, (first, size_bytes))]
            self._pairs = None

    def free_all(self) -> None:
        """Free every allocation, and release other libraries' memory."""
        with self._lock:
            owners = tuple(self._owners)
        for owner in owners:
            owner.free()

    def snapshot(self) -> np.ndarray[Any, Any]:
        """Return the ranges as an (n, 2) array of uint64."""
        with self._lock:
            if self._pairs is None:
                self._pairs = joined(np.array(self._ranges, np.uint64).reshape(-1, 2))
            return self._pairs


class _Loan:
    """Keeps the bytes of memory, and the array of another library that they may belong to."""

    __slots__ = ("__weakref__", "_kept")

    def __init__(self, *kept: object) -> None:
        self._kept = kept


class HostMemory:
    """Memory of the host: an allocation, or an array that another library owns. `view` is its bytes."""

    def __init__(self, table: AllocationTable, view: np.ndarray[Any, Any], lent: ExternalArray | None = None) -> None:
        self._view: np.ndarray[Any, Any] | None = view
        self._pointer = int(view.ctypes.data)
        self._table = table
        #: The array of another library. Dropping this reference releases it.
        self._lent = lent
        self._loan: ref[_Loan] | None = None
        self.size_bytes: int = view.size
        table.add(self._pointer, view.size, self)

    @property
    def pointer(self) -> int:
        """The address. Raise DeviceError after `free`."""
        if self._view is None:
            raise DeviceError(ENDED)
        return self._pointer

    @property
    def view(self) -> np.ndarray[Any, Any]:
        """The bytes. Raise DeviceError after `free`."""
        if self._view is None:
            raise DeviceError(ENDED)
        return self._view

    @property
    def was_lent(self) -> bool:
        """True once `lend` was called."""
        return self._loan is not None

    def lend(self) -> object:
        """Return an object that keeps the bytes as long as it lives. Raise DeviceError after `free`."""
        loan = self._loan() if self._loan is not None else None
        if loan is None:
            loan = _Loan(self.view, self._lent)
            self._loan = ref(loan)
        return loan

    def free(self) -> None:
        """Release the memory. Raise DeviceError at a second call."""
        if self._view is None:
            raise DeviceError(ENDED)
        self._table.remove(self._pointer, self.size_bytes, self)
        self._view = self._lent = None


def allocate(table: AllocationTable, size_bytes: int) -> HostMemory:
    """Allocate zeroed memory. Raise DeviceError when there is not enough."""
    if size_bytes <= 0:
        raise DeviceError(f"host: allocation must have at least 1 byte, got {size_bytes}")
    try:
        # Leave space after the end: a vector access may begin at the last byte that the check allows.
        storage = np.zeros(size_bytes + 2 * ALIGNMENT, np.uint8)
    except MemoryError as reason:
        raise DeviceError(
            f"host: allocation must fit in memory, got {size_bytes} bytes; close other buffers"
        ) from reason
    start = -storage.ctypes.data % ALIGNMENT
    return HostMemory(table, storage[start : start + size_bytes])


def adopt(table: AllocationTable, external: ExternalArray) -> HostMemory:
    """Return memory that another library owns."""
    size_bytes = writable_bytes(external, "cpu")
    view = np.ndarray(size_bytes, np.uint8, memoryview((ctypes.c_uint8 * size_bytes).from_address(external.pointer)))
    return HostMemory(table, view, external)


class HostPinnedArray:
    """A host array for copies; on the host it is an ordinary numpy array."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self._array: np.ndarray[Any, Any] | None = np.array(array, order="C", copy=True)

    @property
    def array(self) -> np.ndarray[Any, Any]:
        """The array. Raise DeviceError after `free`."""
        if self._array is None:
            raise DeviceError(ENDED)
        return self._array

    def free(self) -> None:
        """Release the memory."""
        self._array = None


def bytes_of(memory: object, size_bytes: int, role: str) -> np.ndarray[Any, Any]:
    """Return the first bytes of device memory or a pinned array. Raise DeviceError when it has fewer."""
    if isinstance(memory, HostMemory):
        view = memory.view
    elif isinstance(memory, MemoryPart):
        view = bytes_of(memory.whole, memory.whole.size_bytes, role)[memory.offset : memory.offset + memory.size_bytes]
    elif isinstance(memory, HostPinnedArray):
        view = memory.array.reshape(-1).view(np.uint8)
    else:
        raise DeviceError(f"host: {role} must be memory of the host device, got {type(memory).__name__}")
    if not 0 <= size_bytes <= view.size:
        raise DeviceError(f"host: {role} must hold {size_bytes} bytes, got {view.size}")
    return view[:size_bytes]


def joined(pairs: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return sorted (first, size) ranges with overlapping ones merged; adjacent ones stay separate."""
    pairs = pairs[np.argsort(pairs[:, 0], kind="stable")]
    starts, ends = pairs[:, 0], np.maximum.accumulate(pairs[:, 0] + pairs[:, 1])
    is_first = np.ones(len(pairs), bool)
    is_first[1:] = starts[1:] >= ends[:-1]
    firsts = np.flatnonzero(is_first)
    lasts = np.append(firsts[1:], len(pairs))[: len(firsts)] - 1
    return np.ascontiguousarray(np.stack([starts[firsts], ends[lasts] - starts[firsts]], axis=1))


def copy(target: np.ndarray[Any, Any], source: np.ndarray[Any, Any]) -> None:
    """Copy bytes; source and target may overlap."""
    ctypes.memmove(target.ctypes.data, source.ctypes.data, target.size)


def free_bytes() -> int:
    """Return the bytes that can be allocated without swapping or exceeding a container's limit."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        lines = []
    found = [int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:")]
    free = found[0] if found else os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
    return min([free, *(max(limit - used, 0) for limit, used in container_limits())])


@cache
def total_bytes() -> int:
    """Return the bytes of this computer's memory, or the limit of the container that this process runs in."""
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min([physical, *(limit for limit, _ in container_limits())])


def container_limits(groups: str | None = None, mount: Path = Path("/sys/fs/cgroup")) -> list[tuple[int, int]]:
    """Return each memory limit of this process's control groups, with the bytes in use under it.

    `groups` is the text of /proc/self/cgroup. Memory that the system can drop, such as cached file contents, doesn't
    count as used. Both versions of control groups are read. Only limits that are set are returned.
    """
    if groups is None:
        try:
            groups = Path("/proc/self/cgroup").read_text()
        except OSError:  # not Linux
            return []
    limits = []
    for line in groups.splitlines():
        _, controllers, group = line.split(":", 2)
        if controllers not in ("", "memory"):
            continue
        root, limit, used = mount, "memory.max", "memory.current"
        if controllers:
            root, limit, used = mount / "memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
        own = root / group.strip("/")
        for folder in (own, *(parent for parent in own.parents if parent.is_relative_to(root))):
            # The group doesn't exist as seen from a container, or the limit is "max".
            with suppress(OSError, ValueError):
                most = int((folder / limit).read_text())
                stat = dict(entry.split() for entry in (folder / "memory.stat").read_text().splitlines())
                dropped = int(stat.get("total_inactive_file", stat.get("inactive_file", 0)))
                limits.append((most, int((folder / used).read_text()) - dropped))
    return limits
