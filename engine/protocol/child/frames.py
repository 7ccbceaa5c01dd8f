"""Frames: the messages of a pipe, each after its length."""

import os
from collections.abc import Callable
from typing import IO, Protocol

import msgspec

from warploom.engine.platforms.pipes import Readable

_LENGTH_BYTES = 8
#: No frame is longer. Text that a program prints would decode as a far greater length.
_LENGTH_LIMIT = 2**40

#: How often a silent pipe is looked at for the end of its process, and how much is read at once: as much as
#: a pipe of Linux holds.
_LOOK_S, _PART_BYTES = 0.2, 1 << 16


class Source(Protocol):
    """A stream of bytes."""

    def read(self, size: int, /) -> bytes:
        """Return `size` bytes, or fewer at the end."""
        ...


def read_frame(source: Source) -> bytes | None:
    """Return the next frame; None when the stream has ended, in the middle of one or before it.

    Raise msgspec.DecodeError when the bytes are not a frame.
    """
    length = source.read(_LENGTH_BYTES)
    if len(length) < _LENGTH_BYTES:
        return None
    size = int.from_bytes(length, "big")
    if size > _LENGTH_LIMIT:
        raise msgspec.DecodeError(f"a frame must begin with its length, got {length!r}")
    try:
        frame = source.read(size)
    except MemoryError:
        raise msgspec.DecodeError(f"a frame must fit into memory, got one of {size} bytes") from None
    return frame if len(frame) == size else None


def write_frame(sink: IO[bytes], frame: bytes) -> None:
    """Write a frame, without flushing the stream."""
    sink.write(len(frame).to_bytes(_LENGTH_BYTES, "big"))
    sink.write(frame)


class Heard:
    """The output of a process, which reports each part that arrives: a large frame can take long on a slow line.

    It also ends when the process has ended and nothing is left to read: a process that this one has forked may keep the
    pipe open for ever.
    """

    def __init__(self, pipe: IO[bytes], hear: Callable[[], None], has_ended: Callable[[], bool]) -> None:
        self._pipe, self._hear, self._has_ended = pipe, hear, has_ended
        self._readable = Readable(pipe)
        self._held = memoryview(b"")

    def read(self, size: int) -> bytes:
        """Return `size` bytes, or fewer at the end of the stream."""
        parts, missing = [], size
        while missing and (self._held or self._receive()):
            part, self._held = self._held[:missing], self._held[missing:]
            parts.append(part)
            missing -= len(part)
        return b"".join(parts)

    def _receive(self) -> bool:
        """Wait for more bytes; return whether there are any."""
        while not self._readable.wait(_LOOK_S):
            if self._has_ended() and not self._readable.wait(0):
                return False
        self._held = memoryview(os.read(self._pipe.fileno(), _PART_BYTES))
        if self._held:
            self._hear()
        return bool(self._held)
