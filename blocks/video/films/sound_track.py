"""The sound of a film that is recorded: as long as its pictures, whatever the pace of the patch."""

from collections import deque

import numpy as np

from warploom.blocks.sound.resampling import Positions, interpolate, reach
from warploom.blocks.sound.ring import Samples

#: How far sound and pictures may be apart, in samples, since both are rounded.
_ROUNDING = 1.5
#: The speed up to which the sound before a position is kept; of faster sound, a part of it counts as silence.
_FASTEST = 8.0


class SoundTrack:
    """Fits sound to times in a film, piece by piece. Sound that lasts as long as its part of the film stays as it is.

    Other sound is played slower or faster, so that pictures and sound never drift apart.
    """

    def __init__(self, channels: int) -> None:
        # The sound that is still needed, and the number of its first sample.
        self._held: Samples = np.zeros((0, channels), np.float32)
        self._first = 0
        #: The samples of the film that are decided, and the position in the sound where the next one is.
        self.length = 0
        self._position = 0.0
        # The positions of samples that are decided, but need sound that comes later; None stands for silence.
        self._decided: deque[tuple[Positions | int, float]] = deque()

    @property
    def channels(self) -> int:
        """The number of channels."""
        return int(self._held.shape[1])

    @property
    def given(self) -> int:
        """The number of samples that were added."""
        return self._first + len(self._held)

    def add(self, samples: Samples, until: int) -> Samples:
        """Add samples, shape [samples, channels], that are heard before sample `until` of the film.

        Return the film's samples that are known by now, which follow those that were returned before.
        """
        self._held = np.concatenate((self._held, samples))
        count, span = until - self.length, self.given - self._position
        if count > 0:
            self.length = until
            is_as_long = abs(span - count) <= _ROUNDING
            speed = 1.0 if is_as_long else span / count
            if speed > 0:
                self._decided.append((self._position + np.arange(count, dtype=np.float64) * speed, speed))
                self._position = self._position + count if is_as_long else float(self.given)
            else:
                self._decided.append((count, 0.0))
        return self._known()

    def end(self) -> Samples:
        """Return the rest."""
        most = max((reach(speed) for _, speed in self._decided), default=0)
        self._held = np.pad(self._held, ((0, most + 2), (0, 0)))
        return self._known()

    def _known(self) -> Samples:
        parts = [self._held[:0]]
        while self._decided:
            positions, speed = self._decided[0]
            if isinstance(positions, int):
                parts.append(np.zeros((positions, self._held.shape[1]), np.float32))
            elif positions[-1] + reach(speed) + 1 > self.given:
                break
            else:
                parts.append(self._at(positions, speed))
                self._forget(int(positions[-1]))
            self._decided.popleft()
        return np.concatenate(parts)

    def _at(self, positions: Positions, speed: float) -> Samples:
        """Return the sound at positions; before its start there is silence."""
        missing = max(0, self._first + reach(speed) - int(positions[0]))
        held = np.pad(self._held, ((missing, 0), (0, 0))) if missing else self._held
        return interpolate(held, positions - (self._first - missing), speed)

    def _forget(self, before: int) -> None:
        """Forget sound that is no longer needed: some is kept, since a filter reads what comes before a position."""
        spare = before - reach(_FASTEST) - self._first
        if spare > 0:
            self._held, self._first = self._held[spare:], self._first + spare
