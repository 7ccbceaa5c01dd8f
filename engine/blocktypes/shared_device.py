"""The engine's device on a thread of a live block: kernels that run beside the frames, and memory for their results."""

import time
import weakref
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from warploom.engine.descriptions.entries import Kernel
from warploom.engine.device.device import Device
from warploom.engine.device.protocol import LoadedKernel, Memory, Module, Stream
from warploom.engine.kernel_sources.loader import find_source, load_image

#: How often a device that is to be closed looks for memory that has come back, in seconds.
_PERIOD_S = 0.05


class LentMemory:
    """Memory on a device that is used again once nothing refers to this object."""

    __slots__ = ("__weakref__", "memory")

    def __init__(self, memory: Memory) -> None:
        self.memory = memory

    @property
    def size_bytes(self) -> int:
        """The size of the memory."""
        return self.memory.size_bytes


class SharedDevice:
    """A device for one thread beside the engine's, with a stream of its own. `shared_device` makes one."""

    def __init__(self, device: Device, stream: Stream) -> None:
        self._device = device
        self._stream = stream
        self._modules: dict[str, Module] = {}
        self._memory: list[Memory] = []
        self._free: deque[Memory] = deque()

    def take(self, size_bytes: int) -> LentMemory:
        """Return memory of a size, the same in each call. Raise DeviceError if there is not enough."""
        if self._free:
            memory = self._free.popleft()
        else:
            memory = self._device.allocate(size_bytes)
            self._memory.append(memory)
        lent = LentMemory(memory)
        weakref.finalize(lent, self._free.append, memory).atexit = False  # on any thread
        return lent

    def run(self, kernel: Kernel, num_threads: Sequence[int], args: Sequence[object]) -> None:
        """Launch a kernel of Warploom's on an area of threads. It is compiled for the first launch."""
        loaded = self._load(kernel)
        columns, rows = num_threads
        self._device.launch(loaded, (-(-columns // 256), rows), (256,), args, stream=self._stream)

    def wait(self) -> None:
        """Wait until what was launched is done."""
        self._stream.synchronize()

    def wait_for_others(self) -> None:
        """Wait until what other libraries have put into the default stream is done."""
        self._device.synchronize_default_stream()

    def close(self) -> None:
        """Wait until all lent memory is back, and free everything."""
        while len(self._free) < len(self._memory):
            time.sleep(_PERIOD_S)
        self._stream.destroy()
        for memory in self._memory:
            memory.free()
        for module in self._modules.values():
            module.unload()

    def _load(self, kernel: Kernel) -> LoadedKernel:
        if kernel.label not in self._modules:
            architecture = self._device.info.architecture
            image = load_image(find_source(kernel.source, entry=kernel.entry), architecture)
            self._modules[kernel.label] = self._device.load_module(image.payload(architecture))
        return self._modules[kernel.label].kernel(kernel.entry)


@contextmanager
def shared_device(device: Device) -> Iterator[SharedDevice]:
    """Return a context in which the calling thread has a device of its own on the same GPU, and this is current.

    It may outlast the given device. At the end, it waits for memory that is still lent.
    """
    with device.shared() as own:
        shared = SharedDevice(own, own.create_stream())
        try:
            yield shared
        finally:
            shared.close()
