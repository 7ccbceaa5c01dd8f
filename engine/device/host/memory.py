"""The host's device memory: allocations, pinned arrays, and the sorted table of memory that kernels may access."""

from __future__ import annotations

import bisect
import ctypes
import threading
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
