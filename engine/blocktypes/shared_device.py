"""The engine's device on a thread of a live block: kernels that run beside the frames, and memory for their results."""

import logging
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

from warploom.engine.descriptions.entries import Kernel
from warploom.engine.device.device import Device
from warploom.engine.device.dlpack import DlpackTensor
from warploom.engine.device.protocol import LoadedKernel, Memory, Module, Stream
from warploom.engine.kernel_sources.loader import find_source, load_image

_log = logging.getLogger(__name__)
#: How often, and how long, a device that is to be closed looks for memory that has come back, in seconds.
_PERIOD_S, _PATIENCE_S = 0.01, 5.0


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
    """A device for one thread beside the engine's, with a stream of its own. `SharedDevices` has them."""

    def __init__(self, device: Device, stream: Stream, leave: Callable[[], None]) -> None:
        self._device, self._stream, self._leave = device, stream, leave
        self._modules: dict[str, Module] = {}
        self._memory: list[Memory] = []
        self._free: deque[Memory] = deque()
        self._size_bytes = 0

    def activate(self) -> None:
        """Make the device current on the calling thread."""
        self._device.activate()

    def take(self, size_bytes: int) -> LentMemory:
        """Return memory of a size; that of the size before is freed. Raise DeviceError if there is not enough."""
        if size_bytes != self._size_bytes:
            self._size_bytes = size_bytes
            self._free_memory()
        while self._free:
            memory = self._free.popleft()
            if memory.size_bytes == size_bytes:
                return self._lend(memory)
            self._release(memory)
        self._memory.append(memory := self._device.allocate(size_bytes))
        return self._lend(memory)

    def _lend(self, memory: Memory) -> LentMemory:
        lent = LentMemory(memory)
        weakref.finalize(lent, self._free.append, memory).atexit = False  # on any thread
        return lent

    def hold(self, array: Any) -> DlpackTensor:
        """Hold an array of another library, by its `__dlpack__`. While `release` frees it, other threads run."""
        return DlpackTensor(array.__dlpack__())

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
        """Free everything, once all lent memory is back. What stays lent for long is left to the end of the program."""
        until_s = time.monotonic() + _PATIENCE_S
        while len(self._free) < len(self._memory):
            if time.monotonic() > until_s:
                _log.warning("device %s stays open, since its memory is in use", self._device.info.name)
                return
            time.sleep(_PERIOD_S)
        self.activate()
        self._stream.destroy()
        self._free_memory()
        for module in self._modules.values():
            module.unload()
        self._leave()

    def _free_memory(self) -> None:
        while self._free:
            self._release(self._free.popleft())

    def _release(self, memory: Memory) -> None:
        self._memory.remove(memory)
        memory.free()

    def _load(self, kernel: Kernel) -> LoadedKernel:
        if kernel.label not in self._modules:
            architecture = self._device.info.architecture
            image = load_image(find_source(kernel.source, entry=kernel.entry), architecture)
            self._modules[kernel.label] = self._device.load_module(image.payload(architecture))
        return self._modules[kernel.label].kernel(kernel.entry)


class SharedDevices:
    """The devices that threads of live blocks share with the engine's. One that a thread has left serves the next one.

    So the end of a film frees nothing, for which a GPU would hold up all threads.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self._idle: deque[SharedDevice] = deque()
        self._is_closed = False

    @contextmanager
    def share(self) -> Iterator[SharedDevice]:
        """Return a context in which the calling thread has a device of its own on the same GPU, and this is current.

        It may outlast the engine's device.
        """
        try:
            shared = self._idle.pop()
        except IndexError:
            context = ExitStack()
            own = context.enter_context(self._device.shared())
            shared = SharedDevice(own, own.create_stream(), context.close)
        shared.activate()
        try:
            yield shared
        finally:
            self._idle.append(shared)
            if self._is_closed:
                self.close()

    def close(self) -> None:
        """Close the devices that no thread has; a thread closes its own at its end."""
        self._is_closed = True
        with suppress(IndexError):
            while True:
                self._idle.pop().close()
