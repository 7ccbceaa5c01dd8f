"""Pictures in memory that two processes share, so that their pixels go through no pipe.

The process of the client makes the memory and passes it to the process of the engine, which places pictures in it. The
memory has no name, so it is gone when both processes are. Linux only; over ssh and elsewhere pictures go through the
pipe.
"""

from __future__ import annotations

import mmap
import os
from typing import Any
from weakref import finalize

import numpy as np

from warploom.engine.platforms.files import is_memory_file, memory_file
from warploom.engine.types import Array

#: The environment variable that names the descriptor of the memory.
VARIABLE = "WARPLOOM_SHARED_PICTURES"
_NAME = "warploom-pictures"
#: Only pages that a picture has used take memory.
_SIZE_BYTES = 256 << 20
#: One byte for each of so many pictures comes first: 0 if its place is free.
_MOST = 256
_ALIGNMENT = 4096
#: Then come the bytes of two notes: the node whose code runs, and the digest of the block file that runs.
_NOTES = {"node": slice(_MOST, 2 * _MOST), "file": slice(2 * _MOST, 3 * _MOST)}


class PlacedArray(np.ndarray[Any, Any]):
    """An array in shared memory."""

    #: The number of its byte, and where it begins.
    place: tuple[int, int]


class SharedPictures:
    """Memory for pictures. One process places them, and the other one takes them.

    A place is free again when nothing in the process that took the picture uses its array any more.
    """

    def __init__(self, descriptor: int) -> None:
        self._memory = mmap.mmap(descriptor, _SIZE_BYTES)
        self._used = np.frombuffer(self._memory, np.uint8, _MOST)
        #: The placed pictures, by position: where each begins and ends, and the number of its byte.
        self._placed: list[tuple[int, int, int]] = []

    def noted(self, what: str) -> str:
        """Return what the engine's process has noted last as its "node" or "file", even when it hangs or has ended."""
        return self._memory[_NOTES[what]].partition(b"\0")[0].decode(errors="replace")

    def note(self, what: str, text: str) -> None:
        """Leave a "node" or "file" for the other process; a long text is cut."""
        self._memory[_NOTES[what]] = text.encode()[: _MOST - 1].ljust(_MOST, b"\0")

    def place(self, array: Array) -> Array:
        """Copy an array into the memory and return the copy, or return another copy if there is no room."""
        self._placed = [placed for placed in self._placed if self._used[placed[2]]]
        taken = {number for *_, number in self._placed}
        number = next((number for number in range(_MOST) if number not in taken), None)
        at, index = _ALIGNMENT, 0  # the first gap that is large enough
        while index < len(self._placed) and self._placed[index][0] - at < array.nbytes:
            at = -(-self._placed[index][1] // _ALIGNMENT) * _ALIGNMENT
            index += 1
        if number is None or at + array.nbytes > _SIZE_BYTES or not array.nbytes:
            return array.copy()
        self._placed.insert(index, (at, at + array.nbytes, number))
        self._used[number] = 1
        copy = self._view(at, array.dtype, array.shape).view(PlacedArray)
        copy[...] = array
        copy.place = number, at
        return copy

    def take(self, place: tuple[int, int], dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
        """Return the array at a place; call it once for each picture. Raise ValueError unless it is in the memory."""
        number, at = place
        if number not in range(_MOST):
            raise ValueError(f"picture must have a number below {_MOST}, got {number}")
        array = self._view(at, dtype, shape)
        root = array.base if isinstance(array.base, np.ndarray) else array  # views refer to this one
        finalize(root, self._free, number).atexit = False
        return array

    def _view(self, at: int, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
        count = int(np.prod(shape, dtype=np.int64))
        return np.frombuffer(self._memory, dtype, count, at).reshape(shape)

    def _free(self, number: int) -> None:
        self._used[number] = 0


def make_descriptor() -> int | None:
    """Return a descriptor of new shared memory; None where the system has no such memory."""
    descriptor = memory_file(_NAME)
    if descriptor is not None:
        os.ftruncate(descriptor, _SIZE_BYTES)
    return descriptor


def inherited() -> SharedPictures | None:
    """Return the memory that the process of the client passed to this one, if any.

    A program between both may pass on the variable alone; the descriptor can then be that of another file.
    """
    try:
        descriptor = int(os.environ.pop(VARIABLE, ""))
        if not is_memory_file(descriptor, _NAME):
            return None
        pictures = SharedPictures(descriptor)
        os.close(descriptor)
    except (ValueError, OSError):
        return None
    return pictures
