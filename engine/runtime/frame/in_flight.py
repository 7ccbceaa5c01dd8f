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
        #: The events of the frames.
        self.flying: deque[Event] = deque()

    def make_room(self) -> None:
        """Wait for the oldest frame if there may be no more."""
        if not self._free:
            oldest = self.flying.popleft()
            self._free.append(oldest)
            oldest.synchronize()

    def add(self) -> None:
        """Count the frame that was just launched; there must be room."""
        event = self._free.pop()
        self.flying.append(event)
        self._stream.record(event)

    def synchronize(self) -> None:
        """Wait until everything on the stream has ended, also a frame that was not added."""
        if self.flying:
            self._free += self.flying
            self.flying.clear()
        self._stream.synchronize()

    def finish(self) -> None:
        """Wait until all frames have ended."""
        if self.flying:
            self.synchronize()

    def destroy(self) -> None:
        """Give the events back."""
        for event in (*self._free, *self.flying):
            event.destroy()
