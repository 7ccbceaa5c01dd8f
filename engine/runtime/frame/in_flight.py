"""Frames in flight: launches that were not seen to end."""

from collections import deque

from engine.compiler.frame import MOST_IN_FLIGHT
from engine.device.device import Device
from engine.device.protocol import Event, Stream


class FramesInFlight:
    """The frames that were launched on a stream and not seen to end, at most `MOST_IN_FLIGHT`, the oldest first.

    An event follows each launch. Whoever changes what launches use calls `finish` before.
    """

    def __init__(self, device: Device, stream: Stream) -> None:
        self._stream = stream
        self._free: list[Event] = [device.create_event(timed=False) for _ in range(MOST_IN_FLIGHT)]
        self._flying: deque[Event] = deque()

    @property
    def count(self) -> int:
        """How many frames there are."""
        return len(self._flying)

    def make_room(self) -> None:
        """Wait for the oldest frame if there may be no more."""
        if not self._free:
            oldest = self._flying.popleft()
            self._free.append(oldest)
            oldest.synchronize()

    def add(self) -> None:
        """Count the frame that was just launched; there must be room."""
        event = self._free.pop()
        self._flying.append(event)
        self._stream.record(event)

    def synchronize(self) -> None:
        """Wait until everything on the stream has ended, also a frame that was not added."""
        self._free += self._flying
        self._flying.clear()
        self._stream.synchronize()

    def finish(self) -> None:
        """Wait until all frames have ended."""
        if self._flying:
            self.synchronize()

    def destroy(self) -> None:
        """Give the events back."""
        for event in (*self._free, *self._flying):
            event.destroy()
