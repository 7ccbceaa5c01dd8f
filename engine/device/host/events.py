"""Events, streams and captured work of the host device."""

import time

from warploom.engine.device.host.memory import bytes_of, copy
from warploom.engine.device.protocol import Capture, Event, Issue, Memory, PinnedArray
from warploom.engine.diagnostics import DeviceError


class HostEvent:
    """The time at which the work before the event was finished."""

    def __init__(self) -> None:
        self.time_ns: int | None = None

    def reach(self) -> None:
        """Record the time."""
        self.time_ns = time.perf_counter_ns()

    def elapsed_ns(self, since: Event) -> int:
        """Return the nanoseconds since another event. Raise DeviceError when either has not been recorded."""
        before_ns = own_event(since).time_ns
        if self.time_ns is None or before_ns is None:
            raise DeviceError("host: event must be recorded before its time is read")
        return self.time_ns - before_ns

    @property
    def is_reached(self) -> bool:
        """True: all earlier work is done when an event is recorded."""
        return True

    def synchronize(self) -> None:
        """Return at once: nothing is pending."""

    def destroy(self) -> None:
        """Forget the time."""
        self.time_ns = None


class HostStream:
    """A stream on the host, where each call returns when its work is done."""

    def record(self, event: Event) -> None:
        """Record the event's time now."""
        own_event(event).reach()

    def wait(self, event: Event) -> None:
        """Return at once: the work before an event is always done."""
        own_event(event)

    def copy(self, target: Memory | PinnedArray, source: Memory | PinnedArray, size_bytes: int) -> None:
        """Copy the first bytes now. Raise DeviceError when either end has fewer."""
        copy(bytes_of(target, size_bytes, "copy target"), bytes_of(source, size_bytes, "copy source"))

    def synchronize(self) -> None:
        """Return at once: nothing is pending."""

    def destroy(self) -> None:
        """Do nothing: a stream holds nothing."""


class HostCapture:
    """A library call that is made each time a graph reaches it."""

    def __init__(self, label: str, issue: Issue) -> None:
        self.label = label
        self._issue = issue

    def run(self) -> None:
        """Call the library. Raise DeviceError when the call fails."""
        try:
            self._issue(HostStream())
        except DeviceError:
            raise
        except Exception as problem:
            raise DeviceError(f"host: {self.label} must run, got {type(problem).__name__}: {problem}") from problem


def own_capture(capture: Capture) -> HostCapture:
    """Return captured work of this device. Raise DeviceError when it is another device's."""
    if not isinstance(capture, HostCapture):
        raise DeviceError(f"captured work must be the host device's, got {type(capture).__name__}")
    return capture


def own_event(event: Event) -> HostEvent:
    """Return an event of the host. Raise DeviceError when it is another device's."""
    if not isinstance(event, HostEvent):
        raise DeviceError(f"host: event must be the host device's, got {type(event).__name__}")
    return event
