"""The host device: the Device protocol on this computer's CPU."""

import math
import re
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

import numpy as np

from warploom.engine.device.arguments import pack_arguments
from warploom.engine.device.device import (
    HOST_ARCHITECTURE,
    Buffer,
    DeviceInfo,
    check_issue,
    checked_time_limit,
    launch_config,
    upload,
    whole_number,
)
from warploom.engine.device.external import described
from warploom.engine.device.graph import Graph
from warploom.engine.device.host.events import HostCapture, HostEvent, HostStream
from warploom.engine.device.host.graph.backend import HostGraphBackend
from warploom.engine.device.host.launch import Launch
from warploom.engine.device.host.memory import (
    AllocationTable,
    HostMemory,
    HostPinnedArray,
    adopt,
    allocate,
    bytes_of,
    copy,
)
from warploom.engine.device.host.modules.module import HostModule, own_kernel
from warploom.engine.device.host.pool import MOST_AT_ONCE, Pool
from warploom.engine.device.host.watchdog import Watchdog
from warploom.engine.device.launches import check_waiting
from warploom.engine.device.protocol import BestCode, Issue, LoadedKernel, Memory, Stream
from warploom.engine.diagnostics import DeviceError, KernelError
from warploom.engine.platforms.memory import free_bytes, total_bytes
from warploom.engine.platforms.processor import processor_name

_CUBIN_MAGIC = b"\x7fELF"
#: They are read once: otherwise, it would take twice as long to make a device.
_title, _memory_bytes = cache(processor_name), cache(total_bytes)
#: Functions of PTX that need a heap.
_HEAP_FUNCTIONS = ("malloc", "free")


