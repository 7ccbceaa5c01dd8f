"""Views of a device allocation: a part of its bytes, and an array of some type and shape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from engine.device.protocol import Device, Memory
from engine.diagnostics import DeviceError


class MemoryPart(msgspec.Struct, frozen=True):  # a graph has one for every buffer: a dataclass takes thrice as long
    """Some bytes of an allocation, which can be used like one and lasts as long as the whole."""

    whole: Memory
    offset: int
    size_bytes: int

    def __post_init__(self) -> None:
        if self.offset < 0 or self.size_bytes < 0 or self.offset + self.size_bytes > self.whole.size_bytes:
            raise DeviceError(
                f"part must lie in the {self.whole.size_bytes} bytes of the whole, "
                f"got {self.size_bytes} bytes from byte {self.offset} on"
            )

    @property
    def pointer(self) -> int:
        """Address on the device; DeviceError after the whole was freed."""
        return self.whole.pointer + self.offset

    def free(self) -> None:
        """DeviceError: memory is freed as a whole."""
        raise DeviceError("memory must be freed as a whole, got a part of it")


@dataclass(frozen=True)
class Buffer:
    """Device memory with a numpy dtype and shape; it does not own the order of anything, only names the bytes."""

    device: Device
    memory: Memory
    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    @property
    def pointer(self) -> int:
        """Address on the device."""
        return self.memory.pointer

    @property
    def size_bytes(self) -> int:
        """Bytes of the data, which may be fewer than were allocated."""
        return int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize

    def download(self) -> np.ndarray[Any, Any]:
        """Return a copy of the contents as a numpy array of this dtype and shape."""
        array = np.empty(self.shape, self.dtype)
        self.device.read(self.memory, array)
        return array

    def upload(self, array: np.ndarray[Any, Any]) -> None:
        """Replace the contents; DeviceError unless dtype and shape are the buffer's own."""
        if array.dtype != self.dtype or array.shape != self.shape:
            raise DeviceError(
                f"uploaded array must be {self.dtype} of shape {self.shape}, got {array.dtype} of shape {array.shape}"
            )
        self.device.write(self.memory, np.ascontiguousarray(array))

    def free(self) -> None:
        """Give the allocation back."""
        self.memory.free()


def upload(device: Device, array: np.ndarray[Any, Any]) -> Buffer:
    """Allocate device memory that holds a copy of `array`."""
    array = np.asarray(array, order="C")
    buffer = Buffer(device, device.allocate(max(array.nbytes, 1)), array.dtype, array.shape)
    device.write(buffer.memory, array)
    return buffer
