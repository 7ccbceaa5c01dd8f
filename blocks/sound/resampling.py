"""Samples between samples: sound at another speed, and sound that follows a clock which runs a little off."""

import math
from functools import cache
from typing import Any

import numpy as np

from warploom.blocks.sound.ring import Samples

Positions = np.ndarray[Any, np.dtype[np.float64]]
#: Zero crossings of the filter on each side, its values between two of them, and the shape of its Kaiser window, which
#: suppresses mirrored frequencies by 80 dB.
_CROSSINGS, _FINENESS, _BETA = 16, 512, 8.0
#: The most that a drifting clock changes the speed, which nobody hears: 9 cents.
MOST_DRIFT = 0.005
#: How fast a queue's length is averaged, and how fast it is brought back, in seconds.
_AVERAGE_S, _RETURN_S = 1.0, 3.0


@cache
def _filter() -> Positions:
    """Return half of a windowed sinc, from its middle to the last zero crossing."""
    x = np.arange(_CROSSINGS * _FINENESS + 2) / _FINENESS
    window = np.i0(_BETA * np.sqrt(np.maximum(0, 1 - (x / _CROSSINGS) ** 2))) / np.i0(_BETA)
    return np.where(x < _CROSSINGS, np.sinc(x) * window, 0)


def reach(speed: float) -> int:
    """Return how many samples before and after a position `interpolate` reads."""
    return math.ceil(_CROSSINGS * max(1.0, abs(speed)))


def interpolate(samples: Samples, positions: Positions, speed: float) -> Samples:
    """Return the sound at positions between samples, shape [positions, channels].

    `speed` is the distance of the positions; above 1, frequencies that would be mirrored are filtered out. Positions
    must be `reach(speed)` from the ends. A position on a sample gives this sample, unless `speed` is above 1.
    """
    whole = np.floor(positions).astype(np.int64)
    if abs(speed) <= 1 and np.array_equal(whole, positions):
        return samples[whole]
    most, wide = reach(speed), 1 / max(1.0, abs(speed))
    taps = np.arange(1 - most, most + 1)
    distances = np.abs(taps - (positions - whole)[:, None]) * (wide * _FINENESS)
    below = distances.astype(np.int64)
    np.minimum(below, _CROSSINGS * _FINENESS, out=below)
    table = _filter()
    weights = (table[below] + (distances - below) * (table[below + 1] - table[below])).astype(np.float32)
    weights /= weights.sum(axis=1, keepdims=True)  # a constant stays the same
    around = np.lib.stride_tricks.sliding_window_view(samples.T, len(taps), axis=1)[:, whole + taps[0]]
    found: Samples = np.einsum("pt,cpt->pc", weights, around)
    return found


class Follower:
    """Finds the speed at which a queue keeps its length, though its two ends follow different clocks.

    The length is averaged, since both ends move it in blocks. The speed differs from 1 by at most MOST_DRIFT.
    """

    def __init__(self, wanted: float, rate: int) -> None:
        """`wanted` is the length to keep, in samples."""
        self.wanted, self._rate = wanted, rate
        self.length = wanted

    def restart(self) -> None:
        """Forget the average, after the queue was filled or emptied."""
        self.length = self.wanted

    def speed(self, length: float, elapsed: int) -> float:
        """Return the speed of reading for a queue that has `length` now; `elapsed` samples passed since the last."""
        part = 1 - math.exp(-elapsed / (_AVERAGE_S * self._rate))
        self.length += part * (length - self.length)
        drift = (self.length - self.wanted) / (_RETURN_S * self._rate)
        return 1 + min(max(drift, -MOST_DRIFT), MOST_DRIFT)


class Stretch:
    """Resamples a stream piece by piece, at a speed that may change with each piece."""

    def __init__(self, channels: int) -> None:
        self._channels = channels
        self.restart()

    def restart(self) -> None:
        """Begin another stream."""
        # Silence before the stream lets its first sample be a position.
        self._held: Samples = np.zeros((_CROSSINGS, self._channels), np.float32)
        self._position = float(_CROSSINGS)

    def needed(self, count: int, speed: float) -> int:
        """Return how many more samples `take` needs."""
        last = math.floor(self._position + (count - 1) * speed)
        return max(0, last + 1 + reach(speed) - len(self._held)) if count else 0

    def add(self, samples: Samples) -> None:
        """Append samples of the stream."""
        self._held = np.concatenate((self._held, samples))

    def take(self, count: int, speed: float) -> Samples:
        """Return the next samples at a speed; `needed` of them must have been added."""
        if not count:
            return self._held[:0]
        positions = self._position + np.arange(count, dtype=np.float64) * speed
        taken = interpolate(self._held, positions, min(speed, 1.0))
        self._position += count * speed
        spare = math.floor(self._position) - _CROSSINGS - 1
        if spare > 0:
            self._held, self._position = self._held[spare:], self._position - spare
        return taken

    def take_all(self, speed: float) -> Samples:
        """Return all samples that can be computed now."""
        return self.take(max(0, math.ceil((len(self._held) - _CROSSINGS - self._position) / speed)), speed)
