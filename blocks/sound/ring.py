"""A queue of samples between the frames of a patch and the thread of a sound device."""

from typing import Any

import numpy as np

#: Samples as f32, shape [samples, channels].
Samples = np.ndarray[Any, np.dtype[np.float32]]


class Ring:
    """A queue of samples with a fixed capacity: one thread writes, another one reads, and neither waits.

    Each of the two counts is changed by one thread only, after the samples were copied.
    """

    def __init__(self, capacity: int, channels: int) -> None:
        self._samples: Samples = np.zeros((capacity, channels), np.float32)
        self._written = self._read = 0

    @property
    def held(self) -> int:
        """The number of samples that can be read."""
        return self._written - self._read

    @property
    def room(self) -> int:
        """The number of samples that can be written."""
        return len(self._samples) - self.held

    def write(self, samples: Samples) -> int:
        """Append samples as far as there is room. Return how many were left out."""
        count = min(len(samples), self.room)
        at = self._written % len(self._samples)
        first = min(count, len(self._samples) - at)
        self._samples[at : at + first] = samples[:first]
        self._samples[: count - first] = samples[first:count]
        self._written += count
        return len(samples) - count

    def read(self, count: int) -> Samples:
        """Take the oldest samples: as many as asked for, or all there are."""
        count = min(count, self.held)
        at = self._read % len(self._samples)
        first = min(count, len(self._samples) - at)
        taken = np.concatenate((self._samples[at : at + first], self._samples[: count - first]))
        self._read += count
        return taken

    def skip(self, count: int) -> None:
        """Drop the oldest samples, if `count` is above 0."""
        self._read += min(max(count, 0), self.held)
