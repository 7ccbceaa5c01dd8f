"""`Slot`: the memory in which what was copied out of a graph waits for its reader."""

import time
from concurrent.futures import Executor

import numpy as np

from warploom.engine.device.device import Device
from warploom.engine.device.protocol import Memory, PinnedArray
from warploom.engine.diagnostics import DeviceError
from warploom.engine.runtime.memory.buffer_pool import BufferPool, exact_bytes

#: How long closing waits for a reader that is copying a picture.
_PATIENCE_S = 1.0


class Slot:
    """A pinned array for one sample, and device memory where needed; both are reused for the next samples.

    The engine fills a free slot and offers it to a reader, which copies the contents and frees the slot.
    """

    def __init__(self, device: Device, pool: BufferPool) -> None:
        self._device, self._pool = device, pool
        self._pinned: PinnedArray | None = None
        self._memory: Memory | None = None
        #: Cleared by the engine before it fills the slot, set by the reader that has copied the contents.
        self.is_free = True
        #: The size for which there was no memory, and why.
        self.refused: tuple[int, str] = (0, "")

    @property
    def memory(self) -> Memory:
        """Device memory of at least the reserved size."""
        assert self._memory is not None
        return self._memory

    @property
    def pinned(self) -> PinnedArray:
        """The pinned array, of at least the reserved size."""
        assert self._pinned is not None
        return self._pinned

    def fits(self, size_bytes: int, *, on_device: bool) -> bool:
        """True when there is room for so many bytes, with `on_device` in device memory too."""
        if self._pinned is None or self._pinned.array.nbytes < size_bytes:
            return False
        return not on_device or (self._memory is not None and self._memory.size_bytes >= size_bytes)

    def make_room(self, size_bytes: int, *, on_device: bool, beside: Executor, wait: bool) -> bool | None:
        """Return whether a free slot has room for so many bytes; None while a thread reserves memory for it.

        With `wait`, the memory is waited for. If there is none, `refused` has the reason.
        """
        if self.fits(size_bytes, on_device=on_device):
            return True
        if self.refused[0] == size_bytes:
            return False
        self.is_free = False
        reserving = beside.submit(self.reserve, size_bytes, on_device=on_device)
        if not wait:
            return None
        reserving.result()
        return self.fits(size_bytes, on_device=on_device)

    def reserve(self, size_bytes: int, *, on_device: bool) -> None:
        """Make room, on any thread while the slot is not in use; then the slot is free.

        Locking the pages of a large picture takes some ms. Without memory, `refused` has the reason.
        """
        try:
            self._device.activate()
            if self._pinned is None or self._pinned.array.nbytes < size_bytes:
                pinned, self._pinned = self._pinned, None
                if pinned is not None:
                    pinned.free()
                self._pinned = self._device.pinned(np.zeros(exact_bytes(size_bytes), np.uint8))
            if on_device and (self._memory is None or self._memory.size_bytes < size_bytes):
                memory, self._memory = self._memory, None
                if memory is not None:
                    self._pool.release(memory)
                self._memory = self._pool.acquire(size_bytes, exact=True)
        except (DeviceError, MemoryError) as problem:
            self.refused = size_bytes, str(problem)
        finally:
            self.is_free = True

    def close(self) -> None:
        """Free all resources, after a reader that is copying; the device must be done with the slot."""
        deadline = time.monotonic() + _PATIENCE_S
        while not self.is_free and time.monotonic() < deadline:
            time.sleep(0.001)
        pinned, memory, self._pinned, self._memory = self._pinned, self._memory, None, None
        if memory is not None:
            self._pool.release(memory)
        if pinned is not None:
            pinned.free()
