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
        assert isinstance(since, HostEvent)
        if self.time_ns is None or since.time_ns is None:
            raise DeviceError("host: event must be recorded before its time is read")
        return self.time_ns - since.time_ns

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
        assert isinstance(event, HostEvent)
        event.reach()

    def wait(self, event: Event) -> None:
        """Return at once: what an event stands for is done."""
        assert isinstance(event, HostEvent)

    def copy(self, target: Memory | PinnedArray, source: Memory | PinnedArray, size_bytes: int) -> None:
        """Copy the first bytes now; DeviceError when either has fewer."""
        copy(bytes_of(target, size_bytes, "copy target"), bytes_of(source, size_bytes, "copy source"))

    def synchronize(self) -> None:
        """Return at once: nothing is pending."""

    def destroy(self) -> None:
        """Nothing is held."""
