"""The buffer pool: device memory in power-of-two buckets, which goes back to the pool instead of the driver."""

import logging
import threading

from warploom.engine.device.device import Device
from warploom.engine.device.protocol import Memory
from warploom.engine.device.releasing import release_all
from warploom.engine.diagnostics import DeviceError

_log = logging.getLogger(__name__)
#: Above this size an allocation is exact: a rounded one would waste too much.
LARGEST_BUCKET = 1 << 30
SMALLEST_BUCKET = 256
#: The pool keeps as many idle bytes as are in use, which a replaced graph can leave behind, or so many if that is more.
MOST_IDLE_BYTES = 256 << 20

#: An exact allocation is rounded up to a sixteenth of its power of two, so that the next graph may reuse it.
EXACT_CLASSES = 16


def exact_bytes(size_bytes: int) -> int:
    """Return the size of an exact allocation, at most 6 % more than requested."""
    if size_bytes <= SMALLEST_BUCKET * EXACT_CLASSES:
        return bucket_bytes(size_bytes)
    step = (1 << (size_bytes - 1).bit_length()) // (2 * EXACT_CLASSES)
    return -(-size_bytes // step) * step


def bucket_bytes(size_bytes: int) -> int:
    """Return the size of an allocation for a buffer: the next power of two up to 1 GB, the exact size above."""
    if size_bytes > LARGEST_BUCKET:
        return size_bytes
    return max(SMALLEST_BUCKET, 1 << (size_bytes - 1).bit_length()) if size_bytes else SMALLEST_BUCKET


class BufferPool:
    """Hands out zeroed memory and takes it back. Any thread may call it."""

    def __init__(self, device: Device) -> None:
        self._device = device
        #: Idle memory by size; the size that was released last comes last.
        self._free: dict[int, list[Memory]] = {}
        self._used: dict[int, Memory] = {}
        #: Bytes of the allocations that are in use, and of those that the pool holds besides.
        self.used_bytes = self.idle_bytes = 0
        self._lock = threading.RLock()  # the garbage collector may release a buffer at any time

    @property
    def allocated_bytes(self) -> int:
        """Bytes that the pool holds on the device, in use or not."""
        return self.used_bytes + self.idle_bytes

    def acquire(self, size_bytes: int, *, exact: bool = False, zeroed: bool = True) -> Memory:
        """Return memory of at least this size. Raise DeviceError with figures when there is not enough.

        Memory that is not `zeroed` has arbitrary contents.
        """
        size = exact_bytes(size_bytes) if exact else bucket_bytes(size_bytes)
        memory = self._take_idle(size)
        if memory is None:
            try:
                memory = self._device.allocate(size)
            except DeviceError:
                _log.info("the device has no %d bytes left; idle memory is given back to it", size)
                self.trim()  # idle memory of other sizes may make the room
                memory = self._device.allocate(size)
            _log.debug("allocated %d bytes", size)
        with self._lock:
            self._used[memory.pointer] = memory
            self.used_bytes += size
        if zeroed:
            try:
                self._device.fill(memory, 0)
            except BaseException:
                self.release(memory)
                raise
        return memory

    def release(self, memory: Memory, *, keep: bool = True) -> None:
        """Take back memory from this pool that no graph uses any more, and with `keep` False, free it.

        If too much is then idle, memory of the sizes that were not released for longest is freed. Memory that was lent
        is freed too, since another library's kernels may still use it: freeing it waits for them.
        """
        keep = keep and not memory.was_lent
        dropped = [] if keep else [memory]
        with self._lock:
            del self._used[memory.pointer]
            size = memory.size_bytes
            self.used_bytes -= size
            if keep:
                free = self._free[size] = self._free.pop(size, [])
                free.append(memory)
                self.idle_bytes += size
                while self.idle_bytes > max(self.used_bytes, MOST_IDLE_BYTES):
                    if (idle := self._take_idle()) is not None:
                        dropped.append(idle)
        release_all(*(each.free for each in dropped))

    def _take_idle(self, size: int | None = None) -> Memory | None:
        """Remove and return idle memory of a size, if there is any, or of the one that was not released for longest."""
        with self._lock:
            size = next(iter(self._free), 0) if size is None else size
            free = self._free.get(size)
            if not free:
                return None
            memory = free.pop()
            if not free:
                del self._free[size]
            self.idle_bytes -= size
            return memory

    def trim(self) -> None:
        """Free idle memory on the device."""
        with self._lock:
            idle = [memory for memories in self._free.values() for memory in memories]
            self._free.clear()
            self.idle_bytes = 0
        release_all(*(memory.free for memory in idle))

    def close(self) -> None:
        """Free all memory of the pool."""
        used = list(self._used.values())
        self._used.clear()
        self.used_bytes = 0
        release_all(self.trim, *(memory.free for memory in used))