class HostDevice:
    """Runs PTX on the CPU.

    `cores` limits the number of CPU threads; `kernel_time_limit_s` is as in `set_kernel_time_limit`. With
    `quick_first`, kernels run in quickly compiled code until they are optimised; without it, `load_module` waits for
    optimised code.
    """

    def __init__(
        self, cores: int | None = None, kernel_time_limit_s: float | None = None, *, quick_first: bool = True
    ) -> None:
        self._quick_first = quick_first
        self.watchdog = Watchdog(None)
        self.set_kernel_time_limit(kernel_time_limit_s)
        self.pool = Pool(cores, self.watchdog)
        self.table = AllocationTable()
        self._is_open = True
        self.info = DeviceInfo(
            "host",
            _title(),
            HOST_ARCHITECTURE,
            _memory_bytes(),
            self.pool.cores,
            has_own_memory=False,
            is_asynchronous=False,
            checks_accesses=True,
            waiting_blocks=MOST_AT_ONCE,
        )

    @property
    def memory_free_bytes(self) -> int:
        """Bytes of this computer's memory that are free without swapping."""
        return free_bytes()

    def activate(self) -> None:
        """Do nothing: any thread may use the host."""

    def shared(self) -> "AbstractContextManager[HostDevice]":
        """Return a context that has this device."""
        return nullcontext(self)

    def allocate(self, size_bytes: int) -> HostMemory:
        """Allocate zeroed memory. Raise DeviceError when there is not enough."""
        self._check_open()
        size_bytes = whole_number("size of an allocation", size_bytes)
        if size_bytes > self.info.memory_bytes:
            raise DeviceError(
                f"host: allocation must fit in memory, got {size_bytes} of {self.info.memory_bytes} bytes"
            )
        return allocate(self.table, size_bytes)

    def adopt(self, array: object) -> HostMemory:
        """Return the memory of an array on the CPU, for use in place; `free` returns it to its owner."""
        self._check_open()
        with described(array) as external:
            return adopt(self.table, external)

    def upload(self, array: np.ndarray[Any, Any]) -> Buffer:
        """Allocate a buffer that holds a copy of `array`, of its dtype and shape."""
        return upload(self, array)

    def pinned(self, array: np.ndarray[Any, Any]) -> HostPinnedArray:
        """Return a pinned array that holds a copy of `array`."""
        return HostPinnedArray(array)

    def write(self, target: Memory, array: np.ndarray[Any, Any]) -> None:
        """Copy a host array to the start of `target`."""
        data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        copy(bytes_of(target, data.size, "write target"), data)

    def read(self, source: Memory, array: np.ndarray[Any, Any]) -> None:
        """Fill a C-contiguous host array from the start of `source`."""
        if not array.flags.c_contiguous:
            raise DeviceError("host: array to read into must be C-contiguous, got strides; use numpy.empty")
        data = array.reshape(-1).view(np.uint8)
        copy(data, bytes_of(source, data.size, "read source"))

    def fill(self, target: Memory, value: int) -> None:
        """Set every byte of `target`."""
        if not 0 <= whole_number("fill value", value) <= 255:
            raise DeviceError(f"host: fill value must be 0 to 255, got {value}")
        bytes_of(target, target.size_bytes, "fill target").fill(value)

    def load_module(self, image: str | bytes, *, best: BestCode | None = None) -> HostModule:
        """Compile PTX for this CPU. Raise KernelError, with the line where known, if that is impossible."""
        self._check_open()
        if isinstance(image, bytes):
            if image.startswith(_CUBIN_MAGIC):
                raise KernelError(f"host: module must be PTX text, got a CUBIN; compile for {HOST_ARCHITECTURE}")
            image = image.decode(errors="replace")
        if not isinstance(image, str):
            raise KernelError(f"host: module must be PTX text, got {type(image).__name__}")
        if any(name in image and re.search(rf"\b{name}\b", image) for name in _HEAP_FUNCTIONS):
            self.pool.services.open_heap(self.table)
        return HostModule(image, self.table, best=best, quick_first=self._quick_first)

    def launch(
        self,
        kernel: LoadedKernel,
        grid: Sequence[int],
        thread_block: Sequence[int],
        args: Sequence[object],
        shared_bytes: int = 0,
        stream: Stream | None = None,
    ) -> None:
        """Launch a kernel once, and wait. Each argument is a `Buffer`, a numpy scalar or a Python number.

        Ctrl+C on the main thread stops it with KeyboardInterrupt; the device stays usable.
        """
        self._check_open()
        own = own_kernel(kernel, self.table)
        config = launch_config(grid, thread_block, shared_bytes)
        if own.is_cooperative:
            check_waiting(own.name, config, MOST_AT_ONCE)
        launch = Launch(own, config, pack_arguments(own.parameters, args))
        own.settle(math.prod(config.grid))
        with self.watchdog:
            launch.run(self.pool, self.table)

    def capture(self, label: str, issue: Issue) -> HostCapture:
        """Return a capture of a library call, which is made each time a graph reaches it."""
        self._check_open()
        check_issue(label, issue)
        return HostCapture(label, issue)

    @property
    def is_usable(self) -> bool:
        """True: a kernel's accesses are checked, so a bad one breaks nothing."""
        return True

    def set_kernel_time_limit(self, limit_s: float | None) -> None:
        """Stop each kernel, and each loop, that computes for more than `limit_s` seconds; None means no limit.

        Only time in which this process has a processor counts; time that other programs take doesn't.
        """
        self.watchdog.limit_s = checked_time_limit(limit_s)

    def interrupt(self) -> None:
        """Stop the running kernel or graph, from any thread. Its launch raises KernelFault within 100 ms."""
        self.watchdog.interrupt()

    def synchronize(self) -> None:
        """Return at once: nothing is pending."""

    def synchronize_default_stream(self) -> None:
        """Do nothing: other libraries have no streams on the host."""

    def order_after(self, consumer: int, producer: Stream | None) -> None:
        """Do nothing: all work is done when a call returns."""

    def create_stream(self) -> HostStream:
        """Return a stream."""
        return HostStream()

    def create_event(self, *, timed: bool = True) -> HostEvent:
        """Return an event, which always has a time."""
        return HostEvent()

    def create_graph(self) -> Graph:
        """Return an empty graph."""
        self._check_open()
        return Graph(HostGraphBackend(self.pool, self.table))

    def close(self) -> None:
        """Stop running work, free all memory and end the worker threads."""
        if self._is_open:
            self._is_open = False
            self.watchdog.close()
            self.pool.close()
            self.table.free_all()

    def _check_open(self) -> None:
        if not self._is_open:
            raise DeviceError("host: device must not be used after close")
