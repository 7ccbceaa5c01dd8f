"""Plays a sound file in step with the time of a patch."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from warploom.api import Moment, read_bytes
from warploom.blocks.sound.ring import Samples
from warploom.blocks.sound.sound_reader import SoundReader, in_channels
from warploom.blocks.sound.windows import samples_in

#: A larger file is not read a second time to notice that it was saved.
_MOST_WATCHED = 32 << 20


def check_sound(path: Path) -> None:
    """Raise PatchError if a file is no sound. An engine that watches files describes a block again if it is saved."""
    SoundReader(path).close()
    if path.stat().st_size <= _MOST_WATCHED:
        read_bytes(path)


@dataclass
class Place:
    """Where a player is: all that its next window follows from."""

    #: The last window, shape [size, channels].
    window: Samples
    #: The position in the file, in its samples.
    position: float = 0.0
    time_s: float | None = None
    sought_s: float | None = None


class Player:
    """The windows of a sound file, shape [size, channels], which end at the position of each frame in the file.

    The position moves with the patch's time, times the speed; when the time jumps, so does the position.
    """

    def __init__(self, path: Path, rate: int, channels: int, size: int) -> None:
        self._reader = SoundReader(path)
        self._rate, self._channels = rate, channels
        self.place = Place(np.zeros((size, channels), np.float32))
        #: True once a sound that isn't repeated is over.
        self.is_over = False

    def begin_again(self) -> None:
        """Forget all windows: the next one is the first."""
        self.place, self.is_over = Place(np.zeros_like(self.place.window)), False

    @property
    def length_s(self) -> float:
        """The length of the file."""
        seconds: float = self._reader.length / self._reader.rate
        return seconds

    @property
    def position_s(self) -> float:
        """The position in the file."""
        seconds: float = min(max(self.place.position, 0.0), self._reader.length) / self._reader.rate
        return seconds

    def window(self, now: Moment, *, speed: float, loop: bool, seek_s: float, waits: bool) -> Samples:
        """Return the window of a frame; what is not decoded yet is silent, unless `waits`.

        The sound starts at `seek_s`, and goes there when this changes. It is silent while `speed` is 0.
        """
        place = self.place
        size, before_s, place.time_s = len(place.window), place.time_s, now.time_s
        step = speed * self._reader.rate / self._rate
        moved = samples_in(now, self._rate)
        is_first, is_elsewhere = before_s is None, place.sought_s != seek_s
        if is_elsewhere:
            place.sought_s, place.position = seek_s, seek_s * self._reader.rate
        elif before_s is not None and abs(jump_s := now.time_s - now.time_step_s - before_s) > 1e-6:
            moved += round(jump_s * self._rate)
            is_elsewhere = True
        self._move(moved * step, loop, size * abs(step))
        count = size if is_elsewhere or not 0 <= moved < size else moved
        found = None
        if step and count:
            positions = place.position + np.arange(-count, 0) * step
            found = self._reader.read_at(positions, step, loop=loop and not is_first, waits=waits)
        ended = np.zeros((count, self._channels), np.float32) if found is None else in_channels(found, self._channels)
        place.window = np.concatenate((place.window[count:], ended))
        return place.window

    def close(self) -> None:
        """Close the file."""
        self._reader.close()

    def _move(self, distance: float, loop: bool, margin: float) -> None:
        """Move the position; without a loop, it ends as soon as the window is silent."""
        length, position = self._reader.length, self.place.position + distance
        if abs(position - round(position)) < 1e-6:  # so that samples are copied as they are
            position = float(round(position))
        if loop:
            position = position if 0 <= position <= length else position % length
        else:
            position = min(max(position, -margin), length + margin)
        self.place.position = position
        self.is_over = not loop and not 0 <= position < length
