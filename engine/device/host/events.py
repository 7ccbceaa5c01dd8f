"""Events and streams of the host device."""

from __future__ import annotations

import time

from engine.device.host.memory import bytes_of, copy
from engine.device.protocol import Event, Memory, PinnedArray
from engine.diagnostics import DeviceError


class HostEvent:
    """A time stamp, taken when the work before it is done."""

    def __init__(self) -> None:
        self.time_ns: int | None = None

    def reach(self) -> None:
        """Take the time."""
        self.time_ns = time.perf_counter_ns()

    def elapsed_ns(self, since: Event) -> int:
        """Nanoseconds since another event; DeviceError when either has not been recorded."""
        before_ns = own_event(since).time_ns
        if self.time_ns is None or before_ns is None:
            raise DeviceError("host: event must be recorded before its time is read")
        return self.time_ns - before_ns

    @property
    def is_reached(self) -> bool:
        """True: what was recorded is done."""
        return True

    def synchronize(self) -> None:
        """Return at once: nothing is pending."""

    def destroy(self) -> None:
        """Forget the time."""
        self.time_ns = None


class HostStream:
    """Work in order: on the host it is done when the call that gave it returns."""

    def record(self, event: Event) -> None:
        """Take the event's time now."""
        own_event(event).reach()

    def wait(self, event: Event) -> None:
        """Return at once: what an event stands for is done."""
        own_event(event)

    def copy(self, target: Memory | PinnedArray, source: Memory | PinnedArray, size_bytes: int) -> None:
        """Copy the first bytes now; DeviceError when either has fewer."""
        copy(bytes_of(target, size_bytes, "copy target"), bytes_of(source, size_bytes, "copy source"))

    def synchronize(self) -> None:
        """Return at once: nothing is pending."""

    def destroy(self) -> None:
        """Nothing is held."""


def own_event(event: Event) -> HostEvent:
    """Return the event as the host's; DeviceError when it is another device's."""
    if not isinstance(event, HostEvent):
        raise DeviceError(f"host: event must be the host device's, got {type(event).__name__}")
    return event
