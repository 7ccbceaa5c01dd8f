"""Library calls as graphs: a library's work on a stream is captured instead of run."""

from __future__ import annotations

import logging
import threading
import weakref
from typing import Any

from cuda.bindings import driver

from warploom.engine.device.cuda.errors import check
from warploom.engine.device.cuda.ownership import DriverObjects
from warploom.engine.device.cuda.stream import CudaStream
from warploom.engine.device.protocol import Capture, Issue
from warploom.engine.diagnostics import DeviceError

_log = logging.getLogger(__name__)
#: In this mode, other threads may allocate and load modules during a capture, and so may the library.
_RELAXED = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED


class CudaCapture:
    """The driver's graph of a library's work. It is released when nothing refers to this object any more."""

    def __init__(self, objects: DriverObjects, label: str, issue: Issue, handle: Any) -> None:
        self.label, self.handle = label, handle
        #: Held during calls that read the driver's graph, since several graphs copy it.
        self.lock = threading.Lock()
        #: Keeps data alive that the library's kernels read, such as the tables of a plan.
        self._issue = issue
        token = objects.add(lambda: check(driver.cuGraphDestroy(handle), "cuGraphDestroy"))
        weakref.finalize(self, objects.release, token).atexit = False


class CallRecorder:
    """Captures library calls, one at a time, on a stream of its own."""

    def __init__(self, objects: DriverObjects) -> None:
        self._objects = objects
        self._lock = threading.Lock()
        self._stream: CudaStream | None = None

    def capture(self, label: str, issue: Issue) -> CudaCapture:
        """Return the calls of `issue` as a graph. Raise DeviceError when `issue` fails or can't be captured."""
        with self._lock:
            if self._stream is None:
                self._stream = CudaStream(self._objects)
            stream = self._stream
            check(driver.cuStreamBeginCapture(stream.handle, _RELAXED), f"capturing {label}")
            try:
                issue(stream)
            except BaseException as problem:
                self._give_up()
                if isinstance(problem, Exception) and not isinstance(problem, DeviceError):
                    text = f"{label} must be captured, got {type(problem).__name__}: {problem}"
                    raise DeviceError(text) from problem
                raise
            result = driver.cuStreamEndCapture(stream.handle)
            if result[0]:
                self._give_up()
            handle = check(result, f"capturing {label}")
        _log.debug("captured %s", label)
        return CudaCapture(self._objects, label, issue, handle)

    def _give_up(self) -> None:
        """Drop the capture so far, and the stream, which a failed capture may leave unusable."""
        stream, self._stream = self._stream, None
        assert stream is not None
        code, handle = driver.cuStreamEndCapture(stream.handle)
        if not code and handle:
            driver.cuGraphDestroy(handle)
        stream.destroy()


def own_capture(capture: Capture) -> CudaCapture:
    """Return captured work of this device. Raise DeviceError when it is another device's."""
    if not isinstance(capture, CudaCapture):
        raise DeviceError(f"captured work must be a CUDA device's, got {type(capture).__name__}")
    return capture
