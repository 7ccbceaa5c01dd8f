"""Streams and events."""

from cuda.bindings import driver

from warploom.engine.device.cuda.errors import check
from warploom.engine.device.cuda.memory import copy_address
from warploom.engine.device.cuda.ownership import DriverObjects
from warploom.engine.device.protocol import Event, Memory, PinnedArray, Stream
from warploom.engine.diagnostics import DeviceError

# Every frame calls these functions, so they are looked up once, and `check` is called only for errors.
_synchronize, _record, _synchronize_event = driver.cuStreamSynchronize, driver.cuEventRecord, driver.cuEventSynchronize


class CudaEvent:
    """A CUDA event, with a time (resolution about 0.5 us) if it is `timed`."""

    __slots__ = ("_objects", "_token", "handle")

    def __init__(self, objects: DriverObjects, *, timed: bool = True) -> None:
        flags = driver.CUevent_flags
        kind = flags.CU_EVENT_DEFAULT if timed else flags.CU_EVENT_DISABLE_TIMING
        handle = check(driver.cuEventCreate(kind), "cuEventCreate")
        self.handle = handle
        self._objects = objects
        self._token = objects.add(lambda: check(driver.cuEventDestroy(handle), "cuEventDestroy"))

    def elapsed_ns(self, since: Event) -> int:
        """Return the nanoseconds from `since` to this event.

        Raise DeviceError unless both were recorded and reached.
        """
        result = driver.cuEventElapsedTime(own_event(since).handle, self.handle)
        if result[0] == driver.CUresult.CUDA_ERROR_NOT_READY:
            raise DeviceError("event must be reached before its time is read, got one that is still to come")
        if result[0] == driver.CUresult.CUDA_ERROR_INVALID_HANDLE:
            raise DeviceError("event must be timed, and recorded before its time is read, got one that was not")
        return int(check(result, "cuEventElapsedTime") * 1e6)

    @property
    def is_reached(self) -> bool:
        """True when the work before the last record is done, or nothing was recorded. Reading this never waits."""
        (code,) = driver.cuEventQuery(self.handle)
        if code == driver.CUresult.CUDA_ERROR_NOT_READY:
            return False
        check((code,), "querying an event")
        return True

    def synchronize(self) -> None:
        """Wait until the event is reached."""
        result = _synchronize_event(self.handle)
        if result[0]:
            check(result, "waiting for an event")

    def destroy(self) -> None:
        """Release the event; no graph that records it may be launched afterwards."""
        self._objects.release(self._token)


class CudaStream:
    """A stream that does not wait for the default stream."""

    __slots__ = ("_objects", "_token", "handle")

    def __init__(self, objects: DriverObjects) -> None:
        handle = check(driver.cuStreamCreate(driver.CUstream_flags.CU_STREAM_NON_BLOCKING), "cuStreamCreate")
        self.handle = handle
        self._objects = objects
        self._token = objects.add(lambda: check(driver.cuStreamDestroy(handle), "cuStreamDestroy"))

    def record(self, event: Event) -> None:
        """Record `event` after the work so far."""
        recorded = event if type(event) is CudaEvent else own_event(event)
        result = _record(recorded.handle, self.handle)
        if result[0]:
            check(result, "recording an event")

    def wait(self, event: Event) -> None:
        """Let later work of this stream wait, on the GPU, for the last record of `event`; the caller doesn't wait."""
        check(driver.cuStreamWaitEvent(self.handle, own_event(event).handle, 0), "having a stream wait for an event")

    def copy(self, target: Memory | PinnedArray, source: Memory | PinnedArray, size_bytes: int) -> None:
        """Copy the first bytes in the stream's order. Raise DeviceError when either end has fewer."""
        to, at = copy_address(target, size_bytes, "copy target"), copy_address(source, size_bytes, "copy source")
        if size_bytes:
            check(driver.cuMemcpyAsync(to, at, size_bytes, self.handle), f"copy of {size_bytes} bytes")

    def synchronize(self) -> None:
        """Wait until all work so far is done."""
        result = _synchronize(self.handle)
        if result[0]:
            check(result, "waiting for a stream")

    def destroy(self) -> None:
        """Release the stream; the driver finishes its work first."""
        self._objects.release(self._token)


def own_stream(stream: Stream) -> CudaStream:
    """Return a stream of this device. Raise DeviceError when it is another device's."""
    if not isinstance(stream, CudaStream):
        raise DeviceError(f"stream must be a CUDA device's, got {type(stream).__name__}")
    return stream


def own_event(event: Event) -> CudaEvent:
    """Return an event of this device. Raise DeviceError when it is another device's."""
    if not isinstance(event, CudaEvent):
        raise DeviceError(f"event must be a CUDA device's, got {type(event).__name__}")
    return event
