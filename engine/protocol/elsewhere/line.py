"""`Line`: frames over a line of unknown rate, without a queue on it that would delay the next one."""

import math
import threading
import time
import zlib
from collections import deque
from collections.abc import Callable

import msgspec

from warploom.engine.protocol.elsewhere.messages import Packed, Part

#: The time that a frame may wait on the line behind earlier ones. It is short for a person who moves a slider.
TARGET_S = 0.05
#: Smaller frames are not compressed; compressing a larger one would delay others.
_PACKED_BYTES = range(256, 4 << 20)
_LEAST_WINDOW, _FIRST_WINDOW, _MOST_WINDOW = 8 << 10, 32 << 10, 8 << 20
#: The shortest time in which a rate is measured, and the rate that is assumed before, in bytes a second.
_MEASURED_S, _FIRST_RATE = 0.05, 1e6
#: A `Got` is shorter than this.
_RECEIPT_BYTES = 32
_encoder = msgspec.msgpack.Encoder()


class Line:
    """One direction of a line, at its sender. Any thread may use it.

    Frames that can't wait are only counted. A large one goes in parts, as long as the bytes that were sent and not yet
    received fit into a window. The window grows while frames arrive as soon as the fastest one did, and shrinks when
    they arrive later than `TARGET_S` after that.
    """

    def __init__(self, now_s: Callable[[], float] = time.monotonic) -> None:
        self._now_s = now_s
        self._lock = threading.Lock()
        self._window = float(_FIRST_WINDOW)
        self._sent = self._got = 0
        #: For each frame on the line, the bytes up to its end and the time at which it was sent.
        self._marks: deque[tuple[int, float]] = deque()
        self._least_s = math.inf
        #: The next time at which the window may shrink.
        self._shrinks_s = 0.0
        #: The rate in bytes a second, measured while the line is busy since this time, when so much had arrived.
        self.rate = _FIRST_RATE
        self._busy_s, self._busy_got = 0.0, 0
        #: The rest of a large frame, and its number.
        self._rest = memoryview(b"")
        self._number = 0

    @property
    def room(self) -> int:
        """How many bytes the line takes now without delay to later ones."""
        return max(0, int(self._window) - (self._sent - self._got))

    @property
    def is_sending(self) -> bool:
        """True while parts of a large frame wait."""
        return bool(self._rest)

    @property
    def is_idle(self) -> bool:
        """True if everything has been received."""
        return not self._rest and self._sent <= self._got

    def begin(self, frame: bytes) -> None:
        """Send a large frame in place of one whose parts still wait."""
        self._rest = memoryview(frame)
        self._number += 1

    def part(self) -> bytes | None:
        """Return the next part of the large frame for sending, or None if there is none or no room."""
        room = self.room
        if not self._rest or room < min(len(self._rest), _LEAST_WINDOW // 2):
            return None
        size = min(room, max(int(self._window) // 4, _LEAST_WINDOW // 2))
        data, self._rest = bytes(self._rest[:size]), self._rest[size:]
        frame = _encoder.encode(Part(self._number, len(self._rest), data))
        self.sends(len(frame))
        return frame

    def leaving(self, frame: bytes) -> bytes:
        """Return a frame that can't wait, compressed, and count it as sent; a receipt is not counted."""
        smaller = packed(frame)
        if not (len(frame) < _RECEIPT_BYTES and b"Got" in frame):
            self.sends(len(smaller))
        return smaller

    def sends(self, size: int) -> None:
        """Count a frame that is sent now."""
        with self._lock:
            now_s = self._now_s()
            if not self._marks:
                self._sent = self._got
                self._busy_s, self._busy_got = now_s + (self._least_s if self._marks_known else 0.0), self._got
            self._sent += size
            self._marks.append((self._sent, now_s))

    @property
    def _marks_known(self) -> bool:
        return self._least_s < math.inf

    def receives(self, size: int) -> None:
        """Count bytes that the other end has received."""
        with self._lock:
            now_s = self._now_s()
            is_full = self._sent - self._got > self._window / 2
            self._got = min(self._got + size, self._sent)
            delay_s = 0.0
            while self._marks and self._marks[0][0] <= self._got:
                delay_s = now_s - self._marks.popleft()[1]
            if not delay_s:
                return
            self._least_s = min(self._least_s, delay_s)
            if delay_s - self._least_s < TARGET_S:
                self._window = min(self._window + (size if is_full else 0), _MOST_WINDOW)
            elif now_s >= self._shrinks_s:
                self._window = max(self._window * 0.7, _LEAST_WINDOW)
                self._shrinks_s = now_s + delay_s
            self._measure(now_s)

    def _measure(self, now_s: float) -> None:
        taken_s, arrived = now_s - self._busy_s, self._got - self._busy_got
        if taken_s >= _MEASURED_S:
            self.rate = (self.rate + arrived / taken_s) / 2
            self._busy_s, self._busy_got = now_s, self._got
        elif not self._marks:  # all has arrived sooner than a rate can be measured
            self.rate = min(max(self.rate, arrived / max(taken_s, 1e-3)), 2 * self.rate)


class Parts:
    """Joins the parts of large frames, at the receiver."""

    def __init__(self) -> None:
        self._number = 0
        self._parts: list[bytes] = []

    def take(self, part: Part) -> bytes | None:
        """Return the frame that a part completes."""
        if part.number != self._number:
            self._number, self._parts = part.number, []
        self._parts.append(part.data)
        if part.left:
            return None
        frame, self._parts = b"".join(self._parts), []
        return frame


def packed(frame: bytes, *, waits: bool = False) -> bytes:
    """Return a frame compressed, if that makes it smaller; a large one only if it `waits` anyway."""
    if len(frame) not in _PACKED_BYTES and not (waits and len(frame) > _PACKED_BYTES.start):
        return frame
    small = _encoder.encode(Packed(zlib.compress(frame, 1)))
    return small if len(small) < len(frame) else frame


def unpacked(message: Packed) -> bytes:
    """Return the frame in a compressed one. Raise msgspec.DecodeError if the data are wrong."""
    try:
        return zlib.decompress(message.data)
    except zlib.error as problem:
        raise msgspec.DecodeError(f"a compressed frame must be of zlib, got: {problem}") from None
