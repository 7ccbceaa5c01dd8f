"""Small pieces of memory with known addresses, which a driver or native code reads.

Creating a numpy array and reading its address takes longer than adding a kernel node should. So the pieces are cut from
larger arrays.
"""

import threading
from typing import Any

import msgspec
import numpy as np

_SLAB_BYTES = 1 << 16
_LARGE_BYTES = _SLAB_BYTES // 16
#: The largest alignment of a kernel's parameters.
_ALIGNMENT = 16


class Piece(msgspec.Struct, frozen=True, gc=False):
    """Zeroed bytes, `memory[offset:offset + size_bytes]`, which keep their address as long as this object lives."""

    memory: memoryview
    offset: int
    address: int
    size_bytes: int

    @property
    def bytes(self) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """The bytes as an array."""
        return np.frombuffer(self.memory, np.uint8, self.size_bytes, self.offset)


class _Slab:
    """An array from which pieces are cut; it lives as long as any of them."""

    __slots__ = ("end", "first", "memory", "next")

    def __init__(self, size_bytes: int) -> None:
        storage = np.zeros(size_bytes + _ALIGNMENT, np.uint8)
        first = int(storage.ctypes.data)
        self.next = -first % _ALIGNMENT
        self.end = storage.size
        self.first = first
        self.memory = memoryview(storage.data)


_lock = threading.Lock()
_slab = _Slab(0)


def fresh_bytes(size_bytes: int) -> Piece:
    """Return `size_bytes` fresh zeroed bytes, aligned for every kernel parameter."""
    global _slab
    rounded = size_bytes + _ALIGNMENT - 1 & -_ALIGNMENT
    with _lock:
        slab = _slab
        start = slab.next
        if start + rounded > slab.end:
            slab = _Slab(max(rounded, _SLAB_BYTES))
            start = slab.next
            if size_bytes < _LARGE_BYTES:
                _slab = slab
        slab.next = start + rounded
    return Piece(slab.memory, start, slab.first + start, size_bytes)
