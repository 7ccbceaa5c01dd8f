"""The CUDA device, which creates all other objects of this room and transfers data."""

import logging
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from cuda.bindings import driver

from warploom.engine.device.arguments import pack_arguments
from warploom.engine.device.cuda.errors import DeviceFault, check
from warploom.engine.device.cuda.graph.backend import CudaGraphBackend
from warploom.engine.device.cuda.graph.capture import CallRecorder, CudaCapture
from warploom.engine.device.cuda.launch import argument_pointers, check_launch
from warploom.engine.device.cuda.memory import CudaMemory, CudaPinnedArray, adopt, allocate
from warploom.engine.device.cuda.module import CudaModule, own_kernel
from warploom.engine.device.cuda.ownership import DriverObjects
from warploom.engine.device.cuda.probe import capability, describe_device, start_driver, why_unusable
from warploom.engine.device.cuda.stream import CudaEvent, CudaStream, own_stream
from warploom.engine.device.device import Buffer, check_issue, checked_time_limit, launch_config, upload, whole_number
from warploom.engine.device.external import described
from warploom.engine.device.graph import Graph
from warploom.engine.device.launches import check_waiting
from warploom.engine.device.lending import LEGACY_STREAM
from warploom.engine.device.optimiser import OptimiserJob
from warploom.engine.device.protocol import BestCode, Issue, LoadedKernel, Memory, Stream
from warploom.engine.diagnostics import DeviceError, KernelError

_log = logging.getLogger(__name__)
#: The oldest compute capability with kernels that can wait for earlier ones.
_OLDEST_WITH_WAIT = (9, 0)

_get_current = driver.cuCtxGetCurrent


