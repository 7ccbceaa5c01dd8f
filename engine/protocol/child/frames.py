"""Frames: the messages of a pipe, each after its length."""

from collections.abc import Callable
from typing import IO, Protocol

import msgspec

_LENGTH_BYTES = 8
#: No frame is longer. Text that a program prints would decode as a far greater length.
_LENGTH_LIMIT = 2**40


class Readable(Protocol):
    """A stream of bytes."""

    def read(self, size: int, /) -> bytes:
        """Return `size` bytes, or fewer at the end."""
        ...


def read_frame(source: Readable) -> bytes | None:
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
    """A stream that reports each part that arrives: a large frame can take long on a slow line."""

    def __init__(self, source: IO[bytes], hear: Callable[[], None]) -> None:
        self._source, self._hear = source, hear

    def read(self, size: int) -> bytes:
        """Return `size` bytes, or fewer at the end of the stream."""
        parts, missing = [], size
        while missing and (part := self._source.read1(missing)):  # type: ignore[attr-defined]  # a BufferedReader
            self._hear()
            parts.append(part)
            missing -= len(part)
        return b"".join(parts)