class CudaDevice:
    """One GPU, used through its primary context, which other CUDA libraries in this process share.

    Transfers, and launches outside graphs, use the device's own stream and run in the order of the calls.
    """

    def __init__(self, ordinal: int = 0, *, plain_edges: bool = False) -> None:
        """With `plain_edges`, each node of a graph starts when the nodes that it waits for are complete.

        Without it, graphs have programmatic edges between kernels on devices of compute capability 9.0 or later.
        """
        count = start_driver()
        if not 0 <= ordinal < count:
            raise DeviceError(f"CUDA device must be from cuda:0 to cuda:{count - 1}, got cuda:{ordinal}")
        if reason := why_unusable(ordinal):
            raise DeviceError(f"device cuda:{ordinal} cannot be used: {reason}")
        self.info = describe_device(ordinal)
        self._ordinal = ordinal
        self._handle = check(driver.cuDeviceGet(ordinal), "cuDeviceGet")
        self._context = check(driver.cuDevicePrimaryCtxRetain(self._handle), f"opening device cuda:{ordinal}")
        self._context_address = int(self._context)
        self._objects = DriverObjects()
        #: The jobs that optimise kernels in the background.
        self._jobs: weakref.WeakSet[OptimiserJob] = weakref.WeakSet()
        self._has_programmatic_edges = not plain_edges and capability(self._handle) >= _OLDEST_WITH_WAIT
        self._closed = False
        self.activate()
        self._stream = self.create_stream()
        self._scratch = self.allocate(1)
        self._recorder = CallRecorder(self._objects)

    @property
    def memory_free_bytes(self) -> int:
        """Bytes of free memory on the GPU."""
        free, _ = check(driver.cuMemGetInfo(), "cuMemGetInfo")
        return int(free)

    @property
    def is_usable(self) -> bool:
        """False after a kernel's bad access, trap and the like: every further call then fails."""
        return not driver.cuCtxSynchronize()[0]

    def set_kernel_time_limit(self, limit_s: float | None) -> None:
        """Check the limit, which has no effect: nothing can stop a kernel on a GPU."""
        checked_time_limit(limit_s)

    def interrupt(self) -> None:
        """Do nothing: nothing can stop a kernel on a GPU."""

    def activate(self) -> None:
        """Make the device's context current on the calling thread. Checking first takes half the time of setting it."""
        result = _get_current()
        if result[0] or int(result[1]) != self._context_address:
            check(driver.cuCtxSetCurrent(self._context), "cuCtxSetCurrent")

    @contextmanager
    def shared(self) -> Iterator["CudaDevice"]:
        """Open the same GPU once more, in the same context, which is current on the calling thread."""
        device = CudaDevice(self._ordinal)
        try:
            yield device
        finally:
            device.close()

    def allocate(self, size_bytes: int) -> CudaMemory:
        """Allocate at least one byte. On failure, the DeviceError has the requested and the free size."""
        size_bytes = whole_number("size of an allocation", size_bytes)
        return allocate(self._objects, size_bytes)

    def adopt(self, array: object) -> CudaMemory:
        """Return the memory of an array on this GPU, for use in place; `free` returns it to its owner."""
        with described(array) as external:
            return adopt(self._objects, external, self._ordinal)

    def upload(self, array: np.ndarray[Any, Any]) -> Buffer:
        """Allocate a buffer that holds a copy of `array`, of its dtype and shape."""
        return upload(self, array)

    def pinned(self, array: np.ndarray[Any, Any]) -> CudaPinnedArray:
        """Create a page-locked copy of `array` for copy nodes."""
        return CudaPinnedArray(self._objects, array)

    def write(self, target: Memory, array: np.ndarray[Any, Any]) -> None:
        """Copy a host array to the start of `target` and wait."""
        array = np.ascontiguousarray(array)
        _check_fits(array.nbytes, target)
        if array.nbytes:
            check(
                driver.cuMemcpyHtoDAsync(target.pointer, array.ctypes.data, array.nbytes, self._stream.handle),
                f"upload of {array.nbytes} bytes",
            )
            self._stream.synchronize()

    def read(self, source: Memory, array: np.ndarray[Any, Any]) -> None:
        """Fill a C-contiguous host array from the start of `source` and wait."""
        if not array.flags.c_contiguous:
            raise DeviceError("array to read into must be C-contiguous, got a strided one")
        _check_fits(array.nbytes, source)
        if array.nbytes:
            check(
                driver.cuMemcpyDtoHAsync(array.ctypes.data, source.pointer, array.nbytes, self._stream.handle),
                f"download of {array.nbytes} bytes",
            )
            self._stream.synchronize()

    def fill(self, target: Memory, value: int) -> None:
        """Set every byte of `target` to `value` (0 to 255) and wait."""
        value = whole_number("fill value", value)
        if not 0 <= value <= 255:
            raise DeviceError(f"fill value must be from 0 to 255, got {value}")
        size = target.size_bytes
        check(driver.cuMemsetD8Async(target.pointer, value, size, self._stream.handle), f"fill of {size} bytes")
        self._stream.synchronize()

    def load_module(self, image: str | bytes, *, best: BestCode | None = None) -> CudaModule:
        """Load PTX text or CUBIN bytes. If these are wrong, raise KernelError with the driver's log, and the line of
        PTX.

        A CUBIN has only the offsets and sizes of its kernels' parameters, not their types.
        """
        if not isinstance(image, (str, bytes)):
            raise KernelError(f"module must be PTX text or CUBIN bytes, got {type(image).__name__}")
        module = CudaModule(
            self._objects, image, best, self.activate, self.info.limits, may_wait=self._has_programmatic_edges
        )
        if module.job is not None:
            self._jobs.add(module.job)
        return module

    def launch(
        self,
        kernel: LoadedKernel,
        grid: Sequence[int],
        thread_block: Sequence[int],
        args: Sequence[object],
        shared_bytes: int = 0,
        stream: Stream | None = None,
    ) -> None:
        """Launch a kernel once. Later transfers wait for it, but other streams don't. Missing extents are 1.

        The thread blocks of a kernel of PTX text may wait for each other. Raise DeviceError if they can't run at once.
        """
        own = own_kernel(kernel)
        config = launch_config(grid, thread_block, shared_bytes)
        check_launch(own, config)
        arguments = pack_arguments(own.parameters, args)
        pointers = argument_pointers(own, arguments)
        on = self._stream if stream is None else own_stream(stream)
        launch = own.handle, *config.grid, *config.thread_block, shared_bytes, on.handle, pointers.address
        if own.is_cooperative:
            found = own.occupancy(config)
            if found is not None:
                check_waiting(own.name, config, self.info.cores * found.thread_blocks)
            result = driver.cuLaunchCooperativeKernel(*launch)
        else:
            result = driver.cuLaunchKernel(*launch, 0)
        check(result, f"launching kernel {own.name}")

    def capture(self, label: str, issue: Issue) -> CudaCapture:
        """Record the kernels and copies that a library issues for `issue`; they are not run now."""
        check_issue(label, issue)
        return self._recorder.capture(label, issue)

    def synchronize(self) -> None:
        """Wait until the device has completed all its work."""
        check(driver.cuCtxSynchronize(), "waiting for the device")

    def synchronize_default_stream(self) -> None:
        """Wait for the work that other libraries have put into the default stream."""
        check(driver.cuStreamSynchronize(driver.CUstream(LEGACY_STREAM)), "waiting for the default stream")

    def order_after(self, consumer: int, producer: Stream | None) -> None:
        """Let a stream, by its handle, wait on the GPU for the work so far of a stream of this device."""
        event = self.create_event(timed=False)
        try:
            (self._stream if producer is None else producer).record(event)
            check(
                driver.cuStreamWaitEvent(driver.CUstream(consumer), event.handle, 0),
                "having another library's stream wait",
            )
        finally:
            event.destroy()  # the driver keeps it until the stream has waited

    def create_stream(self) -> CudaStream:
        """Make a stream."""
        return CudaStream(self._objects)

    def create_event(self, *, timed: bool = True) -> CudaEvent:
        """Create an event; recording one that is not timed takes the GPU a microsecond less."""
        return CudaEvent(self._objects, timed=timed)

    def create_graph(self) -> Graph:
        """Make an empty graph."""
        return Graph(CudaGraphBackend(self._objects, self._context, self._scratch))

    def close(self) -> None:
        """Wait for all work, then release everything, including the context. A second call does nothing."""
        if self._closed:
            return
        self._closed = True
        for job in tuple(self._jobs):
            job.cancel()
            job.run()  # waits if the job has started
        try:
            self.activate()
            self.synchronize()
            self._objects.release_all()
            check(driver.cuDevicePrimaryCtxRelease(self._handle), "cuDevicePrimaryCtxRelease")
        except DeviceFault as fault:
            # After a fault, nothing can be released before the process ends.
            _log.warning("device %s was closed after a fault: %s", self.info.name, fault)


def _check_fits(size_bytes: int, memory: Memory) -> None:
    if size_bytes > memory.size_bytes:
        raise DeviceError(f"array must fit in the memory's {memory.size_bytes} bytes, got {size_bytes}")
